"""The beginning of an English clause: its subject and its finite verb, as far as forms tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ragjudge.text.clause_words import Word
from ragjudge.text.english_verbs import Form, Verbs
from ragjudge.text.english_words import (
    CONNECTIVES,
    DETERMINERS,
    FORMULAS,
    OBJECT_PRONOUNS,
    PREPOSITIONS,
    PRONOUNS,
    QUANTIFIERS,
    REASONS,
    RELATIVES,
    SOFT,
    SUBJECT_PRONOUNS,
    UNITS,
    is_adverb,
)
from ragjudge.text.verbs import ADVERBS

_JOINS = frozenset({"and", "but", "so", "yet", "while", "whereas"})
_LONGEST_FORMULA = 4
_PLURALS = frozenset({"people", "men", "women", "children", "police", "fish", "sheep", "cattle", "feet", "mice"})


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


def head(words: Sequence[Word], verbs: Verbs, *, has_subject: bool = True) -> Head | None:
    """Find the subject and the finite verb of a clause; None when it has none or they cannot be told.

    Args:
        words: The words and marks of the clause, a coordinator in front included.
        verbs: The verbs of the language.
        has_subject: False when it goes on with a verb of the subject before.
    """
    begin = 1 if words and words[0].low in _JOINS else 0
    if not has_subject:
        for at in range(begin, min(begin + 4, len(words))):
            if form := verbs.form(words[at].low):
                return Head(at, form, None, framed=False)
        return None
    begin, framed, known = behind_opening(words, begin, verbs)
    if begin < 0 or begin >= len(words):
        return None
    found = _verb_from(words, begin, verbs)
    if found is None:
        return None
    verb, last = found
    if words[begin].low.endswith("ing") and verbs.form(words[verb].low) < Form.SURE:
        # "Having several approaches to one task": what looks like a verb is a noun.
        return None
    return Head(verb, verbs.form(words[verb].low), (begin, last) if known else None, framed)


def behind_opening(
    words: Sequence[Word], at: int, verbs: Verbs, *, participles: bool = True
) -> tuple[int, bool, bool]:
    """Return where the subject begins, whether a frame stands in front, and whether that place is sure.

    The place is -1 behind "when" and the like: what follows does not stand on its own.
    """
    framed = False
    known = True
    while at < len(words):
        low = words[at].low
        formula = _formula(words, at)
        if formula:
            at += formula
        elif low == "once" and _has_verb(words, at + 1, verbs):
            return -1, framed, False
        elif low in CONNECTIVES or low in ADVERBS or is_adverb(low):
            if not _is_comma(words, at + 1) and _is_verb_or_end(words, at + 1, verbs):
                break
            at += 1
        elif low in REASONS and _has_verb(words, at + 1, verbs):
            comma = _comma(words, at)
            if comma < 0:
                return -1, framed, False
            at = comma
        elif low in RELATIVES:
            return -1, framed, False
        elif low in PREPOSITIONS or (
            participles and (low.endswith("ing") or verbs.form(low) == Form.PAST)
        ):
            behind, is_frame = _behind_phrase(words, at, verbs)
            if behind < 0:
                known = False
                break
            at, framed = behind, framed or is_frame
        else:
            break
        if _is_comma(words, at):
            at += 1
    return at, framed, known


def _formula(words: Sequence[Word], at: int) -> int:
    text = " ".join(word.low for word in words[at : at + _LONGEST_FORMULA])
    return next((len(known.split()) for known in FORMULAS if text.startswith(known)), 0)


def _behind_phrase(words: Sequence[Word], at: int, verbs: Verbs) -> tuple[int, bool]:
    """Return the place behind a fronted phrase, -1 if unknown, and whether it frames what follows."""
    low = words[at].low
    dated = False
    for place in range(at + 1, min(at + 16, len(words))):
        word = words[place]
        if word.low == ",":
            is_preposition = low in PREPOSITIONS and low not in {"after", "before", "following", "since", "until", "by"}
            return place, is_preposition and not dated
        if word.low in SUBJECT_PRONOUNS or (word.low in {"it", "there"} and place > at + 1):
            return place, not dated
        if dated and not word.low[0].isdigit() and word.low not in PREPOSITIONS and word.low != "and":
            return place, False
        dated = dated or word.low[0].isdigit()
    return -1, False


def _has_verb(words: Sequence[Word], at: int, verbs: Verbs) -> bool:
    for word in words[at : at + 12]:
        if word.low == ",":
            return False
        if word.low in SUBJECT_PRONOUNS or verbs.form(word.low) >= Form.PAST:
            return True
    return False


def _verb_from(words: Sequence[Word], begin: int, verbs: Verbs) -> tuple[int, int] | None:
    """Return the finite verb of a clause whose subject begins at a place, and the subject's last word."""
    if words[begin].low in PRONOUNS | {"there"} and not _is_joined(words, begin + 1):
        for at in range(begin + 1, min(begin + 5, len(words))):
            if verbs.form(words[at].low) and not is_adverb(words[at].low):
                return at, begin
            if words[at].low not in ADVERBS and not is_adverb(words[at].low) and words[at].low not in {"all", "both"}:
                return None
        return None
    weak = -1
    last = -1
    skipped = 0
    at = begin
    while at + 1 < len(words):
        at += 1
        word = words[at]
        if word.low == ",":
            if weak >= 0:
                break
            closing = _comma(words, at + 1)
            behind = closing + 1 if closing > 0 else len(words)
            while behind < len(words) and (words[behind].low in ADVERBS or is_adverb(words[behind].low)):
                behind += 1
            if closing > 0 and _begins_predicate(words, behind, verbs):
                last, at = (at - 1 if last < 0 else last), closing
            elif at + 1 < len(words) and words[at + 1].low in RELATIVES:
                return None
            continue
        if word.low in {"—", "–", "-", ":", ";"}:
            break
        if weak >= 0 and word.low in SOFT | {"and", "or", "but", "that"}:
            break
        if word.low in RELATIVES or word.low == "that":
            skipped += 1
            continue
        if word.low in SUBJECT_PRONOUNS:
            skipped += 1
            continue
        form = verbs.form(word.low)
        if form == Form.NONE or words[at - 1].low in {"to", "'s"} or is_adverb(word.low):
            continue
        if words[at - 1].low in DETERMINERS and form != Form.AUXILIARY:
            continue
        if skipped:
            if form >= Form.PAST and not _follows_verb(words, at, verbs):
                skipped -= 1
            continue
        if form >= Form.SURE:
            return at, (last if last >= 0 else at - 1)
        if form == Form.PAST and takes_object(words, at, verbs):
            return (weak if weak >= 0 and verbs.form(words[weak].low) == Form.PAST else at), (
                last if last >= 0 else at - 1
            )
        if weak < 0 and _may_be_finite(words, at, form, verbs):
            weak = at
    if weak < 0:
        return None
    return weak, (last if last >= 0 else weak - 1)


