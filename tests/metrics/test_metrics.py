"""Every metric from a plan and scripted answers: right values, right pieces, right empty cases."""

from __future__ import annotations

import math

import pytest

from ragjudge.metrics.base import Plan, TwoModeMetric, parse_holistic
from ragjudge.metrics.registry import make_metric, metric_names
from ragjudge.records import CallFailure, Check, Outcome, Prompt, Reply, Sample, Score, Verdict
from ragjudge.text.splitting import Splitting

CONTEXTS = (
    "Guido van Rossum began working on Python in the late 1980s. He released it in 1991.",
    "Pythons are snakes.",
)
SAMPLE = Sample(
    id="python",
    input="What is Python?",
    output="Python was created by Guido van Rossum. It was first released in 1985.",
    contexts=CONTEXTS,
    expected="Python is a language. It was released in 1991.",
)
UNKNOWN = SAMPLE.model_copy(update={"expected": None})


def verdict(chance: float) -> Verdict:
    chance = min(max(chance, 1e-9), 1 - 1e-9)
    return Verdict(log_probabilities={"Yes": math.log(chance), "No": math.log(1 - chance)})


def score(name: str, answers: dict[str, Outcome | float], sample: Sample = SAMPLE, **settings: str) -> Score:
    """Score a sample with an answer for each claim."""
    metric = make_metric(name, **settings)  # type: ignore[arg-type]
    plan = metric.plan(sample)
    assert plan.empty is None
    outcomes: list[Outcome] = []
    for call in plan.calls:
        assert isinstance(call, Check)
        answer = answers[call.claim]
        outcomes.append(verdict(answer) if isinstance(answer, float) else answer)
    return metric.score(sample, plan, outcomes)


def test_faithfulness_is_the_share_of_supported_claims() -> None:
    result = score(
        "faithfulness",
        {"Python was created by Guido van Rossum.": 0.93, "It was first released in 1985.": 0.2},
    )
    assert result.value == 0.5
    assert result.status == "scored"
    assert [(item.text, item.verdict, item.probability) for item in result.items] == [
        ("Python was created by Guido van Rossum.", True, 0.93),
        ("It was first released in 1985.", False, 0.2),
    ]
    assert SAMPLE.output is not None
    for item in result.items:
        assert SAMPLE.output[item.start : item.end] == item.text
    assert (result.items[0].chunk, result.items[0].chunk_by) == (0, "lexical")
    assert result.reason == (
        "1 of 2 claims supported by the contexts. Not supported: “It was first released in 1985.”."
    )


def test_context_recall_asks_about_the_expected_answer() -> None:
    result = score("context_recall", {"Python is a language.": 0.1, "It was released in 1991.": 0.9})
    assert result.value == 0.5
    assert [item.text for item in result.items] == ["Python is a language.", "It was released in 1991."]


def test_context_precision_by_chunks_is_average_precision() -> None:
    result = score("context_precision", {CONTEXTS[0]: 0.1, CONTEXTS[1]: 0.8}, UNKNOWN)
    assert (result.value, result.by) == (0.5, "chunks")
    assert [(item.chunk, item.chunk_by, item.start, item.end) for item in result.items] == [
        (0, "judge", 0, len(CONTEXTS[0])),
        (1, "judge", 0, len(CONTEXTS[1])),
    ]
    assert result.reason == "1 of 2 chunks relevant. Relevant at rank 2."


def test_a_chunk_is_relevant_when_it_supports_any_claim_of_the_expected_answer() -> None:
    metric = make_metric("context_precision")
    plan = metric.plan(SAMPLE)
    asked = [(call.shared, call.claim) for call in plan.calls if isinstance(call, Check)]
    assert [(CONTEXTS[0] in shared, claim) for shared, claim in asked] == [
        (True, "Python is a language."),
        (True, "It was released in 1991."),
        (False, "Python is a language."),
        (False, "It was released in 1991."),
    ]
    result = metric.score(SAMPLE, plan, [verdict(0.2), verdict(0.9), verdict(0.3), verdict(0.4)])
    assert [(item.verdict, item.probability) for item in result.items] == [(True, 0.9), (False, 0.4)]
    assert result.value == 1.0


