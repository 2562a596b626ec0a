"""From judged rows to every figure of an `Agreement`: over all, and by set, length, language and kind."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ragjudge.agreement.statistics import (
    SEED,
    Sample,
    bootstrap,
    interval,
    reliability,
    roc,
)
from ragjudge.records import AgreementPart, Estimate, Measures, ReliabilityBin, RocPoint, WrongRow

if TYPE_CHECKING:
    from ragjudge.agreement.curves import Floats

DECIMALS = 6
WRONG_ROWS = 10
NOT_SAID = "(not said)"
"""Name of the part of those rows that name no language or kind where others do."""

_THRESHOLD_DECIMALS = 9  # probabilities of a sure judge lie close together
_MOST_POINTS = 200
_WORDS = (50, 150, 400, 1000)
_ONE_LABEL = ("balanced_accuracy", "best_balanced_accuracy", "auc", "kappa")


@dataclass(frozen=True)
class JudgedRow:
    """One labelled row and what was decided about it.

    Attributes:
        id: Name of the row.
        set: Name of its set.
        label: What people say.
        group: What it is resampled with.
        words: Words of its contexts.
        probability: P of the positive label, as exact as it is known; None when it could not be judged.
        decision: What was decided; None when it could not be judged.
        claim: What was judged.
        question: The question, where there is one.
        language: Language of the texts, where the row says so.
        kind: What kind of row it is, where it says so.
        label_mass: The labels' share of the whole distribution, where it is known.
        error: Why it could not be judged.
    """

    id: str
    set: str
    label: bool
    group: str
    words: int
    probability: float | None
    decision: bool | None
    claim: str = ""
    question: str | None = None
    language: str | None = None
    kind: str | None = None
    label_mass: float | None = None
    error: str | None = None


class Parts(NamedTuple):
    """The figures of an `Agreement`, under its names."""

    overall: AgreementPart
    average: Measures | None
    by_set: tuple[AgreementPart, ...]
    by_words: tuple[AgreementPart, ...]
    by_language: tuple[AgreementPart, ...]
    by_kind: tuple[AgreementPart, ...]
    wrong: tuple[WrongRow, ...]


@dataclass(frozen=True)
class _Figured:
    part: AgreementPart
    resampled: dict[str, Floats] | None


def figures(rows: Sequence[JudgedRow], *, near: float = 0.5, wrong: int = WRONG_ROWS) -> Parts:
    """Compute all figures.

    Args:
        rows: The rows, in the order of their sets.
        near: The present threshold.
        wrong: Most rows to name among those that are decided wrongly.
    """
    sets = _split(rows, lambda row: row.set)
    drawn = [_figured(name, part, near, draw=True) for name, part in sets.items()]
    return Parts(
        overall=_figured("all", rows, near, draw=True).part,
        average=_average(drawn) if len(drawn) > 1 else None,
        by_set=tuple(each.part for each in drawn),
        by_words=_parts(sorted(rows, key=lambda row: row.words), lambda row: words_name(row.words), near),
        by_language=_named_parts(rows, lambda row: row.language, near),
        by_kind=_named_parts(rows, lambda row: row.kind, near),
        wrong=_wrong(rows, wrong),
    )


def words_name(words: int) -> str:
    """Return the name of the stretch of lengths that a number of words lies in."""
    if words < _WORDS[0]:
        return f"under {_WORDS[0]} words"
    for low, high in pairwise(_WORDS):
        if words < high:
            return f"{low} to {high - 1} words"
    return f"{_WORDS[-1]} words or more"


def _split(rows: Iterable[JudgedRow], key: Callable[[JudgedRow], str]) -> dict[str, list[JudgedRow]]:
    found: dict[str, list[JudgedRow]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def _parts(
    rows: Sequence[JudgedRow], key: Callable[[JudgedRow], str], near: float
) -> tuple[AgreementPart, ...]:
    return tuple(_figured(name, part, near).part for name, part in _split(rows, key).items())


def _named_parts(
    rows: Sequence[JudgedRow], key: Callable[[JudgedRow], str | None], near: float
) -> tuple[AgreementPart, ...]:
    """Return the parts in the order of their names, the rows without one last."""
    if all(key(row) is None for row in rows):
        return ()
    ordered = sorted(rows, key=lambda row: (key(row) is None, key(row) or ""))
    return _parts(ordered, lambda row: key(row) or NOT_SAID, near)


def _figured(name: str, rows: Sequence[JudgedRow], near: float, *, draw: bool = False) -> _Figured:
    judged = [row for row in rows if row.probability is not None]
    labels = [row.label for row in judged]
    chances = [row.probability or 0.0 for row in judged]
    sample = Sample(
        labels, chances, [row.decision for row in judged], [row.group for row in judged], near=near
    )
    resampled = None
    if sample.groups >= 2:
        # A seed for each name: parts that are averaged must not be drawn alike.
        resampled = bootstrap(sample, seed=(SEED, zlib.crc32(name.encode())))
    masses = [row.label_mass for row in judged if row.label_mass is not None]
    part = AgreementPart(
        name=name,
        rows=len(rows),
        judged=len(judged),
        positive=sum(labels),
        groups=sample.groups,
        measures=_measures(sample, labels, resampled),
        best_threshold=None if sample.threshold is None else round(sample.threshold, _THRESHOLD_DECIMALS),
        label_mass=round(float(np.mean(masses)), DECIMALS) if masses else None,
        least_label_mass=round(min(masses), DECIMALS) if masses else None,
        reliability=_bins(labels, chances) if draw else (),
        roc=_roc_points(labels, chances) if draw else (),
    )
    return _Figured(part, resampled)


def _measures(sample: Sample, labels: Sequence[bool], resampled: dict[str, Floats] | None) -> Measures:
    values = sample.values() if labels else {}
    found = {}
    for name in Measures.model_fields:
        value = float(values[name][0]) if name in values else np.nan
        if np.isnan(value):
            found[name] = Estimate(value=None, reason=_why_none(name, labels))
            continue
        ends = None if resampled is None else interval(resampled[name])
        why = None
        if ends is None:
            why = "one group only" if sample.groups < 2 else "most resamples do not have this figure"
        found[name] = Estimate(
            value=_rounded(value),
            low=ends and _rounded(ends.low),
            high=ends and _rounded(ends.high),
            reason=why,
        )
    return Measures(**found)


def _why_none(name: str, labels: Sequence[bool]) -> str:
    if not labels:
        return "no row was judged"
    if name in _ONE_LABEL or (name == "recall_unsupported" and all(labels)):
        return f"all rows have the label {int(labels[0])}"
    return "nothing was decided negative"


def _average(sets: Sequence[_Figured]) -> Measures:
    """Return the plain means of the sets' figures; their intervals take the sets as independent."""
    found = {}
    for name in Measures.model_fields:
        having = [each for each in sets if getattr(each.part.measures, name).value is not None]
        if not having:
            found[name] = Estimate(value=None, reason="no set has this figure")
            continue
        reason = None if len(having) == len(sets) else f"of {len(having)} of {len(sets)} sets"
        value = float(np.mean([getattr(each.part.measures, name).value for each in having]))
        columns = [each.resampled[name] for each in having if each.resampled is not None]
        ends = interval(np.mean(columns, axis=0)) if len(columns) == len(having) else None
        if ends is None:
            reason = reason or "not every set has an interval"
        found[name] = Estimate(
            value=_rounded(value),
            low=ends and _rounded(ends.low),
            high=ends and _rounded(ends.high),
            reason=reason,
        )
    return Measures(**found)


