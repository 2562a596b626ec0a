"""From a call to its key: what is asked, of whom, before anything model-specific. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
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

_DIGEST = re.compile("[0-9a-f]{64}")

_MEMO_LENGTH = 1 << 18
"""Characters of the longest text whose hash is remembered: a bound for the memory that this may take."""


def text_digest(text: str) -> str:
    """Return the sha256 of a text in UTF-8, lone surrogates included, as 64 hexadecimal digits."""
    # Thousands of checks share one text, so its hash is worth remembering.
    return _short_digest(text) if len(text) <= _MEMO_LENGTH else sha256_of(text)


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


def text_names(document: Mapping[str, Any]) -> set[str]:
    """Return the hashes of the long texts that a request names.

    Args:
        document: A request of the right shape, see `is_request`.
    """
    parts = [part for message in document["messages"] for part in message["content"]]
    parts.append(document.get("grammar"))
    return {part["sha256"] for part in parts if isinstance(part, dict)}


def is_request(document: object) -> bool:
    """Say whether a document has the shape in which `request_of` writes requests.

    Keys that this version does not write are let through: they are covered by the key like all others.
    """
    if not isinstance(document, dict) or document.get("schema") != REQUEST_SCHEMA:
        return False
    template, messages = document.get("template"), document.get("messages")
    common = (
        is_digest(document.get("judge"))
        and type(document.get("render_version")) is int
        and isinstance(template, dict)
        and isinstance(template.get("name"), str)
        and type(template.get("version")) is int
        and isinstance(messages, list)
        and [_shape(message) for message in messages] == [("system", 1), ("user", 2)]
    )
    if document.get("kind") == "check":
        labels = document.get("labels")
        return common and isinstance(labels, list) and all(isinstance(label, str) for label in labels)
    most = document.get("max_tokens")
    return (
        common
        and document.get("kind") == "prompt"
        and _is_part(document.get("grammar"))
        and type(most) is int
    )


def is_digest(value: object) -> bool:
    """Say whether a value is a sha256 as ragjudge writes it: 64 lower-case hexadecimal digits."""
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def _shape(message: object) -> tuple[str, int] | None:
    """Return role and number of parts of a message; None for what is none."""
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        return None
    content = message.get("content")
    if not isinstance(content, list) or not all(map(_is_part, content)):
        return None
    return message["role"], len(content)


def _is_part(part: object) -> bool:
    return isinstance(part, str) or (
        isinstance(part, dict) and set(part) == {"sha256"} and is_digest(part["sha256"])
    )


def _part(text: str, texts: dict[str, str]) -> str | dict[str, str]:
    if len(text) <= INLINE_LENGTH:
        return text
    name = text_digest(text)
    texts[name] = text
    return {"sha256": name}


def sha256_of(text: str) -> str:
    """Return what `text_digest` does, for texts that hardly come again: nothing is remembered."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


_short_digest = lru_cache(maxsize=256)(sha256_of)
