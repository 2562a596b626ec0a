"""Where sentences end inside one block: the candidates.

Every full stop, question mark, exclamation mark and ellipsis is a candidate, and so is an emoji between
words and a gap in Thai. Each candidate looks at a bounded stretch of text, so that the time is linear
whatever the text is. What is decided about it stands in `decisions` and `unspaced`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from ragjudge.text.decisions import CLOSERS, OPENERS, REACH, UNAMBIGUOUS, Place, is_end, is_end_between
from ragjudge.text.guarded import guarded_ranges
from ragjudge.text.languages import Rules
from ragjudge.text.thai import thai_gaps
from ragjudge.text.unspaced import is_end_inside_word

_REFERENCE = (
    r"(?:\[(?:\^?\d{1,3}(?:[,;–-] ?\d{1,3}){0,9}|\^[\w-]{1,20}|citation needed|note \d{1,3})\]"
    r"|【[^】\n]{1,40}】)"
)
_SPACED_REFERENCE = re.compile(rf"(?:[ \t]{_REFERENCE})+(?=\s|$)")
_EMOJI = "\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff"
_AFTER = re.compile(rf"(?:[ \t]*[{_EMOJI}])+(?=\s|$)")
_ONE_LETTER = re.compile(rf"[{re.escape(OPENERS)}]*[^\W\d_]{{1,2}}\.$")
_OPENING_TAGS = re.compile(r"(?:<[a-zA-Z]\w{0,10}>)+")
_BEFORE_WORD = " \t\n" + OPENERS
_WORD_FOLLOWS = re.compile(r"[ \t]+[^\W\d_]")
# "No", "Art" and the like may be abbreviations themselves.
_CAPITALISED = re.compile(r" ((?!No|Nr|Art|Vol|Fig|Sec)[A-Z][a-z]+)(?=[ ,])")
_PLAIN = frozenset({".", "?", "!"})
# One space and a letter: neither a reference nor an emoji follows.
_QUICK = re.compile(r" ?[a-zA-Z]")
_IS_EMOJI = re.compile(rf"[{_EMOJI}]")


@functools.lru_cache(maxsize=8)
def _candidates(marks: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?P<mark>[.!?…．{UNAMBIGUOUS}{re.escape(marks)}{_EMOJI}]"
        rf"(?:(?<![{_EMOJI}])[.!?…．{UNAMBIGUOUS}{re.escape(marks)}]+)?)"
        # „Ja.“ and »Ja.« close with what opens elsewhere; a French guillemet has a space in front.
        rf"(?P<close>[{CLOSERS}]*(?:</[a-zA-Z]\w{{0,10}}>)*(?:[“‘«](?=[\s,;:)]|$))?(?:[ \u00a0\u202f]»)?)"
        rf"(?P<refs>(?:{_REFERENCE}|(?<=[.!?])\(\d{{1,2}}\)(?=\s|$))*(?:[⁰¹²³⁴⁵⁶⁷⁸⁹]+(?:,[⁰¹²³⁴⁵⁶⁷⁸⁹]+)*)?)"
    )


def sentence_ends(view: str, start: int, end: int, rules: Rules) -> Iterator[int]:
    """Yield the offsets behind which a new sentence begins, in order.

    Args:
        view: The text, with anything that is no part of a sentence made white space.
        start: Where the block begins.
        end: Where the block ends; not yielded itself.
        rules: Of the text's language.
    """
    ends = _marked_ends(view, start, end, rules)
    gaps = thai_gaps(view, start, end)
    if gaps:
        ends = iter(sorted({*ends, *gaps}))
    yield from ends


def _marked_ends(view: str, start: int, end: int, rules: Rules) -> Iterator[int]:
    guards = guarded_ranges(view, start, end)
    guard = next(guards, None)
    sentence = start
    for match in _candidates(rules.marks).finditer(view, start, end):
        while guard is not None and guard[1] <= match.start():
            guard = next(guards, None)
        if guard is not None and guard[0] <= match.start():
            continue
        if match.end() >= end:
            return
        known = _between_words(view, match, sentence, rules)
        ends, cut = (known, match.end()) if known is not None else _decided(view, match, sentence, end, rules)
        if ends:
            yield cut
            sentence = cut


def _decided(view: str, match: re.Match[str], sentence: int, end: int, rules: Rules) -> tuple[bool, int]:
    """Return whether a sentence ends at a candidate, and the offset behind what still belongs to it."""
    mark, close, cut = match["mark"], match["close"], match.end()
    if mark not in _PLAIN and _IS_EMOJI.match(mark):
        follows = _WORD_FOLLOWS.match(view, cut, end) is not None
        return follows and _is_end_after_emoji(view, sentence, match.start(), cut, rules), cut
    if close[-1:] == "»" and view[cut - 2].isspace() and "«" not in view[sentence:cut]:
        # A mark between the parts of a title, not the end of a quotation.
        cut -= 2
    if not _QUICK.match(view, cut):
        cut = _behind_followers(view, sentence, cut, end)
    if cut >= end:
        return False, cut
    if view[cut].isspace():
        return is_end(_place(view, sentence, match, cut, end), rules), cut
    return is_end_inside_word(view, sentence, match, end, rules), cut


def _between_words(view: str, match: re.Match[str], sentence: int, rules: Rules) -> bool | None:
    """Decide about a full stop between two plain words; None when anything else may matter.

    That is the most frequent case by far, and the same pairs of words come again and again.
    """
    at, cut = match.span()
    following = _CAPITALISED.match(view, cut)
    if following is None or cut - at > 1 or view[at] != ".":
        return None
    space = view.rfind(" ", max(sentence, at - REACH), at)
    if not 0 <= space < at - 3:
        return None
    word = view[space + 1 : at]
    if not (word.isalpha() and word.islower()):
        return None
    return is_end_between(word, following[1], rules)


def _behind_followers(view: str, sentence: int, cut: int, end: int) -> int:
    """Return the offset behind references and emoji that belong to the sentence in front of them."""
    spaced = _SPACED_REFERENCE.match(view, cut, end) if view[cut].isspace() else None
    if spaced:
        cut = spaced.end()
    # Whoever begins a sentence with an emoji begins the next one with another.
    after = _AFTER.match(view, cut, end)
    return after.end() if after and not _IS_EMOJI.match(view[sentence : sentence + 8].lstrip()) else cut


def _place(view: str, sentence: int, match: re.Match[str], cut: int, end: int) -> Place:
    before_all = view[max(sentence, match.start() - REACH) : match.start()]
    words = before_all.rsplit(None, 2)
    before = words[-1] if words and not before_all[-1].isspace() else ""
    previous = words[-2] if len(words) > 1 else ""
    spaced = f"{previous.lstrip(OPENERS)}{before}".lower() if _ONE_LETTER.match(previous) else ""
    behind_all = view[cut : cut + 2 * REACH if cut + 2 * REACH < end else end].lstrip()
    if behind_all[:1] == "<":
        behind_all = _OPENING_TAGS.sub("", behind_all, count=1)
    behind = behind_all.lstrip(OPENERS)
    opens = behind_all[: len(behind_all) - len(behind)]
    at_start = len(words) <= 1 and match.start() - sentence < REACH
    at_start = at_start or (len(words) > 1 and words[-2][-1:] in ":;" and words[-2][0] != "&")
    return Place(
        mark=match["mark"],
        close=match["close"],
        before=before.lstrip(OPENERS),
        spaced=spaced,
        previous=previous,
        behind=behind[:REACH],
        opens=opens,
        at_start=at_start,
        begins_lower=behind[:1].islower()
        and view[sentence : sentence + REACH].lstrip(_BEFORE_WORD)[:1].islower(),
    )


def _is_end_after_emoji(view: str, sentence: int, at: int, cut: int, rules: Rules) -> bool:
    before = [word for word in view[max(sentence, at - REACH) : at].split() if not _IS_EMOJI.fullmatch(word)]
    word = view[cut : cut + REACH].split(maxsplit=1)[0]
    if not before or before[-1][-1] in ".!?,;:" or _IS_EMOJI.match(before[0]):
        return False
    return word[0].isupper() and rules.begins_sentence(word.strip(",.!?"))
