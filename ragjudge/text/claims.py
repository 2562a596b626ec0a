"""Which pieces of a text assert something, and why the others do not.

The rules are cautious: a piece counts as a claim unless it clearly belongs to one of the kinds named by
`Claim.reason`. A claim too many costs a question to the judge; a claim too few hides an error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from ragjudge.text.boundaries import sentence_ends
from ragjudge.text.phrases import english
from ragjudge.text.refusals import LONGEST_PHRASE, refuses
from ragjudge.text.sentences import Piece, pieces


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
    """

    text: str
    start: int
    end: int
    is_claim: bool
    reason: str


_EDGE_MARKS = " \t\n\r*_\"'“”‘’>~"
_QUESTION = re.compile(r"[?？؟\u037e]+[*_)\]\s]*$")
_QUOTED_QUESTION = re.compile(r"[\"'“‘«「].{0,400}[?？؟]+[\"'”’»」*_)\]\s]*$", re.DOTALL)


def claims(text: str) -> tuple[Claim, ...]:
    """Cut a text into pieces and decide for each whether it asserts something.

    Args:
        text: Any text; plain prose and Markdown alike.

    Returns:
        All pieces in order, claims and others; together they are what `sentences` returns. A text without
        words has none.
    """
    found = pieces(text)
    result: list[Claim] = []
    for number, piece in enumerate(found):
        reason = _why_not(piece, number, found)
        span = piece.span
        result.append(Claim(span.text, span.start, span.end, not reason, reason))
    return tuple(result)


def is_refusal(text: str) -> bool:
    """Tell whether a text as a whole declines to answer or says that it does not know.

    Greetings, questions and offers of help around the refusal do not matter; one assertion does. An empty
    text is no refusal.
    """
    found = claims(text)
    return any(claim.reason == "refusal" for claim in found) and not any(claim.is_claim for claim in found)


def _why_not(piece: Piece, number: int, found: tuple[Piece, ...]) -> str:
    text = piece.span.text
    if piece.kind == "code":
        return "code"
    if piece.kind == "header":
        return "heading"
    if piece.kind == "marker":
        # "3." alone may well be the answer to "How many?".
        return "" if len(found) == 1 and text[:1].isdigit() and text.endswith(".") else "list marker"
    if not any(sign.isalnum() for sign in text):
        return "no words"
    if piece.kind == "heading":
        return "" if _is_full_sentence(text) else "heading"
    if len(text) > LONGEST_PHRASE:
        return "question" if _is_question(text[-LONGEST_PHRASE:]) and piece.kind == "prose" else ""
    if number and number + 1 < len(found) and piece.kind == "prose" and _is_bold_title(text):
        return "heading"
    if piece.kind == "item":
        # A list item is one piece; it asserts something as soon as one of its sentences does.
        reasons = [_why_no_sentence(sentence) for sentence in _sentences_of(text)]
        return "" if "" in reasons else reasons[0]
    return _why_no_sentence(text)


def _sentences_of(text: str) -> list[str]:
    cuts = [0, *sentence_ends(text, 0, len(text)), len(text)]
    return [text[left:right].strip() for left, right in pairwise(cuts)]


def _why_no_sentence(text: str) -> str:
    plain = " ".join(text.split()).strip(_EDGE_MARKS).replace("**", "").replace("__", "")
    low = plain.lower()
    phrases = english()
    bare = low.rstrip(".!… ")
    if not any(sign.isalnum() for sign in plain):
        return "no words"
    if phrases.citation.fullmatch(low):
        return "citation marker"
    if phrases.bare_answer.fullmatch(bare):
        return "bare yes or no"
    if phrases.greeting.fullmatch(bare) or phrases.greeting.fullmatch(bare.rstrip(",:")):
        return "greeting"
    if phrases.offer.fullmatch(low.rstrip(".!? ")) and _is_mere_offer(low):
        return "offer of help"
    if _is_question(text):
        return "question"
    if refuses(plain):
        return "refusal"
    if phrases.lead_in.fullmatch(low) or (low.endswith(":") and _is_label(low)):
        return "lead-in"
    return ""


def _is_mere_offer(low: str) -> bool:
    if low.startswith(("would", "do you", "can", "may i", "could", "shall", "should", "how", "is there")):
        return low.rstrip("\"'”’*_) ").endswith("?")
    return not re.search(r"[;:]|\b(?:but|however)\b.*\b(?:is|are|was|were|has|have)\b", low)


def _is_question(text: str) -> bool:
    if _QUESTION.search(text[-40:]):
        return True
    # 'He asked "Why?"' tells something; '"Why?"' alone asks.
    tail = text[-LONGEST_PHRASE:].strip()
    return _QUOTED_QUESTION.fullmatch(tail) is not None


def _is_label(low: str) -> bool:
    """Tell whether a piece with a colon at its end is a mere title: few words and no verb."""
    return (
        len(low.split()) <= 5
        and not english().finite_verb.search(low)
        and not any(sign.isdigit() for sign in low)
    )


def _is_full_sentence(text: str) -> bool:
    return text.rstrip("*_ ")[-1:] in tuple(".!。") and len(text.split()) >= 4


def _is_bold_title(text: str) -> bool:
    marks = text[:2]
    if marks not in {"**", "__"} or not text.endswith(marks) or marks in text[2:-2]:
        return False
    return text[2:-2].rstrip()[-1:] not in tuple(".!?。！？") and len(text.split()) <= 8
