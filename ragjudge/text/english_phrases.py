"""What English words next to each other may be: questions about one place in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from ragjudge.text.clause_words import Form, Word
from ragjudge.text.english_verbs import english_verbs
from ragjudge.text.english_words import (
    DETERMINERS,
    NEGATIONS,
    OBJECT_PRONOUNS,
    PREPOSITIONS,
    PRONOUNS,
    QUANTIFIERS,
    SOFT,
    UNITS,
    is_adverb,
)
from ragjudge.text.verbs import ADVERBS

_PLURALS = frozenset(
    {"people", "men", "women", "children", "police", "fish", "sheep", "cattle", "feet", "mice"}
)
_PLURAL_PRONOUNS = frozenset({"they", "them", "we", "i", "you"})
_NO_PLURALS = ("ss", "us", "is", "'s")
_PLURAL_VERBS = frozenset({"are", "were", "have", "do"})
_POSSESSIVES = frozenset({"his", "her", "its", "their"})
_OBJECTS = frozenset({"one", "two", "three", "many", "several", "some", "all", "both"})
_ROUND = frozenset({"around", "about", "over", "under", "nearly", "almost"})


def low_at(words: Sequence[Word], at: int) -> str:
    """Return the word at a place in lower case; a full stop outside."""
    return words[at].low if 0 <= at < len(words) else "."


def form_at(words: Sequence[Word], at: int) -> Form:
    """Return what the word at a place may be; nothing outside."""
    return words[at].form if 0 <= at < len(words) else Form.NONE


def comma_from(words: Sequence[Word], at: int) -> int:
    """Return the place of the first comma from a place on; -1 when there is none."""
    return next((place for place in range(at, len(words)) if words[place].low == ","), -1)


def behind_adverbs(words: Sequence[Word], at: int) -> int:
    """Return the first place from a place on that is no adverb."""
    while at < len(words) and is_adverb(words[at].low):
        at += 1
    return at


def before_adverbs(words: Sequence[Word], at: int) -> str:
    """Return the word in front of a place that is no adverb."""
    at -= 1
    while at > 0 and is_adverb(words[at].low):
        at -= 1
    return words[at].low


def is_plural(low: str) -> bool:
    """Tell whether a word looks like a noun in the plural."""
    return low in _PLURALS or low in _PLURAL_PRONOUNS or (low.endswith("s") and not low.endswith(_NO_PLURALS))


def agree(subject: Sequence[Word], verb: str, *, bare: bool) -> bool:
    """Tell whether a subject may go with a verb: in "Sri Lanka have" it ends a list of subjects.

    Args:
        subject: Its words.
        verb: An auxiliary.
        bare: Whether it is a noun without an article.
    """
    if verb not in _PLURAL_VERBS or not (bare or subject[0].name):
        return True
    return any(
        (is_plural(word.low) and not word.name)
        or word.low in QUANTIFIERS
        or word.low[0].isdigit()
        or word.low in {"and", "there"}
        for word in subject
    )


def begins_complement(low: str) -> bool:
    """Tell whether a word shows that what is in front of it was a verb rather than a noun."""
    return (
        is_light(low)
        or low in PREPOSITIONS
        or low in SOFT
        or low in ADVERBS
        or low in {"up", "down", "away", "back"}
    )


def is_light(low: str) -> bool:
    """Tell whether a word begins an object or is an adverb: no noun comes in front of it."""
    return (
        low in DETERMINERS
        or low in OBJECT_PRONOUNS
        or low in QUANTIFIERS
        or (low not in ADVERBS and is_adverb(low))
        or low[0].isdigit()
    )


def takes_object(words: Sequence[Word], at: int) -> bool:
    """Tell whether an object follows a past form, so that it is no participle."""
    if words[at].low in english_verbs().naming or at + 1 >= len(words):
        return False
    following = words[at + 1]
    if following.low not in _POSSESSIVES and any(word.low in UNITS for word in words[at + 2 : at + 5]):
        # "deserted a few years later"
        return False
    is_noun_phrase = (
        following.low in DETERMINERS or following.low in OBJECT_PRONOUNS or following.low in _OBJECTS
    )
    return is_noun_phrase or (following.name and following.is_word)


def is_finite_past(words: Sequence[Word], at: int) -> bool:
    """Tell whether a past form behind a noun is certainly no participle."""
    verbs = english_verbs()
    following = low_at(words, at + 1)
    return (
        takes_object(words, at)
        or words[at].low in verbs.finite_past
        or low_at(words, at - 1) in PRONOUNS
        or (following in verbs.particles and following != "on")
    )


def is_candidate(words: Sequence[Word], at: int) -> bool:
    """Tell whether a word that may be a verb is one here: no infinitive, and no noun behind an article."""
    form = words[at].form
    previous = low_at(words, at - 1)
    if form == Form.NONE or previous in {"to", "'s"} or is_adverb(words[at].low):
        return False
    if form == Form.AUXILIARY:
        return True
    # "polar bears are": a noun with "s" in front of its auxiliary
    is_noun = form == Form.SURE and words[at].low.endswith("s") and form_at(words, at + 1) == Form.AUXILIARY
    # "of recognised firms", "a recognised firm"
    is_adjective = previous in DETERMINERS or (previous in PREPOSITIONS and form < Form.SURE)
    return not is_adjective and not is_noun


def may_be_finite(words: Sequence[Word], at: int) -> bool:
    """Tell whether a form that may also be something else is the verb of the clause if there is no better."""
    form = words[at].form
    following = low_at(words, at + 1)
    if form == Form.PAST:
        return low_at(words, at - 1) not in {"and", "or"} and following not in {".", "by"}
    previous = before_adverbs(words, at)
    if form == Form.PLURAL:
        if not is_plural(previous) and previous not in QUANTIFIERS:
            return False
        return not english_verbs().plural[words[at].low] or following == "." or begins_complement(following)
    if low_at(words, at - 1) in NEGATIONS or low_at(words, at - 1) in ADVERBS:
        return True
    is_noun_in_front = previous not in PREPOSITIONS and form_at(words, at - 1) <= Form.PLURAL
    return is_noun_in_front and following != "." and begins_complement(following)


def is_round_figure(words: Sequence[Word], at: int) -> bool:
    """Tell whether a subject begins with words such as "around 5,000"."""
    following = low_at(words, at + 1)
    return low_at(words, at) in _ROUND and (following[0].isdigit() or following in QUANTIFIERS)
