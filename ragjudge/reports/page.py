"""One page of terminal output: its width, its marks, and data laid out on it without being obeyed.

Lines are built from `rich` text objects, never from markup, so that brackets in data stay brackets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ragjudge.reports.printable import first_line, one_line, shorten

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_NARROWEST = 64  # below this a report is cut by the terminal rather than squeezed into confetti
_WIDTH_OF_FILES = 100


STEP = 4
"""Columns by which the scores of a row are set in."""


class Mark(NamedTuple):
    """A sign before a row, a score or a claim.

    Attributes:
        sign: The sign on a terminal that can show it.
        plain: The same in ASCII.
        style: Its colour.
    """

    sign: str
    plain: str
    style: str


PASSED = Mark("✓", "ok", "green")
FAILED = Mark("✗", "FAIL", "bold red")
NOT_APPLICABLE = Mark("–", "n/a", "yellow")
ERROR = Mark("!", "ERR", "bold yellow")
NO_THRESHOLD = Mark("·", "--", "")

_ASCII = str.maketrans({"–": "-", "…": "...", "≥": ">=", "·": "-"})
_SIGNS = "✓✗–·…≥"


def plain(text: str) -> str:
    """Return our own typography in ASCII."""
    return text.translate(_ASCII)


def open_console(*, stderr: bool = False) -> Console:
    """Return a console for a report; 100 columns wide when there is no terminal to ask for its width.

    Args:
        stderr: Write to stderr instead of stdout.
    """
    from os import environ

    from rich.console import Console

    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not console.is_terminal and not environ.get("COLUMNS"):
        console.width = _WIDTH_OF_FILES
    return console


class Page:
    """Where a report is printed.

    Args:
        console: The `rich` console to print on.

    Attributes:
        width: Columns to fill.
        ascii: Whether the terminal shows nothing but ASCII for certain.
        mark_width: Columns that a mark takes.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self.width = max(console.width, _NARROWEST)
        self.ascii = not _can_show_signs(console)
        self.mark_width = 4 if self.ascii else 1

    def own(self, text: str) -> str:
        """Return text of ours, in the typography that the terminal can show."""
        return plain(text) if self.ascii else text

    def data(self, text: str) -> str:
        """Return text from data on one line, safe to print."""
        return one_line(text, self._console.encoding)

    def head(self, text: str | None) -> str:
        """Return the first line of a text from data, safe to print; empty for none."""
        return first_line(text or "", self._console.encoding)

    def fit(self, text: str, cells: int) -> str:
        """Return safe text cut to a width."""
        return shorten(text, cells, self.own("…"))

    def cells(self, text: str) -> int:
        """Return the columns that safe text takes."""
        from rich.cells import cell_len

        return cell_len(text)

    def pad(self, text: str, cells: int) -> str:
        """Return safe text cut or filled up to exactly a width."""
        fitting = self.fit(text, cells)
        return fitting + " " * (cells - self.cells(fitting))

    def mark(self, mark: Mark) -> tuple[str, str]:
        """Return a mark, padded so that what follows is aligned, and its style."""
        return (mark.plain if self.ascii else mark.sign).ljust(self.mark_width), mark.style

    def line(self, *parts: str | tuple[str, str], indent: int = 0) -> None:
        """Print one line of texts, each with a style or without."""
        self._put(_text(" " * indent, *parts))

    def wrapped(self, *parts: str | tuple[str, str], indent: int = 0, hang: int = 0) -> None:
        """Print texts as a paragraph.

        Args:
            parts: Texts, each with a style or without.
            indent: Columns before every line.
            hang: Further columns before every line but the first.
        """
        room = max(self.width - indent - hang, 1)
        lines = _text(*parts).wrap(self._console, room, overflow="fold")
        for number, line in enumerate(lines):
            self._put(_text(" " * (indent + (hang if number else 0)), line))

    def wrap(self, text: str, cells: int, most: int) -> list[str]:
        """Return safe text in lines of a width, ``most`` of them at most."""
        if most == 1:
            return [self.fit(text, cells)]
        short = self.fit(text, cells * most)
        lines = [line.plain.rstrip() for line in _text(short).wrap(self._console, cells, overflow="fold")]
        return lines or [""]

    def _put(self, text: Text) -> None:
        text.rstrip()
        # soft_wrap: the layout is done; rich must neither wrap nor cut it again.
        self._console.print(text, soft_wrap=True, highlight=False)


def _text(*parts: Any) -> Text:
    from rich.text import Text

    return Text.assemble(*parts)


def _can_show_signs(console: Console) -> bool:
    if console.legacy_windows:
        return False
    try:
        _SIGNS.encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
