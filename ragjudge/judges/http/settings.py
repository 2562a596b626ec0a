"""What a user sets for a server's judge, checked once and before anything is sent."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args
from urllib.parse import SplitResult, urlsplit

from ragjudge.errors import ConfigError, JudgeUnavailableError
from ragjudge.judges.base import Identity, canonical_json

if TYPE_CHECKING:
    from pydantic import JsonValue

Strategy = Literal["auto", "logprobs", "constrained", "text"]

KEPT = frozenset(
    {
        "model", "messages", "temperature", "max_tokens", "max_completion_tokens", "logprobs", "top_logprobs",
        "response_format", "guided_choice", "guided_json", "grammar", "stream", "n", "prompt",
    }
)  # fmt: skip
"""Fields of a request that are the judge's own and never the user's."""

_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_CREDENTIAL = re.compile(r"api[_-]?key|authorization|password|secret|credential|(^|_)token$", re.IGNORECASE)


@dataclass(frozen=True)
class Address:
    """Where a server is.

    Attributes:
        secure: Whether it is spoken to over TLS.
        host: Its name or address, in lower case.
        port: Its port.
        path: What stands before ``/chat/completions``, without a slash at its end.
    """

    secure: bool
    host: str
    port: int
    path: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.secure else 'http'}://{host}:{self.port}{self.path}"


_LONGEST = 1_000_000
"""Seconds of the longest timeout, eleven days; the system's own clocks take few more."""


@dataclass(frozen=True)
class HttpSettings:
    """How a server is asked.

    The first five can change an answer and are part of the judge's identity. A larger `max_tokens` only
    lets an answer finish that failed before, so it is not.

    Attributes:
        base_url: The address before ``/chat/completions``, e.g. ``http://localhost:8080/v1``.
        model: The model to ask for.
        identity: Names the server in the judge's identity, so that two addresses of one server share a
            cache; None = scheme, host, port and path.
        strategy: ``auto`` = log-probabilities where the server gives them, else an answer that the server
            constrains, else free text; or one of the three alone.
        extra: More fields of each request, e.g. ``{"chat_template_kwargs": {"enable_thinking": false}}``.
        api_key_env: Name of the environment variable with the server's key; None = no key is sent.
        accept_models: Other names under which the server may say that it answered.
        max_tokens: Most tokens of an answer in text, reasoning included.
        concurrency: Most requests at a time, 1 to 1,000.
        timeout: Seconds that a request may take from the moment it is sent, up to 1,000,000.
        retries: How often a request is repeated after the connection or the server failed, 0 to 1,000.

    Raises:
        ConfigError: A setting cannot be meant.
    """

    base_url: str
    model: str
    identity: str | None = None
    strategy: Strategy = "auto"
    extra: Mapping[str, JsonValue] = field(default_factory=dict)
    api_key_env: str | None = None
    accept_models: tuple[str, ...] = ()
    max_tokens: int = 4096
    concurrency: int = 4
    timeout: float = 300.0
    retries: int = 3

    def __post_init__(self) -> None:
        _check_text("base_url", self.base_url)
        _check_text("model", self.model)
        if self.identity is not None:
            _check_text("identity", self.identity)
        parse_address(self.base_url)
        if self.strategy not in get_args(Strategy):
            raise _wrong("strategy", repr(self.strategy), ", ".join(get_args(Strategy)))
        _check_extra(self.extra)
        # A key that was put where its variable's name belongs must not get into a message.
        if self.api_key_env is not None and not _VARIABLE.fullmatch(self.api_key_env):
            raise ConfigError(
                "judge 'http': api_key_env is not the name of an environment variable; accepted: capital "
                "letters, digits and underscores.",
                hint="a key itself never stands in a suite: export it, and name its variable",
            )
        for name in self.accept_models:
            _check_text("accept_models", name)
        _check_number("max_tokens", self.max_tokens, 1, 10_000_000)
        _check_number("concurrency", self.concurrency, 1, 1_000)
        _check_number("retries", self.retries, 0, 1_000)
        seconds: Any = self.timeout
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds <= _LONGEST:
            raise _wrong("timeout", repr(seconds), f"a number of seconds above 0, up to {_LONGEST:,}")

    @property
    def address(self) -> Address:
        """Where the server is."""
        return parse_address(self.base_url)

    def who(self) -> Identity:
        """Return what of this can change an answer; credentials are no part of it."""
        return Identity(
            {
                "kind": "http",
                "server": self.identity or str(self.address),
                "model": self.model,
                "strategy": self.strategy,
                "extra": dict(self.extra),
            }
        )

    def accepts(self, served: str | None) -> bool:
        """Say whether an answer of this model is an answer to what was asked; None = it was not told."""
        return served is None or served == self.model or served in self.accept_models

    def key(self) -> str | None:
        """Return the server's key, or None when it needs none.

        Raises:
            JudgeUnavailableError: The environment variable is not set, or holds no key.
        """
        if self.api_key_env is None:
            return None
        key = os.environ.get(self.api_key_env, "").strip()
        if not key:
            raise JudgeUnavailableError(
                f"judge 'http': the environment variable {self.api_key_env} is not set; the server's key "
                "is read from it."
            )
        if not re.fullmatch("[!-~]+", key):
            raise JudgeUnavailableError(
                f"judge 'http': the environment variable {self.api_key_env} holds no key: a key has "
                "neither blanks nor characters beyond ASCII."
            )
        return key


