"""Every figure at once, of rows as they are and of resamples of their groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ragjudge.agreement.curves import BINS, best_threshold, bin_numbers

if TYPE_CHECKING:
    from ragjudge.agreement.curves import Floats, Numbers

RESAMPLES = 1000
SEED = 1
_FEWEST_DEFINED = 0.5
"""Smallest share of resamples that must have a figure for an interval to mean anything."""

_CELLS = 4_000_000
"""Numbers that an array of resamples may hold: bounds memory for any number of rows."""


class Interval(NamedTuple):
    """The middle 95 % of what resamples give."""

    low: float
    high: float


class Sample:
    """Rows as columns, tallied by group so that a resample of groups is one row of a matrix product.

    Args:
        labels: What people say, 0 or 1.
        probabilities: P of the positive label, in [0, 1].
        decisions: What was decided, 0 or 1; None = P >= 0.5.
        groups: What is resampled together; None = each row for itself.
        threshold: A second threshold; None = the best one for these rows.
        near: The present threshold; see `best_threshold`.
    """

    def __init__(
        self,
        labels: Numbers,
        probabilities: Numbers,
        decisions: Numbers | None = None,
        groups: Sequence[Any] | None = None,
        *,
        threshold: float | None = None,
        near: float = 0.5,
    ) -> None:
        self.labels = np.asarray(labels, dtype=np.float64)
        self.probabilities = np.asarray(probabilities, dtype=np.float64)
        decided = self.probabilities >= 0.5 if decisions is None else decisions
        self.decisions = np.asarray(decided, dtype=np.float64)
        names = range(len(self.labels)) if groups is None else groups
        numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
        self.group = np.array([numbers[name] for name in names], dtype=np.intp)
        self.groups = len(numbers)
        best = best_threshold(self.labels, self.probabilities, near=near) if threshold is None else None
        self.threshold = best.value if best else threshold
        self._sums = self._tallied()

    def measures(self, counts: Floats) -> dict[str, Floats]:
        """Compute every figure for samples in which each group is drawn some number of times.

        Args:
            counts: One row for each sample, one column for each group.

        Returns:
            By name of the figure one value for each sample; NaN where it does not exist.
        """
        sums = counts @ self._sums
        now, best = sums[:, 0:4], sums[:, 4:8]
        total = now.sum(axis=1)
        bins = sums[:, 9:].reshape(len(sums), 2, BINS)
        one_label = (now[:, 0] + now[:, 3] == 0) | (now[:, 1] + now[:, 2] == 0)
        nowhere = np.full(len(sums), np.nan)
        return {
            "accuracy": _ratio(now[:, 0] + now[:, 2], total),
            "balanced_accuracy": _balanced(now),
            "best_balanced_accuracy": nowhere if self.threshold is None else _balanced(best),
            "auc": self._aucs(counts),
            "kappa": np.where(one_label, np.nan, _kappa(now)),
            "precision_unsupported": _ratio(now[:, 2], now[:, 2] + now[:, 3]),
            "recall_unsupported": _ratio(now[:, 2], now[:, 2] + now[:, 1]),
            "calibration_error": _ratio(np.abs(bins[:, 0] - bins[:, 1]).sum(axis=1), total),
            "brier": _ratio(sums[:, 8], total),
        }

    def values(self) -> dict[str, Floats]:
        """Compute every figure once, for the rows as they are."""
        return self.measures(np.ones((1, self.groups)))

    def _tallied(self) -> Floats:
        """Return for each group the sums that all figures but the AUC are made of."""
        cut = math.inf if self.threshold is None else self.threshold
        place = bin_numbers(self.probabilities)
        in_bin = (place[:, None] == np.arange(BINS)).astype(np.float64)
        columns = np.column_stack(
            [
                _outcomes(self.labels, self.decisions),
                _outcomes(self.labels, self.probabilities >= cut),
                (self.probabilities - self.labels) ** 2,
                in_bin * self.probabilities[:, None],
                in_bin * self.labels[:, None],
            ]
        )
        sums = np.zeros((self.groups, columns.shape[1]))
        np.add.at(sums, self.group, columns)
        return sums

    def _aucs(self, counts: Floats) -> Floats:
        """Return the area under the ROC curve of each sample, as Mann and Whitney's U; ties count half."""
        if not len(self.labels):
            return np.full(len(counts), np.nan)
        order = np.argsort(self.probabilities, kind="stable")
        ranked, labels, group = self.probabilities[order], self.labels[order], self.group[order]
        starts = np.flatnonzero(np.concatenate(([True], ranked[1:] != ranked[:-1])))
        weights = counts[:, group]
        positive = np.add.reduceat(weights * labels, starts, axis=1)
        negative = np.add.reduceat(weights * (1 - labels), starts, axis=1)
        below = np.cumsum(negative, axis=1) - negative
        wins = (positive * (below + negative / 2)).sum(axis=1)
        return _ratio(wins, positive.sum(axis=1) * negative.sum(axis=1))


