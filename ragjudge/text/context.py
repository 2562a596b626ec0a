"""What a piece needs in front of it to be read alone: a table's header, a list's lead-in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ragjudge.text.phrases import Phrases
from ragjudge.text.plain import plain_text, row_with_header
from ragjudge.text.sentences import Piece

_SENTENCE_ENDS = tuple(".!?。！？।؟")
# A lead-in is a sentence or a title; what is longer is a paragraph that happens to end with a colon.
_LONGEST_LEAD = 400


class Reading(NamedTuple):
    """How a piece is read.

    Attributes:
        text: Its own wording, a table row with its header.
        lead_in: The wording of the sentence that leads into its list, empty elsewhere.
        before: The sentence in front of it in the same paragraph or item, empty for the first one.
    """

    text: str
    lead_in: str
    before: str


def readings(found: Sequence[Piece]) -> list[Reading]:
    """Return how each piece is read, in the order of the pieces."""
    result: list[Reading] = []
    header = ""
    leads: list[tuple[int, str]] = []
    for index, piece in enumerate(found):
        raw = piece.span.text
        if piece.kind == "header":
            header = raw
        elif piece.kind != "row":
            header = ""
        text = row_with_header(header, raw) if piece.kind == "row" else plain_text(raw)
        same = index > 0 and found[index - 1].block == piece.block
        if piece.kind in {"item", "marker"}:
            if not same or found[index - 1].kind != "item":
                # An item leaves the lists that are indented as far as it is or farther.
                leads = [lead for lead in leads if lead[0] < piece.indent or lead[0] < 0]
        elif piece.kind not in {"code", "data"}:
            leads = []
        lead = " ".join(text for _, text in leads) if piece.kind == "item" else ""
        result.append(
            Reading(text, lead, result[-1].text if same and piece.kind in {"prose", "item"} else "")
        )
        leads = _leading(piece, text, found, index, leads)
    return result


def _leading(
    piece: Piece, text: str, found: Sequence[Piece], index: int, leads: list[tuple[int, str]]
) -> list[tuple[int, str]]:
    """Return the lead-ins that hold behind a piece."""
    following = found[index + 1] if index + 1 < len(found) else None
    if following is None or following.kind not in {"item", "marker"} or len(text) > _LONGEST_LEAD:
        return leads
    if piece.kind == "prose" and text.endswith((":", "：")):
        return [(-1, text)]
    if piece.kind == "heading":
        return [(-1, text if text.endswith((":", "?", "：")) else f"{text}:")]
    is_parent = piece.kind == "item" and following.indent > piece.indent and following.block != piece.block
    if is_parent and text.endswith((":", "：")):
        return [*leads, (piece.indent, text)]
    if is_parent and not text.endswith(_SENTENCE_ENDS):
        return [*leads, (piece.indent, f"{text}:")]
    return leads


def judge_text(reading: Reading, phrases: Phrases) -> str:
    """Return what a judge reads for a piece.

    An item that is a sentence of its own does without a mere formula ("Here are the facts:") or a title.

    Args:
        reading: How the piece is read.
        phrases: The wording that asserts nothing, in the text's language.
    """
    lead = reading.lead_in
    if not lead or reading.before:
        return reading.text
    stands_alone = reading.text.endswith(_SENTENCE_ENDS) and len(reading.text.split()) > 3
    if stands_alone and (phrases.is_lead_in(lead.lower()) or _is_title(lead, phrases)):
        return reading.text
    return f"{lead} {reading.text.rstrip(',;')}"


def _is_title(lead: str, phrases: Phrases) -> bool:
    return phrases.knows_verbs and phrases.finite_verb.search(lead.lower()) is None