def takes_object(words: Sequence[Word], at: int, verbs: Verbs) -> bool:
    """Tell whether an object follows a past form, so that it is no participle."""
    if words[at].low in verbs.naming or at + 1 >= len(words):
        return False
    following = words[at + 1]
    if any(word.low in UNITS for word in words[at + 2 : at + 5]) and following.low not in {"his", "her", "its", "their"}:
        # "deserted a few years later"
        return False
    return (
        following.low in DETERMINERS
        or following.low in OBJECT_PRONOUNS
        or following.low in {"my", "your", "our", "one", "two", "three", "many", "several", "some", "all", "both"}
        or (following.name and following.is_word)
    )


def is_finite_past(words: Sequence[Word], at: int, verbs: Verbs) -> bool:
    """Tell whether a past form behind a noun is certainly no participle."""
    low = words[at].low
    following = words[at + 1].low if at + 1 < len(words) else ""
    return (
        takes_object(words, at, verbs)
        or low in verbs.finite_past
        or words[at - 1].low in PRONOUNS
        or (following in verbs.particles and following != "on")
    )


def _may_be_finite(words: Sequence[Word], at: int, form: Form, verbs: Verbs) -> bool:
    if form == Form.PAST:
        return words[at - 1].low not in {"and", "or"} and words[at + 1 : at + 2] != [] and words[at + 1].low != "by"
    previous = before_adverbs(words, at).low
    following = words[at + 1] if at + 1 < len(words) else None
    if form == Form.PLURAL:
        if not is_plural(previous) and not (following and previous in QUANTIFIERS):
            return False
        is_noun_too = verbs.plural[words[at].low]
        return not is_noun_too or following is None or _begins_complement(following)
    return (
        following is not None
        and _begins_complement(following)
        and previous not in PREPOSITIONS
        and verbs.form(previous) in {Form.NONE, Form.PLURAL}
    )


def before_adverbs(words: Sequence[Word], at: int) -> Word:
    """Return the word in front of a place that is no adverb."""
    at -= 1
    while at > 0 and (words[at].low in ADVERBS or is_adverb(words[at].low)):
        at -= 1
    return words[at]


def agree(subject: Sequence[Word], verb: str) -> bool:
    """Tell whether a subject without an article may go with a verb: "Sri Lanka have" ends a list."""
    if verb not in {"are", "were", "have", "do"}:
        return True
    return any(
        is_plural(word.low) or word.low in QUANTIFIERS or word.low[0].isdigit() or word.low in {"and", "there"}
        for word in subject
    )


def is_plural(low: str) -> bool:
    """Tell whether a word looks like a noun in the plural."""
    return low in _PLURALS or low in {"they", "we", "i", "you"} or (low.endswith("s") and not low.endswith(("ss", "us", "is", "'s")))


def _begins_complement(word: Word) -> bool:
    return (
        word.low in PREPOSITIONS
        or word.low in DETERMINERS
        or word.low in OBJECT_PRONOUNS
        or word.low in QUANTIFIERS
        or word.low in ADVERBS
        or is_adverb(word.low)
        or word.low[0].isdigit()
        or word.low in {"up", "down", "out", "away", "back", "well"}
    )


def _begins_predicate(words: Sequence[Word], at: int, verbs: Verbs) -> bool:
    return at < len(words) and (
        verbs.form(words[at].low) >= Form.PAST
        or (verbs.form(words[at].low) == Form.SINGULAR and at + 1 < len(words) and _begins_complement(words[at + 1]))
    )


def _follows_verb(words: Sequence[Word], at: int, verbs: Verbs) -> bool:
    """Tell whether a form belongs to the auxiliary in front of it."""
    back = at - 1
    while back > 0 and (words[back].low in ADVERBS or is_adverb(words[back].low) or words[back].low in {"not", "been", "be"}):
        back -= 1
    return verbs.form(words[back].low) == Form.AUXILIARY


def _is_comma(words: Sequence[Word], at: int) -> bool:
    return at < len(words) and words[at].low == ","


def _is_joined(words: Sequence[Word], at: int) -> bool:
    return at < len(words) and words[at].low in {"and", "or", ","}


def _is_verb_or_end(words: Sequence[Word], at: int, verbs: Verbs) -> bool:
    return at >= len(words) or verbs.form(words[at].low) >= Form.PAST


def _comma(words: Sequence[Word], at: int) -> int:
    return next((place for place in range(at, len(words)) if words[place].low == ","), -1)
