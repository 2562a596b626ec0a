from __future__ import annotations

import math
from typing import Any

import pytest

from ragjudge.judges.http.completion import Completion, Token, read_completion
from ragjudge.judges.http.logprobs import LEAST_PROBABILITY, read_first_token
from ragjudge.prompts.answers import label_mass, probability
from ragjudge.records import Verdict
from tests.judges.http.server import completion

LABELS = ("Yes", "No")


def of(top: dict[str, float], **message: Any) -> Completion:
    return read_completion(completion("x", top=top, **message).body)


def chances(top: dict[str, float]) -> dict[str, float]:
    found = read_first_token(of(top), LABELS)
    assert isinstance(found, dict)
    return {label: math.exp(value) for label, value in found.items()}


def test_all_spellings_of_a_label_are_summed() -> None:
    found = chances(
        {"Yes": 0.5, " yes": 0.2, "YES": 0.05, "\u2581Yes": 0.05, "No": 0.1, "\u0120no": 0.05, "Maybe": 0.02}
    )
    assert found == pytest.approx({"Yes": 0.8, "No": 0.15}, abs=1e-6)


def test_the_label_mass_is_what_the_listed_labels_have() -> None:
    found = read_first_token(of({"Yes": 0.6, "No": 0.2, "The": 0.1}), LABELS)
    assert isinstance(found, dict)
    verdict = Verdict(log_probabilities=found)
    assert label_mass(verdict) == pytest.approx(0.8, abs=1e-6)
    assert probability(verdict, "Yes") == pytest.approx(0.75, abs=1e-6)


def test_a_label_that_is_not_listed_gets_the_least_listed_probability() -> None:
    assert chances({"Yes": 0.6, "Maybe": 0.1, "The": 0.02})["No"] == pytest.approx(0.02, abs=1e-6)


def test_a_label_that_is_not_listed_gets_no_more_than_the_list_leaves_over() -> None:
    assert chances({"Yes": 0.95, "Maybe": 0.04})["No"] == pytest.approx(0.01, abs=1e-6)
    assert chances({"Yes": 0.9})["No"] == pytest.approx(0.1, abs=1e-6)


def test_a_certain_answer_leaves_the_other_label_a_finite_number() -> None:
    found = read_first_token(of({"Yes": 1.0}), LABELS)
    assert found == {"Yes": 0.0, "No": round(math.log(LEAST_PROBABILITY), 6)}


def test_numbers_that_stand_for_minus_infinity_stay_finite() -> None:
    top = (Token("Yes", 0.0), Token("No", -9999.0), Token("Maybe", -3.4e38))
    answer = Completion("Yes", "", True, None, top[0], top, None, 0, None)
    found = read_first_token(answer, LABELS)
    assert found == {"Yes": 0.0, "No": round(math.log(LEAST_PROBABILITY), 6)}


def test_the_answered_token_counts_even_when_the_list_lacks_it() -> None:
    answer = Completion(
        "No", "", True, None, Token("No", math.log(0.3)), (Token("Yes", math.log(0.2)),), None, 0, None
    )
    found = read_first_token(answer, LABELS)
    assert isinstance(found, dict)
    assert math.exp(found["No"]) == pytest.approx(0.3, abs=1e-6)
    assert math.exp(found["Yes"]) == pytest.approx(0.2, abs=1e-6)


def test_a_token_that_is_listed_twice_counts_once() -> None:
    yes, no = Token("Yes", math.log(0.55)), Token("No", math.log(0.4))
    answer = Completion("Yes", "", True, None, yes, (yes, no, no, no), None, 0, None)
    found = read_first_token(answer, LABELS)
    assert isinstance(found, dict)
    assert probability(Verdict(log_probabilities=found), "Yes") == pytest.approx(0.55 / 0.95, abs=1e-6)


@pytest.mark.parametrize(
    ("text", "first", "top"),
    [
        ("Yes", 0.9, {"Yes": 0.9, "No": 0.8}),
        ("Yes", 0.9, {"No": 0.9}),
        ("Yes", 0.9, {"Yes": 0.01, "No": 0.98}),
        ("No", 0.9, {"Yes": 0.9, "No": 0.1}),
    ],
)
def test_log_probabilities_that_cannot_all_be_right_say_nothing(
    text: str, first: float, top: dict[str, float]
) -> None:
    listed = tuple(Token(token, math.log(chance)) for token, chance in top.items())
    answer = Completion(text, "", True, None, Token("Yes", math.log(first)), listed, None, 0, None)
    assert read_first_token(answer, LABELS) == (
        "the server's log-probabilities contradict each other, or the answer"
    )


@pytest.mark.parametrize("token", ["The", "<think>", "Y", "Yesterday", "", "\n"])
def test_a_first_token_that_is_no_label_says_nothing_even_with_labels_below_it(token: str) -> None:
    assert (
        read_first_token(of({token: 0.5, "Yes": 0.3, "No": 0.1}), LABELS)
        == f"the answer begins with {token!r}"
    )


def test_a_token_of_reasoning_is_no_answer() -> None:
    answer = of({"No": 0.9, "Yes": 0.1}, reasoning_content="No")
    assert read_first_token(answer, LABELS) == "the answer begins with reasoning"


def test_without_log_probabilities_there_is_no_verdict() -> None:
    answer = read_completion(completion("Yes").body)
    assert read_first_token(answer, LABELS) == "the server gives no log-probabilities"
