"""``ragjudge split``: show the pieces of a text, and which of them count as claims."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ragjudge.cli.command import Command
from ragjudge.cli.options import JudgeOptions, format_option, judge_options
from ragjudge.cli.textarg import read_text_argument
from ragjudge.errors import UsageError
from ragjudge.reports.printable import printable

if TYPE_CHECKING:
    from ragjudge.records import Call
    from ragjudge.text.claims import Claim, ClaimMode, CodeMode


@click.command("split", cls=Command, epilog="Exit codes: 0 done, 2 bad input, 3 no judge, 4 replay miss.")
@judge_options
@click.argument("text")
@format_option
@click.option(
    "--claims",
    "mode",
    type=click.Choice(["sentence", "clause", "judge"]),
    default="sentence",
    show_default=True,
    help="One claim per sentence, per clause that stands on its own, or per fact that the judge finds.",
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
def split(
    options: JudgeOptions,
    text: str,
    form: str,
    mode: ClaimMode,
    language: str,
    code: CodeMode,
    abbreviations: tuple[str, ...],
) -> None:
    """Cut TEXT into the pieces that are judged one by one.

    TEXT is the text itself, - for standard input or @FILE for a UTF-8 file (put -- in front of a text that
    begins with a dash). Offsets count characters. JSON is a list of objects with text, start, end, claim
    (true or false) and reason: why a piece is no claim, empty for a claim. Where the judge reads something
    else than the text (a link without its address, a table row with its header, an item behind its lead-in,
    a clause with its subject), judge_text says what.

    With --claims judge the judge cuts the sentences that may hold several claims; they are then listed below
    their sentence (in JSON: claims), or whole says why it stays one claim. All other options about the judge
    and the cache are for this alone.
    """
    from ragjudge.text.claims import claims

    if mode != "judge" and options.given:
        raise UsageError(f"{options.given[0]} belongs to --claims judge; nothing else asks a judge.")
    if options.calibration is not None:
        raise UsageError("--calibration corrects verdicts, and no verdict is asked for here.")
    found = claims(read_text_argument(text), language, mode, abbreviations, code=code)
    shown = _cut(found, options) if mode == "judge" else [Shown(claim) for claim in found]
    if form == "json":
        click.echo(_as_json(shown))
        return
    for number, one in enumerate(shown, start=1):
        click.echo(_as_line(number, one, found))
    total = sum(len(one.parts) or 1 for one in shown if one.claim.is_claim)
    click.secho(f"{_count(len(found), 'piece')}, {_count(total, 'claim')}", bold=True)


class Shown(NamedTuple):
    """A piece as it is shown.

    Attributes:
        claim: The piece.
        parts: The claims that a judge found in it; empty when it is one.
        whole: Why it stays one though a judge was asked; empty otherwise.
    """

    claim: Claim
    parts: tuple[str, ...] = ()
    whole: str = ""


def _cut(found: Sequence[Claim], options: JudgeOptions) -> list[Shown]:
    """Ask the judge which claims the pieces hold."""
    from ragjudge.cache.opening import open_caching_judge
    from ragjudge.cli.grading import say_notices, say_write_error
    from ragjudge.metrics.cutting import cutting_call, read_parts
    from ragjudge.planning import WINDOW_CALLS
    from ragjudge.prompts.profiled import in_profile
    from ragjudge.sessions import open_store

    sentences = list(dict.fromkeys(claim.judge_text for claim in found if claim.compound))
    if not sentences:
        return [Shown(claim) for claim in found]
    read: dict[str, tuple[tuple[str, ...], str]] = {}
    judge = options.open_judge()
    with closing(open_store(options.place, read_only=options.replay)) as store:
        say_notices(store)
        asked = open_caching_judge(judge, store, replay=options.replay)
        try:
            for start in range(0, len(sentences), WINDOW_CALLS):
                window = sentences[start : start + WINDOW_CALLS]
                calls: list[Call] = [cutting_call(sentence) for sentence in window]
                if judge.profile is not None:
                    calls = [in_profile(call, judge.profile) for call in calls]
                for index, outcome in asked.ask(calls):
                    read[window[index]] = read_parts(window[index], outcome)
        finally:
            judge.close()
    say_write_error(store)
    return [Shown(claim, *(read[claim.judge_text] if claim.compound else ())) for claim in found]


def _as_json(shown: Sequence[Shown]) -> str:
    rows = [_as_row(one) for one in shown]
    plain = json.dumps(rows, ensure_ascii=False, indent=2)
    # Whatever a terminal would obey, or cannot show, is written as JSON's own escapes.
    safe = all(printable(line, _encoding()) == line for line in plain.split("\n"))
    return plain if safe else json.dumps(rows, indent=2)


def _as_row(shown: Shown) -> dict[str, Any]:
    claim = shown.claim
    row: dict[str, Any] = {
        "text": claim.text,
        "start": claim.start,
        "end": claim.end,
        "claim": claim.is_claim,
        "reason": claim.reason,
    }
    if _reads_differently(claim):
        row["judge_text"] = claim.judge_text
    if shown.parts:
        row["claims"] = list(shown.parts)
    if shown.whole:
        row["whole"] = shown.whole
    return row


def _reads_differently(claim: Claim) -> bool:
    return claim.is_claim and claim.judge_text != claim.text


def _as_line(number: int, shown: Shown, found: Sequence[Claim]) -> str:
    claim = shown.claim
    width = len(str(len(found)))
    offsets = f"{claim.start}-{claim.end}".rjust(len(f"{found[-1].start}-{found[-1].end}"))
    mark = click.style("claim", fg="green") if claim.is_claim else click.style("-    ", fg="yellow")
    why = click.style(f"  ({claim.reason})", fg="yellow") if claim.reason else ""
    text = printable(claim.text, _encoding())
    lines = [f"{number:>{width}}  {mark}  {click.style(offsets, dim=True)}  {text}{why}"]
    read = shown.parts or ((claim.judge_text,) if _reads_differently(claim) else ())
    below = [f"judged as: {said}" for said in read] + [f"one claim: {shown.whole}"] * bool(shown.whole)
    indent = " " * (width + 9 + len(offsets) + 2)
    lines += [indent + click.style(printable(line, _encoding()), dim=True) for line in below]
    return "\n".join(lines)


def _encoding() -> str:
    return getattr(sys.stdout, "encoding", None) or "utf-8"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
