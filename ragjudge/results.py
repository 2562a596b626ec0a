"""From the answers to a task to its score, and from the scores of a cell to its row. Asks nobody anything."""

from __future__ import annotations

from collections.abc import Mapping

from ragjudge.metrics.base import TwoModeMetric
from ragjudge.metrics.checked import scored_by
from ragjudge.metrics.uncertainty import is_undecided
from ragjudge.planning import Cell, Pending, Task
from ragjudge.records import Row, Score


def score_of(pending: Pending) -> Score:
    """Return the score of a task that waits for nothing any more, held against its threshold."""
    task = pending.task
    if pending.plan.empty is not None:
        score = Score(
            metric=task.metric.name,
            by=task.metric.by,
            value=None,
            status="not_applicable",
            mode=task.metric.mode,
            reason=pending.plan.empty.reason,
        )
        fails = (task.on_empty or pending.plan.empty.default) == "fail"
        passed = False if fails else None
    else:
        score = scored_by(task.metric, task.sample, pending.plan, pending.answers)
        passed = None if score.value is None else score.value >= task.threshold
    told = {
        "metric": task.metric.name,
        "by": task.metric.by,
        "mode": task.metric.mode,
        "passed": passed,
        "undecided": is_undecided(score.value, score.interval, task.threshold),
        "threshold": task.threshold,
    }
    return score.model_copy(update=told)


def skipped(task: Task, error: str) -> Score:
    """Return the score of a task without an output: whatever the metric would have said, it has failed."""
    return Score(
        metric=task.metric.name,
        by=task.metric.by,
        value=None,
        status="skipped",
        passed=False,
        threshold=task.threshold,
        mode=task.metric.mode,
        reason=error,
    )


def row_of(cell: Cell, scores: Mapping[str, Score]) -> Row:
    """Return the row of a cell; one that lacks scores, since the run ended early, has not passed.

    Args:
        cell: The cell.
        scores: Its scores by label.
    """
    ordered = {task.label: scores[task.label] for task in cell.tasks if task.label in scores}
    passes = [score.passed for score in ordered.values()]
    is_complete = len(ordered) == len(cell.tasks)
    return Row(
        id=cell.sample.id,
        provider=cell.provider,
        input=cell.sample.input,
        output=cell.sample.output,
        contexts=cell.sample.contexts,
        expected=cell.sample.expected,
        language=_language(cell),
        metadata=cell.sample.metadata,
        passed=False if False in passes else True if True in passes and is_complete else None,
        error=cell.error,
        scores=ordered,
    )


def _language(cell: Cell) -> str | None:
    """Return the language that a row must name to be cut in the same way again; None = none need be named.

    Metrics of one row that were told different ones leave it open: no row could name them all.
    """
    if cell.sample.language is not None:
        return cell.sample.language
    told = {task.metric.told_language for task in cell.tasks if isinstance(task.metric, TwoModeMetric)}
    return told.pop() if len(told) == 1 else None
