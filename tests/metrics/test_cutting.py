"""Sentences that a judge cuts into claims: what is asked, what is taken, and when a sentence stays whole."""

from __future__ import annotations

import json

import pytest

from ragjudge.metrics.base import PreparingMetric
from ragjudge.metrics.cutting import MOST_CLAIMS, Cutting, compound_sentences, cutting_call, read_parts
from ragjudge.metrics.registry import make_metric, metric_names
from ragjudge.records import CallFailure, Check, Outcome, Oversize, Prompt, Reply, Sample, Unfinished, Verdict
from ragjudge.text.splitting import Splitting

JUDGE = Splitting(claims="judge")
COMPOUND = "Paris is the capital of France, and Berlin is the capital of Germany."
SIMPLE = "Rome is old."
PARTS = ("Paris is the capital of France.", "Berlin is the capital of Germany.")
SAMPLE = Sample(
    id="s", input="Which capitals?", output=f"{SIMPLE} {COMPOUND}", contexts=(COMPOUND,), expected=COMPOUND
)
COUNTING = ("faithfulness", "context_precision", "context_recall")
YES = Verdict(log_probabilities={"Yes": -0.1, "No": -2.4})
NO = Verdict(log_probabilities={"Yes": -2.4, "No": -0.1})


def reply(*claims: str) -> Reply:
    return Reply(text=json.dumps({"claims": claims}), tokens=9)


@pytest.mark.parametrize("name", COUNTING)
def test_a_metric_that_counts_claims_asks_how_its_sentences_are_cut(name: str) -> None:
    metric = make_metric(name, splitting=JUDGE)
    assert isinstance(metric, PreparingMetric)
    (call,) = metric.prepare(SAMPLE)
    assert call == cutting_call(COMPOUND)
    assert isinstance(call, Prompt)
    assert COMPOUND in call.own
    assert COMPOUND not in call.shared
    plan = metric.plan(SAMPLE, [reply(*PARTS)])
    asked = [check.claim for check in plan.calls if isinstance(check, Check)]
    assert asked == [*([SIMPLE] if name == "faithfulness" else []), *PARTS]


@pytest.mark.parametrize("name", metric_names())
def test_without_claims_by_the_judge_nothing_is_prepared_and_the_keys_stay(name: str) -> None:
    by_sentence = make_metric(name)
    for splitting in (Splitting(), Splitting(claims="clause")):
        assert make_metric(name, splitting=splitting).prepare(SAMPLE) == ()
    assert make_metric(name, mode="holistic", splitting=JUDGE).prepare(SAMPLE) == ()
    if name not in COUNTING:
        metric = make_metric(name, splitting=JUDGE)
        assert metric.prepare(SAMPLE) == ()
        assert metric.plan(SAMPLE) == by_sentence.plan(SAMPLE)


@pytest.mark.parametrize("name", COUNTING)
@pytest.mark.parametrize(
    "changes",
    [{"contexts": ()}, {"output": "", "expected": ""}, {"output": "I don't know.", "expected": "Hello!"}],
    ids=str,
)
def test_what_needs_no_judge_is_not_prepared(name: str, changes: dict[str, object]) -> None:
    sample = SAMPLE.model_copy(update=changes)
    metric = make_metric(name, splitting=JUDGE)
    assert metric.prepare(sample) == ()
    assert metric.plan(sample).empty == make_metric(name).plan(sample).empty


def test_context_precision_by_claims_is_prepared_like_faithfulness() -> None:
    by_claims = make_metric("context_precision", by="claims", splitting=JUDGE)
    faithfulness = make_metric("faithfulness", splitting=JUDGE)
    assert by_claims.prepare(SAMPLE) == faithfulness.prepare(SAMPLE)
    answers = [reply(*PARTS)]
    assert by_claims.plan(SAMPLE, answers).calls == faithfulness.plan(SAMPLE, answers).calls


def test_a_claim_has_the_offsets_of_its_sentence_and_says_what_was_judged() -> None:
    metric = make_metric("faithfulness", splitting=JUDGE)
    plan = metric.plan(SAMPLE, [reply(*PARTS)])
    score = metric.score(SAMPLE, plan, [YES, YES, NO])
    assert score.value == pytest.approx(2 / 3, abs=1e-6)
    assert [(item.text, item.claim, item.verdict) for item in score.items] == [
        (SIMPLE, None, True),
        (COMPOUND, PARTS[0], True),
        (COMPOUND, PARTS[1], False),
    ]
    assert SAMPLE.output is not None
    for item in score.items:
        assert SAMPLE.output[item.start : item.end] == item.text
    assert score.reason == f"2 of 3 claims supported by the contexts. Not supported: “{PARTS[1]}”."


