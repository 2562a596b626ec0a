from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ragjudge.agreement.graded import Graded, is_graded, read_graded
from ragjudge.errors import DataError, UnknownNameError, UsageError
from tests.agreement.rows import write_jsonl


def _score(value: float | None, threshold: float = 0.7) -> dict[str, Any]:
    return {
        "metric": "faithfulness",
        "value": value,
        "status": "scored" if value is not None else "not_applicable",
        "passed": None if value is None else value >= threshold,
        "threshold": threshold,
        "mode": "decomposed",
        "reason": "the output makes no claim." if value is None else "1 of 2.",
    }


def _row(id: str, value: float | None, **more: Any) -> dict[str, Any]:
    return {
        "id": id,
        "input": "Why?",
        "output": f"Because of {id}.",
        "contexts": ["one two three"],
        "scores": {"faithfulness": _score(value)},
        **more,
    }


ROWS = [_row("a", 0.9), _row("b", 0.6), _row("c", None)]


def _read(path: Path, labels: Path | None = None, **options: Any) -> Graded:
    return read_graded([path], [path.stem], labels=labels, **options)


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    path = tmp_path / "labels.csv"
    path.write_text("id,label,by\na,1,Ann\nb,1,Ann\nc,0,Bo\n", encoding="utf-8")
    return path


def test_scores_become_probabilities_and_passing_a_decision(tmp_path: Path, labels: Path) -> None:
    path = write_jsonl(tmp_path / "report.jsonl", ROWS)
    found = _read(path, labels)
    assert [(row.id, row.label, row.probability, row.decision) for row in found.rows] == [
        ("a", True, 0.9, True),
        ("b", True, 0.6, False),
        ("c", False, None, None),
    ]
    assert found.rows[2].error == "not_applicable: the output makes no claim."
    assert (found.rows[0].words, found.rows[0].claim, found.rows[0].set) == (3, "Because of a.", "report")
    assert (found.threshold, found.judges, found.notes) == (0.7, (), ())


def test_labels_may_stand_in_the_rows_themselves(tmp_path: Path) -> None:
    path = write_jsonl(
        tmp_path / "rows.jsonl", [{**ROWS[0], "label": "no"}, ROWS[1], {**ROWS[2], "label": 1}]
    )
    found = _read(path)
    assert [(row.id, row.label) for row in found.rows] == [("a", False), ("c", True)]
    assert found.notes == ("1 row left out: without a label or without the score.",)


def test_labels_in_the_metadata_are_those_of_recorded_outputs(tmp_path: Path, labels: Path) -> None:
    own = {"metadata": {"label": 0}}
    rows = [_row("a", 0.9, **own), _row("b", 0.6, **own, label=1), _row("c", 0.2, **own, provider="rag")]
    path = write_jsonl(tmp_path / "rows.jsonl", rows)
    assert [(row.id, row.label) for row in _read(path).rows] == [("a", False), ("b", True)]
    labels.write_text("id,label\na,1\n", encoding="utf-8")
    assert [(row.id, row.label) for row in _read(write_jsonl(path, rows[:1]), labels).rows] == [("a", True)]
    other = write_jsonl(path, [_row("a", 0.9, metadata={"label": "history"})])
    with pytest.raises(DataError, match=r"line 1: 'metadata\.label' is the text 'history'; accepted: 1, 0"):
        _read(other)


def test_a_whole_report_names_its_judge(tmp_path: Path, labels: Path) -> None:
    path = tmp_path / "report.json"
    judge = {"id": "fake", "fingerprint": "f" * 64, "calibration": None}
    path.write_text(json.dumps({"schema_version": 1, "judges": [judge], "rows": ROWS}), encoding="utf-8")
    assert is_graded(path)
    assert [each.id for each in _read(path, labels).judges] == ["fake"]


def test_labelled_rows_are_no_graded_report(tmp_path: Path) -> None:
    assert not is_graded(write_jsonl(tmp_path / "a.jsonl", [{"context": "a", "claim": "b", "label": 1}]))