def bootstrap(
    sample: Sample, *, resamples: int = RESAMPLES, seed: int | Sequence[int] = SEED
) -> dict[str, Floats]:
    """Compute every figure of resamples whose groups are drawn with replacement (cluster bootstrap).

    Rows of one group are not independent, so groups are what is drawn: Field and Welsh (2007), Bootstrapping
    clustered data. The same seed always gives the same figures.

    Returns:
        By name of the figure, one value for each resample; NaN where it does not exist.
    """
    generator = np.random.default_rng(seed)
    step = max(1, _CELLS // max(len(sample.labels), 1))
    parts = []
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        drawn = generator.integers(0, sample.groups, size=(rows, sample.groups))
        drawn += np.arange(rows)[:, None] * sample.groups
        counts = np.bincount(drawn.ravel(), minlength=rows * sample.groups).reshape(rows, sample.groups)
        parts.append(sample.measures(counts.astype(np.float64)))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def interval(replicates: Floats) -> Interval | None:
    """Return the 2.5th and 97.5th percentile; None when most resamples do not have the figure."""
    known = replicates[~np.isnan(replicates)]
    if len(known) < max(2, _FEWEST_DEFINED * len(replicates)):
        return None
    low, high = np.quantile(known, [0.025, 0.975])
    return Interval(float(low), float(high))


def cluster_bootstrap(
    statistic: Callable[[Floats, Floats], float | None],
    labels: Numbers,
    scores: Numbers,
    groups: Sequence[Any],
    *,
    resamples: int = RESAMPLES,
    seed: int | Sequence[int] = SEED,
) -> Interval | None:
    """Return the 95 % interval of any statistic; one call for each resample, so slower than `bootstrap`.

    Args:
        statistic: Of labels and scores; None where it does not exist.
        labels: 0 or 1.
        scores: One for each label.
        groups: What is drawn together; fewer than two have no interval.
        resamples: How often.
        seed: What makes it the same every time.
    """
    truth, values = np.asarray(labels, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    members: dict[Any, list[int]] = {}
    for place, name in enumerate(groups):
        members.setdefault(name, []).append(place)
    if len(members) < 2:
        return None
    rows = [np.array(places) for places in members.values()]
    generator = np.random.default_rng(seed)
    found = []
    for _ in range(resamples):
        drawn = np.concatenate([rows[number] for number in generator.integers(0, len(rows), size=len(rows))])
        value = statistic(truth[drawn], values[drawn])
        found.append(math.nan if value is None else value)
    return interval(np.array(found))


def _outcomes(labels: Floats, decisions: Any) -> Floats:
    """Return a column each for true positive, false positive, true negative and false negative."""
    decided = np.asarray(decisions, dtype=np.float64)
    return np.column_stack(
        [labels * decided, (1 - labels) * decided, (1 - labels) * (1 - decided), labels * (1 - decided)]
    )


def _ratio(part: Floats, whole: Floats) -> Floats:
    quotient: Floats = np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)
    return quotient


def _balanced(outcomes: Floats) -> Floats:
    true, wrong, right, missed = outcomes.T
    return (_ratio(true, true + missed) + _ratio(right, right + wrong)) / 2


def _kappa(outcomes: Floats) -> Floats:
    true, wrong, right, missed = outcomes.T
    total = outcomes.sum(axis=1)
    chance = (true + wrong) * (true + missed) + (right + missed) * (right + wrong)
    return _ratio((true + right) * total - chance, total**2 - chance)
