"""Where an English sentence is cut into clauses.

A wrong cut changes what is judged, so that every rule here gives up when the forms leave a doubt.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragjudge.text.clause_words import DASHES, MOST_JOINS, Cut, Form, Word
from ragjudge.text.english_heads import Head, head
from ragjudge.text.english_phrases import is_finite_past, low_at
from ragjudge.text.english_sharing import shared_subject, shares_subject
from ragjudge.text.english_subjects import Ahead, Surety, ahead
from ragjudge.text.english_verbs import english_verbs
from ragjudge.text.english_words import (
    CONDITIONS,
    COORDINATORS,
    DETERMINERS,
    HARD,
    PREPOSITIONS,
    SOFT,
    UNITS,
)

_SEMICOLONS = frozenset({";", "；"})
_SHARES = frozenset({"and", "but"})
# "is said to be old", which covers what comes behind as well.
_OPINIONS = frozenset(
    {"said", "believed", "thought", "reported", "alleged", "rumoured", "rumored", "supposed"}
) | {
    "claimed",
    "estimated",
    "expected",
    "likely",
    "known",
}
_LONGEST_TAG = 6


def english_cuts(words: Sequence[Word]) -> list[Cut]:
    """Return the places to cut, in order.

    Args:
        words: The sentence, as `english_verbs.with_forms` gives its words.
    """
    joins = sum(word.low in COORDINATORS or word.low in _SEMICOLONS for word in words)
    if not 0 < joins <= MOST_JOINS or not _is_open(words):
        return []
    cuts: list[Cut] = []
    first = 0
    shared: tuple[int, int] | None = None
    for index, word in enumerate(words):
        if word.low in DASHES or word.low == ":":
            # What stands behind a dash or a colon may belong to what stands in front of it as a whole.
            break
        if index <= first or (word.low not in COORDINATORS and word.low not in _SEMICOLONS):
            continue
        cut = _cut_at(words, first, index, shared)
        if cut is not None:
            cuts.append(cut)
            first, shared = index, cut.subject
    return cuts


def _is_open(words: Sequence[Word]) -> bool:
    """Tell whether nothing says or leaves open for the whole sentence what its parts then do."""
    verbs = english_verbs()
    if not words or words[0].low in verbs.hedges:
        return False
    if any(word.low in CONDITIONS or word.low == "according" for word in words):
        return False
    if words[0].low == "in" and low_at(words, 1) in {"theory", "principle"}:
        return False
    comma = max((at for at, word in enumerate(words) if word.low == ","), default=-1)
    tag = words[comma + 1 :]
    if comma < 0 or len(tag) > _LONGEST_TAG or not tag or tag[0].low in COORDINATORS:
        return True
    # "…, the inspector said."
    return not any(word.low in verbs.quoting for word in (*tag[:2], tag[-1]))


def _cut_at(words: Sequence[Word], first: int, index: int, shared: tuple[int, int] | None) -> Cut | None:
    begin = first + (words[first].low in _SEMICOLONS)
    left, join, right = words[begin:index], words[index].low, words[index + 1 :]
    found = head(left, has_subject=shared is None)
    if found is None or not right or not _is_free(left, found):
        return None
    if join in _SEMICOLONS:
        behind = right[1:] if right[0].low in _SHARES else right
        return Cut(index) if not _reports(left) and ahead(behind).surety else None
    if join == "so" and right[0].low == "that":
        return None
    own = ahead(right)
    if own.surety:
        return Cut(index) if _is_own(left, found, own, join) else None
    if join not in _SHARES or _reports(left) or not shares_subject(left, found, right):
        return None
    if shared is not None:
        return Cut(index, shared)
    subject = shared_subject(left, found)
    return None if subject is None else Cut(index, (begin + subject[0], begin + subject[1]))


def _is_free(left: Sequence[Word], found: Head) -> bool:
    """Tell whether no word in front keeps both sides together."""
    pairs = 0
    for at, word in enumerate(left):
        following = low_at(left, at + 1)
        if word.low in HARD and not (word.low == "that" and _points(left, at)):
            return False
        if word.low == "not" and following in {"only", "just", "merely"}:
            return False
        if at >= found.verb and word.low in _OPINIONS and following == "to":
            return False
        if word.low in {"between", "both"}:
            pairs += 1
        elif word.low == "and":
            pairs = max(0, pairs - 1)
    return not pairs


def _points(left: Sequence[Word], at: int) -> bool:
    """Tell whether "that" is a pronoun or an article."""
    following = low_at(left, at + 1)
    return at == 0 or (left[at - 1].low in PREPOSITIONS and (following in UNITS or following in {",", "."}))


def _reports(left: Sequence[Word]) -> bool:
    """Tell whether a verb of saying may have the words behind it as what was said."""
    reporting = english_verbs().reporting
    for at, word in enumerate(left[1:], 1):
        if word.low not in reporting:
            continue
        previous, following = left[at - 1].low, low_at(left, at + 1)
        is_noun = word.form in {Form.SINGULAR, Form.PLURAL} and (
            previous in DETERMINERS or previous in PREPOSITIONS or previous == "to"
        )
        is_passive = word.form == Form.PAST and following in PREPOSITIONS
        if not is_noun and not is_passive:
            return True
    return False


def _is_own(left: Sequence[Word], found: Head, own: Ahead, join: str) -> bool:
    """Tell whether the words behind a coordinator are a clause beside the one in front of it."""
    after_comma = left[-1].low == ","
    if found.framed or _reports(left) or (join not in _SHARES and not after_comma):
        return False
    tail = left[found.verb + 1 :]
    commas = sum(word.low == "," for word in tail) - after_comma
    if after_comma:
        # Behind other commas the last item of a list looks the same.
        return not commas or (own.surety == Surety.SURE and not own.bare)
    if commas or own.surety < Surety.SURE or (own.bare and own.form != Form.AUXILIARY):
        return False
    if any(word.low in SOFT and not _is_dated(tail, at) for at, word in enumerate(tail)):
        return False
    # "A man armed with guns and knives was shot"
    return found.form != Form.PAST or is_finite_past(left, found.verb)


def _is_dated(tail: Sequence[Word], at: int) -> bool:
    return tail[at].low in PREPOSITIONS and low_at(tail, at + 1)[0].isdigit()
