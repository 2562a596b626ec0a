"""A request with its retries, and what a server's refusals mean."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ragjudge.errors import JudgeUnavailableError
from ragjudge.judges.http.client import AbortedError, Client, ExchangeError, Response
from ragjudge.judges.http.failures import CallFailedError, words

if TYPE_CHECKING:
    from pydantic import JsonValue

FIRST_DELAY = 0.5
"""Seconds before the first repetition; each further one waits twice as long."""

MOST_DELAY = 30.0
MOST_PATIENCE = 120.0
"""Longest wait that a server may ask for, in seconds; one that asks for more has failed."""

PASSING = frozenset({408, 429, 500, 502, 503, 504, 529})
"""Statuses after which the same request may succeed."""

NOT_LIKE_THIS = frozenset({400, 413, 415, 422, 501})
"""Statuses of a server that does not take this request: for its options, or for its prompt."""


@dataclass(frozen=True)
class Refusal:
    """A request in this form leads to no answer.

    Attributes:
        reason: Why, as one sentence without its full stop.
        lasting: Whether that may be a fact of the server, and not of this one request.
    """

    reason: str
    lasting: bool = True


def call(client: Client, body: JsonValue, retries: int) -> str | Refusal:
    """Send a request, again after passing failures, and return the body of its answer.

    Args:
        client: The server.
        body: The request.
        retries: How often it is repeated at most.

    Raises:
        CallFailedError: It failed, and so did its repetitions.
        AbortedError: Nobody waits any more.
        JudgeUnavailableError: The server cannot be reached, or answers no request at all.
    """
    salt = hashlib.sha256(json.dumps(body).encode("ascii")).digest()
    for attempt in range(retries + 1):
        last = attempt == retries
        wait = 0.0
        try:
            response = client.post(body)
        except ExchangeError as error:
            if last or not error.again:
                raise _failed(client, error) from error
        else:
            wait = response.retry_after or 0.0
            if response.status not in PASSING or last or wait > MOST_PATIENCE:
                return _read(client, response)
        if client.stopped.wait(max(wait, delay(attempt, salt))):
            raise AbortedError
    raise AssertionError("unreachable")


def delay(attempt: int, salt: bytes) -> float:
    """Return the seconds to wait after an attempt: twice as long each time, up to half less.

    Requests that failed together must not come back together; the share that is taken off follows from
    the request itself, so that a run can be repeated.

    Args:
        attempt: Number of the attempt, from 0.
        salt: Bytes of the request's digest, at least 32.
    """
    full = min(MOST_DELAY, FIRST_DELAY * 2.0**attempt)
    return full * (1 - salt[attempt % 32] / 512)


def _failed(client: Client, error: ExchangeError) -> Exception:
    if error.reached:
        return CallFailedError(f"the server {error.reason}")
    return JudgeUnavailableError(
        f"judge 'http': the server at {client.address} {error.reason}.",
        hint="start it, or correct the judge's `base_url`",
    )


def _read(client: Client, response: Response) -> str | Refusal:
    status = response.status
    if 200 <= status < 300:
        return response.text
    said = f"the server answers {status}: {words(response.text)}"
    if status in NOT_LIKE_THIS:
        return Refusal(said)
    if status in PASSING:
        patience = response.retry_after or 0.0
        if patience > MOST_PATIENCE:
            said += f" (it wants to be asked again in {patience:.0f} seconds)"
        raise CallFailedError(said, response.text)
    if 300 <= status < 400:
        raise JudgeUnavailableError(
            f"judge 'http': the server at {client.address} redirects to {_place(response.location)}, and "
            "redirects are not followed.",
            hint="write the address that is meant into the judge's `base_url`",
        )
    hints = {
        401: "name the environment variable with the server's key: `api_key_env`",
        403: "name the environment variable with the server's key: `api_key_env`",
        404: "correct the judge's `base_url`, which often ends in /v1, or its `model`",
        405: "correct the judge's `base_url`, which often ends in /v1",
    }
    if status in hints:
        raise JudgeUnavailableError(
            f"judge 'http': the server at {client.address} answers {status}: {words(response.text)}.",
            hint=hints[status],
        )
    raise CallFailedError(said, response.text)


def _place(location: str | None) -> str:
    """Return a redirect's target without user, password and query."""
    try:
        parts = urlsplit(location or "")
        host, port = parts.hostname, parts.port
    except ValueError:
        return "another address"
    where = f"{parts.scheme}://{host}" + (f":{port}" if port else "") if host else ""
    return f"{where}{parts.path}" or "another address"
