"""The blocks of a text: paragraphs, list items, table rows, headings, code. Plain text is one kind of it.

This is no renderer. It finds out which lines belong together and where the marks are that are no part of
any sentence, and it errs on the side of plain prose: an answer that merely looks odd loses nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ragjudge.text.spans import trimmed

BlockKind = Literal["prose", "item", "heading", "header", "row", "code", "marker"]


@dataclass(frozen=True, slots=True)
class Block:
    """A run of text that no sentence crosses.

    Attributes:
        kind: ``prose`` is cut into sentences, all others stay whole. ``header`` is the first row of a table,
            ``marker`` a list mark with nothing behind it.
        start: Offset of its first character that is neither white space nor markup.
        end: Offset behind its last one.
    """

    kind: BlockKind
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Layout:
    """The blocks of a text, and the text as decisions read it.

    Attributes:
        view: As long as the text, character by character; quote marks in front of lines are spaces.
        blocks: In order and disjoint.
    """

    view: str
    blocks: tuple[Block, ...]


_LINE = re.compile(r"[^\n\r\x0b\x0c\x85\u2028\u2029]*(?:\r\n|[\n\r\x0b\x0c\x85\u2028\u2029]|\Z)")
_QUOTE = re.compile(r"(?:[ \t]{0,3}>(?![\d=])[ \t]?)+")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}(?=[ \t]|$)")
_BULLET = re.compile(r"[ \t]*(?:[-*+–·](?=[ \t]|$)|[•‣◦▪●])[ \t]*")
_NUMBER = re.compile(
    r"[ \t]*(?:(?P<value>\d{1,3}|[a-z]|[ivx]{2,4})(?P<mark>[.)])(?=[ \t]|$)"
    r"|\((?P<inner>\d{1,3}|[a-z]|[ivx]{2,4})\)(?=[ \t]|$)"
    r"|(?P<glued>\d{1,2})[.)](?=[A-Z][a-z]))[ \t]*"
)
_TASK = re.compile(r"\[[ xX]\][ \t]+")
_LABEL = re.compile(r"[ \t]*(?:\*\*|__)?[A-Z][^:.!?\n]{0,40}:(?:\*\*|__)?[ \t]+\S")
_REFERENCE = re.compile(r"[ \t]*\[\^?\w{1,20}\]:?[ \t]+\S")
_ENDS_SENTENCE = re.compile(r"[.!?:。！？][\"'”’)\]*_]{0,4}$")


def layout(text: str) -> Layout:
    """Find the blocks of a text, in time linear in its length."""
    return _Reader(text).read()


class _Reader:
    """Reads a text line by line and remembers the block that is still open."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._blocks: list[Block] = []
        self._blanks: list[tuple[int, int]] = []
        self._open: BlockKind | None = None
        self._start = self._end = 0
        self._last_line = ""
        self._depth = 0
        self._fence = ""
        self._fence_depth = 0
        self._in_table = False

    def read(self) -> Layout:
        lines = [(m.start(), m.start() + len(m.group().rstrip())) for m in _LINE.finditer(self._text)]
        contents = [self._unquoted(start, end) for start, end in lines]
        for number, (start, end, depth) in enumerate(contents):
            line = self._text[start:end]
            following = contents[number + 1] if number + 1 < len(contents) else (end, end, 0)
            if self._fence and self._inside_fence(line, start, end, depth):
                continue
            if depth != self._depth and not (self._open == "prose" and depth == 0 and line[:1].islower()):
                self._close()
                self._depth = depth
            self._line(line, start, end, self._text[following[0] : following[1]])
        self._close()
        return Layout(self._viewed(), tuple(self._blocks))

    def _unquoted(self, start: int, end: int) -> tuple[int, int, int]:
        match = _QUOTE.match(self._text, start, end)
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

    def _line(self, line: str, start: int, end: int, following: str) -> None:
        if not line.strip():
            self._close()
        elif fence := _opening_fence(line):
            self._close()
            self._fence, self._fence_depth = fence, self._depth
        elif match := _HEADING.match(line):
            self._close()
            tail = line.rstrip("#")
            cut = len(tail) if tail[-1:].isspace() and tail != line else len(line)
            self._add("heading", start + match.end(), start + max(cut, match.end()))
        elif self._underline(line) or self._table_line(line, start, end, following):
            pass
        else:
            self._flow(line, start, end)

    def _underline(self, line: str) -> bool:
        """Take a rule, or the underline that makes the line before it a heading."""
        marks = "".join(line.split())
        if len(marks) < 3 or marks[0] not in "-*_=" or marks.strip(marks[0]):
            return False
        if marks[0] == "=" and self._open != "prose":
            return False
        is_one_line = "\n" not in self._text[self._start : self._end]
        if marks[0] in "-=" and self._open == "prose" and is_one_line:
            # A rule below a full sentence is a rule: a heading that asserts something must not be lost.
            self._open = "prose" if _ENDS_SENTENCE.search(self._last_line[-8:]) else "heading"
        self._close()
        return True

    def _table_line(self, line: str, start: int, end: int, following: str) -> bool:
        if "|" not in line:
            self._in_table = False
            return False
        if _is_separator(line):
            self._close(table=True)
            return True
        bare = line.strip()
        is_header = not self._in_table and _is_separator(following)
        if not (is_header or self._in_table or (len(bare) > 2 and bare[0] == bare[-1] == "|")):
            return False
        self._close(table=True)
        inner = line.strip("| \t")
        if inner:
            left = start + len(line) - len(line.lstrip("| \t"))
            self._add("header" if is_header else "row", left, left + len(inner))
        return True

    def _flow(self, line: str, start: int, end: int) -> None:
        """Take a line of a paragraph or of a list."""
        if behind := self._item_mark(line):
            self._close()
            self._open = "item"
            self._start, self._end = start + behind, start + behind
            if behind < len(line):
                self._extend("item", start + behind, end, line)
            else:
                # Until a next line fills it, the mark itself is all there is.
                self._blocks.append(Block("marker", *trimmed(self._text, start, end)))
            return
        if self._open == "item" and line[:1].isspace() and self._start == self._end:
            self._blocks.pop()
        elif self._begins_anew(line):
            self._close()
        self._extend("item" if self._open == "item" else "prose", start, end, line)

    def _begins_anew(self, line: str) -> bool:
        if self._open == "item":
            # Markdown would take any line into the item; people who leave the indent out start a paragraph.
            return self._start == self._end or not (line[:1].isspace() or line[:1].islower())
        if self._open != "prose":
            return False
        if _REFERENCE.match(line):
            return bool(_ENDS_SENTENCE.search(self._last_line[-8:]) or _REFERENCE.match(self._last_line))
        return bool(_LABEL.match(line) and _LABEL.match(self._last_line))

    def _item_mark(self, line: str) -> int:
        """Return the length of the list mark in front of a line, 0 when there is none."""
        if match := _BULLET.match(line):
            # A wrapped line may begin with a dash or a plus sign.
            if self._open == "prose" and line.lstrip()[0] in "+–·":
                return 0
        elif match := _NUMBER.match(line):
            value = match["value"] or match["inner"] or match["glued"]
            # A wrapped line may begin with the figure that ends its sentence.
            if self._open == "prose" and value not in {"1", "a", "i"} and not self._last_line.endswith(":"):
                return 0
        if match is None:
            return 0
        task = _TASK.match(line, match.end())
        return task.end() if task else match.end()

    def _extend(self, kind: BlockKind, start: int, end: int, line: str) -> None:
        if self._open != kind or self._start == self._end:
            self._open, self._start = kind, start
        self._end = end
        self._last_line = line

    def _add(self, kind: BlockKind, start: int, end: int) -> None:
        left, right = trimmed(self._text, start, end)
        if left < right:
            self._blocks.append(Block(kind, left, right))

    def _close(self, *, table: bool = False) -> None:
        if self._open is not None:
            self._add(self._open, self._start, self._end)
        self._open, self._start, self._end = None, 0, 0
        self._last_line = ""
        self._fence = ""
        self._in_table = table


def _opening_fence(line: str) -> str:
    match = _FENCE.match(line)
    if match is None or (match[1][0] == "`" and "`" in line[match.end() :]):
        return ""
    return match[1]


def _is_separator(line: str) -> bool:
    return "|" in line and "-" in line and not line.strip("|-: \t")
