from __future__ import annotations

import pytest

from ragjudge.errors import ConfigError
from ragjudge.metrics.base import Plan
from ragjudge.metrics.profiled import plan_in_profile
from ragjudge.metrics.registry import make_metric
from ragjudge.prompts.profile import load_profile
from ragjudge.records import Sample, Verdict

SAMPLE = Sample(
    id="one",
    input="Who created Python?",
    output="Python was created by Guido van Rossum. It appeared in 1843.",
    contexts=("Guido van Rossum began working on Python in the late 1980s.",),
)


def test_without_a_profile_a_plan_stays_as_it_is() -> None:
    plan = make_metric("faithfulness").plan(SAMPLE)
    assert plan_in_profile(plan, None) is plan
    empty = Plan.of_nothing("nothing.", "skip")
    assert plan_in_profile(empty, load_profile("lynx")) is empty


@pytest.mark.parametrize("profile", ["bespoke-minicheck", "granite-guardian", "lynx"])
def test_every_piece_is_asked_about_in_the_profile_s_words(profile: str) -> None:
    plan = make_metric("faithfulness").plan(SAMPLE)
    asked = plan_in_profile(plan, load_profile(profile))
    assert [call.template for call in asked.calls] == [f"{profile}.support"] * 2
    assert [draft.text for draft in asked.drafts] == [draft.text for draft in plan.drafts]
    assert [check for draft in asked.drafts for check in draft.checks] == list(asked.calls)


def test_the_guardian_s_yes_counts_against_a_claim() -> None:
    metric = make_metric("faithfulness")
    plan = plan_in_profile(metric.plan(SAMPLE), load_profile("granite-guardian"))
    grounded, ungrounded = ({"Yes": -3.0, "No": -0.1}, {"Yes": -0.1, "No": -3.0})
    score = metric.score(SAMPLE, plan, [Verdict(log_probabilities=each) for each in (grounded, ungrounded)])
    assert score.value == 0.5
    assert [item.verdict for item in score.items] == [True, False]


@pytest.mark.parametrize(
    ("name", "profile"),
    [
        ("answer_relevancy", "granite-guardian"),
        ("context_relevance", "granite-guardian"),
        ("context_precision", "granite-guardian"),
        ("context_precision", "lynx"),
        ("context_recall", "bespoke-minicheck"),
    ],
)
def test_other_metrics_work_where_the_profile_knows_their_questions(name: str, profile: str) -> None:
    expected = "Guido van Rossum created Python." if profile != "granite-guardian" else None
    sample = SAMPLE.model_copy(update={"expected": expected})
    plan = plan_in_profile(make_metric(name).plan(sample), load_profile(profile))
    assert plan.calls
    assert all(call.template.startswith(f"{profile}.") for call in plan.calls)


def test_a_metric_that_a_profile_has_no_words_for_is_refused() -> None:
    plan = make_metric("context_relevance").plan(SAMPLE)
    with pytest.raises(ConfigError, match="bespoke-minicheck"):
        plan_in_profile(plan, load_profile("bespoke-minicheck"))
