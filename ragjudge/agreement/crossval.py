"""Cross-validation of calibrations: weights, folds, figures on rows kept apart, and the choice.

All of it weighs the two labels the same, and so every set of rows: base rates differ from set to set, and a
calibration must not learn them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragjudge.agreement.curves import BINS, bin_numbers
from ragjudge.agreement.fits import Kind
from ragjudge.agreement.statistics import auc, balanced_accuracy
from ragjudge.errors import DataError

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

FOLDS = 5
FEWEST_SETS = 3
"""From so many sets on, whole sets are kept apart: what is fitted must hold for texts of another kind."""


@dataclass(frozen=True)
class Rows:
    """Labelled rows as columns.

    Attributes:
        labels: What people said, 0 or 1.
        sets: The set that each row is of.
        groups: The article or question of each row; rows of one are never on both sides of a fold.
        plain: The inputs that need no hidden state, a column each.
        hidden: The hidden states, one a row; None when the judge keeps none.
    """

    labels: NDArray[np.bool_]
    sets: NDArray[Any]
    groups: NDArray[Any]
    plain: Floats
    hidden: Floats | None = None

    def __len__(self) -> int:
        return len(self.labels)


class Fold(NamedTuple):
    """Rows to fit on, and rows to test on."""

    train: Indices
    test: Indices


def weights(rows: Rows, chosen: Indices) -> Floats:
    """Return weights that sum to 1: half for each label, the same for every set that has it.

    Args:
        rows: All rows.
        chosen: Those to weigh.
    """
    labels, sets = rows.labels[chosen], rows.sets[chosen]
    result = np.zeros(len(chosen))
    for label in (False, True):
        parts = [(labels == label) & (sets == name) for name in np.unique(sets)]
        parts = [part for part in parts if part.any()]
        for part in parts:
            result[part] = 0.5 / len(parts) / part.sum()
    return result


def folds(rows: Rows, chosen: Indices, *, fewest: int = FOLDS) -> list[Fold]:
    """Cut rows into folds: one for each set where `sets_stand_alone`, else five by group.

    A row that shares its group with a row to test is not fitted on, whatever its set.

    Args:
        rows: All rows.
        chosen: Those to cut.
        fewest: Groups that there must be where rows are cut by group; fewer than five give fewer folds.

    Raises:
        DataError: The rows come from too few groups.
    """
    cut = _by_set(rows, chosen) if sets_stand_alone(rows, chosen) else _by_group(rows, chosen, fewest)
    if any(len(np.unique(rows.labels[fold.train])) < 2 for fold in cut):
        raise DataError(
            "the labelled rows share so few articles or questions (`meta.group`) that those left to fit on, "
            "when some are kept apart, have one label only; give rows of more groups."
        )
    return cut


def sets_stand_alone(rows: Rows, chosen: Indices) -> bool:
    """Say whether whole sets can be kept apart: there are enough, and they share few groups."""
    names = np.unique(rows.sets[chosen])
    return len(names) >= FEWEST_SETS and all(
        2 * len(fold.train) >= len(chosen) - len(fold.test)
        and len(np.unique(rows.labels[fold.train])) == len(np.unique(rows.labels[chosen]))
        for fold in _by_set(rows, chosen)
    )


def _by_set(rows: Rows, chosen: Indices) -> list[Fold]:
    tests = [chosen[rows.sets[chosen] == name] for name in np.unique(rows.sets[chosen])]
    return [_without(rows, chosen, test) for test in tests]


def _without(rows: Rows, chosen: Indices, test: Indices) -> Fold:
    """Return the fold that tests some rows and is fitted on all that share no group with them."""
    return Fold(chosen[~np.isin(rows.groups[chosen], rows.groups[test])], test)


def _by_group(rows: Rows, chosen: Indices, fewest: int) -> list[Fold]:
    from sklearn.model_selection import StratifiedGroupKFold

    groups = rows.groups[chosen]
    count = len(np.unique(groups))
    if count < fewest:
        raise DataError(
            f"the labelled rows are of {count} groups (`meta.group`: article or question), "
            f"and at least {fewest} are needed to test on others than those fitted on."
        )
    splits = min(FOLDS, count)
    strata = [f"{rows.labels[row]} {rows.sets[row]}" for row in chosen]
    kinds = np.unique(strata, return_inverse=True)[1]
    # Smaller strata than folds only make the folds less even, but one must be larger.
    if np.bincount(kinds).max() < splits:
        kinds = rows.labels[chosen].astype(np.intp)
    splitter = StratifiedGroupKFold(n_splits=splits)
    parts = _quietly(splitter.split, np.zeros(len(chosen)), kinds, groups)
    return [_without(rows, chosen, chosen[test]) for _, test in parts if len(test)]


def _quietly(call: Any, *arguments: Any) -> list[Any]:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(call(*arguments))


class Figures(NamedTuple):
    """How well probabilities agree with labels; labels and sets count the same.

    Attributes:
        balanced_accuracy: Mean over the sets, at P = 0.5.
        auc: Mean over the sets.
        ece: Expected calibration error over ten bins of equal width.
        brier: Mean squared error.
        log_loss: Mean negative log-likelihood, in nats: what candidates are chosen by.
    """

    balanced_accuracy: float
    auc: float
    ece: float
    brier: float
    log_loss: float


def by_set(rows: Rows, probabilities: Floats) -> dict[str, tuple[float, float]]:
    """Return balanced accuracy and AUC of every set that has both labels."""
    found = {}
    for name in np.unique(rows.sets):
        part = rows.sets == name
        accuracy = balanced_accuracy(rows.labels[part], probabilities[part] >= 0.5)
        area = auc(rows.labels[part], probabilities[part])
        if accuracy is not None and area is not None:
            found[str(name)] = (accuracy, area)
    return found


def figures(rows: Rows, probabilities: Floats) -> Figures:
    """Return the figures of probabilities for all rows."""
    weight = weights(rows, np.arange(len(rows)))
    sets = by_set(rows, probabilities) or {
        "": (
            balanced_accuracy(rows.labels, probabilities >= 0.5) or 0.0,
            auc(rows.labels, probabilities) or 0.0,
        )
    }
    accuracies, areas = zip(*sets.values(), strict=True)
    gaps = np.bincount(bin_numbers(probabilities), weight * (probabilities - rows.labels), BINS)
    return Figures(
        float(np.mean(accuracies)),
        float(np.mean(areas)),
        float(np.abs(gaps).sum()),
        float(weight @ (probabilities - rows.labels) ** 2),
        float(weight @ losses(rows, probabilities)),
    )


def losses(rows: Rows, probabilities: Floats) -> Floats:
    """Return each row's negative log-likelihood in nats."""
    likelihood: Floats = np.where(rows.labels, probabilities, 1 - probabilities)
    return -np.log(np.maximum(likelihood, 1e-12))


