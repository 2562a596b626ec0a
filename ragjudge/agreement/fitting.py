"""Fitting a calibration: candidates of rising complexity, compared on rows that they were not fitted on.

The simplest candidate counts whose cross-validated log loss is within one standard error of the best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ragjudge.agreement.calibration import Calibration, Card, CardData
from ragjudge.agreement.candidates import fit_candidate, need_sklearn, predict, sigmoid
from ragjudge.agreement.crossval import (
    FOLDS,
    Figures,
    Floats,
    Fold,
    Lag,
    Rows,
    by_set,
    figures,
    folds,
    lags,
    sets_stand_alone,
    simplest,
)
from ragjudge.agreement.fits import KINDS, Fit, Kind
from ragjudge.agreement.judged import Judged, check_counts, data_of, rows_of, template_of
from ragjudge.errors import DataError

BALANCED = (
    "Both labels weigh the same in the fit: where far more or fewer than half of the claims are supported, "
    "probabilities are to be read with that in mind."
)
RAW = "raw"
"""The judge's own probabilities: shown beside the candidates, and none of them."""


class Candidate(NamedTuple):
    """A candidate's record.

    Attributes:
        figures: On rows that were not fitted on.
        sets: Balanced accuracy and AUC by set.
        lag: How far it is behind the best one; None for `RAW`.
    """

    figures: Figures
    sets: dict[str, tuple[float, float]]
    lag: Lag | None = None


class TemplateFit(NamedTuple):
    """What came of one template.

    Attributes:
        template: ``name@version``.
        advised: The candidate that the rule chooses.
        fit: The candidate that was taken, fitted on all rows.
        candidates: All candidates by name, `RAW` first, then in rising complexity.
        left_out: Why a candidate was not fitted, by name.
        folds: How rows were kept apart, in words.
        by_set: Whether those kept apart were whole sets.
        data: The rows.
    """

    template: str
    advised: Kind
    fit: Fit
    candidates: dict[str, Candidate]
    left_out: dict[str, str]
    folds: str
    by_set: bool
    data: tuple[CardData, ...]


def fit_template(
    judged: Sequence[Judged], *, kinds: Sequence[Kind] = KINDS, taken: Kind | None = None
) -> TemplateFit:
    """Fit the candidates for one template and choose.

    Args:
        judged: Questions of one template. A head is a candidate when every verdict has its hidden state.
        kinds: The candidates to compare.
        taken: The one to take; None = what the rule advises.

    Raises:
        DataError: There are too few labels of either kind, or too few groups; or what is to be taken cannot
            be fitted.
        UsageError: scikit-learn is not installed.
    """
    need_sklearn()
    template = template_of(judged[0])
    check_counts(judged)
    rows = rows_of(judged)
    cut = folds(rows, np.arange(len(rows)))
    left_out: dict[str, str] = {}
    fits: dict[Kind, Fit] = {}
    predicted: dict[Kind, Floats] = {}
    for kind in (kind for kind in KINDS if kind in kinds):
        if kind == "head" and rows.hidden is None:
            left_out[kind] = "the judge keeps no hidden state"
            continue
        found = _tried(kind, rows, cut)
        if found is None:
            left_out[kind] = "the margin does not rise with the label"
        else:
            fits[kind], predicted[kind] = found
    if not fits:
        reasons = "; ".join(f"{kind}: {reason}" for kind, reason in left_out.items())
        raise DataError(f"no candidate can be fitted for {template} ({reasons}).")
    behind = lags(rows, predicted)
    raw = sigmoid(rows.plain[:, 0])
    candidates: dict[str, Candidate] = {RAW: Candidate(figures(rows, raw), by_set(rows, raw))}
    for kind, values in predicted.items():
        candidates[kind] = Candidate(figures(rows, values), by_set(rows, values), behind[kind])
    chosen = simplest(behind, KINDS)
    apart = sets_stand_alone(rows, np.arange(len(rows)))
    told = _told(rows, by_set=apart)
    if taken is not None and taken not in fits:
        reason = left_out.get(taken, "it is not among the candidates")
        raise DataError(f"{taken} cannot be fitted for {template}: {reason}.")
    return TemplateFit(
        template, chosen, fits[taken or chosen], candidates, left_out, told, apart, data_of(judged)
    )


