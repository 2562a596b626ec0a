"""The judge calls of a suite, planned and not asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragjudge.errors import UnknownNameError

if TYPE_CHECKING:
    from ragjudge.assembly import Assembly
    from ragjudge.records import Call
    from ragjudge.runner import Task
    from ragjudge.sessions import CachePlace
    from ragjudge.suites.spec import Suite

cache_option = click.option(
    "--cache",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="The cache's folder. [default: $RAGJUDGE_CACHE, else a folder among your data]",
)
judge_option = click.option("--judge", metavar="ID", help="The judge, when the suite is run with --judge.")
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
    path: Path, *, directory: Path | None, judge: str | None, window: int | None, row: str | None = None
) -> LoadedSuite:
    """Load a suite and produce its outputs.

    Args:
        path: The suite.
        directory: The cache that was named.
        judge: The judge that replaces every other.
        window: That judge's window.
        row: The only row that is wanted; the systems under test are then asked for no other.

    Raises:
        UnknownNameError: There is no such row.
        RagjudgeError: The suite cannot be loaded.
    """
    from ragjudge.assembly import assemble
    from ragjudge.judges.registry import open_judge
    from ragjudge.suites.load import load_suite

    suite = load_suite(path, override_judge=judge is not None)
    if row is not None:
        cases = tuple(case for case in suite.cases if case.sample.id == row)
        if not cases:
            raise UnknownNameError("row", row, (case.sample.id for case in suite.cases), where=str(path))
        suite = suite.model_copy(update={"cases": cases})
    override = None if judge is None else open_judge(judge, window=window)
    place = suite.cache if directory is None else directory
    return LoadedSuite(suite, assemble(suite, override=override), place)


def planned(assembly: Assembly) -> Iterator[tuple[str | None, Task, tuple[Call, ...]]]:
    """Yield each task of the cells that have an output, with its provider and its calls.

    Raises:
        DataError: A row lacks what a metric needs.
    """
    from ragjudge.runner import plan_task, require_fields

    for cell in assembly.cells:
        if cell.error is None:
            for task in cell.tasks:
                require_fields(task)
                yield cell.provider, task, plan_task(task, assembly.judges[task.judge]).calls
