from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragjudge.prompts.answers import DECISION_THRESHOLD, TOLERANCE, label_mass, margin, probability
from ragjudge.records import Verdict

LOGS = st.floats(min_value=-700, max_value=0)


def verdict(**values: float) -> Verdict:
    return Verdict(log_probabilities=values)


def test_the_probability_is_the_label_s_share_of_the_labels() -> None:
    answer = verdict(Yes=math.log(0.6), No=math.log(0.2))
    assert probability(answer, "Yes") == pytest.approx(0.75)
    assert probability(answer, "No") == pytest.approx(0.25)
    assert margin(answer, "Yes") == pytest.approx(math.log(3))
    assert label_mass(answer) == pytest.approx(0.8)


def test_three_labels_share_and_the_margin_is_to_the_next_best() -> None:
    answer = verdict(A=math.log(0.5), B=math.log(0.3), C=math.log(0.1))
    assert probability(answer, "B") == pytest.approx(1 / 3)
    assert margin(answer, "B") == pytest.approx(math.log(0.3 / 0.5))


def test_labels_that_the_judge_hardly_considered_keep_their_digits() -> None:
    answer = verdict(Yes=-900.0, No=-901.0)
    assert probability(answer, "Yes") == pytest.approx(1 / (1 + math.exp(-1)))
    assert label_mass(answer) == 0.0
    assert probability(verdict(Yes=0.0, No=-2000.0), "No") == 0.0


def test_rounding_never_makes_a_label_mass_above_one() -> None:
    assert label_mass(verdict(Yes=0.0, No=-0.000001)) == 1.0


@given(LOGS, LOGS)
def test_the_two_probabilities_make_one_and_agree_with_the_margin(yes: float, no: float) -> None:
    answer = verdict(Yes=yes, No=no)
    chance = probability(answer, "Yes")
    assert 0 <= chance <= 1
    assert chance + probability(answer, "No") == pytest.approx(1)
    assert (chance > 0.5) <= (margin(answer, "Yes") > 0)
    assert chance == pytest.approx(1 / (1 + math.exp(-margin(answer, "Yes"))), abs=1e-12)
    assert 0 <= label_mass(answer) <= 1


def test_the_thresholds_are_where_reports_expect_them() -> None:
    assert DECISION_THRESHOLD == 0.5
    assert 0 < TOLERANCE < 0.1