def calibrate(
    judged: Sequence[Judged],
    *,
    judge: str,
    judge_id: str,
    date: str,
    kinds: Sequence[Kind] = KINDS,
    taken: Kind | Mapping[str, Kind] | None = None,
    limits: Sequence[str] = (),
) -> tuple[Calibration, list[TemplateFit]]:
    """Fit a calibration for one judge, template by template.

    A template with too few labels is left out and named among the limits, unless it is the only one.

    Args:
        judged: The labelled questions with the judge's raw answers.
        judge: The judge's fingerprint.
        judge_id: Its reference.
        date: The day, ISO 8601.
        kinds: The candidates to compare.
        taken: The one to take, for all templates or by ``name@version``; None = what the rule advises.
        limits: Further sentences for the card.

    Returns:
        ``(calibration, what came of each template)``.

    Raises:
        DataError: There are too few labels of either kind for every template, or too few groups.
        UsageError: scikit-learn is not installed.
    """
    by_template: dict[str, list[Judged]] = {}
    for each in judged:
        by_template.setdefault(template_of(each), []).append(each)
    named = dict.fromkeys(by_template, taken) if taken is None or isinstance(taken, str) else taken
    tried = {
        template: _fit_or_fault(by_template[template], kinds, named.get(template))
        for template in sorted(by_template)
    }
    fits = [found for found in tried.values() if isinstance(found, TemplateFit)]
    faults = {template: found for template, found in tried.items() if isinstance(found, DataError)}
    if not fits:
        raise next(iter(faults.values()), DataError("there are no labelled rows to fit on."))
    notes = [
        f"{fit.template}: {fit.fit.kind} was asked for; the rule would have taken {fit.advised}."
        for fit in fits
        if fit.fit.kind != fit.advised
    ]
    notes += [f"{template} is not calibrated: {fault.message}" for template, fault in faults.items()]
    card = Card(
        date=date,
        data=tuple(data for fit in fits for data in fit.data),
        folds={fit.template: fit.folds for fit in fits},
        figures={fit.template: _for_card(fit) for fit in fits},
        limits=(*_limits(fits), *notes, *limits),
    )
    templates = {fit.template: fit.fit for fit in fits}
    return Calibration(judge=judge, judge_id=judge_id, templates=templates, card=card), fits


def _fit_or_fault(
    judged: Sequence[Judged], kinds: Sequence[Kind], taken: Kind | None
) -> TemplateFit | DataError:
    try:
        return fit_template(judged, kinds=kinds, taken=taken)
    except DataError as error:
        return error


def _tried(kind: Kind, rows: Rows, cut: Sequence[Fold]) -> tuple[Fit, Floats] | None:
    """Return a candidate fitted on all rows, and what it says of each row when fitted on others."""
    whole = fit_candidate(kind, rows, np.arange(len(rows)))
    values = np.empty(len(rows))
    for fold in cut:
        fit = fit_candidate(kind, rows, fold.train)
        if fit is None:
            return None
        values[fold.test] = predict(fit, rows)[fold.test]
    return None if whole is None else (whole, values)


def _told(rows: Rows, *, by_set: bool) -> str:
    if by_set:
        sets = len(np.unique(rows.sets))
        return f"each of the {sets} sets is tested by fits on the others, without rows of its groups"
    groups = len(np.unique(rows.groups))
    return f"{FOLDS} folds of the {groups} groups: each is tested by fits on the others"


def _for_card(fit: TemplateFit) -> dict[str, dict[str, float]]:
    return {
        name: {figure: round(value, 4) for figure, value in candidate.figures._asdict().items()}
        for name, candidate in fit.candidates.items()
    }


def _limits(fits: Sequence[TemplateFit]) -> list[str]:
    found = [BALANCED]
    narrow = [fit.template for fit in fits if not fit.by_set]
    if narrow:
        found.append(f"{', '.join(narrow)}: not tested on texts of another source than those fitted on.")
    return found
