"""Where a sentence in another language than English is cut into clauses.

German, French and Spanish have lists of words (``data/clauses``) that tell a subject with its verb; the
others are cut at semicolons and in front of a pronoun that is a subject.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, fields
from importlib import resources

from ragjudge.text.clause_words import DASHES, MOST_JOINS, Cut, Word
from ragjudge.text.phrases import Phrases

_LISTED = frozenset({"german", "french", "spanish"})
_LONGEST_SUBJECT = 9
_REACH = 15
_LEAST_WORDS = 3
_SHORTEST_VERB = 4
_LONGEST_ELISION = 7
_LONGEST_TAG = 5
# "n'est", "s'élève", "l'a": the verb stands behind the mark.
_ELIDED_BEFORE_VERBS = frozenset({"", "n", "s", "l"})


@dataclass(frozen=True, slots=True, eq=False)
class _Lists:
    """The words of a language; see ``data/clauses/README.md``."""

    coordinators: frozenset[str]
    subjects: frozenset[str]
    determiners: frozenset[str]
    verbs: frozenset[str]
    plurals: frozenset[str]
    modals: frozenset[str]
    endings: frozenset[str]
    not_verbs: frozenset[str]
    inside: frozenset[str]
    clitics: frozenset[str]
    reflexive: frozenset[str]
    governors: frozenset[str]
    hedges: frozenset[str]
    relatives: frozenset[str]

    def is_finite(self, low: str) -> bool:
        """Tell whether a word is a finite verb when it stands behind a subject."""
        elided, word = _parts(low)
        if elided not in _ELIDED_BEFORE_VERBS:
            return False
        is_ending = len(word) >= _SHORTEST_VERB and word.endswith(tuple(self.endings))
        return word in self.verbs or (is_ending and word not in self.not_verbs)


def other_cuts(sentence: str, words: Sequence[Word], language: str, phrases: Phrases) -> list[Cut]:
    """Return the places to cut, in order.

    Args:
        sentence: The sentence.
        words: The same, as `clause_words.words_of` reads it.
        language: Its language; not English.
        phrases: The wording of that language.
    """
    lists = _lists(language) if language in _LISTED else None
    if lists is not None and not _is_open(words, lists):
        return []

    def is_join(low: str) -> bool:
        if lists is not None:
            return low in lists.coordinators
        return phrases.coordinator.fullmatch(low) is not None

    marks = {"·"} if language == "greek" else {";", "；"}
    joins = [index for index, word in enumerate(words[:-2]) if word.low in marks or is_join(word.low)]
    if len(joins) > MOST_JOINS:
        return []
    if lists is not None:
        # What stands behind a dash or a colon may belong to what stands in front of it as a whole.
        colon = next(
            (at for at, word in enumerate(words) if word.low in DASHES or word.low == ":"), len(words)
        )
        joins = [index for index in joins if index < colon]
    cuts: list[Cut] = []
    first = 0
    for index in joins:
        if index <= first:
            continue
        word = words[index]
        left, right = words[first + (words[first].low in marks) : index], words[index + 1 :]
        if word.low in marks:
            is_cut = _are_sentences(sentence, left, right, phrases, lists)
        elif lists is not None:
            is_cut = _is_own(sentence, left, right, phrases, lists)
        else:
            is_cut = _is_behind_pronoun(sentence, left, right, phrases)
        if is_cut:
            cuts.append(Cut(index))
            first = index
    return cuts


@functools.cache
def _lists(language: str) -> _Lists:
    import yaml

    file = resources.files("ragjudge.text") / "data" / "clauses" / f"{language}.yaml"
    data: dict[str, str] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return _Lists(**{field.name: frozenset(data[field.name].split()) for field in fields(_Lists)})


def _parts(low: str) -> tuple[str, str]:
    """Return what is elided in front of a word, and the word: "l" and "argent"."""
    before, mark, behind = low.partition("'")
    return (before, behind) if mark and behind and len(before) <= _LONGEST_ELISION else ("", low)


def _is_in(word: Word, kind: frozenset[str]) -> bool:
    return word.low in kind or ("'" in word.low and not kind.isdisjoint(_parts(word.low)))


def _is_open(words: Sequence[Word], lists: _Lists) -> bool:
    """Tell whether the sentence as a whole is neither a guess nor somebody's words."""
    if not words or _is_in(words[0], lists.hedges):
        return False
    comma = max((at for at, word in enumerate(words) if word.low == ","), default=-1)
    tag = words[comma + 1 :]
    if comma < 0 or not 0 < len(tag) <= _LONGEST_TAG:
        return True
    # "…, sagte er.", "…, dit-il."
    return not _is_in(tag[0], lists.governors) and tag[0].low.partition("-")[0] not in lists.governors


