"""Retrieved chunks as rows give them: texts, or objects that hold a text beside other things."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragjudge.datasets.values import describe, quoting_hint, text_of
from ragjudge.errors import DataError

TEXT_NAMES = ("text", "content", "page_content")
"""Keys under which an object may hold its chunk's text."""


def read_contexts(value: Any, what: str) -> tuple[str, ...]:
    """Return chunks: a text is one chunk; a list holds texts, or objects that have one.

    Args:
        value: The value.
        what: The place and name for the message.

    Raises:
        DataError: It is something else.
    """
    if isinstance(value, str):
        return (text_of(value, what),)
    if not isinstance(value, (list, tuple)):
        raise DataError(
            f"{what} is {describe(value)}; accepted: a text (one chunk) or a list of chunks.",
            hint=quoting_hint(value),
        )
    return tuple(_chunk(chunk, f"{what}[{rank}]") for rank, chunk in enumerate(value))


def _chunk(chunk: Any, what: str) -> str:
    if isinstance(chunk, str):
        return text_of(chunk, what)
    names = ", ".join(TEXT_NAMES)
    if not isinstance(chunk, Mapping):
        raise DataError(
            f"{what} is {describe(chunk)}; accepted: text, or an object with one of the keys {names}.",
            hint=quoting_hint(chunk),
        )
    given = [name for name in TEXT_NAMES if chunk.get(name) is not None]
    if not given:
        found = ", ".join(str(key) for key in chunk) or "none"
        raise DataError(f"{what} has none of the keys {names}; found: {found}.")
    first, *others = given
    for other in others:
        if chunk[other] != chunk[first]:
            raise DataError(
                f"{what}: {first!r} and {other!r} both mean the chunk's text and differ; give one of them."
            )
    return text_of(chunk[first], f"{what}: {first!r}")
