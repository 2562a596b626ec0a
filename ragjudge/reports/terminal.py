"""The report as a person reads it on a terminal: what failed and why in full, what passed in a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragjudge.records import JudgeInfo, Report, Row, Score
from ragjudge.reports import numbers
from ragjudge.reports.names import short_names
from ragjudge.reports.page import ERROR, FAILED, NO_THRESHOLD, NOT_APPLICABLE, PASSED, STEP, Mark, Page, plain
from ragjudge.reports.printable import one_line
from ragjudge.reports.scores import MOST_LINES, print_items, print_row_score, score_mark, score_result
from ragjudge.reports.totals import HEADINGS, Total, display_name, totals, usage_line, verdict

if TYPE_CHECKING:
    from rich.console import Console

_WIDEST_ID = 24
_WIDEST_PROVIDER = 16


def print_report(report: Report, console: Console, *, quiet: bool = False, verbose: bool = False) -> None:
    """Print a report.

    Args:
        report: The report.
        console: Where to; its width, encoding and colours are respected.
        quiet: Print the verdict line alone.
        verbose: Open passing rows too, and show every judged piece in full.
    """
    page = Page(console)
    if not quiet:
        _print_rows(page, report.rows, verbose=verbose)
        differ = any(summary.disagreement for summary in report.summary.values())
        _print_totals(page, totals(report), differ=differ)
        page.wrapped((usage_line(report.usage), "dim"), hang=2)
        for judge in report.judges:
            page.wrapped((_judge_line(page, judge), "dim"), hang=2)
        page.line()
    word, counts = verdict(report)
    page.wrapped((word, "bold green" if report.passed else "bold red"), f"  {counts}", hang=2)


def print_score(score: Score, console: Console) -> None:
    """Print one score with every judged piece.

    Args:
        score: The score.
        console: Where to.
    """
    page = Page(console)
    name = page.data(display_name(score.metric, score))
    page.wrapped(page.mark(score_mark(score)), " ", (name, "bold"), "  ", score_result(page, score))
    inner = page.mark_width + 1
    page.wrapped(page.data(score.reason), indent=inner)
    print_items(page, score.items, indent=inner, most_lines=MOST_LINES)


def summary_table(report: Report) -> str:
    """Return the figures of every metric and the verdict as plain text, without a last line end.

    Everything but the labels is ASCII, so that any output can take it.
    """
    cells = [
        (one_line(row.name), plain(row.mean), row.passed, row.scored) for row in (HEADINGS, *totals(report))
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join([name.ljust(widths[0]), *map(str.rjust, figures, widths[1:])]) for name, *figures in cells
    ]
    return "\n".join([*lines, "  ".join(verdict(report))])


def _print_rows(page: Page, rows: tuple[Row, ...], *, verbose: bool) -> None:
    names = [page.data(display_name(*entry)) for row in rows for entry in row.scores.items()]
    name_width = min(max(map(page.cells, names), default=0), page.width // 3)
    ids = _row_names(page, rows)
    id_width = max(map(page.cells, ids), default=0)
    lines = {} if verbose else _one_line_results(page, rows)
    line_width = max(map(page.cells, lines.values()), default=0)
    room = page.width - page.mark_width - 1 - id_width - 2
    for number, (row, name) in enumerate(zip(rows, ids, strict=True)):
        mark, name_part = page.mark(_row_mark(row)), (page.pad(name, id_width), "bold")
        question = page.head(row.input)
        if number in lines:
            question = page.pad(question, max(room - 2 - line_width, 0))
            page.line(mark, " ", name_part, "  ", question, "  ", (lines[number], "dim"))
            continue
        page.line(mark, " ", name_part, "  ", page.fit(question, room))
        if row.error is not None:
            page.wrapped(page.data(row.error), indent=STEP)
        for label, score in row.scores.items():
            print_row_score(page, page.data(display_name(label, score)), score, name_width, verbose=verbose)
    if rows:
        page.line()


def _print_totals(page: Page, rows: list[Total], *, differ: bool) -> None:
    if not rows:
        return
    columns = ["mean", "passed", "failed", "scored", "coverage"]
    if any(row.errors != "0" for row in rows):
        columns.insert(4, "errors")
    if differ:
        columns.append("differ")
    names = [page.data(row.name) for row in rows]
    cells = [[page.own(getattr(row, column)) for column in columns] for row in (HEADINGS, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    room = max(page.width - sum(widths) - 2 * len(widths), 8)
    name_width = min(max(map(page.cells, names)), room)
    for number, (name, figures) in enumerate(zip(["", *names], cells, strict=True)):
        line = [page.pad(name, name_width), *map(str.rjust, figures, widths)]
        page.line(("  ".join(line), "" if number else "dim"))
    page.line()


def _one_line_results(page: Page, rows: tuple[Row, ...]) -> dict[int, str]:
    """Return for each row without events (by its index) its scores on one line.

    All rows list every score when the widest listing fits into half a line, else all give the lowest.
    """
    quiet = {number: row for number, row in enumerate(rows) if _is_uneventful(row)}
    listed = {
        number: ", ".join(
            f"{page.data(display_name(label, score))} {page.own(numbers.score(score.value))}"
            for label, score in row.scores.items()
        )
        for number, row in quiet.items()
    }
    if max(map(page.cells, listed.values()), default=0) <= page.width // 2:
        return listed
    return {number: _lowest(row) for number, row in quiet.items()}


def _lowest(row: Row) -> str:
    values = [score.value for score in row.scores.values() if score.value is not None]
    if not values:
        return ""
    return f"{numbers.counted(len(values), 'score')}, lowest {numbers.score(min(values))}"


def _is_uneventful(row: Row) -> bool:
    """Whether one line says it all: every score has a value, none failed, no call failed."""
    return (
        row.error is None
        and row.passed is not False
        and all(
            score.status == "scored" and score.passed is not False and not score.errors
            for score in row.scores.values()
        )
    )


def _row_names(page: Page, rows: tuple[Row, ...]) -> list[str]:
    """Return what each row is called: its id, and its provider so that no two of them look alike."""
    ids = [page.fit(page.data(row.id), _WIDEST_ID) for row in rows]
    providers = [None if row.provider is None else page.data(row.provider) for row in rows]
    shown = short_names(filter(None, providers), _WIDEST_PROVIDER, page.own("…"))
    return [
        name if provider is None else f"{name} [{shown.get(provider, '')}]"
        for name, provider in zip(ids, providers, strict=True)
    ]


def _row_mark(row: Row) -> Mark:
    if row.passed is False:
        return FAILED
    if row.error is not None or any(score.status == "judge_error" for score in row.scores.values()):
        return ERROR
    if row.passed is True:
        return PASSED
    scored = any(score.status == "scored" for score in row.scores.values())
    return NO_THRESHOLD if scored else NOT_APPLICABLE


def _judge_line(page: Page, judge: JudgeInfo) -> str:
    line = f"judge {page.data(judge.id)} ({page.data(judge.fingerprint[: numbers.DIGEST_DIGITS])})"
    if judge.calibration is None:
        return line
    line += f", calibrated ({page.data(judge.calibration[: numbers.DIGEST_DIGITS])})"
    if judge.uncalibrated:
        line += f", but not {page.data(', '.join(judge.uncalibrated))}"
    return line
