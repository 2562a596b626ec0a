"""NLTK's Punkt model, with the parameters of each language read from the package's own data.

Nothing is ever looked up in an NLTK data folder or on a network, and nothing is unpickled. NLTK is
imported on first use only, because that costs more than everything else in this package together.
"""

from __future__ import annotations

import bz2
import functools
from importlib import resources
from typing import Any, NamedTuple

# Flags of Punkt's orthographic context: the word was seen with a capital at the beginning of a sentence,
# in its middle, or in a place where Punkt could not tell; and likewise in lower case.
_UPPER_FLAGS = 0b000_1110
_UPPER_INSIDE = 0b000_0100
_LOWER_FLAGS = 0b111_0000

# Longer "words" are data of some kind; a decision about them never depends on the part behind this length.
_LONGEST_WORD = 64


class Parameters(NamedTuple):
    """What Punkt learned from the training text of one language. All words are in lower case.

    Attributes:
        abbreviations: Without their last full stop.
        starters: Words that often begin a sentence.
        collocations: Pairs of words that a full stop does not separate.
        ortho: Per word, flags that say in which positions it was seen in upper and lower case.
    """

    abbreviations: frozenset[str]
    starters: frozenset[str]
    collocations: frozenset[tuple[str, ...]]
    ortho: dict[str, int]


def unpacked(data: bytes) -> Parameters:
    """Read the parameters of one language from the bytes of its packed file."""
    lists: dict[str, list[str]] = {"abbreviations": [], "starters": [], "collocations": []}
    ortho = _Flags()
    target, flags, before = lists["abbreviations"], -1, ""
    for line in bz2.decompress(data).decode().split("\n"):
        if line.startswith("=") and line[1:] in lists:
            target = lists[line[1:]]
        elif line.startswith("=") and line[1:].isdigit():
            flags, before = int(line[1:]), ""
        elif flags < 0:
            target.append(line)
        else:
            # The first sign counts what the word shares with the one before it.
            before = before[: int(line[0], 36)] + line[1:]
            ortho[before] = flags
    pairs = frozenset(tuple(pair.split("\t")) for pair in lists["collocations"])
    return Parameters(frozenset(lists["abbreviations"]), frozenset(lists["starters"]), pairs, ortho)


class _Flags(dict[str, int]):
    """Punkt's table of orthographic flags; a word that it does not know has none.

    Punkt's own is a ``defaultdict``, which would keep every unknown word of every text forever.
    """

    def __missing__(self, word: str) -> int:
        return 0


class PunktModel:
    """The decisions of Punkt that the rules fall back to.

    Args:
        parameters: Of the language.
        abbreviations: Further ones that Punkt is to know, in lower case, without their last full stop.
    """

    def __init__(self, parameters: Parameters, abbreviations: frozenset[str]) -> None:
        from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

        own: Any = PunktParameters()
        own.abbrev_types = set(parameters.abbreviations | abbreviations)
        own.sent_starters = set(parameters.starters)
        own.collocations = set(parameters.collocations)
        own.ortho_context = parameters.ortho
        self.abbreviations = frozenset(own.abbrev_types)
        self.ortho = parameters.ortho
        self.knows_words = len(parameters.ortho) > 1
        self._tokenizer: Any = PunktSentenceTokenizer(own)
        self._breaks = functools.lru_cache(maxsize=1 << 14)(self._decided)

    def breaks(self, word: str, following: str) -> bool:
        """Tell whether Punkt ends a sentence between two neighbouring words.

        Args:
            word: The word before the gap, with its full stop or ellipsis: ``"Inc."``, ``"so..."``.
            following: The word behind the gap.

        Returns:
            Punkt's decision: Kiss and Strunk (2006), orthographic heuristic and collocations included.
        """
        return self._breaks(word[-_LONGEST_WORD:], following[:_LONGEST_WORD])

    def is_abbreviation(self, word: str) -> bool:
        """Tell whether a word in lower case, without its last full stop, is a known abbreviation."""
        return word in self.abbreviations

    def is_word(self, word: str) -> bool:
        """Tell whether the training text has the word in lower case, which makes it no name and no code."""
        return bool(self.ortho[word.lower()] & _LOWER_FLAGS)

    def begins_upper(self, word: str) -> bool:
        """Tell whether the training text has the word with a capital letter: it can begin a sentence."""
        return bool(self.ortho[word.lower()] & _UPPER_FLAGS)

    def is_common(self, word: str) -> bool:
        """Tell whether the word has a capital letter at the beginning of sentences only."""
        flags = self.ortho[word.lower()]
        return bool(flags & _LOWER_FLAGS) and not flags & _UPPER_INSIDE

    def _decided(self, word: str, following: str) -> bool:
        return bool(self._tokenizer.text_contains_sentbreak(f"{word} {following}"))


@functools.cache
def parameters(language: str) -> Parameters:
    """Return the packaged parameters of a language; read on first use."""
    file = resources.files("ragjudge.text") / "data" / "punkt" / f"{language}.bz2"
    return unpacked(file.read_bytes())
