"""``ragjudge split``: show the pieces of a text, and which of them count as claims."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ragjudge.cli.textarg import read_text_argument

if TYPE_CHECKING:
    from ragjudge.text.claims import Claim

# Control characters, marks that turn the direction of writing, and halves of surrogate pairs.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


@click.command("split")
@click.argument("text")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="A listing for people, or one JSON list.",
)
def split(text: str, form: str) -> None:
    """Cut TEXT into the pieces that are judged one by one.

    TEXT is the text itself, - for standard input or @FILE for a UTF-8 file (put -- in front of a text that
    begins with a dash). Offsets count characters. JSON is a list of objects with text, start, end, claim
    (true or false) and reason: why a piece is no claim, empty for a claim.
    """
    from ragjudge.text.claims import claims

    found = claims(read_text_argument(text))
    if form == "json":
        click.echo(_as_json(found))
        return
    for number, claim in enumerate(found, start=1):
        click.echo(_as_line(number, claim, found))
    total = sum(claim.is_claim for claim in found)
    click.secho(f"{_count(len(found), 'piece')}, {_count(total, 'claim')}", bold=True)


def _as_json(found: Sequence[Claim]) -> str:
    rows = [
        {
            "text": claim.text,
            "start": claim.start,
            "end": claim.end,
            "claim": claim.is_claim,
            "reason": claim.reason,
        }
        for claim in found
    ]
    # Only strings can hold these characters, and there the escape means the same.
    plain = _UNSAFE.sub(
        lambda match: match.group() if match.group() == "\n" else f"\\u{ord(match.group()):04x}",
        json.dumps(rows, ensure_ascii=False, indent=2),
    )
    return plain if _is_printable(plain) else json.dumps(rows, indent=2)


def _as_line(number: int, claim: Claim, found: Sequence[Claim]) -> str:
    width = len(str(len(found)))
    offsets = f"{claim.start}-{claim.end}".rjust(len(f"{found[-1].start}-{found[-1].end}"))
    mark = click.style("claim", fg="green") if claim.is_claim else click.style("-    ", fg="yellow")
    why = click.style(f"  ({claim.reason})", fg="yellow") if claim.reason else ""
    return f"{number:>{width}}  {mark}  {click.style(offsets, dim=True)}  {_shown(claim.text)}{why}"


def _shown(text: str) -> str:
    """Return a text in one line that can do nothing to a terminal."""
    line = _UNSAFE.sub(_escaped, text)
    if _is_printable(line):
        return line
    encoding = _encoding()
    return line.encode(encoding, "backslashreplace").decode(encoding)


def _escaped(match: re.Match[str]) -> str:
    sign = match.group()
    if sign in "\n\r\t":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[sign]
    return f"\\x{ord(sign):02x}" if ord(sign) < 0x100 else f"\\u{ord(sign):04x}"


def _encoding() -> str:
    return getattr(sys.stdout, "encoding", None) or "utf-8"


def _is_printable(text: str) -> bool:
    try:
        text.encode(_encoding())
    except UnicodeEncodeError:
        return False
    return True


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
