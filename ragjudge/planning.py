"""What a run is made of, and which of its calls are asked together. Asks nobody anything.

A run has two stages. What metrics must know before they can plan (`claims: judge`) is asked first, then their
checks. Each stage goes in windows of a few hundred calls, those of tasks over equal contexts side by side:
all calls of a window are known before its first token is decoded, and memory stays bounded for any number of
rows. A task that has nothing to prepare waits for nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from ragjudge.errors import DataError
from ragjudge.judges.base import Judge
from ragjudge.metrics.base import Metric, Plan
from ragjudge.metrics.checked import planned_by, prepared_by
from ragjudge.metrics.profiled import plan_in_profile
from ragjudge.records import FIELDS, Call, OnEmpty, Outcome, Sample

WINDOW_CALLS = 256
"""Calls that are planned together; a window ends with the task that reaches this number."""

_WINDOW_TASKS = 256
"""Most tasks of a preparation window, which also holds those that have nothing to prepare."""


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
        error: Why it cannot be graded, see `gradable`; its score is then skipped, and fails.
    """

    label: str
    metric: Metric
    sample: Sample
    threshold: float
    on_empty: OnEmpty | None = None
    judge: str = ""
    error: str | None = None


class Origin(Protocol):
    """Where a sample comes from, for messages about what it lacks."""

    @property
    def where(self) -> str:
        """Its place."""

    def without(self, fields: Sequence[str]) -> str:
        """Say what was given there in the place of fields, and how they could have been given."""


@dataclass(frozen=True)
class Cell:
    """A row of the report to be: a sample, the provider of its output, and the scores it needs.

    Attributes:
        sample: The sample, output included.
        tasks: The scores, in the order of the report.
        provider: Name of the provider; None for a recorded output.
        error: Why there is no output, or none to be graded; the cell's scores are then skipped and fail.
        produced: Whether a system under test gave the output in this run, so that nobody else has it.
        origin: Where the sample comes from; None when nobody can say more than its id.
    """

    sample: Sample
    tasks: tuple[Task, ...]
    provider: str | None = None
    error: str | None = None
    produced: bool = False
    origin: Origin | None = None

    def filled(self, fill: Callable[[Sample], Sample], *, provider: str | None, produced: bool) -> Cell:
        """Return the cell with what a provider gave.

        Args:
            fill: Puts it into a sample.
            provider: See the attributes, as for `produced`.
            produced: See there.
        """
        sample = fill(self.sample)
        tasks = [
            replace(task, sample=sample if task.sample is self.sample else fill(task.sample))
            for task in self.tasks
        ]
        return replace(
            self, sample=sample, tasks=tuple(tasks), provider=provider, error=None, produced=produced
        )


@dataclass
class Pending:
    """A task whose calls wait for their answers.

    Attributes:
        cell: Index of its cell.
        task: The task.
        calls: What is asked for it in this stage.
        plan: Its plan in this stage.
        outcomes: One for each call, None until it is there.
        left: How many are not there yet.
    """

    cell: int
    task: Task
    calls: tuple[Call, ...]
    plan: Plan = field(default_factory=Plan)
    outcomes: list[Outcome | None] = field(init=False)
    left: int = field(init=False)

    def __post_init__(self) -> None:
        self.outcomes = [None] * len(self.calls)
        self.left = len(self.calls)

    @property
    def place(self) -> str:
        """The task as messages name it."""
        return f"{self.task.sample.id}, {self.task.label}"

    @property
    def answers(self) -> list[Outcome]:
        """The outcomes that are there."""
        return [outcome for outcome in self.outcomes if outcome is not None]

    def settle(self, slot: int, outcome: Outcome) -> bool:
        """Take an outcome; say whether it was the last one that was missing."""
        if self.outcomes[slot] is not None:
            return False
        self.outcomes[slot] = outcome
        self.left -= 1
        return not self.left


@dataclass
class Workload:
    """How many calls a run will have, if what is left of it is like what was planned.

    Attributes:
        tasks: Tasks of the run, each as often as there are judges that answer it.
    """

    tasks: int
    _prepared: int = 0
    _planned: int = 0
    _preparing_calls: int = 0
    _checking_calls: int = 0

    def prepared(self, window: Sequence[Pending], *, asked: bool = True) -> None:
        """Count tasks with the calls that prepare them, unless these were asked before."""
        self._prepared += len(window)
        if asked:
            self._preparing_calls += sum(len(pending.calls) for pending in window)

    def planned(self, window: Sequence[Pending]) -> None:
        """Count tasks with the calls of their plans."""
        self._planned += len(window)
        self._checking_calls += sum(len(pending.calls) for pending in window)

    @property
    def total(self) -> int:
        """The calls of the whole run; exact when all of it is planned."""
        preparing = self._preparing_calls * self.tasks / max(1, self._prepared)
        # Before anything is planned: a sentence that is asked about holds a claim at least.
        checking = self._checking_calls * self.tasks / self._planned if self._planned else preparing
        return round(preparing + checking)


