"""A short run of every fuzzing target; `python -m tests.fuzz TARGET SECONDS` is the long one."""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.mutation import mutated
from tests.fuzz.targets import TARGETS, examples, seeds

MOST_SECONDS = 5.0
quick = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.mark.parametrize("name", TARGETS)
@quick
@given(data=st.binary(max_size=2_000))
def test_no_bytes_make_a_reader_raise_what_is_not_ours(name: str, data: bytes) -> None:
    TARGETS[name](data)


@pytest.mark.parametrize("name", TARGETS)
@quick
@given(number=st.integers(0, 2**32))
def test_no_change_of_a_whole_input_makes_a_reader_raise_what_is_not_ours(name: str, number: int) -> None:
    started = time.monotonic()
    TARGETS[name](mutated(examples()[name], number))
    assert time.monotonic() - started < MOST_SECONDS


@pytest.mark.parametrize("name", TARGETS)
def test_what_was_found_once_is_found_no_more(name: str) -> None:
    for data in [*seeds(name), *examples()[name]]:
        TARGETS[name](data)


KEYS = st.sampled_from(["score", "reason", "a"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@quick
@given(value=JSON, before=st.text(max_size=20), after=st.text(max_size=20))
def test_no_json_in_a_reply_makes_a_reader_raise_what_is_not_ours(
    value: object, before: str, after: str
) -> None:
    import json

    text = f"{before}{json.dumps(value)}{after}".encode("utf-8", "surrogatepass")
    TARGETS["holistic_reply"](text)
    TARGETS["free_reply"](text)
