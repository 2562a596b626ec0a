"""What every form of a judge's check shows: which figures, under which names, of which parts. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ragjudge.records import Agreement, AgreementPart, Estimate, Measures, RocPoint
from ragjudge.reports import numbers


class Figure(NamedTuple):
    """A figure by which a judge is measured.

    Attributes:
        field: Its name in `records.Measures`.
        short: Its name in a narrow table.
        name: Its name.
        meaning: What it says, as one sentence.
    """

    field: str
    short: str
    name: str
    meaning: str

    def of(self, measures: Measures) -> Estimate:
        """Return its value."""
        estimate: Estimate = getattr(measures, self.field)
        return estimate


BALANCED = Figure(
    "balanced_accuracy",
    "bal. acc.",
    "balanced accuracy",
    "Mean of the shares of positive and of negative rows that were decided rightly; 0.5 is a coin.",
)
BEST = Figure(
    "best_balanced_accuracy",
    "at best",
    "balanced accuracy, best threshold",
    "The same at the threshold that is best for these very rows, so too good for others.",
)
AUC = Figure(
    "auc",
    "AUC",
    "AUC",
    "Chance that a positive row gets a higher P than a negative one, whatever the threshold.",
)
KAPPA = Figure(
    "kappa", "kappa", "Cohen's kappa", "Agreement of decisions and labels beyond chance; 0 is chance, 1 full."
)
PRECISION = Figure(
    "precision_unsupported",
    "precision",
    "precision, negative",
    "Share of the rows decided negative (“unsupported”) that are so.",
)
RECALL = Figure(
    "recall_unsupported",
    "recall",
    "recall, negative",
    "Share of the negative (“unsupported”) rows that were found.",
)
CALIBRATION = Figure(
    "calibration_error",
    "cal. error",
    "expected calibration error",
    "Mean distance of P from the share of positive rows, over ten bins; 0 when P means what it says.",
)
BRIER = Figure("brier", "Brier", "Brier score", "Mean squared difference of P and label; 0 is perfect.")
ACCURACY = Figure(
    "accuracy",
    "accuracy",
    "accuracy",
    "Share of right decisions; says little where one label is rare.",
)

FIGURES = (BALANCED, BEST, AUC, KAPPA, PRECISION, RECALL, CALIBRATION, BRIER)
"""Of a set, in order of reading."""

PART_FIGURES = (ACCURACY, BALANCED, AUC, RECALL)
"""Of a part that may be small or of one label."""


class Line(NamedTuple):
    """One line of a table.

    Attributes:
        name: What it is about; text from data, unless `own`.
        measures: Its figures.
        part: The rows behind them; None for a mean of sets.
        own: Whether the name is ours.
    """

    name: str
    measures: Measures
    part: AgreementPart | None = None
    own: bool = False


class Section(NamedTuple):
    """One table.

    Attributes:
        title: Its heading.
        lines: Its lines, at least one.
    """

    title: str
    lines: tuple[Line, ...]


def sets(result: Agreement) -> Section:
    """Return the table of the sets, with their mean and all rows together where there are several."""
    lines = _lines(result.by_set)
    if result.average is not None:
        lines = (*lines, Line("mean of the sets", result.average, own=True))
    if len(result.by_set) != 1:
        lines = (*lines, Line("all rows", result.overall.measures, result.overall, own=True))
    return Section("By set", lines)


def breakdowns(result: Agreement) -> list[Section]:
    """Return the tables by length, language and kind, as far as there is anything to compare."""
    found = [
        Section("By words of context", _lines(result.by_words)),
        Section("By language", _lines(result.by_language)),
        Section("By kind", _lines(result.by_kind)),
    ]
    return [section for section in found if section.lines]


def drawn(result: Agreement) -> list[Line]:
    """Return what plots are drawn of: all rows, and then each set where there are several."""
    several = len(result.by_set) > 1
    lines = [Line("all rows", result.overall.measures, result.overall, own=True)]
    lines += _lines(result.by_set) if several else ()
    return [line for line in lines if line.part and (line.part.reliability or line.part.roc)]


def value(estimate: Estimate) -> str:
    """Return a figure with 3 decimals.

    >>> value(Estimate(value=0.71234)), value(Estimate(value=None, reason="one label only"))
    ('0.712', '–')
    """
    return numbers.score(estimate.value)


def interval(estimate: Estimate, dash: str = "–") -> str:
    """Return the ends of a figure's interval with 2 decimals; empty when there is none.

    >>> interval(Estimate(value=0.7, low=0.651, high=0.749)), interval(Estimate(value=0.7))
    ('0.65–0.75', '')
    """
    if estimate.low is None or estimate.high is None:
        return ""
    return f"{estimate.low:.2f}{dash}{estimate.high:.2f}".replace("-0.00", "0.00")


def reasons(lines: Sequence[Line], figures: Sequence[Figure]) -> list[str]:
    """Return why figures of a table, or their intervals, are missing, each reason once.

    A reason that is the same for several lines names the first of them.
    """
    found: dict[str, str] = {}
    for line in lines:
        for figure in figures:
            reason = figure.of(line.measures).reason
            if reason:
                found.setdefault(reason, line.name)
    return [f"{name}: {reason}" for reason, name in found.items()]


def positive(part: AgreementPart) -> str:
    """Return the share of the judged rows that are positive."""
    return numbers.percent(part.positive / part.judged if part.judged else None)


def operating_point(points: Sequence[RocPoint], threshold: float | None) -> RocPoint | None:
    """Return the point of a curve at which a threshold decides; None when there is no such point."""
    if threshold is None or not points:
        return None
    above = [point for point in points if point.threshold is not None and point.threshold >= threshold]
    if above:
        return min(above, key=lambda point: (point.threshold, -point.true_positive_share))
    return points[0]  # nothing is decided positive


def facts(result: Agreement) -> list[str]:
    """Return in sentences what was asked, and how the intervals were made. Texts from data are in them."""
    said = []
    if result.templates:
        said.append(f"Asked with {', '.join(result.templates)}.")
    if result.threshold is not None:
        said.append(f"Decided positive when P is at least {result.threshold:.3f}.")
    if result.resamples:
        said.append(
            f"Intervals: 95 %, {numbers.count(result.resamples)} resamples of groups, seed {result.seed}."
        )
    return [*said, *result.notes, *_unjudged(result)]


def usage_facts(result: Agreement) -> list[str]:
    """Return the costs of one verdict, where any was judged in this run."""
    usage = result.usage
    found = []
    if usage.seconds_per_verdict is not None:
        found.append(f"{usage.seconds_per_verdict:.2f} s")
    if usage.tokens_per_verdict is not None:
        found.append(f"{usage.tokens_per_verdict:.0f} tokens")
    return [f"{' and '.join(found)} per verdict"] if found else []


def _unjudged(result: Agreement) -> list[str]:
    errors = [row for row in result.rows if row.error is not None]
    missing = result.overall.unjudged
    if not missing:
        return []
    what = f"{numbers.count(missing)} of {numbers.counted(result.overall.rows, 'row')} could not be judged"
    return [f"{what}; the first, {errors[0].id}: {errors[0].error}" if errors else f"{what}."]


def _lines(parts: Sequence[AgreementPart]) -> tuple[Line, ...]:
    return tuple(Line(part.name, part.measures, part) for part in parts)
