from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest

from ragjudge.agreement.statistics import (
    BINS,
    Sample,
    accuracy,
    auc,
    balanced_accuracy,
    best_threshold,
    bootstrap,
    brier,
    cluster_bootstrap,
    cohen_kappa,
    expected_calibration_error,
    interval,
    precision_recall,
    reliability,
    roc,
)

LABELS = [1, 1, 1, 0, 0, 1, 0, 0, 1, 0]
CHANCES = [0.92, 0.81, 0.66, 0.63, 0.58, 0.44, 0.44, 0.31, 0.27, 0.08]
DECISIONS = [chance >= 0.5 for chance in CHANCES]


def _many(seed: int, rows: int = 400, *, steps: int | None = None) -> tuple[Any, Any]:
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, 2, rows)
    chances = np.clip(generator.normal(0.45 + 0.2 * labels, 0.2), 0.001, 0.999)
    return labels, chances if steps is None else np.round(chances * steps) / steps


def test_the_figures_of_ten_rows_are_those_worked_out_by_hand() -> None:
    # True positives 3, false positives 2, true negatives 3, false negatives 2.
    assert accuracy(LABELS, DECISIONS) == pytest.approx(0.6)
    assert balanced_accuracy(LABELS, DECISIONS) == pytest.approx(0.6)
    assert cohen_kappa(LABELS, DECISIONS) == pytest.approx(0.2)
    assert precision_recall(LABELS, DECISIONS) == pytest.approx((0.6, 0.6))
    # Pairs won: 5 + 5 + 5 + 2.5 + 1 of 25.
    assert auc(LABELS, CHANCES) == pytest.approx(18.5 / 25)
    squares = sum((chance - label) ** 2 for chance, label in zip(CHANCES, LABELS, strict=True))
    assert brier(LABELS, CHANCES) == pytest.approx(squares / 10)


def test_the_calibration_error_weighs_each_bin_by_its_rows() -> None:
    # Bins: 0.9 {0.92: 1}, 0.8 {0.81: 1}, 0.6 {0.66: 1, 0.63: 0}, 0.5 {0.58: 0}, 0.4 {0.44: 1, 0.44: 0},
    # 0.3 {0.31: 0}, 0.2 {0.27: 1}, 0.0 {0.08: 0}.
    gaps = 0.08 + 0.19 + abs(1.29 - 1) + 0.58 + abs(0.88 - 1) + 0.31 + 0.73 + 0.08
    assert expected_calibration_error(LABELS, CHANCES) == pytest.approx(gaps / 10)


def test_reliability_bins_hold_every_row_once() -> None:
    bins = reliability([1, 0, 1, 1], [0.0, 0.1, 0.15, 1.0])
    assert len(bins) == BINS
    assert [each.rows for each in bins] == [1, 2, 0, 0, 0, 0, 0, 0, 0, 1]
    assert (bins[1].mean, bins[1].positive) == pytest.approx((0.125, 0.5))
    assert (bins[2].mean, bins[2].positive) == (None, None)
    assert (bins[9].low, bins[9].high, bins[9].mean) == (0.9, 1.0, 1.0)


@pytest.mark.parametrize("steps", [None, 7])
def test_figures_agree_with_scikit_learn(steps: int | None) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    for seed in range(5):
        labels, chances = _many(seed, steps=steps)
        decided = chances >= 0.5
        assert accuracy(labels, decided) == pytest.approx(metrics.accuracy_score(labels, decided))
        assert balanced_accuracy(labels, decided) == pytest.approx(
            metrics.balanced_accuracy_score(labels, decided)
        )
        assert cohen_kappa(labels, decided) == pytest.approx(metrics.cohen_kappa_score(labels, decided))
        assert auc(labels, chances) == pytest.approx(metrics.roc_auc_score(labels, chances))
        assert auc(labels, -50 * chances) == pytest.approx(metrics.roc_auc_score(labels, -chances))
        assert brier(labels, chances) == pytest.approx(metrics.brier_score_loss(labels, chances))
        found = precision_recall(labels, decided)
        assert found.precision == pytest.approx(metrics.precision_score(labels, decided, pos_label=0))
        assert found.recall == pytest.approx(metrics.recall_score(labels, decided, pos_label=0))


