"""What stands in front of the subject of an English clause."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ragjudge.text.clause_words import Form, Word
from ragjudge.text.english_phrases import (
    comma_from,
    form_at,
    is_round_figure,
    low_at,
)
from ragjudge.text.english_words import (
    CONNECTIVES,
    DETERMINERS,
    FORMULAS,
    LATER,
    PREPOSITIONS,
    REASONS,
    RELATIVES,
    SEQUENCES,
    SUBJECT_PRONOUNS,
    UNITS,
    is_adverb,
)

_LONGEST_FORMULA = 4
_LONGEST_FRAME = 16
_LONGEST_REASON = 12


class Opening(NamedTuple):
    """What stands in front of a subject.

    Attributes:
        begin: Where the subject begins; -1 behind "when" and the like, where nothing stands on its own.
        framed: Whether a phrase says where or for whom what follows holds.
        known: Whether the place is sure.
    """

    begin: int
    framed: bool
    known: bool


def opening(words: Sequence[Word], at: int, *, participles: bool = True) -> Opening:
    """Find where the subject of a clause begins.

    Args:
        words: The words and marks of the clause.
        at: Where to begin.
        participles: Whether a participle ("Born in 1900, he …") may stand in front.
    """
    framed = False
    while at < len(words):
        low = words[at].low
        if formula := _formula(words, at):
            at += formula
        elif low in RELATIVES or (low == "once" and _has_verb(words, at + 1)):
            return Opening(-1, framed, known=False)
        elif low in CONNECTIVES or is_adverb(low):
            if low_at(words, at + 1) != "," and form_at(words, at + 1) >= Form.PAST:
                break
            at += 1
        elif low in REASONS and _has_verb(words, at + 1):
            at = comma_from(words, at)
            if at < 0:
                return Opening(-1, framed, known=False)
        elif not is_round_figure(words, at) and _is_fronted(words, at, participles=participles):
            behind, is_frame = _behind_phrase(words, at)
            if behind < 0:
                return Opening(at, framed, known=False)
            at, framed = behind, framed or is_frame
        else:
            break
        if low_at(words, at) == ",":
            # "On July 2, 2018, the …"
            is_date = _is_year(low_at(words, at + 1)) and low_at(words, at - 1)[0].isdigit()
            at += 1 + is_date + (is_date and low_at(words, at + 2) == ",")
    return Opening(at, framed, known=True)


def _is_year(low: str) -> bool:
    return len(low) == 4 and low.isdigit()


def _formula(words: Sequence[Word], at: int) -> int:
    text = " ".join(word.low for word in words[at : at + _LONGEST_FORMULA])
    return next((len(known.split()) for known in FORMULAS if text.startswith(known)), 0)


def _is_fronted(words: Sequence[Word], at: int, *, participles: bool) -> bool:
    low = words[at].low
    if any(
        words[place].low in UNITS and low_at(words, place + 1) in LATER
        for place in range(at + 1, len(words))[:3]
    ):
        # "Two years after the war, …"
        return True
    return low in PREPOSITIONS or (participles and (low.endswith("ing") or words[at].form == Form.PAST))


def _behind_phrase(words: Sequence[Word], at: int) -> tuple[int, bool]:
    """Return the place behind a fronted phrase, -1 if unknown, and whether it frames what follows."""
    first = words[at].low
    dated = False
    for place in range(at + 1, min(at + _LONGEST_FRAME, len(words))):
        word = words[place]
        if word.low == ",":
            return place, first in PREPOSITIONS and first not in SEQUENCES and not dated
        if word.low in SUBJECT_PRONOUNS or (word.low in {"it", "there"} and place > at + 1):
            return place, not dated
        if dated and (word.low in DETERMINERS or (word.name and not words[place - 1].name)):
            return place, False
        dated = dated or word.low[0].isdigit()
    return -1, False


def _has_verb(words: Sequence[Word], at: int) -> bool:
    """Tell whether a verb stands in front of the next comma."""
    for word in words[at : at + _LONGEST_REASON]:
        if word.low == ",":
            return False
        if word.low in SUBJECT_PRONOUNS or word.form >= Form.PAST:
            return True
    return False
