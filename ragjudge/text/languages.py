"""The languages the splitter knows, and the words and marks that its rules need in each.

Chinese, Japanese, Korean, Thai, Arabic, Hebrew, Hindi and other languages whose sentences end with marks of
their own, or whose full stop has no second meaning, need no setting: the rules know their marks in any text.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from importlib import resources
from typing import Any

from ragjudge.errors import UnknownNameError
from ragjudge.text.punkt import Parameters, PunktModel, parameters

# Those of Punkt's data package, and their ISO 639-1 codes.
_CODES = {
    "czech": "cs",
    "danish": "da",
    "dutch": "nl",
    "english": "en",
    "estonian": "et",
    "finnish": "fi",
    "french": "fr",
    "german": "de",
    "greek": "el",
    "italian": "it",
    "malayalam": "ml",
    "norwegian": "no",
    "polish": "pl",
    "portuguese": "pt",
    "russian": "ru",
    "slovene": "sl",
    "spanish": "es",
    "swedish": "sv",
    "turkish": "tr",
}
_ALIASES = {code: name for name, code in _CODES.items()} | {"slovenian": "slovene", "nb": "norwegian"}
# Their sentences end with marks of their own, which the rules of every language know.
_ALIASES |= dict.fromkeys(
    ("arabic", "ar", "chinese", "zh", "hindi", "hi", "japanese", "ja", "persian", "fa", "urdu", "ur"),
    "english",
)
LANGUAGES = tuple(_CODES)
"""The names of all languages that have parameters."""


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """What decides whether a full stop ends a sentence. All words are in lower case.

    Attributes:
        language: Its name.
        never_last: Abbreviations that something always follows.
        maybe_last: Abbreviations that may also end a sentence: the next word decides.
        always_last: Those that end a sentence in front of any capital letter.
        before_figure: Abbreviations only in front of a figure; otherwise ordinary words or letters.
        starters: Words that, with a capital letter, begin a sentence.
        clock: "p.m." and the like.
        after_clock: What follows a clock time inside the same sentence.
        personal_titles: Titles that are never said of an office of "the U.S."
        ordinals: Whether "3." is how "third" is written.
        marks: Further marks that end a sentence.
        exact: Abbreviations of `maybe_last` that are one in just this spelling.
        ordinary: Words that Punkt took for abbreviations, and that are none in small letters.
        suffixes: Abbreviations at the end of compounds, such as "-str." for a street.
        model: Punkt's.
    """

    language: str
    never_last: frozenset[str]
    maybe_last: frozenset[str]
    always_last: frozenset[str]
    before_figure: frozenset[str]
    starters: frozenset[str]
    clock: frozenset[str]
    after_clock: frozenset[str]
    personal_titles: frozenset[str]
    ordinals: bool
    marks: str
    exact: frozenset[str]
    ordinary: frozenset[str]
    suffixes: tuple[str, ...]
    model: PunktModel

    def begins_sentence(self, word: str) -> bool:
        """Tell whether a word with a capital letter is one that owes it to its place."""
        if word.lower() in self.starters:
            return True
        # The English list is complete enough; for the others Punkt's counts fill the gaps.
        return self.language != "english" and word[:1].isupper() and self.model.is_common(word)


def language_name(name: str, *, where: str | None = None) -> str:
    """Return the name of a language as the splitter uses it: lower case, in English.

    A language that needs no rules of its own, such as Chinese, is cut as English is.

    Args:
        name: A name or an ISO 639-1 code, in any case; a region behind it (``de-AT``) does not count.
        where: The place the name was read from, for the message.

    Raises:
        UnknownNameError: The splitter has no parameters for it.
    """
    low = name.strip().lower()
    if low[2:3] in ("-", "_"):
        low = low[:2]
    if low in _CODES:
        return low
    if low in _ALIASES:
        return _ALIASES[low]
    raise UnknownNameError("language", name, LANGUAGES, where=where)


def language_code(name: str) -> str:
    """Return the ISO 639-1 code of a language.

    Args:
        name: As `language_name` returns it.
    """
    return _CODES[name]


def rules(language: str = "english", abbreviations: tuple[str, ...] = ()) -> Rules:
    """Return the rules of a language.

    Args:
        language: See `language_name`.
        abbreviations: Further abbreviations behind which no sentence ends, with or without the full stop.

    Raises:
        UnknownNameError: The splitter has no parameters for the language.
    """
    return _rules(language_name(language), tuple(sorted({_bare(word) for word in abbreviations} - {""})))


def _bare(word: str) -> str:
    return word.strip().lower().rstrip(".")


@functools.lru_cache(maxsize=64)
def _rules(language: str, abbreviations: tuple[str, ...]) -> Rules:
    own, common = _words(language), _words("international")

    def words(key: str) -> frozenset[str]:
        return frozenset(f"{own.get(key, '')} {common.get(key, '')}".split())

    added = frozenset(abbreviations)
    never, maybe = words("never_last") | added, words("maybe_last") - added
    always = words("always_last") - added
    return Rules(
        language=language,
        never_last=never,
        maybe_last=(maybe | always) - (words("never_last") if language != "english" else frozenset()),
        always_last=always,
        before_figure=words("before_figure"),
        starters=words("starters"),
        clock=words("clock"),
        after_clock=words("after_clock"),
        personal_titles=words("personal_titles"),
        ordinals=bool(own.get("ordinals", False)),
        marks=str(own.get("marks", "")),
        exact=frozenset(word for word in maybe if word != word.lower()),
        ordinary=words("ordinary") - added,
        suffixes=tuple(sorted(words("suffixes"))),
        model=PunktModel(_without_long_words(parameters(language)), never | maybe),
    )


def _without_long_words(learned: Parameters) -> Parameters:
    """Leave out the long words that Punkt took for abbreviations: ordinary ones, met too seldom."""
    if len(learned.ortho) < 2:
        # Lists made by hand hold none.
        return learned
    kept = (word for word in learned.abbreviations if len(word) <= 6 or not word.isalpha())
    return learned._replace(abbreviations=frozenset(kept))


@functools.cache
def _words(name: str) -> dict[str, Any]:
    import yaml

    file = resources.files("ragjudge.text") / "data" / "words" / f"{name}.yaml"
    found: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return found
