from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ragjudge.errors import DataError
from ragjudge.records import Report, Row
from ragjudge.reports.json import read_report, render, render_rows
from tests.reports.examples import full_report, item, report, score

SMALL = """\
{
  "schema_version": 1,
  "ragjudge_version": "1.0",
  "judges": [],
  "usage": {
    "calls_judged": 0,
    "calls_replayed": 0,
    "calls_failed": 0,
    "tokens_decoded": 0,
    "tokens_minimum": 0,
    "tokens_generated": 0,
    "tokens_restored": 0,
    "judge_seconds": 0.0,
    "wall_seconds": 0.0
  },
  "partial": false,
  "summary": {},
  "passed": true,
  "rows": [
    {"id": "größe", "provider": null, "input": null, "output": null, "contexts": ["東京"], \
"expected": null, "passed": null, "error": null, "scores": {}}
  ],
  "coverage": null
}
"""


def row(name: str, **fields: Any) -> Row:
    return Row(id=name, **{"scores": {}, **fields})


def test_the_whole_report_is_written_in_the_order_of_its_fields() -> None:
    assert render(report(row("größe", contexts=("東京",)))) == SMALL


def test_a_score_is_written_with_the_fields_that_other_tools_read() -> None:
    pieces = (item("A claim.", 0.93, chunk=0, chunk_by="lexical"),)
    line = render_rows(report(row("a", scores={"faithfulness": score(1.0, items=pieces)})))
    assert json.loads(line)["scores"] == {
        "faithfulness": {
            "metric": "faithfulness",
            "by": None,
            "value": 1.0,
            "status": "scored",
            "passed": True,
            "threshold": 0.7,
            "interval": None,
            "undecided": False,
            "mode": "decomposed",
            "reason": "All claims are supported.",
            "errors": 0,
            "items": [
                {
                    "text": "A claim.",
                    "start": 0,
                    "end": 8,
                    "verdict": True,
                    "probability": 0.93,
                    "label_mass": 0.99,
                    "claim": None,
                    "chunk": 0,
                    "chunk_by": "lexical",
                    "windows": None,
                    "window": None,
                    "marginal": False,
                    "error": None,
                    "panel": None,
                    "disagreement": None,
                }
            ],
        }
    }


def test_rows_are_one_line_each_in_input_order() -> None:
    lines = render_rows(report(row("b", input="two\nlines \u2028 or three \x85"), row("a"))).splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["b", "a"]
    assert json.loads(lines[0])["input"] == "two\nlines \u2028 or three \x85"


def test_no_rows_are_no_lines() -> None:
    assert render_rows(report()) == ""


def test_scores_keep_the_order_of_the_suite() -> None:
    scores = {"tone": score(1.0), "faithfulness": score(1.0)}
    assert list(json.loads(render_rows(report(row("a", scores=scores))))["scores"]) == [
        "tone",
        "faithfulness",
    ]


def test_the_same_report_gives_the_same_text() -> None:
    assert render(full_report()) == render(full_report())


def test_a_lone_surrogate_is_written_as_an_escape() -> None:
    broken = Row.model_construct(**{**row("a").model_dump(), "id": "half \ud83d é"})
    whole = row("é")
    lines = render_rows(Report.model_construct(**{**dict(report()), "rows": (broken, whole)})).splitlines()
    assert '"half \\ud83d \\u00e9"' in lines[0]
    assert '"é"' in lines[1]
    assert json.loads(lines[0])["id"] == "half \ud83d é"


def test_a_number_that_json_does_not_know_is_never_written() -> None:
    broken = score(1.0).model_copy(update={"value": float("nan")})
    with pytest.raises(ValueError, match="not JSON compliant"):
        render_rows(report(row("a", scores={"faithfulness": broken})))


def test_a_report_survives_the_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(render(full_report()), encoding="utf-8")
    assert read_report(path) == full_report()
    assert render(read_report(path)) == path.read_text(encoding="utf-8")


def test_an_interval_is_written_as_two_numbers_and_read_again(tmp_path: Path) -> None:
    undecided = score(0.5, interval=(0.25, 0.75), undecided=True)
    written = render(report(row("a", scores={"faithfulness": undecided})))
    assert '"threshold": 0.7, "interval": [0.25, 0.75], "undecided": true, "mode"' in written
    path = tmp_path / "report.json"
    path.write_text(written, encoding="utf-8")
    assert read_report(path).rows[0].scores["faithfulness"] == undecided


def test_a_report_from_before_there_were_intervals_is_read(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    old = render(full_report()).replace('"interval": null, "undecided": false, ', "")
    assert "interval" not in old
    path.write_text(old, encoding="utf-8")
    assert read_report(path) == full_report()


def test_a_byte_order_mark_is_read_over(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(render(report()), encoding="utf-8-sig")
    assert read_report(path) == report()


NEWER = SMALL.replace('"schema_version": 1', '"schema_version": 2')
EXTRA = SMALL.replace('"passed": true', '"passed": true, "pased": true')


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff", "not UTF-8: invalid start byte at byte 0."),
        (b'{\n"a": }', "broken JSON at line 2: Expecting value."),
        (b'{"a": NaN}', "no JSON that a report could be: NaN is not a JSON number."),
        (b"[" * 100_000, "no JSON that a report could be"),
        (b"[]", "no report: expected a JSON object with `schema_version`."),
        (b'{"rows": []}', "no report: expected a JSON object with `schema_version`."),
        (NEWER.encode(), "a report of schema version 2; this ragjudge reads version 1."),
        (EXTRA.encode(), "no report: pased: Extra inputs are not permitted."),
        (SMALL.replace('"größe"', "7").encode(), "no report: rows.0.id: Input should be a valid string."),
    ],
)
def test_a_bad_file_is_one_sentence(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_report(path)
    assert caught.value.message.startswith(f"{path}: {message}")


def test_a_missing_report_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"gone\.json: the report cannot be read: No such file or directory\.$"
    ):
        read_report(tmp_path / "gone.json")