def test_one_of_several_scores_must_be_named(tmp_path: Path, labels: Path) -> None:
    scores = {"faithfulness": _score(0.9), "context_recall": _score(0.2, 0.5)}
    path = write_jsonl(tmp_path / "r.jsonl", [{**row, "scores": scores} for row in ROWS])
    with pytest.raises(UsageError, match="has 2 scores, context_recall, faithfulness; say with --score"):
        _read(path, labels)
    assert _read(path, labels, score="context-recall").rows[0].probability == 0.2
    with pytest.raises(UnknownNameError, match="unknown score 'recall'"):
        _read(path, labels, score="recall")


def test_rows_of_several_providers_need_one_in_their_labels(tmp_path: Path, labels: Path) -> None:
    rows = [_row("a", 0.9, provider="x"), _row("a", 0.2, provider="y")]
    path = write_jsonl(tmp_path / "r.jsonl", rows)
    labels.write_text("id,label\na,1\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"labels.csv, line 2: the report has 2 rows 'a'.*give a `provider`"):
        _read(path, labels)
    labels.write_text("id,provider,label\na,x,1\na,y,0\n", encoding="utf-8")
    found = _read(path, labels).rows
    assert [(row.id, row.label, row.group) for row in found] == [("a [x]", True, "a"), ("a [y]", False, "a")]


def test_a_row_with_two_labels_is_refused(tmp_path: Path, labels: Path) -> None:
    labels.write_text("id,label\na,1\n", encoding="utf-8")
    path = write_jsonl(tmp_path / "r.jsonl", [{**_row("a", 0.9), "label": 0}])
    with pytest.raises(
        DataError, match=r"r.jsonl, line 1: the row 'a' has a label of its own and one in .*labels.csv"
    ):
        _read(path, labels)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("id,label\na,1\nz,0\n", "line 3: there is no row 'z' in"),
        ("id,label\na,1\na,0\n", "line 3: the id 'a' has a label already, at"),
        ("id,label\na,perhaps\n", "line 2: 'label' is the text 'perhaps'; accepted: 1, 0, true"),
        ("id,verdict\na,1\n", "line 2: the row has no `label`; accepted: rows with `id` and `label`"),
        ("name,label\na,1\n", "line 2: the row has no `id`; accepted: rows with `id` and `label`"),
    ],
)
def test_bad_labels_are_told_with_their_place(tmp_path: Path, labels: Path, text: str, told: str) -> None:
    labels.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        _read(write_jsonl(tmp_path / "r.jsonl", ROWS), labels)
    assert f"{labels}, {told}" in caught.value.message


def test_a_report_without_labels_says_where_they_may_stand(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no row has a label; accepted: `label` .* named by --labels"):
        _read(write_jsonl(tmp_path / "r.jsonl", ROWS))


def test_a_row_that_is_none_is_told(tmp_path: Path, labels: Path) -> None:
    path = write_jsonl(tmp_path / "r.jsonl", [{**ROWS[0], "colour": "red"}])
    with pytest.raises(DataError, match=r"r.jsonl, line 1: no row of a graded report: colour: Extra"):
        _read(path, labels)


def test_reports_are_limited_like_other_rows(tmp_path: Path, labels: Path) -> None:
    path = write_jsonl(tmp_path / "r.jsonl", [ROWS[0], {**ROWS[1], "contexts": ["w " * 50]}, ROWS[2]])
    found = _read(path, labels, limit=1, max_words=10)
    assert [row.id for row in found.rows] == ["a"]
    assert found.notes == (
        "1 row left out: more than 10 words of context.",
        "1 row left out: each report gives its first 1.",
    )


def test_thresholds_that_differ_are_no_present_threshold(tmp_path: Path, labels: Path) -> None:
    rows = [ROWS[0], {**ROWS[1], "scores": {"faithfulness": _score(0.6, 0.5)}}, ROWS[2]]
    found = _read(write_jsonl(tmp_path / "r.jsonl", rows), labels)
    assert found.threshold is None
    assert [row.decision for row in found.rows] == [True, True, None]
