"""The candidates for a calibration: how each is fitted, and what it predicts. Needs scikit-learn to fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ragjudge.agreement.crossval import Floats, Indices, Rows, folds, losses, weights
from ragjudge.agreement.evidence import EVIDENCE_VERSION, FEATURES, OTHER_LANGUAGE
from ragjudge.agreement.fits import HIDDEN, LABEL_MASS, LEAST, MARGIN, REACH, Fit, Input, Kind
from ragjudge.errors import UsageError
from ragjudge.judges.llama.hidden import Basis

if TYPE_CHECKING:
    from collections.abc import Sequence

PLAIN_INPUTS = (MARGIN, LABEL_MASS, *FEATURES)
"""The columns of `Rows.plain`."""

FITTED = (MARGIN, *FEATURES)
"""The inputs of the kinds ``evidence`` and ``head``; the label mass misled on sets not fitted on."""

FEWEST_OF_LANGUAGE = 30
"""Rows of each label in other languages than English that it takes to learn anything of them."""

DIRECTIONS = 16
"""Directions of the hidden state that a head reads: its first principal components."""

STRENGTHS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
"""What the mean log loss counts against half the squared weights of standardised inputs; one is chosen."""

_FREE = 1e5
"""So little is one slope held back that it is not."""

_LEAST_SCALE = 1e-9
_BASIS_DIGITS, _DIGITS = 4, 6


def fit_candidate(kind: Kind, rows: Rows, chosen: Indices) -> Fit | None:
    """Fit a candidate.

    Args:
        kind: Which.
        rows: All rows.
        chosen: Those to fit on; both labels are among them.

    Returns:
        The fit, its numbers rounded to 6 significant digits; None when the margin does not rise with the
        label, so that nothing can be made of a slope.

    Raises:
        UsageError: scikit-learn is not installed.
        DataError: The rows are of too few groups.
    """
    if kind == "threshold":
        cut = rounded(_cut(rows, chosen))
        return Fit(kind=kind, bias=0.0, inputs=(Input(name=MARGIN, mean=cut, scale=1.0, weight=1.0),))
    if kind == "platt":
        model = _logistic(rows.plain[chosen, :1], rows, chosen, _FREE)
        slope, offset = rounded(model.coef_[0, 0]), rounded(model.intercept_[0])
        if slope <= 0:
            return None
        return Fit(kind=kind, bias=offset, inputs=(Input(name=MARGIN, mean=0.0, scale=1.0, weight=slope),))
    names, basis = list(FITTED), None
    values = rows.plain[:, [PLAIN_INPUTS.index(name) for name in names]]
    if kind == "head":
        basis = _principal(rows, chosen)
        values = np.column_stack([values, _along(basis, rows)])
        names += [f"{HIDDEN}{number + 1}" for number in range(len(basis.components))]
    return _ridge(kind, names, values, basis, rows, chosen)


def predict(fit: Fit, rows: Rows) -> Floats:
    """Return what `Fit.probability` would, for all rows at once."""
    columns = dict(zip(PLAIN_INPUTS, rows.plain.T, strict=True))
    if fit.basis is not None:
        along = _along(fit.basis, rows)
        columns |= {f"{HIDDEN}{number + 1}": column for number, column in enumerate(along.T)}
    total = np.full(len(rows), fit.bias)
    for each in fit.inputs:
        value = (columns[each.name] - each.mean) / each.scale
        total += each.weight * (value if each.name == MARGIN else np.clip(value, -REACH, REACH))
    result: Floats = np.clip(sigmoid(total), LEAST, 1 - LEAST)
    return result


def rounded(value: float, digits: int = _DIGITS) -> float:
    """Round to significant digits, so that the file stays readable and the same everywhere."""
    return float(f"{value:.{digits}g}")


def need_sklearn() -> None:
    """Make sure that calibrations can be fitted.

    Raises:
        UsageError: scikit-learn is not installed.
    """
    try:
        import sklearn  # noqa: F401
    except ImportError as error:
        raise UsageError(
            "fitting a calibration needs scikit-learn, which is not installed.",
            hint="pip install 'ragjudge-offline[calibrate]'",
        ) from error


def _cut(rows: Rows, chosen: Indices) -> float:
    """Return the margin that becomes P = 0.5: the one with which the mean P is right, and so the likelihood.

    The cut of the largest balanced accuracy would be another, and a far more accidental one.
    """
    margins, labels, weight = rows.plain[chosen, 0], rows.labels[chosen], weights(rows, chosen)
    low, high = float(margins.min()) - 40.0, float(margins.max()) + 40.0
    for _ in range(100):
        middle = (low + high) / 2
        if float(weight @ (sigmoid(margins - middle) - labels)) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _ridge(
    kind: Kind, names: Sequence[str], values: Floats, basis: Basis | None, rows: Rows, chosen: Indices
) -> Fit | None:
    """Fit a logistic regression on standardised inputs, held back as much as inner folds advise."""
    inner = folds(rows, chosen, fewest=2)  # what is kept apart already has taken groups away
    found = []
    for strength in STRENGTHS:
        total = 0.0
        for fold in inner:
            fit = _held_back(kind, names, values, basis, rows, fold.train, strength)
            weight = weights(rows, fold.test)
            total += float(weight @ losses(rows, predict(fit, rows))[fold.test])
        found.append(total)
    # The stronger hold on ties.
    return _held_back(kind, names, values, basis, rows, chosen, STRENGTHS[int(np.argmin(found))])


def _held_back(
    kind: Kind,
    names: Sequence[str],
    values: Floats,
    basis: Basis | None,
    rows: Rows,
    chosen: Indices,
    strength: float,
) -> Fit:
    weight = weights(rows, chosen)
    means = weight @ values[chosen]
    scales = np.sqrt(weight @ (values[chosen] - means) ** 2)
    # A column that never changes says nothing; the margin keeps its place.
    used = [
        index
        for index, name in enumerate(names)
        if index == 0
        or (scales[index] > _LEAST_SCALE and _is_learnable(name, values[chosen, index], rows, chosen))
    ]
    mean = [rounded(value) for value in means[used]]
    scale = [rounded(value) if value > _LEAST_SCALE else 1.0 for value in scales[used]]
    inputs = (values[:, used] - np.asarray(mean)) / np.asarray(scale)
    inputs[:, 1:] = np.clip(inputs[:, 1:], -REACH, REACH)
    model = _logistic(inputs[chosen], rows, chosen, strength)
    return Fit(
        kind=kind,
        bias=rounded(model.intercept_[0]),
        inputs=tuple(
            Input(name=names[index], mean=mean[at], scale=scale[at], weight=rounded(model.coef_[0, at]))
            for at, index in enumerate(used)
        ),
        evidence_version=EVIDENCE_VERSION,
        basis=basis,
    )


def _is_learnable(name: str, column: Floats, rows: Rows, chosen: Indices) -> bool:
    """Say whether a column is more than an accident, as a few English rows without a "the" would be."""
    if name != OTHER_LANGUAGE:
        return True
    labels = rows.labels[chosen][column > 0]
    return min(int(labels.sum()), int((~labels).sum())) >= FEWEST_OF_LANGUAGE


def _logistic(values: Floats, rows: Rows, chosen: Indices, strength: float) -> Any:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=strength, tol=1e-8, max_iter=10_000)
    return model.fit(values, rows.labels[chosen], sample_weight=weights(rows, chosen))


def _principal(rows: Rows, chosen: Indices) -> Basis:
    """Return the first principal components of the hidden states, each pointing the same way every time."""
    states = _states(rows)[chosen]
    mean = np.array([rounded(value, _BASIS_DIGITS) for value in states.mean(axis=0)])
    _, _, directions = np.linalg.svd(states - mean, full_matrices=False)
    # Fewer than dimensions, so that coordinates are never taken for a whole state.
    components = directions[: min(DIRECTIONS, len(chosen) - 1, states.shape[1] - 1)]
    largest = np.take_along_axis(components, np.abs(components).argmax(axis=1)[:, None], axis=1)
    return Basis(
        tuple(mean.tolist()),
        tuple(tuple(rounded(value, _BASIS_DIGITS) for value in row) for row in components * np.sign(largest)),
    )


def _along(basis: Basis, rows: Rows) -> Floats:
    """Return the coordinates of all states."""
    result: Floats = (_states(rows) - np.asarray(basis.mean)) @ np.asarray(basis.components).T
    return result


def sigmoid(values: Floats) -> Floats:
    """Return 1 / (1 + exp(-value)), without overflow."""
    result: Floats = 1 / (1 + np.exp(-np.clip(values, -700, 700)))
    return result


def _states(rows: Rows) -> Floats:
    if rows.hidden is None:
        raise AssertionError("a head is offered only where hidden states are kept")
    return rows.hidden
