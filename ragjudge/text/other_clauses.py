"""Where a sentence in another language than English is cut into clauses.

German, French and Spanish have lists of words (``data/clauses``) that tell a subject with its verb; the
others are cut at semicolons and in front of a pronoun that is a subject.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from importlib import resources

from ragjudge.text.clause_words import DASHES, Word
from ragjudge.text.english_clauses import Cut
from ragjudge.text.phrases import Phrases

_LISTED = frozenset({"german", "french", "spanish"})
_LONGEST_SUBJECT = 9
_REACH = 15
_LEAST_WORDS = 3
_SHORTEST_VERB = 4
# "l'argent", "n'est", "qu'il": the first part is a word of its own.
_LONGEST_ELISION = 7


def other_cuts(sentence: str, words: Sequence[Word], language: str, phrases: Phrases) -> list[Cut]:
    """Return the places to cut, in order.

    Args:
        sentence: The sentence.
        words: The same, as `clause_words.words_of` reads it.
        language: Its language; not English.
        phrases: The wording of that language.
    """
    lists = _lists(language) if language in _LISTED else {}
    if lists and _is_open_to_doubt(words, lists):
        return []
    marks = {"·"} if language == "greek" else {";", "；"}
    cuts: list[Cut] = []
    first = 0
    for index, word in enumerate(words):
        if lists and (word.low in DASHES or word.low == ":"):
            break
        if index <= first or index + 2 >= len(words):
            continue
        left, right = words[first + (words[first].low in marks) : index], words[index + 1 :]
        if word.low in marks:
            is_cut = _are_sentences(sentence, left, right, phrases, lists)
        elif lists:
            is_cut = word.low in lists["coordinators"] and _is_own(sentence, left, right, phrases, lists)
        else:
            is_cut = phrases.coordinator.fullmatch(word.low) is not None and _is_behind_pronoun(
                sentence, left, right, phrases
            )
        if is_cut:
            cuts.append(Cut(index, None))
            first = index
    return cuts


@functools.cache
def _lists(language: str) -> dict[str, frozenset[str]]:
    import yaml

    file = resources.files("ragjudge.text") / "data" / "clauses" / f"{language}.yaml"
    data: dict[str, str] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return {key: frozenset(words.split()) for key, words in data.items()}


def _parts(low: str) -> tuple[str, str]:
    """Return what is elided in front of a word, and the word: "l" and "argent"."""
    before, mark, behind = low.partition("'")
    return (before, behind) if mark and behind and len(before) <= _LONGEST_ELISION else ("", low)


def _has(word: Word, kind: frozenset[str]) -> bool:
    return word.low in kind or not kind.isdisjoint(_parts(word.low)) and "'" in word.low


def _is_open_to_doubt(words: Sequence[Word], lists: dict[str, frozenset[str]]) -> bool:
    """Tell whether the sentence as a whole is somebody's words or a guess."""
    if not words or _has(words[0], lists["hedges"]):
        return True
    comma = max((at for at, word in enumerate(words) if word.low == ","), default=-1)
    tail = words[comma + 1 :]
    # "…, sagte er.", "…, dit-il."
    return comma > 0 and len(tail) <= 5 and any(_has(word, lists["governors"]) or word.low.partition("-")[0] in lists["governors"] for word in tail[:1])


def _span(sentence: str, words: Sequence[Word]) -> str:
    return sentence[words[0].start : words[-1].end] if words else ""


def _is_clause(part: Sequence[Word], sentence: str, phrases: Phrases, lists: dict[str, frozenset[str]]) -> bool:
    plain = [word for word in part if word.is_word]
    if len(plain) < _LEAST_WORDS:
        return False
    if any(_is_finite(word.low, lists) for word in plain[1:]) if lists else False:
        return True
    return phrases.finite_verb.search(_span(sentence, part).lower()) is not None


def _is_finite(low: str, lists: dict[str, frozenset[str]]) -> bool:
    elided, word = _parts(low)
    if elided and elided not in {"n", "s", "l"}:
        return False
    if word in lists["verbs"]:
        return True
    return (
        len(word) >= _SHORTEST_VERB
        and word.endswith(tuple(lists["endings"]))
        and word not in lists["not_verbs"]
    )


def _are_sentences(sentence: str, left: Sequence[Word], right: Sequence[Word], phrases: Phrases, lists: dict[str, frozenset[str]]) -> bool:
    if lists and (any(_has(word, lists["governors"]) for word in left) or _has(right[0], lists["governors"])):
        return False
    return _is_clause(left, sentence, phrases, lists) and _is_clause(right, sentence, phrases, lists)


def _is_behind_pronoun(sentence: str, left: Sequence[Word], right: Sequence[Word], phrases: Phrases) -> bool:
    near = _segment(right[:_REACH])
    return (
        len(near) > 1
        and phrases.own_subject.fullmatch(near[0].low) is not None
        and _is_clause(left, sentence, phrases, {})
        and _is_clause(near, sentence, phrases, {})
    )


def _segment(right: Sequence[Word]) -> list[Word]:
    words: list[Word] = []
    for word in right:
        if not word.is_word:
            break
        words.append(word)
    return words


def _is_own(sentence: str, left: Sequence[Word], right: Sequence[Word], phrases: Phrases, lists: dict[str, frozenset[str]]) -> bool:
    """Tell whether a clause stands in front of a coordinator, and a subject and its verb behind it."""
    if any(_has(word, lists["governors"]) or word.low in lists["hedges"] for word in left):
        return False
    if not _is_clause(left, sentence, phrases, lists) or _is_in_relative(left, lists):
        return False
    near = _segment(right[:_REACH])
    if len(near) < 2:
        return False
    first, second = near[0], near[1]
    if first.low in lists["subjects"] and _verb_behind_clitics(near, 1, lists):
        return True
    elided, _ = _parts(first.low)
    if first.low not in lists["determiners"] and elided not in lists["determiners"] and not first.name and not first.low[0].isdigit():
        return False
    return _has_subject_and_verb(near, lists)


def _is_in_relative(left: Sequence[Word], lists: dict[str, frozenset[str]]) -> bool:
    commas = [at for at, word in enumerate(left[:-1]) if word.low == ","]
    return bool(commas) and _has(left[commas[-1] + 1], lists["relatives"])


def _verb_behind_clitics(near: Sequence[Word], at: int, lists: dict[str, frozenset[str]]) -> bool:
    while at < len(near) and near[at].low in lists["clitics"]:
        at += 1
    return at < len(near) and _is_finite(near[at].low, lists)


def _has_subject_and_verb(near: Sequence[Word], lists: dict[str, frozenset[str]]) -> bool:
    has_nouns = "plurals" in lists
    for at in range(1, min(_LONGEST_SUBJECT, len(near))):
        word, previous = near[at], near[at - 1]
        if _has(word, lists["governors"]) or word.low in lists["coordinators"]:
            return False
        if previous.low in lists["inside"] or word.name:
            continue
        behind_noun = previous.name or previous.low[0].isdigit() if has_nouns else True
        if not behind_noun:
            continue
        if has_nouns and word.low in lists["plurals"] and at + 1 < len(near) and near[at + 1].low in lists["determiners"]:
            return True
        if previous.low in lists["determiners"] and not (at == 1 and not has_nouns and previous.low in lists["subjects"]):
            if previous.low not in lists["clitics"] or at < 2:
                continue
        if _is_finite(word.low, lists):
            return at + 1 < len(near) or word.low not in lists["verbs"] or len(near) > 2
    return False
