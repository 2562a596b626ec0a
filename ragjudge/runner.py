"""Runs cells through the stages: prepare, plan, replay, judge, score.

Both stages of calls go window by window (see `planning`): rows are finished one after another. A prefix that
several windows share is decoded once in each.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ragjudge import __version__
from ragjudge.cache.caching_judge import CallsMissingError, replay_miss
from ragjudge.cache.protocol import CountedJudge
from ragjudge.errors import DataError, PromptTooLongError, RagjudgeError, ReplayMissError
from ragjudge.metrics.summary import summarise
from ragjudge.planning import (
    WINDOW_CALLS,
    Cell,
    Pending,
    Task,
    Workload,
    gradable,
    plan_windows,
    preparation_windows,
    tasks_of,
)
from ragjudge.records import (
    Call,
    CallFailure,
    Report,
    Row,
    Score,
    Usage,
    have_passed,
)
from ragjudge.results import row_of, score_of, skipped

__all__ = ["WINDOW_CALLS", "Cell", "Observer", "Runner", "Task"]


class Observer(Protocol):
    """Watches a run, e.g. a progress bar."""

    def set_total(self, total_calls: int) -> None:
        """Expect this many calls; an estimate until everything is planned."""

    def advance(self, *, judged: int = 0, replayed: int = 0, failed: int = 0) -> None:
        """Count settled calls."""

    def row_done(self) -> None:
        """Count a row whose scores are complete."""


@dataclass(frozen=True)
class _Pass:
    """One time through all tasks of a judge.

    Attributes:
        key: The key that the tasks name.
        judge: Who is asked about them.
        preparer: Who is asked what must be known before that.
        settled: Told of each task when its last outcome is there.
        told: Whether the observer hears of the calls.
    """

    key: str
    judge: CountedJudge
    preparer: CountedJudge
    settled: Callable[[Pending], None] = lambda pending: None
    told: bool = True


class Runner:
    """Grades cells.

    Args:
        judges: The judges by the key that tasks name. They are asked one after another, each for all its
            tasks, so that one model is open at a time; those of a panel likewise, before it puts together
            what they answered. What must be known before a task can be planned is asked of the first judge
            of a panel alone: all its judges judge the same pieces.
        observer: Told how the run proceeds.
        sinks: Given each row while the run goes on: in input order, as soon as its scores are complete.
        stop: Asked between answers whether to stop there. When it is given, Ctrl-C stops as well, and so
            does any error, such as a judge that is lost; the report is then a partial one instead of an
            exception.

    Attributes:
        graded: How many rows of the last run are complete.
        failure: What ended the last run early, when it was an error and there are rows to report.
    """

    def __init__(
        self,
        judges: Mapping[str, CountedJudge],
        *,
        observer: Observer | None = None,
        sinks: Sequence[Callable[[Row], None]] = (),
        stop: Callable[[], bool] | None = None,
    ) -> None:
        self._judges = judges
        self._observer = observer
        self._sinks = sinks
        self._stop = stop
        self.graded = 0
        self.failure: RagjudgeError | None = None
        self._rows_given = 0
        self._cells: Sequence[Cell] = ()
        self._scores: list[dict[str, Score]] = []
        self._workload = Workload(0)

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
            ConfigError: The judge was not trained for what is asked.

        With `stop`, an error after which there is something to report becomes the `failure`.
        """
        started = time.perf_counter()
        cells = list(gradable(cells))
        self._cells = cells
        self._scores = [{} for _ in cells]
        self._workload = Workload(
            sum(
                max(1, len(self._judges[task.judge].seats))
                for cell in cells
                for task in cell.tasks
                if task.error is None
            )
        )
        self._rows_given = 0
        for number, cell in enumerate(cells):
            for task in cell.tasks:
                if task.error is not None:
                    self._keep(number, task, skipped(task, task.error))
        self.failure = None
        try:
            self._run_judges()
        except KeyboardInterrupt:
            if self._stop is None:
                raise
        except ReplayMissError:
            raise  # a replay has produced and judged nothing
        except RagjudgeError as error:
            if self._stop is None or not self._has_results():
                raise
            self.failure = error
        self._give_rows()
        done = [number for number, cell in enumerate(cells) if cell.produced or self._is_complete(number)]
        rows = tuple(row_of(cells[number], self._scores[number]) for number in done)
        self.graded = sum(map(self._is_complete, range(len(cells))))
        partial = self.graded < len(cells)
        return Report(
            ragjudge_version=__version__,
            judges=tuple(dict.fromkeys(judge.info() for judge in self._members())),
            usage=self._usage(time.perf_counter() - started),
            partial=partial,
            summary=summarise(rows),
            passed=not partial and have_passed(rows),
            rows=rows,
            calibrations={k: v for judge in self._judges.values() for k, v in judge.calibrations().items()},
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

    def _members(self) -> list[CountedJudge]:
        """Return all judges, those of panels included, each once."""
        members = [member for judge in self._judges.values() for member in judge.members]
        return list({id(member): member for member in members}.values())

    def _run_judge(self, key: str, judge: CountedJudge) -> None:
        first = judge.seats[0] if judge.seats else judge
        for seat in judge.seats:
            self._go_through(_Pass(key, seat, first))
            seat.close()
            if self._stopping():
                return
        self._go_through(_Pass(key, judge, first, self._finish, told=not judge.seats))

    def _go_through(self, now: _Pass) -> None:
        """Plan and ask all tasks of a judge, window by window."""
        missing: list[str] = []
        for window in plan_windows(self._prepared(now, missing), now.judge):
            if self._stopping():
                return
            if now.told:
                self._workload.planned(window)
                self._expect()
            for pending in window:
                if not pending.left:
                    now.settled(pending)
            missing += self._ask(now.judge, window, now.settled, told=now.told)
        if missing:
            raise replay_miss(missing, now.judge.id)

    def _prepared(self, now: _Pass, missing: list[str]) -> Iterator[Pending]:
        """Yield a judge's tasks when what they must know first is known.

        Args:
            now: What is gone through.
            missing: Gets a line for each call that a replay lacks; its task is not yielded.
        """
        asked = now.told and now.judge is now.preparer
        for window in preparation_windows(tasks_of(now.key, self._cells), now.preparer):
            if now.told:
                self._workload.prepared(window, asked=asked)
            if any(pending.calls for pending in window):
                if now.told:
                    self._expect()
                missing += self._ask(now.preparer, window, told=asked)
                if self._stopping():
                    return
            yield from (pending for pending in window if not pending.left)

    def _ask(
        self,
        judge: CountedJudge,
        window: Sequence[Pending],
        settled: Callable[[Pending], None] = lambda pending: None,
        *,
        told: bool,
    ) -> list[str]:
        """Ask all calls of a window together.

        Args:
            judge: The judge.
            window: The tasks; they get the outcomes.
            settled: Told of each task when its last outcome is there.
            told: Whether the observer hears of these calls: it hears of each once.

        Returns:
            A line for each call that a replay lacks.
        """
        owners = [(pending, slot) for pending in window for slot in range(len(pending.calls))]
        calls = [pending.calls[slot] for pending, slot in owners]
        judged = judge.calls_judged
        try:
            for index, outcome in judge.ask(calls):
                if told and self._observer is not None:
                    failed = isinstance(outcome, CallFailure)
                    fresh = judge.calls_judged > judged
                    judged = judge.calls_judged
                    self._observer.advance(judged=fresh, failed=failed, replayed=not (fresh or failed))
                pending, slot = owners[index]
                if pending.settle(slot, outcome):
                    settled(pending)
                if self._stopping():
                    break
        except PromptTooLongError as error:
            raise _with_place(error, owners[error.index][0], calls[error.index]) from error
        except CallsMissingError as error:
            return [
                f"{owners[entry.index][0].place} ({entry.call.template}@{entry.call.version}): "
                f"{entry.nearest}"
                for entry in error.missing
            ]
        return []

    def _expect(self) -> None:
        """Tell the observer how many calls the run will have."""
        if self._observer is not None:
            self._observer.set_total(self._workload.total)

    def _finish(self, pending: Pending) -> None:
        self._keep(pending.cell, pending.task, score_of(pending))

    def _keep(self, number: int, task: Task, score: Score) -> None:
        self._scores[number][task.label] = score
        if self._is_complete(number):
            if self._observer is not None:
                self._observer.row_done()
            self._give_rows()

    def _is_complete(self, number: int) -> bool:
        return len(self._scores[number]) == len(self._cells[number].tasks)

    def _has_results(self) -> bool:
        """Whether this run has come to anything that the last one's report would lack."""
        return any(
            cell.produced or (self._is_complete(number) and any(task.error is None for task in cell.tasks))
            for number, cell in enumerate(self._cells)
        )

    def _give_rows(self) -> None:
        """Give away the rows that are complete and whose turn it is."""
        while self._sinks and self._rows_given < len(self._cells) and self._is_complete(self._rows_given):
            row = row_of(self._cells[self._rows_given], self._scores[self._rows_given])
            self._rows_given += 1
            for sink in self._sinks:
                sink(row)

    def _usage(self, seconds: float) -> Usage:
        judges = self._members()
        # One model may stand behind several of them, each with a calibration of its own.
        used = list({id(judge.usage): judge.usage for judge in judges}.values())
        return Usage(
            calls_judged=sum(judge.calls_judged for judge in judges),
            calls_replayed=sum(judge.calls_replayed for judge in judges),
            calls_failed=sum(judge.calls_failed for judge in judges),
            tokens_decoded=sum(usage.tokens_decoded for usage in used),
            tokens_minimum=sum(usage.tokens_minimum for usage in used),
            tokens_generated=sum(usage.tokens_generated for usage in used),
            tokens_restored=sum(usage.tokens_restored for usage in used),
            judge_seconds=round(sum(usage.judge_seconds for usage in used), 3),
            wall_seconds=round(seconds, 3),
        )


def _with_place(error: PromptTooLongError, pending: Pending, call: Call) -> DataError:
    return DataError(f"{pending.place} ({call.template}@{call.version}): {error.message}", hint=error.hint)
