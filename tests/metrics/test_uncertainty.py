"""Intervals by hand, by looking at every outcome in exact fractions, and through the metrics and scorers."""

from __future__ import annotations

import doctest
import math
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragjudge import ContextPrecision, Faithfulness, evaluate
from ragjudge.judges.fake import FakeJudge
from ragjudge.metrics import uncertainty
from ragjudge.metrics.aggregate import average_precision, fraction
from ragjudge.metrics.registry import make_metric, metric_names
from ragjudge.metrics.uncertainty import (
    average_precision_interval,
    chances,
    is_undecided,
    share_interval,
)
from ragjudge.records import CallFailure, Item, Outcome, Reply, Sample, Score, Verdict

Chances = Sequence[float | None]

# Per thousand, so that exact fractions and floats mean the same numbers.
KNOWN = st.integers(0, 1000).map(lambda number: number / 1000)


def quantile(masses: dict[float, Fraction], level: Fraction) -> float:
    reached = Fraction(0)
    for value, mass in sorted(masses.items()):
        reached += mass
        if reached >= level:
            return value
    raise AssertionError


def by_all_outcomes(
    known: Chances, value: Callable[[Sequence[bool]], float], *, unknown: Sequence[int] = ()
) -> tuple[float, float]:
    """Return the interval by looking at every outcome, under every way in which the unknown ones end."""
    lows, highs = [], []
    for settled in product([0, 1], repeat=len(unknown)):
        odds = [Fraction(0) if chance is None else Fraction(round(chance * 1000), 1000) for chance in known]
        for place, result in zip(unknown, settled, strict=True):
            odds[place] = Fraction(result)
        masses: dict[float, Fraction] = {}
        for outcome in product([False, True], repeat=len(odds)):
            mass = math.prod(
                (odd if holds else 1 - odd for odd, holds in zip(odds, outcome, strict=True)),
                start=Fraction(1),
            )
            masses[value(outcome)] = masses.get(value(outcome), Fraction(0)) + mass
        lows.append(quantile(masses, Fraction(25, 1000)))
        highs.append(quantile(masses, Fraction(975, 1000)))
    return min(lows), max(highs)


def unknown_of(given_chances: Chances) -> list[int]:
    return [place for place, chance in enumerate(given_chances) if chance is None]


@pytest.mark.parametrize(
    ("given_chances", "interval"),
    [
        ([1.0], (1.0, 1.0)),
        ([0.0], (0.0, 0.0)),
        ([0.5], (0.0, 1.0)),
        ([0.976], (1.0, 1.0)),  # P(0) = 0.024 < 0.025
        ([0.975], (0.0, 1.0)),  # P(0) = 0.025: at most 2.5 % lies below 0, and not less
        ([0.025], (0.0, 0.0)),  # P(0) = 0.975
        ([0.026], (0.0, 1.0)),
        ([0.9, 0.9], (0.5, 1.0)),  # P(0) = 0.01, P(1) = 0.18
        ([0.8, 0.8], (0.0, 1.0)),  # P(0) = 0.04
        ([0.5] * 10, (0.2, 0.8)),  # P(at most 1) = 11/1024 = 0.011, P(at most 2) = 56/1024 = 0.055
        ([0.6] * 10, (0.3, 0.9)),  # P(at most 2) = 0.012, P(at most 3) = 0.055; P(10) = 0.006
        ([1.0, 1.0, 0.0], (0.666667, 0.666667)),
        ([1.0, 0.0, 0.5], (0.333333, 0.666667)),
        ([None], (0.0, 1.0)),
        ([1.0, None, 0.0], (0.333333, 0.666667)),
        ([0.99, 0.99, None, None], (0.5, 1.0)),  # P(both known hold) = 0.9801
    ],
)
def test_the_interval_of_a_share_has_the_ends_that_one_finds_by_hand(
    given_chances: Chances, interval: tuple[float, float]
) -> None:
    assert share_interval(given_chances) == interval


