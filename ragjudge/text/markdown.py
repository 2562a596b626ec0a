"""The blocks of a text: paragraphs, list items, table rows, headings, code. Plain text is one kind of it.

This is no renderer. It finds out which lines belong together and where the marks are that are no part of
any sentence, and it errs on the side of plain prose: an answer that merely looks odd loses nothing.
"""

from __future__ import annotations

import json
from typing import Literal, NamedTuple

from ragjudge.text import markup
from ragjudge.text.spans import trimmed

BlockKind = Literal["prose", "item", "heading", "header", "row", "code", "data", "marker"]
# A value of JSON that is longer than this is looked at no further.
_LONGEST_DATA = 100_000


class Block(NamedTuple):
    """A run of text that no sentence crosses.

    Attributes:
        kind: ``prose`` and ``item`` are cut into sentences, all others stay whole. ``header`` is the first
            row of a table, ``data`` a value of JSON, ``marker`` a list mark with nothing behind it.
        start: Offset of its first character that is neither white space nor markup.
        end: Offset behind its last one.
        indent: How far its first line is indented, in columns; tells nested items.
        number: The figure in front of a numbered item, 0 for any other block.
    """

    kind: BlockKind
    start: int
    end: int
    indent: int = 0
    number: int = 0


class Layout(NamedTuple):
    """The blocks of a text, and the text as decisions read it.

    Attributes:
        view: As long as the text, character by character; quote marks in front of lines are spaces.
        blocks: In order and disjoint.
    """

    view: str
    blocks: tuple[Block, ...]


def layout(text: str, *, ordinals: bool = False) -> Layout:
    """Find the blocks of a text, in time linear in its length.

    Args:
        text: Any text.
        ordinals: Whether "3." is how "third" is written: then a figure counts items only in a row.
    """
    text = markup.blanked(text)
    if _is_json(text):
        return Layout(text, (Block("data", *trimmed(text, 0, len(text))),))
    return _Reader(text, ordinals=ordinals).read()


