"""Made-up texts: as many as are wanted, each different, and the same on every machine."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

_FIRST = (
    "Ald Ber Cor Dun Elm Fal Gar Hal Ing Jor Kel Lor Mar Nor Ost Pel Quar Ros Sel Tor Ulm Var Wes Yar".split()
)
_LAST = (
    "bridge burg dale field ford gate ham haven holm hurst mere mouth port stead stow ton wick wold".split()
)
_NAMES = (
    "Anna Bruno Clara David Emma Felix Greta Henry Irene Jacob Laura Martin Nora Oscar Paula Robert".split()
)
_GOODS = (
    "apples barley boats bricks cheese clocks cloth glass hops ink lace paper pears pianos rope salt".split()
)
_SIGHTS = (
    "an old bell tower|a stone bridge|a covered market|a botanical garden|a lighthouse|a water mill".split(
        "|"
    )
)


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
        name = chooser.choice(_FIRST) + chooser.choice(_LAST)
        return {
            "town": f"{name}-{number}",
            "year": chooser.randrange(1100, 1890),
            "people": chooser.randrange(12, 900) * 100,
            "goods": chooser.choice(_GOODS),
            "mayor": f"{chooser.choice(_NAMES)} {chooser.choice(_FIRST)}{chooser.choice(_LAST)}",
            "sight": chooser.choice(_SIGHTS),
            "river": f"{chooser.choice(_FIRST)}a",
            "height": chooser.randrange(20, 1400),
            "day": chooser.choice(("Monday", "Tuesday", "Thursday", "Friday", "Saturday")),
            "schools": chooser.randrange(3, 40),
        }

    def sentences(self, number: int) -> list[str]:
        """Return six sentences of about 16 words each about a town; no two say the same."""
        facts = self.facts(number)
        return [sentence.format(**facts) for sentence in _SENTENCES]

    def say(self, sentence: int, facts: Mapping[str, Any]) -> str:
        """Return one of the sentences with other facts."""
        return _SENTENCES[sentence].format(**facts)

    def chunk(self, first: int, words: int) -> str:
        """Return a chunk of so many words, a full stop at its end, about towns from `first` on."""
        found: list[str] = []
        for sentence in self._stream(first):
            found += sentence.split()
            if len(found) >= words:
                return " ".join(found[:words]).rstrip(".,") + "."
        raise AssertionError("the stream has no end")

    def _stream(self, number: int) -> Iterator[str]:
        while True:
            yield from self.sentences(number)
            number += 1


_SENTENCES = (
    "{town} is a town on the river {river} that was given its charter in the year {year}.",
    "About {people} people live in {town}, most of them in the quarters between the station and the river.",
    "The workshops of {town} are known for their {goods}, which are sold far beyond the region today.",
    "Since the last election the mayor of {town} has been {mayor}, a former teacher of mathematics and music.",
    "Visitors come to {town} for {sight}, which stands {height} metres above the level of the sea.",
    "A market is held in {town} every {day}, and the town keeps {schools} schools for its children.",
)
