from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from pydantic import ValidationError

from ragjudge import Score, evaluate
from ragjudge.errors import ConfigError, UsageError
from ragjudge.evaluation import Evaluation
from ragjudge.judges.fake import FakeJudge
from ragjudge.metrics.base import Plan
from ragjudge.records import Call, Check, Item, Outcome, Sample
from ragjudge.scorers import Scorer


def check(text: str, **changes: Any) -> Check:
    fields: dict[str, Any] = {
        "template": "politeness",
        "version": 1,
        "system": "Answer.",
        "shared": f"Text: {text}\n",
        "own": "Is it polite?",
        "labels": ("Yes", "No"),
        "positive": "Yes",
        "claim": text,
    }
    return Check(**{**fields, **changes})


def score(value: Any = 0.5, **changes: Any) -> Score:
    fields: dict[str, Any] = {"metric": "politeness", "status": "scored", "mode": "decomposed"}
    return Score(**{**fields, "value": value, "reason": "as asked", **changes})


class Politeness:
    """A metric that does everything right, unless the row is a rude one."""

    name: Any = "politeness"
    by: Any = None
    mode: Any = "decomposed"
    requires: Any = ("output",)
    default_threshold: Any = 0.5

    def __init__(
        self,
        *,
        prepare: Callable[[], Any] = tuple,
        plan: Callable[[], Any] | None = None,
        score: Callable[[], Any] = score,
    ) -> None:
        self._prepare, self._plan, self._score = prepare, plan, score

    def prepare(self, sample: Sample) -> Sequence[Call]:
        return self._prepare() if sample.output == "Rude." else ()

    def plan(self, sample: Sample, prepared: Sequence[Outcome] = ()) -> Plan:
        if self._plan is not None and sample.output == "Rude.":
            return self._plan()  # type: ignore[no-any-return]
        return Plan.of_calls([check(str(sample.output))])

    def score(self, sample: Sample, plan: Plan, outcomes: Sequence[Outcome]) -> Score:
        return self._score() if sample.output == "Rude." else score()


def grade(metric: Any) -> Evaluation:
    rows = [{"output": "Thank you."}, {"output": "Rude."}, {"output": "Please."}]
    return evaluate(dataset=rows, scorers=[metric], llm=FakeJudge(), cache=False)


def raises(error: BaseException) -> Callable[[], Any]:
    def method() -> Any:
        raise error

    return method


@pytest.mark.parametrize(
    ("methods", "reason"),
    [
        ({"score": lambda: score(math.nan)}, "Score: value is nan: Input should be a finite number"),
        ({"score": lambda: score(2.0)}, "Score: value is 2.0: Input should be less than or equal to 1"),
        ({"score": lambda: score(-1)}, "Score: value is -1: Input should be greater than or equal to 0"),
        ({"score": lambda: score("good")}, "Score: value is 'good': Input should be a valid number"),
        ({"score": lambda: score(None)}, "a score with no value cannot have the status 'scored'"),
        ({"score": lambda: None}, r"politeness\.score returned None; accepted: a Score\."),
        ({"score": lambda: 0.5}, r"politeness\.score returned a float; accepted: a Score\."),
        (
            {"score": raises(ZeroDivisionError("division by zero"))},
            r"politeness\.score raised ZeroDivisionError: division by zero \(test_checked\.py, line \d+\)\.",
        ),
        ({"score": raises(StopIteration())}, r"politeness\.score raised StopIteration \(test_checked"),
        ({"score": raises(SystemExit(3))}, r"politeness\.score raised SystemExit: 3 \(test_checked"),
        ({"plan": raises(KeyError("x"))}, r"politeness\.plan raised KeyError: 'x' \(test_checked"),
        ({"plan": raises(StopIteration())}, r"politeness\.plan raised StopIteration \(test_checked"),
        ({"plan": lambda: None}, r"politeness\.plan returned None; accepted: a Plan\."),
        ({"plan": lambda: [check("a")]}, r"politeness\.plan returned a list; accepted: a Plan\."),
        (
            {"plan": lambda: Plan.of_calls(["Is it polite?"])},  # type: ignore[list-item]
            r"politeness\.plan raised TypeError: a str is planned; accepted: a Check, a Prompt \(test_",
        ),
        (
            {"plan": lambda: Plan.of_nothing("nothing to judge", "pass")},  # type: ignore[arg-type]
            r"politeness\.plan raised ValueError: .* is no reason and one of skip, fail \(test_checked",
        ),
        (
            {"plan": lambda: Plan.of_calls([check("a", positive="YES")])},
            r"politeness\.plan raised ValueError: Check: positive is 'YES', which is none of the labels",
        ),
        ({"prepare": raises(OSError("gone"))}, r"politeness\.prepare raised OSError: gone \(test_checked"),
        ({"prepare": lambda: 5}, r"politeness\.prepare raised TypeError: "),
    ],
)
def test_a_metric_that_breaks_costs_its_row_alone_and_is_told(methods: dict[str, Any], reason: str) -> None:
    results = grade(Politeness(**methods))
    first, broken, last = (row.scores["politeness"] for row in results.rows)
    assert (first.value, last.value) == (0.5, 0.5)
    assert (broken.value, broken.status, broken.passed) == (None, "judge_error", None)
    assert pytest.approx(2 / 3, abs=1e-6) == results.report.coverage
    assert not results.passed
    summary = results.report.summary["politeness"]
    assert (summary.mean, summary.scored, summary.total, summary.errors) == (0.5, 2, 3, 1)
    assert re.search(reason, broken.reason)
    assert Scorer(FakeJudge(), metric=Politeness(**methods), cache=False).score(output="Rude.") == broken


