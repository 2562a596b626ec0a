from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest

from ragjudge.cache.caching_judge import CachingJudge
from ragjudge.cache.memory import MemoryStore
from ragjudge.errors import DataError, PromptTooLongError, ReplayMissError
from ragjudge.judges.base import Identity, Judge
from ragjudge.judges.fake import FakeJudge
from ragjudge.metrics.registry import make_metric
from ragjudge.records import Call, CallFailure, Check, Outcome, Report, Sample
from ragjudge.runner import WINDOW_CALLS, Cell, Runner, Task
from ragjudge.text.splitting import Splitting
from tests.observers import CountingObserver

MOON = ("Apollo 11 landed on the Moon on 20 July 1969.",)


def sample(number: int = 1, output: str = "Apollo 11 landed in 1969. It carried a dog.") -> Sample:
    return Sample(
        id=f"row-{number}", input="When?", output=output, contexts=MOON, expected="It landed in 1969."
    )


def cell(row: Sample, *names: str, judge: str = "", threshold: float = 0.5) -> Cell:
    return Cell(row, tuple(Task(name, make_metric(name), row, threshold, judge=judge) for name in names))


def grade(cells: Sequence[Cell], judge: Judge, store: MemoryStore | None = None) -> Report:
    return Runner({"": behind(judge, store)}).run(cells)


def behind(judge: Judge, store: MemoryStore | None = None) -> CachingJudge:
    return CachingJudge(judge, store or MemoryStore(), judge.identity(), id=judge.id)


def test_a_row_passes_when_a_score_passes_and_none_fails() -> None:
    judge = FakeJudge({"Apollo 11 landed in 1969.": 0.9, "It carried a dog.": 0.1, "It landed in 1969.": 0.9})
    report = grade([cell(sample(), "faithfulness", "context_recall")], judge)
    (row,) = report.rows
    assert {label: score.value for label, score in row.scores.items()} == {
        "faithfulness": 0.5,
        "context_recall": 1.0,
    }
    assert (row.passed, report.passed, report.coverage) == (True, True, 1.0)
    report = grade([cell(sample(), "faithfulness", "context_recall", threshold=0.6)], judge)
    assert (report.rows[0].passed, report.passed) == (False, False)
    assert report.summary["faithfulness"].model_dump() == {
        "mean": 0.5, "scored": 1, "total": 1, "passed": 0, "failed": 1, "errors": 0, "disagreement": None,
    }  # fmt: skip


def test_a_question_that_two_metrics_share_is_asked_once() -> None:
    row = sample(output="It landed in 1969.")
    judge = FakeJudge()
    report = grade([cell(row, "faithfulness", "context_recall")], judge)
    assert len(judge.asked) == report.usage.calls_judged == 1
    assert report.rows[0].scores["faithfulness"].value == report.rows[0].scores["context_recall"].value


def test_a_second_run_asks_nothing_and_says_the_same() -> None:
    store = MemoryStore()
    cells = [cell(sample(number), "faithfulness", "answer_relevancy") for number in range(3)]
    first = grade(cells, FakeJudge(), store)
    judge = FakeJudge()
    second = grade(cells, judge, store)
    assert judge.asked == []
    assert second.rows == first.rows
    assert (second.usage.calls_judged, second.usage.calls_replayed) == (0, first.usage.calls_judged)


def test_rows_come_in_the_order_of_the_input_whatever_was_planned_first() -> None:
    other = Sample(id="other", input="?", output="Dogs bark at night.", contexts=("Dogs bark.",))
    rows = [sample(1), other, sample(2)]
    report = grade([cell(row, "faithfulness") for row in rows], FakeJudge())
    assert [row.id for row in report.rows] == ["row-1", "other", "row-2"]


def test_many_rows_are_planned_in_windows_with_equal_contexts_side_by_side() -> None:
    calls: list[int] = []

    class Counting(FakeJudge):
        def ask(self, calls_now: Sequence[Call]) -> Iterator[tuple[int, Outcome]]:
            calls.append(len(calls_now))
            contexts = [call.shared for call in calls_now]
            assert len(set(contexts)) == 1 + sum(a != b for a, b in pairwise(contexts))
            return super().ask(calls_now)

    rows = [
        Sample(id=f"{n}", output=f"Sentence number {n} is here.", contexts=(f"Context {n % 2}.",))
        for n in range(2 * WINDOW_CALLS + 10)
    ]
    report = grade([cell(row, "faithfulness") for row in rows], Counting())
    assert calls == [WINDOW_CALLS, WINDOW_CALLS, 10]
    assert report.summary["faithfulness"].total == len(rows)


def test_a_row_without_what_a_metric_needs_is_named_before_anything_is_judged() -> None:
    judge = FakeJudge()
    cells = [cell(sample(), "faithfulness"), cell(Sample(id="bare", output="x"), "context_recall")]
    with pytest.raises(DataError) as caught:
        grade(cells, judge)
    assert caught.value.message == ("bare: context_recall needs expected and contexts; given: output.")
    assert judge.asked == []


@pytest.mark.parametrize(("on_empty", "passed"), [(None, False), ("fail", False), ("skip", None)])
def test_missing_contexts_fail_unless_the_suite_says_skip(on_empty: str | None, passed: bool | None) -> None:
    row = sample().model_copy(update={"contexts": ()})
    task = Task("f", make_metric("faithfulness"), row, 0.5, on_empty)  # type: ignore[arg-type]
    report = grade([Cell(row, (task,))], FakeJudge())
    score = report.rows[0].scores["f"]
    assert (score.value, score.status, score.passed) == (None, "not_applicable", passed)
    assert (report.rows[0].passed, report.coverage) == (passed, 1.0)


