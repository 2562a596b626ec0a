"""Whether a mark with white space behind it ends a sentence.

Rules decide what they can decide from the mark and its two neighbours (a title, an initial, an ordinal, a
bracket that goes on in lower case …); what is left is Punkt's decision.
"""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

from ragjudge.text.languages import Rules
from ragjudge.text.verbs import PREPOSITIONS

# Marks of writing systems that put no space behind a sentence, or whose mark has no second meaning.
UNAMBIGUOUS = "。！？｡؟۔।॥።။។"
CLOSERS = "\"'”’»›)\\]}*_~」』）】》〉〕］"
OPENERS = "([{\"'“‘«‹„‚*_<¿¡—–-「『（【《〈`~\u00a0\u202f"
_CLOSERS_OR_TICK = CLOSERS + "`"
# How far a candidate looks to either side, in characters.
REACH = 48

WORD = re.compile(r"[^\W_](?:[\w'’-]*[^\W_])?")
_ACRONYM = re.compile(r"(?:[^\W\d_]{1,2}\.-?)+[^\W\d_]{1,2}|.*(?:[\u0e01-\u0e2e]\.)+[\u0e01-\u0e2e]")
_FIGURE = re.compile(r"[$€£]?\d[\d.,:/-]*%?")
_ROMAN = re.compile(r"[IVXLC]{1,6}\b")
# "No. 5" behind an abbreviation is none of the sentences that "No" begins.
_NUMBERED = re.compile(r"(?:Nos?|Nr|Art|Vol|Fig|Sec)\. ?\d")
# "l'art."
_ELISION = re.compile(r"\w{1,5}['’](?=\w)")
# What a date goes on with behind "3."
_DATE_GOES_ON = re.compile(r"\d{1,2}\.|\d{4}\b")
# Names that carry an exclamation or question mark.
_MARKED_NAMES = frozenset(
    ["yahoo", "jeopardy", "yum", "wham", "oklahoma", "mamma", "panic", "guess", "moulin", "chips"]
)


_I = frozenset({"I", "I'm", "I've", "I'd", "I'll", "I’m", "I’ve", "I’d", "I’ll"})
# "Well... Paris": someone looks for a word.
_FILLERS = frozenset(
    ["well", "so", "um", "uh", "hmm", "hm", "er", "erm", "oh", "ah", "and", "but", "or", "like"]
)


class Place(NamedTuple):
    """A candidate: its mark, what closes behind it, its neighbours, and where in its sentence it stands.

    `spaced` is the word in front with the single letter before it, as in "z. B.", or empty; `previous` is
    the word before that.
    """

    mark: str
    close: str
    before: str
    spaced: str
    previous: str
    behind: str
    opens: str
    at_start: bool
    begins_lower: bool


def is_end(place: Place, rules: Rules) -> bool:
    """Decide about a mark with white space behind it."""
    if place.mark != "." and any(sign in UNAMBIGUOUS or sign in rules.marks for sign in place.mark):
        return True
    match = WORD.match(place.behind)
    if match is None:
        return _is_end_before_sign(place, rules)
    word = match.group()
    goes_on = word[0].islower() and word[1:].islower() | (len(word) == 1) and not place.opens.endswith("`")
    if "!" in place.mark or "?" in place.mark:
        return _is_end_after_exclamation(place, word, goes_on, rules)
    if "…" in place.mark or ".." in place.mark:
        return _is_end_after_ellipsis(place, word, goes_on, rules)
    low = place.before.lower()
    core = low.rstrip(_CLOSERS_OR_TICK)
    if not core:
        return not goes_on
    if core != low and not place.close:
        # 'the value of "x". The': what a quote or bracket closes before the stop is no abbreviation.
        return True
    if (
        core in rules.ordinary
        and not goes_on
        and not word[0].isdigit()
        and (place.before.islower() or place.before in rules.ordinary)
    ):
        return True
    core = _abbreviated(core, place.spaced, rules)
    if goes_on:
        return _is_end_before_lower(place, core, rules)
    if word[0].isdigit():
        return _is_end_before_figure(place, core, rules)
    return _is_end_before_upper(place, core, word, rules)


@functools.lru_cache(maxsize=1 << 15)
def is_end_between(before: str, behind: str, rules: Rules) -> bool:
    """Decide about a full stop between a word in small letters and one with a capital, both plain."""
    place = Place(
        mark=".",
        close="",
        before=before,
        spaced="",
        previous="",
        behind=behind,
        opens="",
        at_start=False,
        begins_lower=False,
    )
    return is_end(place, rules)


@functools.lru_cache(maxsize=1 << 14)
def is_short_form(core: str, rules: Rules) -> bool:
    """Tell whether a word in lower case, without its last full stop, looks like an abbreviation."""
    last = core.rsplit("-", 1)[-1]
    return (
        core in rules.never_last
        or core in rules.maybe_last
        or (len(core) == 1 and core.isalpha())
        or _ACRONYM.fullmatch(core) is not None
        or rules.model.is_abbreviation(core)
        or (last != core and rules.model.is_abbreviation(last))
        or core.endswith(rules.suffixes)
    )


def _abbreviated(core: str, spaced: str, rules: Rules) -> str:
    """Return what to look up for a word: "z.b" for "z. B.", and "art" for "l'art."."""
    if spaced and (spaced in rules.never_last or spaced in rules.maybe_last):
        return spaced
    return _ELISION.sub("", core, count=1) if rules.language != "english" else core


