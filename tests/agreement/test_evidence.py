from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragjudge.agreement.evidence import (
    ENOUGH_WORDS,
    EVIDENCE_VERSION,
    FEATURES,
    asked_about,
    features,
)
from ragjudge.prompts.template import load_template
from ragjudge.records import ChunkSpan

CONTEXT = (
    "Marie Curie was born in Warsaw in 1867. She moved to Paris and studied physics there. "
    "In 1903 she shared the Nobel Prize with Pierre Curie and Henri Becquerel."
)


def counted(claim: str, *evidence: str) -> dict[str, float]:
    return dict(zip(FEATURES, features(claim, evidence), strict=True))


def test_the_features_of_this_version_never_change() -> None:
    # A calibration that people have relies on them: for other numbers, raise the version.
    assert EVIDENCE_VERSION == 1
    found = counted("In 1911 the physicist Marie Curie won the Nobel Prize in Stockholm alone.", CONTEXT)
    assert found == pytest.approx(
        {
            "words_found": 5 / 9,
            "numbers_missing": 1.0,
            "has_numbers": 1.0,
            "words_shown": math.log(1 + 16),
            "words_asked": math.log(1 + 9),
            "other_language": 0.0,
        }
    )


def test_what_is_all_there_is_found_up_to_what_is_enough() -> None:
    found = counted("Marie Curie was born in Warsaw in 1867.", CONTEXT)
    assert found["words_found"] == ENOUGH_WORDS
    assert found["numbers_missing"] == 0.0


def test_an_inflected_word_counts_as_found() -> None:
    assert counted("physicists", "She studied physics.")["words_found"] == ENOUGH_WORDS
    assert counted("öğretmenlerimiz", "Öğretmenler geldi.")["words_found"] == ENOUGH_WORDS
    assert counted("stamps", "She studied physics.")["words_found"] == 0.0


def test_figures_are_compared_by_their_value() -> None:
    assert counted("It cost 1,000 euros in 2019.", "The price was 1000 euros.")["numbers_missing"] == 0.5
    assert counted("It cost a lot.", "The price was 1000 euros.")["has_numbers"] == 0.0


@pytest.mark.parametrize(
    ("claim", "evidence", "share"),
    [
        ("北京是中国的首都", "中国的首都是北京。", ENOUGH_WORDS),
        ("東京は赤い", "東京は青い。", 0.5),
        ("عاصمة فرنسا باريس", "باريس هي عاصمة فرنسا.", ENOUGH_WORDS),
    ],
)
def test_scripts_without_spaces_or_capitals_are_counted_too(claim: str, evidence: str, share: float) -> None:
    found = counted(claim, evidence)
    assert found["words_found"] == pytest.approx(share)


@pytest.mark.parametrize(
    ("claim", "evidence", "other"),
    [
        ("She was born in Warsaw.", "Marie Curie was born in Warsaw in 1867.", 0.0),
        ("Paris: population 2102650", "The city of Paris has 2102650 inhabitants.", 0.0),
        ("Sie wurde in Warschau geboren.", "Marie Curie wurde 1867 in Warschau geboren.", 1.0),
        ("Elle est née à Varsovie.", "Marie Curie est née à Varsovie en 1867.", 1.0),
        ("北京是中国的首都", "中国的首都是北京。", 1.0),
        ("1867", "", 0.0),
    ],
)
def test_texts_in_another_language_are_known_by_their_small_words(
    claim: str, evidence: str, other: float
) -> None:
    assert counted(claim, evidence)["other_language"] == other


def test_nothing_shown_or_claimed_finds_nothing() -> None:
    assert features("", ()) == (0.0,) * len(FEATURES)
    assert counted("Paris 1900", *())["numbers_missing"] == 1.0


@given(st.text(), st.lists(st.text(), max_size=3))
def test_every_feature_is_finite_and_in_its_range(claim: str, evidence: list[str]) -> None:
    found = counted(claim, *evidence)
    for name, value in found.items():
        assert 0.0 <= value <= (math.inf if name in ("words_shown", "words_asked") else 1.0)
        assert math.isfinite(value)


def test_a_claim_is_held_against_the_chunks_or_what_was_shown_of_them() -> None:
    check = load_template("support").check(
        "It rained.", {"question": "Weather?"}, ("It was wet.", "Rain fell.")
    )
    assert asked_about(check) == ("It rained.", ["It was wet.", "Rain fell."])
    assert asked_about(check, [ChunkSpan(1, 0, 4)]) == ("It rained.", ["Rain"])


def test_a_claim_that_equals_its_chunk_is_still_the_claim() -> None:
    check = load_template("support").check("It rained.", {"question": "Weather?"}, ("It rained.",))
    assert asked_about(check) == ("It rained.", ["It rained."])


def test_the_question_is_held_against_a_passage_or_sentence_that_is_itself_judged() -> None:
    slots = {"question": "Who came?"}
    chunk = load_template("chunk_relevance").check("Ann came.", slots, ("Ann came.",))
    assert asked_about(chunk) == ("Who came?", ["Ann came."])
    sentence = load_template("sentence_relevance").check("Ann came.", slots)
    assert asked_about(sentence) == ("Who came?", ["Ann came."])
