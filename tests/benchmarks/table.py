"""All figures as one table, in Markdown for people and in JSON for programs."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from tests.benchmarks.figures import Figure, Section, shown

if TYPE_CHECKING:
    from tests.benchmarks.options import Bench

_HOLDS = {None: "", True: "yes", False: "**no**"}


def write_table(sections: Sequence[Section], bench: Bench) -> tuple[Path, Path]:
    """Write ``table.md`` and ``table.json`` into the out folder; return their paths."""
    about = circumstances(bench)
    markdown, data = bench.out / "table.md", bench.out / "table.json"
    markdown.write_text("\n".join(_markdown(sections, about)) + "\n", encoding="utf-8")
    document = {"about": about, "sections": [asdict(section) for section in sections]}
    data.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return markdown, data


def _markdown(sections: Sequence[Section], about: dict[str, str]) -> Iterator[str]:
    yield "# Measured figures"
    yield ""
    yield "; ".join(f"{name}: {value}" for name, value in about.items()) + "."
    yield ""
    yield "| | figure | measured | wanted | holds | how |"
    yield "|---|---|---|---|---|---|"
    for section in sections:
        yield f"| **{section.name}** | *{_cell(section.title)}* | | | | |"
        for figure in section.figures:
            yield _line(figure)
    for section in sections:
        if section.head:
            yield ""
            yield f"## {section.name}, case by case"
            yield ""
            yield f"| {' | '.join(map(_cell, section.head))} |"
            yield "|" + "---|" * len(section.head)
            for case in section.cases:
                yield f"| {' | '.join(map(_cell, case))} |"


def _line(figure: Figure) -> str:
    measured = f"{shown(figure.value)} {figure.unit}".strip()
    cells = ("", figure.name, measured, figure.wanted, _HOLDS[figure.holds], figure.note)
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def circumstances(bench: Bench) -> dict[str, str]:
    """Return what the figures depend on: the machine, the builds, the model."""
    from ragjudge import __version__
    from ragjudge.judges.llama.settings import physical_cores

    try:
        llama = version("llama-cpp-python")
    except PackageNotFoundError:
        llama = "not installed"
    return {
        "measured": time.strftime("%Y-%m-%d") + (" (quick: no figures to go by)" if bench.quick else ""),
        "ragjudge": __version__,
        "model": bench.model.name,
        "processor": f"{_processor()}, {physical_cores()} cores ({os.cpu_count()} threads)",
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        "llama-cpp-python": llama,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