FAILED: list[tuple[Outcome, str]] = [
    (CallFailure(reason="the reply was cut at 640 tokens."), "the reply was cut at 640 tokens"),
    (Unfinished(text='{"claims": ["a', tokens=640), "the reply was cut at 640 tokens"),
    (Oversize(tokens=900, window=512), "the prompt has 900 tokens and the judge's window holds 512"),
    (reply(), "the judge names no claim"),
    (reply(" ", ""), "the judge names no claim"),
    (Reply(text="[]"), "the judge's reply does not fit the schema"),
    (Reply(text='{"claims": ["a"'), "the judge's reply does not fit the schema"),
    (Reply(text='{"claims": [1]}'), "the judge's reply does not fit the schema"),
    (Reply(text='{"claims": "a"}'), "the judge's reply does not fit the schema"),
    (Reply(text='{"claims": [], "more": 1}'), "the judge's reply does not fit the schema"),
    (Reply(text="[" * 100_000), "the judge's reply does not fit the schema"),
    (YES, "the judge's reply does not fit the schema"),
    (reply(*PARTS, "Madrid sleeps."), "a claim has words that the sentence does not have"),
    (reply(PARTS[0], "Berlin is the capital."), "the claims leave out words of the sentence"),
    (
        reply(*(" ".join(["Paris"] * n) for n in range(1, MOST_CLAIMS + 2))),
        f"the judge names more than {MOST_CLAIMS} claims",
    ),
]


@pytest.mark.parametrize(("outcome", "why"), FAILED, ids=[str(number) for number in range(len(FAILED))])
def test_a_reply_that_cannot_be_used_costs_nothing_but_the_cut(outcome: Outcome, why: str) -> None:
    metric = make_metric("faithfulness", splitting=JUDGE)
    plan = metric.plan(SAMPLE, [outcome])
    assert plan.calls == make_metric("faithfulness").plan(SAMPLE).calls
    score = metric.score(SAMPLE, plan, [YES, YES])
    assert (score.value, score.errors) == (1.0, 0)
    assert score.reason.startswith(
        f"2 of 2 claims supported by the contexts. 1 sentence was not cut into claims: {why}"
    )


def test_a_single_claim_is_the_sentence_itself_however_it_is_put() -> None:
    for said in ([COMPOUND], ["Both are capitals."], [PARTS[0], PARTS[0].upper(), " "]):
        assert read_parts(COMPOUND, reply(*said)) == ((), "")
    metric = make_metric("faithfulness", splitting=JUDGE)
    plan = metric.plan(SAMPLE, [reply("Both are capitals.")])
    assert plan == make_metric("faithfulness").plan(SAMPLE)


def test_claims_that_differ_in_the_order_of_their_words_are_two() -> None:
    sentence = "Italy beat Spain in 1934 and Spain beat Italy in 1934."
    parts = ("Italy beat Spain in 1934.", "Spain beat Italy in 1934.")
    # Each has all the words that the sentence has, so nothing tells them from the whole.
    assert read_parts(sentence, reply(*parts)) == ((), "a claim is the whole sentence again")
    sentence = "Italy beat Spain in 1934 and Spain beat Italy in 1950."
    parts = ("Italy beat Spain in 1934.", "Spain beat Italy in 1950.")
    assert read_parts(sentence, reply(*parts)) == (parts, "")


def test_every_sentence_that_stayed_whole_is_counted_with_the_first_reason() -> None:
    other = "It rose, and it fell."
    outcomes: dict[str, Outcome] = {COMPOUND: reply(), other: CallFailure(reason="gone")}
    cutting = Cutting(JUDGE, outcomes)
    assert cutting.remark == " 2 sentences were not cut into claims: the judge names no claim."
    assert cutting.kept_whole == {COMPOUND: "the judge names no claim", other: "gone"}


def test_a_sentence_that_stands_twice_is_asked_about_once_and_cut_twice() -> None:
    text = f"{COMPOUND} {COMPOUND}"
    assert compound_sentences([text, COMPOUND], JUDGE) == (COMPOUND,)
    found = Cutting(JUDGE, {COMPOUND: reply(*PARTS)})(text)
    assert [(claim.start, claim.judge_text) for claim in found] == [
        (0, PARTS[0]),
        (0, PARTS[1]),
        (len(COMPOUND) + 1, PARTS[0]),
        (len(COMPOUND) + 1, PARTS[1]),
    ]


def test_a_failed_score_says_both_what_failed_and_what_was_not_cut() -> None:
    metric = make_metric("context_recall", splitting=JUDGE)
    plan = metric.plan(SAMPLE, [reply()])
    score = metric.score(SAMPLE, plan, [CallFailure(reason="gone.")])
    assert score.status == "judge_error"
    assert score.reason == (
        "no call could be answered: gone. 1 sentence was not cut into claims: the judge names no claim."
    )


def test_a_plan_needs_an_answer_for_each_question() -> None:
    with pytest.raises(ValueError, match="zip"):
        make_metric("faithfulness", splitting=JUDGE).plan(SAMPLE)