@pytest.mark.parametrize("steps", [None, 7])
def test_the_roc_is_that_of_scikit_learn(steps: int | None) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    labels, chances = _many(11, steps=steps)
    curve = roc(labels, chances)
    assert curve is not None
    false, true, thresholds = metrics.roc_curve(labels, chances, drop_intermediate=False)
    area = metrics.auc(curve.false_positive, curve.true_positive)
    assert area == pytest.approx(metrics.auc(false, true))
    corners = set(zip(false.tolist(), true.tolist(), thresholds.tolist(), strict=True))
    ours = set(
        zip(
            curve.false_positive.tolist(),
            curve.true_positive.tolist(),
            curve.thresholds.tolist(),
            strict=True,
        )
    )
    assert ours <= corners
    assert curve.thresholds[0] == math.inf
    assert (curve.false_positive[-1], curve.true_positive[-1]) == (1.0, 1.0)


def test_the_calibration_curve_is_that_of_scikit_learn() -> None:
    calibration = pytest.importorskip("sklearn.calibration")
    labels, chances = _many(3)
    positive, mean = calibration.calibration_curve(labels, chances, n_bins=BINS)
    bins = [each for each in reliability(labels, chances) if each.rows]
    assert [each.positive for each in bins] == pytest.approx(positive.tolist())
    assert [each.mean for each in bins] == pytest.approx(mean.tolist())


def test_the_auc_is_the_statistic_of_mann_and_whitney() -> None:
    stats = pytest.importorskip("scipy.stats")
    labels, chances = _many(5, steps=9)
    won = stats.mannwhitneyu(chances[labels == 1], chances[labels == 0]).statistic
    assert auc(labels, chances) == pytest.approx(won / (labels.sum() * (1 - labels).sum()))


def test_the_best_threshold_is_the_best_of_all() -> None:
    labels, chances = _many(7, rows=60, steps=15)
    best = best_threshold(labels, chances)
    assert best is not None
    tried = [balanced_accuracy(labels, chances >= cut) or 0.0 for cut in np.linspace(0, 1.01, 500)]
    assert best.balanced_accuracy == pytest.approx(max(tried))
    assert balanced_accuracy(labels, chances >= best.value) == pytest.approx(best.balanced_accuracy)


def test_the_best_threshold_stays_where_it_is_when_nothing_is_better() -> None:
    assert best_threshold([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9]) == (0.5, 1.0)
    assert best_threshold([0, 0, 1, 1], [0.1, 0.25, 0.5, 0.9], near=0.7) == (0.375, 1.0)
    assert best_threshold([0, 0, 1, 1], [0.5, 0.625, 0.875, 0.9]) == (0.75, 1.0)


def test_a_threshold_between_neighbouring_floats_still_parts_them() -> None:
    low = 0.9
    high = math.nextafter(low, 1.0)
    found = best_threshold([0, 1], [low, high])
    assert found is not None
    assert low < found.value <= high


def test_one_label_only_has_no_agreement_and_no_ranking() -> None:
    for labels in ([1, 1, 1], [0, 0, 0]):
        chances = [0.2, 0.6, 0.9]
        decided = [False, True, True]
        assert balanced_accuracy(labels, decided) is None
        assert cohen_kappa(labels, decided) is None
        assert auc(labels, chances) is None
        assert best_threshold(labels, chances) is None
        assert roc(labels, chances) is None
        assert brier(labels, chances) is not None
    assert accuracy([1, 1, 1], [0, 1, 1]) == pytest.approx(2 / 3)
    assert precision_recall([1, 1], [1, 1]) == (None, None)
    assert precision_recall([1, 1], [0, 1]) == (0.0, None)
    assert precision_recall([0, 0], [1, 1]) == (None, 0.0)


def test_no_rows_have_no_figures() -> None:
    assert accuracy([], []) is None
    assert auc([], []) is None
    assert brier([], []) is None
    assert expected_calibration_error([], []) is None
    assert sum(each.rows for each in reliability([], [])) == 0


