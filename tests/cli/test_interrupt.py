"""Ctrl-C: what is kept, what is written, what is said."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from ragjudge.cli.interrupt import stop_on_interrupt
from ragjudge.cli.main import run
from ragjudge.judges.fake import FakeJudge
from ragjudge.records import Call, Outcome
from ragjudge.reports.json import read_report

CONTEXT = "The tower is 96 metres tall and was built in 1899."


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    lines = [
        {"id": f"row-{number}", "answer": f"Tower {number} was built in 1899.", "contexts": [CONTEXT]}
        for number in range(8)
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


def arguments(rows: Path, *more: str) -> list[str]:
    return ["grade", str(rows), "-m", "faithfulness", "--judge", "fake", "-q", *more]


def interrupt_after(monkeypatch: pytest.MonkeyPatch, answers: int, *, times: int = 1) -> None:
    """Let Ctrl-C be pressed while the judge works on its n-th answer."""
    ask = FakeJudge.ask

    def interrupted(self: FakeJudge, calls: Sequence[Call]) -> Iterator[tuple[int, Outcome]]:
        for number, outcome in enumerate(ask(self, calls), start=1):
            if number == answers:
                for _ in range(times):
                    os.kill(os.getpid(), signal.SIGINT)
            yield outcome

    monkeypatch.setattr(FakeJudge, "ask", interrupted)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(("times", "done"), [(1, 3), (2, 2)])
def test_ctrl_c_stops_the_run_and_writes_what_is_there(
    rows: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    times: int,
    done: int,
) -> None:
    report, lines = tmp_path / "report.json", tmp_path / "out.jsonl"
    with monkeypatch.context() as patch:
        interrupt_after(patch, 3, times=times)
        assert run(arguments(rows, "-o", str(report), "-o", str(lines))) == 130
    errors = capfd.readouterr().err
    assert "press Ctrl-C again to stop at once" in errors
    assert f"Interrupted: {done} of 8 rows are graded, and the report is a partial one." in errors
    assert f"The rows so far are in {lines}.part." in errors
    assert "run the same command again to go on" in errors
    partial = read_report(report)
    assert (partial.partial, partial.passed, len(partial.rows)) == (True, False, done)
    assert partial.summary["faithfulness"].total == done
    part = Path(f"{lines}.part")
    assert [json.loads(line)["id"] for line in part.read_bytes().splitlines()] == [
        f"row-{number}" for number in range(done)
    ]
    assert not lines.exists()
    assert run(arguments(rows, "-o", str(report), "-o", str(lines))) in (0, 1)
    whole = read_report(report)
    assert (whole.partial, len(whole.rows), whole.usage.calls_judged) == (False, 8, 8 - done)
    assert len(lines.read_bytes().splitlines()) == 8
    assert not part.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_without_a_cache_nothing_is_promised(
    rows: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    interrupt_after(monkeypatch, 2)
    assert run(arguments(rows, "--no-cache")) == 130
    assert "Without a cache nothing was kept" in capfd.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_process_that_is_interrupted_from_outside_ends_with_130(rows: Path, tmp_path: Path) -> None:
    code = (
        "import sys, time\n"
        "from ragjudge.judges.fake import FakeJudge\n"
        "answer = FakeJudge._answer\n"
        "def slowly(self, call):\n"
        "    print('judging', flush=True); time.sleep(0.3); return answer(self, call)\n"
        "FakeJudge._answer = slowly\n"
        "from ragjudge.cli.main import run\n"
        "sys.exit(run(sys.argv[1:]))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments(rows, "--cache", str(tmp_path / "cache"))],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "judging\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Interrupted: 1 of 8 rows are graded" in errors
    assert "Traceback" not in errors


def test_the_handler_before_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGINT)
    with stop_on_interrupt() as asked:
        assert not asked()
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before


def test_in_another_thread_nothing_is_installed() -> None:
    answers: list[bool] = []

    def work() -> None:
        with stop_on_interrupt() as asked:
            answers.append(asked())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert answers == [False]
