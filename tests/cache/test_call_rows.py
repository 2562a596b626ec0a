"""A call's row: what verifies, letter for letter or by its meaning, and what does not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragjudge.cache.entries import CALL, call_row, entry_digest, read_call
from ragjudge.cache.keys import key_of, request_of
from ragjudge.judges.base import canonical_json
from tests.cache.helpers import JUDGE, YES, check

REQUEST, _ = request_of(check(), JUDGE.fingerprint)
NAME, TEXT = call_row(REQUEST, YES)
ENTRY = json.loads(TEXT)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(ENTRY),
        json.dumps(ENTRY, indent=1),
        json.dumps(dict(reversed(ENTRY.items())), separators=(",", ":")),
        TEXT.replace("The Danube", "\\u0054he Danube"),
        TEXT.replace('{"answer":', '{"answer" :'),
    ],
)
def test_a_row_that_says_the_same_in_other_letters_verifies(text: str) -> None:
    assert text != TEXT
    entry = read_call(NAME, text)
    assert entry is not None
    assert (entry.request, entry.answer) == (REQUEST, YES)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("-0.105361", "-0.105362"),
        ("The Danube", "The Rhine"),
        ('"version":1', '"version":2'),
        ('"digest":"', '"digest":"0'),
        ("}]", "}}"),
    ],
)
def test_a_row_that_was_changed_does_not_verify(old: str, new: str) -> None:
    text = TEXT.replace(old, new, 1)
    assert text != TEXT
    assert read_call(NAME, text) is None


def test_a_row_under_another_calls_name_does_not_verify() -> None:
    other, _ = call_row(request_of(check("It does not."), JUDGE.fingerprint)[0], YES)
    assert other != NAME
    assert read_call(other, TEXT) is None


def test_letters_that_hash_right_but_are_no_request_do_not_verify() -> None:
    key = key_of({"judge": "nobody"})
    answer = YES.model_dump(exclude_none=True)
    row = canonical_json(
        {"answer": answer, "digest": entry_digest(key, answer), "request": {"judge": "nobody"}}
    )
    assert read_call(f"{CALL}{key}", row) is None


@given(st.text())
def test_what_is_written_is_read(claim: str) -> None:
    request, _ = request_of(check(claim), JUDGE.fingerprint)
    entry = read_call(*call_row(request, YES))
    assert entry is not None
    assert (entry.request, entry.answer) == (request, YES)
