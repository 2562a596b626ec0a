"""What ``run`` and ``grade`` have in common: judge the cells, write the reports, find the exit code."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragjudge.records import Report

if TYPE_CHECKING:
    from ragjudge.judges.base import Judge
    from ragjudge.runner import Cell
    from ragjudge.sessions import CachePlace

FAILED = 1
NOT_GRADED = 3
LEAST_COVERAGE = 0.9
"""Smallest share of scores that must be graded for a run to mean anything."""


def grade_cells(
    cells: Sequence[Cell],
    judges: Mapping[str, Judge],
    *,
    place: CachePlace,
    replay: bool,
    outputs: Sequence[Path] = (),
    quiet: bool = False,
    verbose: bool = False,
) -> int:
    """Grade cells, write and print the report, and return the exit code.

    Args:
        cells: The rows to be.
        judges: The judges, by the keys that the cells' tasks name.
        place: The cache.
        replay: Ask no judge.
        outputs: Files to write, checked already.
        quiet: Print the totals only.
        verbose: Print every failed claim.
    """
    from ragjudge.cache.opening import open_caching_judge
    from ragjudge.reports.page import open_console
    from ragjudge.reports.progress import Progress
    from ragjudge.reports.registry import write_report
    from ragjudge.reports.terminal import print_report
    from ragjudge.runner import Runner
    from ragjudge.sessions import open_store

    store = open_store(place, read_only=replay)
    asked = {}
    try:
        asked = {key: open_caching_judge(judge, store, replay=replay) for key, judge in judges.items()}
        with Progress(len(cells), open_console(stderr=True), quiet=quiet) as bar:
            report = Runner(asked, observer=bar).run(cells)
    finally:
        for judge in asked.values():
            judge.close()
        store.close()
    for path in outputs:
        write_report(report, path)
    print_report(report, open_console(), quiet=quiet, verbose=verbose)
    if store.write_error is not None:
        click.echo(f"Warning: {store.write_error}", err=True)
    sys.stdout.flush()
    return exit_code(report)


def exit_code(report: Report) -> int:
    """Return 3 when too little could be graded, 1 when a score failed, else 0."""
    if report.coverage is not None and report.coverage < LEAST_COVERAGE:
        return NOT_GRADED
    return 0 if report.passed else FAILED
