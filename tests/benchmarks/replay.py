"""Replay: 1,000 rows and five metrics, all from a warm cache, the model file not even there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.benchmarks.figures import Figure, Section, at_most
from tests.benchmarks.process import ROOT, measure_apart
from tests.benchmarks.texts import Towns

if TYPE_CHECKING:
    from ragjudge.judges.base import Identity
    from tests.benchmarks.options import Bench

NAME = "replay"
TITLE = "Replay of a graded data set"

ROWS, CHUNKS, WORDS = 1000, 3, 80
METRICS = ("faithfulness", "answer-relevancy", "context-precision", "context-recall", "context-relevance")
MOST_SECONDS, MOST_BYTES = 6.0, 400e6


def run(bench: Bench) -> Section:
    """Fill a cache if there is none, replay it three times, and keep the fastest."""
    rows = 50 if bench.quick else ROWS
    folder = bench.out / f"replay-{rows}"
    arguments = {"folder": str(folder), "rows": rows}
    bench.measure(f"{NAME}/fill", arguments, lambda: measure_apart(f"{__name__}:fill", arguments))
    found = bench.measure(f"{NAME}/run", arguments, lambda: replay(folder))
    return Section(NAME, TITLE, figures(found, rows))


def figures(found: dict[str, Any], rows: int) -> list[Figure]:
    """Return the lines of the table."""
    what = f"{rows:,} rows × five metrics, {found['calls']:,} stored answers"
    return [
        at_most("wall time", found["seconds"], MOST_SECONDS, "s", what),
        at_most("peak memory", found["peak_bytes"] / 1e6, MOST_BYTES / 1e6, "MB", "of the whole command"),
    ]


def rows(count: int) -> Iterator[dict[str, Any]]:
    """Yield made-up rows: three chunks of 80 words, an answer and an expected answer of three claims each."""
    towns = Towns()
    for number in range(count):
        first = number * CHUNKS
        about = towns.sentences(first)
        yield {
            "id": f"row-{number}",
            "question": f"What is {towns.facts(first)['town']} known for?",
            "answer": " ".join(about[:3]),
            "contexts": [towns.chunk(first + chunk, WORDS) for chunk in range(CHUNKS)],
            "expected": " ".join(about[3:]),
        }


def write_suite(folder: Path, count: int) -> Path:
    """Write the rows and a suite over them; return the suite's path."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(row) + "\n" for row in rows(count))
    (folder / "rows.jsonl").write_text(lines, encoding="utf-8")
    assertions = "".join(f"  - {{type: {metric}}}\n" for metric in METRICS)
    suite = folder / "suite.yaml"
    suite.write_text(f"dataset: rows.jsonl\nassert:\n{assertions}", encoding="utf-8")
    return suite


def fill(folder: str, rows: int) -> dict[str, Any]:
    """Write a suite, and a cache with all answers, as if the default model had given them."""
    from ragjudge.assembly import assemble
    from ragjudge.cache.caching_judge import CachingJudge
    from ragjudge.cache.memory import MemoryStore
    from ragjudge.cache.store import Store
    from ragjudge.gguf.manifest import load_manifest
    from ragjudge.judges.fake import FakeJudge
    from ragjudge.judges.llama.judge import llama_identity
    from ragjudge.runner import Runner
    from ragjudge.suites.load import load_suite

    class Stand(FakeJudge):
        """Answers as the fake judge does, under the default model's name."""

        def identity(self) -> Identity:
            return llama_identity(default.sha256, chat=default.chat, window=None)

    default = load_manifest().default
    suite = load_suite(write_suite(Path(folder), rows))
    judge = Stand(id=default.name)
    memory = MemoryStore()
    cells = list(assemble(suite, override=judge).cells)
    report = Runner({"": CachingJudge(judge, memory, judge.identity(), id=judge.id)}).run(cells)
    # One transaction for all rows: answer by answer, a disk's flushes would take most of an hour.
    with Store(Path(folder) / "cache") as store:
        store.write_rows(dict(memory.rows()))
    return {"calls": report.usage.calls_judged}


def replay(folder: Path, times: int = 3) -> dict[str, Any]:
    """Run ``ragjudge run --replay`` in a fresh process, and take the fastest of a few runs.

    No model can be opened: the folder of model files that the command is told of is empty.
    """
    empty = folder / "no-models"
    empty.mkdir(exist_ok=True)
    report = folder / "report.json"
    command = [sys.executable, "-m", "ragjudge", "run", str(folder / "suite.yaml"), "--replay", "--quiet"]
    command += ["--cache", str(folder / "cache"), "-o", str(report)]
    best: tuple[float, int] | None = None
    for _ in range(times):
        seconds, peak, status = timed(command, {"RAGJUDGE_MODELS": str(empty), "RAGJUDGE_JUDGE": ""})
        if status not in (0, 1):
            raise RuntimeError(f"the replay ended with {status}")
        best = min(filter(None, (best, (seconds, peak))))
    assert best is not None
    usage = json.loads(report.read_text(encoding="utf-8"))["usage"]
    assert usage["calls_judged"] == 0
    return {"seconds": best[0], "peak_bytes": best[1], "calls": usage["calls_replayed"]}


def timed(command: Sequence[str], environment: dict[str, str]) -> tuple[float, int, int]:
    """Run a command; return its wall seconds, its peak memory in bytes, and its exit status."""
    started = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **environment}, stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    peak = usage.ru_maxrss if sys.platform == "darwin" else usage.ru_maxrss * 1024
    return seconds, peak, process.returncode
