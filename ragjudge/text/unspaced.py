"""Whether a mark with no white space behind it ends a sentence: a forgotten space, or a part of a word."""

from __future__ import annotations

import re

from ragjudge.text.decisions import CLOSERS, OPENERS, REACH, UNAMBIGUOUS, WORD, is_marked_name, is_short_form
from ragjudge.text.languages import Rules

# Signs of an address, a path or code: inside such a word nothing ends.
_NO_PROSE = re.compile(r"[/\\@=&#%<>{}|~$^_]|www\.|\w\(")
# A dot that another small letter or a figure follows belongs to a name of something.
_IS_DOTTED = re.compile(r"\.(?=[^A-Z])|^[\u0e01-\u0e2e]\.")
# What goes on behind a quotation: a Japanese particle, or a Chinese "she asked".
_REPORTS = re.compile(
    r"[とっがはをにでもなのや]|[^，。？！“「『没沒不\s]{1,6}?(?:问|说|道|喊|叫|答|想|問|說)(?:道|着|著)?[。，,：！]"
)
_QUOTE_ENDS = "」』”’\"'"


def is_end_inside_word(view: str, sentence: int, match: re.Match[str], end: int, rules: Rules) -> bool:
    """Decide about a mark with no white space behind it.

    Args:
        view: The text.
        sentence: Where the mark's sentence begins.
        match: The mark, with what closes behind it.
        end: Where the block ends.
        rules: Of the text's language.
    """
    mark, cut = match["mark"], match.end()
    following = view[cut]
    if any(sign in UNAMBIGUOUS for sign in mark):
        if match["close"][-1:] in tuple(_QUOTE_ENDS) and _REPORTS.match(view, cut, end):
            return False
        return following not in ",;:，；：、"
    if "．" in mark:
        return not (view[match.start() - 1 : match.start()].isdigit() and following.isdigit())
    if "…" in mark or ".." in mark or match["refs"]:
        return bool(match["refs"]) and following.isupper()
    if following in "¿¡“„«":
        return view[match.start() - 1 : match.start()].isalnum()
    left = view[max(sentence, match.start() - REACH) : match.start()].split()
    right = view[cut : min(cut + REACH, end)].split()
    if not left or not right or view[match.start() - 1].isspace():
        return False
    before, behind = left[-1].lstrip(OPENERS), right[0]
    word = WORD.match(behind)
    if word is None or _NO_PROSE.search(before) or _NO_PROSE.search(behind):
        return False
    if "." in before or _IS_DOTTED.search(behind.rstrip(".!?,;:" + CLOSERS)):
        return False
    return _is_forgotten_space(mark, before, word.group(), at_start=len(left) == 1, rules=rules)


def _is_forgotten_space(mark: str, before: str, word: str, *, at_start: bool, rules: Rules) -> bool:
    if not before or not before[-1].isalnum():
        return False
    if _is_unspaced_script(word[0]):
        # "พ.ศ.": a single letter in Thai is an abbreviation.
        return not ("\u0e00" <= word[0] <= "\u0eff" and (len(word) == 1 or len(before) == 1))
    if not (word[0].isupper() and word[1:] == word[1:].lower()):
        return False
    if mark != ".":
        return not is_marked_name(before)
    if before.isdigit():
        return not at_start and len(word) > 1 and rules.model.begins_upper(word)
    is_plain = before.islower() or (at_start and before[1:].islower() and rules.model.is_word(before))
    if not (before.isalpha() and is_plain and len(before) > 1) or is_short_form(before.lower(), rules):
        return False
    # "tall.It" and "left.Paris", but neither "torch.Tensor" nor "pandas.Series"
    return rules.begins_sentence(word) or (
        len(word) > 2 and rules.model.is_word(before) and rules.model.begins_upper(word) and not at_start
    )


def _is_unspaced_script(sign: str) -> bool:
    return "\u2e80" <= sign <= "\u9fff" or "\uf900" <= sign <= "\ufaff" or "\u0e00" <= sign <= "\u0eff"
