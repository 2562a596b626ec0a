"""What ``run`` and ``grade`` have in common: judge the cells, write the reports, find the exit code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    from ragjudge.runner import Cell
    from ragjudge.sessions import CachePlace

FAILED = 1
NOT_GRADED = 3
INTERRUPTED = 130


def grade_cells(
    cells: Sequence[Cell],
    judges: Mapping[str, Judge],
    *,
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
        cells: The rows to be.
        judges: The judges by their keys; the cells' tasks name these, or those of panels.
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
        with (
            Progress(len(cells), open_console(stderr=True), quiet=quiet) as bar,
            stop_on_interrupt() as stop,
        ):
            together = with_panels(asked, panels or {})
            report = Runner(
                together, observer=bar, sinks=[journal.add for journal in journals], stop=stop
            ).run(cells)
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
        _say_how_to_go_on(report, len(cells), journals, kept=place is not False)
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


def _write_outputs(report: Report, outputs: Sequence[Path], journals: Sequence[Journal]) -> None:
    from ragjudge.reports.registry import write_report

    by_path = {journal.path: journal for journal in journals}
    for path in outputs:
        if path not in by_path:
            write_report(report, path)
        elif report.partial:
            by_path[path].close()
        else:
            by_path[path].finish(report)


def _say_how_to_go_on(report: Report, total: int, journals: Sequence[Journal], *, kept: bool) -> None:
    lines = [f"Interrupted: {len(report.rows)} of {total} rows are graded, and the report is a partial one."]
    lines += [f"The rows so far are in {journal.part}." for journal in journals if journal.part.exists()]
    if kept:
        lines.append("Everything that was judged is in the cache; run the same command again to go on.")
    else:
        lines.append("Without a cache nothing was kept; the same command begins anew.")
    for line in lines:
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
