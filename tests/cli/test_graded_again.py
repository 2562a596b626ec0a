"""The report of a run as a data file: graded again, it says the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ragjudge.cli.main import run

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
