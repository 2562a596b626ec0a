from __future__ import annotations

import json

import pytest

from ragjudge.judges.http.completion import Token, least_tokens, read_completion, was_cut
from ragjudge.judges.http.failures import CallFailedError
from tests.judges.http.server import completion


def test_a_completion_is_taken_apart() -> None:
    usage = {"prompt_tokens": 31, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 20}}
    body = completion("Yes.", top={"Yes": 1.0}, finish="length", usage=usage, reasoning_content="hm").body
    found = read_completion(body)
    assert (found.text, found.reasoning, found.cut, found.served) == ("Yes.", "hm", True, "some-model")
    assert (found.prompt_tokens, found.cached_tokens, found.tokens) == (31, 20, 4)
    assert found.first == Token("Yes", 0.0)
    assert found.top == (Token("Yes", 0.0),)


def test_what_a_server_leaves_out_is_none() -> None:
    found = read_completion('{"choices": [{"message": {"content": null}}]}')
    assert (found.text, found.reasoning, found.cut, found.served) == ("", "", False, None)
    assert (found.prompt_tokens, found.cached_tokens, found.tokens, found.first, found.top) == (
        None,
        0,
        None,
        None,
        (),
    )


@pytest.mark.parametrize(
    "usage",
    [
        None,
        [],
        "x",
        {"prompt_tokens": True},
        {"prompt_tokens": "9"},
        {"prompt_tokens": 0, "completion_tokens": -1},
    ],
)
def test_counts_that_are_none_are_not_believed(usage: object) -> None:
    found = read_completion(json.dumps({"choices": [{"message": {"content": "Yes"}}], "usage": usage}))
    assert (found.prompt_tokens, found.tokens) == (None, None)


@pytest.mark.parametrize(
    "entry",
    [
        None,
        [],
        {},
        {"token": "Yes"},
        {"token": 5, "logprob": -1},
        {"token": "Yes", "logprob": "x"},
        {"token": "Yes", "logprob": 0.5},
        {"token": "Yes", "logprob": -(10**400)},
        {"token": "Yes", "logprob": "-0.1"},
        {"token": "Yes", "logprob": None},
        {"token": "Yes", "logprob": True},
        {"token": [89, 101, 115], "logprob": -0.1},
        {"bytes": [89, 101, 115], "logprob": -0.1},
    ],
)
def test_log_probabilities_that_are_none_are_not_believed(entry: object) -> None:
    choice = {"message": {"content": "Yes"}, "logprobs": {"content": [entry]}}
    assert read_completion(json.dumps({"choices": [choice]})).first is None


def test_a_message_in_parts_is_one_text() -> None:
    parts = [{"type": "text", "text": "Y"}, {"type": "text", "text": "es"}, {"type": "image"}, 5]
    assert read_completion(json.dumps({"choices": [{"message": {"content": parts}}]})).text == "Yes"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("{", "the server's answer is no JSON: {"),
        ("", "the server's answer is no JSON: (nothing)"),
        ("<html><h1>It works!</h1></html>", "the server's answer is no JSON: It works!"),
        ('{"choices": [{"message": {"content": NaN}}]}', "the server's answer holds NaN, which is no number"),
        ('{"a": -Infinity}', "the server's answer holds -Infinity, which is no number"),
        ("[" * 100_000, None),
        ("[]", "the server sent JSON that is no chat completion"),
        ("{}", "the server sent JSON that is no chat completion"),
        ('{"choices": []}', "the server sent JSON that is no chat completion"),
        ('{"choices": [{"text": "Yes"}]}', "the server sent JSON that is no chat completion"),
        ('{"error": {"message": "Out of memory."}}', "the server reports an error: Out of memory"),
        ('{"error": "gone"}', "the server reports an error: gone"),
    ],
)
def test_what_is_no_completion_fails_with_its_text(body: str, reason: str | None) -> None:
    with pytest.raises(CallFailedError) as caught:
        read_completion(body)
    assert caught.value.raw == body
    if reason is not None:
        assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("", 0),
        ("word", 1),
        ("Two words.", 3),
        ("  - | --- \n", 0),
        ("don't co-operate, e.g. (here)", 7),
        ("\u0939\u0948 \u0939\u0948", 2),
        ("a" * 500, 1),
        ("\u5df4\u9ece\u662f\u6cd5\u56fd\u9996\u90fd\u3002", 1),
        ("\u5df4" * 400, 100),
    ],
)
def test_the_least_number_of_tokens(text: str, least: int) -> None:
    assert least_tokens(text) == least


@pytest.mark.parametrize(
    ("counted", "cut"),
    [(None, False), (30, False), (255, False), (256, True), (999, True), (1000, False), (4000, False)],
)
def test_a_prompt_was_cut_when_fewer_tokens_are_counted_than_it_has_words(
    counted: int | None, cut: bool
) -> None:
    # A handful of tokens is what servers report that count only what their prefix cache did not hold.
    found = read_completion(completion("Yes", usage={"prompt_tokens": counted}).body)
    assert was_cut(found, "word " * 1000) is cut
