"""Peak memory with a window of 8,192 tokens filled by one prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.benchmarks.figures import Figure, Section, plain
from tests.benchmarks.long import memory_figure
from tests.benchmarks.process import measure_apart

if TYPE_CHECKING:
    from tests.benchmarks.options import Bench

NAME = "memory"
TITLE = "Peak memory with the window of 8,192 tokens full"

WINDOW, OWN = 8192, 120
"""The window, and the tokens of it that the frame of a prompt and the longer claim take."""


def run(bench: Bench) -> Section:
    """Judge two claims over contexts that leave just room for them."""
    tokens = 1500 if bench.quick else WINDOW
    arguments = {"model": str(bench.model), "tokens": tokens, "fit": WINDOW - OWN}
    found = bench.measure(NAME, arguments, lambda: measure_apart("tests.benchmarks.long:judge", arguments))
    return Section(NAME, TITLE, figures(found))


def figures(found: dict[str, Any]) -> list[Figure]:
    """Return the lines of the table."""
    rate = found["decoded"] / found["judging"]
    return [
        memory_figure(found),
        plain("longest prompt", found["longest"], "tokens", "in one window"),
        plain("rate", rate, "tokens/s", f"{found['decoded']:,} tokens in {found['judging']:.1f} s"),
    ]
