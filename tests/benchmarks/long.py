"""Contexts far longer than the window: is the one sentence found that matters, within the memory's limit?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tests.benchmarks.figures import Figure, Section, at_most, exactly, plain
from tests.benchmarks.process import measure_apart
from tests.benchmarks.texts import Towns

if TYPE_CHECKING:
    from tests.benchmarks.options import Bench

NAME = "long"
TITLE = "20,000 tokens of contexts, shown whole, the supporting sentence at their end"

TOKENS = 20_000
SPARE_BYTES = 500e6
"""What a process may take besides the model file and the buffer with the model's repacked weights."""

NEEDLE = "The public library of Brennholm was opened in 1931 by the chemist Ada Lindqvist."
TRUE = "The public library of Brennholm was opened in 1931."
FALSE = "The public library of Brennholm burnt down in 1950."


def run(bench: Bench) -> Section:
    """Judge two claims, one supported at the very end and one nowhere."""
    arguments = {"model": str(bench.model), "tokens": 9_000 if bench.quick else TOKENS, "fit": None}
    found = bench.measure(NAME, arguments, lambda: measure_apart(f"{__name__}:judge", arguments))
    return Section(NAME, TITLE, figures(found))


def figures(found: dict[str, Any]) -> list[Figure]:
    """Return the lines of the table."""
    true, false = found["items"]
    shown = f"{found['tokens']:,} tokens in {true['windows']} windows of {found['window']:,}"
    return [
        exactly("supported claim found supported", float(bool(true["verdict"])), 1, note=_said(true)),
        plain("unsupported claim found supported", float(bool(false["verdict"])), note=_said(false)),
        plain("tokens decoded", found["decoded"], "", shown),
        plain("wall time", found["seconds"], "s", f"{found['decoded'] / found['judging']:.1f} tokens/s"),
        memory_figure(found),
    ]


def _said(item: dict[str, Any]) -> str:
    where = f" in window {item['window'] + 1} of {item['windows']}" if item["windows"] else ""
    return f"P(Yes) {item['probability']:.3f}{where}: {item['text']}"


def memory_figure(found: dict[str, Any]) -> Figure:
    """Return the line that holds the peak against model file, repacked weights and 500 MB."""
    parts = (found["model_bytes"], found["repack_bytes"], SPARE_BYTES)
    note = f"limit: {' + '.join(f'{part / 1e6:,.0f}' for part in parts)} MB"
    return at_most("peak memory", found["peak_bytes"] / 1e6, sum(parts) / 1e6, "MB", note)


def judge(model: str, tokens: int, fit: int | None) -> dict[str, Any]:
    """Judge two claims over contexts of so many tokens.

    Args:
        model: The model file.
        tokens: Least tokens of the contexts.
        fit: Most tokens of a prompt: chunks that would make it longer are left out; None = no limit.
    """
    from pathlib import Path

    from ragjudge.records import Sample
    from tests.benchmarks.loaded import LoadedJudge, cell

    lines = keep_log()
    loaded = LoadedJudge(model, prefix_bytes=0)
    towns, chunks, used = Towns(), [NEEDLE], loaded.count(NEEDLE)
    while used < tokens:
        chunk = towns.chunk(20 * len(chunks), 100)
        size = loaded.count(chunk) + 6  # its line break and number
        if fit is not None and used + size > fit:
            break
        chunks.insert(-1, chunk)
        used += size
    sample = Sample(id="long", output=f"{TRUE} {FALSE}", contexts=tuple(chunks))
    # Whole contexts: it is windows that are measured, and an excerpt never fills one.
    work = loaded.run([cell(sample, ["faithfulness"], evidence="whole")])
    return {
        **work.plain(),
        "tokens": used,
        "longest": max(map(len, work.prompts)),
        "window": loaded.model.questioner.window,
        "items": [item.model_dump() for item in work.report.rows[0].scores["faithfulness"].items],
        "model_bytes": Path(model).stat().st_size,
        "repack_bytes": repacked_bytes(lines),
    }


def keep_log() -> list[str]:
    """Let llama.cpp's log go into a list, before a model is loaded."""
    from ragjudge.judges.llama.library import library as llama_cpp

    lines: list[str] = []
    library = llama_cpp()

    def keep(level: int, text: bytes, data: Any) -> None:
        lines.append(text.decode("utf-8", "replace"))

    callback = library.llama_log_callback(keep)
    library.llama_log_set(callback, None)
    _callbacks.append(callback)
    return lines


_callbacks: list[Any] = []
"""llama.cpp keeps a bare pointer to a callback, so somebody must keep the callback."""


def repacked_bytes(lines: list[str]) -> float:
    """Return the size of the weights that llama.cpp has repacked for this CPU, as its log tells."""
    found = re.findall(r"CPU_REPACK model buffer size\s*=\s*([\d.]+) MiB", "".join(lines))
    return sum(map(float, found)) * (1 << 20)
