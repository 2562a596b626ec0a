"""What a piece of a text says, without its markup: the wording a judge reads.

Links are their text, emphasis and code marks, HTML tags and marks of citation are gone, entities are what
they stand for, and white space is single spaces.
"""

from __future__ import annotations

import html
import re

from ragjudge.text.normal import INVISIBLE

# A longer piece is no sentence; only its white space is folded, which also bounds the patterns' time.
_LONGEST = 6000
_MARKUP = re.compile(rf"[`*_\[\]<&>\\~【⁰¹²³⁴⁵⁶⁷⁸⁹{INVISIBLE}]")
_QUOTE_MARKS = re.compile(r"(?<=\n)[ \t]*(?:>[ \t]?)+")
_LINK = re.compile(
    r"!?\[((?:[^\[\]]|\[[^\[\]]{0,60}\]){0,300})\]\([^()\s]{0,600}(?:[ \t]+\"[^\"\n]{0,200}\")?\)"
)
_REFERENCE_LINK = re.compile(r"\[([^\[\]\d][^\[\]]{0,199})\]\[[^\[\]]{0,60}\]")
_CITATION = re.compile(
    r"(?:(?<=[^\W\d_]{3})|(?<=[\s.!?,;:。\"”’)\]]))"
    r"(?:[ \t]?(?:\[\^?\d{1,3}(?:[,;–-] ?\d{1,3}){0,9}\]|\[\^[\w-]{1,20}\]|\[citation needed\]"
    r"|\[note \d{1,3}\]|【[^】\n]{1,40}】))+(?=[\s.!?,;:)]|$)"
)
_RAISED = re.compile(r"(?<=[.!?”\"’)])[⁰¹²³⁴⁵⁶⁷⁸⁹]+(?=\s|$)")
_CELLS = re.compile(r"</t[dh]>\s*<t[dh](?:\s[^<>]{0,200})?>", re.IGNORECASE)
_TAG = re.compile(
    r"</?(?:a|abbr|b|big|br|cite|code|del|em|font|i|img|ins|kbd|li|mark|p|q|s|small|span|strike|strong|sub|"
    r"t[dhr]|tt|u|var|div|ul|ol|hr|table|tbody|thead)(?:\s[^<>]{0,300})?/?>",
    re.IGNORECASE,
)
_RAISE = re.compile(r"<sup>\s*([^<>]{1,40}?)\s*</sup>", re.IGNORECASE)
_AUTOLINK = re.compile(r"<((?:https?://|mailto:)[^<>\s]{1,600})>")
_CODE = re.compile(r"(`{1,3})(?!`)([^`]{1,600})(?<!`)\1(?!`)")
_STARS = re.compile(r"(\*{2,3}|(?<![\w*])\*|~~)(?=[^\s*])([^*~\n]{1,800}?)(?<=\S)\1")
_BARS = re.compile(r"(?<![\w_])(_{1,3})(?=[^\s_])([^_\n]{1,800}?)(?<=[^\s_])\1(?![\w_])")
_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+\-.!|>~])")
_INVISIBLE = re.compile(f"[{INVISIBLE}]+")


def plain_text(text: str) -> str:
    """Return a piece's wording in one line; a piece of nothing but markup stays as it is.

    Args:
        text: One piece, as the source has it.
    """
    if len(text) > _LONGEST or not _MARKUP.search(text):
        return " ".join(text.split())
    code: list[str] = []

    def kept(match: re.Match[str]) -> str:
        # Code is no markup: it is put back at the end.
        code.append(match[2])
        return f"\x00{len(code) - 1}\x00"

    shown = _QUOTE_MARKS.sub("", text.replace("\x00", " "))
    shown = _CODE.sub(kept, shown)
    shown = _REFERENCE_LINK.sub(r"\1", _LINK.sub(r"\1", shown))
    shown = _RAISED.sub("", _CITATION.sub("", shown))
    shown = _RAISE.sub(r"^\1", _AUTOLINK.sub(r"\1", shown))
    shown = html.unescape(_TAG.sub("", _CELLS.sub(" | ", shown)))
    for _ in range(2):
        # "**_both_**": one kind stands inside the other.
        shown = _BARS.sub(r"\2", _STARS.sub(r"\2", shown))
    shown = _ESCAPE.sub(r"\1", _INVISIBLE.sub("", shown))
    shown = re.sub(r"\x00(\d+)\x00", lambda match: code[int(match[1])], shown)
    shown = " ".join(shown.split())
    return shown if any(sign.isalnum() for sign in shown) else " ".join(text.split())


def cells(row: str) -> list[str]:
    """Return the cells of a table row, each as its wording."""
    masked = _CODE.sub(lambda match: match.group().replace("|", "\x00"), row.replace("\\|", "\x00"))
    return [plain_text(cell.replace("\x00", "|")) for cell in masked.strip().strip("|").split("|")]


def row_with_header(header: str, row: str) -> str:
    """Return a table row as a judge reads it: each cell behind the name of its column.

    Args:
        header: The first row of the table; empty when the table has none.
        row: The row.
    """
    names, values = cells(header) if header else [], cells(row)
    said = []
    for index, value in enumerate(values):
        name = names[index] if index < len(names) else ""
        if value:
            said.append(f"{name.rstrip(':')}: {value}" if name and any(map(str.isalnum, name)) else value)
    return "; ".join(said)
