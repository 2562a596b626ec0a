"""Pack the Punkt parameters: ``python -m tests.text.punkt_packing PUNKT_TAB_FOLDER TARGET_FOLDER``.

The same parameters give the same bytes on every machine: words are sorted, and bzip2 has one result.
"""

from __future__ import annotations

import bz2
import sys
from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path

from ragjudge.text.punkt import Parameters

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def pack(parameters: Parameters) -> bytes:
    """Return the bytes of the file that `ragjudge.text.punkt.unpacked` reads."""
    by_flags: dict[int, list[str]] = {}
    for word, flags in parameters.ortho.items():
        by_flags.setdefault(flags, []).append(word)
    pairs = sorted("\t".join(pair) for pair in parameters.collocations)
    lines = [
        *("=abbreviations", *sorted(parameters.abbreviations)),
        *("=starters", *sorted(parameters.starters)),
        *("=collocations", *pairs),
    ]
    for flags, words in sorted(by_flags.items()):
        lines += [f"={flags}", *_front_coded(sorted(words))]
    return bz2.compress("\n".join(lines).encode())


def read(folder: Path) -> Parameters:
    """Read one language as NLTK's data package `punkt_tab` lays it out."""

    def lines(name: str) -> list[str]:
        return [line for line in (folder / name).read_text(encoding="utf-8").split("\n") if line]

    rows = [line.split("\t") for line in lines("ortho_context.tab")]
    return Parameters(
        frozenset(lines("abbrev_types.txt")),
        frozenset(lines("sent_starters.txt")),
        frozenset(tuple(line.split("\t")) for line in lines("collocations.tab")),
        {word: int(flags) for word, flags in rows},
    )


def _front_coded(words: Iterable[str]) -> list[str]:
    """Write each word as the length of what it shares with the one before, and the rest."""
    coded, before = [], ""
    for word in words:
        shared = _shared(before, word)
        coded.append(_DIGITS[shared] + word[shared:])
        before = word
    return coded


def _shared(left: str, right: str) -> int:
    pairs = zip(left, right, _DIGITS[1:], strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


if __name__ == "__main__":
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    for language in sorted(path for path in source.iterdir() if path.is_dir()):
        (target / f"{language.name}.bz2").write_bytes(pack(read(language)))
