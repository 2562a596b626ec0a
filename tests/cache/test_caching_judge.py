from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from ragjudge.cache.caching_judge import CachingJudge, CallsMissingError
from ragjudge.cache.memory import MemoryStore
from ragjudge.cache.store import CallStore, Store
from ragjudge.errors import JudgeUnavailableError, ReplayMissError
from ragjudge.judges.base import Identity, Judge
from ragjudge.records import Call, CallFailure, Outcome, Reply, Unfinished, Verdict
from tests.cache.helpers import JUDGE, YES, CountingJudge, check, key, prompt, put

NO = Verdict(log_probabilities={"yes": -3.0, "no": -0.05})
FAILED = CallFailure(reason="no answer")


def over(judge: Judge | None, store: CallStore) -> CachingJudge:
    return CachingJudge(judge, store, JUDGE, id="counting")


def counters(judge: CachingJudge) -> tuple[int, int, int]:
    return judge.calls_judged, judge.calls_replayed, judge.calls_failed


def test_what_is_missing_is_judged_and_stored_and_then_replayed() -> None:
    store = MemoryStore()
    below = CountingJudge({"b": NO})
    calls: list[Call] = [check("a"), check("b"), prompt(own="c")]
    first = over(below, store)
    expected: dict[int, Outcome] = {0: YES, 1: NO, 2: Reply(text="{}", tokens=2)}
    assert dict(first.ask(calls)) == expected
    assert counters(first) == (3, 0, 0)
    second = over(below, store)
    assert dict(second.ask(calls)) == expected
    assert counters(second) == (0, 3, 0)
    assert below.asked == ["c", "b", "a"]
    replay = over(None, store)
    assert dict(replay.ask(calls)) == expected


def test_replayed_answers_come_first_and_only_the_rest_is_asked() -> None:
    store = MemoryStore()
    put(store, check("b"))
    below = CountingJudge()
    judge = over(below, store)
    assert [index for index, _ in judge.ask([check("a"), check("b"), check("c")])] == [1, 2, 0]
    assert below.asked == ["c", "a"]
    assert counters(judge) == (2, 1, 0)


def test_equal_calls_are_asked_once_and_answered_everywhere() -> None:
    below = CountingJudge()
    judge = over(below, MemoryStore())
    # The two differ only in what reports need.
    calls = [check("a"), check("b"), check("a", claim="other", positive="no")]
    assert sorted(judge.ask(calls)) == [(0, YES), (1, YES), (2, YES)]
    assert sorted(below.asked) == ["a", "b"]
    assert counters(judge) == (2, 0, 0)
    assert sorted(index for index, _ in judge.ask(calls)) == [0, 1, 2]


def test_a_call_is_counted_once_over_several_asks() -> None:
    judge = over(CountingJudge(), MemoryStore())
    for _ in range(3):
        assert len(list(judge.ask([check("a"), check("b")]))) == 2
    assert counters(judge) == (2, 0, 0)


def test_a_failure_is_yielded_and_never_stored() -> None:
    store = MemoryStore()
    judge = over(CountingJudge({"a": FAILED}), store)
    assert sorted(judge.ask([check("a"), check("b"), check("a")])) == [(0, FAILED), (1, YES), (2, FAILED)]
    assert counters(judge) == (1, 0, 1)
    assert store.get(key(check("a"))) is None
    assert store.stats().calls == 1


def test_a_reply_that_was_cut_is_stored_as_such() -> None:
    store = MemoryStore()
    cut = Unfinished(text='{"score": 0.', tokens=4)
    first = over(CountingJudge({"c": cut}), store)
    assert dict(first.ask([prompt(own="c")])) == {0: cut}
    replay = over(None, store)
    assert dict(replay.ask([prompt(own="c")])) == {0: cut}
    assert (counters(first), counters(replay)) == ((1, 0, 0), (0, 1, 0))


