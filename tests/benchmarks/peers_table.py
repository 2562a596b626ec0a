"""The table of `peers`: verdicts against labels, with intervals, and seconds."""

from __future__ import annotations

import statistics as plain_statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ragjudge.agreement.statistics import SEED, Sample, bootstrap, interval
from tests.benchmarks.figures import Figure, at_least, plain

if TYPE_CHECKING:
    from ragjudge.agreement.curves import Floats
    from ragjudge.agreement.statistics import Interval

SUPPORTED = 0.5
"""A row is said to be supported when its score is at least this: one rule for all of them."""

LEAD, TIMES = 0.10, 6.0
ALL = "mean of the sets"

OURS = ("ours, calibrated", "ours, raw")
THEIRS = ("Ragas", "DeepEval", "DeepEval, strict")


@dataclass(frozen=True)
class Judged:
    """What one of them said about a row.

    Attributes:
        set: The set of rows.
        row: The row.
        group: Rows of one article or question.
        label: What people say: is the claim fully supported?
        by: Who judged.
        score: In [0, 1]; None = the row is lost.
        rank: What the AUC goes by: the score, or a probability where there is one.
        seconds: What it took; a lower bound when it was stopped.
        error: Why it is lost.
    """

    set: str
    row: str
    group: str
    label: bool
    by: str
    score: float | None
    rank: float | None
    seconds: float
    error: str | None


@dataclass(frozen=True)
class Agreement:
    """A figure with its 95 % interval; None where it does not exist, as with one label only."""

    value: float | None
    interval: Interval | None = None


def figures(judged: Sequence[Judged]) -> Iterator[Figure]:
    """Yield the lines of the table."""
    by = list(dict.fromkeys(one.by for one in judged))
    for name in by:
        rows = _of(judged, name)
        found = agreement(rows, "balanced_accuracy")
        if found.value is not None:
            note = (
                f"{ALL}; score ≥ {SUPPORTED} = supported; {_between(found)}; {_lost(rows) or 'no row lost'}"
            )
            yield plain(f"balanced accuracy: {name}", found.value, "", note)
    ours = next((name for name in OURS if name in by), None)
    for name in THEIRS if ours else ():
        found = lead(_of(judged, ours or ""), _of(judged, name))
        if found.value is not None:
            note = f"{_between(found)}, the same rows drawn for both; rows that both have scored"
            yield at_least(f"balanced accuracy: {ours} − {name}", found.value, LEAD, "", note)
    for name in ("Ragas", "DeepEval"):
        our, their = _of(judged, "ours, raw"), _of(judged, name)
        if our and their:
            slow, fast = _mean_seconds(their), _mean_seconds(our)
            note = f"{slow:.1f} s and {fast:.2f} s a row, model loaded, nothing kept from earlier rows"
            yield at_least(f"seconds a row: {name} ÷ ours, cold", slow / fast, TIMES, "", note)


def lines(judged: Sequence[Judged]) -> Iterator[tuple[str, ...]]:
    """Yield a row of the table for each set and each who judged, and for all sets together."""
    sets = list(dict.fromkeys(one.set for one in judged))
    for name in sets:
        for by in dict.fromkeys(one.by for one in judged):
            yield _line(name, by, [one for one in _of(judged, by) if one.set == name])
    if len(sets) > 1:
        for by in dict.fromkeys(one.by for one in judged):
            yield _line(ALL, by, _of(judged, by))


def _line(name: str, by: str, rows: Sequence[Judged]) -> tuple[str, ...]:
    scored = [one for one in rows if one.score is not None]
    accuracy, auc = agreement(rows, "balanced_accuracy"), agreement(rows, "auc")
    best = agreement(rows, "best_balanced_accuracy")
    wrong = agreement(rows, "balanced_accuracy", lost_are_wrong=True)
    seconds = [one.seconds for one in rows]
    said = sum(_supported(one) for one in scored)
    return (
        *(name, by, str(len(rows)), _lost(rows) or "0"),
        *(_value(accuracy), _between(accuracy), _value(wrong), _value(best)),
        *(_value(auc), _between(auc)),
        f"{said} of {len(scored)}",
        f"{sum(one.label for one in rows)} of {len(rows)}",
        f"{_mean_seconds(rows):.1f} (median {plain_statistics.median(seconds):.1f})",
    )


def agreement(rows: Sequence[Judged], figure: str, *, lost_are_wrong: bool = False) -> Agreement:
    """Return a figure, averaged over the sets, with a cluster bootstrap over the groups of each set.

    Args:
        rows: What one of them said.
        figure: See `statistics.Sample.measures`.
        lost_are_wrong: Count a lost row as a wrong decision; else it is left out.
    """
    values, replicates = [], []
    for sample, seed in _samples(rows, lost_are_wrong):
        values.append(float(sample.values()[figure][0]))
        replicates.append(bootstrap(sample, seed=seed)[figure])
    return _mean(values, replicates)


def lead(ours: Sequence[Judged], theirs: Sequence[Judged]) -> Agreement:
    """Return by how much our balanced accuracy is larger, over the rows that both have scored."""
    both = {(one.set, one.row) for one in ours if one.score is not None}
    both &= {(one.set, one.row) for one in theirs if one.score is not None}
    figure = "balanced_accuracy"
    our_samples, their_samples = (
        _samples([one for one in rows if (one.set, one.row) in both]) for rows in (ours, theirs)
    )
    values, replicates = [], []
    for (our, seed), (their, _) in zip(our_samples, their_samples, strict=True):
        values.append(float(our.values()[figure][0] - their.values()[figure][0]))
        # Same groups and same seed: the same rows are drawn for both.
        replicates.append(bootstrap(our, seed=seed)[figure] - bootstrap(their, seed=seed)[figure])
    return _mean(values, replicates)


def _mean(values: Sequence[float], replicates: Sequence[Floats]) -> Agreement:
    if not values or not all(np.isfinite(values)):
        return Agreement(None)
    return Agreement(float(np.mean(values)), interval(np.mean(replicates, axis=0)))


def _samples(rows: Sequence[Judged], lost_are_wrong: bool = False) -> list[tuple[Sample, tuple[int, int]]]:
    """Return a sample for each set, with the seed of its resamples; none at all when a set has lost all."""
    found = []
    for number, name in enumerate(dict.fromkeys(one.set for one in rows)):
        kept = [one for one in rows if one.set == name and (lost_are_wrong or one.score is not None)]
        if not kept:
            return []
        sample = Sample(
            [one.label for one in kept],
            [0.5 if one.rank is None else one.rank for one in kept],
            [_supported(one) for one in kept],
            [one.group for one in kept],
        )
        found.append((sample, (SEED, number)))
    return found


def _supported(one: Judged) -> bool:
    return not one.label if one.score is None else one.score >= SUPPORTED


def _of(judged: Sequence[Judged], by: str) -> list[Judged]:
    return [one for one in judged if one.by == by]


def _mean_seconds(rows: Sequence[Judged]) -> float:
    return plain_statistics.fmean(one.seconds for one in rows)


def _lost(rows: Sequence[Judged]) -> str:
    kinds = Counter(_kind(one.error) for one in rows if one.error)
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    return f"{sum(kinds.values())} lost ({told})" if kinds else ""


def _kind(error: str) -> str:
    if error in ("NaN", "time-out"):
        return error
    return "exception"


def _value(found: Agreement) -> str:
    return "—" if found.value is None else f"{found.value:.2f}"


def _between(found: Agreement) -> str:
    return (
        "no interval" if found.interval is None else f"{found.interval.low:.2f} to {found.interval.high:.2f}"
    )
