from __future__ import annotations

import json
import math
from typing import Any

import pytest

from ragjudge.errors import ConfigError
from ragjudge.judges.fake import FakeJudge
from ragjudge.prompts.answers import probability
from ragjudge.prompts.template import load_template
from ragjudge.records import CallFailure, Outcome, Reply, Verdict

CONTEXT = "Guido van Rossum began working on Python in the late 1980s and first released it in 1991."


def chance(judge: FakeJudge, claim: str) -> float:
    check = load_template("support").check(claim, {}, (CONTEXT,))
    ((_, outcome),) = judge.ask([check])
    assert isinstance(outcome, Verdict)
    return probability(outcome, "Yes")


def test_without_a_script_word_overlap_decides() -> None:
    judge = FakeJudge()
    assert chance(judge, "Guido van Rossum released Python in 1991.") > 0.9
    assert chance(judge, "Bananas grow in Honduras.") < 0.1


def test_a_script_sets_probabilities_and_failures() -> None:
    judge = FakeJudge({"a claim": 0.7, "another": None})
    assert chance(judge, "a claim") == pytest.approx(0.7, abs=1e-6)
    check = load_template("support").check("another", {}, (CONTEXT,))
    ((_, outcome),) = judge.ask([check])
    assert isinstance(outcome, CallFailure)


@pytest.mark.parametrize("number", [1.5, -0.1, math.nan, math.inf, "0.5", True])
def test_a_script_or_score_that_is_no_number_from_0_to_1_is_refused(number: Any) -> None:
    with pytest.raises(
        ConfigError, match=r"script\['a claim'\] is .*; accepted: a number from 0 to 1, or None"
    ):
        FakeJudge({"a claim": number})
    with pytest.raises(ConfigError, match=r"score is .*; accepted: a number from 0 to 1\."):
        FakeJudge(score=number)


def test_another_script_is_another_judge() -> None:
    assert FakeJudge().identity().fingerprint == FakeJudge(id="other name").identity().fingerprint
    assert FakeJudge().identity().fingerprint != FakeJudge({"a": 0.5}).identity().fingerprint
    assert FakeJudge().identity().fingerprint != FakeJudge(score=0.9).identity().fingerprint


def test_a_prompt_gets_the_schema_it_asks_for() -> None:
    prompt = load_template("faithfulness_holistic").prompt({"output": "x"}, (CONTEXT,))
    ((_, outcome),) = FakeJudge(score=0.25).ask([prompt])
    assert isinstance(outcome, Reply)
    assert '"score": 0.25' in outcome.text


def cut(judge: FakeJudge, sentence: str) -> Outcome:
    ((_, outcome),) = judge.ask([load_template("claims").prompt({"sentence": sentence})])
    return outcome


def test_a_sentence_is_cut_as_the_script_says_or_at_its_joints() -> None:
    judge = FakeJudge(claims={"A is B and C.": ["A is B.", "A is C."], "D and E.": None})
    assert isinstance(cut(judge, "D and E."), CallFailure)
    for sentence, claims in {
        "A is B and C.": ["A is B.", "A is C."],
        "F runs, and G walks; H sits.": ["F runs.", "G walks.", "H sits."],
        "One thing.": ["One thing."],
    }.items():
        outcome = cut(judge, sentence)
        assert isinstance(outcome, Reply)
        assert json.loads(outcome.text) == {"claims": claims}
    assert judge.identity().fingerprint != FakeJudge().identity().fingerprint
