"""Changes of bytes, drawn from a number, so that each can be repeated."""

from __future__ import annotations

import random
from collections.abc import Sequence

_TOKENS = (
    b"{", b"}", b"[", b"]", b'"', b":", b",", b"\\u0000", b"\\ud800", b"null", b"true", b"NaN", b"-1e999",
    b"\n", b"\x00", b"\xff" * 8, b"9" * 400, b"[" * 2_000, b'{"a":' * 1_000, b"call/", b"judge/", b"text/",
    b"0" * 64, b"<think>", b"</think>", b"```", b"Yes", b"No",
)  # fmt: skip


def mutated(whole: Sequence[bytes], number: int) -> bytes:
    """Return one of the inputs with one to six changes."""
    chance = random.Random(number)  # noqa: S311 - no secret
    data = bytearray(chance.choice(whole))
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(data) + 1)
        kind = chance.randrange(6)
        if kind == 0:
            data[at : at + 1] = bytes([chance.randrange(256)])
        elif kind == 1:
            data[at:at] = chance.choice(_TOKENS)
        elif kind == 2:
            del data[at : at + chance.choice([1, 2, 10, 100, 5_000])]
        elif kind == 3:
            other = chance.choice(whole)
            start = chance.randrange(len(other) + 1)
            data[at : at + 50] = other[start : start + 50]
        elif kind == 4:
            data[at : at + 4] = chance.choice([0, 1, 2, 3, 0xFFFFFFFF, 0x80000000]).to_bytes(4, "big")
        else:
            token = chance.choice(_TOKENS)
            data[at : at + len(token)] = token
    return bytes(data)
