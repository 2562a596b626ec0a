"""What stands behind an English coordinator or semicolon: a subject with its verb, or something less."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from ragjudge.text.clause_words import DASHES, Form, Word
from ragjudge.text.english_openings import opening
from ragjudge.text.english_phrases import (
    agree,
    before_adverbs,
    comma_from,
    form_at,
    is_candidate,
    is_finite_past,
    is_light,
    is_plural,
    is_round_figure,
    low_at,
)
from ragjudge.text.english_verbs import english_verbs
from ragjudge.text.english_words import (
    CONNECTIVES,
    COORDINATORS,
    DETERMINERS,
    HARD,
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
_FARTHEST = 28
_STOPS = frozenset({";", ":", "but", "or", "nor", "so", "yet"}) | DASHES
_NO_SUBJECTS = COORDINATORS | SUBORDINATORS | SOFT | OBJECT_PRONOUNS | {"not", "to", "or", "so", "only"}


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


def ahead(words: Sequence[Word]) -> Ahead:
    """Tell whether a subject and its verb follow.

    Args:
        words: The words and marks behind a coordinator or a semicolon, up to the end of the sentence.
    """
    begin, _, known = opening(words[:_FARTHEST], 0, participles=False)
    if not known or not 0 <= begin < len(words):
        return _NOTHING
    rest = words[begin : begin + _REACH]
    first = rest[0].low
    if _is_time(rest):
        return _NOTHING
    if (first in PRONOUNS or first == "there") and low_at(rest, 1) not in {"and", ",", "."}:
        return _behind_pronoun(rest)
    if is_round_figure(rest, 0) or first in PRONOUNS:
        return _behind_noun(rest, bare=False)
    if first in DETERMINERS or first in QUANTIFIERS or rest[0].name or first[0].isdigit():
        # "Many are sold" ends a list as well as a noun alone does.
        is_alone = first in QUANTIFIERS and first not in DETERMINERS and form_at(rest, 1) > Form.NONE
        return _NOTHING if first == "that" and _is_parallel(rest) else _behind_noun(rest, bare=is_alone)
    return _NOTHING if _is_no_noun(rest) else _behind_noun(rest, bare=True)


def _is_parallel(rest: Sequence[Word]) -> bool:
    """Tell whether "that" begins a clause: "and that the king was ill"."""
    following = low_at(rest, 1)
    return (
        following in DETERMINERS
        or following in PRONOUNS
        or following in QUANTIFIERS
        or following == "there"
        or (is_plural(following) and form_at(rest, 1) < Form.SURE)
    )


def _is_no_noun(rest: Sequence[Word]) -> bool:
    first, following = rest[0], low_at(rest, 1)
    is_order = first.form == Form.PLURAL and (is_light(following) or following in HARD)
    return (
        is_order
        or first.low in _NO_SUBJECTS
        or first.low in CONNECTIVES
        or (first.low.endswith("ing") and is_light(following))
        or first.form >= Form.PAST
        or is_adverb(first.low)
        or not first.is_word
    )


def _is_time(rest: Sequence[Word]) -> bool:
    """Tell whether a time begins that is no subject: "and a month before her death had run"."""
    for at, word in enumerate(rest[:5]):
        if word.form >= Form.PAST:
            return False
        if word.low in UNITS and low_at(rest, at + 1) in LATER:
            return True
    return False


def _behind_pronoun(rest: Sequence[Word]) -> Ahead:
    for at in range(1, min(4, len(rest))):
        low, form = rest[at].low, rest[at].form
        if form and not is_adverb(low):
            # "and so it is": an auxiliary alone repeats what was said before.
            is_alone = form == Form.AUXILIARY and at + 1 >= len(rest)
            return _NOTHING if is_alone else Ahead(Surety.SURE, bare=False, form=form)
        if not is_adverb(low) and low not in {"all", "both", "never"}:
            break
    return _NOTHING


def _behind_noun(rest: Sequence[Word], *, bare: bool) -> Ahead:
    perhaps = Form.NONE
    relatives = joints = 0
    at = 0
    while (at := at + 1) < len(rest):
        word = rest[at]
        if word.low == ",":
            at = -1 if perhaps else _closing(rest, at)
        elif word.low == "and":
            joints += 1
            at = at if joints == 1 and not perhaps and _may_join(rest, at) else -1
        elif word.low in RELATIVES or word.low == "that":
            relatives += 1
            at = -1 if perhaps else at
        elif _breaks(rest, at, had_verb=bool(perhaps)):
            at = -1
        elif is_candidate(rest, at):
            if relatives:
                relatives -= word.form >= Form.PAST
                continue
            surety = _surety(rest, at, bare=bare)
            if surety == Surety.SURE or word.form >= Form.SURE:
                return Ahead(surety, bare=bare, form=word.form)
            perhaps = perhaps or (word.form if surety else Form.NONE)
        if at < 0:
            break
    return Ahead(Surety.PERHAPS, bare=bare, form=perhaps) if perhaps else _NOTHING


def _closing(rest: Sequence[Word], at: int) -> int:
    """Return where what a comma opens ends, behind which the verb comes; -1 otherwise."""
    closing = comma_from(rest, at + 1)
    return closing if closing > 0 and form_at(rest, closing + 1) >= Form.PAST else -1


def _may_join(rest: Sequence[Word], at: int) -> bool:
    return form_at(rest, at + 1) < Form.PAST and low_at(rest, at + 1) not in ADVERBS


def _breaks(rest: Sequence[Word], at: int, *, had_verb: bool) -> bool:
    """Tell whether a word shows that no subject goes on here."""
    low, previous = rest[at].low, rest[at - 1].low
    if (
        low in _STOPS
        or low in HARD
        or low in SUBJECT_PRONOUNS
        or (low in {"it", "you"} and previous not in PREPOSITIONS)
    ):
        return True
    if low in SOFT and not (low in PREPOSITIONS and (had_verb or _is_phrase(rest, at))):
        return True
    # "a letter Bob wrote"
    is_plain_noun = not rest[at - 1].name and rest[at - 1].is_word and not previous[0].isdigit()
    return rest[at].name and is_plain_noun and not goes_before_name(previous)


def _is_phrase(rest: Sequence[Word], at: int) -> bool:
    """Tell whether "as" or "since" begins no clause: "its work as a whole", "his life since 1990"."""
    following = low_at(rest, at + 1)
    return following[0].isdigit() or (rest[at].low == "as" and following not in PRONOUNS)


def _surety(rest: Sequence[Word], at: int, *, bare: bool) -> Surety:
    word = rest[at]
    if word.form == Form.AUXILIARY:
        is_whole = at + 1 < len(rest) and agree(rest[:at], word.low, bare=bare)
        return Surety.SURE if is_whole else Surety.NONE
    if word.form == Form.SURE:
        return Surety.SURE
    if word.form == Form.PAST:
        if low_at(rest, at + 1) == "by" or (is_adverb(rest[at - 1].low) and rest[at - 1].low not in ADVERBS):
            return Surety.NONE
        return Surety.SURE if is_finite_past(rest, at) else Surety.PERHAPS
    if rest[at - 1].low in ADVERBS and at > 1:
        return Surety.SURE
    return _surety_of_singular(rest, at) if word.form == Form.SINGULAR else _surety_of_plural(rest, at)


def _surety_of_singular(rest: Sequence[Word], at: int) -> Surety:
    previous, following = before_adverbs(rest, at), low_at(rest, at + 1)
    if is_plural(previous) or form_at(rest, at - 1) or previous in PREPOSITIONS:
        return Surety.NONE
    if is_light(following):
        return Surety.SURE
    return Surety.PERHAPS if following in PREPOSITIONS else Surety.NONE


def _surety_of_plural(rest: Sequence[Word], at: int) -> Surety:
    previous, following = before_adverbs(rest, at), low_at(rest, at + 1)
    if not is_plural(previous) and previous not in QUANTIFIERS:
        return Surety.NONE
    if is_light(following) or not english_verbs().plural[rest[at].low]:
        return Surety.SURE
    # "the customs house in Leeds"
    has_article = rest[0].low in DETERMINERS and rest[0].low not in QUANTIFIERS
    return Surety.NONE if has_article and low_at(rest, 1) not in QUANTIFIERS else Surety.PERHAPS
