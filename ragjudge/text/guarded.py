"""Stretches inside a paragraph in which no sentence ends: inline code and the text of links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from heapq import merge

_TICKS = re.compile(r"`+")
# Bounded, so that a row of brackets costs no more than its length times a constant.
_LINK = re.compile(r"\[[^\[\]]{1,200}\](?:\([^()\s]{1,600}\)|\[[^\[\]\s]{1,60}\])")


def guarded_ranges(view: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a block that must not be cut, ordered by where they begin."""
    if view.find("`", start, end) >= 0 or view.find("]", start, end) >= 0:
        yield from merge(_code(view, start, end), _links(view, start, end))


def _code(view: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield inline code: from a run of backticks to the next run of the same length."""
    if "`" not in view[start:end]:
        return
    runs = [match.span() for match in _TICKS.finditer(view, start, end)]
    closing: dict[int, list[int]] = {}
    for index in range(len(runs) - 1, -1, -1):
        closing.setdefault(runs[index][1] - runs[index][0], []).append(index)
    index = 0
    while index < len(runs):
        waiting = closing[runs[index][1] - runs[index][0]]
        while waiting and waiting[-1] <= index:
            waiting.pop()
        if waiting:
            yield runs[index][0], runs[waiting[-1]][1]
            index = waiting[-1]
        index += 1


def _links(view: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    if "](" in view[start:end] or "][" in view[start:end]:
        yield from (match.span() for match in _LINK.finditer(view, start, end))
