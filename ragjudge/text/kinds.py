"""Why a piece of a text asserts nothing."""

from __future__ import annotations

import re

from ragjudge.text.phrases import Phrases, phrases_of
from ragjudge.text.refusals import LONGEST_PHRASE, refuses
from ragjudge.text.sentences import Piece

_EDGE_MARKS = " \t\n\r*_\"'“”‘’>~¡"
_QUESTION = re.compile(r"[?？؟\u037e]+[*_)\]\s]*$")
_GREEK_QUESTION = re.compile(r"[;\u037e?]+[*_)\]\s]*$")
_QUOTED_QUESTION = re.compile(r"[\"'“‘«「].{0,400}[?？؟]+[\"'”’»」*_)\]\s]*$", re.DOTALL)
_SENTENCE_ENDS = tuple(".!?。！？")


def why_not(piece: Piece, said: str, number: int, total: int, language: str, code: str) -> str:
    """Return the reason why a piece is no claim, empty when it is one.

    Args:
        piece: The piece.
        said: Its wording without markup.
        number: Its index among the pieces of the text.
        total: How many pieces the text has.
        language: Of the text, as `languages.language_name` returns it.
        code: ``skip`` or ``whole``, see `claims.claims`.
    """
    text = piece.span.text
    if piece.kind == "code":
        return "code" if code == "skip" else ""
    if piece.kind == "header":
        return "heading"
    if piece.kind == "marker":
        # "3." alone may well be the answer to "How many?".
        return "" if total == 1 and text[:1].isdigit() and text.endswith(".") else "list marker"
    if not any(sign.isalnum() for sign in text):
        return "no words"
    if piece.kind in {"row", "data"}:
        return ""
    if piece.kind == "heading":
        return "" if _is_full_sentence(text) else "heading"
    if len(text) > LONGEST_PHRASE:
        return "question" if _is_question(text[-LONGEST_PHRASE:], language) and piece.kind == "prose" else ""
    if number and number + 1 < total and piece.kind == "prose" and _is_bold_title(text):
        return "heading"
    return _why_no_sentence(text, said, language)


def _why_no_sentence(text: str, said: str, language: str) -> str:
    raw = " ".join(text.split()).strip(_EDGE_MARKS).replace("**", "").replace("__", "").lower()
    low = said.strip(_EDGE_MARKS).lower()
    if not any(sign.isalnum() for sign in low):
        return "no words"
    known = phrases_of(language)
    if any(phrases.citation.fullmatch(raw) for phrases in known):
        return "citation marker"
    if reason := next(filter(None, (_formula(low, phrases) for phrases in known)), ""):
        return reason
    if _is_question(text, language):
        return "question"
    if refuses(low, language):
        return "refusal"
    if any(phrases.is_lead_in(low) for phrases in known):
        return "lead-in"
    return "lead-in" if low.endswith((":", "：")) and _is_label(low, known[0]) else ""


def _formula(low: str, phrases: Phrases) -> str:
    bare = low.rstrip(".!… ")
    if phrases.bare_answer.fullmatch(bare):
        return "bare yes or no"
    if phrases.greeting.fullmatch(bare) or phrases.greeting.fullmatch(bare.rstrip(",:")):
        return "greeting"
    if phrases.offer.fullmatch(low.rstrip(".!? ")) and _is_mere_offer(low):
        return "offer of help"
    return ""


def _is_mere_offer(low: str) -> bool:
    if low.startswith(("would", "do you", "can", "may i", "could", "shall", "should", "how", "is there")):
        return low.rstrip("\"'”’*_) ").endswith("?")
    return not re.search(r"[;:]|\b(?:but|however)\b.*\b(?:is|are|was|were|has|have)\b", low)


def _is_question(text: str, language: str) -> bool:
    if _QUESTION.search(text[-40:]) or (language == "greek" and _GREEK_QUESTION.search(text[-40:])):
        return True
    # 'He asked "Why?"' tells something; '"Why?"' alone asks.
    tail = text[-LONGEST_PHRASE:].strip()
    return _QUOTED_QUESTION.fullmatch(tail) is not None


def _is_label(low: str, phrases: Phrases) -> bool:
    """Tell whether a piece with a colon at its end is a mere title: few words and no verb."""
    return (
        len(low.split()) <= 5
        and not phrases.finite_verb.search(low)
        and not any(sign.isdigit() for sign in low)
    )


def _is_full_sentence(text: str) -> bool:
    return (
        text.rstrip("*_ ")[-1:] in _SENTENCE_ENDS
        and text.rstrip("*_ ")[-1:] not in "?？"
        and len(text.split()) >= 4
    )


def _is_bold_title(text: str) -> bool:
    marks = text[:2]
    if marks not in {"**", "__"} or not text.endswith(marks) or marks in text[2:-2]:
        return False
    return text[2:-2].rstrip()[-1:] not in _SENTENCE_ENDS and len(text.split()) <= 8
