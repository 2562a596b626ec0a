from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragjudge.text.normal import normalised


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("plain", "plain"),
        ("Größe", "Größe"),
        ("Cafe\u0301", "Café"),
        ("x\u0304 y", "x y"),
        ("\u0301a", "a"),
        ("co\u00adop\u200b", "coop"),
        ("\ufeffA", "A"),
        ("Ａ１", "A1"),
        ("\U0001d400\U0001d7d8", "A0"),
        ("\u1112\u1161\u11ab", "한"),
        ("か\u3099", "が"),
        ("…½ﬁ²", "…½ﬁ²"),
        ("👍\ufe0f", "👍"),
    ],
)
def test_decisions_are_made_on_composed_letters_without_invisible_signs(text: str, normal: str) -> None:
    assert normalised(text).text == normal


def test_a_range_stands_for_all_that_belongs_to_its_letters() -> None:
    source = normalised("Cafe\u0301\u200b. \ufeffNext")
    assert source.text == "Café. Next"
    assert source.span(0, 5).text == "Cafe\u0301\u200b."
    assert source.span(6, 10) == (span := source.span(6, 10))
    assert (span.text, span.start, span.end) == ("Next", 9, 13)


@given(st.text(st.sampled_from("ae\u0301\u0327 \u200b\ufeff.Ａ\u1112\u1161\u11ab漢\U0001d400")))
def test_ranges_of_the_normal_form_tile_the_original(text: str) -> None:
    source = normalised(text)
    spans = [source.span(at, at + 1) for at in range(len(source.text))]
    for left, right in pairwise(spans):
        assert left.end == right.start
    assert all(span.text == text[span.start : span.end] for span in spans)
    if spans:
        assert spans[-1].end == len(text)
        assert not "".join(text[: spans[0].start]).strip("\u200b\ufeff\u0301\u0327")


@given(st.text())
def test_a_normal_text_stays_as_it_is(text: str) -> None:
    once = normalised(text).text
    assert normalised(once).text == once or unicodedata.normalize("NFC", once) != once
