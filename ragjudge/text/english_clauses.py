"""Where an English sentence is cut into clauses.

A wrong cut changes what is judged, so that every rule here gives up when the forms leave a doubt.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ragjudge.text.clause_words import DASHES, Word
from ragjudge.text.english_heads import Head, head, is_finite_past, takes_object
from ragjudge.text.english_subjects import Ahead, Surety, ahead
from ragjudge.text.english_verbs import Form, Verbs, english_verbs
from ragjudge.text.english_words import (
    CONDITIONS,
    CONNECTIVES,
    DETERMINERS,
    HARD,
    NEGATIONS,
    NOT_CARRIED,
    OBJECT_PRONOUNS,
    PREPOSITIONS,
    PRONOUNS,
    QUANTIFIERS,
    RELATIVES,
    SOFT,
    SUBJECT_PRONOUNS,
    is_adverb,
)
from ragjudge.text.verbs import ADVERBS

_COORDINATORS = frozenset({"and", "but", "so", "yet", "while", "whereas"})
_SHARES = frozenset({"and", "but"})
_SPANS = frozenset({"year", "time", "day", "month", "point", "night", "season", "period", "decade", "century", "date"})
# "works by Bach" are plays or paintings; "flows into" is a verb.
_AIMS = frozenset({"into", "through", "onto", "across", "toward", "towards"})
_ONE = frozenset({"is", "was", "has", "does", "isn't", "wasn't", "hasn't", "doesn't"})
_MANY = frozenset({"are", "were", "have", "do", "aren't", "weren't", "haven't", "don't"})
_LONGEST_SUBJECT = 14


class Cut(NamedTuple):
    """A place to cut.

    Attributes:
        index: Of the coordinator or semicolon among the words.
        subject: The first and the last word of the subject that both halves share; None when the second one
            has its own.
    """

    index: int
    subject: tuple[int, int] | None


def english_cuts(words: Sequence[Word]) -> list[Cut]:
    """Return the places to cut, in order.

    Args:
        words: The sentence, as `clause_words.words_of` reads it.
    """
    verbs = english_verbs()
    if not _is_open(words, verbs):
        return []
    cuts: list[Cut] = []
    first = 0
    shared: tuple[int, int] | None = None
    for index, word in enumerate(words):
        if word.low in DASHES or word.low == ":":
            # What stands behind a dash or a colon may belong to what stands in front of it as a whole.
            break
        if index <= first or (word.low not in _COORDINATORS and word.low not in ";；"):
            continue
        cut = _cut_at(words, first, index, shared, verbs)
        if cut is not None:
            cuts.append(cut)
            first, shared = index, cut.subject
    return cuts


def _is_open(words: Sequence[Word], verbs: Verbs) -> bool:
    """Tell whether nothing says or leaves open for the whole sentence what its parts then do."""
    if not words or words[0].low in verbs.hedges:
        return False
    if any(word.low in CONDITIONS or word.low == "according" for word in words):
        return False
    if words[0].low in {"in", "to"} and words[1:2] and words[1].low in {"theory", "principle"}:
        return False
    tail = len(words) - 1
    while tail > 0 and words[tail].low != ",":
        tail -= 1
    behind = words[tail + 1 :]
    return not (tail > 0 and len(behind) <= 6 and any(word.low in verbs.quoting for word in (*behind[:2], *behind[-1:])) and not any(word.low in _COORDINATORS for word in behind[:1]))


def _cut_at(words: Sequence[Word], first: int, index: int, shared: tuple[int, int] | None, verbs: Verbs) -> Cut | None:
    left = words[first + (words[first].low in ";；") : index]
    token = words[index].low
    found = head(left, verbs, has_subject=shared is None)
    if found is None or not _is_free(left, found, verbs):
        return None
    right = words[index + 1 :]
    if token in ";；":
        return Cut(index, None) if _is_sentence(left, right, verbs) else None
    after_comma = words[index - 1].low == ","
    own = ahead(right, verbs)
    if own.surety:
        return Cut(index, None) if _is_own(left, found, own, token, verbs, after_comma=after_comma) else None
    if token not in _SHARES or not _is_shared(left, found, right, verbs, after_comma=after_comma):
        return None
    subject = shared if shared is not None else _carried(left, found, words, first)
    return None if subject is None else Cut(index, subject)


def _is_free(left: Sequence[Word], found: Head, verbs: Verbs) -> bool:
    """Tell whether no word in front keeps both sides together."""
    pairs = 0
    for at, word in enumerate(left):
        if word.low in HARD and not (word.low == "that" and _points(left, at)):
            return False
        if word.low == "not" and left[at + 1 : at + 2] and left[at + 1].low in {"only", "just", "merely"}:
            return False
        if word.low in {"between", "both"}:
            pairs += 1
        elif word.low == "and":
            pairs = max(0, pairs - 1)
    if pairs:
        return False
    return not any(
        verbs.form(left[at].low) and left[at].low in {"said", "believed", "thought", "reported", "alleged", "rumoured", "rumored", "supposed", "claimed", "estimated", "expected", "likely", "known"}
        and left[at + 1 : at + 2] and left[at + 1].low == "to"
        for at in range(found.verb, len(left))
    )


def _points(left: Sequence[Word], at: int) -> bool:
    """Tell whether "that" is a pronoun or an article."""
    if at == 0:
        return True
    following = left[at + 1].low if at + 1 < len(left) else ""
    return left[at - 1].low in PREPOSITIONS and (following in _SPANS or following in {",", ""})


def _is_sentence(left: Sequence[Word], right: Sequence[Word], verbs: Verbs) -> bool:
    if _reports(left, verbs):
        return False
    if right and right[0].low in {"and", "but"}:
        right = right[1:]
    return ahead(right, verbs).surety > Surety.NONE


def _reports(left: Sequence[Word], verbs: Verbs) -> bool:
    """Tell whether a verb of saying may have the words behind it as what was said."""
    for at, word in enumerate(left[1:], 1):
        if word.low not in verbs.reporting:
            continue
        form = verbs.form(word.low)
        previous = left[at - 1].low
        if form in {Form.SINGULAR, Form.PLURAL} and (previous in DETERMINERS or previous in PREPOSITIONS or previous == "to"):
            continue
        behind = left[at + 1 :]
        if form == Form.PAST and behind and behind[0].low in PREPOSITIONS:
            continue
        return True
    return False


def _is_own(left: Sequence[Word], found: Head, own: Ahead, token: str, verbs: Verbs, *, after_comma: bool) -> bool:
    if token not in _SHARES and not after_comma:
        return False
    if found.framed or _reports(left, verbs):
        return False
    tail = left[found.verb + 1 :]
    commas = sum(word.low == "," for word in tail) - after_comma
    if own.surety == Surety.PERHAPS:
        return after_comma and not commas and not own.bare
    if after_comma:
        return not (own.bare and commas > 0)
    if any(word.low in SOFT and not _is_dated(tail, at) for at, word in enumerate(tail)):
        return False
    if found.form == Form.PAST and not is_finite_past(left, found.verb, verbs):
        # "A man armed with guns and knives was shot"
        return False
    return not commas and (not own.bare or own.form == Form.AUXILIARY)


def _is_dated(tail: Sequence[Word], at: int) -> bool:
    return tail[at].low in PREPOSITIONS and tail[at + 1 : at + 2] != [] and tail[at + 1].low[0].isdigit()


def _is_shared(left: Sequence[Word], found: Head, right: Sequence[Word], verbs: Verbs, *, after_comma: bool) -> bool:
    """Tell whether a second verb of the same subject follows."""
    tail = left[found.verb + 1 : len(left) - after_comma]
    if not tail or found.framed and not _has_own_time(right):
        return False
    if any(word.low in NEGATIONS or word.low in verbs.hedges for word in left) or _ends_open(tail, verbs):
        return False
    if any(word.low in RELATIVES or word.low in SUBJECT_PRONOUNS for word in tail) or _reports(left, verbs):
        return False
    if _has_second_clause(tail, verbs):
        return False
    at = 0
    while at < len(right) and (right[at].low in ADVERBS or right[at].low in CONNECTIVES or is_adverb(right[at].low)):
        at += 1
    at += at < len(right) and right[at].low == "," and at > 0
    segment = _segment(right[at:])
    if len(segment) < 2:
        return False
    form = verbs.form(segment[0].low)
    if form >= Form.SURE:
        return verbs.form(segment[-1].low) != Form.AUXILIARY and _is_same_number(
            left[found.verb].low, segment[0].low
        )
    if form == Form.PAST:
        return _is_past_shared(left, found, tail, segment, verbs)
    if form == Form.SINGULAR:
        return (_is_light(segment[1]) or segment[1].low in _AIMS) and found.form != Form.PAST
    return form == Form.PLURAL and _is_plural_shared(left, found, segment, verbs)


def _is_same_number(first: str, second: str) -> bool:
    """Tell whether two verbs may have the same subject."""
    return not (first in _ONE and second in _MANY) and not (first in _MANY and second in _ONE)


def _segment(right: Sequence[Word]) -> list[Word]:
    """Return the words up to where something else begins."""
    words: list[Word] = []
    for word in right:
        if not word.is_word or word.low in {"and", "but", "or"}:
            break
        words.append(word)
    return words


def _has_own_time(right: Sequence[Word]) -> bool:
    return any(word.low in {"later", "then", "subsequently", "eventually", "afterwards"} for word in right[:3])


def _ends_open(tail: Sequence[Word], verbs: Verbs) -> bool:
    """Tell whether the first half waits for something that the second half brings."""
    low = tail[-1].low
    return low in PREPOSITIONS or low in DETERMINERS or low == "to" or verbs.form(low) == Form.AUXILIARY


def _has_second_clause(tail: Sequence[Word], verbs: Verbs) -> bool:
    comma = next((at for at, word in enumerate(tail) if word.low == ","), -1)
    for at, word in enumerate(tail):
        form = verbs.form(word.low)
        if form < Form.SURE or tail[at - 1].low in DETERMINERS:
            continue
        if at > comma >= 0 or any(inner.low in SOFT for inner in tail[:at]):
            return True
        if at > 1 and form == Form.AUXILIARY and word.low not in {"have", "do"}:
            return True
    return False


def _is_light(word: Word) -> bool:
    return (
        word.low in DETERMINERS
        or word.low in OBJECT_PRONOUNS
        or word.low in QUANTIFIERS
        or is_adverb(word.low)
        or word.low[0].isdigit()
    )


def _is_past_shared(left: Sequence[Word], found: Head, tail: Sequence[Word], segment: Sequence[Word], verbs: Verbs) -> bool:
    verb, following = segment[0], segment[1]
    if found.form == Form.AUXILIARY:
        # Behind a passive only what has an object is no second participle.
        return left[found.verb].low in {"was", "were"} and takes_object(segment, 0, verbs)
    if found.form == Form.SURE and left[found.verb].low.endswith("s"):
        return False
    if found.form in {Form.SINGULAR, Form.PLURAL} or following.low == "by":
        return False
    if any(verbs.form(word.low) == Form.PAST or word.low in verbs.participles for word in tail):
        return False
    opens = following.low in PREPOSITIONS or following.low == "to" or following.low in verbs.particles
    if not opens and not _is_light(following) and not following.name and following.low not in ADVERBS:
        return False
    misses_object = tail[0].low in PREPOSITIONS and left[found.verb].low not in verbs.intransitive
    return not (misses_object and not opens)


def _is_plural_shared(left: Sequence[Word], found: Head, segment: Sequence[Word], verbs: Verbs) -> bool:
    if left[found.verb].low not in {"are", "have"} and found.form != Form.PLURAL:
        return False
    if any(word.low == "to" for word in left):
        return False
    return not verbs.plural[segment[0].low] or _is_light(segment[1])


def _carried(left: Sequence[Word], found: Head, words: Sequence[Word], first: int) -> tuple[int, int] | None:
    if found.subject is None:
        return None
    begin, last = found.subject
    while last > begin and (left[last].low in ADVERBS or is_adverb(left[last].low)):
        last -= 1
    inside = left[begin : last + 1]
    if len(inside) > _LONGEST_SUBJECT or any(word.low in NOT_CARRIED for word in inside):
        return None
    if len(inside) > 1 and any(word.low in SUBJECT_PRONOUNS for word in inside):
        return None
    if inside[0].low in {"this", "that"} and len(inside) == 1:
        return None
    offset = len(words[:first]) + (words[first].low in ";；" if words else 0)
    return offset + begin, offset + last
