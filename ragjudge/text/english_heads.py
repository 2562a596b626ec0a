"""The subject and the finite verb of an English clause."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ragjudge.text.clause_words import DASHES, Form, Word
from ragjudge.text.english_openings import opening
from ragjudge.text.english_phrases import (
    behind_adverbs,
    comma_from,
    form_at,
    is_candidate,
    is_light,
    low_at,
    may_be_finite,
    takes_object,
)
from ragjudge.text.english_verbs import english_verbs
from ragjudge.text.english_words import (
    COORDINATORS,
    PREPOSITIONS,
    PRONOUNS,
    QUANTIFIERS,
    RELATIVES,
    SOFT,
    SUBJECT_PRONOUNS,
    is_adverb,
)

_ARTICLES = frozenset({"the", "a", "an"})
_JOINTS = frozenset({"and", "or", "not", "that", "what", "only", "even", "quite", "such"})


class Head(NamedTuple):
    """Where a clause has its subject and its verb.

    Attributes:
        verb: The index of the finite verb among the clause's words.
        form: What form the verb has.
        subject: The first and the last index of the subject; None when it cannot be told.
        framed: Whether a phrase in front ("In France, …") says where all of it holds.
    """

    verb: int
    form: Form
    subject: tuple[int, int] | None
    framed: bool


def head(words: Sequence[Word], *, has_subject: bool = True) -> Head | None:
    """Find the subject and the finite verb of a clause; None when it has none or they cannot be told.

    Args:
        words: The words and marks of the clause, a coordinator in front included.
        has_subject: False when it goes on with a verb of the subject before.
    """
    begin = int(bool(words) and words[0].low in COORDINATORS)
    if not has_subject:
        verb = next((at for at in range(begin, min(begin + 4, len(words))) if words[at].form), -1)
        return Head(verb, words[verb].form, None, framed=False) if verb >= 0 else None
    begin, framed, known = opening(words, begin)
    if begin == 0 and form_at(words, 0) == Form.PLURAL and _is_order(words):
        return None
    if not 0 <= begin < len(words):
        return None
    found = (
        _verb_behind_pronoun(words, begin) if _begins_with_pronoun(words, begin) else _verb_of(words, begin)
    )
    if found is None:
        return None
    verb, last = found
    if _holds_verb(words, begin, last):
        return None
    if words[begin].low.endswith("ing") and words[verb].form < Form.SURE:
        # "Having several approaches to one task": what looks like a verb is a noun.
        return None
    return Head(verb, words[verb].form, (begin, last) if known else None, framed)


def _holds_verb(words: Sequence[Word], begin: int, last: int) -> bool:
    """Tell whether a subject must hold a verb that no list has: an article behind a noun begins an object."""
    return any(
        words[at].low in _ARTICLES and words[at - 1].is_word and not _goes_before_article(words[at - 1].low)
        for at in range(begin + 1, last + 1)
    )


def _goes_before_article(low: str) -> bool:
    return low in PREPOSITIONS or low in QUANTIFIERS or low in _JOINTS or low in RELATIVES


def _is_order(words: Sequence[Word]) -> bool:
    """Tell whether a sentence begins with an order: "Find out more", "Add the flour"."""
    following = low_at(words, 1)
    return is_light(following) or following in english_verbs().particles


def _begins_with_pronoun(words: Sequence[Word], begin: int) -> bool:
    low = words[begin].low
    return (low in PRONOUNS or low == "there") and low_at(words, begin + 1) not in {"and", "or", ","}


def _verb_behind_pronoun(words: Sequence[Word], begin: int) -> tuple[int, int] | None:
    for at in range(begin + 1, min(begin + 5, len(words))):
        low = words[at].low
        if words[at].form and not is_adverb(low):
            return at, begin
        if not is_adverb(low) and low not in {"all", "both"}:
            break
    return None


def _verb_of(words: Sequence[Word], begin: int) -> tuple[int, int] | None:
    """Return the finite verb of a clause whose subject is a noun, and the last word of the subject."""
    weak = last = -1
    relatives = 0
    at = begin
    while (at := at + 1) < len(words):
        low, form = words[at].low, words[at].form
        if low == ",":
            closing = -1 if weak >= 0 else _closing(words, at)
            if closing < 0:
                break
            if closing > at:
                last, at = (at - 1 if last < 0 else last), closing
        elif (
            low in DASHES
            or low in ":;"
            or (weak >= 0 and (low in SOFT or low in {"and", "or", "but", "that"}))
        ):
            break
        elif low in RELATIVES or low == "that" or low in SUBJECT_PRONOUNS:
            relatives += 1
        elif not is_candidate(words, at):
            continue
        elif relatives:
            relatives -= form >= Form.PAST and not _follows_auxiliary(words, at)
        elif form >= Form.SURE or (form == Form.PAST and takes_object(words, at)):
            if form == Form.PAST and weak >= 0 and words[weak].form == Form.PAST:
                break
            return at, (last if last >= 0 else at - 1)
        elif weak < 0 and may_be_finite(words, at):
            weak = at
    return (weak, last if last >= 0 else weak - 1) if weak >= 0 else None


def _closing(words: Sequence[Word], at: int) -> int:
    """Return where what a comma opens ends: at the comma itself in a list, -1 when it does not end."""
    closing = comma_from(words, at + 1)
    behind = behind_adverbs(words, closing + 1)
    is_predicate = form_at(words, behind) >= Form.PAST or (
        form_at(words, behind) == Form.SINGULAR and is_light(low_at(words, behind + 1))
    )
    if closing > 0 and is_predicate:
        return closing
    return -1 if low_at(words, at + 1) in RELATIVES else at


def _follows_auxiliary(words: Sequence[Word], at: int) -> bool:
    """Tell whether a form belongs to the auxiliary in front of it."""
    back = at - 1
    while back > 0 and (is_adverb(words[back].low) or words[back].low in {"not", "been", "be"}):
        back -= 1
    return words[back].form == Form.AUXILIARY
