"""Reliability diagram and ROC curve as SVG. Pure: the same figures, the same bytes.

The drawings stand alone or inside a page: no scripts, nothing from elsewhere, colours for light and dark, a
title and a description for those who do not see them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from ragjudge.records import ReliabilityBin, RocPoint
from ragjudge.reports import numbers
from ragjudge.reports.agreement_figures import operating_point
from ragjudge.reports.printable import one_line, shorten

_SIDE = 240
_LEFT, _TOP, _RIGHT, _BOTTOM = 52, 30, 14, 44
_STRIP = 36  # the rows of each bin, below the diagram
_RADIUS = 4
_WIDEST_TITLE = 40

# XML holds no noncharacters, and `printable` lets them through: terminals ignore them.
_NO_XML = {0xFFFE: "\\ufffe", 0xFFFF: "\\uffff"}

_STYLE = (
    ".rj-plot{color:#1f2328;background:#fff;font:12px system-ui,sans-serif}"
    ".rj-plot text{fill:currentColor}"
    ".rj-plot .axis{fill:none;stroke:currentColor;stroke-opacity:.55}"
    ".rj-plot .grid{fill:none;stroke:currentColor;stroke-opacity:.15}"
    ".rj-plot .chance{fill:none;stroke:currentColor;stroke-opacity:.55;stroke-dasharray:4 4}"
    ".rj-plot .bar{fill:#0969da;fill-opacity:.35}"
    ".rj-plot .rows{fill:currentColor;fill-opacity:.45}"
    ".rj-plot .curve{fill:none;stroke:#0969da;stroke-width:2;stroke-linejoin:round}"
    ".rj-plot .dot{fill:#0969da}"
    ".rj-plot .best{fill:none;stroke:#bc4c00;stroke-width:2}"
    "@media(prefers-color-scheme:dark){"
    ".rj-plot{color:#e6edf3;background:#0d1117}"
    ".rj-plot .bar,.rj-plot .dot{fill:#58a6ff}"
    ".rj-plot .curve{stroke:#58a6ff}"
    ".rj-plot .best{stroke:#f0883e}}"
)


def reliability_svg(bins: Sequence[ReliabilityBin], *, name: str, key: str) -> str:
    """Return a reliability diagram as SVG: the share of positive rows over P, and the rows of each bin.

    Args:
        bins: Bins from 0 to 1.
        name: What it is about; any text.
        key: Makes the ids of this drawing its own among those of a page; letters, digits, hyphens.
    """
    filled = [found for found in bins if found.count]
    total = sum(found.count for found in filled)
    most = max((found.count for found in filled), default=1)
    base = _TOP + _SIDE + _STRIP
    parts = [*_frame("P", "share of positive rows", offset=_STRIP), _chance()]
    parts.append(f'<text x="{_LEFT - 6}" y="{base - 4}" text-anchor="end">rows</text>')
    for found in filled:
        left, width = _x(found.low), _SIDE * (found.high - found.low)
        share = found.positive_share or 0.0
        said = (
            f"P {found.low:.1f} to {found.high:.1f}: {numbers.counted(found.count, 'row')}, "
            f"mean P {found.mean_probability or 0.0:.2f}, share of positive rows {share:.2f}"
        )
        height = (_STRIP - 8) * found.count / most
        parts += [
            f"<g><title>{escape(said)}</title>",
            _box("bar", left + 1, _y(share), width - 2, _SIDE * share),
            _box("rows", left + 1, base - height, width - 2, height),
            _circle("dot", found.mean_probability or 0.0, share),
            "</g>",
        ]
    described = (
        f"Ten bins of P over {numbers.counted(total, 'row')}; on the dashed line P means what it says."
    )
    return _svg(
        f"Reliability, {name}", described, parts, key=f"reliability-{key}", height=_full_height(_STRIP)
    )


def roc_svg(
    points: Sequence[RocPoint],
    *,
    name: str,
    key: str,
    auc: float | None = None,
    threshold: float | None = None,
    best_threshold: float | None = None,
) -> str:
    """Return a ROC curve as SVG, with the points at which the judge decides and could best decide.

    Args:
        points: The curve from (0, 0) to (1, 1).
        name: What it is about; any text.
        key: Makes the ids of this drawing its own among those of a page; letters, digits, hyphens.
        auc: The area below it, for the description.
        threshold: The present threshold of P, marked by a dot.
        best_threshold: The best one, marked by a ring.
    """
    parts = [*_frame("false positive share", "true positive share"), _chance()]
    if points:
        parts.append(f'<path class="curve" d="{_path(points)}"/>')
    described = [] if auc is None else [f"Area below the curve {numbers.score(auc)}."]
    for css, what, chosen in (("dot", "present", threshold), ("best", "best", best_threshold)):
        point = operating_point(points, chosen)
        if point is None or chosen is None:
            continue
        said = (
            f"At the {what} threshold {chosen:.3f}: {point.true_positive_share:.2f} of the positive and "
            f"{point.false_positive_share:.2f} of the negative rows are decided positive."
        )
        described.append(said)
        mark = _circle(css, point.false_positive_share, point.true_positive_share)
        parts += [f"<g><title>{escape(said)}</title>", mark, "</g>"]
    return _svg(f"ROC curve, {name}", " ".join(described), parts, key=f"roc-{key}", height=_full_height(0))


def _number(value: float) -> str:
    """Return a coordinate with 2 decimals at most, the same on every machine.

    >>> _number(12.0), _number(1 / 3), _number(-0.001)
    ('12', '0.33', '0')
    """
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _x(share: float) -> float:
    return _LEFT + _SIDE * share


def _y(share: float) -> float:
    return _TOP + _SIDE * (1.0 - share)


def _full_height(offset: int) -> int:
    return _TOP + _SIDE + offset + _BOTTOM


def _path(points: Iterable[RocPoint]) -> str:
    """Return the curve without the corners that lie on a straight line between their neighbours."""
    corners: list[tuple[str, str]] = []
    for point in points:
        corner = (_number(_x(point.false_positive_share)), _number(_y(point.true_positive_share)))
        if corners and corners[-1] == corner:
            continue
        if len(corners) > 1 and _is_straight(corners[-2], corners[-1], corner):
            corners.pop()
        corners.append(corner)
    return "M" + "L".join(f"{x} {y}" for x, y in corners)


def _is_straight(first: tuple[str, str], middle: tuple[str, str], last: tuple[str, str]) -> bool:
    """Whether three corners of a rising curve lie on one upright or level line."""
    return any(first[axis] == middle[axis] == last[axis] for axis in (0, 1))


def _box(css: str, x: float, y: float, width: float, height: float) -> str:
    return (
        f'<rect class="{css}" x="{_number(x)}" y="{_number(y)}" '
        f'width="{_number(width)}" height="{_number(height)}"/>'
    )


def _circle(css: str, x: float, y: float) -> str:
    return f'<circle class="{css}" cx="{_number(_x(x))}" cy="{_number(_y(y))}" r="{_RADIUS}"/>'


def _chance() -> str:
    return f'<path class="chance" d="M{_LEFT} {_TOP + _SIDE}L{_LEFT + _SIDE} {_TOP}"/>'


def _frame(across: str, up: str, *, offset: int = 0) -> list[str]:
    """Return grid, axes and their texts; ``offset`` is room between the plot and the texts below it."""
    low = _TOP + _SIDE
    parts = []
    for tenth in (0, 2, 4, 6, 8, 10):
        x, y, text = _number(_x(tenth / 10)), _number(_y(tenth / 10)), f"{tenth / 10:.1f}"
        parts += [
            f'<path class="grid" d="M{x} {_TOP}V{low}M{_LEFT} {y}H{_LEFT + _SIDE}"/>',
            f'<text x="{x}" y="{low + offset + 16}" text-anchor="middle">{text}</text>',
            f'<text x="{_LEFT - 6}" y="{_number(_y(tenth / 10) + 4)}" text-anchor="end">{text}</text>',
        ]
    middle = _number(_x(0.5))
    turned = f"rotate(-90 14 {_number(_y(0.5))})"
    return [
        *parts,
        f'<rect class="axis" x="{_LEFT}" y="{_TOP}" width="{_SIDE}" height="{_SIDE}"/>',
        f'<text x="{middle}" y="{low + offset + 34}" text-anchor="middle">{escape(across)}</text>',
        f'<text x="14" y="{_number(_y(0.5))}" text-anchor="middle" transform="{turned}">{escape(up)}</text>',
    ]


def _svg(title: str, description: str, parts: Iterable[str], *, key: str, height: int) -> str:
    width = _LEFT + _SIDE + _RIGHT
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="rj-plot" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-labelledby="{key}-title {key}-desc">'
    )
    lines = [
        opening,
        f'<title id="{key}-title">{_xml(title)}</title>',
        f'<desc id="{key}-desc">{_xml(description)}</desc>',
        f"<style>{_STYLE}</style>",
        f'<text x="8" y="18" font-weight="600">{_xml(shorten(one_line(title), _WIDEST_TITLE))}</text>',
        *parts,
        "</svg>",
        "",
    ]
    return "\n".join(lines)


def _xml(text: str) -> str:
    """Return any text as character data of XML."""
    return escape(one_line(text).translate(_NO_XML))
