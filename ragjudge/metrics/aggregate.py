"""From verdicts to a value. Pure; a verdict that could not be had counts as not holding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

DECIMALS = 6
"""Values are rounded to this many decimals, so that a report reads the same everywhere."""


def fraction(verdicts: Sequence[bool]) -> float:
    """Return the share of verdicts that hold, in [0, 1].

    Args:
        verdicts: At least one.
    """
    return round(sum(verdicts) / len(verdicts), DECIMALS)


def average_precision(relevant: Sequence[bool]) -> float:
    """Return the average precision of a ranking, in [0, 1].

    ``sum over k of precision@k * relevant_k, divided by the number of relevant ranks``, as in
    Manning, Raghavan and Schuetze, Introduction to Information Retrieval (2008), section 8.4. A perfect
    ranking is exactly 1.0, one without any relevant chunk exactly 0.0.

    Args:
        relevant: For each rank, best first, whether its chunk is relevant.
    """
    hits = 0
    total = 0.0
    for rank, is_relevant in enumerate(relevant, start=1):
        if is_relevant:
            hits += 1
            total += hits / rank
    return round(total / hits, DECIMALS) if hits else 0.0


def mean(values: Iterable[float]) -> float | None:
    """Return the mean, or None of no values."""
    known = list(values)
    return round(sum(known) / len(known), DECIMALS) if known else None
