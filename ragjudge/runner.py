"""Runs cells through the stages: plan, replay, judge, score.

All questions of a plan window are known before its first token is decoded, so that the judge can share
every prefix among them. A window is a few hundred calls: rows are finished one after another and memory
stays bounded for any number of rows. Rows with equal contexts are brought together first, so that a
window's edge rarely parts them; where it does, their shared prefix is decoded once per window.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ragjudge import __version__
from ragjudge.cache.caching_judge import CachingJudge, CallsMissingError, replay_miss
from ragjudge.errors import DataError, PromptTooLongError
from ragjudge.judges.base import Judge
from ragjudge.metrics.base import Metric, Plan
from ragjudge.metrics.profiled import plan_in_profile
from ragjudge.metrics.summary import summarise
from ragjudge.records import (
    Call,
    CallFailure,
    JudgeInfo,
    OnEmpty,
    Outcome,
    Report,
    Row,
    Sample,
    Score,
    Usage,
)

WINDOW_CALLS = 256
"""Calls that are planned together; a window ends with the task that reaches this number."""


@dataclass(frozen=True)
class Task:
    """One score to be computed.

    Attributes:
        label: The name of the score within its row.
        metric: What computes it.
        sample: What it is computed for: the row's sample, or one with a context or reference of the
            assertion's own.
        threshold: Smallest passing value, in [0, 1].
        on_empty: What an empty case means; None = what the metric says.
        judge: Key of the judge among the runner's.
    """

    label: str
    metric: Metric
    sample: Sample
    threshold: float
    on_empty: OnEmpty | None = None
    judge: str = ""


@dataclass(frozen=True)
class Cell:
    """A row of the report to be: a sample, the provider of its output, and the scores it needs.

    Attributes:
        sample: The sample, output included.
        tasks: The scores, in the order of the report.
        provider: Name of the provider; None for a recorded output.
        error: Why there is no output; the cell's scores are then skipped and fail.
    """

    sample: Sample
    tasks: tuple[Task, ...]
    provider: str | None = None
    error: str | None = None


class Observer(Protocol):
    """Watches a run, e.g. a progress bar."""

    def set_total(self, total_calls: int) -> None:
        """Expect this many calls; an estimate until everything is planned."""

    def advance(self, *, judged: int = 0, replayed: int = 0, failed: int = 0) -> None:
        """Count settled calls."""

    def row_done(self) -> None:
        """Count a row whose scores are complete."""


@dataclass
class _Pending:
    """A planned task that waits for its answers."""

    cell: int
    task: Task
    plan: Plan
    outcomes: list[Outcome | None]
    left: int = field(init=False)

    def __post_init__(self) -> None:
        self.left = len(self.outcomes)


class Runner:
    """Grades cells.

    Args:
        judges: The judges by the key that tasks name. They are asked one after another, each for all its
            tasks, so that one model is open at a time.
        observer: Told how the run proceeds.
        sinks: Given each row while the run goes on: in input order, as soon as its scores are complete.
        stop: Asked between answers whether to stop there. When it is given, Ctrl-C stops as well, and the
            report is a partial one instead of an exception.
    """

    def __init__(
        self,
        judges: Mapping[str, CachingJudge],
        *,
        observer: Observer | None = None,
        sinks: Sequence[Callable[[Row], None]] = (),
        stop: Callable[[], bool] | None = None,
    ) -> None:
        self._judges = judges
        self._observer = observer
        self._sinks = sinks
        self._stop = stop
        self._rows_given = 0
        self._cells: Sequence[Cell] = ()
        self._scores: list[dict[str, Score]] = []
        self._tasks_planned = 0
        self._calls_planned = 0

    def run(self, cells: Sequence[Cell]) -> Report:
        """Grade all cells.

        Args:
            cells: The cells, in the order of the report.

        Returns:
            The report; a partial one when the run was stopped.

        Raises:
            DataError: A row lacks what a metric needs, or a prompt does not fit the judge's window.
            ReplayMissError: A replay needs calls that are not stored; the error names rows and metrics.
            JudgeUnavailableError: There is no judge to ask.
        """
        started = time.perf_counter()
        for cell in cells:
            if cell.error is None:
                for task in cell.tasks:
                    require_fields(task)
        self._cells = cells
        self._scores = [{} for _ in cells]
        self._tasks_planned = self._calls_planned = self._rows_given = 0
        for number, cell in enumerate(cells):
            if cell.error is not None:
                for task in cell.tasks:
                    self._keep(number, task, _skipped(task, cell.error))
        try:
            self._run_judges()
        except KeyboardInterrupt:
            if self._stop is None:
                raise
        self._give_rows()
        done = [number for number in range(len(cells)) if self._is_complete(number)]
        rows = tuple(_row(cells[number], self._scores[number]) for number in done)
        partial = len(rows) < len(cells)
        return Report(
            ragjudge_version=__version__,
            judges=tuple(
                JudgeInfo(id=judge.id, fingerprint=judge.identity().fingerprint)
                for judge in self._judges.values()
            ),
            usage=self._usage(time.perf_counter() - started),
            partial=partial,
            summary=summarise(rows),
            passed=not partial and all(row.passed is not False for row in rows),
            rows=rows,
        )

    def _run_judges(self) -> None:
        for key, judge in self._judges.items():
            if self._stopping():
                return
            self._run_judge(key, judge)
            if len(self._judges) > 1:
                judge.close()

    def _stopping(self) -> bool:
        return self._stop is not None and self._stop()

    def _run_judge(self, key: str, judge: CachingJudge) -> None:
        missing: list[str] = []
        for window in plan_windows(_tasks_of(key, self._cells), judge):
            if self._stopping():
                return
            calls = [call for pending in window for call in pending.plan.calls]
            owners = [(pending, slot) for pending in window for slot in range(len(pending.plan.calls))]
            self._expect(window, calls)
            for pending in window:
                if not pending.left:
                    self._finish(pending)
            try:
                self._ask(judge, calls, owners)
            except PromptTooLongError as error:
                raise _with_place(error, calls, owners) from error
            except CallsMissingError as error:
                missing += [
                    f"{_place(owners[entry.index][0])} "
                    f"({entry.call.template}@{entry.call.version}): {entry.nearest}"
                    for entry in error.missing
                ]
        if missing:
            raise replay_miss(missing, judge.id)

    def _ask(
        self, judge: CachingJudge, calls: Sequence[Call], owners: Sequence[tuple[_Pending, int]]
    ) -> None:
        judged = judge.calls_judged
        for index, outcome in judge.ask(calls):
            if self._observer is not None:
                failed = isinstance(outcome, CallFailure)
                fresh = judge.calls_judged > judged
                judged = judge.calls_judged
                self._observer.advance(judged=fresh, failed=failed, replayed=not (fresh or failed))
            pending, slot = owners[index]
            if pending.outcomes[slot] is None:
                pending.outcomes[slot] = outcome
                pending.left -= 1
                if not pending.left:
                    self._finish(pending)
            if self._stopping():
                return

    def _expect(self, window: Sequence[_Pending], calls: Sequence[Call]) -> None:
        """Tell the observer how many calls the run will have, if what is left is like what was planned."""
        self._tasks_planned += len(window)
        self._calls_planned += len(calls)
        if self._observer is not None:
            tasks = sum(len(cell.tasks) for cell in self._cells if cell.error is None)
            self._observer.set_total(round(self._calls_planned * tasks / self._tasks_planned))

    def _finish(self, pending: _Pending) -> None:
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
            outcomes = [outcome for outcome in pending.outcomes if outcome is not None]
            score = task.metric.score(task.sample, pending.plan, outcomes)
            passed = None if score.value is None else score.value >= task.threshold
        score = score.model_copy(update={"passed": passed, "threshold": task.threshold})
        self._keep(pending.cell, task, score)

    def _keep(self, number: int, task: Task, score: Score) -> None:
        self._scores[number][task.label] = score
        if self._is_complete(number):
            if self._observer is not None:
                self._observer.row_done()
            self._give_rows()

    def _is_complete(self, number: int) -> bool:
        return len(self._scores[number]) == len(self._cells[number].tasks)

    def _give_rows(self) -> None:
        """Give away the rows that are complete and whose turn it is."""
        while self._sinks and self._rows_given < len(self._cells) and self._is_complete(self._rows_given):
            row = _row(self._cells[self._rows_given], self._scores[self._rows_given])
            self._rows_given += 1
            for sink in self._sinks:
                sink(row)

    def _usage(self, seconds: float) -> Usage:
        judges = list(self._judges.values())
        return Usage(
            calls_judged=sum(judge.calls_judged for judge in judges),
            calls_replayed=sum(judge.calls_replayed for judge in judges),
            calls_failed=sum(judge.calls_failed for judge in judges),
            tokens_decoded=sum(judge.usage.tokens_decoded for judge in judges),
            tokens_minimum=sum(judge.usage.tokens_minimum for judge in judges),
            tokens_generated=sum(judge.usage.tokens_generated for judge in judges),
            tokens_restored=sum(judge.usage.tokens_restored for judge in judges),
            judge_seconds=round(sum(judge.usage.judge_seconds for judge in judges), 3),
            wall_seconds=round(seconds, 3),
        )


def require_fields(task: Task) -> None:
    """Refuse a sample that lacks a field its metric needs.

    Raises:
        DataError: It does.
    """
    lacking = [name for name in task.metric.requires if getattr(task.sample, name) is None]
    if lacking:
        given = [
            name
            for name in ("input", "output", "contexts", "expected")
            if getattr(task.sample, name) is not None
        ]
        raise DataError(
            f"{task.sample.id}, {task.label}: {task.metric.name} needs {' and '.join(lacking)}; "
            f"the row has {', '.join(given) or 'none of the fields'}."
        )


def plan_task(task: Task, judge: Judge) -> Plan:
    """Return what a task asks its judge.

    Raises:
        ConfigError: The judge was not trained for it.
    """
    return plan_in_profile(task.metric.plan(task.sample), judge.profile)


def plan_windows(tasks: Iterable[tuple[int, Task]], judge: Judge) -> Iterator[list[_Pending]]:
    """Plan tasks window by window, those over equal contexts side by side."""
    groups: dict[tuple[str, ...] | None, list[tuple[int, Task]]] = {}
    for cell, task in tasks:
        groups.setdefault(task.sample.contexts, []).append((cell, task))
    window: list[_Pending] = []
    size = 0
    for group in groups.values():
        for cell, task in group:
            plan = plan_task(task, judge)
            window.append(_Pending(cell, task, plan, [None] * len(plan.calls)))
            size += len(plan.calls)
            if size >= WINDOW_CALLS:
                yield window
                window, size = [], 0
    if window:
        yield window


def _tasks_of(key: str, cells: Sequence[Cell]) -> Iterator[tuple[int, Task]]:
    for number, cell in enumerate(cells):
        if cell.error is None:
            for task in cell.tasks:
                if task.judge == key:
                    yield number, task


def _row(cell: Cell, scores: dict[str, Score]) -> Row:
    ordered = {task.label: scores[task.label] for task in cell.tasks}
    passes = [score.passed for score in ordered.values()]
    passed = False if False in passes else True if True in passes else None
    return Row(
        id=cell.sample.id,
        provider=cell.provider,
        input=cell.sample.input,
        output=cell.sample.output,
        contexts=cell.sample.contexts,
        expected=cell.sample.expected,
        passed=passed,
        error=cell.error,
        scores=ordered,
    )


def _skipped(task: Task, error: str) -> Score:
    """A system under test that does not answer has failed, whatever the metric would have said."""
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


def _place(pending: _Pending) -> str:
    return f"{pending.task.sample.id}, {pending.task.label}"


def _with_place(
    error: PromptTooLongError, calls: Sequence[Call], owners: Sequence[tuple[_Pending, int]]
) -> DataError:
    pending, _ = owners[error.index]
    call = calls[error.index]
    return DataError(f"{_place(pending)} ({call.template}@{call.version}): {error.message}", hint=error.hint)
