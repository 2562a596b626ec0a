"""Made-up texts: as many as are wanted, each different, and the same on every machine."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any


class Towns:
    """Towns with made-up facts; town number n is the same everywhere.

    Args:
        seed: Starts the series.
    """

    def __init__(self, seed: int = 1) -> None:
        self._seed = seed

    def facts(self, number: int) -> dict[str, Any]:
        """Return the facts about a town, by slot name."""
        chooser = random.Random(f"{self._seed}/{number}")  # noqa: S311 - made-up data
        parts = _parts()

        def place() -> str:
            return str(chooser.choice(parts["beginnings"]) + chooser.choice(parts["endings"]))

        return {
            "town": f"{place()}-{number}",
            "year": chooser.randrange(1100, 1890),
            "people": chooser.randrange(12, 900) * 100,
            "goods": chooser.choice(parts["goods"]),
            "mayor": f"{chooser.choice(parts['people'])} {place()}",
            "sight": chooser.choice(parts["sights"]),
            "river": f"{chooser.choice(parts['beginnings'])}a",
            "height": chooser.randrange(20, 1400),
            "day": chooser.choice(parts["days"]),
            "schools": chooser.randrange(3, 40),
        }

    def sentences(self, number: int) -> list[str]:
        """Return six sentences of about 16 words each about a town; no two say the same."""
        facts = self.facts(number)
        return [sentence.format(**facts) for sentence in _parts()["sentences"]]

    def say(self, sentence: int, facts: Mapping[str, Any]) -> str:
        """Return one of the sentences with other facts."""
        return str(_parts()["sentences"][sentence].format(**facts))

    def chunk(self, first: int, words: int) -> str:
        """Return a chunk of so many words, a full stop at its end, about towns from `first` on."""
        found: list[str] = []
        for sentence in self._stream(first):
            found += sentence.split()
            if len(found) >= words:
                break
        return " ".join(found[:words]).rstrip(".,") + "."

    def _stream(self, number: int) -> Iterator[str]:
        while True:
            yield from self.sentences(number)
            number += 1


@cache
def _parts() -> dict[str, list[str]]:
    import yaml

    path = Path(__file__).parent / "data" / "towns.yaml"
    found: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {name: value.split() if isinstance(value, str) else value for name, value in found.items()}
