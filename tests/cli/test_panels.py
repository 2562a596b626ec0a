"""Several judges on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ragjudge import assembly
from ragjudge.cache.bundle import read_bundle
from ragjudge.cache.entries import read_call, read_judge
from ragjudge.cache.store import Store
from ragjudge.cli.main import run
from ragjudge.judges import registry
from ragjudge.judges.base import Judge
from ragjudge.judges.fake import FakeJudge

CONTEXT = "Guido van Rossum began working on Python in the late 1980s and first released it in 1991. " * 3
GOOD, BAD = "Guido van Rossum released Python in 1991.", "Bananas grow in Honduras."
ROWS = [
    {"id": "good", "question": "Who released Python?", "answer": GOOD, "contexts": [CONTEXT]},
    {"id": "bad", "question": "Who?", "answer": f"{GOOD} {BAD}", "contexts": [CONTEXT]},
]
JUDGES = {"a": {GOOD: 0.9, BAD: 0.2}, "b": {GOOD: 0.8, BAD: 0.1}, "c": {GOOD: 0.3, BAD: 0.4}}
ALL = ["--judge", "a", "--judge", "b", "--judge", "c"]


@pytest.fixture(autouse=True)
def _judges(monkeypatch: pytest.MonkeyPatch) -> None:
    def open_judge(reference: str | None = None, **settings: Any) -> Judge:
        return FakeJudge(JUDGES[str(reference)], id=str(reference))

    monkeypatch.setattr(registry, "open_judge", open_judge)
    monkeypatch.setattr(assembly, "open_judge", open_judge)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def suite(judge: str = "[a, b, c]", assertions: str = "{type: faithfulness}") -> str:
    text = f"judge: {judge}\ncache: cache\ndataset: rows.jsonl\nassert: [{assertions}]\n"
    Path("suite.yaml").write_text(text, encoding="utf-8")
    return "suite.yaml"


def report() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path("report.json").read_text(encoding="utf-8"))
    return found


def votes(found: dict[str, Any]) -> list[list[tuple[str, float]]]:
    score = found["rows"][1]["scores"]["faithfulness"]
    return [[(vote["judge"], vote["probability"]) for vote in item["panel"]] for item in score["items"]]


def test_a_suite_s_panel_grades_and_its_disagreement_is_shown(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", suite(), "-v", "-o", "report.json"]) == 1
    shown = capsys.readouterr().out
    assert "P = 0.80  2 of 3 judges  chunk 1" in shown
    assert "P = 0.20\n" in shown
    assert "judges differ" in shown
    assert "67 %" in shown
    found = report()
    assert [judge["id"] for judge in found["judges"]] == ["a", "b", "c"]
    assert votes(found) == [[("a", 0.9), ("b", 0.8), ("c", 0.3)], [("a", 0.2), ("b", 0.1), ("c", 0.4)]]
    assert found["rows"][1]["scores"]["faithfulness"]["items"][0]["disagreement"] == 0.333333
    assert found["summary"]["faithfulness"]["disagreement"] == 0.666667
    assert found["usage"]["calls_judged"] == 6


def test_judges_that_agree_are_no_news(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", suite("[a, b]"), "-v"]) == 1
    shown = capsys.readouterr().out
    assert "judges differ" not in shown
    assert "of 2 judges" not in shown.replace("the majority of 2 judges", "")


def test_several_judges_of_the_command_line_replace_the_suite_s(folder: Path) -> None:
    assert run(["run", suite("nobody"), "-q", *ALL, "-o", "report.json"]) == 1
    assert [judge["id"] for judge in report()["judges"]] == ["a", "b", "c"]
    assert len(votes(report())[0]) == 3


def test_grade_and_score_take_several_judges(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["grade", "rows.jsonl", "-m", "faithfulness", "--cache", "cache", "-q", "-o", "report.json"]
    assert run([*options, *ALL]) == 1
    assert votes(report())[0] == [("a", 0.9), ("b", 0.8), ("c", 0.3)]
    capsys.readouterr()
    asked = ["score", "faithfulness", "--output", BAD, "--context", CONTEXT, "--format", "json", "--no-cache"]
    assert run([*asked, *ALL]) == 1
    score = json.loads(capsys.readouterr().out)
    assert [vote["judge"] for vote in score["items"][0]["panel"]] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--judge", "a", "--judge", "a"], "--judge a is given twice; a panel has each judge once."),
        (["--judge", "a"] * 10, "--judge: found 10 judges; accepted: a list of 2 to 9 judges."),
    ],
)
def test_a_judge_given_too_often_is_refused(
    options: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = suite()
    commands = [
        ["run", path],
        ["grade", "rows.jsonl", "-m", "faithfulness"],
        ["cache", "why", path, "bad", "faithfulness"],
        ["cache", "export", "-o", "x.rjz", "--for", path],
    ]
    for command in commands:
        assert run([*command, *options]) == 2
        assert message in capsys.readouterr().err


def test_a_command_for_one_judge_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["judge", "check", "--judge", "a", "--judge", "b"]) == 2
    assert "--judge is given 2 times; accepted here: one judge." in capsys.readouterr().err


def test_a_bundle_has_the_calls_of_all_judges_and_replays_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = suite(assertions="{type: faithfulness}, {type: answer-relevancy, mode: holistic}")
    assert run(["run", path, "-q", "-o", "first.jsonl"]) == 1
    assert run(["cache", "export", "-o", "suite.rjz", "--for", path]) == 0
    rows = read_bundle(Path("suite.rjz"))
    calls = [call for name, text in rows.items() if (call := read_call(name, text))]
    judges = [judge for name, text in rows.items() if (judge := read_judge(name, text))]
    assert len(calls) == 3 * 4
    assert {judge.reference for judge in judges} == {"a", "b", "c"}
    assert run(["run", path, "-q", "--bundle", "suite.rjz", "-o", "second.jsonl"]) == 1
    assert Path("second.jsonl").read_bytes() == Path("first.jsonl").read_bytes()


def test_a_bundle_of_judges_that_were_not_all_asked_is_not_written_and_the_judge_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", suite("[a, b]"), "-q"]) == 1
    assert run(["cache", "export", "-o", "suite.rjz", "--for", suite()]) == 4
    assert "the first belongs to good, faithfulness, judge c." in capsys.readouterr().err


def test_a_replay_miss_names_the_judge(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", suite("[a, b]"), "-q"]) == 1
    assert run(["run", suite(), "-q", "--replay"]) == 4
    assert "judge 'c': 2 calls are not in the cache." in capsys.readouterr().err.replace("\n", " ")


def test_a_bundle_of_the_judges_of_the_command_line_can_be_made(folder: Path) -> None:
    path = suite("nobody")
    assert run(["run", path, "-q", *ALL]) == 1
    assert run(["cache", "export", "-o", "suite.rjz", "--for", path, *ALL]) == 0
    assert run(["run", path, "-q", *ALL, "--bundle", "suite.rjz"]) == 1


def test_why_looks_at_the_calls_of_each_judge(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", suite("[a, b]"), "-q"]) == 1
    capsys.readouterr()
    assert run(["cache", "why", suite(), "bad", "faithfulness"]) == 0
    lines = capsys.readouterr().out.splitlines()
    heads = [line.split(" (")[0] for line in lines if not line.startswith(" ")]
    assert heads == [f"bad, faithfulness: judge {name}" for name in "abc"]
    assert [line.split()[0] for line in lines if line.startswith("  ")] == ["stored"] * 4 + ["missing"] * 2


def test_each_judge_is_remembered_by_its_own_name(folder: Path) -> None:
    assert run(["run", suite(), "-q"]) == 1
    with Store(Path("cache"), read_only=True) as store:
        assert set(store.judges()) == {"a", "b", "c"}
