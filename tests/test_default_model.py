"""What the default model says of the example suite, and that its answers replay without it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ragjudge.cli.main import run

pytestmark = [pytest.mark.native, pytest.mark.model]


@pytest.fixture(scope="module")
def graded(default_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example suite, graded by name and by path into one cache."""
    folder = tmp_path_factory.mktemp("graded")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAGJUDGE_MODELS", str(default_model.parent))
        patch.setenv("RAGJUDGE_CACHE", str(folder / "cache"))
        patch.setenv("RAGJUDGE_HOME", str(folder / "home"))
        assert run(["init", str(folder)]) == 0
        suite = (folder / "suite.yaml").read_text(encoding="utf-8")
        (folder / "judge.gguf").symlink_to(default_model)
        by_path = suite.replace("judge: qwen2.5-coder-1.5b", "judge: judge.gguf")
        assert by_path != suite
        (folder / "by_path.yaml").write_text(by_path, encoding="utf-8")
        for name in ("suite", "by_path"):
            assert run(["run", f"{folder}/{name}.yaml", "-q", "-o", f"{folder}/{name}.json"]) == 1
            rows = f"{folder}/{name}.jsonl"
            assert run(["run", f"{folder}/{name}.yaml", "-q", "--replay", "-o", rows]) == 1
    return folder


def report(folder: Path, name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return loaded


def failed_claims(folder: Path, row_id: str) -> list[str]:
    row = next(row for row in report(folder, "suite")["rows"] if row["id"] == row_id)
    return [item["text"] for item in row["scores"]["faithfulness"]["items"] if item["verdict"] is False]


def test_the_wrong_date_is_found_and_nothing_else_in_its_row(graded: Path) -> None:
    assert failed_claims(graded, "wrong-date") == ["Apollo 11 landed on the Moon on 14 March 1971."]


def test_the_claim_beyond_the_context_is_found(graded: Path) -> None:
    assert failed_claims(graded, "claim-beyond-context") == [
        "More than two million tourists visit it every year."
    ]


def test_the_badly_ranked_and_the_missed_retrieval_fail(graded: Path) -> None:
    scores = {row["id"]: row["scores"] for row in report(graded, "suite")["rows"]}
    assert scores["badly-ranked-retrieval"]["context_precision"]["value"] == pytest.approx(1 / 3, abs=1e-6)
    assert scores["missed-retrieval"]["context_recall"]["value"] == 0.0
    assert scores["good-answer"]["context_recall"]["value"] == 1.0


def test_no_token_is_decoded_twice_and_the_second_judge_is_the_first(graded: Path) -> None:
    usage = report(graded, "suite")["usage"]
    assert usage["tokens_decoded"] + usage["tokens_restored"] == usage["tokens_minimum"] > 0
    # By path it is the same file, so everything is answered already.
    assert report(graded, "by_path")["usage"]["calls_judged"] == 0
    assert report(graded, "by_path")["rows"] == report(graded, "suite")["rows"]


@pytest.mark.parametrize("name", ["suite", "by_path"])
def test_a_replay_needs_neither_the_model_nor_llama_cpp(graded: Path, tmp_path: Path, name: str) -> None:
    moved = tmp_path / "elsewhere"
    shutil.copytree(graded, moved, ignore=shutil.ignore_patterns("*.gguf"))
    blocked = tmp_path / "blocked"
    (blocked / "llama_cpp").mkdir(parents=True)
    (blocked / "llama_cpp" / "__init__.py").write_text(
        "raise ImportError('not installed')\n", encoding="utf-8"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(blocked), str(Path(__file__).resolve().parents[1])]),
        "RAGJUDGE_CACHE": str(moved / "cache"),
        "RAGJUDGE_MODELS": str(tmp_path / "no-models"),
    }
    rows = moved / "replayed.jsonl"
    command = [sys.executable, "-m", "ragjudge", "run", f"{name}.yaml", "--replay", "-q", "-o", str(rows)]
    done = subprocess.run(command, cwd=moved, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert rows.read_bytes() == (graded / f"{name}.jsonl").read_bytes()


def test_a_changed_context_is_a_miss_that_names_row_and_metric(
    graded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = tmp_path / "changed"
    shutil.copytree(graded, moved, ignore=shutil.ignore_patterns("*.gguf"))
    rows = moved / "rows.jsonl"
    changed = rows.read_text(encoding="utf-8").replace(
        "20 July 1969, and the crew", "21 July 1969, and the crew"
    )
    rows.write_text(changed, encoding="utf-8")
    monkeypatch.setenv("RAGJUDGE_CACHE", str(moved / "cache"))
    assert run(["run", str(moved / "suite.yaml"), "--replay"]) == 4
    error = capsys.readouterr().err
    assert "wrong-date, faithfulness (support_excerpt@1)" in error
    assert "21 July" in error


def test_a_right_and_a_wrong_claim_score_one_half(
    default_model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RAGJUDGE_MODELS", str(default_model.parent))
    arguments = [
        "score", "faithfulness", "--format", "json",
        "--input", "What is Python?",
        "--output", "Python was created by Guido van Rossum. It was first released in 1985.",
        "--context",
        "Guido van Rossum began working on Python in the late 1980s and first released it in 1991.",
    ]  # fmt: skip
    assert run(arguments) == 1
    score = json.loads(capsys.readouterr().out)
    assert score["value"] == 0.5
    assert [item["verdict"] for item in score["items"]] == [True, False]
