"""A piece of a text that knows where it came from."""

from __future__ import annotations

from typing import NamedTuple


class Span(NamedTuple):
    """A piece of a source text; ``text == source[start:end]`` always holds.

    Attributes:
        text: The characters of the piece, exactly as the source has them.
        start: Offset of its first character, in characters of the source (not bytes).
        end: Offset behind its last character.
    """

    text: str
    start: int
    end: int


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the range without the white space at its two ends (an empty range when nothing is left)."""
    piece = text[start:end]
    left = len(piece) - len(piece.lstrip())
    if left == len(piece):
        return start, start
    return start + left, start + len(piece.rstrip())
