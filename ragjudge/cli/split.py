"""``ragjudge split``: show the pieces of a text, and which of them count as claims."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ragjudge.cli.options import format_option
from ragjudge.cli.textarg import read_text_argument
from ragjudge.reports.printable import printable

if TYPE_CHECKING:
    from ragjudge.text.claims import Claim


@click.command("split")
@click.argument("text")
@format_option
@click.option(
    "--claims",
    "mode",
    type=click.Choice(["sentence", "clause"]),
    default="sentence",
    show_default=True,
    help="One claim per sentence, or per clause that stands on its own.",
)
@click.option(
    "--language",
    default="english",
    show_default=True,
    help="Language of TEXT: its name in English or its two-letter code.",
)
@click.option(
    "--code",
    type=click.Choice(["skip", "whole"]),
    default="skip",
    show_default=True,
    help="Leave fenced code out, or take each block as one claim.",
)
@click.option(
    "--abbreviation", "abbreviations", multiple=True, help="A word whose full stop ends no sentence."
)
def split(text: str, form: str, mode: str, language: str, code: str, abbreviations: tuple[str, ...]) -> None:
    """Cut TEXT into the pieces that are judged one by one.

    TEXT is the text itself, - for standard input or @FILE for a UTF-8 file (put -- in front of a text that
    begins with a dash). Offsets count characters. JSON is a list of objects with text, start, end, claim
    (true or false) and reason: why a piece is no claim, empty for a claim. Where the judge reads something
    else than the text (a link without its address, a table row with its header, an item behind its lead-in,
    a clause with its subject), judge_text says what.
    """
    from ragjudge.text.claims import claims

    found = claims(read_text_argument(text), language, mode, abbreviations, code=code)
    if form == "json":
        click.echo(_as_json(found))
        return
    for number, claim in enumerate(found, start=1):
        click.echo(_as_line(number, claim, found))
    total = sum(claim.is_claim for claim in found)
    click.secho(f"{_count(len(found), 'piece')}, {_count(total, 'claim')}", bold=True)


def _as_json(found: Sequence[Claim]) -> str:
    rows = [_as_row(claim) for claim in found]
    plain = json.dumps(rows, ensure_ascii=False, indent=2)
    # Whatever a terminal would obey, or cannot show, is written as JSON's own escapes.
    safe = all(printable(line, _encoding()) == line for line in plain.split("\n"))
    return plain if safe else json.dumps(rows, indent=2)


def _as_row(claim: Claim) -> dict[str, Any]:
    row: dict[str, Any] = {
        "text": claim.text,
        "start": claim.start,
        "end": claim.end,
        "claim": claim.is_claim,
        "reason": claim.reason,
    }
    return {**row, "judge_text": claim.judge_text} if _reads_differently(claim) else row


def _reads_differently(claim: Claim) -> bool:
    return claim.is_claim and claim.judge_text != claim.text


def _as_line(number: int, claim: Claim, found: Sequence[Claim]) -> str:
    width = len(str(len(found)))
    offsets = f"{claim.start}-{claim.end}".rjust(len(f"{found[-1].start}-{found[-1].end}"))
    mark = click.style("claim", fg="green") if claim.is_claim else click.style("-    ", fg="yellow")
    why = click.style(f"  ({claim.reason})", fg="yellow") if claim.reason else ""
    text = printable(claim.text, _encoding())
    line = f"{number:>{width}}  {mark}  {click.style(offsets, dim=True)}  {text}{why}"
    if not _reads_differently(claim):
        return line
    said = click.style(f"judged as: {printable(claim.judge_text, _encoding())}", dim=True)
    return f"{line}\n{' ' * (width + 9 + len(offsets) + 2)}{said}"


def _encoding() -> str:
    return getattr(sys.stdout, "encoding", None) or "utf-8"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
