from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from ragjudge.datasets.chunks import read_contexts
from ragjudge.datasets.columns import (
    ACCEPTED,
    DIALECTS,
    columns_of,
    contexts_are_one_text,
    sample_of_columns,
)
from ragjudge.errors import DataError, UnknownNameError
from ragjudge.records import Sample

WHERE = "rows.jsonl, line 3"


def sample(row: dict[Any, Any], index: int = 3) -> Sample:
    return sample_of_columns(columns_of(row, WHERE), where=WHERE, index=index)


FULL = Sample(id="row-3", input="Q?", output="A.", contexts=("c1", "c2"), expected="E.")


@pytest.mark.parametrize(
    "row",
    [
        {"input": "Q?", "output": "A.", "contexts": ["c1", "c2"], "expected": "E."},
        {"question": "Q?", "answer": "A.", "context": ["c1", "c2"], "reference": "E."},
        {"query": "Q?", "response": "A.", "contexts": ["c1", "c2"], "ground_truth": "E."},
        {"user_input": "Q?", "response": "A.", "retrieved_contexts": ["c1", "c2"], "reference": "E."},
        {"question": "Q?", "answer": "A.", "contexts": ["c1", "c2"], "ground_truths": ["E."]},
        {"input": "Q?", "actual_output": "A.", "retrieval_context": ["c1", "c2"], "expected_output": "E."},
        {"input": "Q?", "actualOutput": "A.", "retrievalContext": ["c1", "c2"], "expectedOutput": "E."},
        {"query": "Q?", "providerOutput": "A.", "context": ["c1", "c2"], "expected": "E."},
        {
            "query": "Q?",
            "response": "A.",
            "retrieved_context": [{"doc_id": "1", "text": "c1"}, {"doc_id": "2", "text": "c2"}],
            "gt_answer": "E.",
        },
        {"query": "Q?", "answer": "A.", "context": ["c1", "c2"], "expected_response": "E."},
        {"vars": {"query": "Q?", "context": ["c1", "c2"]}, "output": "A.", "expected": "E."},
    ],
    ids=" ".join,
)
def test_the_rows_of_every_dialect_become_the_same_sample(row: dict[str, Any]) -> None:
    assert sample(row) == FULL


def test_every_column_name_means_one_field_in_all_dialects() -> None:
    names = [name for names in ACCEPTED.values() for name in names]
    assert len(names) == len(set(names))
    for dialect in DIALECTS:
        assert set(dialect.other_context) <= set(ACCEPTED["contexts"])


def test_the_own_names_are_named_first() -> None:
    assert [names[0] for names in ACCEPTED.values()] == ["input", "output", "contexts", "expected"]


def test_the_ideal_context_of_a_deepeval_row_is_metadata() -> None:
    found = sample({"retrieval_context": ["got"], "context": ["ideal"]})
    assert found.contexts == ("got",)
    assert found.metadata == {"context": ["ideal"]}


def test_an_ideal_context_is_never_taken_for_a_missing_retrieved_one() -> None:
    found = sample({"input": "Q?", "retrieval_context": None, "context": ["ideal"]})
    assert found.contexts is None
    assert found.metadata == {"context": ["ideal"]}


def test_null_is_not_given_and_empty_is_given() -> None:
    found = sample({"input": None, "output": "", "contexts": [], "expected": None})
    assert (found.input, found.output, found.contexts, found.expected) == (None, "", (), None)
    assert found.metadata == {}


def test_two_names_with_the_same_value_are_no_conflict() -> None:
    found = sample({"question": "Q?", "query": "Q?", "context": "one", "contexts": ["one"]})
    assert (found.input, found.contexts) == ("Q?", ("one",))


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ({"id": "a"}, "a"),
        ({"id": 7}, "7"),
        ({"query_id": "q1"}, "q1"),
        ({"id": None}, "row-3"),
        ({}, "row-3"),
    ],
)
def test_a_row_is_called_by_its_id_or_its_number(row: dict[str, Any], name: str) -> None:
    assert sample(row).id == name


