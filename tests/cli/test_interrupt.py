"""Ctrl-C: what is kept, what is written, what is said."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ragjudge.cli.interrupt import stop_on_interrupt
from ragjudge.cli.main import run
from ragjudge.errors import ConfigError, JudgeUnavailableError, RagjudgeError
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
def test_rows_that_wait_for_their_turn_are_written_when_a_run_ends_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, lines = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    chunks = [CONTEXT, "Bananas grow in Honduras.", CONTEXT]  # rows over equal contexts are judged together
    found = [{"id": f"row-{n}", "answer": f"No. {n}.", "contexts": [chunk]} for n, chunk in enumerate(chunks)]
    rows.write_text("".join(f"{json.dumps(row)}\n" for row in found), encoding="utf-8")
    with monkeypatch.context() as patch:
        interrupt_after(patch, 2)
        assert run(arguments(rows, "-o", str(lines))) == 130
    left = Path(f"{lines}.part").read_bytes().splitlines()
    assert [json.loads(line)["id"] for line in left] == ["row-0", "row-2"]
    assert run(arguments(rows, "-o", str(lines))) in (0, 1)
    written = [json.loads(line)["id"] for line in lines.read_bytes().splitlines()]
    assert written == ["row-0", "row-1", "row-2"]


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A suite of four rows whose provider does to the third what `$AT_THE_THIRD` says."""
    (tmp_path / "system.py").write_text(
        "import os, signal\n"
        "def answer(question):\n"
        "    if question == 'row 3':\n"
        "        exec(os.environ.get('AT_THE_THIRD', ''))\n"
        "    return {'output': f'The tower of {question}.', 'contexts': [question]}\n",
        encoding="utf-8",
    )
    path = tmp_path / "suite.yaml"
    tests = "".join(f"- vars: {{question: row {number}}}\n" for number in range(1, 5))
    path.write_text(
        f"judge: fake\nproviders: ['python:system.py:answer']\ntests:\n{tests}"
        "assert: [{type: faithfulness, threshold: 0.1}]\n",
        encoding="utf-8",
    )
    return path


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("happens", "produced"),
    [
        ("os.kill(os.getpid(), signal.SIGINT)", 3),
        ("for _ in range(2): os.kill(os.getpid(), signal.SIGINT)", 2),
        # Ctrl-C reaches the processes that a system under test has started, too.
        ("os.kill(os.getpid(), signal.SIGINT); raise RuntimeError('my server was interrupted')", 2),
    ],
)
def test_ctrl_c_while_a_provider_answers_keeps_what_it_has_answered(
    suite: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    happens: str,
    produced: int,
) -> None:
    report, lines = tmp_path / "report.json", tmp_path / "out.jsonl"
    outputs = ["-o", str(report), "-o", str(lines)]
    monkeypatch.setenv("AT_THE_THIRD", happens)
    assert run(["run", str(suite), *outputs]) == 130
    errors = capfd.readouterr().err
    assert "Interrupted: 0 of 4 rows are graded" in errors
    assert (
        f"It also has {produced} ungraded outputs of the providers, which `ragjudge grade` takes." in errors
    )
    partial = read_report(report)
    assert (partial.partial, partial.passed, partial.usage.calls_judged) == (True, False, 0)
    assert [row.output for row in partial.rows] == [f"The tower of row {n + 1}." for n in range(produced)]
    assert [(row.passed, row.error, row.scores) for row in partial.rows] == [(None, None, {})] * produced
    assert len(Path(f"{lines}.part").read_bytes().splitlines()) == produced
    assert run(["grade", str(report), "-m", "faithfulness", "-t", "0.1", "--judge", "fake", "-q"]) == 0
    monkeypatch.delenv("AT_THE_THIRD")
    assert run(["run", str(suite), *outputs]) == 0
    assert len(lines.read_bytes().splitlines()) == 4


LOST = JudgeUnavailableError("the server at 127.0.0.1 cannot be reached.")


def lose_the_judge_after(monkeypatch: pytest.MonkeyPatch, answers: int, error: RagjudgeError = LOST) -> None:
    ask = FakeJudge.ask

    def lost(self: FakeJudge, calls: Sequence[Call]) -> Iterator[tuple[int, Outcome]]:
        for number, outcome in enumerate(ask(self, calls), start=1):
            if number > answers:
                raise error
            yield outcome

    monkeypatch.setattr(FakeJudge, "ask", lost)


def test_a_judge_that_is_lost_costs_no_row_that_is_graded_and_no_output(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    report, lines = tmp_path / "report.json", tmp_path / "out.jsonl"
    lose_the_judge_after(monkeypatch, 1)
    assert run(["run", str(suite), "-o", str(report), "-o", str(lines)]) == 3
    errors = capsys.readouterr().err.splitlines()
    assert errors[0].startswith("The run has ended early: 1 of 4 rows are graded")
    assert errors[1] == "It also has 3 ungraded outputs of the providers, which `ragjudge grade` takes."
    assert errors[-1] == "Error: the server at 127.0.0.1 cannot be reached."
    partial = read_report(report)
    assert (partial.partial, partial.passed) == (True, False)
    assert [len(row.scores) for row in partial.rows] == [1, 0, 0, 0]
    assert len(Path(f"{lines}.part").read_bytes().splitlines()) == 4


def test_whatever_ends_a_run_early_costs_no_output(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = tmp_path / "report.json"
    lose_the_judge_after(monkeypatch, 0, ConfigError("this judge knows no such question."))
    assert run(["run", str(suite), "-o", str(report)]) == 2
    assert len(read_report(report).rows) == 4


REPORTED = {
    "id": "a", "provider": "python:system.py:answer", "passed": True, "error": None, "scores": {},
    "output": "A tower.", "contexts": ["A tower."],
}  # fmt: skip
"""A row of another run's report."""


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"provider": "python:system.py:answer", "error": "it broke", "output": None},
    ],
    ids=["graded", "failed"],
)
def test_a_judge_that_was_never_there_leaves_the_last_report_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], more: dict[str, Any]
) -> None:
    rows, report = tmp_path / "rows.jsonl", tmp_path / "report.json"
    lines = [REPORTED, {**REPORTED, "id": "b", **more}]
    rows.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    report.write_text("of yesterday", encoding="utf-8")
    lose_the_judge_after(monkeypatch, 0)
    assert run(arguments(rows, "-o", str(report))) == 3
    assert report.read_text(encoding="utf-8") == "of yesterday"
    assert capsys.readouterr().err == "Error: the server at 127.0.0.1 cannot be reached.\n"


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


BUSY = """
import hashlib, sys
from ragjudge.cli.interrupt import stop_on_interrupt
with stop_on_interrupt() as stop:
    print("ready", flush=True)
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)  # many minutes outside of Python
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_the_second_ctrl_c_ends_what_does_not_come_back_to_python() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", BUSY], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "press Ctrl-C again to stop at once" in errors
    assert "Stopped at once" in errors