def is_marked_name(word: str) -> bool:
    """Tell whether a name is written with an exclamation mark."""
    return word.lower() in _MARKED_NAMES


def _is_end_before_sign(place: Place, rules: Rules) -> bool:
    """The next thing is no word: an emoji, a dash, another mark."""
    if not place.behind or place.behind[0] in ".,;:!?…&+=" or place.mark.startswith("..."):
        return False
    return not is_short_form(place.before.lower(), rules) or "!" in place.mark or "?" in place.mark


def _is_end_after_exclamation(place: Place, word: str, goes_on: bool, rules: Rules) -> bool:
    if goes_on:
        # '"Stop!" he said', 'Who is Afraid of Virginia Woolf?* by', 'E! is a channel'
        return not place.close and not is_marked_name(place.before) and len(place.before) > 1
    return not is_marked_name(place.before) or rules.begins_sentence(word)


def _is_end_after_ellipsis(place: Place, word: str, goes_on: bool, rules: Rules) -> bool:
    if goes_on or word[0].isdigit():
        return False
    if place.opens or (rules.begins_sentence(word) and word not in _I):
        return True
    if rules.language == "german":
        # Any noun has a capital letter.
        return rules.model.breaks(f"{place.before}...", word)
    return (
        place.before != "" and word[0].isupper() and word not in _I and place.before.lower() not in _FILLERS
    )


def _is_end_before_lower(place: Place, core: str, rules: Rules) -> bool:
    if place.close or is_short_form(core, rules):
        return False
    if core in rules.before_figure and not place.begins_lower:
        return False
    if place.previous[-1:].isdigit() and len(core) <= 3:
        # A unit: "6 in. tall"
        return False
    if _FIGURE.fullmatch(core):
        # "in 2013. the rest" against "the 3. floor"
        return sum(sign.isdigit() for sign in core) > 3
    if rules.language != "english" and not place.begins_lower:
        # Elsewhere a small letter speaks for an abbreviation, unless someone types so throughout.
        return False
    # Someone who types in lower case throughout, or an abbreviation that nobody listed.
    return rules.model.is_word(core) or len(core) > 5


def _is_end_before_figure(place: Place, core: str, rules: Rules) -> bool:
    if core in rules.before_figure or is_short_form(core, rules):
        return False
    if _FIGURE.fullmatch(core):
        if rules.ordinals and core.isdigit() and len(core) < 3 and _DATE_GOES_ON.match(place.behind):
            return False
        return not place.at_start or sum(sign.isdigit() for sign in core) > 3
    # "dec. 2024": a short word in small letters that the training text does not know
    is_unknown = (
        rules.language != "english" and len(core) <= 4 and place.before.isalpha() and place.before.islower()
    )
    return not (is_unknown and rules.model.knows_words and not rules.model.is_word(core))


def _is_end_before_upper(place: Place, core: str, word: str, rules: Rules) -> bool:
    if core in rules.before_figure and word != "I" and _is_label(place, word):
        return False
    # An entry with capitals stands for just that spelling: "π.Χ." against "π.χ."
    if core in rules.never_last and not place.close and place.before not in rules.exact:
        return False
    begins = len(word) > 1 and rules.begins_sentence(word) and not _NUMBERED.match(place.behind)
    if rules.ordinals and not begins and _is_ordinal(place.before) and not _counts(place.previous, rules):
        return False
    if _FIGURE.fullmatch(core):
        return not (place.at_start and core.isdigit() and len(core) <= 3)
    if len(core) == 1 and core.isalpha() and core not in rules.maybe_last:
        return _is_end_after_letter(place, begins or _is_name_of_thing(place, word, rules))
    if core in rules.clock:
        return word.lower() not in rules.after_clock
    if core in rules.always_last:
        return True
    if is_short_form(core, rules):
        if begins or word in {"A", "I"} or word.lower() in rules.personal_titles:
            return True
        # Punkt weighs how the next word is usually written; of acronyms it knows only some.
        return rules.model.is_abbreviation(core) and rules.model.breaks(f"{place.before}.", word)
    return rules.model.breaks(f"{place.before}.", word)


def _is_label(place: Place, word: str) -> bool:
    """Tell whether a Roman figure or a letter follows, as in "No. IV" and "Ex. B"."""
    return _ROMAN.match(place.behind) is not None or (len(word) == 1 and place.before[:1].isupper())


def _is_ordinal(word: str) -> bool:
    return (word.isdigit() and len(word) < 3) or (word.isupper() and _ROMAN.fullmatch(word) is not None)


def _counts(word: str, rules: Rules) -> bool:
    """Tell whether a word asks for a figure, so that "S. 45." is no ordinal."""
    return word.endswith(".") and word.lower().strip(OPENERS + ".") in rules.before_figure


def _is_name_of_thing(place: Place, word: str, rules: Rules) -> bool:
    """Tell whether a letter names something ("item B. Choose one"), so that no surname is to come."""
    previous = place.previous
    return previous.islower() and previous not in PREPOSITIONS and rules.model.is_common(word)


def _is_end_after_letter(place: Place, begins: bool) -> bool:
    letter = place.before[-1:]
    if letter.isupper():
        # "J. Smith" against "Vitamin C. It"
        return begins
    # "(b. Paris, 1950)", a list letter in front of its item, and a title in a script without capitals
    return letter.islower() and not place.at_start and place.before == letter
