from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragjudge.metrics.aggregate import average_precision, fraction, mean


@pytest.mark.parametrize(
    ("relevant", "value"),
    [
        ([True], 1.0),
        ([True, True, True], 1.0),
        ([True, True, False], 1.0),
        ([False], 0.0),
        ([False, False], 0.0),
        ([False, True], 0.5),
        ([True, False, True], 0.833333),  # (1/1 + 2/3) / 2
        ([False, False, True], 0.333333),
        ([False, True, True], 0.583333),  # (1/2 + 2/3) / 2
    ],
)
def test_average_precision_rewards_relevant_chunks_in_front(relevant: list[bool], value: float) -> None:
    assert average_precision(relevant) == value


@given(st.lists(st.booleans(), min_size=1, max_size=30))
def test_average_precision_is_perfect_only_when_all_relevant_chunks_come_first(relevant: list[bool]) -> None:
    value = average_precision(relevant)
    assert 0.0 <= value <= 1.0
    ranked_first = sorted(relevant, reverse=True) == relevant and any(relevant)
    assert (value == 1.0) == ranked_first
    assert average_precision(sorted(relevant, reverse=True)) == (1.0 if any(relevant) else 0.0)


@pytest.mark.parametrize(
    ("verdicts", "value"), [([True], 1.0), ([False], 0.0), ([True, False, False], 0.333333)]
)
def test_fraction_counts_what_holds(verdicts: list[bool], value: float) -> None:
    assert fraction(verdicts) == value


def test_the_mean_of_nothing_is_none() -> None:
    assert mean([]) is None
    assert mean(iter([0.5, 1.0])) == 0.75