@pytest.mark.parametrize(
    ("given_chances", "interval"),
    [
        ([1.0, 0.0], (1.0, 1.0)),
        ([0.0, 1.0], (0.5, 0.5)),
        ([0.0, 0.0], (0.0, 0.0)),
        ([0.9, 0.5], (0.0, 1.0)),  # P(0.0) = 0.05
        ([0.95, 0.9], (0.5, 1.0)),  # P(0.0) = 0.005, P(0.5) = 0.045
        ([0.99, 0.5], (1.0, 1.0)),  # P(less) = 0.01: only when the first is irrelevant
        ([0.0, 0.0, 0.5], (0.0, 0.333333)),
        ([1.0, 0.0, 0.5], (0.833333, 1.0)),  # (1 + 2/3) / 2 when the third is relevant
        ([None, 1.0], (0.5, 1.0)),
        ([1.0, None, 1.0], (0.833333, 1.0)),
        ([1.0, None], (1.0, 1.0)),  # whatever comes after the last relevant chunk
        ([None, None], (0.0, 1.0)),
    ],
)
def test_the_interval_of_average_precision_has_the_ends_that_one_finds_by_hand(
    given_chances: Chances, interval: tuple[float, float]
) -> None:
    assert average_precision_interval(given_chances) == interval


@settings(deadline=None)
@given(st.lists(st.one_of(st.none(), KNOWN), min_size=1, max_size=7))
def test_the_interval_of_a_share_is_that_of_all_outcomes(given_chances: Chances) -> None:
    found = share_interval(given_chances)
    assert found == by_all_outcomes(given_chances, fraction, unknown=unknown_of(given_chances))


@settings(deadline=None)
@given(st.lists(st.one_of(st.none(), KNOWN), min_size=1, max_size=6))
def test_the_interval_of_average_precision_is_that_of_all_outcomes(given_chances: Chances) -> None:
    found = average_precision_interval(given_chances)
    assert found == by_all_outcomes(given_chances, average_precision, unknown=unknown_of(given_chances))


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), min_size=1, max_size=40), st.randoms())
def test_a_share_does_not_depend_on_the_order_of_its_pieces(
    given_chances: list[float | None], source: random.Random
) -> None:
    mixed = list(given_chances)
    source.shuffle(mixed)
    low, high = share_interval(given_chances)
    assert share_interval(mixed) == (low, high)
    assert 0.0 <= low <= high <= 1.0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.integers(0, 39))
def test_a_piece_without_verdict_only_widens_the_interval(known: list[float], place: int) -> None:
    place %= len(known)
    low, high = share_interval([*known[:place], None, *known[place + 1 :]])
    sure_low, sure_high = share_interval(known)
    assert low <= sure_low
    assert sure_high <= high


def test_ten_thousand_pieces_are_exact_up_to_rounding() -> None:
    assert share_interval([0.5] * 10_000) == (0.4902, 0.5098)  # 5000 - 98 and + 98: SciPy's binom.ppf
    assert share_interval([0.001] * 10_000) == (0.0004, 0.0017)
    assert share_interval([0.0, 1.0] * 5_000) == (0.5, 0.5)


def test_drawn_rankings_come_close_to_all_of_them_and_are_the_same_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ranking = [0.9, 0.2, 0.7, 0.6, 0.4, 0.8, 0.3, 0.5, 0.1, 0.6, 0.2, 0.7, 0.4, 0.3]
    drawn = average_precision_interval(ranking)
    assert average_precision_interval(ranking) == drawn
    monkeypatch.setattr(uncertainty, "_MOST_ENUMERATED", 14)
    assert average_precision_interval(ranking) == pytest.approx(drawn, abs=0.01)
    assert average_precision_interval(ranking) != drawn


def test_sure_chunks_need_no_draws() -> None:
    sure = [1.0, 0.0] * 30
    value = average_precision([True, False] * 30)
    assert average_precision_interval(sure) == (value, value)


