"""Which pieces of a text assert something, and why the others do not.

The rules are cautious: a piece counts as a claim unless it clearly belongs to one of the kinds named by
`Claim.reason`. A claim too many costs a question to the judge; a claim too few hides an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, get_args

from ragjudge.errors import UnknownNameError
from ragjudge.text.clauses import clauses
from ragjudge.text.compound import may_say_several_things
from ragjudge.text.context import Reading, judge_text, readings
from ragjudge.text.kinds import why_not
from ragjudge.text.languages import language_name
from ragjudge.text.phrases import Phrases, phrases_of
from ragjudge.text.plain import plain_text
from ragjudge.text.sentences import Piece, pieces
from ragjudge.text.verbs import AUXILIARIES

ClaimMode = Literal["sentence", "clause", "judge"]
CodeMode = Literal["skip", "whole"]


@dataclass(frozen=True, slots=True)
class Claim:
    """A piece of a text with the decision whether it asserts something.

    Attributes:
        text: The characters of the piece, exactly as the source has them.
        start: Offset of its first character, in characters of the source.
        end: Offset behind its last character.
        is_claim: Whether a judge can find it true or false.
        reason: Empty for a claim; else one of ``greeting``, ``heading``, ``list marker``, ``refusal``,
            ``question``, ``offer of help``, ``lead-in``, ``code``, ``citation marker``, ``bare yes or no``,
            ``no words``.
        judge_text: What the judge reads: the wording without markup (the text of a link, no marks of
            citation), a table row with the names of its columns, a list item behind the sentence that leads
            into it, a clause with the subject it shares with the one before.
        lead_in: The sentence that leads into the list an item stands in; empty elsewhere.
        before: The sentence in front of it in the same paragraph when its subject points back there ("It
            was …"); empty otherwise.
        compound: Whether a judge is to be asked which claims it holds; in ``judge`` mode only.
        part: Whether it is one of the claims that a judge found in this piece: `judge_text` says which.
    """

    text: str
    start: int
    end: int
    is_claim: bool
    reason: str
    judge_text: str = ""
    lead_in: str = ""
    before: str = ""
    compound: bool = False
    part: bool = False


def claims(
    text: str,
    language: str = "english",
    mode: str = "sentence",
    abbreviations: tuple[str, ...] = (),
    *,
    code: str = "skip",
) -> tuple[Claim, ...]:
    """Cut a text into pieces and decide for each whether it asserts something.

    Args:
        text: Any text; plain prose and Markdown alike.
        language: Name or ISO 639-1 code of one of `languages.LANGUAGES`.
        mode: ``sentence``; ``clause`` to cut compound sentences whose parts stand on their own; ``judge`` to
            mark the sentences that may hold several claims, which only a judge can tell.
        abbreviations: Further abbreviations behind which no sentence ends, with or without the full stop.
        code: ``skip`` fenced code, or take each block of it as one claim (``whole``).

    Returns:
        All pieces in order, claims and others; but in ``clause`` mode they are what `sentences` returns. A
        text without words has none.

    Raises:
        UnknownNameError: The language, the mode or the way with code is not known.
    """
    name = language_name(language)
    _check("claims mode", mode, get_args(ClaimMode))
    _check("code mode", code, get_args(CodeMode))
    return _claims(text, name, mode, abbreviations, code)


@lru_cache(maxsize=256)
def _claims(text: str, name: str, mode: str, abbreviations: tuple[str, ...], code: str) -> tuple[Claim, ...]:
    """Cut a text; remembered, since metrics and excerpts cut the same few texts of a sample."""
    found = pieces(text, name, abbreviations)
    own = phrases_of(name)[0]
    result: list[Claim] = []
    for number, (piece, reading) in enumerate(zip(found, readings(found), strict=True)):
        reason = why_not(piece, reading.text, number, len(found), name, code)
        claim = _claim(piece, reading, reason, own)
        if mode == "clause" and claim.is_claim and piece.kind in {"prose", "item"}:
            result += _in_clauses(claim, name, own)
        elif mode == "judge" and claim.is_claim and piece.kind in {"prose", "item"}:
            several = may_say_several_things(reading.text, own, english=name == "english")
            result.append(replace(claim, compound=several))
        else:
            result.append(claim)
    return tuple(result)


def is_refusal(text: str, language: str = "english", abbreviations: tuple[str, ...] = ()) -> bool:
    """Tell whether a text as a whole declines to answer or says that it does not know.

    Greetings, questions and offers of help around the refusal do not matter; one assertion does. An empty
    text is no refusal.

    Args:
        text: Any text.
        language: See `claims`; English refusals are recognised in any.
        abbreviations: See `claims`.

    Raises:
        UnknownNameError: The language is not known.
    """
    found = claims(text, language, "sentence", abbreviations)
    return any(claim.reason == "refusal" for claim in found) and not any(claim.is_claim for claim in found)


def _check(kind: str, name: str, known: tuple[str, ...]) -> None:
    if name not in known:
        raise UnknownNameError(kind, name, known)


def _claim(piece: Piece, reading: Reading, reason: str, own: Phrases) -> Claim:
    span = piece.span
    if reason:
        return Claim(span.text, span.start, span.end, False, reason, reading.text, reading.lead_in)
    if piece.kind in {"code", "data"}:
        return Claim(span.text, span.start, span.end, True, "", span.text)
    before = reading.before if _points_back(reading.text, own) else ""
    said = judge_text(reading, own)
    return Claim(span.text, span.start, span.end, True, "", said, reading.lead_in, before)


def _points_back(said: str, own: Phrases) -> bool:
    low = said[:40].lower()
    return own.pronoun.match(low) is not None or low.partition(" ")[0] in AUXILIARIES


def _in_clauses(claim: Claim, language: str, own: Phrases) -> Iterator[Claim]:
    parts = clauses(claim.text, language, own)
    if len(parts) == 1:
        yield claim
        return
    for number, part in enumerate(parts):
        text = claim.text[part.start : part.end]
        said = plain_text(text[part.skip :])
        if number + 1 < len(parts):
            said = said.rstrip(",;；· ") + "."
        if part.subject:
            said = f"{plain_text(part.subject)} {said}"
        elif number:
            said = said[:1].upper() + said[1:]
        elif claim.lead_in and claim.judge_text.startswith(claim.lead_in):
            said = f"{claim.lead_in} {said}"
        # What a later clause points back to is the clause in front of it.
        before = claim.before if number == 0 else plain_text(claim.text[: part.start]).rstrip(",; ")
        yield replace(
            claim,
            text=text,
            start=claim.start + part.start,
            end=claim.start + part.end,
            judge_text=said,
            before=before if number == 0 or (not part.subject and _points_back(said, own)) else "",
        )
