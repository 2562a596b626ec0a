"""The words of a sentence as the rules for clauses see them: nothing in brackets, a quotation as one word."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import NamedTuple

_TOKEN = re.compile(
    r"&#?\w{1,10};|(?P<word>[$€£]?\d(?:[\d.,:/]*\d)?%?(?!-?[^\W_])|[^\W_](?:[\w'’.-]*[^\W_])?)"
    r"|(?P<mark>[;；·,:،—–]|--+|(?<=\s)-(?=\s)|[()\[\]{}]|[\"“”«»„‘’`'])"
)
_CLOSES = {
    "(": ")",
    "[": "]",
    "{": "}",
    "“": "”",
    "«": "»",
    "»": "«",
    "„": "“”",
    "‘": "’",
    '"': '"',
    "`": "`",
    "'": "'",
}
_BRACKETS = "([{"
QUOTED = '"'
"""What a quotation is among the words."""

DASHES = frozenset({"—", "–", "--"})
MOST_JOINS = 30
"""How many coordinators and semicolons a sentence has at most; what has more is a list."""

_MARKS_OF_QUOTES = frozenset("()[]{}“”«»„‘’`'\"")


class Form(IntEnum):
    """What a word may be as a verb.

    A form that may be something else is less sure: `PAST` may be a participle, `SINGULAR` and `PLURAL` may
    be nouns.
    """

    NONE = 0
    PLURAL = 1
    SINGULAR = 2
    PAST = 3
    SURE = 4
    AUXILIARY = 5


class Word(NamedTuple):
    """A word, a quotation or a mark outside all brackets.

    Attributes:
        low: It in lower case; `QUOTED` for a quotation.
        start: Where it begins in the sentence.
        end: Where it ends.
        name: Whether it has a capital letter or is a quotation.
        form: What it may be as a verb; in English only.
    """

    low: str
    start: int
    end: int
    name: bool
    form: Form = Form.NONE

    @property
    def is_word(self) -> bool:
        """Whether it is no mark."""
        return self.low[0].isalnum() or self.low == QUOTED or self.low[0] in "$€£"


class Cut(NamedTuple):
    """A place to cut a sentence.

    Attributes:
        place: The index of the coordinator or semicolon among the words.
        subject: The indices of the first and the last word of the subject that both halves share; None when
            the second one has its own.
    """

    place: int
    subject: tuple[int, int] | None = None


def words_of(sentence: str) -> list[Word]:
    """Read a sentence; what an opening quote or bracket is not closed behind is left out to the end."""
    found: list[Word] = []
    opener = shut = ""
    depth = opened = 0
    last_tick = _last_closing_tick(sentence)
    for match in _TOKEN.finditer(sentence):
        sign = match.group()
        at = match.start()
        if sign[0] == "&":
            # An entity: its semicolon ends nothing.
            continue
        if match["word"]:
            if not shut:
                found.append(Word(sign.lower().replace("’", "'"), at, match.end(), sign[0].isupper()))
            continue
        if shut:
            if sign == opener and sign not in shut:
                depth += 1
            elif sign in shut and _closes(sentence, sign, at):
                depth -= 1
                if not depth:
                    shut = ""
                    if opener not in _BRACKETS:
                        found.append(Word(QUOTED, opened, match.end(), True))
        elif sign in _CLOSES and _opens(sentence, sign, at, last_tick):
            opener, shut, depth, opened = sign, _CLOSES[sign], 1, at
        elif sign not in _MARKS_OF_QUOTES:
            found.append(Word("--" if sign[0] == "-" else sign, at, match.end(), name=False))
    return found


def _opens(sentence: str, sign: str, at: int, last_tick: int) -> bool:
    if sign != "'":
        return True
    before, behind = sentence[at - 1 : at], sentence[at + 1 : at + 2]
    return not before.isalnum() and behind.isalpha() and last_tick > at


def _closes(sentence: str, sign: str, at: int) -> bool:
    return sign not in "'’" or not sentence[at + 1 : at + 2].isalnum()


def _last_closing_tick(sentence: str) -> int:
    at = sentence.rfind("'")
    while at > 0 and (sentence[at + 1 : at + 2].isalnum() or sentence[at - 1].isspace()):
        at = sentence.rfind("'", 0, at)
    return at