def test_equal_scores_rank_like_a_coin() -> None:
    assert auc([1, 0, 1, 0, 0], [0.7] * 5) == 0.5
    best = best_threshold([1, 0, 1, 0, 0], [0.7] * 5)
    assert best is not None
    assert best.balanced_accuracy == 0.5
    curve = roc([1, 0, 1, 0, 0], [0.7] * 5)
    assert curve is not None
    assert (curve.false_positive.tolist(), curve.true_positive.tolist()) == ([0.0, 1.0], [0.0, 1.0])


def test_resamples_of_groups_are_samples_of_their_rows() -> None:
    labels, chances = _many(13, rows=90)
    groups = [number // 3 for number in range(90)]
    sample = Sample(labels, chances, groups=groups)
    drawn = np.random.default_rng(4).integers(0, sample.groups, sample.groups)
    counts = np.bincount(drawn, minlength=sample.groups).astype(float)[None, :]
    rows = np.concatenate([np.arange(3) + 3 * group for group in drawn])
    found = {name: values[0] for name, values in sample.measures(counts).items()}
    assert found["auc"] == pytest.approx(auc(labels[rows], chances[rows]))
    assert found["kappa"] == pytest.approx(cohen_kappa(labels[rows], chances[rows] >= 0.5))
    assert found["calibration_error"] == pytest.approx(
        expected_calibration_error(labels[rows], chances[rows])
    )
    assert found["best_balanced_accuracy"] == pytest.approx(
        balanced_accuracy(labels[rows], chances[rows] >= sample.threshold)
    )
    assert found["precision_unsupported"] == pytest.approx(
        precision_recall(labels[rows], chances[rows] >= 0.5).precision
    )


def test_the_interval_of_a_share_is_that_of_the_normal_approximation() -> None:
    labels = np.ones(2000)
    decided = np.arange(2000) % 10 < 7
    sample = Sample(labels, decided.astype(float), decided)
    found = interval(bootstrap(sample, resamples=2000)["accuracy"])
    assert found is not None
    half = 1.96 * math.sqrt(0.7 * 0.3 / 2000)
    assert found == pytest.approx((0.7 - half, 0.7 + half), abs=0.002)


def test_rows_of_one_group_count_as_one_observation() -> None:
    labels, chances = _many(17, rows=200)
    alone = interval(bootstrap(Sample(labels, chances))["brier"])
    copied = Sample(np.repeat(labels, 5), np.repeat(chances, 5), groups=np.repeat(np.arange(200), 5).tolist())
    assert interval(bootstrap(copied)["brier"]) == pytest.approx(alone)


def test_the_bootstrap_is_the_same_every_time_whatever_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    labels, chances = _many(19)
    sample = Sample(labels, chances, groups=[number // 2 for number in range(400)])
    first = bootstrap(sample)
    monkeypatch.setattr("ragjudge.agreement.sampling._CELLS", 50_000)
    again = bootstrap(sample)
    for name, values in first.items():
        assert np.allclose(again[name], values, rtol=0, atol=1e-12), name
    assert not np.array_equal(bootstrap(sample, seed=2)["auc"], first["auc"])


def test_the_slow_bootstrap_agrees_with_the_fast_one() -> None:
    labels, chances = _many(23, rows=150)
    groups = [number // 3 for number in range(150)]
    fast = interval(bootstrap(Sample(labels, chances, groups=groups))["auc"])
    assert cluster_bootstrap(auc, labels, chances, groups) == pytest.approx(fast, abs=0.01)
    assert cluster_bootstrap(auc, labels, chances, ["one"] * 150) is None


def test_an_interval_needs_the_figure_in_most_resamples() -> None:
    assert interval(np.array([0.5, math.nan, math.nan, math.nan])) is None
    assert interval(np.array([math.nan] * 4)) is None
    assert interval(np.array([0.2, 0.2, 0.2, math.nan])) == (0.2, 0.2)


def test_a_thousand_resamples_of_1400_rows_take_no_time_to_speak_of() -> None:
    labels, chances = _many(29, rows=1400)
    sample = Sample(labels, chances, groups=[number // 2 for number in range(1400)])
    started = time.perf_counter()
    bootstrap(sample, resamples=1000)
    assert time.perf_counter() - started < 5  # a tenth of a second or two on an idle machine