@pytest.mark.parametrize(
    ("calls", "outcomes"),
    [
        ([], 0),
        ([check("a")] * 3, 3),
        ((check(text) for text in "ab"), 2),
        (map(check, map(str, range(999))), 999),
    ],
)
def test_any_number_of_calls_may_be_planned_and_each_has_its_outcome(calls: Any, outcomes: int) -> None:
    plan = Plan(calls=calls)

    class Counting(Politeness):
        def score(self, sample: Sample, plan: Plan, outcomes: Sequence[Outcome]) -> Score:
            return score(len(outcomes) / 1000)

    assert grade(Counting(plan=lambda: plan)).rows[1].scores["politeness"].value == outcomes / 1000


def test_what_a_metric_raises_on_purpose_is_an_error_of_the_run() -> None:
    with pytest.raises(ConfigError, match="no such tone"):
        grade(Politeness(score=raises(ConfigError("no such tone"))))


def test_a_score_goes_by_the_name_of_the_metric_that_was_asked() -> None:
    found = grade(
        Politeness(score=lambda: score(metric="other", mode="holistic", passed=True, threshold=0.1))
    )
    broken = found.rows[1].scores["politeness"]
    assert (broken.metric, broken.mode, broken.threshold) == ("politeness", "decomposed", 0.5)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"name": None}, "metric: name is None; accepted: text that is not blank."),
        ({"name": " "}, "metric: name is ' '; accepted: text that is not blank."),
        ({"by": 5}, "metric: by is 5; accepted: None, or text."),
        ({"mode": "whole"}, "metric: mode is 'whole'; accepted: decomposed, holistic."),
        (
            {"requires": "output"},
            "metric: requires is 'output'; accepted: a tuple with some of input, output, contexts, expected.",
        ),
        ({"requires": ("answer",)}, "metric: requires is ('answer',); accepted: a tuple with some of "),
        ({"default_threshold": math.nan}, "threshold is nan; accepted: a number from 0 to 1."),
    ],
)
def test_a_metric_whose_attributes_cannot_be_meant_is_refused(
    attributes: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        grade(type("Odd", (Politeness,), attributes)())
    assert caught.value.message.startswith(message)


def test_a_class_is_no_metric() -> None:
    with pytest.raises(UsageError, match=r"metric is the class Politeness; accepted: an object of it\."):
        grade(Politeness)


@pytest.mark.parametrize(
    "changes",
    [
        {"value": math.inf},
        {"value": 0.5, "status": "judge_error"},
        {"value": None, "status": "scored"},
        {"threshold": 1.5},
        {"interval": (0.0, math.nan)},
        {"interval": (0.9, 0.1)},
        {"errors": -1},
    ],
)
def test_a_score_refuses_numbers_that_cannot_be_meant(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        score(**changes)


@pytest.mark.parametrize(
    "changes", [{"start": -1}, {"end": -1}, {"probability": 1.1}, {"label_mass": math.nan}]
)
def test_an_item_refuses_numbers_that_cannot_be_meant(changes: dict[str, Any]) -> None:
    fields: dict[str, Any] = {"text": "x", "start": 0, "end": 1, "verdict": True, "probability": 0.9}
    with pytest.raises(ValidationError):
        Item(**{**fields, "label_mass": 0.9, **changes})


@pytest.mark.parametrize("labels", [("Yes", "yes"), ("Yes", " Yes"), ("Yes", "")])
def test_a_check_refuses_labels_that_no_answer_could_tell_apart(labels: tuple[str, ...]) -> None:
    with pytest.raises(ValidationError, match="cannot be told apart"):
        check("a", labels=labels)
