"""What ``run`` and ``grade`` have in common: judge the cells, write the reports, find the exit code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragjudge.records import LEAST_COVERAGE, Report, is_enough
from ragjudge.reports.numbers import counted, percent
from ragjudge.reports.printable import printable

if TYPE_CHECKING:
    from ragjudge.agreement.choosing import Choice
    from ragjudge.cache.panel import Seating
    from ragjudge.cache.protocol import CallStore
    from ragjudge.judges.base import Judge
    from ragjudge.reports.journal import Journal
    from ragjudge.runner import Cell, Runner
    from ragjudge.sessions import CachePlace

FAILED = 1
NOT_GRADED = 3
INTERRUPTED = 130


def grade_cells(
    cells: Iterable[Cell],
    judges: Mapping[str, Judge],
    *,
    total: int,
    place: CachePlace,
    replay: bool,
    calibrations: Mapping[str, Choice | None] | None = None,
    panels: Mapping[str, Seating] | None = None,
    outputs: Sequence[Path] = (),
    quiet: bool = False,
    verbose: bool = False,
) -> int:
    """Grade cells, write and print the report, and return the exit code.

    Args:
        cells: The rows to be. Their outputs may be produced while they are gone through, which is done when
            everything else is known to be there.
        judges: The judges by their keys; the cells' tasks name these, or those of panels.
        total: How many cells there are.
        place: The cache.
        replay: Ask no judge.
        calibrations: The calibration that each judge is asked to have, by the same keys; what is missing or
            None is the shipped one.
        panels: Which judges decide together, by keys of their own.
        outputs: Files to write, checked already but for the calibrations.
        quiet: Print the totals only.
        verbose: Print every failed claim.
    """
    from ragjudge.agreement.choosing import open_calibrated_judge
    from ragjudge.cache.panel import with_panels
    from ragjudge.cli.interrupt import stop_on_interrupt
    from ragjudge.reports.journal import Journal
    from ragjudge.reports.page import open_console
    from ragjudge.reports.progress import Progress
    from ragjudge.reports.registry import check_outputs
    from ragjudge.reports.terminal import print_report
    from ragjudge.runner import Runner
    from ragjudge.sessions import open_store

    wishes = calibrations or {}
    check_outputs(outputs, inputs=[wish.file for wish in wishes.values() if wish and wish.file])
    store = open_store(place, read_only=replay)
    say_notices(store)
    journals = [Journal(path) for path in outputs if path.suffix.lower() == ".jsonl"]
    asked = {}
    try:
        asked = {
            key: open_calibrated_judge(judge, store, wishes.get(key), replay=replay)
            for key, judge in judges.items()
        }
        with stop_on_interrupt() as stop:
            ready = _produced(cells, stop)
            with Progress(total, open_console(stderr=True), quiet=quiet) as bar:
                together = with_panels(asked, panels or {})
                sinks = [journal.add for journal in journals]
                runner = Runner(together, observer=bar, sinks=sinks, stop=stop)
                report = runner.run(ready)
        if len(ready) < total:
            report = report.model_copy(update={"partial": True, "passed": False})
    except BaseException:
        for journal in journals:
            journal.close()
        raise
    finally:
        for judge in asked.values():
            judge.close()
        store.close()
        say_write_error(store)
    _write_outputs(report, outputs, journals)
    print_report(report, open_console(), quiet=quiet, verbose=verbose)
    if report.partial:
        _say_how_it_ended(runner, report, total, outputs, journals)
        if place is not False:
            _say("Everything that was judged is in the cache; run the same command again to go on.")
        else:
            _say("Without a cache nothing was kept; the same command begins anew.")
        if runner.failure is not None:
            raise runner.failure
        return INTERRUPTED
    say_why_not_graded(report)
    return exit_code(report)


def say_notices(store: CallStore) -> None:
    """Say on standard error what had to be done to a store."""
    for notice in store.notices:
        click.echo(f"Warning: {printable(notice)}", err=True)


def say_write_error(store: CallStore) -> None:
    """Say on standard error what a store that is closed could not write."""
    if store.write_error is not None:
        click.echo(f"Warning: {printable(store.write_error)}", err=True)


def _produced(cells: Iterable[Cell], stop: Callable[[], bool]) -> list[Cell]:
    """Return the cells, or those that were there when Ctrl-C was pressed."""
    ready: list[Cell] = []
    with suppress(KeyboardInterrupt):
        for cell in cells:
            if stop() and cell.error is not None:
                break  # what a system under test has started gets Ctrl-C too: no failure of its own
            ready.append(cell)
            if stop():
                break
    return ready


def _write_outputs(report: Report, outputs: Sequence[Path], journals: Sequence[Journal]) -> None:
    from ragjudge.reports.registry import write_report

    by_path = {journal.path: journal for journal in journals}
    for path in outputs:
        if path not in by_path:
            write_report(report, path)
        elif report.partial:
            by_path[path].leave(report.rows)
        else:
            by_path[path].finish(report)


def _say_how_it_ended(
    runner: Runner, report: Report, total: int, outputs: Sequence[Path], journals: Sequence[Journal]
) -> None:
    how = "Interrupted" if runner.failure is None else "The run has ended early"
    _say(f"{how}: {runner.graded} of {total} rows are graded, and the report is a partial one.")
    if count := len(report.rows) - runner.graded:
        ungraded = f"{counted(count, 'ungraded output')} of the providers"
        if outputs:
            _say(f"It also has {ungraded}, which `ragjudge grade` takes.")
        else:
            _say(f"With -o FILE it would have kept {ungraded}.")
    for journal in journals:
        if journal.part.exists():
            _say(f"The rows so far are in {journal.part}.")


def _say(line: str) -> None:
    click.echo(printable(line), err=True)


def say_why_not_graded(report: Report) -> None:
    """Say on standard error why a run ends with exit code 3, where it does, or that it says nothing."""
    scores = [(row, label, score) for row in report.rows for label, score in row.scores.items()]
    if scores and all(score.status == "not_applicable" for _, _, score in scores):
        click.echo(f"Warning: nothing was scored: {_none_applies(len(scores))}.", err=True)
    if exit_code(report) != NOT_GRADED:
        return
    missing = [each for each in scores if each[2].status not in ("scored", "not_applicable")]
    row, label, score = missing[0]
    line = (
        f"Error: {len(missing)} of {counted(len(scores), 'score')} could not be graded, and at least "
        f"{percent(LEAST_COVERAGE)} must be. The first, {row.id}, {label}: {row.error or score.reason}"
    )
    click.echo(printable(" ".join(line.split())), err=True)


def _none_applies(count: int) -> str:
    return "the only score is not applicable" if count == 1 else f"all {count} scores are not applicable"


def exit_code(report: Report) -> int:
    """Return 3 when too little could be graded, 1 when a score failed, else 0."""
    if not is_enough(report.coverage):
        return NOT_GRADED
    return 0 if report.passed else FAILED