def parse_address(url: str) -> Address:
    """Take a server's address apart.

    Raises:
        ConfigError: It is no address of a server, or holds a user, a password or a query: those would be
            credentials in a suite.
    """
    wanted = "http://HOST:PORT/PATH or https://HOST:PORT/PATH, e.g. http://localhost:8080/v1"
    parts, port = _split(url)
    if "@" in url or parts is None or parts.query or parts.fragment:
        raise ConfigError(
            f"judge 'http': base_url cannot be used; accepted: {wanted}, without a user, password or query.",
            hint="a key is read from the environment variable that `api_key_env` names",
        )
    host = parts.hostname or ""
    path = parts.path.rstrip("/")
    plain = re.fullmatch("[!-~]+", host) and re.fullmatch("[!-~]*", path)
    if parts.scheme not in ("http", "https") or not plain or port == 0:
        raise _wrong("base_url", repr(url), wanted)
    secure = parts.scheme == "https"
    return Address(secure, host, port or (443 if secure else 80), path)


def _split(url: str) -> tuple[SplitResult | None, int | None]:
    try:
        parts = urlsplit(url.strip())
        return parts, parts.port
    except ValueError:
        return None, None


def _check_text(name: str, value: object) -> None:
    if not isinstance(value, str) or not value.strip():
        raise _wrong(name, repr(value), "a text that is not empty")


def _check_number(name: str, value: object, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise _wrong(name, repr(value), f"a whole number from {least:,} to {most:,}")


def _check_extra(extra: Mapping[str, JsonValue]) -> None:
    try:
        canonical_json(dict(extra))
    except (TypeError, ValueError, RecursionError):
        raise ConfigError("judge 'http': extra is no JSON object; accepted: fields of a request.") from None
    taken = sorted(KEPT.intersection(extra))
    if taken:
        raise ConfigError(f"judge 'http': extra holds {taken[0]!r}, which the judge sets itself.")
    for name in _names(dict(extra)):
        if _CREDENTIAL.search(name):
            raise ConfigError(
                f"judge 'http': extra holds {name!r}, which reads like a credential.",
                hint="a key is read from the environment variable that `api_key_env` names",
            )


def _names(value: JsonValue) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        for inner in value.values():
            yield from _names(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _names(inner)


def _wrong(name: str, found: str, accepted: str) -> ConfigError:
    return ConfigError(f"judge 'http': {name} is {found}; accepted: {accepted}.")
