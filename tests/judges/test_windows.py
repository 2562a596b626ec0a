from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragjudge.judges.windows import OVERLAP, split_into_windows
from ragjudge.records import ChunkSpan


def words(text: str) -> int:
    return len(text.split())


def sentences(text: str) -> Sequence[tuple[int, int]]:
    spans, start = [], 0
    for end, character in enumerate(text, start=1):
        if character == ".":
            spans.append((start, end))
            start = end
    if text[start:].strip():
        spans.append((start, len(text)))
    return spans


def test_chunks_that_fit_are_one_window() -> None:
    assert split_into_windows(["a b.", "c d."], 4, words, sentences) == [
        (ChunkSpan(0, 0, 4), ChunkSpan(1, 0, 4))
    ]


def test_chunks_are_packed_whole_and_in_order() -> None:
    windows = split_into_windows(["a b.", "c d e.", "f."], 4, words, sentences)
    assert windows == [(ChunkSpan(0, 0, 4),), (ChunkSpan(1, 0, 6), ChunkSpan(2, 0, 2))]


def test_a_long_chunk_is_cut_at_sentence_ends_with_overlap() -> None:
    chunk = " ".join(f"one two three four{n}." for n in range(6))
    windows = split_into_windows([chunk], 12, words, sentences)
    texts = [chunk[span.start : span.end].split() for (span,) in windows]
    assert all(text[-1].startswith("four") for text in texts)
    assert [text[-1] for text in texts] == ["four2.", "four4.", "four5."]
    assert texts[1][:4] == ["one", "two", "three", "four2."]  # the last sentence of the part before


def test_a_sentence_longer_than_a_window_is_cut_at_blanks() -> None:
    windows = split_into_windows(["a b c d e f g."], 3, words, sentences)
    chunk = "a b c d e f g."
    assert [chunk[span.start : span.end].strip() for (span,) in windows] == ["a b c", "d e f", "g."]


@pytest.mark.parametrize("chunks", [[], [""]])
def test_nothing_to_pack(chunks: list[str]) -> None:
    assert sum(map(len, split_into_windows(chunks, 5, words, sentences))) == len(chunks)


texts = st.text(alphabet="ab .\n", max_size=120)


@given(st.lists(texts, max_size=5), st.integers(1, 12))
@settings(max_examples=200, deadline=None)
def test_every_character_is_in_a_window_and_no_window_is_too_long(chunks: list[str], budget: int) -> None:
    windows = split_into_windows(chunks, budget, len, sentences)
    seen = {(span.chunk, at) for window in windows for span in window for at in range(span.start, span.end)}
    for number, chunk in enumerate(chunks):
        for at, character in enumerate(chunk):
            assert character.isspace() or (number, at) in seen
    for window in windows:
        assert sum(len(chunks[span.chunk][span.start : span.end]) for span in window) <= budget
        assert list(window) == sorted(window)
    assert OVERLAP > 0
