"""What English words may be as verbs, told by their forms: there is no list of all other words."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources

from ragjudge.text.clause_words import Form, Word
from ragjudge.text.verbs import AUXILIARIES, FINITE_ONLY, is_past

_CONTRACTED = frozenset({"i", "you", "he", "she", "it", "we", "they", "there", "who"})
_PREFIXES = frozenset({"co", "re", "pre", "out", "over", "under", "de", "dis", "mis"})
_VOWELS = frozenset("aeiou")


@dataclass(frozen=True, slots=True)
class Verbs:
    """The English verbs by their forms, and kinds of them; all forms are in lower case.

    Attributes:
        past: Past forms that are participles as well.
        sure: Forms that are finite in any place, and of which none is a noun.
        singular: Forms with "s" that are nouns as well.
        plural: Base forms, mapped to whether they are nouns as well.
        finite_past: Past forms that are finite behind a noun.
        intransitive: All forms of verbs that a preposition follows without an object missing.
        naming: Past forms that take an object even as participles.
        reporting: All finite forms of verbs behind which words or thoughts stand without "that".
        quoting: Those that say whose words a sentence has been.
        hedges: See the data file.
        particles: See the data file.
        participles: Those that differ from the past form.
    """

    past: frozenset[str]
    sure: frozenset[str]
    singular: frozenset[str]
    plural: dict[str, bool]
    finite_past: frozenset[str]
    intransitive: frozenset[str]
    naming: frozenset[str]
    reporting: frozenset[str]
    quoting: frozenset[str]
    hedges: frozenset[str]
    particles: frozenset[str]
    participles: frozenset[str]

    def form(self, low: str) -> Form:
        """Return the surest that a word may be."""
        if low in AUXILIARIES:
            return Form.AUXILIARY
        if low in self.sure:
            return Form.SURE
        if low in self.past or (is_past(low) and _is_plain(low)):
            return Form.PAST
        if low in self.singular:
            return Form.SINGULAR
        return Form.PLURAL if low in self.plural else Form.NONE


def _is_plain(low: str) -> bool:
    """Tell whether a word is no adjective such as "red-haired"; "re-elected" is a verb."""
    before, hyphen, _ = low.rpartition("-")
    return not hyphen or before in _PREFIXES


def with_forms(words: Sequence[Word]) -> list[Word]:
    """Return the words of a sentence with what each may be as a verb; "it's" is two words."""
    verbs = english_verbs()
    found: list[Word] = []
    for word in words:
        pronoun, mark, _ = word.low.partition("'")
        if mark and pronoun in _CONTRACTED:
            middle = word.start + len(pronoun)
            found.append(word._replace(low=pronoun, end=middle))
            found.append(Word(word.low[len(pronoun) :], middle, word.end, name=False, form=Form.AUXILIARY))
        else:
            # No verb has a capital letter inside a sentence: "in May", "by Grant".
            form = Form.NONE if word.name and word.start else verbs.form(word.low)
            found.append(Word(word.low, word.start, word.end, word.name, form))
    return found


@functools.cache
def english_verbs() -> Verbs:
    """Read the list and derive the forms."""
    import yaml

    file = resources.files("ragjudge.text") / "data" / "clauses" / "english.yaml"
    data: dict[str, str] = yaml.safe_load(file.read_text(encoding="utf-8"))
    irregular: dict[str, tuple[str, str]] = {}
    for forms in data["irregular"].split():
        base, past, participle = forms.split("/")
        irregular[base] = (past, participle)
    lists = {key: frozenset(words.split()) for key, words in data.items()}
    bases = lists["regular"] | irregular.keys()
    nouns = lists["nouns"]
    also_else = {participle for _, participle in irregular.values()} | irregular.keys() | nouns
    sure = {past for past, _ in irregular.values() if past not in also_else}
    sure |= {_with_s(base) for base in (bases - nouns) | lists["mass"]} | FINITE_ONLY

    def pasts(words: Iterable[str]) -> frozenset[str]:
        return frozenset(form for base in words for form in _past(base, irregular))

    def finite(key: str) -> frozenset[str]:
        return lists[key] | pasts(lists[key]) | {_with_s(base) for base in lists[key]}

    return Verbs(
        past=pasts(bases) - sure,
        sure=frozenset(sure),
        singular=frozenset(_with_s(base) for base in (bases & nouns) - lists["mass"]),
        plural={base: base in nouns for base in sorted(bases)},
        finite_past=pasts(lists["unaccusative"]),
        intransitive=finite("intransitive"),
        naming=pasts(lists["naming"]),
        reporting=finite("reporting"),
        quoting=finite("quoting") | finite("reporting"),
        hedges=lists["hedges"],
        particles=lists["particles"],
        participles=frozenset(participle for past, participle in irregular.values() if participle != past)
        | {"born", "done", "been"},
    )


def _past(base: str, irregular: dict[str, tuple[str, str]]) -> list[str]:
    if base in irregular:
        return [irregular[base][0]]
    if base.endswith("e"):
        return [f"{base}d"]
    if base.endswith("y") and base[-2] not in _VOWELS:
        return [f"{base[:-1]}ied"]
    # Whether a consonant is doubled depends on the stress, and on the country: either form is read.
    doubled = base[-1] not in _VOWELS and base[-2] in _VOWELS
    return [f"{base}ed", f"{base}{base[-1]}ed"] if doubled else [f"{base}ed"]


def _with_s(base: str) -> str:
    if base.endswith(("s", "x", "z", "ch", "sh")):
        return f"{base}es"
    if base.endswith("y") and base[-2] not in _VOWELS:
        return f"{base[:-1]}ies"
    return {"go": "goes", "echo": "echoes", "veto": "vetoes"}.get(base, f"{base}s")
