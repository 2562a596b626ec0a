"""``--calibration`` of the grading commands, and what they print and write about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ragjudge.agreement import calibration as calibration_module
from ragjudge.cli.main import run
from ragjudge.judges.fake import FakeJudge
from tests.agreement.calibrations import OTHER_JUDGE, SUPPORT, calibration, saved

CONTEXT = "Guido van Rossum began working on Python in the late 1980s and first released it in 1991."
GOOD = "Guido van Rossum released Python in 1991."
SCORE = ["score", "faithfulness", "--judge", "fake", "--context", CONTEXT, "--output", GOOD]


@pytest.fixture
def strict(tmp_path: Path) -> Path:
    return saved(tmp_path / "strict.json", calibration(FakeJudge().identity(), -9.0))


@pytest.fixture
def grade(tmp_path: Path) -> list[str]:
    row = {"id": "good", "question": "Who released Python?", "answer": GOOD, "contexts": [CONTEXT]}
    (tmp_path / "rows.jsonl").write_text(f"{json.dumps(row)}\n", encoding="utf-8")
    output = ["-o", str(tmp_path / "report.json")]
    return ["grade", str(tmp_path / "rows.jsonl"), "-m", "faithfulness", "--judge", "fake", *output]


def report(tmp_path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    return found


def test_score_is_calibrated_by_a_file_and_raw_without_one(strict: Path) -> None:
    assert run(SCORE) == 0
    assert run([*SCORE, "--calibration", str(strict)]) == 1
    assert run([*SCORE, "--calibration", "none"]) == 0
    assert run([*SCORE, "--calibration", "shipped"]) == 0


def test_a_report_says_which_calibration_was_applied_and_carries_it(
    grade: list[str], strict: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*grade, "--calibration", str(strict)]) == 1
    made = calibration_module.load_calibration(strict)
    assert f", calibrated ({made.sha256[:12]})" in capsys.readouterr().out
    written = report(tmp_path)
    (judge,) = written["judges"]
    assert (judge["calibration"], judge["uncalibrated"]) == (made.sha256, [])
    assert written["calibrations"] == {made.sha256: made.document}
    assert written["usage"]["calls_judged"] == 1


def test_a_raw_report_says_nothing_about_calibrations(
    grade: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*grade, "--calibration", "none"]) == 0
    assert "calibrated" not in capsys.readouterr().out
    written = report(tmp_path)
    assert written["judges"][0]["calibration"] is None
    assert "calibrations" not in written


def test_the_same_run_with_another_calibration_makes_no_call(
    grade: list[str], strict: Path, tmp_path: Path
) -> None:
    assert run(grade) == 0
    assert run([*grade, "--calibration", str(strict)]) == 1
    assert report(tmp_path)["usage"]["calls_judged"] == 0
    assert run([*grade, "--calibration", str(strict), "--replay"]) == 1


def test_a_template_that_stays_raw_is_named(
    grade: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = calibration(FakeJudge().identity(), templates=("chunk_relevance@1",))
    path = saved(tmp_path / "other_template.json", made)
    assert run([*grade, "--calibration", str(path)]) == 0
    assert f", but not {SUPPORT}" in " ".join(capsys.readouterr().out.split())
    assert report(tmp_path)["judges"][0]["uncalibrated"] == [SUPPORT]


def test_another_judge_s_file_is_exit_2_with_one_sentence(
    grade: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = saved(tmp_path / "other.json", calibration(OTHER_JUDGE))
    for command in (SCORE, grade):
        assert run([*command, "--calibration", str(other)]) == 2
        told = capsys.readouterr().err
        assert told.startswith(f"Error: {other}: ")
        assert "'the-judge'" in told
        assert "'fake'" in told


@pytest.mark.parametrize("text", ["", "[]", '{"schema_version": 1}', '{"schema_version": 99}'])
def test_a_file_that_is_no_calibration_is_exit_2(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "broken.json"
    assert run([*SCORE, "--calibration", str(path)]) == 2
    path.write_text(text, encoding="utf-8")
    assert run([*SCORE, "--calibration", str(path)]) == 2
    assert str(path) in capsys.readouterr().err
