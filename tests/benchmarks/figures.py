"""One line of the table: what was measured, what it is held against, and whether it holds."""

from __future__ import annotations

from dataclasses import dataclass


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


def at_most(name: str, value: float, limit: float, unit: str = "", note: str = "") -> Figure:
    """Return a figure that must not be larger than a limit."""
    return Figure(name, value, unit, f"≤ {shown(limit)}", value <= limit, note)


def at_least(name: str, value: float, limit: float, unit: str = "", note: str = "") -> Figure:
    """Return a figure that must not be smaller than a limit."""
    return Figure(name, value, unit, f"≥ {shown(limit)}", value >= limit, note)


def plain(name: str, value: float, unit: str = "", note: str = "") -> Figure:
    """Return a figure that is held against nothing."""
    return Figure(name, value, unit, note=note)


def shown(value: float) -> str:
    """Write a number as a reader wants it: whole ones whole, large ones without decimals."""
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}" if abs(value) < 1 else f"{value:.2f}"
