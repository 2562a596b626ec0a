"""A judge's check as a person reads it on a terminal: figures with their intervals, plots, worst rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ragjudge.records import Agreement, Estimate, JudgeInfo, WrongRow
from ragjudge.reports import numbers
from ragjudge.reports.agreement_figures import (
    AUC,
    BALANCED,
    BEST,
    BRIER,
    CALIBRATION,
    KAPPA,
    PART_FIGURES,
    PRECISION,
    RECALL,
    Figure,
    Line,
    breakdowns,
    facts,
    interval,
    positive,
    reasons,
    sets,
    usage_facts,
    value,
)
from ragjudge.reports.agreement_plots import BLOCKS, reliability_lines, roc_lines
from ragjudge.reports.page import FAILED, Page
from ragjudge.reports.totals import usage_line

if TYPE_CHECKING:
    from rich.console import Console

_WIDEST_NAME = 24
_NARROWEST_NAME = 8
_MOST_WRONG = 10
_MOST_LINES = 2


def print_agreement(result: Agreement, console: Console, *, quiet: bool = False) -> None:
    """Print how well a judge agrees with people.

    Args:
        result: The check.
        console: Where to; its width, encoding and colours are respected.
        quiet: Print the table of the sets alone.
    """
    page = Page(console)
    per_set = sets(result)
    _table(page, f"{per_set.title}: does it tell them apart?", per_set.lines, (BALANCED, BEST, AUC, KAPPA))
    if quiet:
        return
    others = (PRECISION, RECALL, CALIBRATION, BRIER)
    _table(
        page,
        "Negative (“unsupported”) rows, and what P means",
        per_set.lines,
        others,
        more=(("best P", _best_threshold), ("label mass", _label_mass)),
        counts=False,
    )
    for section in breakdowns(result):
        _table(page, f"{section.title} (recall: of negative rows)", section.lines, PART_FIGURES)
    _plots(page, console.encoding, result)
    _wrong(page, result.wrong)
    for judge in result.judges:
        page.wrapped((_judge_line(page, judge), "dim"), hang=2)
    for fact in facts(result):
        page.wrapped((page.data(fact), "dim"), hang=2)
    usage = "; ".join([usage_line(result.usage), *usage_facts(result)])
    page.wrapped((usage, "dim"), hang=2)


class _Column(NamedTuple):
    """A heading, and for each line its value and what stands below it."""

    heading: str
    cells: list[tuple[str, str]]

    @property
    def width(self) -> int:
        return max(len(self.heading), *(len(text) for cell in self.cells for text in cell))


def _table(
    page: Page,
    title: str,
    lines: Sequence[Line],
    figures: Sequence[Figure],
    *,
    more: Sequence[tuple[str, Callable[[Line], str]]] = (),
    counts: bool = True,
) -> None:
    """Print a table: the figures of each line, and below them their intervals. Two where one is too wide."""
    columns = []
    if counts:
        parts = [line.part for line in lines]
        columns.append(
            _Column("rows", [("" if part is None else numbers.count(part.judged), "") for part in parts])
        )
        columns.append(_Column("positive", [("" if part is None else positive(part), "") for part in parts]))
    columns += [
        _Column(figure.short, [_cell(page, figure.of(line.measures)) for line in lines]) for figure in figures
    ]
    columns += [_Column(heading, [(of(line), "") for line in lines]) for heading, of in more]
    names = [page.own(line.name) if line.own else page.data(line.name) for line in lines]
    room = page.width - sum(column.width + 1 for column in columns)
    if room < _NARROWEST_NAME and len(figures) > 1:
        half = (len(figures) + 1) // 2
        _table(page, title, lines, figures[:half], counts=counts)
        _table(page, f"{title} (continued)", lines, figures[half:], more=more, counts=False)
        return
    name_width = max(min(max(map(page.cells, names)), _WIDEST_NAME, room), _NARROWEST_NAME)
    page.line((page.data(title), "bold"))
    headings = "".join(f" {column.heading:>{column.width}}" for column in columns)
    page.line((" " * name_width + headings, "dim"))
    for number, name in enumerate(names):
        above, below = (
            "".join(f" {page.own(column.cells[number][half]):>{column.width}}" for column in columns)
            for half in (0, 1)
        )
        page.line(page.pad(name, name_width), above)
        if below.strip():
            page.line((" " * name_width + below, "dim"))
    for reason in reasons(lines, figures):
        page.wrapped((page.data(f"– {reason}"), "dim"), hang=2)
    page.line()


def _cell(page: Page, estimate: Estimate) -> tuple[str, str]:
    return page.own(value(estimate)), interval(estimate, ".." if page.ascii else "–")


def _best_threshold(line: Line) -> str:
    return numbers.score(None if line.part is None else line.part.best_threshold)


def _label_mass(line: Line) -> str:
    return numbers.score(None if line.part is None else line.part.label_mass)


def _plots(page: Page, encoding: str, result: Agreement) -> None:
    overall = result.overall
    ascii_only = page.ascii or not _holds_blocks(encoding)
    drawings = (
        (
            "Reliability (bar: share of positive rows, mark: mean P)",
            reliability_lines(overall.reliability, ascii_only=ascii_only, width=page.width),
        ),
        ("ROC curve of all rows", roc_lines(overall.roc, ascii_only=ascii_only)),
    )
    for title, lines in drawings:
        if not lines:
            continue
        page.wrapped((title, "bold"))
        for line in lines:
            page.line(line)
        page.line()


def _holds_blocks(encoding: str) -> bool:
    try:
        BLOCKS.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _wrong(page: Page, rows: Sequence[WrongRow]) -> None:
    """Print the worst rows: what people say against what the judge says, and the claim."""
    if not rows:
        return
    page.line(("Most confidently wrong", "bold"))
    inner = page.mark_width + 1
    for row in rows[:_MOST_WRONG]:
        verdict = f"{numbers.equation(row.probability)}, people say {'yes' if row.label else 'no'}"
        about = page.data(" ".join(filter(None, [row.set, row.id, row.kind])))
        room = page.width - inner - len(verdict) - 2
        page.line(page.mark(FAILED), " ", (page.own(verdict), "bold"), "  ", (page.fit(about, room), "dim"))
        for line in page.wrap(page.data(row.claim), page.width - inner, _MOST_LINES):
            page.line(line, indent=inner)
        if row.question:
            question = page.fit(f"question: {page.data(row.question)}", page.width - inner)
            page.line((question, "dim"), indent=inner)
    if len(rows) > _MOST_WRONG:
        page.line((page.own(f"… and {numbers.count(len(rows) - _MOST_WRONG)} more"), "dim"), indent=inner)
    page.line()


def _judge_line(page: Page, judge: JudgeInfo) -> str:
    line = f"judge {page.data(judge.id)} ({page.data(judge.fingerprint[: numbers.DIGEST_DIGITS])})"
    if judge.calibration is None:
        return f"{line}, not calibrated"
    return f"{line}, calibrated ({page.data(judge.calibration[: numbers.DIGEST_DIGITS])})"