def test_chunks_without_verdict_widen_a_drawn_interval_too() -> None:
    ranking: list[float | None] = [0.9, 0.2, 0.7, 0.6, 0.4, 0.8, 0.3, 0.5, 0.1, 0.6, 0.2, 0.7, 0.4, 0.3]
    low, high = average_precision_interval(ranking)
    wide_low, wide_high = average_precision_interval([None, *ranking, None])
    assert wide_low < low <= high < wide_high


def test_the_examples_in_the_docstrings_are_true() -> None:
    outcome = doctest.testmod(uncertainty)
    assert (outcome.failed, outcome.attempted > 0) == (0, True)


def test_small_scores_load_no_numpy() -> None:
    code = (
        "import sys; from ragjudge.metrics.uncertainty import *; share_interval([0.5] * 3000);"
        "average_precision_interval([0.5] * 12); sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("value", "interval", "threshold", "undecided"),
    [
        (0.5, (0.25, 0.75), 0.7, True),
        (0.5, (0.25, 0.75), 0.75, True),  # 0.75 would pass
        (0.5, (0.25, 0.75), 0.76, False),
        (0.5, (0.25, 0.75), 0.25, False),  # 0.25 passes as well
        (0.5, (0.25, 0.75), 0.26, True),
        (0.5, (0.5, 0.5), 0.5, False),
        (1.0, (0.3, 0.9), 0.95, True),  # passed, and should not have
        (0.0, (0.1, 0.7), 0.1, True),  # failed, and should not have
        (1.0, (0.3, 0.9), 0.2, False),
        (0.5, None, 0.5, False),
        (None, None, 0.5, False),
    ],
)
def test_a_score_is_undecided_when_its_interval_does_not_settle_the_side(
    value: float | None, interval: tuple[float, float] | None, threshold: float, undecided: bool
) -> None:
    assert is_undecided(value, interval, threshold) is undecided


def piece(verdict: bool | None, probability: float | None) -> Item:
    return Item(text="x", start=0, end=1, verdict=verdict, probability=probability, label_mass=None)


def test_a_rule_is_certain_and_a_failed_call_unknown() -> None:
    pieces = [piece(True, 0.75), piece(False, None), piece(True, None), piece(None, None)]
    assert chances(pieces) == [0.75, 0.0, 1.0, None]


CONTEXTS = ("Apollo 11 landed on the Moon in 1969.", "Dogs bark.")
SAMPLE = Sample(
    id="s",
    input="When did Apollo 11 land?",
    output="It landed in 1969. It carried a dog.",
    contexts=CONTEXTS,
    expected="It landed in 1969. It carried two men.",
)


def score(
    name: str, odds: Sequence[float | None], sample: Sample = SAMPLE, *, by: str | None = None
) -> Score:
    """Score a sample with one answer after the other; None = a call that failed."""
    metric = make_metric(name, by=by)
    plan = metric.plan(sample)
    outcomes: list[Outcome] = [
        CallFailure(reason="gone")
        if odd is None
        else Verdict(log_probabilities={"Yes": math.log(odd), "No": math.log(1 - odd)})
        for odd in odds
    ]
    assert len(plan.calls) == len(outcomes)
    return metric.score(sample, plan, outcomes)


@pytest.mark.parametrize(
    ("name", "by"),
    [
        ("faithfulness", None),
        ("context_recall", None),
        ("context_relevance", None),
        ("answer_relevancy", None),
        ("context_precision", "claims"),
    ],
)
def test_every_share_has_its_interval_beside_the_count(name: str, by: str | None) -> None:
    sure = score(name, [0.99, 0.01], by=by)
    assert (sure.value, sure.interval) == (0.5, (0.5, 0.5))
    unsure = score(name, [0.9, 0.6], by=by)
    assert (unsure.value, unsure.interval) == (1.0, (0.0, 1.0))
    failed = score(name, [0.99, None], by=by)
    assert (failed.value, failed.interval) == (0.5, (0.5, 1.0))
    assert score(name, [None, None], by=by).interval is None


