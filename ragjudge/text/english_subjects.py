"""What stands behind an English coordinator or semicolon: a subject with its verb, or something less."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from ragjudge.text.clause_words import DASHES, Word
from ragjudge.text.english_heads import Form, agree, before_adverbs, behind_opening, is_finite_past, is_plural
from ragjudge.text.english_verbs import Verbs
from ragjudge.text.english_words import (
    DETERMINERS,
    LATER,
    OBJECT_PRONOUNS,
    PREPOSITIONS,
    PRONOUNS,
    QUANTIFIERS,
    RELATIVES,
    SOFT,
    SUBJECT_PRONOUNS,
    UNITS,
    goes_before_name,
    is_adverb,
)
from ragjudge.text.verbs import ADVERBS, SUBORDINATORS

_REACH = 16
_STOPS = frozenset({";", ":", "but", "or", "nor", "so", "yet"}) | DASHES


class Surety(IntEnum):
    """How sure it is that a clause with its own subject begins at a place."""

    NONE = 0
    PERHAPS = 1
    SURE = 2


class Ahead(NamedTuple):
    """What begins behind a coordinator.

    Attributes:
        surety: Whether a subject and its finite verb do.
        bare: Whether the subject is a noun without an article or the like.
        form: What form the verb has.
    """

    surety: Surety
    bare: bool
    form: Form


_NOTHING = Ahead(Surety.NONE, bare=False, form=Form.NONE)


def ahead(words: Sequence[Word], verbs: Verbs) -> Ahead:
    """Tell whether a subject and its verb follow.

    Args:
        words: The words and marks behind a coordinator or a semicolon, up to the end of the sentence.
        verbs: The verbs of the language.
    """
    if not words:
        return _NOTHING
    begin, _, known = behind_opening(words[: _REACH + 12], 0, verbs, participles=False)
    if begin < 0 or not known or begin >= len(words):
        return _NOTHING
    first = words[begin].low
    rest = words[begin : begin + _REACH]
    if any(
        word.low in UNITS and rest[at + 1].low in LATER for at, word in enumerate(rest[:5]) if at + 1 < len(rest)
    ):
        # "and a month before her death had run": no subject
        return _NOTHING
    if first in PRONOUNS | {"there"} and len(rest) > 1 and rest[1].low not in {"and", ","}:
        return _behind_pronoun(rest, verbs)
    bare = False
    if first in DETERMINERS or first in QUANTIFIERS or rest[0].name or first[0].isdigit():
        if first == "that" and len(rest) > 1 and (rest[1].low in DETERMINERS or rest[1].low in PRONOUNS):
            return _NOTHING
    elif first in PRONOUNS:
        pass
    elif first in SUBORDINATORS or first in SOFT or first in {"not", "to", "or", "so", "only"} or not rest[0].is_word:
        return _NOTHING
    elif verbs.form(first) >= Form.PAST or first in OBJECT_PRONOUNS or first in ADVERBS or is_adverb(first):
        return _NOTHING
    else:
        bare = True
    return _behind_noun(rest, verbs, bare=bare)


def _behind_pronoun(rest: Sequence[Word], verbs: Verbs) -> Ahead:
    for at in range(1, min(4, len(rest))):
        low = rest[at].low
        form = verbs.form(low)
        if form == Form.AUXILIARY:
            return Ahead(Surety.SURE if at + 1 < len(rest) else Surety.NONE, bare=False, form=form)
        if form and not is_adverb(low):
            return Ahead(Surety.SURE, bare=False, form=form)
        if low not in ADVERBS and not is_adverb(low) and low not in {"all", "both", "never"}:
            break
    return _NOTHING


def _behind_noun(rest: Sequence[Word], verbs: Verbs, *, bare: bool) -> Ahead:
    perhaps = Form.NONE
    skipped = 0
    joined = False
    at = 0
    while at + 1 < len(rest):
        at += 1
        word, previous = rest[at], rest[at - 1]
        if word.low in _STOPS:
            break
        if word.low == ",":
            closing = next((place for place in range(at + 1, len(rest)) if rest[place].low == ","), -1)
            if perhaps or closing < 0 or closing + 1 >= len(rest) or verbs.form(rest[closing + 1].low) < Form.PAST:
                break
            at = closing
            continue
        if word.low == "and":
            following = rest[at + 1].low if at + 1 < len(rest) else ""
            if perhaps or joined or verbs.form(following) >= Form.PAST or following in ADVERBS:
                break
            joined = True
            continue
        if word.low in RELATIVES or word.low == "that":
            if perhaps:
                break
            skipped += 1
            continue
        if word.low in SUBJECT_PRONOUNS or (word.name and _is_relative_name(rest, at)):
            if perhaps:
                break
            return _NOTHING
        if word.low in SOFT:
            if perhaps and word.low not in PREPOSITIONS:
                break
            if at + 1 < len(rest) and rest[at + 1].low in PRONOUNS:
                break
        if word.low in {"it", "you"} and previous.low not in PREPOSITIONS:
            break
        form = verbs.form(word.low)
        if form == Form.NONE or previous.low in {"to", "'s"} or is_adverb(word.low):
            continue
        if previous.low in DETERMINERS and form != Form.AUXILIARY:
            continue
        if skipped:
            skipped -= form >= Form.PAST
            continue
        if form >= Form.SURE:
            if at + 1 >= len(rest):
                return _NOTHING if form == Form.AUXILIARY else Ahead(Surety.SURE, bare=bare, form=form)
            is_sure = agree(rest[:at], word.low) or not (bare or rest[0].name)
            return Ahead(Surety.SURE, bare=bare, form=form) if is_sure else _NOTHING
        surety = _surety(rest, at, form, verbs)
        if surety == Surety.SURE:
            return Ahead(surety, bare=bare, form=form)
        if surety == Surety.PERHAPS and not perhaps:
            perhaps = form
    return Ahead(Surety.PERHAPS, bare=bare, form=perhaps) if perhaps else _NOTHING


def _is_relative_name(rest: Sequence[Word], at: int) -> bool:
    """Tell whether a name begins a relative clause without a pronoun: "a letter Bob wrote"."""
    previous = rest[at - 1]
    return not previous.name and previous.is_word and not goes_before_name(previous.low) and not previous.low[0].isdigit()


def _surety(rest: Sequence[Word], at: int, form: Form, verbs: Verbs) -> Surety:
    word, previous = rest[at], before_adverbs(rest, at)
    following = rest[at + 1].low if at + 1 < len(rest) else "."
    if form == Form.PAST:
        if following == "by" or is_adverb(rest[at - 1].low):
            return Surety.NONE
        if is_finite_past(rest, at, verbs):
            return Surety.SURE
        return Surety.PERHAPS
    is_light = following in DETERMINERS or following in OBJECT_PRONOUNS or is_adverb(following) or following in QUANTIFIERS
    if form == Form.SINGULAR:
        if is_plural(previous.low) or verbs.form(previous.low) or previous.low in PREPOSITIONS:
            return Surety.NONE
        return Surety.SURE if is_light else Surety.PERHAPS if following in PREPOSITIONS else Surety.NONE
    if not is_plural(previous.low) and previous.low not in QUANTIFIERS:
        return Surety.NONE
    if is_light or not verbs.plural[word.low]:
        return Surety.SURE
    return Surety.PERHAPS if following in PREPOSITIONS or following in verbs.particles or following == "." else Surety.NONE
