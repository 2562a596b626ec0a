"""Sentences in Thai, which has neither full stops nor spaces between words.

A space separates sentences, but also the parts of a long one, figures, names and the members of a list. A
gap counts as an end when a polite particle stands in front of it, or when both sides are long enough to say
something and neither side asks for the other.
"""

from __future__ import annotations

import re

_THAI = re.compile("[\u0e01-\u0e4e]")
_GAP = re.compile(r"(?<=[\u0e01-\u0e4e])[ \t]+(?=[\u0e01-\u0e4e])")
# Long enough for a clause: about six words.
_CLAUSE = 18
_REACH = 60
_PARTICLES = ("ครับ", "ค่ะ", "คะ", "นะ", "จ้ะ", "จ้า")
# Words that lean on what comes next and on what came before …
_LINKS = [
    "และ",
    "หรือ",
    "แต่",
    "ที่",
    "ซึ่ง",
    "ว่า",
    "คือ",
    "ของ",
    "ใน",
    "จาก",
    "โดย",
    "เพื่อ",
    "กับ",
    "ได้แก่",
    "เช่น",
    "เพราะ",
]
# … on what comes next alone, and on what came before alone.
_LEANS_ON = (
    *_LINKS,
    *["เป็น", "คุณ", "นาย", "นาง", "นางสาว", "ปี", "วันที่", "เดือน", "ประมาณ", "ถ้า", "หาก", "เมื่อ"],
)
_LEANS_BACK = (*_LINKS, *["รวมถึง", "รวมทั้ง", "ตลอดจน", "จนถึง", "ถึง", "จน", "อัน", "แล้ว", "ก็"])


def thai_gaps(view: str, start: int, end: int) -> list[int]:
    """List the offsets of the gaps of a block behind which a new Thai sentence begins, in order."""
    found: list[int] = []
    if _THAI.search(view, start, end) is None:
        return found
    last = start
    for match in _GAP.finditer(view, start, end):
        at = match.start()
        left = view[max(last, at - _REACH) : at].rsplit(maxsplit=1)[-1]
        right = view[match.end() : min(end, match.end() + _REACH)].split(maxsplit=1)[0]
        is_long = len(left) >= _CLAUSE and len(right) >= _CLAUSE
        leans = left.endswith(_LEANS_ON) or right.startswith(_LEANS_BACK)
        if left.endswith(_PARTICLES) or (is_long and not leans):
            found.append(at)
            last = match.end()
    return found
