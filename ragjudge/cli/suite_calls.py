"""The judge calls of a suite, planned and not asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from ragjudge.errors import UnknownNameError

if TYPE_CHECKING:
    from ragjudge.assembly import Assembly
    from ragjudge.cache.protocol import CallStore
    from ragjudge.judges.base import Identity, Judge
    from ragjudge.planning import Task
    from ragjudge.records import Call
    from ragjudge.sessions import CachePlace
    from ragjudge.suites.spec import Suite

cache_option = click.option(
    "--cache",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="The cache's folder. [default: $RAGJUDGE_CACHE, else a folder among your data]",
)
judge_option = click.option(
    "--judge",
    "judges",
    multiple=True,
    metavar="ID",
    help="The judge, when the suite is run with --judge; as often as it is there.",
)
window_option = click.option("--window", type=click.IntRange(min=64), help="The window of --judge.")


@dataclass(frozen=True)
class LoadedSuite:
    """A suite with its cells and judges.

    Attributes:
        suite: The suite.
        assembly: Its cells and judges.
        place: Its cache, unless another one is named.
    """

    suite: Suite
    assembly: Assembly
    place: CachePlace


def load(
    path: Path,
    *,
    directory: Path | None,
    judges: Sequence[str],
    window: int | None,
    row: str | None = None,
) -> LoadedSuite:
    """Load a suite and produce its outputs.

    Args:
        path: The suite.
        directory: The cache that was named.
        judges: The judges that replace every other; none = the suite's.
        window: The window of these.
        row: The only row that is wanted; the systems under test are then asked for no other.

    Raises:
        UnknownNameError: There is no such row.
        RagjudgeError: The suite cannot be loaded.
    """
    from ragjudge.assembly import assemble
    from ragjudge.cli.options import check_named_once
    from ragjudge.judges.registry import open_judge
    from ragjudge.suites.load import load_suite

    check_named_once(judges)
    suite = load_suite(path, override_judge=bool(judges))
    if row is not None:
        cases = tuple(case for case in suite.cases if case.sample.id == row)
        if not cases:
            raise UnknownNameError("row", row, (case.sample.id for case in suite.cases), where=str(path))
        suite = suite.model_copy(update={"cases": cases})
    override = [open_judge(judge, window=window) for judge in judges]
    place = suite.cache if directory is None else directory
    return LoadedSuite(suite, assemble(suite, override=override), place)


class Asked(NamedTuple):
    """A judge whose calls are planned.

    Attributes:
        judge: The judge.
        identity: Who that is.
    """

    judge: Judge
    identity: Identity


@dataclass(frozen=True)
class Planned:
    """The calls that one judge is asked for a task.

    Attributes:
        preparation: Those that come before it can be planned.
        checks: Those of its plan; None when one of the others is not stored, so that nobody can tell.
    """

    preparation: tuple[Call, ...]
    checks: tuple[Call, ...] | None

    @property
    def calls(self) -> tuple[Call, ...]:
        """All that are known."""
        return (*self.preparation, *(self.checks or ()))


def tasks_of(assembly: Assembly) -> Iterator[tuple[str | None, Task]]:
    """Yield each task that can be graded, with the provider of its output.

    Raises:
        DataError: A row lacks what a metric needs.
    """
    from ragjudge.planning import gradable

    for cell in gradable(assembly.cells):
        for task in cell.tasks:
            if task.error is None:
                yield cell.provider, task


def planned(task: Task, judges: Sequence[Asked], store: CallStore) -> list[Planned]:
    """Plan a task without asking anybody: what must be known first is looked up.

    Args:
        task: The task.
        judges: Its judge, or those of its panel, in their order.
        store: Where their answers are.

    Returns:
        The calls of each of them. What comes first is asked of the first judge of a panel alone.
    """
    from ragjudge.cache.keys import key_of, request_of
    from ragjudge.planning import plan_task, preparation_of

    first, *others = judges
    preparation = preparation_of(task, first.judge).calls
    keys = [key_of(request_of(call, first.identity.fingerprint)[0]) for call in preparation]
    stored = store.get_many(keys) if keys else {}
    if len(stored) < len(set(keys)):
        return [Planned(preparation, None), *(Planned((), None) for _ in others)]
    answers = [stored[key] for key in keys]
    checks = [plan_task(task, each.judge, answers).calls for each in judges]
    return [Planned(preparation, checks[0]), *(Planned((), each) for each in checks[1:])]
