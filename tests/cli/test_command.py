"""What every command refuses: an option that contradicts itself, and a path without a name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from ragjudge import Faithfulness, evaluate
from ragjudge.cli.command import Command
from ragjudge.cli.main import cli, run
from ragjudge.errors import UsageError

SCORE = [
    "score",
    "faithfulness",
    "--judge",
    "fake",
    "--no-cache",
    "--output",
    "A tower.",
    "--context",
    "A tower.",
]
GRADE = ["grade", "rows.csv", "--judge", "fake", "--no-cache", "-q", "-m", "faithfulness"]


@pytest.fixture(autouse=True)
def _rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rows.csv").write_text("answer,context\nA tower.,A tower.\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)


def commands(group: click.Group) -> Iterator[click.Command]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield from commands(command) if isinstance(command, click.Group) else [command]


def test_all_commands_are_of_the_kind() -> None:
    found = list(commands(cli))
    assert len(found) > 15
    assert [command.name for command in found if not isinstance(command, Command)] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            [*SCORE, "--threshold", "0.5", "--threshold=0.8"],
            "--threshold is given 2 times, with '0.5' and '0.8'; accepted: one value.",
        ),
        (
            [*SCORE, "--output", "B."],
            "--output is given 2 times, with 'A tower.' and 'B.'; accepted: one value.",
        ),
        ([*SCORE, "--repack", "--no-repack"], "--repack and --no-repack contradict each other"),
        ([*GRADE, "-t", "0.5", "-t", "0.8"], "--threshold '0.8': '0.5' is given for all metrics as well"),
        (
            [*GRADE, "-t", "faithfulness=1", "-t", "faithfulness=0"],
            "--threshold 'faithfulness=0': 'faithfulness=1' is given for faithfulness as well",
        ),
        (["cache", "export", "-o", "a.rjz", "--output", "b.rjz"], "--output is given 2 times"),
        (["cache", "stats", "--cache", ""], "--cache is an empty text; accepted: a path."),
        (["run", "suite.yaml", "--cache="], "--cache is an empty text; accepted: a path."),
        (["run", "suite.yaml", "-o", ""], "--output is an empty text; accepted: a path."),
        (["run", "suite.yaml", "--bundle="], "--bundle is an empty text; accepted: a path."),
        (["run", ""], "SUITE is an empty text; accepted: a path."),
        ([*SCORE, "--calibration="], "the calibration is an empty text; accepted: a file, 'none' or"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence_and_exit_code_2(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    assert capsys.readouterr().err.startswith(f"Error: {message}")
    assert [path.name for path in tmp_path.iterdir() if path.name != "rows.csv"] == []


@pytest.mark.parametrize(
    "arguments",
    [
        [*SCORE, "--threshold", "0.5", "--threshold", "0.5", "--no-cache", "--context", "A."],
        [*GRADE, "-q", "-m", "faithfulness", "-t", "0.5", "-t", "faithfulness=0.7", "-t", "0.5"],
    ],
)
def test_what_says_the_same_again_or_may_be_repeated_is_taken(arguments: list[str]) -> None:
    assert run(arguments) == 0


@pytest.mark.parametrize("name", ["cache", "bundle", "calibration"])
def test_an_empty_place_is_refused_by_the_python_api(name: str, tmp_path: Path) -> None:
    given: dict[str, Any] = {"llm": "fake", name: ""}
    with pytest.raises(UsageError, match=f"{name} is an empty text; accepted"):
        Faithfulness(**given).score(output="A.", context="A.")
    with pytest.raises(UsageError, match=f"{name} is an empty text; accepted"):
        evaluate(dataset=[{"output": "A.", "context": "A."}], scorers="faithfulness", **given)
    assert not (tmp_path / "cache.db").exists()


def test_an_empty_environment_variable_is_one_that_is_not_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RAGJUDGE_CACHE", "")
    monkeypatch.setenv("RAGJUDGE_HOME", str(tmp_path / "home"))
    assert run(["cache", "stats"]) == 2
    assert f"there is no cache at {tmp_path / 'home' / 'cache'}." in capsys.readouterr().err
