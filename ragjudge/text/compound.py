"""Which sentences may say several things, and whether what a judge cut them into says the same. Pure.

Both rules are about the form alone, and cautious in the same direction: a sentence that is asked about for
nothing costs a call, and one that stays whole costs nothing but detail.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragjudge.text.overlap import content_words
from ragjudge.text.phrases import Phrases
from ragjudge.text.verbs import AUXILIARIES

SHORT_WORDS = 12
"""Words of the longest English sentence that is taken for one claim when nothing in it joins two."""

SHORT_WORDS_ELSEWHERE = 8
"""The same in other languages, whose relative clauses are told by their commas alone."""

SHORT_UNSPACED = 24
"""Characters of the longest such sentence in a script that has no spaces between words."""

LONGEST = 1_000
"""Characters of the longest sentence that a judge is asked about; a longer one stays whole."""

LONGEST_UNSPACED = 250
"""The same in a script without spaces, of which a model writes a character or less at a time."""

MOST_FOREIGN = 0.25
"""Largest share of a claim's content words that its sentence may not have."""

MOST_MISSING = 0.125
"""Largest share of a sentence's content words that none of its claims has: one of eight."""

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
# A comma inside a figure joins nothing; a colon stands behind a label ("Capital: Paris").
_JOINING_MARKS = re.compile(r"(?<!\d),|,(?!\d)|[;()\[\]{}—،؛、，；（）]|\s[-–]\s")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_JOINING_WORDS = _words(
    """
    and or but nor while whereas although though because since after before when where who whom whose which
    that as plus
    """
)
_MODALS = _words("may might could can would should must")
_NEGATIONS = frozenset(word.replace("'", "") for word in AUXILIARIES if word.endswith("n't")) | _words(
    """
    not no never none nor neither nobody nothing nowhere without cannot hardly barely
    nicht nichts kein keine keinen keinem keiner keines nie niemals niet geen nooit inte ingen aldrig ikke ei
    pas jamais aucun aucune non nunca ningún ninguna não nenhum nenhuma nessun nessuna не нет никогда δεν
    """
)


def may_say_several_things(said: str, own: Phrases, *, english: bool) -> bool:
    """Tell whether a sentence could hold more than one claim.

    It could unless it is short (`SHORT_WORDS`) and holds no comma, semicolon, dash or bracket and no word
    that joins clauses: "and", "or", "but", "which", "because", or what they are in its language. One that is
    longer than `LONGEST` counts as one claim, since no list of short claims could hold what it says.

    Args:
        said: The sentence's wording without markup.
        own: The phrases of its language.
        english: Whether that is English.
    """
    if len(said) > LONGEST:
        return False
    unspaced = len(_UNSPACED.findall(said)) * 2 > len(said)
    if unspaced and len(said) > LONGEST_UNSPACED:
        return False
    if _JOINING_MARKS.search(said):
        return True
    if unspaced:
        return len(said) > SHORT_UNSPACED
    words = _WORD.findall(said.lower())
    if len(words) > (SHORT_WORDS if english else SHORT_WORDS_ELSEWHERE):
        return True
    return any(word in _JOINING_WORDS or own.coordinator.match(word) for word in words)


def why_unlike(sentence: str, parts: Sequence[str]) -> str:
    """Say why claims cannot be what a sentence says; empty when nothing speaks against it.

    Their words decide: each claim is made of the sentence's own (at most `MOST_FOREIGN` of its content words
    and none of its figures are others), none of them is the whole sentence again, all of them together have
    nearly all that the sentence has (all but `MOST_MISSING`, and every figure), and where one side denies or
    leaves open ("not", "may"), so does the other.

    Args:
        sentence: The wording of the sentence.
        parts: The claims, at least one.

    Returns:
        A clause for a report, e.g. ``a claim has words that the sentence does not have``.
    """
    wanted = set(content_words(sentence))
    if not wanted:
        return "the sentence has no words that claims could be compared with"
    covered: set[str] = set()
    for part in parts:
        words = set(content_words(part))
        foreign = words - wanted
        if not words:
            return "a claim has no words of content"
        if any(map(_is_figure, foreign)):
            return "a claim has a figure that the sentence does not have"
        if len(foreign) > MOST_FOREIGN * len(words):
            return "a claim has words that the sentence does not have"
        if words >= wanted and len(parts) > 1:
            return "a claim is the whole sentence again"
        covered |= words
    missing = wanted - covered
    if any(map(_is_figure, missing)):
        return "the claims leave out a figure of the sentence"
    if len(missing) > MOST_MISSING * len(wanted):
        return "the claims leave out words of the sentence"
    if _has(_NEGATIONS, [sentence]) != _has(_NEGATIONS, parts):
        return "the claims do not deny what the sentence denies"
    if _has(_MODALS, [sentence]) != _has(_MODALS, parts):
        return "the claims are not as sure as the sentence"
    return ""


def _is_figure(word: str) -> bool:
    return word[0].isdigit()


def _has(kind: frozenset[str], texts: Sequence[str]) -> bool:
    """Tell whether any of the texts has a word of a kind."""
    return any(
        word.replace("'", "").replace("’", "") in kind
        for text in texts
        for word in _WORD.findall(text.lower())
    )
