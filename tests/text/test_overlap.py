from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragjudge.text.overlap import best_chunk, content_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The tower was built in 1889.", ["tower", "built", "1889"]),
        ("Apollo 11 landed on 20 July 1969", ["apollo", "11", "landed", "20", "july", "1969"]),
        ("Napoleon's cities; the city", ["napoleon", "city", "city"]),
        ("Cafés and CAFE", ["cafe", "cafe"]),
        ("boxes, churches, classes, bus, glass", ["box", "church", "class", "bus", "glass"]),
        ("1,000 km or 3.14 or 1969,", ["1000", "km", "3.14", "1969"]),
        ("the 20th, the 1960s", ["20th", "1960s"]),
        ("ﬁne ＡＢＣ", ["fine", "abc"]),
        ("巴黎是首都", ["巴黎", "黎是", "是首", "首都"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("It is what it was; does he?", []),
        ("not all", ["not", "all"]),
        ("", []),
    ],
)
def test_content_words_are_folded_and_stop_words_left_out(text: str, words: list[str]) -> None:
    assert content_words(text) == words


def test_the_chunk_with_most_shared_words_wins() -> None:
    chunks = ["Rome is old.", "The tower in Paris is tall.", "Paris has a tower that opened in 1889."]
    assert best_chunk("The Paris tower opened in 1889.", chunks) == 2


def test_the_first_chunk_wins_a_tie() -> None:
    assert best_chunk("Paris", ["Rome", "Paris is big", "Paris is old"]) == 1


def test_repeats_in_a_chunk_do_not_count_twice() -> None:
    assert best_chunk("Paris tower", ["Paris Paris Paris", "Paris tower"]) == 1


@pytest.mark.parametrize("chunks", [[], [""], ["Rome", "  "]])
def test_no_shared_word_means_no_chunk(chunks: list[str]) -> None:
    assert best_chunk("Paris is big", chunks) is None


@given(st.text(), st.lists(st.text(), max_size=4))
def test_any_text_has_words_and_an_index_within_the_chunks(claim: str, chunks: list[str]) -> None:
    assert all(content_words(claim))
    index = best_chunk(claim, chunks)
    assert index is None or 0 <= index < len(chunks)


@given(st.text(alphabet="ab1 9.,'_-\n", max_size=20))
def test_plain_ascii_is_cut_into_the_same_words_as_any_other_text(text: str) -> None:
    # An accent puts the text on the general way; the word that carries it is the last one.
    assert [*content_words(text), "e"] == content_words(f"{text} é")
