"""Reliability diagram and ROC curve as lines of text. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ragjudge.records import ReliabilityBin, RocPoint
from ragjudge.reports import numbers

BLOCKS = "▁▂▃▄▅▆▇█▏▎▍▌▋▊▉│░·"
"""Characters of the plots for terminals that can show them."""

_EIGHTHS = 8
_HEAD = 32  # columns of a bin before its bar, without the number of its rows
_WIDEST_BAR = 40
_NARROWEST_BAR = 10
_COLUMNS = 48
_ROWS = 12


def reliability_lines(
    bins: Sequence[ReliabilityBin], *, ascii_only: bool = False, width: int = 80
) -> list[str]:
    """Return a reliability diagram as text: for each tenth of P, how many rows of it are positive.

    The bar is the share of positive rows, the upright mark on it their mean P: a bar that ends short of
    its mark shows a judge that says yes too easily.

    Args:
        bins: Bins from 0 to 1.
        ascii_only: Whether the terminal shows nothing but ASCII.
        width: Columns to fill, at least 47; no more than 77 are, unless a bin has millions of rows.

    Returns:
        The lines; none without bins.
    """
    if not bins:
        return []
    counts = [numbers.count(found.count) for found in bins]
    digits = max(5, *map(len, counts))
    cells = max(min(_WIDEST_BAR, width - _HEAD - digits), _NARROWEST_BAR)
    lines = [f"P           {'rows':>{digits}}  mean P  positive"]
    for found, count in zip(bins, counts, strict=True):
        mean, share = found.mean_probability, found.positive_share
        head = f"{found.low:.1f} to {found.high:.1f}  {count:>{digits}}"
        if mean is None or share is None:
            lines.append(head)
            continue
        bar = _with_mark(_bar(share * cells, ascii_only).ljust(cells), mean, ascii_only)
        lines.append(f"{head}  {mean:6.2f}  {share:8.2f}  {bar}".rstrip())
    return lines


def roc_lines(points: Sequence[RocPoint], *, ascii_only: bool = False) -> list[str]:
    """Return a ROC curve as text: the area below it shaded, the line of chance dotted.

    Args:
        points: The curve from (0, 0) to (1, 1).
        ascii_only: Whether the terminal shows nothing but ASCII.

    Returns:
        Lines of at most 53 columns; none without a curve.
    """
    if not points:
        return []
    heights = [_height(points, (column + 0.5) / _COLUMNS) for column in range(_COLUMNS)]
    levels = [_nearest(height * _ROWS * _EIGHTHS) for height in heights]
    lines = ["true positive share"]
    for row in reversed(range(_ROWS)):
        label = {_ROWS - 1: "1.0", _ROWS // 2: "0.5", 0: "0.0"}.get(row, "")
        cells = "".join(
            _roc_cell(level - row * _EIGHTHS, _is_chance(column, row), ascii_only)
            for column, level in enumerate(levels)
        )
        lines.append(f"{label:>3} {'|' if ascii_only else '│'}{cells}".rstrip())
    lines.append(f"     {'0.0':<{_COLUMNS // 2 - 2}}{'0.5':<{_COLUMNS // 2 - 1}}{'1.0'}")
    lines.append("     false positive share")
    return lines


def _bar(length: float, ascii_only: bool) -> str:
    if ascii_only:
        return "#" * _nearest(length)
    whole, rest = divmod(_nearest(length * _EIGHTHS), _EIGHTHS)
    return "█" * whole + (" ▏▎▍▌▋▊▉"[rest] if rest else "")


def _with_mark(bar: str, mean: float, ascii_only: bool) -> str:
    place = min(int(mean * len(bar)), len(bar) - 1)
    return f"{bar[:place]}{'|' if ascii_only else '│'}{bar[place + 1 :]}"


def _height(points: Sequence[RocPoint], false_positive_share: float) -> float:
    """Return the height of the curve over a place strictly between two of its corners."""
    before = points[0]
    for point in points[1:]:
        if point.false_positive_share >= false_positive_share:
            width = point.false_positive_share - before.false_positive_share
            share = (false_positive_share - before.false_positive_share) / width if width > 0 else 1.0
            rise = point.true_positive_share - before.true_positive_share
            return before.true_positive_share + share * rise
        before = point
    return before.true_positive_share


def _is_chance(column: int, row: int) -> bool:
    return int((column + 0.5) / _COLUMNS * _ROWS) == row and column % 2 == 0


def _roc_cell(eighths: int, chance: bool, ascii_only: bool) -> str:
    """Return one cell, whose curve stands at so many eighths above its lower edge."""
    if 0 < eighths <= _EIGHTHS:
        return "*" if ascii_only else BLOCKS[eighths - 1]
    if chance:
        return "." if ascii_only else "·"
    if eighths > _EIGHTHS:
        return ":" if ascii_only else "░"
    return " "


def _nearest(value: float) -> int:
    return int(value + 0.5)
