"""A text as decisions read it, and the way back to the original's offsets.

Decisions are made on composed letters, without signs that have no width, and with full-width and
mathematical letters as plain ones. What people get is always a piece of the original.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass

from ragjudge.text.spans import Span

_MARKS = "\u0300-\u036f\u3099\u309a"
# Soft hyphen, zero-width spaces and joiners, marks of direction, variation selectors, byte order mark.
INVISIBLE = "\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f\ufeff"
_TO_FOLD = re.compile(
    # One class in front of everything: that is what makes a search through plain text fast.
    rf"[{_MARKS}\u1100-\u115f{INVISIBLE}\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\U0001d400-\U0001d7ff]"
    rf"(?:(?<=[{_MARKS}])[{_MARKS}]*|(?<=[\u1100-\u115f])(?:[\u1160-\u11a7][\u11a8-\u11ff]?)?|"
    rf"(?<=[{INVISIBLE}])[{INVISIBLE}]*)?"
)
_COMBINING = re.compile(f"[{_MARKS}]+")


@dataclass(frozen=True, slots=True)
class Source:
    """A text in both forms.

    Attributes:
        original: As it was given.
        text: Normalised.
        steps: Where the two drift apart: from offset ``steps[i][0]`` of the normalised text on, the
            original's offset is larger by ``steps[i][1]``.
    """

    original: str
    text: str
    steps: tuple[tuple[int, int], ...]

    def span(self, start: int, end: int) -> Span:
        """Return the piece of the original that a range of the normalised text stands for."""
        if not self.steps:
            return Span(self.original[start:end], start, end)
        left, right = self._offset(start), self._offset(end)
        return Span(self.original[left:right], left, right)

    def _offset(self, at: int) -> int:
        index = bisect_right(self.steps, (at, len(self.original))) - 1
        return at + (self.steps[index][1] if index >= 0 else 0)


def normalised(text: str) -> Source:
    """Return a text with its normalised form, in time linear in its length."""
    if text.isascii():
        return Source(text, text, ())
    parts: list[str] = []
    steps: list[tuple[int, int]] = []
    done = length = 0
    for match in _TO_FOLD.finditer(text):
        start = match.start()
        if _COMBINING.match(text, start) and start > done and text[start - 1].isalnum():
            start -= 1
        group = text[start : match.end()]
        folded = _folded(group)
        parts += (text[done:start], folded)
        length += start - done + len(folded)
        done = match.end()
        if len(folded) != len(group):
            steps.append((length, done - length))
    if not done:
        return Source(text, text, ())
    parts.append(text[done:])
    return Source(text, "".join(parts), tuple(steps))


def _folded(group: str) -> str:
    if len(group) == 1 and group > "\uff00":
        plain = unicodedata.normalize("NFKC", group)
        return plain if len(plain) == 1 else group
    return _COMBINING.sub("", unicodedata.normalize("NFC", group))[:1] if group[0].isalnum() else ""
