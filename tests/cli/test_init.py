from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from ragjudge.cli.init import init
from ragjudge.errors import UsageError
from ragjudge.metrics.registry import metric_names
from ragjudge.suites.load import load_suite
from ragjudge.suites.spec import JudgeSpec

IDS = [
    "good-answer",
    "good-answer-two-chunks",
    "good-answer-noisy-context",
    "wrong-date",
    "claim-beyond-context",
    "missed-retrieval",
    "badly-ranked-retrieval",
    "off-topic-answer",
    "refusal",
    "empty-contexts",
    "markdown-list",
    "numbers-and-units",
]


def test_init_writes_a_suite_that_loads_and_says_what_to_do_next(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "my suite"
    result = CliRunner().invoke(init, [str(folder)], catch_exceptions=False)
    assert result.exit_code == 0
    assert result.output == (
        f"wrote {folder / 'suite.yaml'}\n"
        f"wrote {folder / 'rows.jsonl'}\n"
        "\n"
        "Next:\n"
        "  ragjudge models pull    get the judge model, once\n"
        f"  ragjudge run '{folder / 'suite.yaml'}'    grade the rows\n"
        f"  ragjudge run '{folder / 'suite.yaml'}' --replay    the same report again, from the cache alone\n"
    )
    suite = load_suite(folder / "suite.yaml")
    assert suite.judge == JudgeSpec(id="qwen2.5-coder-1.5b")
    assert [case.sample.id for case in suite.cases] == IDS
    for case in suite.cases:
        assert tuple(sorted(spec.metric for spec in case.assertions)) == tuple(sorted(metric_names()))


def test_init_writes_into_the_working_directory_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(init, [], catch_exceptions=False).exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.jsonl", "suite.yaml"]


@pytest.mark.parametrize("name", ["suite.yaml", "rows.jsonl"])
def test_init_never_overwrites_and_then_writes_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        CliRunner().invoke(init, [str(tmp_path)], catch_exceptions=False)
    assert caught.value.message == f"{tmp_path / name} is there already, and nothing was written."
    assert caught.value.hint == "name another folder: ragjudge init DIR"
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text(encoding="utf-8") == "mine"


def test_init_names_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError) as caught:
        CliRunner().invoke(init, [str(tmp_path / "file" / "sub")], catch_exceptions=False)
    assert (
        caught.value.message
        == f"{tmp_path / 'file' / 'sub'}: the example cannot be written: Not a directory."
    )


def test_the_rows_of_the_example_are_readable_one_a_line(tmp_path: Path) -> None:
    CliRunner().invoke(init, [str(tmp_path)], catch_exceptions=False)
    lines = (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(IDS)
    for line in lines:
        row = json.loads(line)
        assert list(row) == ["id", "question", "answer", "contexts", "expected"]
        assert all(15 <= len(chunk.split()) <= 80 for chunk in row["contexts"])