def tasks_of(key: str, cells: Sequence[Cell]) -> Iterator[tuple[int, Task]]:
    """Yield the tasks of one judge that can be graded, with the indexes of their cells."""
    for number, cell in enumerate(cells):
        for task in cell.tasks:
            if task.judge == key and task.error is None:
                yield number, task


PRODUCED = frozenset({"output", "contexts"})
"""The fields of a sample that a system under test gives."""


def check_questions(cells: Iterable[Cell], *, recorded: bool) -> None:
    """Make sure, before a system under test is asked anything, that rows have what it will not give.

    Args:
        cells: The cells, before it has answered.
        recorded: Whether the rows' own outputs are graded as well.

    Raises:
        DataError: A row lacks a field that one of its metrics needs.
    """
    for cell in cells:
        is_own = recorded and cell.error is None and cell.provider is None
        for task in cell.tasks:
            lacking = [name for name in _lacking(task) if is_own or name not in PRODUCED]
            if lacking:
                raise _lacks(cell, task, lacking)


def gradable(cells: Iterable[Cell]) -> Iterator[Cell]:
    """Yield cells whose tasks have what they need, or an error.

    A provider that leaves out what it should have produced has failed for the metrics that need it, in its
    row alone: what it gave otherwise is not thrown away.

    Raises:
        DataError: A row of the data set lacks a field that one of its metrics needs.
    """
    for cell in cells:
        tasks = tuple(_gradable(cell, task) for task in cell.tasks)
        changed = any(new is not old for new, old in zip(tasks, cell.tasks, strict=True))
        yield replace(cell, tasks=tasks) if changed else cell


def _gradable(cell: Cell, task: Task) -> Task:
    if cell.error is not None:
        return replace(task, error=cell.error)
    lacking = _lacking(task)
    if not lacking:
        return task
    if cell.provider is None or not PRODUCED.issuperset(lacking):
        raise _lacks(cell, task, lacking)
    return replace(task, error=f"{cell.provider} gave no {' and no '.join(lacking)}, which it needs.")


def _lacking(task: Task) -> list[str]:
    return [name for name in task.metric.requires if getattr(task.sample, name) is None]


def _lacks(cell: Cell, task: Task, lacking: Sequence[str]) -> DataError:
    own = f" ({task.label})" if task.label != task.metric.name else ""
    needs = f"{task.metric.name}{own} needs {' and '.join(lacking)}"
    if cell.origin is not None:
        return DataError(f"{cell.origin.where}: {needs}; {cell.origin.without(lacking)}")
    given = [name for name in FIELDS if getattr(task.sample, name) is not None]
    return DataError(f"{task.sample.id}: {needs}; given: {', '.join(given) or 'nothing'}.")


def preparation_of(task: Task, judge: Judge) -> Plan:
    """Return what a task asks its judge before it can be planned, as a plan of those calls; most ask nothing.

    Raises:
        ConfigError: The judge was not trained for it.
    """
    return plan_in_profile(prepared_by(task.metric, task.sample), judge.profile)


def plan_task(task: Task, judge: Judge, prepared: Sequence[Outcome] = ()) -> Plan:
    """Return what a task asks its judge.

    Args:
        task: The task.
        judge: The judge.
        prepared: One outcome for each call of `preparation_of`.

    Raises:
        ConfigError: The judge was not trained for it.
    """
    return plan_in_profile(planned_by(task.metric, task.sample, prepared), judge.profile)


def preparation_windows(tasks: Iterable[tuple[int, Task]], judge: Judge) -> Iterator[list[Pending]]:
    """Yield tasks with what prepares them, those over equal contexts side by side.

    Tasks between others that have something to prepare stay in their place.
    """
    window: list[Pending] = []
    size = 0
    for cell, task in _by_contexts(tasks):
        plan = preparation_of(task, judge)
        pending = Pending(cell, task, plan.calls, plan)
        window.append(pending)
        size += len(pending.calls)
        if not size or size >= WINDOW_CALLS or len(window) >= _WINDOW_TASKS:
            yield window
            window, size = [], 0
    if window:
        yield window


def plan_windows(prepared: Iterable[Pending], judge: Judge) -> Iterator[list[Pending]]:
    """Yield tasks with their plans, in the order in which they come prepared."""
    window: list[Pending] = []
    size = 0
    for ready in prepared:
        plan = ready.plan if ready.plan.broken else plan_task(ready.task, judge, ready.answers)
        window.append(Pending(ready.cell, ready.task, plan.calls, plan))
        size += len(plan.calls)
        if size >= WINDOW_CALLS:
            yield window
            window, size = [], 0
    if window:
        yield window


def _by_contexts(tasks: Iterable[tuple[int, Task]]) -> Iterator[tuple[int, Task]]:
    """Yield tasks with those over equal contexts side by side, so that a window's edge rarely parts them."""
    groups: dict[tuple[str, ...] | None, list[tuple[int, Task]]] = {}
    for cell, task in tasks:
        groups.setdefault(task.sample.contexts, []).append((cell, task))
    for group in groups.values():
        yield from group
