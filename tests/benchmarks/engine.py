"""The engine: does it decode nothing twice, and as fast as llama.cpp decodes one long prompt?"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tests.benchmarks.figures import Figure, Section, at_most, exactly, plain
from tests.benchmarks.process import ROOT, measure_at_home

if TYPE_CHECKING:
    from tests.benchmarks.options import Bench

NAME = "engine"
TITLE = "The example suite, five metrics, nothing cached"

MOST_RATIO, MOST_KEEPING = 1.15, 1.1


def run(bench: Bench) -> Section:
    """Judge the example suite in a process of its own."""
    arguments = {"model": str(bench.model), "rows": 3 if bench.quick else None}
    at_home = partial(measure_at_home, f"{__name__}:judge_suite", arguments, bench.out)
    found = bench.measure(NAME, arguments, at_home)
    return Section(NAME, TITLE, figures(found))


def figures(found: dict[str, Any]) -> list[Figure]:
    """Return the lines of the table."""
    best = found["decoded"] / found["raw_rate"]
    return [
        exactly("tokens decoded ÷ trie nodes", found["decoded"] / found["nodes"], 1, note=_counts(found)),
        at_most(
            "seconds ÷ (tokens decoded ÷ raw rate)",
            found["judging"] / best,
            MOST_RATIO,
            note=f"{found['judging']:.2f} s against {best:.2f} s",
        ),
        plain("judging rate", found["decoded"] / found["judging"], "tokens/s", "without tokenising"),
        plain(
            "raw rate",
            found["raw_rate"],
            "tokens/s",
            f"one sequence of {found['raw_length']} tokens, best of 3",
        ),
        at_most(
            "seconds with an empty prefix store ÷ without one",
            found["keeping"]["judging"] / found["judging"],
            MOST_KEEPING,
            note=f"{found['keeping']['judging']:.2f} s, states of contexts being written",
        ),
        plain("whole run", found["seconds"], "s", "with tokenising, planning and scoring; model loaded"),
    ]


def _counts(found: dict[str, Any]) -> str:
    decoded, nodes = f"{found['decoded']:,} at llama_decode", f"{found['nodes']:,} distinct prefixes"
    return f"{decoded}; {nodes} of {found['prompts']} prompts"


def judge_suite(model: str, rows: int | None) -> dict[str, Any]:
    """Judge the first rows of the example suite, or all: without a prefix store, and filling one."""
    from ragjudge.assembly import assemble
    from ragjudge.suites.load import load_suite
    from tests.benchmarks.loaded import LoadedJudge, Work

    suite = load_suite(ROOT / "ragjudge" / "suites" / "example" / "suite.yaml")

    def run(loaded: LoadedJudge) -> Work:
        return loaded.run(list(assemble(suite, override=loaded.judge).cells)[:rows])

    filling = LoadedJudge(model, prefix_bytes=None)
    keeping = run(filling)
    filling.close()
    loaded = LoadedJudge(model, prefix_bytes=0)
    work = run(loaded)
    length, rate = loaded.raw_rate(work.prompts)
    return {**work.plain(), "keeping": keeping.plain(), "raw_length": length, "raw_rate": rate}
