from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from ragjudge.judges.fake import FakeJudge
from ragjudge.metrics.base import Plan
from ragjudge.metrics.registry import make_metric
from ragjudge.planning import (
    WINDOW_CALLS,
    Cell,
    Pending,
    Task,
    Workload,
    gradable,
    plan_windows,
    preparation_windows,
    tasks_of,
)
from ragjudge.records import Call, CallFailure, Sample
from ragjudge.text.splitting import Splitting

JUDGE = Splitting(claims="judge")


def task(number: int, name: str = "faithfulness", text: str = "It rose, and it fell in {}.") -> Task:
    row = Sample(
        id=f"{number}", input="?", output=text.format(1900 + number), contexts=(f"Context {number % 2}.",)
    )
    return Task(name, make_metric(name, splitting=JUDGE), row, 0.5)


def prepared_sizes(tasks: Sequence[Task]) -> list[tuple[int, int]]:
    """Return tasks and calls of each preparation window."""
    windows = preparation_windows(enumerate(tasks), FakeJudge())
    return [(len(window), sum(len(pending.calls) for pending in window)) for window in windows]


def test_what_has_to_be_prepared_goes_in_windows_and_the_rest_waits_for_nobody() -> None:
    many = [task(number) for number in range(WINDOW_CALLS + 10)]
    assert prepared_sizes(many) == [(WINDOW_CALLS, WINDOW_CALLS), (10, 10)]
    simple = [task(number, text="It rose in {}.") for number in range(3)]
    assert prepared_sizes(simple) == [(1, 0)] * 3
    relevancy = [task(number, "answer_relevancy") for number in range(3 * WINDOW_CALLS)]
    # Behind one that has to be prepared the others wait, but never more than a window's worth.
    assert prepared_sizes([many[0], *relevancy])[:2] == [(WINDOW_CALLS, 1), (1, 0)]


def test_tasks_over_equal_contexts_stand_side_by_side_in_both_stages() -> None:
    tasks = [task(number) for number in range(6)]
    (window,) = preparation_windows(enumerate(tasks), FakeJudge())
    assert [pending.cell for pending in window] == [0, 2, 4, 1, 3, 5]
    for pending in window:
        assert pending.settle(0, CallFailure(reason="x"))
    (planned,) = plan_windows(window, FakeJudge())
    assert [pending.cell for pending in planned] == [0, 2, 4, 1, 3, 5]
    assert all(pending.plan.calls == pending.calls for pending in planned)


def test_plan_windows_take_no_more_tasks_than_fill_them() -> None:
    taken: list[int] = []

    def ready() -> Iterator[Pending]:
        for number in range(WINDOW_CALLS + 1):
            taken.append(number)
            yield Pending(number, task(number, text="It rose in {}."), ())

    windows = plan_windows(ready(), FakeJudge())
    assert len(next(windows)) == len(taken) == WINDOW_CALLS
    assert len(next(windows)) == 1


def test_an_outcome_counts_once() -> None:
    calls: tuple[Call, ...] = make_metric("faithfulness", splitting=JUDGE).prepare(task(1).sample)
    pending = Pending(0, task(1), calls * 2)
    assert (pending.left, pending.answers, pending.plan) == (2, [], Plan())
    outcome = CallFailure(reason="x")
    assert not pending.settle(0, outcome)
    assert not pending.settle(0, CallFailure(reason="again"))
    assert pending.settle(1, outcome)
    assert (pending.left, pending.answers) == (0, [outcome, outcome])
    assert pending.place == "1, faithfulness"


def test_cells_without_an_output_and_tasks_of_other_judges_are_left_out() -> None:
    one = task(1)
    other = Task("other", one.metric, one.sample, 0.5, judge="b")
    cells = list(gradable([Cell(one.sample, (one,), error="gone"), Cell(one.sample, (other, one))]))
    assert [task.error for task in cells[0].tasks] == ["gone"]
    assert list(tasks_of("", cells)) == [(1, one)]
    assert list(tasks_of("b", cells)) == [(1, other)]


@pytest.mark.parametrize(
    ("prepared", "planned", "total"),
    [
        ([], [], 0),
        ([2], [], 2 * 10 * 2),  # as many checks as questions about sentences, until one is planned
        ([2], [6], 2 * 10 + 6 * 10),
        ([0] * 10, [3] * 10, 30),
        ([2] + [0] * 9, [3] * 10, 32),
    ],
)
def test_the_work_is_estimated_from_what_is_planned_and_exact_in_the_end(
    prepared: list[int], planned: list[int], total: int
) -> None:
    (call,) = make_metric("faithfulness", splitting=JUDGE).prepare(task(1).sample)
    work = Workload(10)
    work.prepared([Pending(0, task(1), (call,) * count) for count in prepared])
    work.planned([Pending(0, task(1), (call,) * count) for count in planned])
    assert work.total == total