def test_an_id_comes_before_a_query_id_which_stays_metadata() -> None:
    found = sample({"id": "a", "query_id": "q"})
    assert (found.id, found.metadata) == ("a", {"query_id": "q"})


def test_unknown_columns_are_kept_as_metadata() -> None:
    found = sample(
        {"tags": ("a", "b"), "day": dt.date(2024, 5, 1), "metadata": {"n": 1.5}, "score": {"x": None}}
    )
    assert found.metadata == {"n": 1.5, "tags": ["a", "b"], "day": "2024-05-01", "score": {"x": None}}


def test_a_column_that_json_has_no_word_for_is_left_out() -> None:
    assert sample({"input": "Q?", "client": object(), "odd": {1: 2}}).metadata == {}


def test_a_row_of_a_report_is_the_sample_that_was_graded() -> None:
    row = {"provider": "rag", "input": "Q?", "passed": True, "error": None, "scores": {}}
    assert sample(row) == Sample(id="row-3", input="Q?", provider="rag")
    assert sample({**row, "provider": None}) == Sample(id="row-3", input="Q?")
    assert sample({**row, "error": "no index"}) == Sample(
        id="row-3", input="Q?", provider="rag", error="no index"
    )
    with pytest.raises(DataError, match=r"line 3: 'provider' is the number 1; accepted: text\."):
        sample({**row, "provider": 1})


@pytest.mark.parametrize("scores", [[], None, {"passed": True}])
def test_columns_that_are_called_as_in_a_report_are_metadata_elsewhere(scores: Any) -> None:
    row = {"provider": "rag", "error": "none", "scores": scores}
    assert sample(row) == Sample(id="row-3", metadata=row)


@pytest.mark.parametrize(
    ("given", "language"),
    [("german", "german"), ("DE", "german"), (None, None), ("", None), (" ", None)],
)
def test_a_row_may_name_its_language(given: str | None, language: str | None) -> None:
    for row in ({"language": given}, {"vars": {"language": given}}):
        found = sample(row)
        assert (found.language, found.metadata) == (language, {})
    assert sample({"metadata": {"language": given}}).language is None


def test_an_unknown_language_is_named_with_row_and_nearest_name() -> None:
    with pytest.raises(UnknownNameError) as caught:
        sample({"language": "germn"})
    assert caught.value.message.startswith(
        f"{WHERE}: 'language': unknown language 'germn'. Did you mean 'german'? Accepted: czech, "
    )
    with pytest.raises(DataError, match=r"line 3: 'language' is false; accepted: text\."):
        sample({"language": False})  # YAML's `no`


@pytest.mark.parametrize(
    ("value", "chunks"),
    [
        ("one\ntwo", ("one\ntwo",)),
        ("", ("",)),
        ([], ()),
        (["a", ""], ("a", "")),
        ([{"content": "a"}, {"page_content": "b", "metadata": {}}, "c"], ("a", "b", "c")),
        ([{"text": "a", "content": "a"}], ("a",)),
        ([{"text": None, "content": "a"}], ("a",)),
    ],
)
def test_contexts_are_one_text_or_a_list_of_chunks(value: Any, chunks: tuple[str, ...]) -> None:
    assert read_contexts(value, "x") == chunks


