from __future__ import annotations

import hashlib
from typing import Any

import pytest

from ragjudge.cache.keys import INLINE_LENGTH, key_of, request_of, text_digest
from ragjudge.records import Check, Prompt
from tests.cache.helpers import JUDGE, LONG, check, key, prompt

# Every field of a call is either here, with another value that must change the key, or in OUT.
IN: dict[type, dict[str, Any]] = {
    Check: {
        "template": "other",
        "version": 2,
        "system": "Other.",
        "shared": LONG + "x",
        "own": "Other.",
        "labels": ("no", "yes"),
    },
    Prompt: {
        "template": "other",
        "version": 3,
        "system": "Other.",
        "shared": LONG + "x",
        "own": "Other.",
        "grammar": 'root ::= "[]"',
        "max_tokens": 65,
    },
}
OUT: dict[type, dict[str, Any]] = {
    Check: {"positive": "no", "claim": "other", "segments": ((0, 1, 2, 3),), "slots": (("a", "b"),)},
    Prompt: {"reply_schema": "{}"},
}


def test_the_key_of_a_check_is_the_one_of_the_first_release() -> None:
    assert key(check()) == "a41557656d5c6d9f555a6b77a825b87612bb422b872c6047d007fc6b5893b173"


def test_the_key_of_a_prompt_is_the_one_of_the_first_release() -> None:
    assert key(prompt()) == "afc7c82f0c78bf1978c829838208ba6f0e129b3948bbff5720ce69d35badab36"


@pytest.mark.parametrize("record", [Check, Prompt])
def test_every_field_of_a_call_is_classified_as_in_or_out_of_the_key(
    record: type[Check] | type[Prompt],
) -> None:
    classified = {"kind"} | IN[record].keys() | OUT[record].keys()
    assert classified == set(record.model_fields)
    assert not IN[record].keys() & OUT[record].keys()


@pytest.mark.parametrize("name", IN[Check])
def test_a_field_that_can_change_a_verdict_changes_the_key(name: str) -> None:
    assert key(check(**{name: IN[Check][name]})) != key(check())


@pytest.mark.parametrize("name", OUT[Check])
def test_a_field_that_only_reports_need_leaves_the_key_alone(name: str) -> None:
    assert key(check(**{name: OUT[Check][name]})) == key(check())


@pytest.mark.parametrize("name", IN[Prompt])
def test_a_field_that_can_change_a_reply_changes_the_key(name: str) -> None:
    assert key(prompt(**{name: IN[Prompt][name]})) != key(prompt())


def test_another_judge_has_another_key() -> None:
    assert key_of(request_of(check(), "a" * 64)[0]) != key_of(request_of(check(), "b" * 64)[0])


def test_a_request_reads_as_what_was_asked() -> None:
    document, texts = request_of(check(), JUDGE.fingerprint)
    name = hashlib.sha256(LONG.encode()).hexdigest()
    assert document == {
        "schema": 1,
        "kind": "check",
        "render_version": 1,
        "judge": JUDGE.fingerprint,
        "template": {"name": "support", "version": 1},
        "messages": [
            {"role": "system", "content": ["Answer with one word."]},
            {"role": "user", "content": [{"sha256": name}, "The Danube ends in the Black Sea."]},
        ],
        "labels": ["yes", "no"],
    }
    assert texts == {name: LONG}


def test_a_text_at_the_limit_stands_in_the_request_and_a_longer_one_by_its_hash() -> None:
    _, short = request_of(check("x" * INLINE_LENGTH, shared=""), "f")
    _, long = request_of(check("x" * (INLINE_LENGTH + 1), shared=""), "f")
    assert short == {}
    assert list(long.values()) == ["x" * (INLINE_LENGTH + 1)]


def test_a_text_that_looks_like_a_hash_is_not_taken_for_one() -> None:
    plain = check('{"sha256":"' + text_digest(LONG) + '"}', shared="")
    by_hash = check(LONG, shared="")
    assert key(plain) != key(by_hash)


def test_the_border_between_shared_and_own_part_is_part_of_the_key() -> None:
    assert key(check("b", shared="a")) != key(check("", shared="ab"))


@pytest.mark.parametrize("text", ["\ud800", "a\x00b", "\ud800" * 300, "\x00" * 300, "é" * 300])
def test_any_text_that_python_can_hold_has_a_key(text: str) -> None:
    assert len(key(check(text))) == 64
    assert text_digest(text) == hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def test_a_very_long_text_has_the_same_digest_as_any_other() -> None:
    text = "ab" * 200_000
    assert text_digest(text) == hashlib.sha256(text.encode()).hexdigest()
