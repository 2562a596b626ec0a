from __future__ import annotations

import pytest

from ragjudge.text.clause_words import QUOTED, words_of


def lows(text: str) -> list[str]:
    return [word.low for word in words_of(text)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The U.S. lost 3-0.", ["the", "u.s", "lost", "3-0"]),
        ("It cost $1,000.50, or 5%.", ["it", "cost", "$1,000.50", ",", "or", "5%"]),
        ("On the 10th he left", ["on", "the", "10th", "he", "left"]),
        ("A (b, c) d [e] f", ["a", "d", "f"]),
        ('He wrote "a and b" here', ["he", "wrote", QUOTED, "here"]),
        ("Er schrieb „a und b“ hin", ["er", "schrieb", QUOTED, "hin"]),
        ("Il écrit « a et b » ici", ["il", "écrit", QUOTED, "ici"]),
        ("He said 'a and b' to the boys' dogs", ["he", "said", QUOTED, "to", "the", "boys", "dogs"]),
        ("It’s the dogs’ bowl", ["it's", "the", "dogs", "bowl"]),
        ("in the '90s and on", ["in", "the", "90s", "and", "on"]),
        ("R&amp;D; x", ["r", "d", ";", "x"]),
        ("a -- b — c - d", ["a", "--", "b", "—", "c", "--", "d"]),
        ("open (and never shut", ["open"]),
    ],
)
def test_a_sentence_is_read_as_words_and_marks(text: str, words: list[str]) -> None:
    assert lows(text) == words


def test_offsets_point_into_the_sentence() -> None:
    text = 'Ann (37) met "Bob", twice.'
    assert [text[word.start : word.end] for word in words_of(text)] == ["Ann", "met", '"Bob"', ",", "twice"]