def _bins(labels: Sequence[bool], chances: Sequence[float]) -> tuple[ReliabilityBin, ...]:
    return tuple(
        ReliabilityBin(
            low=each.low,
            high=each.high,
            count=each.rows,
            mean_probability=None if each.mean is None else _rounded(each.mean),
            positive_share=None if each.positive is None else _rounded(each.positive),
        )
        for each in reliability(labels, chances)
    )


def _roc_points(labels: Sequence[bool], chances: Sequence[float]) -> tuple[RocPoint, ...]:
    curve = roc(labels, chances)
    if curve is None:
        return ()
    kept = range(len(curve.thresholds))
    if len(kept) > _MOST_POINTS:
        kept = np.unique(np.linspace(0, len(kept) - 1, _MOST_POINTS).round().astype(int)).tolist()
    return tuple(
        RocPoint(
            threshold=None if place == 0 else round(float(curve.thresholds[place]), _THRESHOLD_DECIMALS),
            false_positive_share=_rounded(float(curve.false_positive[place])),
            true_positive_share=_rounded(float(curve.true_positive[place])),
        )
        for place in kept
    )


def _wrong(rows: Sequence[JudgedRow], most: int) -> tuple[WrongRow, ...]:
    """Return the rows decided wrongly, those whose P is farthest from the label first."""
    wrong = [
        (abs(row.probability - row.label), row)
        for row in rows
        if row.probability is not None and row.decision != row.label
    ]
    wrong.sort(key=lambda pair: -pair[0])
    return tuple(
        WrongRow(
            id=row.id,
            set=row.set,
            label=row.label,
            probability=_rounded(row.probability or 0.0),
            claim=row.claim,
            question=row.question,
            kind=row.kind,
        )
        for _, row in wrong[:most]
    )


def _rounded(value: float) -> float:
    return round(value, DECIMALS)