@pytest.mark.parametrize(("other", "holds", "errors"), [(0.9, True, 0), (0.1, None, 1)])
def test_a_failed_check_counts_only_where_no_other_speaks_for_the_chunk(
    other: float, holds: bool | None, errors: int
) -> None:
    metric = make_metric("context_precision")
    plan = metric.plan(SAMPLE)
    outcomes: list[Outcome] = [CallFailure(reason="gone"), verdict(other), verdict(0.1), verdict(0.1)]
    result = metric.score(SAMPLE, plan, outcomes)
    assert (result.items[0].verdict, result.errors) == (holds, errors)


def test_recall_over_one_chunk_and_precision_ask_the_very_same_checks() -> None:
    sample = SAMPLE.model_copy(update={"contexts": CONTEXTS[:1]})
    precision = make_metric("context_precision").plan(sample)
    assert precision.calls == make_metric("context_recall").plan(sample).calls


def test_no_relevant_chunk_is_a_true_zero() -> None:
    result = score("context_precision", {CONTEXTS[0]: 0.1, CONTEXTS[1]: 0.2}, UNKNOWN)
    assert (result.value, result.status) == (0.0, "scored")


def test_a_blank_chunk_keeps_its_rank_and_needs_no_judge() -> None:
    sample = UNKNOWN.model_copy(update={"contexts": ("  ", CONTEXTS[0])})
    result = score("context_precision", {CONTEXTS[0]: 0.9}, sample)
    assert result.value == 0.5
    assert [item.verdict for item in result.items] == [False, True]


def test_context_precision_by_claims_asks_the_very_checks_of_faithfulness() -> None:
    by_claims = make_metric("context_precision", by="claims").plan(SAMPLE)
    assert by_claims.calls == make_metric("faithfulness").plan(SAMPLE).calls
    result = score(
        "context_precision",
        {"Python was created by Guido van Rossum.": 0.9, "It was first released in 1985.": 0.2},
        by="claims",
    )
    assert (result.value, result.by, result.metric) == (0.5, "claims", "context_precision")


def test_recall_and_faithfulness_share_a_check_about_the_same_claim() -> None:
    sample = SAMPLE.model_copy(update={"expected": SAMPLE.output})
    recall = make_metric("context_recall").plan(sample)
    assert recall.calls == make_metric("faithfulness").plan(sample).calls


def test_context_relevance_asks_about_each_context_sentence() -> None:
    result = score(
        "context_relevance",
        {
            "Guido van Rossum began working on Python in the late 1980s.": 0.9,
            "He released it in 1991.": 0.8,
            "Pythons are snakes.": 0.1,
        },
    )
    assert result.value == 0.666667
    for item in result.items:
        assert item.chunk is not None
        assert CONTEXTS[item.chunk][item.start : item.end] == item.text


def test_answer_relevancy_counts_a_refusing_sentence_as_no_help_without_asking() -> None:
    sample = SAMPLE.model_copy(update={"output": "Python is a language. I don't know more than that."})
    metric = make_metric("answer_relevancy")
    plan = metric.plan(sample)
    claims = [call.claim for call in plan.calls if isinstance(call, Check)]
    result = metric.score(sample, plan, [verdict(0.9)] * len(claims))
    assert claims == ["Python is a language."]
    assert result.value == 0.5


def test_a_refusal_is_irrelevant_and_otherwise_not_applicable() -> None:
    sample = SAMPLE.model_copy(update={"output": "I don't know."})
    metric = make_metric("answer_relevancy")
    plan = metric.plan(sample)
    assert plan.calls == ()
    assert metric.score(sample, plan, []).value == 0.0
    empty = make_metric("faithfulness").plan(sample).empty
    assert empty is not None
    assert (empty.default, empty.reason) == ("skip", "the output is a refusal: it claims nothing.")


