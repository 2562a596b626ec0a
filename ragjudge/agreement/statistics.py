"""The statistics of a judge against labels: agreement, ranking, calibration, and how sure they are.

A figure that does not exist (one label only, nothing decided negative) is None for the functions of one
sample and NaN inside arrays of resamples. The label 1 is "supported" or "relevant", 0 is "unsupported".
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ragjudge.agreement.curves import (
    BINS,
    Bin,
    Floats,
    Numbers,
    Roc,
    Threshold,
    best_threshold,
    bin_numbers,
    reliability,
    roc,
)
from ragjudge.agreement.sampling import (
    RESAMPLES,
    SEED,
    Interval,
    Sample,
    bootstrap,
    cluster_bootstrap,
    interval,
)

__all__ = [
    "BINS",
    "RESAMPLES",
    "SEED",
    "Bin",
    "Floats",
    "Interval",
    "Numbers",
    "PrecisionRecall",
    "Roc",
    "Sample",
    "Threshold",
    "accuracy",
    "auc",
    "balanced_accuracy",
    "best_threshold",
    "bin_numbers",
    "bootstrap",
    "brier",
    "cluster_bootstrap",
    "cohen_kappa",
    "expected_calibration_error",
    "interval",
    "precision_recall",
    "reliability",
    "roc",
]


class PrecisionRecall(NamedTuple):
    """How well the negative label is found.

    Attributes:
        precision: Share of the negative decisions that are right; None without any.
        recall: Share of the negative labels that are found; None without any.
    """

    precision: float | None
    recall: float | None


def accuracy(labels: Numbers, decisions: Numbers) -> float | None:
    """Return the share of decisions that agree with the labels."""
    return _of_decisions("accuracy", labels, decisions)


def balanced_accuracy(labels: Numbers, decisions: Numbers) -> float | None:
    """Return the mean of the two labels' shares of right decisions; None when a label is missing."""
    return _of_decisions("balanced_accuracy", labels, decisions)


def cohen_kappa(labels: Numbers, decisions: Numbers) -> float | None:
    """Return Cohen's kappa, ``(p_o - p_e) / (1 - p_e)`` (Cohen 1960); None when a label is missing."""
    return _of_decisions("kappa", labels, decisions)


def precision_recall(labels: Numbers, decisions: Numbers) -> PrecisionRecall:
    """Return precision and recall of the label 0, "unsupported"."""
    return PrecisionRecall(
        _of_decisions("precision_unsupported", labels, decisions),
        _of_decisions("recall_unsupported", labels, decisions),
    )


def auc(labels: Numbers, scores: Numbers) -> float | None:
    """Return the area under the ROC curve; ties count half; None when a label is missing.

    Args:
        labels: 0 or 1.
        scores: Any finite numbers.
    """
    values = np.asarray(scores, dtype=np.float64)
    # Only the order counts, and ranks are in any range.
    _, ranks = np.unique(values, return_inverse=True)
    return _one("auc", Sample(labels, ranks / max(len(values), 1)))


def brier(labels: Numbers, probabilities: Numbers) -> float | None:
    """Return the mean squared difference of probability and label (Brier 1950); None without rows."""
    return _one("brier", Sample(labels, probabilities))


def expected_calibration_error(labels: Numbers, probabilities: Numbers) -> float | None:
    """Return the mean, over rows, of the gap between mean P and share of positives of a row's bin.

    Ten bins of equal width, as in Naeini, Cooper and Hauskrecht (2015); None without rows.
    """
    return _one("calibration_error", Sample(labels, probabilities))


def _of_decisions(name: str, labels: Numbers, decisions: Numbers) -> float | None:
    return _one(name, Sample(labels, np.asarray(decisions, dtype=np.float64), decisions))


def _one(name: str, sample: Sample) -> float | None:
    value = float(sample.values()[name][0]) if sample.groups else math.nan
    return None if math.isnan(value) else value