def test_failed_calls_lower_the_score_and_a_row_of_failures_lowers_the_coverage() -> None:
    judge = FakeJudge({"Apollo 11 landed in 1969.": 0.9, "It carried a dog.": None, "Dogs bark.": None})
    dogs = sample(2, "Dogs bark.")
    report = grade([cell(sample(), "faithfulness"), cell(dogs, "faithfulness")], judge)
    first, second = (row.scores["faithfulness"] for row in report.rows)
    assert (first.value, first.errors, first.status) == (0.5, 1, "scored")
    assert (second.value, second.passed, second.status) == (None, None, "judge_error")
    assert (report.coverage, report.usage.calls_failed) == (0.5, 2)
    summary = report.summary["faithfulness"]
    assert (summary.mean, summary.scored, summary.total, summary.errors) == (0.5, 1, 2, 1)


def test_a_system_under_test_that_fails_fails_its_row_and_no_other() -> None:
    broken = Cell(
        sample(2), cell(sample(2), "faithfulness").tasks, provider="p", error="p raised ValueError."
    )
    report = grade([cell(sample(), "faithfulness"), broken], FakeJudge())
    assert report.rows[1].error == "p raised ValueError."
    score = report.rows[1].scores["faithfulness"]
    assert (score.status, score.passed, score.reason) == ("skipped", False, "p raised ValueError.")
    assert report.rows[0].scores["faithfulness"].status == "scored"
    assert (report.passed, report.coverage) == (False, 0.5)


@pytest.mark.parametrize(
    ("own", "told", "named"),
    [
        (None, ("english", "english"), None),
        (None, ("german", "german"), "german"),
        (None, ("german", "english"), None),
        ("french", ("german", "english"), "french"),
        ("english", ("german", "german"), "english"),
    ],
)
def test_a_row_names_the_one_language_in_which_its_texts_were_cut(
    own: str | None, told: tuple[str, ...], named: str | None
) -> None:
    row = sample().model_copy(update={"language": own})
    names = ("faithfulness", "context_recall")
    tasks = (
        Task(name, make_metric(name, splitting=Splitting(language)), row, 0.5)
        for name, language in zip(names, told, strict=True)
    )
    (graded,) = grade([Cell(row, tuple(tasks))], FakeJudge()).rows
    assert graded.language == named


def test_a_replay_miss_names_row_metric_template_and_difference() -> None:
    store = MemoryStore()
    grade([cell(sample(), "faithfulness")], FakeJudge(), store)
    changed = sample().model_copy(update={"contexts": ("Apollo 11 landed on the Moon in 1970.",)})
    replay = CachingJudge(None, store, FakeJudge().identity(), id="fake")
    with pytest.raises(ReplayMissError) as caught:
        Runner({"": replay}).run([cell(changed, "faithfulness")])
    assert "row-1, faithfulness (support_excerpt@1)" in caught.value.message
    assert "2 calls are not in the cache" in caught.value.message
    assert "1970" in caught.value.message
    assert caught.value.exit_code == 4


def test_a_prompt_too_long_names_row_and_metric() -> None:
    class Narrow(Judge):
        def identity(self) -> Identity:
            return Identity({"kind": "narrow"})

        def ask(self, calls: Sequence[Call]) -> Iterator[tuple[int, Outcome]]:
            for index, call in enumerate(calls):
                if isinstance(call, Check) and "dog" in call.claim:
                    raise PromptTooLongError(9000, 8192, index)
                yield index, CallFailure(reason="not reached by the test")

    with pytest.raises(DataError) as caught:
        grade([cell(sample(), "faithfulness")], Narrow("narrow"))
    assert caught.value.message == (
        "row-1, faithfulness (support_excerpt@1): the prompt has 9000 tokens and the judge's window holds "
        "8192; nothing was cut."
    )


def test_each_judge_gets_its_own_tasks_and_is_closed_before_the_next() -> None:
    order: list[str] = []

    class Watched(FakeJudge):
        def ask(self, calls: Sequence[Call]) -> Iterator[tuple[int, Outcome]]:
            order.append(f"{self.id} asked")
            return super().ask(calls)

        def close(self) -> None:
            order.append(f"{self.id} closed")

    row = sample()
    tasks = (
        Task("one", make_metric("faithfulness"), row, 0.5, judge="a"),
        Task("two", make_metric("faithfulness"), row, 0.5, judge="b"),
    )
    judges = {"a": behind(Watched(id="A")), "b": behind(Watched({"It carried a dog.": 0.9}, id="B"))}
    report = Runner(judges).run([Cell(row, tasks)])
    assert order == ["A asked", "A closed", "B asked", "B closed"]
    assert [judge.id for judge in report.judges] == ["A", "B"]
    assert report.judges[0].fingerprint != report.judges[1].fingerprint
    assert report.usage.calls_judged == 4


def test_an_observer_hears_of_every_call_and_row() -> None:
    store = MemoryStore()
    grade([cell(sample(1), "faithfulness")], FakeJudge(), store)
    observer = CountingObserver()
    cells = [cell(sample(1), "faithfulness"), cell(sample(2, "Dogs bark. Cats meow."), "faithfulness")]
    Runner({"": behind(FakeJudge({"Cats meow.": None}), store)}, observer=observer).run(cells)
    assert (observer.total, observer.rows) == (4, 2)
    assert (observer.judged, observer.replayed, observer.failed) == (3, 0, 1)  # another script, another judge
