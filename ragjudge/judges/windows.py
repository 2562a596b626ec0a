"""Cuts contexts that are longer than a judge's window into windows. Pure.

Nothing is left out: chunks are packed into windows whole and in order, and a chunk that is longer than
a window is cut at sentence ends, with some overlap, so that a statement and what it refers to stand in
one window. Every claim is then asked of every window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ragjudge.records import ChunkSpan

OVERLAP = 96
"""Most tokens of one part of a chunk that the next part repeats: two or three sentences. A small window
repeats at most a third of itself."""


def split_into_windows(
    chunks: Sequence[str],
    budget: int,
    count: Callable[[str], int],
    sentences: Callable[[str], Sequence[tuple[int, int]]],
    lines: Sequence[int] | None = None,
) -> list[tuple[ChunkSpan, ...]]:
    """Pack chunks into windows.

    Args:
        chunks: The chunks, in rank order.
        budget: Most tokens of chunk text in one window, at least 1.
        count: Says how many tokens a text has; never less for a longer text.
        sentences: Finds the sentences of a text as ``(start, end)``, in order.
        lines: For each chunk the tokens that showing any part of it takes besides its text; None = none.

    Returns:
        The windows, each with the spans of the chunks it holds. Every character of every chunk that is
        not white space stands in at least one of them.
    """
    windows: list[tuple[ChunkSpan, ...]] = []
    window: list[ChunkSpan] = []
    used = 0
    for number, chunk in enumerate(chunks):
        line = lines[number] if lines is not None else 0
        for start, end in _parts(chunk, max(1, budget - line), count, sentences):
            tokens = count(chunk[start:end]) + line
            if window and used + tokens > budget:
                windows.append(tuple(window))
                window, used = [], 0
            window.append(ChunkSpan(number, start, end))
            used += tokens
    if window:
        windows.append(tuple(window))
    return windows


def _parts(
    chunk: str,
    budget: int,
    count: Callable[[str], int],
    sentences: Callable[[str], Sequence[tuple[int, int]]],
) -> Iterator[tuple[int, int]]:
    """Yield the spans of a chunk, one if it fits whole."""
    if count(chunk) <= budget:
        yield 0, len(chunk)
        return
    units = [unit for sentence in sentences(chunk) for unit in _units(chunk, sentence, budget, count)]
    sizes = [count(chunk[start:end]) for start, end in units]
    first = 0
    while first < len(units):
        last, used = first, sizes[first]
        while last + 1 < len(units) and used + sizes[last + 1] <= budget:
            last += 1
            used += sizes[last]
        yield units[first][0], units[last][1]
        if last + 1 == len(units):
            return
        first = _with_overlap(sizes, first, last, budget)


def _with_overlap(sizes: Sequence[int], first: int, last: int, budget: int) -> int:
    """Return the first unit of the next part: some units back, but past this part's first one.

    The repeated units must leave room for the first new one, or the walk would not get on.
    """
    following = last + 1
    room = min(OVERLAP, budget // 3, budget - sizes[following])
    start = following
    while start - 1 > first and room >= sizes[start - 1]:
        start -= 1
        room -= sizes[start]
    return start


def _units(
    chunk: str, sentence: tuple[int, int], budget: int, count: Callable[[str], int]
) -> Iterator[tuple[int, int]]:
    """Yield a sentence, cut at blanks (or anywhere) where it is longer than a window."""
    start, end = sentence
    while count(chunk[start:end]) > budget:
        low, high = start + 1, end
        while low < high:
            middle = (low + high + 1) // 2
            if count(chunk[start:middle]) <= budget:
                low = middle
            else:
                high = middle - 1
        blank = max(chunk.rfind(" ", start + 1, low), chunk.rfind("\n", start + 1, low))
        cut = blank if blank > start else low
        yield start, cut
        start = cut
    if start < end:
        yield start, end