def test_a_call_that_failed_and_then_succeeds_counts_as_judged() -> None:
    store = MemoryStore()
    below = CountingJudge({"a": FAILED})
    judge = over(below, store)
    list(judge.ask([check("a")]))
    below._outcomes.clear()
    assert dict(judge.ask([check("a")])) == {0: YES}
    assert counters(judge) == (1, 0, 0)


@pytest.mark.parametrize("number", [math.nan, -math.inf])
def test_a_log_probability_that_is_no_number_is_a_failure(number: float) -> None:
    store = MemoryStore()
    judge = over(CountingJudge({"a": Verdict(log_probabilities={"yes": number, "no": -0.1})}), store)
    ((_, outcome),) = judge.ask([check("a")])
    assert isinstance(outcome, CallFailure)
    assert "no finite number" in outcome.reason
    assert store.stats().calls == 0


@pytest.mark.parametrize(
    ("call", "answer", "reason"),
    [
        (
            check(),
            Verdict(log_probabilities={"Yes": -0.1, "no": -2.4}),
            "the judge answered for the labels ['Yes', 'no'] where ['yes', 'no'] were asked",
        ),
        (
            check(),
            Verdict(log_probabilities={"yes": -0.1}),
            "the judge answered for the labels ['yes'] where ['yes', 'no'] were asked",
        ),
        (check(), Reply(text="yes"), "the judge answered with a Reply where a Verdict is wanted"),
        (check(), None, "the judge answered with a NoneType where a Verdict is wanted"),
        (check(), 0.9, "the judge answered with a float where a Verdict is wanted"),
        (prompt(), YES, "the judge answered with a Verdict where a Reply is wanted"),
    ],
)
def test_what_is_no_answer_to_the_call_is_a_failure_and_is_not_stored(
    call: Call, answer: Any, reason: str
) -> None:
    class Odd(CountingJudge):
        def ask(self, calls: Sequence[Call]) -> Iterator[tuple[int, Outcome]]:
            yield from ((index, answer) for index in range(len(calls)))

    store = MemoryStore()
    assert list(over(Odd(), store).ask([call])) == [(0, CallFailure(reason=reason))]
    assert store.stats().calls == 0


def test_each_answer_is_stored_before_it_is_yielded(tmp_path: Path) -> None:
    with Store(tmp_path) as store, Store(tmp_path, read_only=True) as witness:
        calls = [check(f"Claim {number}.") for number in range(5)]
        for index, outcome in over(CountingJudge(), store).ask(calls):
            assert witness.get(key(calls[index])) == outcome


@pytest.mark.parametrize("yielded", [None, (0,), ("first", None), (None, None)])
def test_a_judge_that_yields_no_answers_is_told_in_a_sentence(yielded: Any) -> None:
    class Odd(CountingJudge):
        def ask(self, calls: Sequence[Call]) -> Iterator[tuple[int, Outcome]]:
            yield yielded

    with pytest.raises(JudgeUnavailableError, match=r"^judge 'counting' raised (Type|Value)Error: "):
        list(over(Odd(), MemoryStore()).ask([check("A claim.")]))


def test_what_was_answered_before_a_breakdown_is_kept() -> None:
    store = MemoryStore()
    calls = [check(f"Claim {number}.") for number in range(5)]
    judge = over(CountingJudge(break_after=3), store)
    got: list[int] = []
    with pytest.raises(JudgeUnavailableError, match=r"judge 'counting' raised RuntimeError: .*broke down"):
        got.extend(index for index, _ in judge.ask(calls))
    assert store.stats().calls == 3
    below = CountingJudge()
    again = over(below, store)
    assert len(list(again.ask(calls))) == 5
    assert counters(again) == (2, 3, 0)
    assert len(below.asked) == 2


