"""English halves that share a subject: "was born in 1809 and died in 1882"."""

from __future__ import annotations

from collections.abc import Sequence

from ragjudge.text.clause_words import Form, Word
from ragjudge.text.english_heads import Head
from ragjudge.text.english_phrases import is_light, low_at, takes_object
from ragjudge.text.english_verbs import english_verbs
from ragjudge.text.english_words import (
    CONNECTIVES,
    DETERMINERS,
    NEGATIONS,
    NOT_CARRIED,
    PREPOSITIONS,
    RELATIVES,
    SOFT,
    SUBJECT_PRONOUNS,
    is_adverb,
)
from ragjudge.text.verbs import ADVERBS

_LONGEST_SUBJECT = 14
_ONE = frozenset({"is", "was", "has", "does", "isn't", "wasn't", "hasn't", "doesn't"})
_MANY = frozenset({"are", "were", "have", "do", "aren't", "weren't", "haven't", "don't"})
_PERFECT = frozenset({"has", "have", "had"})
_MODALS = frozenset(
    {"can", "could", "may", "might", "must", "shall", "should", "will", "would", "cannot", "can't"}
)
_LATER = frozenset({"later", "then", "subsequently", "eventually", "afterwards"})
# Participles that describe somebody or something as often as they tell what happened.
_STATES = frozenset(
    {"accompanied", "armed", "based", "covered", "decorated", "dressed", "equipped", "filled"}
) | {
    "followed",
    "inspired",
    "located",
    "situated",
    "supported",
    "surrounded",
}
# "works by Bach" are pieces; "flows into" is a verb.
_AIMS = frozenset({"into", "through", "onto", "across", "toward", "towards"})


def shares_subject(left: Sequence[Word], found: Head, right: Sequence[Word]) -> bool:
    """Tell whether behind a coordinator a second verb of the same subject begins a statement of its own.

    Args:
        left: The words and marks in front of the coordinator.
        found: Their subject and verb.
        right: What stands behind it.
    """
    tail = list(left[found.verb + 1 :])
    if tail and tail[-1].low == ",":
        tail.pop()
    if not tail or (found.framed and not any(word.low in _LATER for word in right[:3])):
        return False
    if not _is_closed(left, tail):
        return False
    if left[found.verb].low in _PERFECT and tail[-1].form == Form.PAST:
        # Both verbs may have the same object: "has read, and goes on to praise, the book".
        return False
    at = 0
    while at < len(right) and (right[at].low in CONNECTIVES or is_adverb(right[at].low)):
        at += 1
    if at and low_at(right, at) == ",":
        at += 1
    segment = _segment(right[at:])
    return len(segment) > 1 and _is_verb_of_same(left, found, tail, segment)


def shared_subject(left: Sequence[Word], found: Head) -> tuple[int, int] | None:
    """Return the first and the last index of the subject to carry over; None when none can be."""
    if found.subject is None:
        return None
    begin, last = found.subject
    while last > begin and is_adverb(left[last].low):
        last -= 1
    inside = [word.low for word in left[begin : last + 1]]
    if len(inside) > _LONGEST_SUBJECT or not NOT_CARRIED.isdisjoint(inside):
        return None
    if len(inside) > 1 and not SUBJECT_PRONOUNS.isdisjoint(inside):
        return None
    return None if inside in (["this"], ["that"]) else (begin, last)


def _is_closed(left: Sequence[Word], tail: Sequence[Word]) -> bool:
    """Tell whether the first half is complete, one clause, and says nothing that covers both."""
    hedges = english_verbs().hedges
    if any(word.low in NEGATIONS or word.low in hedges for word in left):
        return False
    last = tail[-1]
    if last.low in PREPOSITIONS or last.low in DETERMINERS or last.low == "to" or last.form == Form.AUXILIARY:
        return False
    if any(word.low in RELATIVES or word.low in SUBJECT_PRONOUNS for word in tail):
        return False
    return not _has_second_clause(tail)


def _has_second_clause(tail: Sequence[Word]) -> bool:
    comma = next((at for at, word in enumerate(tail) if word.low == ","), len(tail))
    for at, word in enumerate(tail):
        if word.form < Form.SURE or low_at(tail, at - 1) in DETERMINERS:
            continue
        if at > comma or any(inner.low in SOFT for inner in tail[:at]):
            return True
        if at > 1 and word.form == Form.AUXILIARY and word.low not in {"have", "do"}:
            return True
    return False


def _segment(right: Sequence[Word]) -> list[Word]:
    """Return the words up to where something else begins."""
    words: list[Word] = []
    for word in right:
        if not word.is_word or word.low in {"and", "but", "or"}:
            break
        words.append(word)
    return words


def _is_verb_of_same(
    left: Sequence[Word], found: Head, tail: Sequence[Word], segment: Sequence[Word]
) -> bool:
    verb = segment[0]
    may_be_infinitive = verb.low in english_verbs().plural or verb.low in {"have", "do"}
    if may_be_infinitive and _has_infinitive(left, is_any=verb.form == Form.PLURAL):
        # "wants to go home and have a rest", "can stay and read"
        return False
    if verb.form >= Form.SURE:
        first = left[found.verb].low
        agrees = not (first in _ONE and verb.low in _MANY) and not (first in _MANY and verb.low in _ONE)
        return agrees and segment[-1].form != Form.AUXILIARY
    if verb.form == Form.PAST:
        return _is_past_of_same(left, found, tail, segment)
    if verb.form == Form.SINGULAR:
        return found.form != Form.PAST and (is_light(segment[1].low) or segment[1].low in _AIMS)
    is_plural = left[found.verb].low in {"are", "have"} or found.form == Form.PLURAL
    is_sure = verb.form == Form.PLURAL and (not english_verbs().plural[verb.low] or is_light(segment[1].low))
    return is_plural and is_sure


def _has_infinitive(left: Sequence[Word], *, is_any: bool) -> bool:
    """Tell whether a base form behind may go on with an infinitive.

    Args:
        left: The words in front.
        is_any: Whether an unknown word behind "to" counts as one.
    """
    plural = english_verbs().plural
    for at, word in enumerate(left):
        following = low_at(left, at + 1)
        if word.low in _MODALS:
            return True
        if word.low != "to":
            continue
        is_noun = is_light(following) or (at + 1 < len(left) and left[at + 1].name)
        if following in plural or following in {"be", "have", "do"} or (is_any and not is_noun):
            return True
    return False


def _is_past_of_same(
    left: Sequence[Word], found: Head, tail: Sequence[Word], segment: Sequence[Word]
) -> bool:
    """Tell whether a past form is finite, and no participle that goes with one in the first half."""
    verbs = english_verbs()
    first, following = left[found.verb].low, segment[1]
    if found.form == Form.AUXILIARY:
        # Behind a passive only what has an object is no second participle.
        return first in {"was", "were"} and takes_object(segment, 0)
    if segment[0].low in _STATES:
        return False
    is_present = found.form in {Form.SINGULAR, Form.PLURAL} or (
        found.form == Form.SURE and first.endswith("s")
    )
    if is_present or following.low == "by":
        return False
    if any(word.form == Form.PAST or word.low in verbs.participles for word in tail):
        return False
    opens = (
        following.low in PREPOSITIONS or following.low in {"to", "well"} or following.low in verbs.particles
    )
    is_object = is_light(following.low) or following.name or following.low in ADVERBS
    # "translated into Dutch and published the works": both verbs have the same object.
    misses_object = tail[0].low in PREPOSITIONS and first not in verbs.intransitive
    return opens or (is_object and not misses_object)
