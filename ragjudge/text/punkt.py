"""NLTK's Punkt model for English, read from the package's own data.

Nothing is ever looked up in an NLTK data folder or on a network, and nothing is unpickled. NLTK is
imported on first use only, because that costs more than everything else in this package together.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from importlib import resources
from typing import Any

from ragjudge.text.abbreviations import MAYBE_LAST, NEVER_LAST

# Flags of the file ortho_context.tab: the word was seen with a capital at the beginning of a sentence,
# in its middle, or in a place where Punkt could not tell; and likewise in lower case.
_UPPER_FLAGS = 0b000_1110
_LOWER_FLAGS = 0b111_0000

# Longer "words" are data of some kind; a decision about them never depends on the part behind this length.
_LONGEST_WORD = 64


def breaks(word: str, following: str) -> bool:
    """Tell whether Punkt ends a sentence between two neighbouring words.

    Args:
        word: The word before the gap, with its full stop or ellipsis: ``"Inc."``, ``"so..."``.
        following: The word behind the gap.

    Returns:
        Punkt's decision: Kiss and Strunk (2006), orthographic heuristic and collocations included.
    """
    return _breaks(word[-_LONGEST_WORD:], following[:_LONGEST_WORD])


def is_abbreviation(word: str) -> bool:
    """Tell whether a word in lower case, without its last full stop, is a known abbreviation."""
    return word in _model().abbreviations


def is_word(word: str) -> bool:
    """Tell whether the training corpus has the word in lower case, which makes it no name and no code."""
    return bool(_model().ortho[word.lower()] & _LOWER_FLAGS)


def begins_upper(word: str) -> bool:
    """Tell whether the training corpus has the word with a capital letter: it can begin a sentence."""
    return bool(_model().ortho[word.lower()] & _UPPER_FLAGS)


@functools.lru_cache(maxsize=1 << 14)
def _breaks(word: str, following: str) -> bool:
    return bool(_model().tokenizer.text_contains_sentbreak(f"{word} {following}"))


class _Flags(dict[str, int]):
    """Punkt's table of orthographic flags; a word that it does not know has none.

    Punkt's own is a ``defaultdict``, which would keep every unknown word of every text forever.
    """

    def __missing__(self, word: str) -> int:
        return 0


class _Model:
    """The tokenizer and the one table of it that is read here directly."""

    __slots__ = ("abbreviations", "ortho", "tokenizer")

    def __init__(self) -> None:
        from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

        self.ortho = _Flags()
        for line in _lines("ortho_context.tab"):
            word, flags = line.split("\t")
            self.ortho[word] = int(flags)
        parameters: Any = PunktParameters()
        parameters.abbrev_types = set(_lines("abbrev_types.txt")) | NEVER_LAST | MAYBE_LAST
        parameters.sent_starters = set(_lines("sent_starters.txt"))
        parameters.collocations = {tuple(line.split("\t")) for line in _lines("collocations.tab")}
        parameters.ortho_context = self.ortho
        self.abbreviations = frozenset(parameters.abbrev_types)
        self.tokenizer: Any = PunktSentenceTokenizer(parameters)


@functools.cache
def _model() -> _Model:
    return _Model()


def _lines(name: str) -> Iterator[str]:
    folder = resources.files("ragjudge.text") / "data" / "punkt_english"
    yield from (folder / name).read_text(encoding="utf-8").splitlines()
