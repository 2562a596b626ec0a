"""``ragjudge judge calibrate``: fit what corrects a judge's probabilities."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ragjudge.cli.command import Command
from ragjudge.cli.options import JudgeOptions, format_option, judge_options

if TYPE_CHECKING:
    from ragjudge.agreement.asking import Answered
    from ragjudge.agreement.calibration import Calibration
    from ragjudge.agreement.checking import LabelSet
    from ragjudge.agreement.fits import Kind
    from ragjudge.agreement.fitting import Candidate, TemplateFit
    from ragjudge.reports.page import Page

_NAME, _NUMBER = 12, 9
_HEADS = ("bal. acc.", "AUC", "ECE", "Brier", "log loss")


class _Asked(NamedTuple):
    answers: list[Answered]
    fingerprint: str
    judge: str


@click.command(
    "calibrate",
    cls=Command,
    epilog="Exit codes: 0 fitted, 2 bad input or too few labels, 3 no judge, 4 replay miss.",
)
@judge_options
@click.argument("paths", metavar="LABELS...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the calibration (.json). [only show what would come of it]",
)
@click.option("--template", metavar="NAME[@V]", help="The question to ask. [the one that metrics ask]")
@click.option(
    "--kind",
    type=click.Choice(["threshold", "platt", "evidence", "head"]),
    help="Take this candidate. [the simplest within one standard error of the best]",
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Take the first N rows of each file.")
@click.option(
    "--max-words", type=click.IntRange(min=1), metavar="N", help="Leave out rows with more words of context."
)
@format_option
def calibrate(
    options: JudgeOptions,
    paths: tuple[Path, ...],
    output: Path | None,
    template: str | None,
    kind: Kind | None,
    limit: int | None,
    max_words: int | None,
    form: str,
) -> int:
    """Fit what corrects a judge's probabilities, to labels that people gave.

    LABELS are files of labelled rows as `judge check` reads them, each a set of its own; both labels and all
    sets count the same. Candidates of rising complexity are compared on rows that they were not fitted on:
    whole sets where there are three or more, else groups (`meta.group`). The simplest one within one
    standard error of the best is kept. With --hidden a fit may read the model's last hidden state; llama
    judges alone have one. The file is for this judge and these templates alone.
    """
    from ragjudge.agreement.candidates import need_sklearn
    from ragjudge.agreement.checking import limited, read_sets
    from ragjudge.agreement.fitting import calibrate as fit
    from ragjudge.agreement.judged import judged_rows
    from ragjudge.agreement.questions import template_of
    from ragjudge.errors import UsageError
    from ragjudge.reports.registry import check_outputs

    if options.calibration is not None:
        raise UsageError("calibrate fits to the judge's raw answers; leave --calibration out.")
    need_sklearn()
    check_outputs([output] if output else [], inputs=paths, formats=(".json",))
    if template is not None:
        template_of(template)  # a wrong name is told before anything is read
    sets, notes = limited(read_sets(paths), limit=limit, max_words=max_words)
    asked = _ask(options, sets, template, quiet=form == "json")
    judged, failed = judged_rows(sets, asked.answers)
    if failed:
        notes = [*notes, f"{failed} of {len(asked.answers)} rows got no verdict and were left out."]
    calibration, fits = fit(
        judged,
        judge=asked.fingerprint,
        judge_id=asked.judge,
        date=datetime.now(timezone.utc).date().isoformat(),
        taken=kind,
        limits=notes,
    )
    if output is not None:
        from ragjudge.agreement.calibration import save_calibration

        save_calibration(calibration, output)
    if form == "json":
        click.echo(json.dumps(_as_json(calibration, fits, output), indent=2))
    else:
        _print(calibration, fits, output)
    return 0


def _ask(options: JudgeOptions, sets: Sequence[LabelSet], template: str | None, *, quiet: bool) -> _Asked:
    from ragjudge.agreement.asking import ask_rows
    from ragjudge.agreement.judged import require_labels
    from ragjudge.agreement.questions import require_one_question
    from ragjudge.cache.opening import open_caching_judge
    from ragjudge.cli.grading import say_notices, say_write_error
    from ragjudge.cli.interrupt import stop_on_interrupt
    from ragjudge.reports.page import open_console
    from ragjudge.reports.progress import Progress
    from ragjudge.sessions import open_store

    rows = [row for each in sets for row in each.rows]
    if template is not None:
        require_one_question([row.task for row in rows], template)
    require_labels([row.label for row in rows])
    judge = options.open_judge()
    with closing(open_store(options.place, read_only=options.replay)) as store:
        say_notices(store)
        asked = open_caching_judge(judge, store, replay=options.replay)
        try:
            with (
                Progress(len(rows), open_console(stderr=True), quiet=quiet) as bar,
                stop_on_interrupt() as stop,
            ):
                answers = ask_rows(asked, rows, template=template, observer=bar, stop=stop)
        finally:
            asked.close()
    say_write_error(store)
    return _Asked(answers, asked.identity().fingerprint, judge.id)


def _as_json(calibration: Calibration, fits: Sequence[TemplateFit], output: Path | None) -> dict[str, Any]:
    return {
        "judge": calibration.judge,
        "judge_id": calibration.judge_id,
        "sha256": calibration.sha256,
        "output": None if output is None else str(output),
        "templates": {fit.template: _fit_as_json(fit) for fit in fits},
        "limits": list(calibration.card.limits),
    }


def _fit_as_json(fit: TemplateFit) -> dict[str, Any]:
    return {
        "chosen": fit.fit.kind,
        "advised": fit.advised,
        "folds": fit.folds,
        "data": [data.model_dump(exclude={"template"}) for data in fit.data],
        "candidates": {name: _candidate_as_json(each) for name, each in fit.candidates.items()},
        "left_out": fit.left_out,
    }


def _candidate_as_json(candidate: Candidate) -> dict[str, Any]:
    figures = {name: round(value, 6) for name, value in candidate.figures._asdict().items()}
    sets = {
        name: {"balanced_accuracy": round(accuracy, 6), "auc": round(area, 6)}
        for name, (accuracy, area) in candidate.sets.items()
    }
    lag = candidate.lag
    behind = None if lag is None else {name: round(value, 6) for name, value in lag._asdict().items()}
    return {**figures, "behind": behind, "sets": sets}


def _print(calibration: Calibration, fits: Sequence[TemplateFit], output: Path | None) -> None:
    from ragjudge.reports.page import Page, open_console

    page = Page(open_console())
    for fit in fits:
        _print_fit(page, fit)
    for sentence in calibration.card.limits:
        page.wrapped(page.data(sentence))
    page.line()
    if output is None:
        page.line("Nothing was written; -o FILE writes the calibration.")
    else:
        page.wrapped(f"Written to {page.data(str(output))}, sha256 {calibration.sha256}.")


def _print_fit(page: Page, fit: TemplateFit) -> None:
    rows = sum(data.positive + data.negative for data in fit.data)
    page.line((f"{fit.template}: {rows} rows, {sum(data.positive for data in fit.data)} of label 1", "bold"))
    page.wrapped(f"Figures on rows that were not fitted on: {fit.folds}.")
    page.line(" " * (_NAME + 2), "".join(head.rjust(_NUMBER) for head in _HEADS), "   behind the best")
    for name, candidate in fit.candidates.items():
        chosen = name == fit.fit.kind
        numbers = "".join(f"{value:.3f}".rjust(_NUMBER) for value in candidate.figures)
        lag = (
            "" if candidate.lag is None else f"   {candidate.lag.difference:.4f} ± {candidate.lag.error:.4f}"
        )
        line = f"{'* ' if chosen else '  '}{name.ljust(_NAME)}{numbers}{lag}"
        page.line((page.own(line), "bold" if chosen else ""))
    for name, reason in fit.left_out.items():
        page.line(f"  {name.ljust(_NAME)}not fitted: {reason}")
    page.wrapped(
        "* taken. The rule: the simplest whose log loss is within one standard error (±) of the best; here "
        f"{fit.advised}. raw: the judge as it is."
    )
    _print_sets(page, fit)
    page.line()


def _print_sets(page: Page, fit: TemplateFit) -> None:
    raw, chosen = fit.candidates["raw"], fit.candidates[fit.fit.kind]
    if len(chosen.sets) < 2:
        return
    width = max(page.cells(page.data(name)) for name in chosen.sets)
    page.line(" " * (width + 2), "bal. acc. raw -> chosen   AUC raw -> chosen")
    for name, (accuracy, area) in chosen.sets.items():
        before = raw.sets[name]
        page.line(
            f"  {page.pad(page.data(name), width)}"
            f"         {before[0]:.3f} -> {accuracy:.3f}       {before[1]:.3f} -> {area:.3f}"
        )
