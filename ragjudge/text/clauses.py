"""Compound sentences in their clauses: "Darwin was born in 1809 and died in 1882" says two things.

A sentence is cut at a semicolon, and at a coordination, when both halves have a subject and a finite verb and
so stand on their own. An English half without a subject gets the one of the half before it, in what the
judge reads only. The rules give up wherever they cannot be sure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ragjudge.text.clause_words import Cut, Word, words_of
from ragjudge.text.english_clauses import english_cuts
from ragjudge.text.english_verbs import with_forms
from ragjudge.text.other_clauses import other_cuts
from ragjudge.text.phrases import Phrases

# What is longer is a list or a law; its halves would be no clauses.
_LONGEST = 1500
_SEMICOLONS = ";；·"
_JOINS = frozenset({"and", "but"})
_ENGLISH_JOIN = re.compile(r"[;；]|\b(?:and|but|so|yet|while|whereas)\b", re.IGNORECASE)


class Clause(NamedTuple):
    """A part of a sentence.

    Attributes:
        start: Offset of its first character in the sentence.
        end: Offset behind its last one.
        subject: What to put in front when it has none of its own; empty otherwise.
        skip: How many characters at its beginning ("and ") the judge does without.
    """

    start: int
    end: int
    subject: str
    skip: int


def clauses(sentence: str, language: str, phrases: Phrases) -> list[Clause]:
    """Cut a sentence into clauses that stand on their own; a single one when it has no more.

    Args:
        sentence: One sentence, as the source has it.
        language: Its language, as `languages.language_name` returns it.
        phrases: The wording of that language.
    """
    whole = [Clause(0, len(sentence), "", 0)]
    if len(sentence) > _LONGEST or not phrases.knows_verbs:
        return whole
    if language == "english":
        if _ENGLISH_JOIN.search(sentence) is None:
            return whole
        words = with_forms(words_of(sentence))
        cuts = english_cuts(words)
    else:
        words = words_of(sentence)
        cuts = other_cuts(sentence, words, language, phrases)
    return _cut(sentence, words, cuts) if cuts else whole


def _cut(sentence: str, words: Sequence[Word], cuts: Sequence[Cut]) -> list[Clause]:
    found: list[Clause] = []
    start = skip = 0
    subject = ""
    for cut in cuts:
        mark = words[cut.place]
        # A semicolon ends its clause, a coordinator begins the next one.
        ends = mark.low in _SEMICOLONS
        left = sentence[start : mark.end if ends else mark.start].rstrip()
        found.append(Clause(start, start + len(left), subject, skip))
        start = _first_sign(sentence, mark.end) if ends else mark.start
        following = words[cut.place + 1]
        joins = following.end if ends and following.start == start and following.low in _JOINS else mark.end
        skip = _first_sign(sentence, joins, ", ") - start if not ends or joins > mark.end else 0
        subject = _said(sentence, words, cut.subject)
    found.append(Clause(start, len(sentence), subject, skip))
    return found


def _first_sign(sentence: str, at: int, marks: str = "") -> int:
    """Return where something else than white space and such marks stands, from a place on."""
    while at < len(sentence) and (sentence[at].isspace() or sentence[at] in marks):
        at += 1
    return at


def _said(sentence: str, words: Sequence[Word], subject: tuple[int, int] | None) -> str:
    if subject is None:
        return ""
    first, last = words[subject[0]], words[subject[1]]
    text = sentence[first.start : last.end]
    # Not so "iPod" and the like.
    return text[:1].upper() + text[1:] if sentence[first.start : first.end].islower() else text
