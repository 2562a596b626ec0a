"""Where sentences end inside one block.

Every full stop, question mark, exclamation mark and ellipsis is a candidate. Rules decide what they can
decide from the mark and its two neighbours (a title, an initial, a version, a host name, a bracket that
goes on in lower case …); what is left is Punkt's decision. Each candidate looks at a bounded stretch of
text, so that the time is linear whatever the text is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ragjudge.text import punkt
from ragjudge.text.abbreviations import (
    AFTER_CLOCK_TIME,
    BEFORE_FIGURE,
    MARKED_NAMES,
    MAYBE_LAST,
    NEVER_LAST,
    PERSONAL_TITLES,
    STARTERS,
)
from ragjudge.text.guarded import guarded_ranges

# Marks of writing systems that put no space behind a sentence, or whose mark has no second meaning.
_UNAMBIGUOUS = "。！？｡؟۔।॥።။។"
_CLOSERS = "\"'”’»›)\\]}*_」』）】》〉〕］"
_REFERENCE = r"\[(?:\^?\d{1,3}(?:[,;–-] ?\d{1,3}){0,9}|citation needed|note \d{1,3})\]"
_END = re.compile(
    rf"(?P<mark>[.!?…．{_UNAMBIGUOUS}]+)(?P<close>[{_CLOSERS}]*)(?P<refs>(?:{_REFERENCE})*[⁰¹²³⁴⁵⁶⁷⁸⁹]*)"
)
_SPACED_REFERENCE = re.compile(rf"(?:[ \t]{_REFERENCE})+(?=\s|$)")
_OPENERS = "([{\"'“‘«‹„*_<¿¡—–-「『（【《〈`~"
_WORD = re.compile(r"[^\W_](?:[\w'’-]*[^\W_])?")
_ACRONYM = re.compile(r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}")
_FIGURE = re.compile(r"[$€£]?\d[\d.,:/-]*%?")
_ROMAN = re.compile(r"[IVXLC]{1,6}\b")
# Signs of an address, a path or code: inside such a word nothing ends.
_NO_PROSE = re.compile(r"[/\\@=&#%<>{}|~$^_]|www\.|\w\(")
# How far a candidate looks to either side, in characters.
_REACH = 48


class _Place(NamedTuple):
    """A candidate: its mark, what closes behind it, and its neighbours."""

    mark: str
    close: str
    before: str
    behind: str
    opens: str
    at_start: bool


def sentence_ends(view: str, start: int, end: int) -> Iterator[int]:
    """Yield the offsets behind which a new sentence begins, in order.

    Args:
        view: The text, with anything that is no part of a sentence made white space.
        start: Where the block begins.
        end: Where the block ends; not yielded itself.
    """
    guards = guarded_ranges(view, start, end)
    guard = next(guards, None)
    sentence = start
    for match in _END.finditer(view, start, end):
        while guard is not None and guard[1] <= match.start():
            guard = next(guards, None)
        if guard is not None and guard[0] <= match.start():
            continue
        cut = match.end()
        if cut >= end:
            return
        if view[cut].isspace():
            spaced = _SPACED_REFERENCE.match(view, cut, end)
            if spaced:
                cut = spaced.end()
            ends = _is_end_before_space(_place(view, sentence, match, cut, end))
        else:
            ends = _is_end_inside_word(view, sentence, match, end)
        if ends:
            yield cut
            sentence = cut


def _place(view: str, sentence: int, match: re.Match[str], cut: int, end: int) -> _Place:
    before_all = view[max(sentence, match.start() - _REACH) : match.start()]
    words = before_all.split()
    before = words[-1] if words and not before_all[-1].isspace() else ""
    behind_all = view[cut : cut + 2 * _REACH if cut + 2 * _REACH < end else end].lstrip()
    behind = behind_all.lstrip(_OPENERS)
    opens = behind_all[: len(behind_all) - len(behind)]
    at_start = len(words) <= 1 and match.start() - sentence < _REACH
    at_start = at_start or (len(words) > 1 and words[-2][-1:] in ":;")
    return _Place(match["mark"], match["close"], before.lstrip(_OPENERS), behind[:_REACH], opens, at_start)


def _is_end_before_space(place: _Place) -> bool:
    """Decide about a mark with white space behind it."""
    if any(sign in _UNAMBIGUOUS for sign in place.mark):
        return True
    match = _WORD.match(place.behind)
    if match is None:
        return _is_end_before_sign(place)
    word = match.group()
    goes_on = word[0].islower() and word[1:].islower() | (len(word) == 1)
    if "!" in place.mark or "?" in place.mark:
        return _is_end_after_exclamation(place, word, goes_on)
    if "…" in place.mark or ".." in place.mark:
        return _is_end_after_ellipsis(place, word, goes_on)
    core = place.before.lower().rstrip(_CLOSERS)
    if not core:
        return not goes_on
    if core != place.before.lower() and not place.close:
        # 'the value of "x". The': what a quote or bracket closes before the stop is no abbreviation.
        return True
    if goes_on:
        return _is_end_before_lower(place, core)
    if word[0].isdigit():
        return _is_end_before_figure(place, core)
    return _is_end_before_upper(place, core, word)


def _is_end_before_sign(place: _Place) -> bool:
    """The next thing is no word: an emoji, a dash, another mark."""
    if not place.behind or place.behind[0] in ".,;:!?…&+=" or place.mark.startswith("..."):
        return False
    return not _is_short_form(place.before.lower()) or "!" in place.mark or "?" in place.mark


def _is_end_after_exclamation(place: _Place, word: str, goes_on: bool) -> bool:
    name = place.before.lower()
    if goes_on:
        # '"Stop!" he said', 'Who is Afraid of Virginia Woolf?* by'
        return not place.close and name not in MARKED_NAMES
    return name not in MARKED_NAMES or word.lower() in STARTERS


def _is_end_after_ellipsis(place: _Place, word: str, goes_on: bool) -> bool:
    if goes_on or word[0].isdigit():
        return False
    if place.opens or (word.lower() in STARTERS and not word.startswith("I")):
        return True
    return punkt.breaks(f"{place.before}...", word)


def _is_end_before_lower(place: _Place, core: str) -> bool:
    if place.close or _is_short_form(core):
        return False
    if _FIGURE.fullmatch(core):
        # "in 2013. the rest" against "the 3. floor"
        return sum(sign.isdigit() for sign in core) > 3
    # Someone who types in lower case throughout, or an abbreviation that nobody listed.
    return punkt.is_word(core) or len(core) > 5


def _is_end_before_figure(place: _Place, core: str) -> bool:
    if core in BEFORE_FIGURE or _is_short_form(core):
        return False
    if _FIGURE.fullmatch(core):
        return not place.at_start or sum(sign.isdigit() for sign in core) > 3
    return True


def _is_end_before_upper(place: _Place, core: str, word: str) -> bool:
    follower = word.lower()
    if core in BEFORE_FIGURE and _ROMAN.match(place.behind) and word != "I":
        return False
    if core in NEVER_LAST and not place.close:
        return False
    if _FIGURE.fullmatch(core):
        return not (place.at_start and core.isdigit() and len(core) <= 3)
    is_starter = follower in STARTERS and len(word) > 1
    if len(core) == 1 and core.isalpha():
        return _is_end_after_letter(place, is_starter)
    if core in {"a.m", "p.m", "am", "pm"}:
        return follower not in AFTER_CLOCK_TIME
    if core == "etc":
        return True
    if _is_short_form(core):
        if is_starter or word in {"A", "I"} or follower in PERSONAL_TITLES:
            return True
        # Punkt weighs how the next word is usually written; of acronyms it knows only some.
        return punkt.is_abbreviation(core) and punkt.breaks(f"{place.before}.", word)
    return punkt.breaks(f"{place.before}.", word)


def _is_end_after_letter(place: _Place, is_starter: bool) -> bool:
    letter = place.before[-1:]
    if letter.isupper():
        # "J. Smith" against "Vitamin C. It"
        return is_starter
    # "(b. Paris, 1950)", and a list letter in front of its item
    return letter.isalnum() and not place.at_start and place.before == letter


def _is_short_form(core: str) -> bool:
    last = core.rsplit("-", 1)[-1]
    return (
        core in NEVER_LAST
        or core in MAYBE_LAST
        or (len(core) == 1 and core.isalpha())
        or _ACRONYM.fullmatch(core) is not None
        or punkt.is_abbreviation(core)
        or (last != core and punkt.is_abbreviation(last))
    )


def _is_end_inside_word(view: str, sentence: int, match: re.Match[str], end: int) -> bool:
    """Decide about a mark with no white space behind it: a forgotten space, or a part of a word."""
    mark, cut = match["mark"], match.end()
    if any(sign in _UNAMBIGUOUS for sign in mark):
        return view[cut] not in ",;:，；：、"
    if "．" in mark:
        return not (view[match.start() - 1 : match.start()].isdigit() and view[cut].isdigit())
    if "…" in mark or ".." in mark or match["refs"]:
        return bool(match["refs"]) and view[cut].isupper()
    left = view[max(sentence, match.start() - _REACH) : match.start()].split()
    right = view[cut : min(cut + _REACH, end)].split()
    if not left or not right or view[match.start() - 1].isspace():
        return False
    before, behind = left[-1].lstrip(_OPENERS), right[0]
    word = _WORD.match(behind)
    if word is None or _NO_PROSE.search(before) or _NO_PROSE.search(behind):
        return False
    if "." in before or "." in behind.rstrip(".!?,;:" + _CLOSERS):
        return False
    return _is_forgotten_space(mark, before, word.group(), at_start=len(left) == 1)


def _is_forgotten_space(mark: str, before: str, word: str, *, at_start: bool) -> bool:
    if not before or not before[-1].isalnum():
        return False
    if _is_unspaced_script(word[0]):
        return True
    if not (word[0].isupper() and word[1:] == word[1:].lower()):
        return False
    if mark != ".":
        return before.lower() not in MARKED_NAMES
    if before.isdigit():
        return not at_start and len(word) > 1 and punkt.begins_upper(word)
    if not (before.isalpha() and before.islower() and len(before) > 1) or _is_short_form(before):
        return False
    # "tall.It" and "left.Paris", but neither "torch.Tensor" nor "pandas.Series"
    return word.lower() in STARTERS or (
        len(word) > 2 and punkt.is_word(before) and punkt.begins_upper(word) and not at_start
    )


def _is_unspaced_script(sign: str) -> bool:
    return "\u2e80" <= sign <= "\u9fff" or "\uf900" <= sign <= "\ufaff" or "\u0e00" <= sign <= "\u0eff"
