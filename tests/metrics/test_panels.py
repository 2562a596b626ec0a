"""What a metric makes of the answers of several judges."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import pytest

from ragjudge.judges.voting import Said, combined
from ragjudge.metrics.registry import make_metric
from ragjudge.metrics.summary import summarise
from ragjudge.records import (
    CallFailure,
    Check,
    Outcome,
    Oversize,
    PanelBy,
    Reply,
    Row,
    Sample,
    Score,
    Verdict,
)

SAMPLE = Sample(
    id="one", input="When?", output="It was built in 1780. It is red.", contexts=("Built in 1780.",)
)
LOST = CallFailure(reason="the server closed the connection.")
LONG = Oversize(tokens=9000, window=8192)


def verdict(check: Check, chance: float | None, **more: Any) -> Outcome:
    if chance is None:
        return LOST
    values = {label: math.log(chance if label == check.positive else 1 - chance) for label in check.labels}
    return Verdict(log_probabilities=values, **more)


def scored(*claims: Sequence[float | None], by: PanelBy = "majority", **more: Any) -> Score:
    """Score two claims, each from the probabilities of its judges."""
    metric = make_metric("faithfulness")
    plan = metric.plan(SAMPLE)
    outcomes = []
    for call, chances in zip(plan.calls, claims, strict=True):
        assert isinstance(call, Check)
        said = [Said("abc"[n], call, verdict(call, chance, **more)) for n, chance in enumerate(chances)]
        outcomes.append(combined(call, said, by))
    return metric.score(SAMPLE, plan, outcomes)


def holistic(*outcomes: Outcome) -> Score:
    metric = make_metric("faithfulness", mode="holistic")
    plan = metric.plan(SAMPLE)
    said = [Said("abc"[n], plan.calls[0], outcome) for n, outcome in enumerate(outcomes)]
    return metric.score(SAMPLE, plan, [combined(plan.calls[0], said, "majority")])


def reply(score: float, reason: str = "As I see it.") -> Reply:
    return Reply(text=json.dumps({"score": score, "reason": reason}))


def test_an_item_has_the_votes_and_how_many_differ_from_it() -> None:
    score = scored((0.9, 0.8, 0.2), (0.3, 0.1, 0.2))
    first, second = score.items
    assert (first.verdict, first.probability, first.disagreement) == (True, 0.8, 0.333333)
    assert first.panel is not None
    assert [(vote.judge, vote.probability, vote.verdict) for vote in first.panel] == [
        ("a", 0.9, True),
        ("b", 0.8, True),
        ("c", 0.2, False),
    ]
    assert (second.verdict, second.probability, second.disagreement) == (False, 0.2, 0.0)
    assert score.value == 0.5


def test_by_mean_an_item_can_hold_against_the_majority() -> None:
    score = scored((0.99, 0.4, 0.45), (0.3, 0.1, 0.2), by="mean")
    assert (score.items[0].verdict, score.items[0].disagreement) == (True, 0.666667)
    assert score.reason.endswith("Decided by the mean probability of 3 judges, who differ on 1 of 2.")


@pytest.mark.parametrize(
    ("claims", "told"),
    [
        (((0.9, 0.8), (0.7, 0.6)), " Decided by the majority of 2 judges, who agree."),
        (((0.9, 0.2), (0.1, 0.8)), " Decided by the majority of 2 judges, who differ on 2 of 2."),
        (
            ((0.9, None), (0.9, 0.8)),
            " Decided by the majority of 2 judges, who agree. On 1 of 2 a judge gave no answer.",
        ),
    ],
)
def test_the_reason_says_who_decided(claims: Any, told: str) -> None:
    assert scored(*claims).reason.endswith(told)


def test_a_judge_that_failed_takes_no_part_in_the_disagreement() -> None:
    score = scored((0.9, None, 0.2), (0.9, 0.8, 0.7))
    first = score.items[0]
    assert (first.verdict, first.probability, first.disagreement) == (True, 0.55, 0.5)
    assert first.panel is not None
    assert (first.panel[1].error, first.panel[1].verdict) == (LOST.reason, None)
    assert (first.error, score.errors) == (None, 0)


def test_when_all_judges_failed_the_item_has_the_error_and_no_votes() -> None:
    score = scored((None, None), (0.9, 0.8))
    first = score.items[0]
    assert (first.verdict, first.probability, first.panel, first.disagreement) == (None, None, None, None)
    assert first.error is not None
    assert first.error.startswith("no judge of the panel could answer (a: the server closed")
    assert (score.value, score.errors) == (0.5, 1)


def test_the_most_windows_that_a_judge_was_shown_are_the_item_s() -> None:
    score = scored((0.9, 0.8), (0.9, 0.8), windows=({"spans": (), "log_probabilities": {}},) * 3)
    assert [(item.windows, item.window) for item in score.items] == [(3, None), (3, None)]
    assert "shown in 3 windows" in score.reason


def test_a_verdict_that_hangs_on_a_wavering_judge_is_marked() -> None:
    score = scored((0.02, 0.52, 0.99), (0.9, 0.9, 0.5))
    assert [item.marginal for item in score.items] == [True, False]


def test_without_a_panel_an_item_has_neither() -> None:
    metric = make_metric("faithfulness")
    plan = metric.plan(SAMPLE)
    checks = [call for call in plan.calls if isinstance(call, Check)]
    score = metric.score(SAMPLE, plan, [verdict(check, 0.9) for check in checks])
    assert {(item.panel, item.disagreement) for item in score.items} == {(None, None)}
    assert "judges" not in score.reason


# -- holistic ------------------------------------------------------------------------------------------


def test_holistic_scores_are_averaged_and_all_are_shown() -> None:
    score = holistic(reply(0.9, "Fine."), reply(0.6), reply(0.0, "No."))
    assert (score.value, score.status, score.errors) == (0.5, "scored", 0)
    assert score.reason == "Mean of 3 judges. a: 0.9, “Fine.”; b: 0.6, “As I see it.”; c: 0, “No.”"


def test_a_holistic_reply_that_cannot_be_used_is_left_out_and_named() -> None:
    score = holistic(reply(0.9), LOST, Reply(text="great"))
    assert (score.value, score.status) == (0.9, "scored")
    assert score.reason == (
        "Mean of 1 of 3 judges. a: 0.9, “As I see it.”; b: no score, the server closed the connection; "
        "c: its reply does not fit the schema: 'great'"
    )
    assert holistic(reply(0.4), LONG).value == 0.4


def test_without_any_usable_reply_there_is_no_score() -> None:
    score = holistic(Reply(text="great"), LOST)
    assert (score.value, score.status, score.errors) == (None, "judge_error", 1)
    assert score.reason.startswith("no judge of the panel gave a score (a: its reply does not fit the schema")
    assert holistic(LOST, LOST).status == "judge_error"
    assert holistic(LONG, LONG).status == "not_applicable"


# -- all rows ------------------------------------------------------------------------------------------


def test_the_summary_says_on_how_many_items_judges_differ() -> None:
    def row(name: str, score: Score) -> Row:
        return Row(id=name, scores={"faithfulness": score})

    scores = [
        scored((0.9, 0.2), (0.9, 0.8)),
        scored((0.9, 0.8), (0.1, 0.2)),
        scored((None, None), (0.9, 0.9)),
    ]
    found = summarise(row(str(n), score) for n, score in enumerate(scores))
    assert found["faithfulness"].disagreement == 0.2
    assert summarise([row("x", holistic(reply(0.9), reply(0.1)))])["faithfulness"].disagreement is None