def _is_clause(part: Sequence[Word], sentence: str, phrases: Phrases, lists: _Lists | None) -> bool:
    plain = [word for word in part if word.is_word]
    if len(plain) < _LEAST_WORDS:
        return False
    if lists is not None and any(lists.is_finite(word.low) for word in plain[1:]):
        return True
    return phrases.finite_verb.search(sentence[part[0].start : part[-1].end].lower()) is not None


def _are_sentences(
    sentence: str, left: Sequence[Word], right: Sequence[Word], phrases: Phrases, lists: _Lists | None
) -> bool:
    if lists is not None and any(_is_in(word, lists.governors) for word in (*left, right[0])):
        return False
    return _is_clause(left, sentence, phrases, lists) and _is_clause(right, sentence, phrases, lists)


def _is_behind_pronoun(sentence: str, left: Sequence[Word], right: Sequence[Word], phrases: Phrases) -> bool:
    near = _segment(right)
    return (
        len(near) > 1
        and phrases.own_subject.fullmatch(near[0].low) is not None
        and _is_clause(left, sentence, phrases, None)
        and _is_clause(near, sentence, phrases, None)
    )


def _segment(right: Sequence[Word]) -> list[Word]:
    """Return the next words, up to a mark."""
    words: list[Word] = []
    for word in right[:_REACH]:
        if not word.is_word:
            break
        words.append(word)
    return words


def _is_own(
    sentence: str, left: Sequence[Word], right: Sequence[Word], phrases: Phrases, lists: _Lists
) -> bool:
    """Tell whether a clause stands in front of a coordinator, and a subject and its verb behind it."""
    if any(_is_in(word, lists.governors) or word.low in lists.hedges for word in left):
        return False
    if not _is_clause(left, sentence, phrases, lists) or _is_in_relative(left, lists):
        return False
    near = _segment(right)
    if len(near) < 2:
        return False
    first = near[0]
    if first.low in lists.subjects and _is_verb_behind_clitics(near, lists):
        return True
    has_article = _is_in(first, lists.determiners) or first.name or first.low[0].isdigit()
    is_modal = any(_is_in(word, lists.modals) for word in left)
    return has_article and _has_verb(near, lists, is_modal=is_modal)


def _is_in_relative(left: Sequence[Word], lists: _Lists) -> bool:
    """Tell whether what the last comma opens is a relative clause, which may go on behind the coordinator."""
    commas = [at for at, word in enumerate(left[:-1]) if word.low == ","]
    return bool(commas) and _is_in(left[commas[-1] + 1], lists.relatives)


def _is_verb_behind_clitics(near: Sequence[Word], lists: _Lists) -> bool:
    at = 1
    while at < len(near) and near[at].low in lists.clitics:
        at += 1
    return at < len(near) and lists.is_finite(near[at].low)


def _has_verb(near: Sequence[Word], lists: _Lists, *, is_modal: bool) -> bool:
    """Tell whether a finite verb stands directly behind the noun phrase that begins here."""
    # Where nouns have capital letters the verb comes behind one of them.
    has_capitals = bool(lists.plurals)
    for at in range(1, min(_LONGEST_SUBJECT, len(near))):
        word, previous = near[at], near[at - 1]
        if _is_in(word, lists.governors) or word.low in lists.coordinators:
            return False
        if previous.low in lists.inside or word.name:
            continue
        if has_capitals and not previous.name and not previous.low[0].isdigit():
            continue
        if word.low in lists.plurals and not is_modal:
            return True
        if word.low in lists.reflexive and at + 1 < len(near):
            return True
        is_article = previous.low in lists.determiners and not (previous.low in lists.clitics and at > 1)
        if not is_article and lists.is_finite(word.low):
            return True
    return False
