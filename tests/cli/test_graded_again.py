"""The report of a run as a data file: graded again, it says the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragjudge import evaluate
from ragjudge.cli.main import run
from ragjudge.reports.json import render_rows

if TYPE_CHECKING:
    import pytest

GERMAN = "Es wurde am 3. Oktober 1990 gebaut."  # two sentences to whoever takes it for English


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def grade(data: Path, output: Path, *options: str) -> int:
    arguments = ["grade", str(data), "-m", "faithfulness", "--judge", "fake", "--no-cache", "-q"]
    return run([*arguments, "-o", str(output), *options])


def test_texts_are_cut_in_the_language_of_the_first_time(tmp_path: Path) -> None:
    row = {"answer": GERMAN, "context": GERMAN}
    data = write(tmp_path / "rows.jsonl", row, {**row, "language": "en"})
    first, second, third = (tmp_path / f"{name}.jsonl" for name in ("first", "second", "third"))
    grade(data, first, "--language", "de")
    grade(first, second)
    assert [each["language"] for each in read(first)] == ["german", "english"]
    assert [len(each["scores"]["faithfulness"]["items"]) for each in read(first)] == [1, 2]
    assert second.read_bytes() == first.read_bytes()
    grade(data, third)
    assert "language" not in read(third)[0]


def test_what_else_a_row_holds_stays_with_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = {"answer": "A.", "context": "A."}
    rest = {"topic": {"of": ["x", 1.5, None]}, "label": 1}
    data = write(tmp_path / "rows.jsonl", {**row, **rest}, {**row, "metadata": {"label": 0}}, row)
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    grade(data, first)
    assert [each.get("metadata") for each in read(first)] == [rest, {"label": 0}, None]
    assert list(read(first)[0]["metadata"]) == ["topic", "label"]
    grade(first, second)
    assert second.read_bytes() == first.read_bytes()
    capsys.readouterr()
    assert run(["judge", "check", str(second), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["overall"]["rows"] == 2


SYSTEMS = """\
def one(question):
    if question == "lost":
        raise KeyError("no index")
    return {"output": "A first answer.", "contexts": ["A first answer."]}

def two(question):
    return {"output": "Another one.", "contexts": ["A first answer."]}
"""
SUITE = """\
judge: fake
providers: [python:systems.py:one, python:systems.py:two]
dataset: rows.jsonl
assert: [{type: faithfulness}]
"""


def run_suite(folder: Path, *rows: dict[str, Any]) -> tuple[Path, Path]:
    """Return the rows and the report of a suite with two systems."""
    write(folder / "rows.jsonl", *rows)
    (folder / "systems.py").write_text(SYSTEMS, encoding="utf-8")
    (folder / "suite.yaml").write_text(SUITE, encoding="utf-8")
    lines, report = folder / "results.jsonl", folder / "report.json"
    run(["run", str(folder / "suite.yaml"), "--no-cache", "-q", "-o", str(lines), "-o", str(report)])
    return lines, report


def test_the_rows_of_two_systems_stay_those_of_two_systems(tmp_path: Path) -> None:
    lines, report = run_suite(tmp_path, {"id": "a", "question": "Who?"}, {"id": "b", "question": "What?"})
    assert [(row["id"], row["provider"]) for row in read(lines)] == [
        ("a", "python:systems.py:one"), ("a", "python:systems.py:two"),
        ("b", "python:systems.py:one"), ("b", "python:systems.py:two"),
    ]  # fmt: skip
    for number, data in enumerate((lines, report)):
        again = tmp_path / f"again-{number}.jsonl"
        assert grade(data, again) == 1
        assert again.read_bytes() == lines.read_bytes()


def test_a_row_whose_system_failed_fails_again_and_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines, _ = run_suite(tmp_path, {"id": "a", "question": "Who?"}, {"id": "b", "question": "lost"})
    again = tmp_path / "again.jsonl"
    capsys.readouterr()
    assert grade(lines, again) == 3  # 3 of 4 rows could be graded
    assert "b, faithfulness: python:systems.py:one raised KeyError: 'no index'" in capsys.readouterr().err
    assert again.read_bytes() == lines.read_bytes()
    lost = read(again)[2]
    assert lost["error"] == lost["scores"]["faithfulness"]["reason"]
    assert (lost["output"], lost["passed"]) == (None, False)
    # A row that lacks its output and does not say why is bad data, as in any other file.
    write(lines, *({**row, "error": None, "provider": None} for row in read(lines) if row["error"]))
    assert grade(lines, again) == 2
    assert "results.jsonl, line 1: faithfulness needs output and contexts" in capsys.readouterr().err


def test_a_suite_without_systems_grades_the_rows_of_a_report_too(tmp_path: Path) -> None:
    lines, _ = run_suite(tmp_path, {"id": "a", "question": "Who?"}, {"id": "b", "question": "lost"})
    for number, providers in enumerate(("", "providers: [recorded]\n")):
        suite = tmp_path / "recorded.yaml"
        head = f"judge: fake\n{providers}dataset: results.jsonl\n"
        suite.write_text(f"{head}assert: [type: faithfulness]\n", encoding="utf-8")
        again = tmp_path / f"again-{number}.jsonl"
        assert run(["run", str(suite), "--no-cache", "-q", "-o", str(again)]) == 3
        assert again.read_bytes() == lines.read_bytes()


def test_a_program_grades_the_rows_of_a_report_too(tmp_path: Path) -> None:
    lines, report = run_suite(tmp_path, {"id": "a", "question": "Who?"}, {"id": "b", "question": "lost"})
    for dataset in (report, read(lines)):
        again = evaluate(dataset=dataset, scorers="faithfulness", llm="fake", cache=False)
        assert render_rows(again.report) == lines.read_text(encoding="utf-8")


def test_rows_of_two_systems_cannot_be_answered_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines, _ = run_suite(tmp_path, {"id": "a", "question": "Who?"})
    lines.replace(tmp_path / "rows.jsonl")
    capsys.readouterr()
    assert run(["run", str(tmp_path / "suite.yaml"), "--no-cache"]) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert "rows.jsonl, line 2: the id 'a' is taken by" in error
