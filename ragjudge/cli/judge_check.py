"""``ragjudge judge check``: how well a judge agrees with people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragjudge.cli.command import Command
from ragjudge.cli.options import JudgeOptions, format_option, judge_options

if TYPE_CHECKING:
    from ragjudge.agreement.checking import LabelSet
    from ragjudge.records import Agreement

_EPILOG = "Exit codes: 0 measured, 2 bad input, 3 no judge or less than 90 % judged, 4 replay miss."


@click.command("check", cls=Command, epilog=_EPILOG)
@judge_options
@click.argument("paths", metavar="[LABELS]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--template", metavar="NAME[@V]", help="The question to ask. [the one that metrics ask]")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Take the first N rows of each file.")
@click.option(
    "--max-words", type=click.IntRange(min=1), metavar="N", help="Leave out rows with more words of context."
)
@click.option(
    "--labels",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Graded reports: the labels of their rows, a file with the columns id and label.",
)
@click.option("--score", metavar="NAME", help="Graded reports: the score that the labels are about.")
@click.option("-q", "--quiet", is_flag=True, help="Print the table of the sets only.")
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the result (.html, .json or .md); may be repeated.",
)
@format_option
def check(
    options: JudgeOptions,
    paths: tuple[Path, ...],
    template: str | None,
    limit: int | None,
    max_words: int | None,
    labels: Path | None,
    score: str | None,
    quiet: bool,
    outputs: tuple[Path, ...],
    form: str,
) -> int:
    """Measure how well a judge agrees with people.

    LABELS are files of labelled rows (.jsonl, .json or .csv), each a set of its own. A row has `context` (a
    text, or a list of chunks under `contexts`), `label` (1 or 0), and `claim`: do the contexts support it?
    Or it has no claim and a `question`: does the context answer it? It may have `id`, `source`, `task`
    (support or relevance) and `meta` with `group` (rows of one article or question), `lang` and `kind`.

    Without LABELS the packaged set is asked: traps and injections in six languages.

    LABELS may also be graded reports (.json, or .jsonl rows). Then no judge is asked: a row's score is taken
    for P, and whether it passed for the decision. Their labels stand in the rows as `label` (as do those of
    the data file, where its own outputs were graded), or in a file of `id` and `label` that --labels names.
    """
    from ragjudge.agreement.checking import packaged_sets, set_names
    from ragjudge.agreement.graded import is_graded
    from ragjudge.errors import UsageError
    from ragjudge.reports.agreement_registry import AGREEMENT_FORMATS
    from ragjudge.reports.registry import check_outputs

    read = [*paths, labels, options.choice.file if options.choice else None]
    check_outputs(outputs, inputs=[path for path in read if path], formats=AGREEMENT_FORMATS)
    files = paths or packaged_sets()
    names = set_names(files)
    graded = [path for path in files if is_graded(path)]
    if graded and len(graded) < len(files):
        other = next(path for path in files if path not in graded)
        raise UsageError(
            f"{graded[0]} is a graded report and {other} holds labelled rows; check them one at a time."
        )
    if graded:
        if template is not None:
            raise UsageError("--template is a question for the judge; a graded report is not judged again.")
        if options.given:
            raise UsageError(
                f"{options.given[0]} is about asking a judge; a graded report is not judged again."
            )
        result = _of_reports(files, names, labels, score, limit, max_words)
    else:
        if labels is not None or score is not None:
            given = "--labels" if labels is not None else "--score"
            raise UsageError(f"{given} belongs to graded reports; {files[0]} holds labelled rows.")
        result = _of_rows(options, files, template, limit, max_words, quiet=quiet)
    return _tell(result, outputs, form, quiet=quiet)


def _of_reports(
    files: Sequence[Path],
    names: Sequence[str],
    labels: Path | None,
    score: str | None,
    limit: int | None,
    max_words: int | None,
) -> Agreement:
    from ragjudge.agreement.checking import agreement
    from ragjudge.agreement.graded import read_graded

    found = read_graded(files, names, labels=labels, score=score, limit=limit, max_words=max_words)
    return agreement(found.rows, judges=found.judges, threshold=found.threshold, notes=found.notes)


def _of_rows(
    options: JudgeOptions,
    files: Sequence[Path],
    template: str | None,
    limit: int | None,
    max_words: int | None,
    *,
    quiet: bool,
) -> Agreement:
    from ragjudge.agreement.checking import limited, read_sets
    from ragjudge.agreement.questions import template_of

    if template is not None:
        template_of(template)  # a wrong name is told before anything is read
    sets, notes = limited(read_sets(files), limit=limit, max_words=max_words)
    return _asked(options, sets, template, notes, quiet=quiet)


def _asked(
    options: JudgeOptions,
    sets: Sequence[LabelSet],
    template: str | None,
    notes: Sequence[str],
    *,
    quiet: bool,
) -> Agreement:
    from ragjudge.agreement.checking import check_judge
    from ragjudge.agreement.choosing import open_calibrated_judge
    from ragjudge.cli.grading import say_notices, say_write_error
    from ragjudge.cli.interrupt import stop_on_interrupt
    from ragjudge.reports.page import open_console
    from ragjudge.reports.progress import Progress
    from ragjudge.sessions import open_store

    judge = options.open_judge()
    rows = sum(len(each.rows) for each in sets)
    store = open_store(options.place, read_only=options.replay)
    try:
        say_notices(store)
        asked = open_calibrated_judge(judge, store, options.choice, replay=options.replay)
        with (
            Progress(rows, open_console(stderr=True), quiet=quiet) as bar,
            stop_on_interrupt() as stop,
        ):
            return check_judge(asked, sets, template=template, observer=bar, stop=stop, notes=notes)
    finally:
        judge.close()
        store.close()
        say_write_error(store)


def _tell(result: Agreement, outputs: Sequence[Path], form: str, *, quiet: bool) -> int:
    from ragjudge.cli.grading import NOT_GRADED
    from ragjudge.records import LEAST_COVERAGE
    from ragjudge.reports.agreement_registry import agreement_json, write_agreement
    from ragjudge.reports.agreement_terminal import print_agreement
    from ragjudge.reports.page import open_console

    for path in outputs:
        write_agreement(result, path)
    if form == "json":
        click.echo(agreement_json(result), nl=False)
    else:
        print_agreement(result, open_console(), quiet=quiet)
    return NOT_GRADED if result.overall.judged < LEAST_COVERAGE * result.overall.rows else 0
