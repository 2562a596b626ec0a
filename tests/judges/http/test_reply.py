from __future__ import annotations

import contextlib
import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragjudge.judges.http.failures import CallFailedError
from ragjudge.judges.http.reply import find_label, find_object, fits, without_reasoning
from tests.judges.http.server import SCHEMA

LABELS = ("Yes", "No")
GOOD = {"score": 0.5, "reason": "half"}
JSON = json.dumps(GOOD)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Yes", "Yes"),
        ("<think>hm</think>Yes", "Yes"),
        ("<think>\nset {a,b}\n</think>\n\nYes", "Yes"),
        ("hm, No at first\n</think>Yes", "Yes"),
        ("<think>a<think>b</think>No</think>Yes", "Yes"),
        ("<think>I could write <think> here</think>Yes", "Yes"),
        ("<thinking>hm</thinking>Yes", "Yes"),
        ('<think lang="en">hm</think >Yes', "Yes"),
        ("<reasoning>hm</reasoning>Yes", "Yes"),
        ("<seed:think>hm</seed:think>Yes", "Yes"),
        ("[THINK]hm[/THINK]Yes", "Yes"),
        ("◁think▷hm◁/think▷Yes", "Yes"),
        ("<|begin_of_thought|>hm<|end_of_thought|>Yes", "Yes"),
        ("<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Yes", "Yes"),
        ("<think>one</think>Yes<think>two</think>", "Yes"),
        ("Yes<think>and then it was cut", "Yes"),
        ("<think>cut", ""),
        ("<thinner>not a tag</thinner>", "<thinner>not a tag</thinner>"),
    ],
)
def test_reasoning_is_taken_out(text: str, left: str) -> None:
    assert without_reasoning(text) == left


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Yes", "Yes"),
        ("no", "No"),
        (" YES ", "Yes"),
        ("Yes.", "Yes"),
        ("Yes, there is no contradiction.", "Yes"),
        ("Yes. No other claim is made.", "Yes"),
        ("Answer: Yes. (No is wrong.)", "Yes"),
        ("Yes, because the document does not say no.", "Yes"),
        ("Yes, and there is no doubt about it", "Yes"),
        ("No, the yes of the committee came later.", "No"),
        ("yes - because it rains", "Yes"),
        ("No, the documents say nothing about it.", "No"),
        ("NO", "No"),
        ("Yes, as the documents state.", "Yes"),
        ("No: there is no such statement, and no date.", "No"),
        ("**No**. The documents give another date.", "No"),
        ("**Yes** The documents state it.", "Yes"),
        ("- Yes", "Yes"),
        ("> No", "No"),
        ("# Answer\nYes", "Yes"),
        ("`Yes`", "Yes"),
        ("Yes\uff0c\u56e0\u4e3a\u6587\u6863\u63d0\u5230\u3002", "Yes"),
        ("No, el documento dice otra cosa.", "No"),
        ("No contradiction with the documents.\n\nYes", "Yes"),
        ("There is no other date, so yes or no?\nIt is stated.\n\n**Yes**", "Yes"),
        ("Yes, there is no doubt.\n\nFinal answer: Yes", "Yes"),
        ("**Yes**", "Yes"),
        ('"No"', "No"),
        ("Answer: No", "No"),
        ("The answer is yes.", "Yes"),
        ("**Final Answer:** No", "No"),
        ("Final answer: No", "No"),
        ("Yes\n\nThe documents state it.", "Yes"),
        ("The documents state that it rains.\n\nYes.", "Yes"),
        ("It is not stated.\n**Answer: No**", "No"),
        ('{"answer": "Yes"}', "Yes"),
        ('<think>set {a,b}</think>{"verdict":"yes"}', "Yes"),
        ('so {a,b} it is</think>{"verdict":"yes"}', "Yes"),
        ('Sure!\n```json\n{"answer": "no"}\n```', "No"),
        ('{"answer": "Yes"} {"answer": "yes."}', "Yes"),
    ],
)
def test_a_label_is_read_from_text(text: str, label: str) -> None:
    assert find_label(text, LABELS) == label


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Maybe",
        "Yesterday it rained.",
        "Noted.",
        "Not really",
        "It depends: yes if it rains",
        "1",
        "true",
        "I think yes",
        "Y",
        "N",
        "Oui",
        "Ja.",
        "\u662f",
        "No contradiction with the documents.",
        "No doubt about it.",
        "No-one says so.",
        "Yes it does",
        '{"answer": "maybe"}',
        '{"answer": 1}',
        '{"score": "yes"}',
        "<think>Yes</think>",
        "<think>Yes",
    ],
)
def test_an_answer_outside_the_labels_fails_with_its_text(text: str) -> None:
    with pytest.raises(CallFailedError) as caught:
        find_label(text, LABELS)
    assert caught.value.reason == "the answer is not one of Yes / No"
    assert caught.value.raw == text


