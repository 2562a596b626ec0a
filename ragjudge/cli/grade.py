"""``ragjudge grade``: metrics over the rows of a data file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragjudge.cli.command import Command
from ragjudge.cli.options import (
    JudgeOptions,
    judge_options,
    metric_options,
    report_options,
    splitting_from,
    splitting_options,
)

if TYPE_CHECKING:
    from ragjudge.records import Mode
    from ragjudge.text.claims import ClaimMode
    from ragjudge.text.splitting import EvidenceMode


@click.command(
    "grade", cls=Command, epilog="Exit codes: 0 passed, 1 failed, 2 bad input, 3 no judge, 4 replay miss."
)
@judge_options
@click.argument("data", type=click.Path(path_type=Path))
@click.option(
    "-m", "--metric", "names", multiple=True, required=True, metavar="NAME", help="A metric; may be repeated."
)
@click.option(
    "-t",
    "--threshold",
    "thresholds",
    multiple=True,
    metavar="[NAME=]VALUE",
    help="Smallest passing value, from 0 to 1, of all metrics or of one. [the metric's own]",
)
@metric_options
@splitting_options
@report_options
def grade(
    options: JudgeOptions,
    data: Path,
    names: tuple[str, ...],
    thresholds: tuple[str, ...],
    mode: Mode,
    by: str | None,
    language: str | None,
    claims: ClaimMode | None,
    evidence: EvidenceMode | None,
    outputs: tuple[Path, ...],
    quiet: bool,
    verbose: bool,
) -> int:
    """Grade the rows of DATA (.jsonl, .json or .csv) with one or more metrics.

    DATA may be the report of another run (.json, or .jsonl rows). Its rows stay those of their providers, and
    one whose provider failed fails again; how the others were graded is not read.
    """
    from ragjudge.cache.panel import Seating
    from ragjudge.cli.grading import grade_cells
    from ragjudge.datasets.load import load_rows
    from ragjudge.errors import ConfigError, DataError
    from ragjudge.metrics.registry import canonical_name, make_metric
    from ragjudge.reports.registry import check_outputs
    from ragjudge.runner import Cell, Task

    check_outputs(outputs, inputs=[data])
    wanted = list(dict.fromkeys(canonical_name(name, where="--metric") for name in names))
    if by is not None and "context_precision" not in wanted:
        raise ConfigError("--by belongs to context-precision, which is not among the metrics.")
    smallest = _thresholds(thresholds, wanted)
    splitting = splitting_from(language, claims, evidence, wanted)
    metrics = [
        make_metric(name, mode=mode, by=by if name == "context_precision" else None, splitting=splitting)
        for name in wanted
    ]
    judges = {str(number): judge for number, judge in enumerate(options.open_judges())}
    panels = {"panel": Seating(tuple(judges))} if len(judges) > 1 else {}
    key = next(iter((*panels, *judges)))
    rows = load_rows(data)
    if not rows:
        raise DataError(f"{data}: the file holds no rows.")
    cells = [
        Cell(
            sample,
            tuple(
                Task(
                    metric.name,
                    metric,
                    sample,
                    smallest.get(metric.name, metric.default_threshold),
                    judge=key,
                )
                for metric in metrics
            ),
            provider=sample.provider,
            error=sample.error,
            origin=origin,
        )
        for sample, origin in rows
    ]
    return grade_cells(
        cells,
        judges,
        total=len(cells),
        place=options.place,
        replay=options.replay,
        calibrations=dict.fromkeys(judges, options.choice),
        panels=panels,
        outputs=outputs,
        quiet=quiet,
        verbose=verbose,
    )


def _thresholds(given: tuple[str, ...], wanted: list[str]) -> dict[str, float]:
    """Read ``0.8`` and ``faithfulness=0.8``; one that names a metric wins."""
    from ragjudge.errors import UsageError
    from ragjudge.metrics.registry import canonical_name
    from ragjudge.scorers import check_threshold

    found: dict[str, tuple[float, str]] = {}
    for text in given:
        name, equals, value = text.rpartition("=")
        try:
            number = check_threshold(float(value))
        except ValueError:
            raise UsageError(f"--threshold {text!r}: {value!r} is no number from 0 to 1.") from None
        metric = canonical_name(name, where="--threshold") if equals else ""
        if equals and metric not in wanted:
            raise UsageError(f"--threshold {text!r}: {metric} is not among the metrics.")
        known, before = found.setdefault(metric, (number, text))
        if known != number:
            about = metric or "all metrics"
            raise UsageError(
                f"--threshold {text!r}: {before!r} is given for {about} as well; give one of them."
            )
    numbers = {metric: number for metric, (number, _) in found.items()}
    common = dict.fromkeys(wanted, numbers.pop("")) if "" in numbers else {}
    return {**common, **numbers}
