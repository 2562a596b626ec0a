"""From a call to its key: what is asked, of whom, before anything model-specific. Pure."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from ragjudge.judges.base import digest
from ragjudge.records import Call, Check

if TYPE_CHECKING:
    from pydantic import JsonValue

REQUEST_SCHEMA = 1
"""Version of the request's shape. Of its own, so that a new report format never empties a cache."""

RENDER_VERSION = 1
"""Raised when the way in which messages are rendered or escaped for a model changes."""

INLINE_LENGTH = 200
"""Characters of the longest text that stands in a request itself; a longer one stands there by its hash."""

_MEMO_LENGTH = 1 << 18
"""Characters of the longest text whose hash is remembered: a bound for the memory that this may take."""


def text_digest(text: str) -> str:
    """Return the sha256 of a text in UTF-8, lone surrogates included, as 64 hexadecimal digits."""
    # Thousands of checks share one text, so its hash is worth remembering.
    return _short_digest(text) if len(text) <= _MEMO_LENGTH else _hash(text)


def request_of(call: Call, fingerprint: str) -> tuple[JsonValue, dict[str, str]]:
    """Write down what is asked of whom, as plain JSON data.

    What only reports need (`Check.positive`, `Check.claim`) is left out, and so is everything that can
    not change an answer.

    Args:
        call: The call.
        fingerprint: The judge's, see `judges.base.Identity`.

    Returns:
        The request, and the texts that stand in it as ``{"sha256": …}``, by that hash.
    """
    texts: dict[str, str] = {}
    document: dict[str, Any] = {
        "schema": REQUEST_SCHEMA,
        "kind": call.kind,
        "render_version": RENDER_VERSION,
        "judge": fingerprint,
        "template": {"name": call.template, "version": call.version},
        "messages": [
            {"role": "system", "content": [_part(call.system, texts)]},
            {"role": "user", "content": [_part(call.shared, texts), _part(call.own, texts)]},
        ],
    }
    if isinstance(call, Check):
        document["labels"] = list(call.labels)
    else:
        document["grammar"] = _part(call.grammar, texts)
        document["max_tokens"] = call.max_tokens
    return cast("JsonValue", document), texts


def key_of(document: JsonValue) -> str:
    """Return the key of a request: the sha256 of its canonical JSON as 64 hexadecimal digits."""
    return digest(document)


def _part(text: str, texts: dict[str, str]) -> str | dict[str, str]:
    if len(text) <= INLINE_LENGTH:
        return text
    name = text_digest(text)
    texts[name] = text
    return {"sha256": name}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


_short_digest = lru_cache(maxsize=256)(_hash)
