from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragjudge.text.claims import claims
from ragjudge.text.compound import LONGEST, why_unlike


def asked(text: str, language: str = "english", **options: str) -> list[bool]:
    return [claim.compound for claim in claims(text, language, "judge", **options)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "language", "compound"),
    [
        ("Python was released in 1991.", "english", False),
        ("The tower is 1,063 feet tall.", "english", False),
        ("**Capital:** Paris is the capital.", "english", False),
        ("He is a well-known man of 1991-1995.", "english", False),
        ("Android phones never orbit oranges.", "english", False),  # begins with "and", "or"
        ("Python was released in 1991 and is popular.", "english", True),
        ("Curie, a chemist, won it.", "english", True),
        ("The drug that she took helps.", "english", True),
        ("He left because it rained.", "english", True),
        ("It rose (by 5 %).", "english", True),
        ("It rose; it fell.", "english", True),
        ("It rose - by 5 %.", "english", True),
        ("It rose — by 5 %.", "english", True),
        ("In the year 1991 the first public release of the language Python came out.", "english", True),
        ("Er kam an und war krank.", "german", True),
        ("Er kam am 3. Mai 1900 an.", "german", False),
        ("Il est grand et fort.", "french", True),
        ("巴黎是法国的首都。", "english", False),
        ("巴黎是法国的首都，柏林是德国的首都。", "english", True),
        ("巴" * 25 + "。", "english", True),
        ("巴，" * 200 + "。", "english", False),  # too long for a list of claims
    ],
)
def test_only_a_sentence_that_may_say_several_things_is_asked_about(
    text: str, language: str, compound: bool
) -> None:
    assert asked(text, language) == [compound]


def test_what_is_no_claim_or_no_sentence_is_never_asked_about() -> None:
    text = (
        "Hello, and welcome! Is it red, or blue?\n\n| city | size, and more |\n|---|---|\n"
        "| Paris, France | big and old |\n\n```\na, b and c\n```\n"
    )
    assert not any(asked(text))
    assert not any(asked(text, code="whole"))
    assert asked("- Rome is old and big\n- Paris is big") == [True, False]


def test_a_sentence_too_long_for_a_list_of_claims_stays_whole() -> None:
    sentence = "It rose, and it fell, " * (LONGEST // 20) + "and it ended."
    assert asked(sentence) == [False]


@pytest.mark.parametrize("mode", ["sentence", "clause"])
def test_other_modes_ask_nothing(mode: str) -> None:
    assert not any(claim.compound or claim.part for claim in claims("It rose, and it fell.", mode=mode))


@given(st.text(alphabet="Aab. ,;\n-*|1?", max_size=80))
def test_the_pieces_are_those_of_the_sentence_mode(text: str) -> None:
    spans = [(claim.start, claim.end, claim.judge_text) for claim in claims(text)]
    assert [(claim.start, claim.end, claim.judge_text) for claim in claims(text, mode="judge")] == spans


CURIE = "Marie Curie, who was born in Warsaw, won two Nobel Prizes and did not retire before 1934."
GOOD = (
    "Marie Curie was born in Warsaw.",
    "Marie Curie won two Nobel Prizes.",
    "Marie Curie did not retire before 1934.",
)


def test_claims_in_the_words_of_their_sentence_are_taken() -> None:
    assert why_unlike(CURIE, GOOD) == ""


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ((*GOOD, "Polonium is a radioactive element."), "a claim has words that the sentence does not have"),
        ((*GOOD[:2], "Marie Curie did not retire before 1935."), "a claim has a figure that the sentence"),
        ((*GOOD, CURIE), "a claim is the whole sentence again"),
        ((*GOOD, "It is."), "a claim has no words of content"),
        (GOOD[:2], "the claims leave out a figure"),
        ((GOOD[0], GOOD[2]), "the claims leave out words"),
        ((*GOOD[:2], "Marie Curie did retire before 1934."), "the claims do not deny"),
    ],
)
def test_claims_that_say_something_else_are_not(parts: tuple[str, ...], why: str) -> None:
    assert why_unlike(CURIE, parts).startswith(why)


@pytest.mark.parametrize(
    ("sentence", "parts", "why"),
    [
        (
            "It may cause pain and fever.",
            ("It causes pain.", "It causes fever."),
            "the claims are not as sure",
        ),
        (
            "It causes pain and fever.",
            ("It may cause pain.", "It may cause fever."),
            "the claims are not as sure",
        ),
        ("It wasn't red and wasn't blue.", ("It wasn't red.", "It wasn't blue."), ""),
        ("Er war nicht rot und groß.", ("Er war rot.", "Er war groß."), "the claims leave out words"),
        ("It is, and that is it.", ("It is.", "That is it."), "the sentence has no words"),
    ],
)
def test_doubt_and_denial_must_stay(sentence: str, parts: tuple[str, ...], why: str) -> None:
    assert why_unlike(sentence, parts).startswith(why)
    assert why_unlike(sentence, parts) != "" or why == ""


@given(st.text(max_size=60), st.lists(st.text(max_size=40), min_size=1, max_size=4))
def test_any_text_is_compared_without_an_error(sentence: str, parts: list[str]) -> None:
    assert isinstance(why_unlike(sentence, parts), str)


def test_hostile_repeats_take_no_time() -> None:
    started = time.perf_counter()
    for hostile in ("a-" * 20_000, " - " * 20_000, "a'" * 20_000, ",1" * 20_000, "巴" * 50_000):
        why_unlike(hostile, [hostile])
        claims(hostile, mode="judge")
    assert time.perf_counter() - started < 5
