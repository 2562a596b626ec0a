"""How numbers are shown to a person. Pure functions; no number is rounded into another meaning.

A score of 0.9996 is not perfect, a probability of 0.9996 is not certain and a score of 0.6996 does not
reach 0.7: where plain rounding would say so, more digits or a bound are shown instead.
"""

from __future__ import annotations

import math

MISSING = "–"
"""Shown for a number that does not exist."""

DIGEST_DIGITS = 12
"""Hexadecimal digits by which a person tells one digest from another."""

_SCORE_DIGITS = 3
_MOST_DIGITS = 9  # the records hold scores of 6 decimals; thresholds come from people


def score(value: float | None) -> str:
    """Return a score in [0, 1] with 3 decimals; only exactly 0 and 1 are shown as such.

    >>> score(0.5), score(1.0), score(0.99999), score(None)
    ('0.500', '1.000', '0.999', '–')
    """
    if value is None:
        return MISSING
    if 0.9995 <= value < 1.0:
        return "0.999"
    if 0.0 < value < 0.0005:
        return "0.001"
    return f"{value:.{_SCORE_DIGITS}f}"


def comparison(value: float, threshold: float | None) -> tuple[str, str, str]:
    """Return a score, its relation to the threshold and the threshold, with digits that agree.

    Args:
        value: A score in [0, 1].
        threshold: Smallest passing value; None when there is none.

    Returns:
        ``(value, "≥" or "<", threshold)``; relation and threshold are empty without a threshold. There
        are 3 decimals, or as many more as it takes for a missed threshold to look missed.

    >>> comparison(0.5, 0.7), comparison(0.69996, 0.7)
    (('0.500', '<', '0.700'), ('0.69996', '<', '0.70000'))
    """
    if threshold is None:
        return score(value), "", ""
    relation = "≥" if value >= threshold else "<"
    left, right = score(value), score(threshold)
    digits = _SCORE_DIGITS
    while relation == "<" and left == right and digits < _MOST_DIGITS:
        digits += 1
        left, right = f"{value:.{digits}f}", f"{threshold:.{digits}f}"
    return left, relation, right


def interval(low: float, high: float, threshold: float | None = None) -> str:
    """Return an interval of scores, each end with as many decimals as beside the threshold in `comparison`.

    Args:
        low: Its lower end, in [0, 1].
        high: Its upper end, in [0, 1].
        threshold: Smallest passing value; None when there is none.

    >>> interval(0.25, 0.75), interval(0.5, 0.69996, 0.7)
    ('0.250–0.750', '0.500–0.69996')
    """
    return "–".join(comparison(end, threshold)[0] for end in (low, high))


def probability(value: float | None) -> str:
    """Return a probability in [0, 1] with 2 decimals, as a bound where rounding would overstate it.

    Close to an even chance a third decimal is shown, since which side it fell on is what matters.

    >>> probability(0.03), probability(0.9996), probability(0.0004), probability(0.498)
    ('0.03', '>0.99', '<0.01', '0.498')
    """
    if value is None:
        return MISSING
    if 0.995 <= value < 1.0:
        return ">0.99"
    if 0.0 < value < 0.005:
        return "<0.01"
    short = f"{value:.2f}"
    if short != "0.50" or value == 0.5:
        return short
    longer = f"{value:.3f}"
    if longer != "0.500":
        return longer
    return "<0.500" if value < 0.5 else ">0.500"


def equation(value: float) -> str:
    """Return a probability as it stands beside a claim.

    >>> equation(0.03), equation(0.9996)
    ('P = 0.03', 'P > 0.99')
    """
    shown = probability(value)
    if shown[0] in "<>":
        return f"P {shown[0]} {shown[1:]}"
    return f"P = {shown}"


def count(number: int) -> str:
    """Return a whole number in groups of three digits.

    >>> count(12345)
    '12,345'
    """
    return f"{number:,}"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural when it is not one.

    >>> counted(1, "call"), counted(1200, "call")
    ('1 call', '1,200 calls')
    """
    return f"{count(number)} {noun}" if number == 1 else f"{count(number)} {noun}s"


def ratio(part: int, whole: int) -> str:
    """Return a part of a whole.

    >>> ratio(11, 12)
    '11/12'
    """
    return f"{count(part)}/{count(whole)}"


def percent(share: float | None) -> str:
    """Return a share in [0, 1] in whole per cent; only all and nothing are shown as such.

    >>> percent(0.917), percent(0.999), percent(0.001), percent(1.0)
    ('92 %', '>99 %', '<1 %', '100 %')
    """
    if share is None:
        return MISSING
    if 0.99 < share < 1.0:
        return ">99 %"
    if 0.0 < share < 0.01:
        return "<1 %"
    return f"{share * 100:.0f} %"


def duration(seconds: float, *, whole: bool = False) -> str:
    """Return a time span, its two largest units at most.

    Args:
        seconds: At least 0.
        whole: Leave out the tenths, for a span that is only estimated.

    >>> duration(0.84), duration(62.0), duration(7500.0)
    ('0.8 s', '1 min 02 s', '2 h 05 min')
    """
    if whole and seconds < 59.5:
        return f"{math.floor(seconds + 0.5)} s"
    if 0.0 < seconds < 0.05:
        return "<0.1 s"
    if round(seconds, 1) < 60.0 and not whole:
        return f"{seconds:.1f} s"
    total = math.floor(seconds + 0.5)
    if total < 3600:
        return f"{total // 60} min {total % 60:02d} s"
    minutes = math.floor(seconds / 60 + 0.5)
    return f"{minutes // 60} h {minutes % 60:02d} min"


def rate(amount: int, seconds: float) -> str:
    """Return an amount per second; `MISSING` when no time was spent.

    >>> rate(5000, 2.0), rate(3, 2.0), rate(3, 0.0)
    ('2,500', '1.5', '–')
    """
    if seconds <= 0.0:
        return MISSING
    value = amount / seconds
    return f"{value:.1f}" if value < 9.95 else count(round(value))
