"""Many ``ragjudge`` processes on one cache, and one that is killed again and again."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path

from ragjudge.cache.store import Store
from ragjudge.cache.upkeep import verify
from ragjudge.runner import WINDOW_CALLS

ROOT = Path(__file__).parents[2]
METRICS = ("faithfulness", "answer_relevancy", "context_precision", "context_recall", "context_relevance")
PROCESSES, ROWS = 8, 200
KILLS = 20

# The judge of this program takes its time, so that a kill meets it at work.
SLOW = """
import sys, time
from ragjudge.judges.fake import FakeJudge
answer = FakeJudge._answer
def slowly(self, call):
    if not self.asked[1:]:
        print("judging", flush=True)
    time.sleep(0.02)
    return answer(self, call)
FakeJudge._answer = slowly
from ragjudge.cli.main import run
sys.exit(run(sys.argv[1:]))
"""


def write_rows(path: Path, numbers: range) -> Path:
    rows = [
        {
            "id": f"row-{number}",
            "question": f"When was bridge {number} built?",
            "answer": f"Bridge {number} was built in {1800 + number}. It is made of steel number {number}.",
            "contexts": [
                f"Bridge {number} was opened in {1800 + number}.",
                f"Steel {number} was its material.",
            ],
            "expected": f"Bridge {number} was built in {1800 + number}.",
        }
        for number in numbers
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def command(data: Path, cache: Path, *more: str) -> list[str]:
    metrics = [part for name in METRICS for part in ("-m", name)]
    return ["grade", str(data), *metrics, "--judge", "fake", "--cache", str(cache), "-q", *more]


def test_eight_processes_grade_overlapping_halves_into_one_new_cache(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    processes = []
    for number in range(PROCESSES):
        start = number * (ROWS // 2) // (PROCESSES - 1)
        data = write_rows(tmp_path / f"{number}.jsonl", range(start, start + ROWS // 2))
        arguments = command(data, cache, "-o", str(tmp_path / f"{number}.json"))
        processes.append(
            subprocess.Popen(
                [sys.executable, "-m", "ragjudge", *arguments],
                cwd=ROOT,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
            )
        )
    for process in processes:
        _, errors = process.communicate(timeout=300)
        assert errors == ""
        assert process.returncode in (0, 1)
    judged = 0
    rows: dict[str, object] = {}
    for number in range(PROCESSES):
        report = json.loads((tmp_path / f"{number}.json").read_text(encoding="utf-8"))
        judged += report["usage"]["calls_judged"]
        for row in report["rows"]:
            assert rows.setdefault(row["id"], row) == row
    assert len(rows) == ROWS
    with Store(cache, read_only=True) as store:
        found = verify(store)
        assert (found.damaged, found.lost_texts, found.file) == ((), 0, ())
    # What was in flight elsewhere when a process looked may be judged there too: a window of each other.
    assert found.calls <= judged <= found.calls + (PROCESSES - 1) * WINDOW_CALLS


def test_a_run_that_is_killed_twenty_times_ends_with_the_same_rows(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "rows.jsonl", range(60))
    cache, output = tmp_path / "cache", tmp_path / "out.jsonl"
    undisturbed = subprocess.run(
        [
            sys.executable,
            "-m",
            "ragjudge",
            *command(data, tmp_path / "other", "-o", str(tmp_path / "ref.jsonl")),
        ],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    assert undisturbed.returncode in (0, 1)
    expected = (tmp_path / "ref.jsonl").read_bytes()
    chance = random.Random(20)  # noqa: S311 - no secret
    stored: set[str] = set()
    for _ in range(KILLS):
        process = subprocess.Popen(
            [sys.executable, "-c", SLOW, *command(data, cache, "-o", str(output))],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"judging\n"
        time.sleep(chance.uniform(0.0, 0.6))
        process.kill()
        process.communicate(timeout=60)
        stored = _verified(cache, stored)
        part = tmp_path / "out.jsonl.part"
        if part.exists():
            whole = part.read_bytes().rpartition(b"\n")[0]
            assert expected.startswith(whole)
    assert stored, "no kill came late enough for an answer to be stored"
    last = subprocess.run(
        [sys.executable, "-m", "ragjudge", *command(data, cache, "-o", str(output), "-o", f"{output}.json")],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    assert (last.returncode, last.stderr) == (undisturbed.returncode, b"")
    assert output.read_bytes() == expected
    assert not (tmp_path / "out.jsonl.part").exists()
    usage = json.loads(Path(f"{output}.json").read_text(encoding="utf-8"))["usage"]
    assert usage["calls_replayed"] == len(stored)


def _verified(cache: Path, before: set[str]) -> set[str]:
    """Return the stored keys, after a look that nothing is damaged and nothing was lost."""
    if not (cache / "cache.db").exists():
        return before
    with Store(cache) as store:
        found = verify(store)
        assert (found.damaged, found.lost_texts, found.file, store.notices) == ((), 0, (), ())
        keys = {call.key for call in store.calls()}
    assert before <= keys
    return keys