@pytest.mark.parametrize(
    ("row", "answer"),
    [
        ({"context": "one"}, True),
        ({"context": ["one"]}, False),
        ({"input": "Q?"}, False),
        ({"context": "one", "contexts": ["one"]}, False),
        ({"context": "ideal", "retrieval_context": ["one"]}, False),
    ],
)
def test_one_text_is_told_from_a_list_of_one(row: dict[str, Any], answer: bool) -> None:
    assert contexts_are_one_text(row) is answer


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ({"answer": 1969}, "'answer' is the number 1969; accepted: text."),
        ({"answer": False}, "'answer' is false; accepted: text."),
        ({"user_input": [{"content": "hi"}]}, "'user_input' is a list; accepted: text."),
        ({"response": {"output": "A"}}, "'response' is an object; accepted: text."),
        ({"expected": float("nan")}, "'expected' is NaN; accepted: text."),
        ({"expected": float("inf")}, "'expected' is an infinite number; accepted: text."),
        ({"expected": 10**5000}, "'expected' is a very long number; accepted: text."),
        (
            {"expected": dt.date(1969, 7, 20)},
            "'expected' is the date 1969-07-20; accepted: text.",
        ),
        ({"output": {1}}, "'output' is a value of type set; accepted: text."),
        (
            {"output": "a\ud800"},
            (
                "'output' holds half a surrogate pair (U+D800) at character 2; "
                "accepted: text that can be written as UTF-8."
            ),
        ),
        ({"contexts": 3}, "'contexts' is the number 3; accepted: a text (one chunk) or a list of chunks."),
        (
            {"contexts": ["a", None]},
            (
                "'contexts'[1] is null; accepted: text, or an object with one of the keys text, content, "
                "page_content."
            ),
        ),
        (
            {"contexts": [{"doc_id": 1, "body": "a"}]},
            "'contexts'[0] has none of the keys text, content, page_content; found: doc_id, body.",
        ),
        ({"contexts": [{"text": 5}]}, "'contexts'[0]: 'text' is the number 5; accepted: text."),
        (
            {"contexts": [{"text": "a", "content": "b"}]},
            "'contexts'[0]: 'text' and 'content' both mean the chunk's text and differ; give one of them.",
        ),
        (
            {"question": "Q?", "query": "R?"},
            "'question' and 'query' both mean the sample's input and differ; give one of them.",
        ),
        (
            {"ground_truths": ["a", "b"]},
            "'ground_truths' is a list of 2; accepted: text, or a list of exactly one text.",
        ),
        ({"ground_truths": [5]}, "'ground_truths'[0] is the number 5; accepted: text."),
        ({"id": " "}, "'id' is the text ' '; accepted: text that is not blank, or a whole number."),
        ({"id": ""}, "'id' is an empty text; accepted: text that is not blank, or a whole number."),
        ({"id": True}, "'id' is true; accepted: text that is not blank, or a whole number."),
        ({"id": 1.5}, "'id' is the number 1.5; accepted: text that is not blank, or a whole number."),
        ({1: "a"}, "the key 1 is the number 1; accepted: text."),
        ({"vars": {"a": 1}, "a": 1}, "'a' is given twice, in the row and in its 'vars'."),
        ({"metadata": {"a": 1}, "a": 1}, "'a' is given twice, in the row and in its 'metadata'."),
        (
            {"cost": float("nan")},
            "'cost' holds nan; accepted: finite numbers, or null for what is missing.",
        ),
        (
            {"tags": ["\udfff"]},
            (
                "'tags' holds half a surrogate pair (U+DFFF) at character 1; "
                "accepted: text that can be written as UTF-8."
            ),
        ),
    ],
)
def test_a_value_of_a_wrong_type_is_named_with_its_place(row: dict[Any, Any], sentence: str) -> None:
    with pytest.raises(DataError) as caught:
        sample(row)
    assert caught.value.message == f"{WHERE}: {sentence}"


def test_a_bare_number_or_date_comes_with_the_hint_to_quote_it() -> None:
    with pytest.raises(DataError) as caught:
        sample({"expected": 1969})
    assert caught.value.hint == "put the value in quotes"


def test_metadata_that_is_nested_too_deeply_is_refused() -> None:
    deep: list[Any] = []
    for _ in range(50):
        deep = [deep]
    with pytest.raises(DataError) as caught:
        sample({"deep": deep})
    assert caught.value.message == f"{WHERE}: 'deep' is nested deeper than 40 levels."


def test_a_long_text_is_shortened_in_a_message() -> None:
    with pytest.raises(DataError) as caught:
        read_contexts([["x" * 100]], "x")
    assert len(caught.value.message) < 150