class Lag(NamedTuple):
    """How far a candidate is behind the best one.

    Attributes:
        difference: Of the mean log loss.
        error: Standard error of that difference, with groups as the units.
    """

    difference: float
    error: float


def lags(rows: Rows, predicted: Mapping[Kind, Floats]) -> dict[Kind, Lag]:
    """Compare candidates with the best of them, row by row.

    The standard error is that of a weighted mean of clusters: sqrt(G / (G - 1) Σ_g (Σ_i∈g w_i (d_i - D))²),
    with d the differences of the losses and D their mean.

    Args:
        rows: All rows.
        predicted: P for all rows by candidate, each from a fit on other rows.
    """
    weight = weights(rows, np.arange(len(rows)))
    each = {name: losses(rows, values) for name, values in predicted.items()}
    best = min(each, key=lambda name: float(weight @ each[name]))
    number = np.unique(rows.groups, return_inverse=True)[1]
    count = int(number.max()) + 1
    found = {}
    for name, values in each.items():
        gap = values - each[best]
        mean = float(weight @ gap)
        sums = np.bincount(number, weight * (gap - mean), count)
        found[name] = Lag(mean, float(np.sqrt(count / max(1, count - 1) * (sums**2).sum())))
    return found


def simplest(found: Mapping[Kind, Lag], order: Sequence[Kind]) -> Kind:
    """Return the first candidate, in rising complexity, that is within one standard error of the best."""
    return next(name for name in order if name in found and found[name].difference <= found[name].error)
