"""How several judges' answers become one."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragjudge.judges.voting import Said, combined, together
from ragjudge.prompts.answers import label_mass, probability
from ragjudge.records import (
    CallFailure,
    Outcome,
    Oversize,
    PanelBy,
    PanelReply,
    PanelVerdict,
    Reply,
    Unfinished,
    Verdict,
)
from tests.cache.helpers import check, prompt

LOST = CallFailure(reason="the server closed the connection.")
CHANCES = st.lists(st.integers(0, 10**6).map(lambda n: n / 10**6), min_size=1, max_size=9)


def verdict(
    chance: float, mass: float = 1.0, positive: str = "yes", negative: str = "no", **more: Any
) -> Verdict:
    chance = min(max(chance, 1e-9), 1 - 1e-9)
    values = {positive: math.log(mass * chance), negative: math.log(mass * (1 - chance))}
    return Verdict(log_probabilities={name: round(value, 6) for name, value in values.items()}, **more)


def answer(*outcomes: Outcome, by: PanelBy = "majority", call: Any = None) -> Outcome:
    call = check() if call is None else call
    return combined(call, [Said(f"j{n}", call, outcome) for n, outcome in enumerate(outcomes, 1)], by)


@pytest.mark.parametrize(
    ("chances", "by", "expected"),
    [
        ([0.9, 0.8, 0.1], "majority", 0.8),
        ([0.51, 0.51, 0.02], "majority", 0.51),  # the mean, 0.35, would contradict the majority
        ([0.51, 0.51, 0.02], "mean", 0.346667),
        ([0.9, 0.1], "majority", 0.5),
        ([0.9, 0.2], "majority", 0.55),
        ([0.6, 0.1], "majority", 0.35),
        ([0.9, 0.9, 0.3, 0.05], "majority", 0.5375),
        ([0.9, 0.8, 0.6, 0.05], "majority", 0.7),
        ([0.02, 0.51, 0.99], "majority", 0.51),  # as close to 0.5 as the vote that decides
        ([0.7], "majority", 0.7),
    ],
)
def test_probabilities_are_put_together_as_said(chances: list[float], by: PanelBy, expected: float) -> None:
    assert together(chances, by) == pytest.approx(expected, abs=1e-6)


@given(CHANCES)
def test_the_probability_is_on_the_side_of_the_majority(chances: list[float]) -> None:
    yes = sum(chance >= 0.5 for chance in chances)
    outcome = answer(*map(verdict, chances))
    assert isinstance(outcome, PanelVerdict)
    shown = round(probability(outcome, "yes"), 6)
    if 2 * yes != len(chances):
        assert (shown >= 0.5) == (2 * yes > len(chances))
    else:
        assert shown == pytest.approx(sum(chances) / len(chances), abs=2e-6)


@given(CHANCES, st.sampled_from(["majority", "mean"]))
def test_the_order_of_the_judges_does_not_matter(chances: list[float], by: PanelBy) -> None:
    assert together(chances, by) == together(chances[::-1], by)


def test_a_verdict_says_what_each_judge_said() -> None:
    outcome = answer(verdict(0.9, 0.8), verdict(0.2, 0.95), verdict(0.7, 0.99))
    assert isinstance(outcome, PanelVerdict)
    assert [(vote.judge, vote.probability, vote.verdict, vote.label_mass) for vote in outcome.votes] == [
        ("j1", 0.9, True, 0.8),
        ("j2", 0.2, False, 0.95),
        ("j3", 0.7, True, 0.99),
    ]
    assert probability(outcome, "yes") == pytest.approx(0.7, abs=1e-6)
    assert label_mass(outcome) == pytest.approx(0.8, abs=1e-5)  # the smallest


def test_a_judge_with_words_of_its_own_is_heard_in_ours() -> None:
    ours = check()
    theirs = check(labels=("PASS", "FAIL"), positive="FAIL")
    said = [
        Said("plain", ours, verdict(0.3)),
        Said("own", theirs, verdict(0.9, positive="FAIL", negative="PASS")),
        Said("other", theirs, verdict(0.8, positive="FAIL", negative="PASS")),
    ]
    outcome = combined(ours, said, "majority")
    assert isinstance(outcome, PanelVerdict)
    assert set(outcome.log_probabilities) == {"yes", "no"}
    assert probability(outcome, "yes") == pytest.approx(0.8, abs=1e-6)


def test_more_than_two_labels_share_what_is_left() -> None:
    call = check(labels=("yes", "no", "partly"))
    shares = Verdict(log_probabilities={"yes": math.log(0.6), "no": math.log(0.3), "partly": math.log(0.1)})
    outcome = combined(call, [Said("a", call, shares), Said("b", call, shares)], "mean")
    assert isinstance(outcome, PanelVerdict)
    assert probability(outcome, "yes") == pytest.approx(0.6, abs=1e-5)
    assert outcome.log_probabilities["no"] == outcome.log_probabilities["partly"]


@pytest.mark.parametrize("by", ["majority", "mean"])
def test_certainty_stays_finite(by: PanelBy) -> None:
    for chances in product((0.0, 1.0), repeat=3):
        outcome = answer(*(verdict(chance, 1e-300) for chance in chances), by=by)
        assert isinstance(outcome, PanelVerdict)
        assert all(math.isfinite(value) and value <= 0 for value in outcome.log_probabilities.values())


def test_a_judge_that_failed_is_left_out_and_named() -> None:
    outcome = answer(verdict(0.9), LOST, verdict(0.8), Reply(text="Yes"))
    assert isinstance(outcome, PanelVerdict)
    assert probability(outcome, "yes") == pytest.approx(0.85, abs=1e-6)
    assert [vote.error for vote in outcome.votes] == [None, LOST.reason, None, "the judge gave no verdict"]
    assert [vote.verdict for vote in outcome.votes] == [True, None, True, None]


def test_when_all_failed_the_call_failed() -> None:
    assert answer(LOST, CallFailure(reason="no label")) == CallFailure(
        reason="no judge of the panel could answer (j1: the server closed the connection; j2: no label)"
    )


def test_replies_go_on_together_and_read_as_the_first_of_them() -> None:
    first, second = Reply(text="a", tokens=3), Reply(text="b", tokens=4)
    outcome = answer(LOST, first, second, call=prompt())
    assert isinstance(outcome, PanelReply)
    assert (outcome.text, outcome.tokens) == ("a", 3)
    assert [each.judge for each in outcome.outcomes] == ["j1", "j2", "j3"]
    assert [each.outcome for each in outcome.outcomes] == [LOST, first, second]


def test_a_prompt_too_long_for_all_is_too_long_and_one_that_failed_too_has_failed() -> None:
    small, large = Oversize(tokens=900, window=512), Oversize(tokens=950, window=800)
    assert answer(small, large, call=prompt()) == large
    failed = answer(small, LOST, call=prompt())
    assert isinstance(failed, CallFailure)
    assert failed.reason == (
        "no judge of the panel could answer (j1: the prompt has 900 tokens and the judge's window holds "
        "512; "
        "j2: the server closed the connection)"
    )
    assert isinstance(answer(verdict(0.5), call=prompt()), CallFailure)


def test_a_reply_that_was_cut_is_no_reply_of_the_panel() -> None:
    cut, whole = Unfinished(text="a", tokens=7), Reply(text="b", tokens=4)
    outcome = answer(cut, whole, call=prompt())
    assert isinstance(outcome, PanelReply)
    assert outcome.text == "b"
    assert outcome.outcomes[0].problem == "the reply was cut at 7 tokens"
    failed = answer(cut, cut, call=prompt())
    assert isinstance(failed, CallFailure)
    assert failed.reason == (
        "no judge of the panel could answer (j1: the reply was cut at 7 tokens; j2: the reply was cut at 7 "
        "tokens)"
    )


def test_the_number_of_windows_that_each_was_shown_is_kept() -> None:
    windows = verdict(0.9)
    parts = [{"spans": (), "log_probabilities": windows.log_probabilities}] * 3
    outcome = answer(verdict(0.9, windows=parts), verdict(0.8))
    assert isinstance(outcome, PanelVerdict)
    assert [vote.windows for vote in outcome.votes] == [3, None]
    assert outcome.windows is None
