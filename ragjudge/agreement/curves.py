"""Where to cut, and what a curve of all cuts looks like: best threshold, ROC, reliability."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"
Numbers: TypeAlias = "Sequence[Any] | NDArray[Any]"

BINS = 10
"""Bins of equal width of the reliability plot and the expected calibration error."""


class Threshold(NamedTuple):
    """A decision threshold.

    Attributes:
        value: Smallest score that is decided positive.
        balanced_accuracy: What it gives.
    """

    value: float
    balanced_accuracy: float


class Bin(NamedTuple):
    """The probabilities in ``[low, high)``; the last bin holds 1 too."""

    low: float
    high: float
    rows: int
    mean: float | None
    positive: float | None


class Roc(NamedTuple):
    """A receiver operating characteristic; the first threshold is infinite."""

    false_positive: Floats
    true_positive: Floats
    thresholds: Floats


def best_threshold(labels: Numbers, scores: Numbers, *, near: float = 0.5) -> Threshold | None:
    """Return the threshold of the largest balanced accuracy; None when a label is missing.

    Args:
        labels: 0 or 1.
        scores: What is compared with the threshold.
        near: Among equally good thresholds the closest to this one is taken, and it itself where no score
            parts it from a best one; elsewhere thresholds lie half way between two scores.
    """
    truth, values = np.asarray(labels, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    positives, negatives = truth.sum(), (1 - truth).sum()
    if not positives or not negatives:
        return None
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    cuts = np.flatnonzero(np.concatenate(([True], ranked[1:] != ranked[:-1])))
    lost = np.concatenate(([0.0], np.cumsum(truth[order])))[cuts]
    found = cuts - lost
    balanced = (1 - lost / positives + found / negatives) / 2
    above = ranked[cuts]
    below = np.concatenate(([-math.inf], above[:-1]))
    middle = np.where(np.isinf(below), above, (below + above) / 2)
    # Between neighbouring floats there is no half way: rounding must not move the lower one up.
    middle = np.where(middle > below, middle, above)
    places = np.where((below < near) & (near <= above), near, middle)
    best = np.flatnonzero(balanced >= balanced.max() - 1e-12)
    chosen = best[np.argmin(np.abs(places[best] - near))]
    return Threshold(float(places[chosen]), float(balanced[chosen]))


def roc(labels: Numbers, scores: Numbers) -> Roc | None:
    """Return the ROC curve's corners, from (0, 0) to (1, 1); None when a label is missing.

    Points on a straight line between others are left out.
    """
    truth, values = np.asarray(labels, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    positives, negatives = truth.sum(), (1 - truth).sum()
    if not positives or not negatives:
        return None
    order = np.argsort(-values, kind="stable")
    ranked = values[order]
    ends = np.flatnonzero(np.concatenate((ranked[1:] != ranked[:-1], [True])))
    true = np.concatenate(([0.0], np.cumsum(truth[order])[ends]))
    false = np.concatenate(([0.0], np.cumsum(1 - truth[order])[ends]))
    turns = np.diff(true)[:-1] * np.diff(false)[1:] != np.diff(true)[1:] * np.diff(false)[:-1]
    kept = np.concatenate(([True], turns, [True]))
    thresholds = np.concatenate(([math.inf], ranked[ends]))
    return Roc(false[kept] / negatives, true[kept] / positives, thresholds[kept])


def reliability(labels: Numbers, probabilities: Numbers) -> tuple[Bin, ...]:
    """Return ten bins of equal width with their mean P and their share of positives."""
    truth, values = np.asarray(labels, dtype=np.float64), np.asarray(probabilities, dtype=np.float64)
    place = bin_numbers(values)
    counts = np.bincount(place, minlength=BINS)
    means = np.bincount(place, weights=values, minlength=BINS)
    shares = np.bincount(place, weights=truth, minlength=BINS)
    return tuple(
        Bin(
            number / BINS,
            (number + 1) / BINS,
            int(count),
            float(means[number] / count) if count else None,
            float(shares[number] / count) if count else None,
        )
        for number, count in enumerate(counts)
    )


def bin_numbers(probabilities: Floats) -> NDArray[np.intp]:
    """Return in which of the bins, from 0, each probability lies."""
    edges = np.arange(1, BINS) / BINS
    return np.searchsorted(edges, probabilities, side="right")
