from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragjudge.errors import UnknownNameError
from ragjudge.text.claims import claims
from ragjudge.text.clauses import clauses
from ragjudge.text.phrases import phrases_of
from tests.text.golden import Case, clause_cases

CASES = clause_cases()


def read(text: str, language: str = "english") -> list[str]:
    return [claim.judge_text for claim in claims(text, language, "clause")]


@pytest.mark.parametrize("case", [pytest.param(case, id=f"{case.group}-{n}") for n, case in enumerate(CASES)])
def test_a_golden_sentence_is_cut_into_the_right_clauses(case: Case) -> None:
    found = clauses(case.text, case.language, phrases_of(case.language)[0])
    assert tuple(case.text[part.start : part.end] for part in found) == case.pieces
    assert tuple(part.subject for part in found) == case.carried


def test_the_golden_clauses_are_enough_and_half_of_them_stay_whole() -> None:
    for language, least in (("english", 120), ("german", 20), ("french", 20), ("spanish", 20)):
        own = [case for case in CASES if case.language == language]
        assert len(own) >= least
        assert 0.4 <= sum(len(case.pieces) > 1 for case in own) / len(own) <= 0.6


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        (
            "Charles Darwin was born in 1809 and died in 1882.",
            ["Charles Darwin was born in 1809.", "Charles Darwin died in 1882."],
        ),
        (
            "The tower was designed by Eiffel and has three levels.",
            ["The tower was designed by Eiffel.", "The tower has three levels."],
        ),
        (
            "Marie Curie discovered radium in 1898 and won the Nobel Prize twice.",
            ["Marie Curie discovered radium in 1898.", "Marie Curie won the Nobel Prize twice."],
        ),
        (
            "In 1809, Darwin was born in Shrewsbury and later became a naturalist.",
            ["In 1809, Darwin was born in Shrewsbury.", "Darwin later became a naturalist."],
        ),
        (
            "Paris is the capital of France, and it has two million people; Lyon is smaller.",
            ["Paris is the capital of France.", "It has two million people.", "Lyon is smaller."],
        ),
        (
            "The bridge was built in 1900 and the road was paved in 1950.",
            ["The bridge was built in 1900.", "The road was paved in 1950."],
        ),
        (
            "Rome is old, but Oslo is young, and Paris is neither.",
            ["Rome is old.", "Oslo is young.", "Paris is neither."],
        ),
        (
            "The lake is deep and has fish but is not safe.",
            ["The lake is deep.", "The lake has fish.", "The lake is not safe."],
        ),
    ],
)
def test_a_compound_sentence_is_cut_and_its_subject_carried_over(text: str, clauses: list[str]) -> None:
    assert read(text) == clauses


@pytest.mark.parametrize(
    "text",
    [
        "The tower was designed and built by Eiffel.",
        "It sells bread and butter.",
        "He said that it rained and the game was lost.",
        "If it rains, the game is off and the tickets are void.",
        'He wrote "It is late and I am tired." to her.',
        "The tower (it was built in 1889 and it is tall) stands in Paris.",
        "The firm that was founded in 1900 and is still active makes shoes.",
        "Marie and Pierre Curie discovered radium.",
        "The distance between Rome and Oslo is 2,000 km.",
        "Red, green and blue are colours.",
        "Paris (France); Rome (Italy); Oslo (Norway)",
        "It is big and beautiful.",
    ],
)
def test_what_cannot_stand_alone_stays_whole(text: str) -> None:
    assert len(claims(text, mode="clause")) == 1


