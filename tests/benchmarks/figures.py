"""One line of the table: what was measured, what it is held against, and whether it holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Figure:
    """A measured figure.

    Attributes:
        name: What was measured.
        value: The figure.
        unit: Its unit; empty for a ratio.
        wanted: What it is held against, in words; empty = nothing.
        holds: Whether it holds; None when it is held against nothing.
        note: How it came about.
    """

    name: str
    value: float
    unit: str = ""
    wanted: str = ""
    holds: bool | None = None
    note: str = ""


@dataclass(frozen=True)
class Section:
    """One benchmark's part of the table.

    Attributes:
        name: The benchmark's name.
        title: What it measures, as a heading.
        figures: Its lines.
        head: Column titles of a table of its own, case by case; empty = none.
        cases: The rows of that table.
    """

    name: str
    title: str
    figures: Sequence[Figure]
    head: Sequence[str] = ()
    cases: Sequence[Sequence[str]] = field(default=())


def at_most(name: str, value: float, limit: float, unit: str = "", note: str = "") -> Figure:
    """Return a figure that must not be larger than a limit."""
    return Figure(name, value, unit, f"≤ {shown(limit)}", value <= limit, note)


def at_least(name: str, value: float, limit: float, unit: str = "", note: str = "") -> Figure:
    """Return a figure that must not be smaller than a limit."""
    return Figure(name, value, unit, f"≥ {shown(limit)}", value >= limit, note)


def exactly(name: str, value: float, wanted: float, unit: str = "", note: str = "") -> Figure:
    """Return a figure that must be this one, as far as the table shows it."""
    return Figure(name, value, unit, f"= {shown(wanted)}", abs(value - wanted) < 0.005, note)


def plain(name: str, value: float, unit: str = "", note: str = "") -> Figure:
    """Return a figure that is held against nothing."""
    return Figure(name, value, unit, note=note)


def shown(value: float) -> str:
    """Write a number as a reader wants it: whole ones whole, large ones without decimals."""
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}" if abs(value) < 1 else f"{value:.2f}"