@pytest.mark.parametrize("contexts", [(), ("",), ("  ", "\n")])
@pytest.mark.parametrize("name", ["faithfulness", "context_recall", "context_precision", "context_relevance"])
def test_missing_contexts_are_a_failure_and_never_a_call(name: str, contexts: tuple[str, ...]) -> None:
    plan = make_metric(name).plan(SAMPLE.model_copy(update={"contexts": contexts}))
    assert plan == Plan.of_nothing("there are no contexts to judge against.", "fail")


@pytest.mark.parametrize("name", ["faithfulness", "answer_relevancy"])
def test_an_empty_output_leaves_the_row_open(name: str) -> None:
    plan = make_metric(name).plan(SAMPLE.model_copy(update={"output": " "}))
    assert plan == Plan.of_nothing("the output is empty.", "skip")


def test_a_failed_call_counts_as_not_supported_and_is_shown() -> None:
    result = score(
        "faithfulness",
        {
            "Python was created by Guido van Rossum.": 0.9,
            "It was first released in 1985.": CallFailure(reason="the server was gone"),
        },
    )
    assert (result.value, result.errors, result.status) == (0.5, 1, "scored")
    assert result.items[1].verdict is None
    assert result.items[1].probability is None
    assert result.items[1].error == "the server was gone"
    assert result.reason.endswith("1 of them could not be judged.")


def test_all_calls_failed_is_a_judge_error_without_a_value() -> None:
    failure = CallFailure(reason="the server was gone")
    result = score(
        "faithfulness",
        {"Python was created by Guido van Rossum.": failure, "It was first released in 1985.": failure},
    )
    assert (result.value, result.status, result.errors) == (None, "judge_error", 2)


@pytest.mark.parametrize(("chance", "marginal"), [(0.5, True), (0.445, True), (0.57, False), (0.1, False)])
def test_a_verdict_near_the_decision_threshold_is_marked(chance: float, marginal: bool) -> None:
    result = score(
        "faithfulness",
        {"Python was created by Guido van Rossum.": chance, "It was first released in 1985.": 0.1},
    )
    assert result.items[0].marginal is marginal
    assert result.items[0].verdict is (chance >= 0.5)


@pytest.mark.parametrize("name", metric_names())
def test_holistic_asks_once_and_takes_score_and_reason(name: str) -> None:
    metric = make_metric(name, mode="holistic")
    plan = metric.plan(SAMPLE)
    (call,) = plan.calls
    assert isinstance(call, Prompt)
    result = metric.score(SAMPLE, plan, [Reply(text='{"score": 0.75, "reason": "mostly"}', tokens=9)])
    assert (result.value, result.reason, result.mode) == (0.75, "mostly", "holistic")
    failed = metric.score(SAMPLE, plan, [CallFailure(reason="cut")])
    assert (failed.value, failed.status, failed.errors) == (None, "judge_error", 1)


@pytest.mark.parametrize("name", metric_names())
def test_both_modes_take_their_definition_from_one_text(name: str) -> None:
    definition = {
        "faithfulness": "support",
        "context_recall": "support",
        "context_precision": "chunk_relevance",
        "context_relevance": "sentence_relevance",
        "answer_relevancy": "answer_relevance",
    }[name]
    from ragjudge.prompts.template import load_template

    text = load_template(definition).definition
    (holistic,) = make_metric(name, mode="holistic").plan(SAMPLE).calls
    check = make_metric(name).plan(UNKNOWN if name == "context_precision" else SAMPLE).calls[0]
    assert text
    assert text in holistic.shared + holistic.own
    assert text in check.shared + check.own


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ('{"score": 1, "reason": ""}', (1.0, "")),
        ('{"score": 0.25, "reason": "x"}', (0.25, "x")),
        ('{"score": 1.2, "reason": "x"}', None),
        ('{"score": -0.1, "reason": "x"}', None),
        ('{"score": true, "reason": "x"}', None),
        ('{"score": "0.5", "reason": "x"}', None),
        ('{"score": NaN, "reason": "x"}', None),
        ('{"score": 0.5}', None),
        ('{"score": 0.5, "reason": "x", "more": 1}', None),
        ("[0.5]", None),
        ("Sure! 0.5", None),
        ("", None),
    ],
)
def test_a_holistic_reply_is_read_strictly(text: str, parsed: tuple[float, str] | None) -> None:
    assert parse_holistic(text) == parsed


