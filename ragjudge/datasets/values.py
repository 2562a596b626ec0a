"""Plain values of a row: what they are called in a message, and whether they can be kept."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

from ragjudge.errors import DataError

if TYPE_CHECKING:
    from pydantic import JsonValue

MAX_DEPTH = 40
"""Deepest nesting of metadata; far below what Python's and pydantic's own recursion can take."""

_SHOWN = 40


def describe(value: object) -> str:
    """Name a value for a message, e.g. ``the number 42``, ``a list``, ``the text 'abc'``."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (int, float)):
        return _number(value)
    if isinstance(value, str):
        return f"the text {_short(value)!r}" if value else "an empty text"
    if isinstance(value, date):
        return f"the date {value.isoformat()}"
    if isinstance(value, (list, tuple)):
        return "a list" if value else "an empty list"
    return "an object" if isinstance(value, Mapping) else f"a value of type {type(value).__name__}"


def quoting_hint(value: object) -> str | None:
    """Return what to do about a bare value where text is needed; YAML reads ``No`` and ``1969`` so."""
    return "put the value in quotes" if isinstance(value, (bool, int, float, date)) else None


def text_of(value: object, what: str) -> str:
    """Return a value that must be text.

    Args:
        value: The value.
        what: The place and name for the message, e.g. ``rows.jsonl, line 3: 'answer'``.

    Raises:
        DataError: It is something else, or holds half a surrogate pair, which no file can hold as UTF-8.
    """
    if not isinstance(value, str):
        raise DataError(f"{what} is {describe(value)}; accepted: text.", hint=quoting_hint(value))
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            code = ord(value[error.start])
            raise DataError(
                f"{what} holds half a surrogate pair (U+{code:04X}) at character {error.start + 1}; "
                f"accepted: text that can be written as UTF-8."
            ) from error
    return value


def plain_json(value: Any, what: str, depth: int = 0) -> JsonValue:
    """Return a value as plain JSON data: tuples become lists, dates become text.

    Args:
        value: The value.
        what: The place and name for the message.
        depth: How deep the value stands.

    Raises:
        DataError: It holds NaN, an infinity or a number too long to be written, or is nested deeper than
            `MAX_DEPTH`.
        TypeError: It holds something that JSON has no word for.
    """
    if depth > MAX_DEPTH:
        raise DataError(f"{what} is nested deeper than {MAX_DEPTH} levels.")
    if isinstance(value, float) and not math.isfinite(value):
        raise DataError(f"{what} holds {value}; accepted: finite numbers, or null for what is missing.")
    if value is None or isinstance(value, (bool, float)):
        return value
    if isinstance(value, int):
        return _writable(value, what)
    if isinstance(value, str):
        return text_of(value, what)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, (list, tuple)):
        return [plain_json(item, what, depth + 1) for item in value]
    if isinstance(value, Mapping):
        return {_key(key, what): plain_json(item, what, depth + 1) for key, item in value.items()}
    raise TypeError(type(value).__name__)


def _writable(value: int, what: str) -> int:
    try:
        str(value)
    except ValueError:  # see `_number`
        raise DataError(f"{what} holds a number that is too long.") from None
    return value


def _key(key: object, what: str) -> str:
    if not isinstance(key, str):
        raise TypeError(type(key).__name__)
    return text_of(key, f"{what}: a key")


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _number(value: float) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "an infinite number"
    try:
        return f"the number {_short(str(value))}"
    except ValueError:
        return "a very long number"  # Python writes no whole numbers of thousands of digits
