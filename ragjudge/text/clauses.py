"""Compound sentences in their clauses: "Darwin was born in 1809 and died in 1882" says two things.

A sentence is cut at a semicolon, and at a coordination, when both halves have a finite verb and so stand on
their own. A half without a subject gets the one of the half before it, in what the judge reads only. The
rules give up wherever they cannot be sure: inside quotes and brackets, under "that", "if" or "which", and
where a participle may be what is coordinated ("was designed and built by").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ragjudge.text.phrases import Phrases
from ragjudge.text.verbs import ADVERBS, AUXILIARIES, FINITE_ONLY, PREPOSITIONS, SUBORDINATORS, is_past

# What is longer is a list or a law; its halves would be no clauses.
_LONGEST = 1500
_WORD = re.compile(r"[^\W_](?:[\w'’-]*[^\W_])?")
_TOKEN = re.compile(r"[^\W_](?:[\w'’-]*[^\W_])?|[;；·,()\[\]{}\"“”«»„`]")
_OPEN, _SHUT = "([{“«„", ")]}”»"
_JOINS = re.compile(r"(?:and|but|so|yet|while|whereas)\Z")
_SHARES = frozenset({"and", "but"})
_NEEDS_COMMA = frozenset({"so", "yet", "while", "whereas", "or"})
_NOMINATIVE = frozenset({"he", "she", "they", "we", "i", "it", "you"})
_DETERMINERS = frozenset(
    [
        "the",
        "a",
        "an",
        "this",
        "that",
        "these",
        "those",
        "its",
        "his",
        "her",
        "their",
        "our",
        "my",
        "your",
        "there",
    ]
)
_RELATIVES = frozenset({"who", "whom", "whose", "which", "that", "where"})


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


class _Token(NamedTuple):
    low: str
    start: int
    end: int
    depth: int


def clauses(sentence: str, language: str, phrases: Phrases) -> list[Clause]:
    """Cut a sentence into clauses that stand on their own; a single one when it has no more.

    Args:
        sentence: One sentence, as the source has it.
        language: Its language, as `languages.language_name` returns it.
        phrases: The wording of that language.
    """
    whole = Clause(0, len(sentence), "", 0)
    if len(sentence) > _LONGEST or not phrases.knows_verbs:
        return [whole]
    tokens = list(_tokens(sentence))
    found: list[Clause] = []
    start = first = skip = 0
    subject = carried = ""
    for index, token in enumerate(tokens):
        if token.depth or index <= first:
            continue
        cut = _cut_at(sentence, tokens, first, index, language, phrases)
        if cut is None:
            continue
        left = sentence[start : cut.end].rstrip()
        found.append(Clause(start, start + len(left), carried, skip))
        if language == "english":
            own = _subject(sentence, tokens, first, index)
            subject = own if own and not carried else subject or carried
        carried = subject if cut.lacks_subject else ""
        start, skip, first = cut.start, cut.skip, index
        if not cut.lacks_subject:
            subject = ""
    found.append(Clause(start, len(sentence), carried, skip))
    return found


class _Cut(NamedTuple):
    end: int
    start: int
    skip: int
    lacks_subject: bool


def _cut_at(
    sentence: str, tokens: list[_Token], first: int, index: int, language: str, phrases: Phrases
) -> _Cut | None:
    """Return the cut in front of a token, when there is one."""
    token = tokens[index]
    mark = "·" if language == "greek" else ";"
    if token.low in {mark, "；"}:
        rest = sentence[token.end :]
        if _is_clause(sentence[tokens[first].start : token.start], phrases) and _is_clause(rest, phrases):
            at = token.end + len(rest) - len(rest.lstrip())
            return _Cut(token.end, at, 0, lacks_subject=False)
        return None
    if not phrases.coordinator.fullmatch(token.low) or index + 2 >= len(tokens):
        return None
    after_comma = tokens[index - 1].low == ","
    left = [part for part in tokens[first:index] if _WORD.match(part.low)]
    right = _following(tokens, index)
    if len(left) < 2 or len(right) < 2 or not _is_clause(sentence[left[0].start : left[-1].end], phrases):
        return None
    skip = right[0].start - token.start
    own = _Cut(token.start, token.start, skip, lacks_subject=False)
    if language != "english":
        is_own = phrases.own_subject.fullmatch(right[0].low) is not None
        return own if is_own and _is_clause(sentence[right[0].start : right[-1].end], phrases) else None
    if SUBORDINATORS.intersection(part.low for part in left):
        return None
    if token.low in _NEEDS_COMMA and not after_comma:
        return None
    if _has_own_subject(sentence, right, after_comma=after_comma):
        return own
    return own._replace(lacks_subject=True) if token.low in _SHARES and _shares_subject(left, right) else None


def _tokens(sentence: str) -> Iterator[_Token]:
    """Yield words and marks; `depth` counts the brackets and quotes around each."""
    depth = 0
    quoted = False
    for match in _TOKEN.finditer(sentence):
        sign = match.group()
        if sign in '"`':
            quoted = not quoted
        elif sign in _OPEN:
            depth += 1
        elif sign in _SHUT:
            depth = max(0, depth - 1)
        yield _Token(sign.lower(), match.start(), match.end(), depth + quoted)


def _following(tokens: list[_Token], index: int) -> list[_Token]:
    """Return the words behind a coordinator, up to the next comma, semicolon or coordinator."""
    words: list[_Token] = []
    for token in tokens[index + 1 : index + 16]:
        if token.low in {",", ";", "；", "·", "and", "but"}:
            break
        if token.low[0].isalnum():
            words.append(token)
    return words


def _is_clause(part: str, phrases: Phrases) -> bool:
    low = part.lower()
    return phrases.finite_verb.search(low) is not None and len(_WORD.findall(low)) >= 3


def _has_own_subject(sentence: str, right: list[_Token], *, after_comma: bool) -> bool:
    """Tell whether the words behind a coordinator are a subject and its verb."""
    word = right[0].low
    is_name = sentence[right[0].start].isupper()
    if word in _NOMINATIVE:
        verbs = [part for part in right[1:4] if part.low in AUXILIARIES or is_past(part.low)]
        return bool(verbs) or word not in {"it", "you"}
    if word not in _DETERMINERS and not (is_name and after_comma):
        return False
    for part in right[1:8]:
        if part.low in _RELATIVES:
            return False
        # A participle looks like a past form: behind a noun only an auxiliary is sure to be finite.
        if part.low in AUXILIARIES or part.low in FINITE_ONLY:
            return len(right) > 2
    return False


def _shares_subject(left: list[_Token], right: list[_Token]) -> bool:
    """Tell whether the words behind a coordinator go on with a verb of the same subject."""
    verbs = right[1:] if right[0].low in ADVERBS else right
    if len(verbs) < 2:
        return False
    main = next((at for at, part in enumerate(left) if _is_verb(part.low)), 0)
    if not 0 < main <= 12 or main == len(left) - 1:
        return False
    verb = verbs[0].low
    if verb in AUXILIARIES or verb in FINITE_ONLY:
        return True
    # "was built and opened" may be one passive; "designed the tower and opened the park" is not.
    return is_past(verb) and left[main].low not in AUXILIARIES and len(left) - main > 2


def _is_verb(low: str) -> bool:
    return low in AUXILIARIES or low in FINITE_ONLY or is_past(low)


def _subject(sentence: str, tokens: list[_Token], first: int, index: int) -> str:
    """Return the words in front of a clause's first finite verb, without what only says when or where."""
    words = tokens[first:index]
    if words and _JOINS.match(words[0].low):
        words = words[1:]
    verb = next((part for part in words if _is_verb(part.low)), None)
    if verb is None or verb is words[0]:
        return ""
    begin = words[0].start
    if words[0].low in PREPOSITIONS:
        comma = sentence.find(",", begin, verb.start)
        if comma < 0:
            return ""
        begin = comma + 1
    subject = sentence[begin : verb.start].strip().rstrip(",")
    while (last := subject.rpartition(" ")[2].lower()) in ADVERBS and last:
        subject = subject[: -len(last)].rstrip(" ,")
    return subject