@pytest.mark.parametrize(
    ("language", "text", "clauses"),
    [
        ("german", "Er wurde 1809 geboren, und er starb 1882.", ["Er wurde 1809 geboren.", "Er starb 1882."]),
        ("german", "Er war Arzt und Dichter.", ["Er war Arzt und Dichter."]),
        (
            "french",
            "Il est né en 1809, mais il est mort en 1882.",
            ["Il est né en 1809.", "Il est mort en 1882."],
        ),
        ("spanish", "Ella nació en 1809; él murió en 1882.", ["Ella nació en 1809.", "Él murió en 1882."]),
        (
            "russian",
            "Он родился в 1809 году, и он умер в 1882.",
            ["Он родился в 1809 году.", "Он умер в 1882."],
        ),
    ],
)
def test_other_languages_are_cut_where_a_subject_is_named(
    language: str, text: str, clauses: list[str]
) -> None:
    assert read(text, language) == clauses


def test_offsets_stay_true_and_the_subject_is_only_in_what_the_judge_reads() -> None:
    text = "Right. Charles Darwin was born in 1809 and died in 1882."
    found = claims(text, mode="clause")
    texts = [claim.text for claim in found]
    assert texts == [
        "Right.",
        "Charles Darwin was born in 1809",
        "and died in 1882.",
    ]
    assert [text[claim.start : claim.end] for claim in found] == [claim.text for claim in found]


def test_a_later_clause_with_a_pronoun_knows_the_one_before() -> None:
    _, later = claims("Paris is big, and it has a river.", mode="clause")
    assert (later.judge_text, later.before) == ("It has a river.", "Paris is big")


def test_an_item_keeps_its_lead_in_in_front_of_its_first_clause() -> None:
    found = claims("The EU says of these:\n- Rome is old, and it is big", mode="clause")
    assert [claim.judge_text for claim in found][1:] == ["The EU says of these: Rome is old.", "It is big"]


def test_a_join_behind_a_semicolon_is_not_read_by_the_judge() -> None:
    assert read("Rome is old; but Oslo is young.") == ["Rome is old.", "Oslo is young."]


def test_a_carried_subject_begins_with_a_capital_unless_it_is_written_otherwise() -> None:
    assert read("In 1990, it was founded and later became a school.")[1] == "It later became a school."
    assert read("Today, iPods are rare and have few buyers.")[1] == "iPods have few buyers."


@pytest.mark.parametrize("text", ["and", "; and", "and ; and and", "A;", "; ;", "; it is late", "& and;"])
def test_what_is_no_sentence_stays_whole(text: str) -> None:
    assert [part.end - part.start for part in clauses(text, "english", phrases_of("english")[0])] == [
        len(text)
    ]


_UNITS = [
    "and ",
    "it is, and ",
    "; ",
    "the man who ",
    "(",
    '"',
    "' ",
    "-- ",
    ", and the king was ill",
    "1,1",
    "&a",
]


@pytest.mark.parametrize("unit", _UNITS)
@pytest.mark.parametrize("language", ["english", "german"])
def test_hostile_repeats_take_linear_time(unit: str, language: str) -> None:
    claims("Warm. Up.", language, "clause")
    sentence = f"It is {unit * (1400 // len(unit))} here. "
    began = time.perf_counter()
    claims(sentence * 60, language, "clause")
    # Twice the sentences take twice the time, since a longer sentence is not read at all.
    assert time.perf_counter() - began < 12


def test_sentence_mode_cuts_no_clauses() -> None:
    assert len(claims("Rome is old, but Oslo is young.")) == 1


def test_an_unknown_mode_is_named() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown claims mode 'clauses'\. Did you mean 'clause'"):
        claims("a", mode="clauses")


_WORDS = "Paris|it|the tower|is|was|and|but|, and|;|,|has|died|built|big|that|in 1900|(|)|“|”|.|he|also|which"


@given(st.lists(st.sampled_from(_WORDS.split("|")), max_size=30).map(" ".join))
def test_clauses_cover_their_sentences(text: str) -> None:
    whole = "".join("".join(claim.text.split()) for claim in claims(text))
    found = claims(text, mode="clause")
    assert "".join("".join(claim.text.split()) for claim in found) == whole
    done = 0
    for claim in found:
        assert done <= claim.start < claim.end
        assert claim.text == text[claim.start : claim.end]
        assert claim.judge_text
        done = claim.end
