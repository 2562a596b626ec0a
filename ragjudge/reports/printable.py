"""Text from data made safe for a terminal: nothing in it can move the cursor, hide or reorder.

Answers, chunks and even row ids come from files and models that nobody has read. Printed raw, an escape
sequence in one of them could rewrite what the report says, and a bidirectional override could show a
claim in another order than the judge read it.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

# Controls, format characters (bidi overrides, zero-width space, tags), surrogates, line separators.
_UNSAFE = frozenset(["Cc", "Cf", "Cs", "Zl", "Zp"])

# Persian, the Indic scripts and composed emoji cannot be written without these two.
_JOINERS = frozenset(["\u200c", "\u200d"])

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}

# What an ASCII terminal has another sign for: an escape there would hide the words between the signs.
_FOLDED = {
    **dict.fromkeys("‘’‚‛′", "'"),
    **dict.fromkeys("“”„‟″", '"'),
    **dict.fromkeys("‐‑‒–−", "-"),
    "—": "--",
    "…": "...",
    "‹": "<",
    "›": ">",
    "«": '"',
    "»": '"',
    "•": "*",
    "\u00a0": " ",
    "\u202f": " ",
}

# A letter may carry any number of marks that take no room; this many characters a cell is plenty.
_CHARACTERS_PER_CELL = 4


def printable(text: str, encoding: str = "utf-8") -> str:
    r"""Return ``text`` with every character that a terminal would obey or cannot show as a visible escape.

    Args:
        text: Any string, lone surrogates included.
        encoding: Encoding of the terminal. What it does not hold is escaped as well; typographic quotes,
            dashes and the like become their plain ASCII form instead.

    Returns:
        Text of one line, e.g. ``\x1b[2J`` (seven characters) for a clear-screen sequence.
    """
    safe = text
    if not text.isprintable():
        safe = "".join(_escaped(character) if _is_unsafe(character) else character for character in text)
    try:
        return safe.encode(encoding).decode(encoding)
    except UnicodeEncodeError:
        return safe.translate(_folding(encoding)).encode(encoding, "backslashreplace").decode(encoding)


def one_line(text: str, encoding: str = "utf-8") -> str:
    """Return ``text`` as one line: white space becomes single spaces, the rest as in `printable`."""
    return printable(" ".join(text.split()), encoding)


def first_line(text: str, encoding: str = "utf-8") -> str:
    """Return the first line of ``text`` that is not blank, as in `one_line`; empty when there is none."""
    stripped = text.strip()
    return one_line(stripped.splitlines()[0], encoding) if stripped else ""


def shorten(text: str, cells: int, ellipsis: str = "…") -> str:
    """Return ``text`` cut to a width, marked with an ellipsis when something is missing.

    Args:
        text: Text of one line, see `one_line`.
        cells: Width of the result in terminal cells, at most; an East Asian letter takes two.
        ellipsis: The mark.
    """
    from rich.cells import cell_len

    limit = max(cells, 0)
    if len(text) <= limit * _CHARACTERS_PER_CELL and cell_len(text) <= limit:
        return text
    room = limit - cell_len(ellipsis)
    if room < 0:
        return ellipsis[:limit]
    low, high = 0, min(len(text), room * _CHARACTERS_PER_CELL)
    while low < high:
        middle = (low + high + 1) // 2
        if cell_len(text[:middle]) <= room:
            low = middle
        else:
            high = middle - 1
    return text[:low].rstrip() + ellipsis


@lru_cache(maxsize=8)
def _folding(encoding: str) -> dict[int, str]:
    """Return what is folded in an encoding: of `_FOLDED`, the characters that it does not hold."""
    return {ord(character): plain for character, plain in _FOLDED.items() if not _holds(encoding, character)}


def _holds(encoding: str, character: str) -> bool:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _is_unsafe(character: str) -> bool:
    return unicodedata.category(character) in _UNSAFE and character not in _JOINERS


def _escaped(character: str) -> str:
    code = ord(character)
    if character in _SHORT:
        return _SHORT[character]
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