def test_names_take_hyphens_and_unknown_ones_name_the_nearest() -> None:
    from ragjudge.errors import ConfigError, UnknownNameError

    assert make_metric("context-recall").name == "context_recall"
    with pytest.raises(UnknownNameError, match="Did you mean 'faithfulness'"):
        make_metric("faithfullness")
    with pytest.raises(ConfigError, match="by is 'claims'; it has no variants"):
        make_metric("faithfulness", by="claims")
    with pytest.raises(ConfigError, match="accepted: chunks, claims"):
        make_metric("context_precision", by="sentences")


def test_the_metrics_meet_the_public_protocol() -> None:
    from ragjudge import Metric

    for name in metric_names():
        metric = make_metric(name)
        assert isinstance(metric, TwoModeMetric)
        assert isinstance(metric, Metric)


GERMAN = "Es wurde am 3. Oktober 1990 gebaut."
COMPOUND = "Paris is the capital of France, and Berlin is the capital of Germany."
CODE = "It runs.\n\n```\nprint(1)\n```\n"


def asked(name: str, text: str, splitting: Splitting, language: str | None = None) -> list[str]:
    """Return the pieces that are asked about when every text of a sample is the same."""
    sample = Sample(id="s", input="Q?", output=text, contexts=(text,), expected=text, language=language)
    plan = make_metric(name, splitting=splitting).plan(sample)
    return [call.claim for call in plan.calls if isinstance(call, Check)]


@pytest.mark.parametrize("name", metric_names())
def test_every_metric_cuts_as_it_is_told_and_the_language_of_a_row_wins(name: str) -> None:
    assert asked(name, GERMAN, Splitting()) == ["Es wurde am 3.", "Oktober 1990 gebaut."]
    assert asked(name, GERMAN, Splitting("german")) == [GERMAN]
    assert asked(name, GERMAN, Splitting(), "de") == [GERMAN]
    assert asked(name, GERMAN, Splitting("german"), "english") == ["Es wurde am 3.", "Oktober 1990 gebaut."]
    assert asked(name, CODE, Splitting()) == ["It runs."]
    assert asked(name, CODE, Splitting(code="whole")) == ["It runs.", "print(1)"]
    assert asked(name, "See Rdnr. Acht.", Splitting(abbreviations=("Rdnr.",))) == ["See Rdnr. Acht."]


@pytest.mark.parametrize("name", metric_names())
def test_clauses_are_claims_and_sentences_stay_sentences(name: str) -> None:
    clauses = ["Paris is the capital of France.", "Berlin is the capital of Germany."]
    counts_claims = name not in ("answer_relevancy", "context_relevance")
    assert asked(name, COMPOUND, Splitting()) == [COMPOUND]
    assert asked(name, COMPOUND, Splitting(claims="clause")) == (clauses if counts_claims else [COMPOUND])


def test_a_clause_is_reported_as_it_stands_in_its_source() -> None:
    sample = SAMPLE.model_copy(update={"output": COMPOUND})
    metric = make_metric("faithfulness", splitting=Splitting(claims="clause"))
    result = metric.score(sample, metric.plan(sample), [verdict(0.9), verdict(0.1)])
    assert [COMPOUND[item.start : item.end] for item in result.items] == [item.text for item in result.items]
    assert result.value == 0.5


def test_a_refusal_is_recognised_in_the_language_of_its_row() -> None:
    sample = SAMPLE.model_copy(update={"output": "Das weiß ich nicht."})
    assert make_metric("faithfulness").plan(sample).empty is None
    german = sample.model_copy(update={"language": "german"})
    assert make_metric("faithfulness").plan(german).empty is not None
    assert make_metric("answer_relevancy").plan(german).calls == ()
