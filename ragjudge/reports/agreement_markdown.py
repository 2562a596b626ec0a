"""A judge's check as Markdown, for a pull request or a model card. Nothing of the data is obeyed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ragjudge.records import Agreement, JudgeInfo
from ragjudge.reports import numbers
from ragjudge.reports.agreement_figures import (
    FIGURES,
    PART_FIGURES,
    Figure,
    Line,
    breakdowns,
    facts,
    interval,
    positive,
    reasons,
    sets,
    value,
)
from ragjudge.reports.printable import one_line

_MOST_WRONG = 20
_MOST_CHARACTERS = 400
_TICKS = re.compile("`+")
_SIGNS = re.compile(r"[\\`*_{}\[\]()<>#!|~@&]|:(?=//)")


def agreement_markdown(result: Agreement) -> str:
    """Return a check as Markdown with tables.

    Texts from data stand in code spans, or are escaped; always on one line, with controls as escapes.

    Args:
        result: The check.
    """
    lines = ["# How well the judge agrees with people", ""]
    lines += [f"- {_judge(judge)}" for judge in result.judges]
    lines += [f"- {sentence(fact)}" for fact in facts(result)]
    per_set = sets(result)
    lines += ["", f"## {per_set.title}", "", *_table(per_set.lines, FIGURES)]
    for section in breakdowns(result):
        lines += ["", f"## {section.title}", "", *_table(section.lines, PART_FIGURES)]
    if result.wrong:
        lines += ["", "## Most confidently wrong", ""]
    for row in result.wrong[:_MOST_WRONG]:
        about = " ".join(filter(None, [row.set, row.id, row.kind]))
        said = f"{numbers.equation(row.probability)}, people say {'yes' if row.label else 'no'}"
        lines.append(f"- **{sentence(said)}** {code(about)}: {code(row.claim)}")
        if row.question:
            lines.append(f"  Question: {code(row.question)}")
    return "\n".join(lines) + "\n"


def code(text: str, *, in_table: bool = False) -> str:
    """Return any text as a code span, which no reader of Markdown obeys.

    >>> code("a `b` | <i>"), code("``")
    ('`` a `b` | <i> ``', '``` `` ```')
    """
    line = one_line(text)
    if len(line) > _MOST_CHARACTERS:
        line = f"{line[:_MOST_CHARACTERS].rstrip()}…"
    if not line:
        return numbers.MISSING
    longest = max(map(len, _TICKS.findall(line)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest else ""
    # A table is cut at its bars before spans are read, and takes the backslashes away again.
    shown = line.replace("|", "\\|") if in_table else line
    return f"{fence}{pad}{shown}{pad}{fence}"


def sentence(text: str) -> str:
    r"""Return a sentence with texts from data in it, such that every sign in it is only a sign.

    >>> print(sentence("row <b>_1_</b>, see www.example.org"))
    row \<b\>\_1\_\</b\>, see www\.example.org
    """
    return _SIGNS.sub(r"\\\g<0>", one_line(text)).replace("www.", "www\\.")


def _table(lines: Sequence[Line], figures: Sequence[Figure]) -> list[str]:
    head = ["", "rows", "positive", *(figure.name for figure in figures), "label mass"]
    rows = [head, ["---", *["---:"] * (len(head) - 1)]]
    for line in lines:
        part = line.part
        counts = ["", ""] if part is None else [numbers.count(part.judged), positive(part)]
        cells = [
            _cell(value(figure.of(line.measures)), interval(figure.of(line.measures))) for figure in figures
        ]
        mass = numbers.score(None if part is None else part.label_mass)
        rows.append([line.name if line.own else code(line.name, in_table=True), *counts, *cells, mass])
    missing = reasons(lines, figures)
    return [*map(_row, rows), *([""] if missing else []), *(f"- {sentence(reason)}" for reason in missing)]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(figure: str, ends: str) -> str:
    return f"{figure} ({ends})" if ends else figure


def _judge(judge: JudgeInfo) -> str:
    line = f"Judge {code(judge.id)}, fingerprint {code(judge.fingerprint[: numbers.DIGEST_DIGITS])}"
    if judge.calibration is None:
        return f"{line}, not calibrated"
    return f"{line}, calibration {code(judge.calibration[: numbers.DIGEST_DIGITS])}"
