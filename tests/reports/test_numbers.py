from __future__ import annotations

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragjudge.reports import numbers


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"),
        (0.0, "0.000"),
        (0.0001, "0.001"),
        (0.0004, "0.001"),
        (0.0005, "0.001"),
        (0.5, "0.500"),
        (0.6667, "0.667"),
        (0.9994, "0.999"),
        (0.9996, "0.999"),
        (0.999999, "0.999"),
        (1.0, "1.000"),
    ],
)
def test_a_score_has_three_decimals_and_is_perfect_only_when_it_is(value: float | None, shown: str) -> None:
    assert numbers.score(value) == shown


@pytest.mark.parametrize(
    ("value", "threshold", "shown"),
    [
        (0.5, None, "0.500"),
        (0.5, 0.9, "0.500 < 0.900"),
        (0.9, 0.9, "0.900 ≥ 0.900"),
        (0.6996, 0.7, "0.6996 < 0.7000"),
        (0.69996, 0.7, "0.69996 < 0.70000"),
        (0.666667, 2 / 3, "0.667 ≥ 0.667"),
        (0.666666, 2 / 3, "0.666666 < 0.666667"),
        (0.9996, 1.0, "0.999 < 1.000"),
        (0.9992, 0.9996, "0.9992 < 0.9996"),
        (0.0, 0.0, "0.000 ≥ 0.000"),
        (0.0, 0.0004, "0.000 < 0.001"),
    ],
)
def test_a_missed_threshold_looks_missed(value: float, threshold: float | None, shown: str) -> None:
    assert " ".join(numbers.comparison(value, threshold)).strip() == shown


@given(value=st.floats(0, 1), threshold=st.floats(0, 1))
def test_the_digits_never_contradict_the_relation(value: float, threshold: float) -> None:
    left, relation, right = numbers.comparison(value, threshold)
    assert relation == ("≥" if value >= threshold else "<")
    assert float(left) >= float(right) if value >= threshold else float(left) <= float(right)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"),
        (0.0, "0.00"),
        (0.0004, "<0.01"),
        (0.005, "0.01"),
        (0.03, "0.03"),
        (0.494, "0.49"),
        (0.498, "0.498"),
        (0.4996, "<0.500"),
        (0.5, "0.50"),
        (0.5004, ">0.500"),
        (0.502, "0.502"),
        (0.93, "0.93"),
        (0.994, "0.99"),
        (0.9996, ">0.99"),
        (1.0, "1.00"),
    ],
)
def test_a_probability_is_never_rounded_to_certainty(value: float | None, shown: str) -> None:
    assert numbers.probability(value) == shown


@pytest.mark.parametrize(("value", "shown"), [(0.03, "P = 0.03"), (0.9996, "P > 0.99"), (0.0004, "P < 0.01")])
def test_a_bound_reads_as_an_inequality(value: float, shown: str) -> None:
    assert numbers.equation(value) == shown


@pytest.mark.parametrize(
    ("number", "shown"), [(0, "0"), (999, "999"), (12345, "12,345"), (1234567, "1,234,567")]
)
def test_a_count_is_grouped(number: int, shown: str) -> None:
    assert numbers.count(number) == shown


@pytest.mark.parametrize(("number", "shown"), [(0, "0 calls"), (1, "1 call"), (1200, "1,200 calls")])
def test_a_noun_agrees_with_its_number(number: int, shown: str) -> None:
    assert numbers.counted(number, "call") == shown


def test_a_ratio_is_a_part_of_a_whole() -> None:
    assert numbers.ratio(999, 1000) == "999/1,000"


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (None, "–"),
        (0.0, "0 %"),
        (0.001, "<1 %"),
        (0.01, "1 %"),
        (0.917, "92 %"),
        (0.99, "99 %"),
        (0.999, ">99 %"),
        (1.0, "100 %"),
    ],
)
def test_a_percentage_is_all_only_when_it_is(share: float | None, shown: str) -> None:
    assert numbers.percent(share) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.0, "0.0 s"),
        (0.004, "<0.1 s"),
        (0.84, "0.8 s"),
        (59.94, "59.9 s"),
        (59.97, "1 min 00 s"),
        (62.0, "1 min 02 s"),
        (3599.4, "59 min 59 s"),
        (3599.6, "1 h 00 min"),
        (7500.0, "2 h 05 min"),
        (100_000.0, "27 h 47 min"),
    ],
)
def test_a_duration_has_its_two_largest_units(seconds: float, shown: str) -> None:
    assert numbers.duration(seconds) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.2, "0 s"), (5.4, "5 s"), (59.4, "59 s"), (59.6, "1 min 00 s")]
)
def test_an_estimated_duration_has_no_tenths(seconds: float, shown: str) -> None:
    assert numbers.duration(seconds, whole=True) == shown


@pytest.mark.parametrize(
    ("amount", "seconds", "shown"),
    [(5000, 2.0, "2,500"), (3, 2.0, "1.5"), (999, 100.0, "10"), (3, 0.0, "–")],
)
def test_a_rate_is_per_second(amount: int, seconds: float, shown: str) -> None:
    assert numbers.rate(amount, seconds) == shown


def test_the_examples_in_the_docstrings_hold() -> None:
    outcome = doctest.testmod(numbers)
    assert outcome.failed == 0
    assert outcome.attempted > 0