def test_closing_the_stream_early_closes_the_judges_stream_and_keeps_what_came() -> None:
    store = MemoryStore()
    below = CountingJudge()
    stream = over(below, store).ask([check(f"Claim {number}.") for number in range(5)])
    assert len(list(islice(stream, 2))) == 2
    assert isinstance(stream, Iterator)
    stream.close()  # type: ignore[attr-defined]  # it is a generator
    assert below.stream_closed
    assert store.stats().calls == 2


def test_a_replay_without_misses_needs_no_judge() -> None:
    store = MemoryStore()
    put(store, check())
    judge = over(None, store)
    assert dict(judge.ask([check()])) == {0: YES}
    assert counters(judge) == (0, 1, 0)
    judge.close()


def test_a_replay_names_every_missing_call_before_it_yields_anything() -> None:
    store = MemoryStore()
    put(store, check("stored"))
    calls = [
        check("stored"),
        check("stored", version=2),
        *(check(f"Claim {n}.") for n in range(6)),
        check("Claim 0."),
    ]
    stream = over(None, store).ask(calls)
    with pytest.raises(CallsMissingError) as caught:
        next(stream)
    error = caught.value
    assert isinstance(error, ReplayMissError)
    assert error.exit_code == 4
    assert [miss.index for miss in error.missing] == [1, 2, 3, 4, 5, 6, 7]
    assert error.missing[0].call == calls[1]
    assert error.missing[0].key == key(calls[1])
    assert error.missing[0].nearest == "the template's version differs: 1 is stored, 2 is asked"
    assert error.missing[4].nearest.startswith("the claim differs")
    assert error.missing[5].nearest == "not compared with what is stored"
    assert error.message == (
        "the replay needs 7 calls that the cache at memory does not hold; "
        "the first is support@2 for 'stored': "
        "the template's version differs: 1 is stored, 2 is asked."
    )


def test_another_judge_replays_nothing_of_this_one() -> None:
    store = MemoryStore()
    put(store, check())
    other = CachingJudge(None, store, Identity({"kind": "fake", "seed": 8}), id="other")
    with pytest.raises(CallsMissingError, match="the judge differs"):
        list(other.ask([check()]))


class Forgetful(CountingJudge):
    """Leaves one call out, answers one twice and one that nobody asked."""

    def ask(self, calls: Sequence[Call]) -> Iterator[tuple[int, Outcome]]:
        yield 0, YES
        yield 0, NO
        yield 7, NO
        yield -1, NO


def test_a_judge_that_breaks_its_promise_costs_only_the_calls_it_left_out() -> None:
    store = MemoryStore()
    judge = over(Forgetful(), store)
    outcomes = dict(judge.ask([check("a"), check("b")]))
    assert outcomes == {0: YES, 1: CallFailure(reason="the judge gave no answer to this call")}
    assert counters(judge) == (1, 0, 1)
    assert store.get(key(check("a"))) == YES


def test_identity_usage_and_close_are_those_of_the_judge_below() -> None:
    below = CountingJudge()
    judge = over(below, MemoryStore())
    below.usage.tokens_decoded = 12
    assert judge.usage.tokens_decoded == 12
    assert judge.identity() == JUDGE
    assert judge.id == "counting"
    judge.close()
    assert below.closed


def test_answers_that_cannot_be_stored_are_still_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ragjudge.cache.disk import TextCache

    def fail(_: TextCache, rows: dict[str, str]) -> None:
        raise OSError("read-only file system")

    below = CountingJudge()
    with Store(tmp_path) as store:
        monkeypatch.setattr(TextCache, "write", fail)
        judge = over(below, store)
        calls = [check("a"), check("b")]
        assert len(list(judge.ask(calls))) == 2
        assert len(list(judge.ask(calls))) == 2
        assert len(below.asked) == 2
        assert store.write_error is not None
        assert "read-only file system" in store.write_error


def test_no_calls_are_no_work() -> None:
    assert list(over(CountingJudge(), MemoryStore()).ask([])) == []
    assert list(over(None, MemoryStore()).ask([])) == []
