"""How far a score could be from its count, going by the probabilities of its verdicts. Pure.

Each piece holds with its own probability, independently of the others. So the number of pieces that hold
follows the Poisson-binomial distribution, and a score has a central 95 % interval: at most 2.5 % of the
probability lies below its lower end, and at most 2.5 % above its upper one. What the probabilities do not
say, such as a bias of the judge, the interval does not say either.

A piece whose calls failed has no probability. It is taken for any that could have come out: the interval
holds those of all ways in which the pieces without a verdict could hold or not.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence

from ragjudge.metrics.aggregate import DECIMALS
from ragjudge.records import Item

Interval = tuple[float, float]
"""The ends of an interval of scores, both in [0, 1], the lower one first."""

Chance = float | None
"""P(a piece holds), in [0, 1]; None when nothing is known of it."""

_LOWER, _UPPER = 0.025, 0.975

_NEGLIGIBLE = 1e-18
"""Ends of a distribution below this are cut off; all that 100,000 pieces lose adds up to less than 1e-12."""

_TIES = 1e-12
"""A sum of probabilities this close below a level has reached it; rounding must not decide between ends."""

_MOST_ENUMERATED = 12
"""Rankings with more uncertain chunks have too many outcomes (more than 4,096) to look at each."""

_DRAWS = 10_000
_SEED = 2024


def chances(items: Iterable[Item]) -> list[Chance]:
    """Return P(holds) of each piece: 0 or 1 for one that a rule has decided, None for one without verdict."""
    return [None if item.verdict is None else _chance(item.verdict, item.probability) for item in items]


def _chance(verdict: bool, probability: float | None) -> float:
    return float(verdict) if probability is None else probability


def share_interval(chances: Sequence[Chance]) -> Interval:
    """Return the central 95 % interval of the share of pieces that hold.

    The quantiles 0.025 and 0.975 of the Poisson-binomial distribution, divided by the number of pieces.
    The distribution is exact up to rounding: one piece after the other is folded in, as in the direct
    convolution of Biscarri, Zhao and Brunner, A simple and fast method for computing the Poisson binomial
    distribution function, Computational Statistics and Data Analysis 122 (2018).

    Args:
        chances: At least one.

    >>> share_interval([0.9, 0.9])
    (0.5, 1.0)
    >>> share_interval([1.0, None, 0.0])
    (0.333333, 0.666667)
    """
    known = [chance for chance in chances if chance is not None]
    unknown = len(chances) - len(known)
    low, high = _ends_of(_counts(known))
    return round(low / len(chances), DECIMALS), round((high + unknown) / len(chances), DECIMALS)


def _counts(chances: Iterable[float]) -> list[tuple[float, float]]:
    """Return the numbers of pieces that can hold, from the fewest on, each with its probability."""
    fewest, masses = 0, [1.0]
    for chance in chances:
        other = 1.0 - chance
        masses = [
            mass * other + mass_before * chance
            for mass, mass_before in zip([*masses, 0.0], [0.0, *masses], strict=True)
        ]
        while masses[0] < _NEGLIGIBLE:
            del masses[0]
            fewest += 1
        while masses[-1] < _NEGLIGIBLE:
            del masses[-1]
    return [(float(number), mass) for number, mass in enumerate(masses, start=fewest)]


def average_precision_interval(chances: Sequence[Chance]) -> Interval:
    """Return the central 95 % interval of the average precision of a ranking.

    Average precision is no share of the chunks that hold: it depends on which of them do. With up to 12
    uncertain chunks every outcome is looked at, and the interval is exact. With more it is taken from
    10,000 rankings drawn with a fixed seed; its ends are then quantiles 0.025 and 0.975 give or take
    0.003 (two standard errors of a simulated quantile's level), and the same wherever it is computed.

    Args:
        chances: For each rank, best first, P(its chunk is relevant); at least one.

    >>> average_precision_interval([0.95, 0.9])
    (0.5, 1.0)
    """
    unknown = [rank for rank, chance in enumerate(chances) if chance is None]
    # Of all ways to make a given number of them relevant, the best is to take those in front, since each
    # relevant chunk then stands at least as high, and the worst is to take the last ones.
    ways = [unknown[:count] for count in range(len(unknown) + 1)]
    ways += [unknown[count:] for count in range(1, len(unknown))]
    found = [_ranking_interval(_settled(chances, relevant)) for relevant in ways]
    return min(low for low, _ in found), max(high for _, high in found)


def _settled(chances: Sequence[Chance], relevant: Collection[int]) -> list[float]:
    """Take some of the unknown ranks for relevant, and the others for irrelevant."""
    return [float(rank in relevant) if chance is None else chance for rank, chance in enumerate(chances)]


def _ranking_interval(chances: Sequence[float]) -> Interval:
    if sum(0.0 < chance < 1.0 for chance in chances) <= _MOST_ENUMERATED:
        return _ends_of(_precisions(chances))
    return _drawn_interval(chances)


def _precisions(chances: Sequence[float]) -> list[tuple[float, float]]:
    """Return the average precisions that can come out, in rising order, each with its probability."""
    outcomes = [(1.0, 0, 0.0)]  # probability, relevant chunks so far, sum of the precisions at their ranks
    for rank, chance in enumerate(chances, start=1):
        missed = [(mass * (1.0 - chance), hits, total) for mass, hits, total in outcomes if chance < 1.0]
        hit = [
            (mass * chance, hits + 1, total + (hits + 1) / rank)
            for mass, hits, total in outcomes
            if chance > 0.0
        ]
        outcomes = missed + hit
    masses: dict[float, float] = {}
    for mass, hits, total in outcomes:
        value = round(total / hits, DECIMALS) if hits else 0.0
        masses[value] = masses.get(value, 0.0) + mass
    return sorted(masses.items())


def _drawn_interval(chances: Sequence[float]) -> Interval:
    import numpy as np

    # The stream of RandomState is frozen for good, and what follows works element by element: no sum whose
    # order could differ between machines.
    source = np.random.RandomState(_SEED)
    hits, totals = np.zeros(_DRAWS), np.zeros(_DRAWS)
    for rank, chance in enumerate(chances, start=1):
        relevant = source.random_sample(_DRAWS) < chance
        hits += relevant
        totals += np.where(relevant, hits / rank, 0.0)
    values = np.sort(totals / np.maximum(hits, 1.0))
    low, high = (float(values[math.ceil(level * _DRAWS) - 1]) for level in (_LOWER, _UPPER))
    return round(low, DECIMALS), round(high, DECIMALS)


def _ends_of(distribution: Sequence[tuple[float, float]]) -> Interval:
    """Return the quantiles 0.025 and 0.975 of values in rising order, each with its probability."""
    return _quantile(distribution, _LOWER), _quantile(distribution, _UPPER)


def _quantile(distribution: Sequence[tuple[float, float]], level: float) -> float:
    reached = 0.0
    for value, mass in distribution:
        reached += mass
        if reached >= level - _TIES:
            return value
    raise AssertionError("the probabilities of a distribution add up to 1")


def is_undecided(value: float | None, interval: Interval | None, threshold: float) -> bool:
    """Say whether the interval of a score does not settle on which side of the threshold it is.

    That is so when the interval straddles the threshold (its lower end fails and its upper end passes), and
    also when all of it lies on the other side than the score itself: ten pieces that hold with probability
    0.6 each count as 10 of 10, while 9 of them at most are to be expected.

    Args:
        value: The score, in [0, 1]; None when there is none.
        interval: Its interval; None when it has none, and is never undecided.
        threshold: Smallest passing value, in [0, 1].

    >>> is_undecided(0.5, (0.3, 0.7), 0.7), is_undecided(0.5, (0.3, 0.7), 0.3)
    (True, False)
    >>> is_undecided(1.0, (0.3, 0.9), 0.95)
    True
    """
    if value is None or interval is None:
        return False
    low, high = interval
    return min(low, value) < threshold <= max(high, value)
