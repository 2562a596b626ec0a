"""What both the terminal and the plain summary say about a whole report."""

from __future__ import annotations

from typing import NamedTuple

from ragjudge.records import Report, Score, Usage
from ragjudge.reports import numbers

UNDECIDED = "undecided"
"""Said of a score whose interval leaves open whether it passes, though its value does pass or fail."""


class Total(NamedTuple):
    """The figures of one metric, ready to be shown.

    Attributes:
        name: Label of the score with its variant.
        mean: Mean of the scored values.
        passed: Rows that passed.
        failed: Rows that failed.
        scored: Scored rows of all rows.
        errors: Rows without a value because of the judge.
        coverage: Share of the rows that have a value or are not applicable.
        differ: Share of the pieces on which the judges of a panel do not all say the same.
    """

    name: str
    mean: str
    passed: str
    failed: str
    scored: str
    errors: str
    coverage: str
    differ: str


HEADINGS = Total("", "mean", "passed", "failed", "scored/total", "errors", "coverage", "judges differ")


def display_name(label: str, score: Score) -> str:
    """Return the label of a score with the variant of its metric, e.g. ``context_precision[chunks]``."""
    name = label if score.by is None else f"{label}[{score.by}]"
    return f"{name} (holistic)" if score.mode == "holistic" else name


def totals(report: Report) -> list[Total]:
    """Return the figures of every metric, in the order of the report."""
    result = []
    for label, summary in report.summary.items():
        scores = [row.scores[label] for row in report.rows if label in row.scores]
        graded = sum(score.status in ("scored", "not_applicable") for score in scores)
        result.append(
            Total(
                name=_common_name(label, scores),
                mean=numbers.score(summary.mean),
                passed=numbers.count(summary.passed),
                failed=numbers.count(summary.failed),
                scored=numbers.ratio(summary.scored, summary.total),
                errors=numbers.count(summary.errors),
                coverage=numbers.percent(graded / len(scores) if scores else None),
                differ=numbers.percent(summary.disagreement),
            )
        )
    return result


def verdict(report: Report) -> tuple[str, str]:
    """Return ``PASSED``, ``FAILED`` or ``PARTIAL``, and the counts of rows and scores behind it."""
    rows = [row.passed for row in report.rows]
    scores = [score for row in report.rows for score in row.scores.values()]
    row_counts = [
        (sum(passed is True for passed in rows), "passed"),
        (sum(passed is False for passed in rows), "failed"),
        (sum(passed is None for passed in rows), "open"),
    ]
    score_counts = [
        (sum(score.passed is True for score in scores), "passed"),
        (sum(score.passed is False for score in scores), "failed"),
        (sum(_has_no_threshold(score) for score in scores), "without a threshold"),
        (
            sum(score.status == "not_applicable" and score.passed is None for score in scores),
            "not applicable",
        ),
        (sum(score.status == "judge_error" and score.passed is None for score in scores), "in error"),
        (sum(score.status == "skipped" and score.passed is None for score in scores), "skipped"),
    ]
    word = "PASSED" if report.passed else "FAILED"
    if report.partial:  # rows are missing, so neither word would be true
        word = "PARTIAL"
    counts = f"rows: {_listing(row_counts)}; scores: {_listing(score_counts)}"
    undecided = sum(score.undecided for score in scores)  # of those that passed or failed
    return word, f"{counts}; {numbers.count(undecided)} {UNDECIDED}" if undecided else counts


def usage_line(usage: Usage) -> str:
    """Return what a run cost, as one line."""
    calls = [f"{numbers.counted(usage.calls_judged, 'call')} judged"]
    calls.append(f"{numbers.count(usage.calls_replayed)} replayed")
    calls.append(f"{numbers.count(usage.calls_failed)} failed")
    minimum = numbers.count(usage.tokens_minimum)
    tokens = [f"{numbers.counted(usage.tokens_decoded, 'token')} decoded (minimum {minimum})"]
    if usage.tokens_generated:
        tokens.append(f"{numbers.count(usage.tokens_generated)} generated")
    if usage.tokens_restored:
        tokens.append(f"{numbers.count(usage.tokens_restored)} restored")
    times = [
        f"judge {numbers.duration(usage.judge_seconds)}",
        f"total {numbers.duration(usage.wall_seconds)}",
    ]
    if usage.tokens_decoded and usage.judge_seconds > 0.0:
        times.append(f"{numbers.rate(usage.tokens_decoded, usage.judge_seconds)} tokens/s")
    return "; ".join(", ".join(part) for part in (calls, tokens, times))


def _has_no_threshold(score: Score) -> bool:
    return score.status == "scored" and score.passed is None


def _common_name(label: str, scores: list[Score]) -> str:
    """Return the name that all rows show; where a variant differs from row to row, all variants."""
    names = dict.fromkeys(display_name(label, score) for score in scores)
    if len(names) == 1:
        return next(iter(names))
    variants = dict.fromkeys(score.by for score in scores if score.by is not None)
    return f"{label}[{'|'.join(sorted(variants))}]" if variants else label


def _listing(counts: list[tuple[int, str]]) -> str:
    shown = [f"{numbers.count(number)} {what}" for number, what in counts if number]
    return ", ".join(shown) if shown else "none"
