"""``judge calibrate`` from the outside: what it prints, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NoReturn

import pytest

from ragjudge.agreement.calibration import load_calibration
from ragjudge.cli.main import run
from ragjudge.judges.fake import FakeJudge

NAMES = ("Ann", "Bob", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hal", "Ivy", "Jan")
PLACES = ("Oslo", "Rome", "Lima", "Kyiv", "Bonn", "Cork", "Pisa")


def write_labels(path: Path, count: int = 120, *, words: int = 0) -> Path:
    """Write rows whose false claims name another year, which the fake judge hardly minds."""
    rows = []
    for number in range(count):
        name, place, year = NAMES[number % 10], PLACES[number % 7], 1900 + number
        context = (
            f"In {year} {name} moved to {place} and opened a bakery there." + " Bread sold well." * words
        )
        label = number % 2
        told = year if label else year + 300
        claim = f"{name} opened a bakery in {place} in {told}."
        meta = {"group": f"{path.stem}{number // 2}"}
        rows.append({"id": str(number), "context": context, "claim": claim, "label": label, "meta": meta})
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    return write_labels(tmp_path / "labels.jsonl")


def test_a_calibration_is_fitted_written_and_told(
    labels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "fake.json"
    assert run(["judge", "calibrate", str(labels), "--judge", "fake", "-o", str(out)]) == 0
    written = load_calibration(out)
    assert written.judge == FakeJudge().identity().fingerprint
    assert written.judge_id == "fake"
    assert list(written.templates) == ["support_excerpt@1"]
    assert [(data.name, data.positive, data.negative) for data in written.card.data] == [("labels", 60, 60)]
    printed = capsys.readouterr().out
    assert "support_excerpt@1: 120 rows, 60 of label 1" in printed
    assert "5 folds of the 60 groups" in printed
    assert f"* {written.templates['support_excerpt@1'].kind}" in printed
    assert "not fitted: the judge keeps no hidden state" in printed
    assert written.sha256 in "".join(printed.split())


def test_what_was_fitted_is_used_in_a_score(
    labels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "fake.json"
    run(["judge", "calibrate", str(labels), "--judge", "fake", "-o", str(out)])
    context = "In 1911 Ann moved to Oslo and opened a bakery there."
    claim = "Ann opened a bakery in Oslo in 2211."
    arguments = ["score", "faithfulness", "--judge", "fake", "--context", context, "--output", claim]
    capsys.readouterr()
    assert run([*arguments, "--format", "json", "--calibration", "none"]) == 0
    before = json.loads(capsys.readouterr().out)["items"][0]["probability"]
    assert run([*arguments, "--format", "json", "--calibration", str(out)]) == 1
    after = json.loads(capsys.readouterr().out)["items"][0]["probability"]
    assert before > 0.5 > after


def test_three_files_are_tested_set_by_set_and_json_says_all_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [
        str(write_labels(tmp_path / f"{name}.jsonl", 60, words=extra)) for extra, name in enumerate("abc")
    ]
    capsys.readouterr()
    assert run(["judge", "calibrate", *files, "--judge", "fake", "--format", "json"]) == 0
    said = json.loads(capsys.readouterr().out)
    fit = said["templates"]["support_excerpt@1"]
    assert said["output"] is None
    assert fit["folds"].startswith("each of the 3 sets is tested by fits on the others")
    assert list(fit["candidates"]) == ["raw", "threshold", "platt", "evidence"]
    chosen = fit["candidates"][fit["chosen"]]
    assert set(chosen["sets"]) == {"a", "b", "c"}
    assert chosen["auc"] > 0.9
    assert chosen["behind"]["difference"] <= chosen["behind"]["error"]
    assert fit["candidates"]["raw"]["behind"] is None


def test_a_second_fit_asks_nobody_and_gives_the_same_file(labels: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    arguments = ["judge", "calibrate", str(labels), "--judge", "fake"]
    assert run([*arguments, "-o", str(one)]) == 0
    assert run([*arguments, "--replay", "-o", str(two)]) == 0
    assert load_calibration(one).templates == load_calibration(two).templates


def test_rows_that_are_left_out_are_named_among_the_limits(
    labels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["judge", "calibrate", str(labels), "--judge", "fake", "--limit", "80"]) == 0
    printed = capsys.readouterr().out
    assert "support_excerpt@1: 80 rows" in printed
    assert "40 rows left out" in printed
    assert "Nothing was written; -o FILE writes the calibration." in printed


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--limit", "40"], "needs at least 30 rows of each label, and there are 20 with label 1 and 20"),
        (["--calibration", "none"], "calibrate fits to the judge's raw answers; leave --calibration out"),
        (["--hidden"], "judge 'fake' has no setting 'hidden'"),
        (["-o", "fit.yaml"], "the suffix '.yaml'"),
        (["--template", "suport"], "Did you mean 'support'?"),
        (["--template", "chunk_relevance"], "asks about passages"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    labels: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert run(["judge", "calibrate", str(labels), "--judge", "fake", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_too_few_labels_are_told_before_anything_is_asked(
    labels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(self: FakeJudge, calls: object) -> NoReturn:
        raise AssertionError("somebody was asked")

    monkeypatch.setattr(FakeJudge, "ask", ask)
    assert run(["judge", "calibrate", str(labels), "--judge", "fake", "--limit", "40"]) == 2


def test_the_labels_are_never_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "labels.json"
    path.write_text("[]", encoding="utf-8")
    assert run(["judge", "calibrate", str(path), "--judge", "fake", "-o", str(path)]) == 2
    assert "needs a file of its own" in capsys.readouterr().err
    assert path.read_text(encoding="utf-8") == "[]"
