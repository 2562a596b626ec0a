"""``ragjudge score``: one metric for one answer."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING

import click

from ragjudge.cli.command import Command
from ragjudge.cli.options import (
    JudgeOptions,
    format_option,
    judge_options,
    metric_options,
    splitting_from,
    splitting_options,
)
from ragjudge.cli.textarg import read_text_argument

if TYPE_CHECKING:
    from ragjudge.text.claims import ClaimMode
    from ragjudge.text.splitting import EvidenceMode

_TEXT = "The text itself, - for standard input, or @FILE."


@click.command(
    "score", cls=Command, epilog="Exit codes: 0 passed, 1 failed, 2 bad input, 3 no judge, 4 replay miss."
)
@judge_options
@click.argument("metric")
@click.option("--input", "question", metavar="TEXT", help=f"The question. {_TEXT}")
@click.option("--output", "answer", metavar="TEXT", help="The answer.")
@click.option("--expected", metavar="TEXT", help="The reference answer.")
@click.option(
    "--context", "contexts", multiple=True, metavar="TEXT", help="A retrieved chunk; repeat it in rank order."
)
@click.option("--threshold", type=float, help="Smallest passing value, from 0 to 1. [the metric's own]")
@metric_options
@splitting_options
@click.option("--on-empty", type=click.Choice(["skip", "fail"]), help="What nothing to judge means.")
@format_option
def score(
    options: JudgeOptions,
    metric: str,
    question: str | None,
    answer: str | None,
    expected: str | None,
    contexts: tuple[str, ...],
    threshold: float | None,
    mode: str,
    by: str | None,
    language: str | None,
    claims: ClaimMode | None,
    evidence: EvidenceMode | None,
    on_empty: str | None,
    form: str,
) -> int:
    """Score one answer with METRIC, e.g. faithfulness. See `ragjudge metrics`."""
    from ragjudge.agreement.choosing import open_calibrated_judge
    from ragjudge.cache.panel import Panel
    from ragjudge.cli.grading import exit_code, say_notices, say_why_not_graded, say_write_error
    from ragjudge.datasets.origins import Origin
    from ragjudge.errors import UsageError
    from ragjudge.metrics.registry import make_metric
    from ragjudge.records import Sample
    from ragjudge.runner import Cell, Runner, Task
    from ragjudge.scorers import check_threshold
    from ragjudge.sessions import open_store

    splitting = splitting_from(language, claims, evidence, [metric])
    if [question, answer, expected, *contexts].count("-") > 1:
        raise UsageError("standard input can be read once; give - to one option alone.")
    # click has checked the choices
    made = make_metric(metric, mode=mode, by=by, splitting=splitting)  # type: ignore[arg-type]
    sample = Sample(
        id="sample",
        input=None if question is None else read_text_argument(question),
        output=None if answer is None else read_text_argument(answer),
        expected=None if expected is None else read_text_argument(expected),
        contexts=tuple(map(read_text_argument, contexts)) or None,
    )
    options_of = {"input": "--input", "output": "--output", "contexts": "--context", "expected": "--expected"}
    origin = Origin(
        "ragjudge score",
        tuple(option for field, option in options_of.items() if getattr(sample, field) is not None),
        {field: (option,) for field, option in options_of.items()},
    )
    smallest = check_threshold(made.default_threshold if threshold is None else threshold)
    task = Task(made.name, made, sample, smallest, on_empty)  # type: ignore[arg-type]
    judges = options.open_judges()
    with closing(open_store(options.place, read_only=options.replay)) as store:
        say_notices(store)
        opened = [
            open_calibrated_judge(judge, store, options.choice, replay=options.replay) for judge in judges
        ]
        asked = Panel(opened) if len(opened) > 1 else opened[0]
        try:
            report = Runner({"": asked}).run([Cell(sample, (task,), origin=origin)])
        finally:
            asked.close()
    say_write_error(store)
    result = report.rows[0].scores[made.name]
    if form == "json":
        click.echo(json.dumps(result.model_dump(mode="json"), indent=2))
    else:
        from ragjudge.reports.page import open_console
        from ragjudge.reports.terminal import print_score

        print_score(result, open_console())
    say_why_not_graded(report)
    return exit_code(report)