class _Reader:
    """Reads a text line by line and remembers the block that is still open."""

    def __init__(self, text: str, *, ordinals: bool) -> None:
        self._text = text
        self._ordinals = ordinals
        self._blocks: list[Block] = []
        self._blanks: list[tuple[int, int]] = []
        self._open: BlockKind | None = None
        self._start = self._end = self._indent = self._number = 0
        self._last_line = ""
        self._depth = 0
        self._fence = ""
        self._fence_depth = 0
        self._in_table = False
        self._following = ""
        self._numbers = {0}

    def read(self) -> Layout:
        lines = [(m.start(), m.start() + len(m.group().rstrip())) for m in markup.LINE.finditer(self._text)]
        contents = [self._unquoted(start, end) for start, end in lines]
        for number, (start, end, depth) in enumerate(contents):
            line = self._text[start:end]
            following = contents[number + 1] if number + 1 < len(contents) else (end, end, 0)
            if self._fence and self._inside_fence(line, start, end, depth):
                continue
            if depth != self._depth and not (self._open == "prose" and depth == 0 and line[:1].islower()):
                self._close()
                self._depth = depth
            self._following = self._text[following[0] : following[1]]
            self._line(line, start, end)
        self._close()
        return Layout(self._viewed(), tuple(self._blocks))

    def _unquoted(self, start: int, end: int) -> tuple[int, int, int]:
        match = markup.QUOTE.match(self._text, start, end)
        if match is None:
            return start, end, 0
        self._blanks.append((start, match.end()))
        return match.end(), end, match.group().count(">")

    def _viewed(self) -> str:
        parts: list[str] = []
        done = 0
        for start, end in self._blanks:
            parts += (self._text[done:start], " " * (end - start))
            done = end
        return "".join(parts) + self._text[done:]

    def _inside_fence(self, line: str, start: int, end: int, depth: int) -> bool:
        """Take a line into the open code block; False when the block ended before this line."""
        if depth < self._fence_depth:
            self._close()
            return False
        mark = line.strip()
        if len(mark) >= len(self._fence) and not mark.strip(self._fence[0]):
            self._close()
        elif mark:
            self._extend("code", start, end, line)
        return True

    def _line(self, line: str, start: int, end: int) -> None:
        if markup.is_plain(line):
            # The most frequent case by far, and the quickest to tell.
            self._in_table = False
            self._prose(line, start, end)
        elif not line.strip():
            self._close()
        elif fence := markup.opening_fence(line):
            self._close()
            self._fence, self._fence_depth = fence, self._depth
        elif match := markup.HEADING.match(line):
            self._close()
            tail = line.rstrip("#")
            cut = len(tail) if tail[-1:].isspace() and tail != line else len(line)
            self._add("heading", start + match.end(), start + max(cut, match.end()))
        elif self._underline(line) or self._table_line(line, start):
            pass
        elif "<" in line:
            self._tagged(line, start)
        else:
            self._flow(line, start, end)

    def _underline(self, line: str) -> bool:
        """Take a rule, or the underline that makes the line before it a heading."""
        mark = markup.rule_mark(line)
        if not mark or (mark == "=" and self._open != "prose"):
            return False
        is_one_line = "\n" not in self._text[self._start : self._end]
        if mark in "-=" and self._open == "prose" and is_one_line:
            # A rule below a full sentence is a rule: a heading that asserts something must not be lost.
            ends = markup.ENDS_SENTENCE.search(self._last_line[-8:])
            self._open = "prose" if ends else "heading"
        self._close()
        return True

    def _table_line(self, line: str, start: int) -> bool:
        if "|" not in line:
            self._in_table = False
            return False
        if markup.is_separator(line):
            self._close(table=True)
            return True
        bare = line.strip()
        is_header = not self._in_table and markup.is_separator(self._following)
        if not (is_header or self._in_table or (len(bare) > 2 and bare[0] == bare[-1] == "|")):
            return False
        self._close(table=True)
        inner = line.strip("| \t")
        if inner:
            left = start + len(line) - len(line.lstrip("| \t"))
            self._add("header" if is_header else "row", left, left + len(inner))
        return True

    def _tagged(self, line: str, start: int) -> None:
        """Take a line with HTML: its block tags are no part of any sentence, and end one."""
        for number, (name, left, right) in enumerate(markup.tagged_parts(line)):
            if number:
                self._close()
            part = line[left:right]
            if not part.strip():
                continue
            if name[:1] == "h" and name[1:].isdigit():
                self._add("heading", start + left, start + right)
            elif name == "li":
                self._add("item", start + left, start + right)
            else:
                # The first part keeps the indent of its line, which a list mark is counted from.
                first, last = self._bounds(part, start + left)
                self._flow(*((part, start, last) if number == 0 else (part.strip(), first, last)))

    @staticmethod
    def _bounds(part: str, start: int) -> tuple[int, int]:
        return start + len(part) - len(part.lstrip()), start + len(part.rstrip())

    def _flow(self, line: str, start: int, end: int) -> None:
        """Take a line of a paragraph or of a list."""
        behind = markup.item_mark(line, self._last_line if self._open == "prose" else None)
        number = markup.item_number(line[:behind])
        if behind and self._belongs_to_list(number, is_bare=behind == len(line)):
            self._close()
            self._open, self._number = "item", number
            self._numbers.add(number)
            self._indent = markup.indent_of(line)
            self._start, self._end = start + behind, start + behind
            if behind < len(line):
                self._extend("item", start + behind, end, line)
            else:
                # Until a next line fills it, the mark itself is all there is.
                self._blocks.append(Block("marker", *trimmed(self._text, start, end)))
            return
        if markup.is_bold_line(line) and not (self._open == "item" and line[:1].isspace()):
            self._close()
            self._add("prose", start, end)
            return
        self._prose(line, start, end)

    def _prose(self, line: str, start: int, end: int) -> None:
        """Take a line without a mark of its own."""
        if self._open == "item" and line[:1].isspace() and self._start == self._end:
            self._blocks.pop()
        elif self._begins_anew(line):
            self._close()
        self._extend("item" if self._open == "item" else "prose", start, end, line)

    def _belongs_to_list(self, number: int, *, is_bare: bool) -> bool:
        """Tell whether a figure counts items, or is the ordinal or the day that a sentence begins with."""
        if is_bare or not self._ordinals or number - 1 in self._numbers or number < 2:
            return True
        last = self._open or (self._blocks[-1].kind if self._blocks else "")
        return last == "item" or markup.item_number(self._following) == number + 1

    def _begins_anew(self, line: str) -> bool:
        if self._open == "item":
            # Markdown would take any line into the item; people who leave the indent out start a paragraph.
            return self._start == self._end or not (line[:1].isspace() or line[:1].islower())
        if self._open != "prose":
            return False
        if markup.REFERENCE.match(line):
            ends = markup.ENDS_SENTENCE.search(self._last_line[-8:])
            return bool(ends or markup.REFERENCE.match(self._last_line))
        return bool(markup.LABEL.match(line) and markup.LABEL.match(self._last_line))

    def _extend(self, kind: BlockKind, start: int, end: int, line: str) -> None:
        if self._open != kind or self._start == self._end:
            self._open, self._start = kind, start
        self._end = end
        self._last_line = line

    def _add(self, kind: BlockKind, start: int, end: int) -> None:
        left, right = trimmed(self._text, start, end)
        if left < right:
            self._blocks.append(Block(kind, left, right, self._indent, self._number))

    def _close(self, *, table: bool = False) -> None:
        if self._open is not None:
            self._add(self._open, self._start, self._end)
        self._open, self._start, self._end = None, 0, 0
        self._indent = self._number = 0
        self._last_line = ""
        self._fence = ""
        self._in_table = table


def _is_json(text: str) -> bool:
    """Tell whether the whole text is one object or list of JSON."""
    bare = text.strip()
    if len(bare) > _LONGEST_DATA or bare[:1] + bare[-1:] not in {"{}", "[]"} or '"' not in bare:
        return False
    try:
        json.loads(bare)
    except (ValueError, RecursionError):
        return False
    return True
