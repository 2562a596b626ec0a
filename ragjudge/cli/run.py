"""``ragjudge run``: grade a suite."""

from __future__ import annotations

from pathlib import Path

import click

from ragjudge.cli.command import Command
from ragjudge.cli.options import JudgeOptions, judge_options, report_options


@click.command(
    "run", cls=Command, epilog="Exit codes: 0 passed, 1 failed, 2 bad input, 3 no judge, 4 replay miss."
)
@judge_options
@click.argument("suite", type=click.Path(path_type=Path))
@report_options
def run(options: JudgeOptions, suite: Path, outputs: tuple[Path, ...], quiet: bool, verbose: bool) -> int:
    """Grade SUITE, a YAML file: its rows, the outputs of its providers, its assertions.

    --judge, and with it --window, --threads and --gpu-layers, replaces every judge of the suite; given
    several times, these judges decide together, by majority.
    """
    from ragjudge.assembly import assemble
    from ragjudge.cli.grading import grade_cells
    from ragjudge.errors import UsageError
    from ragjudge.reports.registry import check_outputs
    from ragjudge.suites.load import load_suite

    check_outputs(outputs)
    if not options.judge and options.has_settings:
        raise UsageError(
            "--window, --threads and --gpu-layers describe the judge of --judge, which is not given.",
            hint="or write them into the suite: `judge: {id: …, threads: 8}`",
        )
    loaded = load_suite(suite, override_judge=bool(options.judge))
    check_outputs(outputs, inputs=[suite, *([loaded.dataset] if loaded.dataset else [])])
    assembly = assemble(loaded, override=options.open_judges() if options.judge else None)
    named = options.choice
    place = loaded.cache if options.place is None and loaded.cache is not None else options.place
    return grade_cells(
        assembly.cells,
        assembly.judges,
        total=assembly.total,
        place=place,
        replay=options.replay,
        calibrations=dict.fromkeys(assembly.judges, named) if named else assembly.calibrations,
        panels=assembly.panels,
        outputs=outputs,
        quiet=quiet,
        verbose=verbose,
    )
