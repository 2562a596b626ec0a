"""What the README shows is run here, with the fake judge."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from ragjudge import sessions
from ragjudge.cli.main import cli, run

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    joined = "\n".join(blocks("console")).replace("\\\n", " ")
    lines = [line.split("  #")[0].strip() for line in joined.splitlines()]
    return [part.strip() for line in lines for part in line.split("&&") if part.strip()]


@pytest.fixture(autouse=True)
def _fake_judge(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("RAGJUDGE_JUDGE", "fake")
    monkeypatch.chdir(tmp_path)
    yield
    sessions.close_shared()


def test_the_blocks_are_found() -> None:
    assert len(blocks("python")) >= 3
    assert len(blocks("yaml")) >= 1
    assert len(commands()) >= 12


@pytest.mark.parametrize("code", blocks("python"))
def test_a_python_snippet_runs(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {"__name__": "readme"}
    exec(compile(code, "README.md", "exec"), names)  # noqa: S102 - the README is ours
    assert "result" in names or "results" in names
    assert ("print(" in code) == bool(capsys.readouterr().out)


def test_the_suite_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite = next(block for block in blocks("yaml") if "suite.yaml" in block)
    (tmp_path / "suite.yaml").write_text(suite, encoding="utf-8")
    (tmp_path / "my_rag.py").write_text("def answer(q):\n    return 'On 20 July 1969.'\n", encoding="utf-8")
    assert run(["run", "suite.yaml", "--judge", "fake"]) in (0, 1)
    printed = capsys.readouterr().out
    for label in (
        "faithfulness",
        "context_recall",
        "context_precision[chunks]",
        "(holistic)",
        "answer_relevancy",
    ):
        assert label in printed


@pytest.mark.parametrize("command", [line for line in commands() if line.startswith("ragjudge ")])
def test_a_command_is_understood(command: str) -> None:
    """Every command, option and value is accepted, up to what the command would then do."""
    arguments = shlex.split(command)[1:]
    context = click.Context(cli)
    name, found, rest = cli.resolve_command(context, arguments)
    assert found is not None
    while isinstance(found, click.Group):
        name, found, rest = found.resolve_command(context, rest)
        assert found is not None
    found.make_context(name, rest)


def test_the_score_command_runs() -> None:
    (score,) = [line for line in commands() if line.startswith("ragjudge score")]
    assert run(shlex.split(score)[1:]) in (0, 1)


@pytest.mark.parametrize("command", [line for line in commands() if line.startswith("make ")])
def test_a_make_target_exists(command: str) -> None:
    target = command.split()[1]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE)


def test_the_exit_codes_are_those_of_the_errors() -> None:
    from ragjudge.cli.main import INTERRUPTED
    from ragjudge.errors import JudgeUnavailableError, RagjudgeError, ReplayMissError

    table = dict(re.findall(r"^\| (\d+) \| (.*?) \|$", README, flags=re.MULTILINE))
    assert set(table) == {"0", "1", "2", "3", "4", "130"}
    codes = (RagjudgeError.exit_code, JudgeUnavailableError.exit_code, ReplayMissError.exit_code, INTERRUPTED)
    assert codes == (2, 3, 4, 130)


def test_the_table_of_metrics_is_true() -> None:
    from ragjudge.metrics.registry import make_metric, metric_class, metric_names

    rows = re.findall(
        r"^\| `([a-z_]+)(?:\[(\w+)\])?` \| .*? \| (.*?) \| ([\d.]+) \|$", README, flags=re.MULTILINE
    )
    table = {(name, by or None): (needs.split(" (")[0], float(least)) for name, by, needs, least in rows}
    known = {
        (name, by): make_metric(name, by=by)
        for name in metric_names()
        for by in metric_class(name).variants or (None,)
    }
    assert table == {
        key: (", ".join(metric.requires), metric.default_threshold) for key, metric in known.items()
    }


@pytest.mark.parametrize("block", [block for block in blocks("yaml") if "suite.yaml" not in block])
def test_a_piece_of_a_suite_is_accepted(block: str, tmp_path: Path) -> None:
    from ragjudge.assembly import assemble
    from ragjudge.suites.load import load_suite

    tests = "tests: [{vars: {answer: A., context: C.}, assert: [{type: faithfulness}]}]\n"
    (tmp_path / "piece.yaml").write_text(block + tests, encoding="utf-8")
    assert assemble(load_suite(tmp_path / "piece.yaml")).judges
