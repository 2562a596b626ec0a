"""One metric over all rows of a run. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from ragjudge.metrics.aggregate import DECIMALS, mean
from ragjudge.records import MetricSummary, Row, Score


def summarise(rows: Iterable[Row]) -> dict[str, MetricSummary]:
    """Sum up each label over all rows, in the order in which the labels first appear."""
    by_label: dict[str, list[Score]] = {}
    for row in rows:
        for label, score in row.scores.items():
            by_label.setdefault(label, []).append(score)
    return {
        label: MetricSummary(
            mean=mean(score.value for score in scores if score.value is not None),
            scored=sum(score.value is not None for score in scores),
            total=len(scores),
            passed=sum(score.passed is True for score in scores),
            failed=sum(score.passed is False for score in scores),
            errors=sum(score.status == "judge_error" for score in scores),
            disagreement=_disagreement(scores),
        )
        for label, scores in by_label.items()
    }


def _disagreement(scores: Iterable[Score]) -> float | None:
    """Return the share of the items of a panel on which its judges differ; None without such items."""
    found = [item.disagreement for score in scores for item in score.items if item.disagreement is not None]
    return round(sum(value > 0 for value in found) / len(found), DECIMALS) if found else None
