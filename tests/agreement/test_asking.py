from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from ragjudge.agreement.asking import WINDOW_CALLS, ask_rows
from ragjudge.agreement.labels import LabelledRow
from ragjudge.cache.memory import MemoryStore
from ragjudge.errors import PromptTooLongError, ReplayMissError
from ragjudge.judges.fake import FakeJudge
from ragjudge.prompts.answers import probability
from ragjudge.records import Call, CallFailure, Check, Outcome, Verdict
from tests.agreement.rows import behind_a_store, scripted, support


class _Watching(FakeJudge):
    """Notes how many calls came at once, and what the first words of their shared parts were."""

    def __init__(self) -> None:
        super().__init__()
        self.windows: list[list[str]] = []

    def ask(self, calls: Sequence[Call]) -> Iterator[tuple[int, Outcome]]:
        self.windows.append([call.shared for call in calls])
        return super().ask(calls)


class _Narrow(FakeJudge):
    """Refuses long claims before it answers anything, as a judge with a small window does."""

    def ask(self, calls: Sequence[Call]) -> Iterator[tuple[int, Outcome]]:
        for index, call in enumerate(calls):
            if isinstance(call, Check) and len(call.claim) > 100:
                raise PromptTooLongError(900, 512, index)
        return super().ask(calls)


class _Bar:
    def __init__(self) -> None:
        self.counts = {"judged": 0, "replayed": 0, "failed": 0}
        self.rows = 0

    def advance(self, *, judged: int = 0, replayed: int = 0, failed: int = 0) -> None:
        for name, number in (("judged", judged), ("replayed", replayed), ("failed", failed)):
            self.counts[name] += number

    def row_done(self) -> None:
        self.rows += 1


def _row(number: int, context: str) -> LabelledRow:
    return support(number, True).model_copy(update={"contexts": (context,)})


def test_answers_come_back_in_the_order_of_the_rows() -> None:
    rows = [support(number, True) for number in range(5)]
    judge = behind_a_store(scripted({f"Claim {number}.": number / 10 for number in range(5)}))
    answers = ask_rows(judge, rows)
    assert [answer.check.claim for answer in answers] == [row.claim for row in rows]
    found = [probability(answer.outcome, "Yes") for answer in answers if isinstance(answer.outcome, Verdict)]
    assert found == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4], abs=1e-6)


def test_rows_over_equal_contexts_are_asked_side_by_side_in_windows() -> None:
    judge = _Watching()
    rows = [_row(number, f"Context {number % 3}.") for number in range(WINDOW_CALLS + 44)]
    ask_rows(behind_a_store(judge), rows)
    assert [len(window) for window in judge.windows] == [WINDOW_CALLS, 44]
    order = [shared for window in judge.windows for shared in window]
    assert len([place for place in range(1, len(order)) if order[place] != order[place - 1]]) == 2


def test_equal_rows_are_asked_once() -> None:
    judge = behind_a_store(FakeJudge())
    rows = [support(1, True), support(2, False, claim="Claim 1.")]
    first, second = ask_rows(judge, rows)
    assert first.outcome == second.outcome
    assert judge.calls_judged == 1


def test_a_row_that_does_not_fit_costs_itself_alone() -> None:
    bar = _Bar()
    rows = [support(1, True), support(2, True, claim="very " * 40), support(3, False)]
    answers = ask_rows(behind_a_store(_Narrow()), rows, observer=bar)
    assert [isinstance(answer.outcome, Verdict) for answer in answers] == [True, False, True]
    failure = answers[1].outcome
    assert isinstance(failure, CallFailure)
    assert "900 tokens" in failure.reason
    assert bar.counts == {"judged": 2, "replayed": 0, "failed": 1}
    assert bar.rows == 3


def test_a_second_run_asks_nobody() -> None:
    store = MemoryStore()
    rows = [support(number, True) for number in range(4)]
    first = ask_rows(behind_a_store(FakeJudge(), store), rows)
    bar, judge = _Bar(), FakeJudge()
    assert ask_rows(behind_a_store(judge, store), rows, observer=bar) == first
    assert judge.asked == []
    assert bar.counts == {"judged": 0, "replayed": 4, "failed": 0}
    assert ask_rows(behind_a_store(FakeJudge(), store, replay=True), rows) == first


def test_a_replay_names_the_rows_that_are_not_stored() -> None:
    store = MemoryStore()
    ask_rows(behind_a_store(FakeJudge(), store), [support(1, True)])
    expected = r"2 calls are not in the cache.\n  row-2 \(support_excerpt@1\)"
    with pytest.raises(ReplayMissError, match=expected):
        ask_rows(
            behind_a_store(FakeJudge(), store, replay=True), [support(number, True) for number in (1, 2, 3)]
        )


def test_asking_stops_when_it_is_told_and_keeps_what_was_judged() -> None:
    store, asked = MemoryStore(), []

    def stop() -> bool:
        asked.append(1)
        return len(asked) == 2

    rows = [support(number, True) for number in range(9)]
    with pytest.raises(KeyboardInterrupt):
        ask_rows(behind_a_store(FakeJudge(), store), rows, stop=stop)
    judge = behind_a_store(FakeJudge(), store)
    ask_rows(judge, rows)
    assert (judge.calls_replayed, judge.calls_judged) == (2, 7)
