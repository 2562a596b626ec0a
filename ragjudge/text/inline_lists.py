"""Numbered lists inside a paragraph: "We need: 1. milk, 2. bread"."""

from __future__ import annotations

import re

_MARK = re.compile(r"(?<!\S)(?:(?P<figure>\d{1,2})(?P<end>[.)])|(?P<letter>[a-h])\))[ \t]+(?=[^\s\d])")
_LEAD = re.compile(r"(?::|^)[*_\s]*$")


def inline_marks(view: str, start: int, end: int, number: int = 0) -> list[tuple[int, int]]:
    """Return where the marks of a list inside a block begin and end, in order; empty when there is none.

    A list begins behind a colon, or with the item that the block is, and counts on from there. A single
    mark is no list: "See 1. above" is prose.

    Args:
        view: The text.
        start: Where the block begins.
        end: Where it ends.
        number: The figure in front of the block, when it is a numbered item.
    """
    found: list[tuple[int, int]] = []
    first = [f"{number + 1}.", f"{number + 1})"] if number else ["1.", "1)", "a)"]
    if all(view.find(mark, start, end) < 0 for mark in first):
        return found
    expected, style = (number + 1, ".)") if number else (1, "")
    is_letter = False
    for match in _MARK.finditer(view, start, end):
        value = int(match["figure"]) if match["figure"] else ord(match["letter"]) - ord("a") + 1
        if value != expected:
            continue
        if not found and not number:
            if _LEAD.search(view[max(start, match.start() - 8) : match.start()]) is None:
                continue
            is_letter, style = match["letter"] is not None, match["end"] or ""
        elif (match["letter"] is not None) != is_letter or (match["end"] or "") not in style:
            continue
        found.append(match.span())
        expected += 1
    return found if number or len(found) > 1 else []
