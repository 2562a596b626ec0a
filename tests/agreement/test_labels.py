from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ragjudge.agreement.labels import LabelledRow, count_words, read_label_file, read_labels
from ragjudge.errors import DataError
from tests.agreement.rows import write_jsonl

FULL: dict[str, Any] = {
    "id": "a:1",
    "source": "survey",
    "task": "support",
    "context": "The bridge opened in 1932.",
    "claim": "The bridge is old.",
    "label": 0,
    "question": None,
    "meta": {"group": 7, "lang": "en", "kind": "hedge", "ctx_words": 5},
}


def _one(path: Path, row: Any) -> LabelledRow:
    write_jsonl(path, [row])
    (found,) = read_label_file(path)
    return found


def test_a_full_row_keeps_every_field(tmp_path: Path) -> None:
    row = _one(tmp_path / "labels.jsonl", FULL)
    assert (row.id, row.source, row.task, row.label, row.question) == (
        "a:1",
        "survey",
        "support",
        False,
        None,
    )
    assert (row.contexts, row.claim) == (("The bridge opened in 1932.",), "The bridge is old.")
    assert (row.group, row.language, row.kind, row.context_words) == ("7", "en", "hedge", 5)
    assert row.metadata["ctx_words"] == 5


def test_a_small_row_is_enough(tmp_path: Path) -> None:
    row = _one(tmp_path / "mine.jsonl", {"context": "It rains.", "claim": "It is wet.", "label": True})
    assert (row.id, row.source, row.task, row.label, row.group) == ("row-1", "mine", "support", True, "row-1")
    assert (row.language, row.kind) == (None, None)
    asked = _one(tmp_path / "mine.jsonl", {"context": "It rains.", "question": "Is it wet?", "label": "yes"})
    assert (asked.task, asked.label, asked.claim) == ("relevance", True, "")


@pytest.mark.parametrize(("label", "meant"), [("1.0", True), ("0.0", False), (" No ", False), (1.0, True)])
def test_labels_are_known_as_tables_write_them(tmp_path: Path, label: object, meant: bool) -> None:
    row = {"context": "It rains.", "claim": "It is wet.", "label": label}
    assert _one(tmp_path / "mine.jsonl", row).label is meant


def test_chunks_may_be_a_list_and_blank_ones_are_not_shown(tmp_path: Path) -> None:
    row = _one(tmp_path / "a.jsonl", {"contexts": ["One.", " ", "Two."], "claim": "Three.", "label": 1})
    assert row.contexts == ("One.", "Two.")
    row = _one(tmp_path / "a.jsonl", {"contexts": "['One.', 'Two.']", "claim": "Three.", "label": 1})
    assert row.contexts == ("One.", "Two.")


def test_a_table_is_read_too_and_other_columns_become_metadata(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(
        "id,context,claim,question,label,kind\n1,It rains.,It is wet.,,no,negation\n2,It rains.,,Is it?,1,\n",
        encoding="utf-8",
    )
    first, second = read_labels([path])
    assert (first.id, first.task, first.label, first.kind) == ("1", "support", False, "negation")
    assert (second.task, second.question, second.label, second.kind) == ("relevance", "Is it?", True, None)


def test_words_are_counted_where_no_white_space_parts_them() -> None:
    assert count_words("one two  three\nfour") == 4
    assert count_words("他们在那里") == 3
    assert count_words("Python 很好") == 2
    assert count_words("") == 0


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"label": 2}, "line 1: 'label' is the number 2; accepted: 1, 0, true, false, yes or no."),
        ({"label": "maybe"}, "line 1: 'label' is the text 'maybe'; accepted: 1, 0"),
        ({"label": None}, "line 1: the row has no `label`; accepted: rows with `context`"),
        ({"context": None}, "line 1: the row has no `context`; accepted:"),
        ({"context": " "}, "line 1: 'context' is blank; accepted: at least one chunk with text."),
        ({"context": 5}, "line 1: 'context' is the number 5; accepted: a text (one chunk) or a list"),
        ({"context": ["a", 5]}, "line 1: 'context'[1] is the number 5; accepted: text."),
        ({"contexts": ["a"]}, "line 1: 'context' and 'contexts' are both given"),
        ({"claim": "", "task": "support"}, "line 1: a row of support without a `claim`"),
        ({"task": "relevance"}, "line 1: a row of relevance without a `question`"),
        ({"task": "truth"}, "line 1: 'task' is the text 'truth'; accepted: support, relevance."),
        (
            {"task": "relevance", "question": "Why?", "context": ["a", "b"]},
            "line 1: a row of relevance with 2 chunks; accepted: one chunk",
        ),
        ({"id": ["x"]}, "line 1: 'id' is a list; accepted: text that is not blank, or a whole number."),
        ({"meta": [1]}, "line 1: 'meta' is a list; accepted: an object."),
        ({"lang": "de"}, "line 1: 'lang' is given twice, in the row and in its 'meta'."),
    ],
)
def test_a_bad_row_is_told_with_file_line_finding_and_what_is_accepted(
    tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    path = tmp_path / "labels.jsonl"
    with pytest.raises(DataError) as caught:
        _one(path, {**FULL, **change})
    assert f"{path}, {told}" in caught.value.message


def test_two_rows_of_one_file_cannot_have_one_id(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "labels.jsonl", [FULL, {**FULL, "label": 1}])
    with pytest.raises(DataError, match=r"line 2: the id 'a:1' is taken by .*line 1; ids must differ"):
        read_labels([path])
    other = write_jsonl(tmp_path / "other.jsonl", [FULL])
    write_jsonl(path, [FULL])
    assert [row.id for row in read_labels([path, other])] == ["a:1", "a:1"]


def test_a_broken_line_is_told(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text(f"{json.dumps(FULL)}\n{{'a': 1}}\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"labels\.jsonl: broken JSON at line 2"):
        read_labels([path])