@pytest.mark.parametrize(
    "text",
    [
        "Yes and no",
        "yes or no?",
        "Yes/No",
        "Yes | No",
        "Yes\nNo",
        "Yes.\n\nThe documents do not say so.\n\n**No**",
        "No... wait, Yes",
        "no... wait, actually yes",
        "No, yes: it is stated.",
        "**No**\n\nHmm. Yes, it is stated after all.",
        "Yes, but no, it does not.",
        '{"answer": "Yes"} {"answer": "No"}',
        '{"answer": "Yes", "verdict": "No"}',
        '{"answer": "No... wait, yes"}',
    ],
)
def test_an_answer_with_two_labels_fails(text: str) -> None:
    with pytest.raises(CallFailedError, match="more than one of Yes / No"):
        find_label(text, LABELS)


def test_a_label_that_begins_another_one_is_told_apart() -> None:
    labels = ("support", "supported in part")
    assert find_label("Supported in part.", labels) == "supported in part"
    assert find_label("support", labels) == "support"


@pytest.mark.parametrize(
    "text",
    [
        JSON,
        f"Sure! {JSON} Hope it helps.",
        f"```json\n{JSON}\n```",
        f"<think>maybe {{a,b}} or {json.dumps({'score': 1, 'reason': 'x'})}</think>{JSON}",
        f"set {{a,b}}</think>{JSON}",
        f"a {{b}} {{ {JSON}",
        f"{JSON}\n{JSON}",
        f'{{"result": {JSON}}}',
        f'{{"score": 3, "reason": "out of range"}} {JSON}',
        f'{{"score": NaN, "reason": "none"}} {JSON}',
        f'{{"score": 1, "score": 0, "reason": "twice"}} {JSON}',
    ],
)
def test_the_first_object_that_fits_is_found_wherever_it_stands(text: str) -> None:
    assert find_object(text, SCHEMA) == GOOD


def test_a_tag_inside_a_text_of_the_object_is_text() -> None:
    found = {"score": 1, "reason": "it says </think> and {"}
    assert find_object(json.dumps(found), SCHEMA) == found


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0.5",
        "[0.5]",
        '{"score": 0.8, "reason": "abc',
        '{"score": 1.2, "reason": "x"}',
        '{"score": "1", "reason": "x"}',
        '{"score": true, "reason": "x"}',
        '{"score": 0.8/1, "reason": "x"}',
        '{"score": "0.8/1", "reason": "x"}',
        '{"score": 80%, "reason": "x"}',
        '{"score": [0.8], "reason": "x"}',
        '{"score": {"value": 0.8}, "reason": "x"}',
        '{"score": 1}',
        '{"score": 1, "reason": null}',
        '{"score": 1, "reason": "x", "more": 1}',
        '{"score": Infinity, "reason": "x"}',
        "3 out of 3, since 0 errors",
        "{" * 2000,
        '{"a":' * 2000,
    ],
)
def test_a_reply_without_a_fitting_object_fails_with_its_text(text: str) -> None:
    with pytest.raises(CallFailedError, match="no JSON object that fits the schema") as caught:
        find_object(text, SCHEMA)
    assert caught.value.raw == text


def test_objects_that_contradict_each_other_fail() -> None:
    text = f"First {JSON}, or rather {json.dumps({'score': 0.9, 'reason': 'more'})}."
    with pytest.raises(CallFailedError, match="contradict each other") as caught:
        find_object(text, SCHEMA)
    assert caught.value.raw == text


@pytest.mark.parametrize(
    ("value", "schema", "expected"),
    [
        ([1, 2], {"type": "array", "items": {"type": "integer", "minimum": 1}}, True),
        ([1, 0], {"type": "array", "items": {"type": "integer", "minimum": 1}}, False),
        ([True], {"type": "array", "items": {"type": "integer"}}, False),
        ([], {"type": "array"}, True),
        ({}, {"type": "array"}, False),
        ("a", {"type": "string", "enum": ["a", "b"]}, True),
        ("c", {"type": "string", "enum": ["a", "b"]}, False),
        (True, {"type": "boolean"}, True),
        (1, {"type": "boolean"}, False),
        (1.5, {"type": "integer"}, False),
        (1e300 * 1e300, {"type": "number"}, False),
        (10**400, {"type": "number"}, True),
        (
            {"a": {"b": 1}},
            {"type": "object", "properties": {"a": {"type": "object", "properties": {}}}},
            False,
        ),
    ],
)
def test_a_value_fits_a_schema_or_not(value: Any, schema: dict[str, Any], expected: bool) -> None:
    assert fits(value, schema) is expected


@given(st.text(alphabet="{}[]<>/think\"': ,Yes\nNo*{<"))
def test_any_text_is_answered_or_refused_and_never_breaks(text: str) -> None:
    with contextlib.suppress(CallFailedError):
        find_label(text, LABELS)
    with contextlib.suppress(CallFailedError):
        find_object(text, SCHEMA)


@pytest.mark.parametrize(
    "text",
    [
        "<think>" * 50_000,
        "*" * 300_000,
        '{"a":' * 50_000,
        "</think>" * 50_000,
        "Yes " * 80_000,
        "<" * 300_000,
    ],
)
def test_hostile_texts_take_no_time(text: str) -> None:
    started = time.perf_counter()
    with contextlib.suppress(CallFailedError):
        find_object(text, SCHEMA)
    with contextlib.suppress(CallFailedError):
        find_label(text, LABELS)
    assert time.perf_counter() - started < 2