def test_average_precision_has_an_interval_of_its_own() -> None:
    sample = SAMPLE.model_copy(update={"expected": None})
    result = score("context_precision", [0.4, 0.99], sample)
    assert (result.value, result.interval) == (0.5, (0.5, 1.0))
    failed = score("context_precision", [None, 0.99], sample)
    assert (failed.value, failed.interval) == (0.5, (0.5, 1.0))


def test_a_chunk_that_several_checks_decide_has_the_probability_of_the_best() -> None:
    result = score("context_precision", [0.3, 0.99, 0.01, 0.02])
    assert [item.probability for item in result.items] == [0.99, 0.02]
    assert (result.value, result.interval) == (1.0, (1.0, 1.0))


def test_a_refusing_sentence_is_certain() -> None:
    sample = SAMPLE.model_copy(update={"output": "It landed in 1969. I don't know more than that."})
    result = score("answer_relevancy", [0.6], sample)
    assert (result.value, result.interval) == (0.5, (0.0, 0.5))


@pytest.mark.parametrize("name", metric_names())
def test_a_holistic_score_has_no_interval(name: str) -> None:
    metric = make_metric(name, mode="holistic")
    result = metric.score(SAMPLE, metric.plan(SAMPLE), [Reply(text='{"score": 0.5, "reason": ""}')])
    assert (result.value, result.interval) == (0.5, None)


JUDGE = FakeJudge({"It landed in 1969.": 0.9, "It carried a dog.": 0.1, CONTEXTS[0]: 0.6, CONTEXTS[1]: 0.01})


@pytest.mark.parametrize(
    ("threshold", "passed", "undecided"), [(0.0, True, False), (0.5, True, True), (0.8, False, True)]
)
def test_a_scorer_says_what_its_threshold_leaves_open(
    threshold: float, passed: bool, undecided: bool
) -> None:
    result = Faithfulness(JUDGE, threshold, cache=False).score(output=SAMPLE.output, contexts=CONTEXTS)
    assert (result.value, result.interval) == (0.5, (0.0, 1.0))
    assert (result.passed, result.undecided) == (passed, undecided)


def test_evaluate_marks_the_undecided_and_counts_them() -> None:
    rows = evaluate(
        dataset=[SAMPLE.model_copy(update={"expected": None})],
        scorers=["faithfulness", ContextPrecision(JUDGE, 0.5)],
        llm=JUDGE,
        cache=False,
    )
    scores = rows.rows[0].scores
    assert {name: (one.interval, one.undecided) for name, one in scores.items()} == {
        "faithfulness": ((0.0, 1.0), True),
        "context_precision": ((0.0, 1.0), True),
    }
    assert rows.summary().endswith("scores: 1 passed, 1 failed; 2 undecided")


def test_an_empty_case_and_a_metric_of_ones_own_without_interval_are_never_undecided() -> None:
    class Own:
        name, by, mode = "own", None, "decomposed"
        requires = ("output",)
        default_threshold = 0.5

        def plan(self, sample: Sample) -> object:
            return make_metric("faithfulness").plan(sample)

        def score(self, sample: Sample, plan: object, outcomes: Sequence[Outcome]) -> Score:
            return Score(metric="own", value=0.5, status="scored", mode="decomposed", reason="")

    rows = evaluate(dataset=[SAMPLE], scorers=[Own()], llm=JUDGE, cache=False).rows  # type: ignore[list-item]
    own = rows[0].scores["own"]
    assert (own.passed, own.interval, own.undecided) == (True, None, False)
    empty = Faithfulness(JUDGE, cache=False).score(output="I don't know.", contexts=CONTEXTS)
    assert (empty.value, empty.interval, empty.undecided) == (None, None, False)
