"""``ragjudge judge check`` from the outside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ragjudge.cli.main import run
from tests.agreement.rows import CONTEXT, write_jsonl

GOOD = "Guido van Rossum first released Python in 1991."
BAD = "Bananas grow in Honduras."
FAKE = ("judge", "check", "--judge", "fake")


def _label_row(number: int, label: int, claim: str, **more: Any) -> dict[str, Any]:
    return {
        "id": f"r{number}",
        "context": CONTEXT,
        "claim": f"{claim} ({number})",
        "label": label,
        "meta": {"group": number // 2, "lang": "en", "kind": "odd" if number % 2 else "even"},
        **more,
    }


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    data = [_label_row(number, number % 2, GOOD if number % 2 else BAD) for number in range(20)]
    data[0]["claim"] = GOOD
    return write_jsonl(tmp_path / "facts.jsonl", data)


def _json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run([*arguments, "--format", "json"]) == 0
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    return data


def test_the_table_and_the_worst_rows_are_printed(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*FAKE, str(rows)]) == 0
    printed = capsys.readouterr().out
    for part in ("facts", "AUC", "kappa", "label mass", "per verdict", "even", "under 50 words", GOOD):
        assert part in printed
    assert run([*FAKE, str(rows), "-q"]) == 0
    assert GOOD not in capsys.readouterr().out


def test_a_second_run_makes_no_calls_and_says_the_same(
    rows: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = _json(capsys, *FAKE, str(rows))
    second = _json(capsys, *FAKE, str(rows))
    replayed = _json(capsys, *FAKE, str(rows), "--replay")
    assert (first["usage"]["calls_judged"], second["usage"]["calls_judged"]) == (20, 0)
    assert second["usage"]["calls_replayed"] == 20
    for data in (first, second, replayed):
        data.pop("usage")
    assert first == second == replayed
    assert first["overall"]["measures"]["accuracy"]["value"] == 0.95
    assert [row["id"] for row in first["wrong"]] == ["r0"]


def test_a_replay_without_answers_is_exit_code_4(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*FAKE, str(rows), "--limit", "1"]) == 0
    assert run([*FAKE, str(rows), "--replay"]) == 4
    assert "19 calls are not in the cache" in capsys.readouterr().err


def test_a_bundle_replays_a_check(rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = _json(capsys, *FAKE, str(rows))
    bundle = tmp_path / "facts.rjz"
    assert run(["cache", "export", "-o", str(bundle)]) == 0
    capsys.readouterr()
    again = _json(capsys, *FAKE, str(rows), "--bundle", str(bundle))
    assert again["rows"] == first["rows"]
    assert again["usage"]["calls_judged"] == 0


def test_the_result_is_written_in_every_format(
    rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outputs = [tmp_path / f"check{suffix}" for suffix in (".html", ".json", ".md")]
    assert run([*FAKE, str(rows), *(part for path in outputs for part in ("-o", str(path)))]) == 0
    texts = [path.read_text(encoding="utf-8") for path in outputs]
    assert "<svg" in texts[0]
    assert json.loads(texts[1])["by_set"][0]["name"] == "facts"
    assert "facts" in texts[2]
    assert run([*FAKE, str(rows), "-o", str(tmp_path / "check.pdf")]) == 2
    assert "Accepted: .html, .json, .md." in capsys.readouterr().err
    assert run([*FAKE, str(rows), "-o", str(rows.with_suffix(".json")), "-o", str(rows)]) == 2


def test_rows_are_limited_by_number_and_by_words(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*FAKE, str(rows), "--limit", "4", "--max-words", "30"]) == 0
    assert "16 rows left out: each set gives its first 4." in capsys.readouterr().out
    assert run([*FAKE, str(rows), "--max-words", "3"]) == 2
    assert "no row is left" in capsys.readouterr().err


def test_a_template_can_be_named(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _json(capsys, *FAKE, str(rows), "--template", "support@1")["templates"] == ["support@1"]
    assert run([*FAKE, str(rows), "--template", "chunk_relevance"]) == 2
    assert "asks about passages" in capsys.readouterr().err
    assert run([*FAKE, "nowhere.jsonl", "--template", "suport"]) == 2


def test_without_labels_the_packaged_traps_are_asked(capsys: pytest.CaptureFixture[str]) -> None:
    data = _json(capsys, *FAKE)
    assert {part["name"] for part in data["by_language"]} >= {"en", "de", "fr", "es", "ru", "zh"}
    assert "injection" in {part["name"] for part in data["by_kind"]}
    assert data["overall"]["judged"] == data["overall"]["rows"] > 200


def test_bad_labels_are_one_sentence_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_jsonl(tmp_path / "bad.jsonl", [_label_row(1, 1, GOOD), _label_row(2, 3, BAD)])
    assert run([*FAKE, str(path)]) == 2
    assert capsys.readouterr().err == (
        f"Error: {path}, line 2: 'label' is the number 3; accepted: 1, 0, true, false, yes or no.\n"
    )
    assert run([*FAKE, str(tmp_path / "none.jsonl")]) == 2
    assert "there is no such file" in capsys.readouterr().err


def test_too_few_verdicts_are_exit_code_3(
    rows: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from ragjudge.judges.fake import FakeJudge
    from ragjudge.records import CallFailure, Check

    answer = FakeJudge._answer

    def moody(self: FakeJudge, call: Check) -> Any:
        return CallFailure(reason="no answer today") if BAD in call.claim else answer(self, call)

    monkeypatch.setattr(FakeJudge, "_answer", moody)
    assert run([*FAKE, str(rows)]) == 3
    assert "no answer today" in capsys.readouterr().out


def test_a_graded_report_is_held_against_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = write_jsonl(
        tmp_path / "data.jsonl",
        [
            {
                "id": f"q{number}",
                "question": "?",
                "answer": GOOD if number % 2 else BAD,
                "contexts": [CONTEXT],
            }
            for number in range(6)
        ],
    )
    report = tmp_path / "report.json"
    run(["grade", str(data), "-m", "faithfulness", "--judge", "fake", "-o", str(report), "-q"])
    labels = tmp_path / "people.csv"
    labels.write_text("id,label\n" + "".join(f"q{n},{n % 2}\n" for n in range(6)), encoding="utf-8")
    capsys.readouterr()
    found = _json(capsys, "judge", "check", str(report), "--labels", str(labels))
    assert found["overall"]["measures"]["balanced_accuracy"]["value"] == 1.0
    assert (found["threshold"], found["judges"][0]["id"]) == (0.7, "fake")
    assert found["usage"]["calls_judged"] == 0
    assert run(["judge", "check", str(report)]) == 2
    assert "named by --labels" in capsys.readouterr().err


def test_options_that_do_not_go_together_are_refused(
    rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = write_jsonl(
        tmp_path / "rows.jsonl",
        [{"id": "a", "label": 1, "scores": {"m": {"metric": "m", "value": 1.0, "status": "scored",
          "mode": "holistic", "reason": "."}}}],
    )  # fmt: skip
    for arguments, told in (
        ([str(rows), "--labels", str(rows)], "--labels belongs to graded reports"),
        ([str(rows), "--score", "faithfulness"], "--score belongs to graded reports"),
        ([str(report), str(rows)], "check them one at a time"),
        ([str(report), "--template", "support"], "a graded report is not judged again"),
    ):
        assert run([*FAKE, *arguments]) == 2
        assert told in capsys.readouterr().err
    for option in ("--judge", "--calibration"):
        assert run(["judge", "check", str(report), option, "nowhere"]) == 2
        assert f"{option} is about asking a judge" in capsys.readouterr().err
