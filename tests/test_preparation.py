"""Runs with ``claims: judge``: what is asked first, what follows from it, and what a failure costs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from ragjudge.cache.caching_judge import CachingJudge
from ragjudge.cache.memory import MemoryStore
from ragjudge.errors import ConfigError, ReplayMissError
from ragjudge.judges.base import Judge
from ragjudge.judges.fake import FakeJudge
from ragjudge.metrics.base import Plan
from ragjudge.metrics.registry import make_metric
from ragjudge.prompts.answers import probability
from ragjudge.prompts.profile import Profile, load_profile
from ragjudge.records import (
    Call,
    Check,
    Mode,
    Outcome,
    Oversize,
    Prompt,
    Reply,
    Report,
    Sample,
    Score,
    Unfinished,
    Verdict,
)
from ragjudge.runner import WINDOW_CALLS, Cell, Runner, Task
from ragjudge.text.splitting import Splitting

MOON = ("Apollo 11 landed on the Moon on 20 July 1969.",)
COMPOUND = "Apollo 11 landed in 1969, and it carried a dog."
PARTS = ["Apollo 11 landed in 1969.", "it carried a dog."]


def sample(number: int = 1, output: str = COMPOUND) -> Sample:
    return Sample(
        id=f"row-{number}", input="When?", output=output, contexts=MOON, expected="It landed in 1969."
    )


def cell(row: Sample, *names: str, claims: str = "judge", judge: str = "") -> Cell:
    splitting = Splitting(claims=claims)  # type: ignore[arg-type]
    tasks = (Task(name, make_metric(name, splitting=splitting), row, 0.5, judge=judge) for name in names)
    return Cell(row, tuple(tasks))


def behind(judge: Judge, store: MemoryStore | None = None) -> CachingJudge:
    return CachingJudge(judge, store or MemoryStore(), judge.identity(), id=judge.id, profile=judge.profile)


def grade(cells: Sequence[Cell], judge: Judge, store: MemoryStore | None = None, **more: Any) -> Report:
    return Runner({"": behind(judge, store)}, **more).run(cells)


def kinds(judge: FakeJudge) -> list[str]:
    return [call.template for call in judge.asked]


def test_sentences_are_cut_first_and_their_claims_judged_then() -> None:
    judge = FakeJudge({PARTS[0]: 0.9, PARTS[1]: 0.1})
    report = grade([cell(sample(), "faithfulness")], judge)
    assert kinds(judge) == ["claims", "support_excerpt", "support_excerpt"]
    score = report.rows[0].scores["faithfulness"]
    assert score.value == 0.5
    assert [(item.text, item.claim, item.start, item.end) for item in score.items] == [
        (COMPOUND, claim, 0, len(COMPOUND)) for claim in PARTS
    ]
    assert report.usage.calls_judged == 3


def test_metrics_over_one_text_ask_once_how_it_is_cut() -> None:
    row = sample().model_copy(update={"expected": COMPOUND})
    judge = FakeJudge()
    report = grade(
        [cell(row, "faithfulness", "context_recall", "context_precision", "answer_relevancy")], judge
    )
    assert kinds(judge).count("claims") == 1
    assert kinds(judge).index("claims") == 0
    assert kinds(judge).count("support_excerpt") == 2
    assert kinds(judge).count("answer_relevance") == 1  # what counts sentences is not cut
    assert len(report.rows[0].scores["faithfulness"].items) == 2


@pytest.mark.parametrize("claims", ["sentence", "clause"])
def test_other_kinds_of_claims_ask_nothing_more(claims: str) -> None:
    judge = FakeJudge()
    grade([cell(sample(), "faithfulness", "context_recall", claims=claims)], judge)
    assert set(kinds(judge)) == {"support_excerpt"}


def test_a_simple_sentence_is_judged_without_asking() -> None:
    by_judge, by_sentence = FakeJudge(), FakeJudge()
    row = sample(output="Apollo 11 landed in 1969. It carried a dog.")
    first = grade([cell(row, "faithfulness")], by_judge)
    second = grade([cell(row, "faithfulness", claims="sentence")], by_sentence)
    assert by_judge.asked == by_sentence.asked
    assert first.rows == second.rows


def test_a_second_run_asks_nothing_and_a_replay_says_the_same() -> None:
    store = MemoryStore()
    cells = [cell(sample(number), "faithfulness", "context_recall") for number in range(3)]
    first = grade(cells, FakeJudge(), store)
    judge = FakeJudge()
    second = grade(cells, judge, store)
    assert judge.asked == []
    assert second.rows == first.rows
    assert (second.usage.calls_judged, second.usage.calls_replayed) == (0, first.usage.calls_judged)
    replay = CachingJudge(None, store, FakeJudge().identity(), id="fake")
    assert Runner({"": replay}).run(cells).rows == first.rows


def test_a_replay_that_lacks_a_cut_names_row_metric_and_template() -> None:
    store = MemoryStore()
    grade([cell(sample(1), "faithfulness")], FakeJudge(), store)
    other = sample(2, "Apollo 11 landed in 1970, and it carried a cat.")
    replay = CachingJudge(None, store, FakeJudge().identity(), id="fake")
    with pytest.raises(ReplayMissError) as caught:
        Runner({"": replay}).run([cell(sample(1), "faithfulness"), cell(other, "faithfulness")])
    assert "row-2, faithfulness (claims@1)" in caught.value.message
    assert "1 call is not in the cache" in caught.value.message
    assert "1970" in caught.value.message
    assert caught.value.exit_code == 4


class Answering(FakeJudge):
    """Answers every open prompt in one way."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self._outcome = outcome

    def ask(self, calls: Sequence[Call]) -> Iterator[tuple[int, Outcome]]:
        for index, outcome in super().ask(calls):
            yield index, self._outcome if isinstance(calls[index], Prompt) else outcome


LONG, CUT = Oversize(tokens=900, window=64), Unfinished(text="{", tokens=640)


@pytest.mark.parametrize(
    ("judge", "why", "failed"),
    [
        (FakeJudge(claims={COMPOUND: None}), "the fake judge was told to fail here", 1),
        (
            FakeJudge(claims={COMPOUND: ["Dogs bark.", "Cats meow."]}),
            "a claim has words that the sentence",
            0,
        ),
        (Answering(LONG), "the prompt has 900 tokens and the judge's window holds 64", 0),
        (Answering(CUT), "the reply was cut at 640 tokens", 0),
    ],
    ids=["failed", "unlike", "oversize", "unfinished"],
)
def test_a_cut_that_fails_costs_nothing_but_the_cut(judge: FakeJudge, why: str, failed: int) -> None:
    report = grade([cell(sample(), "faithfulness")], judge)
    plain = grade([cell(sample(), "faithfulness", claims="sentence")], FakeJudge())
    score, expected = (each.rows[0].scores["faithfulness"] for each in (report, plain))
    assert score.reason.startswith(f"{expected.reason} 1 sentence was not cut into claims: {why}")
    assert score.model_copy(update={"reason": expected.reason}) == expected
    assert (score.errors, report.usage.calls_failed, report.coverage) == (0, failed, 1.0)


@pytest.mark.parametrize("outcome", [LONG, CUT], ids=["oversize", "unfinished"])
def test_a_prompt_without_a_reply_is_replayed_too(outcome: Oversize | Unfinished) -> None:
    holistic = make_metric("faithfulness", mode="holistic")
    cells = [cell(sample(), "faithfulness"), Cell(sample(), (Task("h", holistic, sample(), 0.5),))]
    store = MemoryStore()
    first = grade(cells, Answering(outcome), store)
    assert outcome.problem in first.rows[1].scores["h"].reason
    replay = CachingJudge(None, store, FakeJudge().identity(), id="fake")
    assert Runner({"": replay}).run(cells).rows == first.rows


def rows_with_compounds(count: int) -> list[Sample]:
    return [
        Sample(
            id=f"{n}",
            output=f"Bridge {n} is old, and bridge {n} is long.",
            contexts=(f"Context {n % 2}.",),
        )
        for n in range(count)
    ]


def test_many_rows_are_prepared_and_planned_in_windows() -> None:
    sizes: list[tuple[str, int]] = []

    class Counting(FakeJudge):
        def ask(self, calls_now: Sequence[Call]) -> Iterator[tuple[int, Outcome]]:
            (kind,) = {call.template for call in calls_now}
            sizes.append((kind, len(calls_now)))
            return super().ask(calls_now)

    rows = rows_with_compounds(WINDOW_CALLS + 10)
    report = grade([cell(row, "faithfulness") for row in rows], Counting())
    assert sizes == [
        ("claims", WINDOW_CALLS),
        ("support_excerpt", WINDOW_CALLS),
        ("support_excerpt", WINDOW_CALLS),
        ("claims", 10),
        ("support_excerpt", 20),
    ]
    assert [row.id for row in report.rows] == [row.id for row in rows]


class Observer:
    def __init__(self) -> None:
        self.totals: list[int] = []
        self.settled = self.rows = 0

    def set_total(self, total_calls: int) -> None:
        self.totals.append(total_calls)

    def advance(self, *, judged: int = 0, replayed: int = 0, failed: int = 0) -> None:
        self.settled += judged + replayed + failed

    def row_done(self) -> None:
        self.rows += 1


def test_progress_counts_both_stages() -> None:
    observer = Observer()
    cells = [cell(row, "faithfulness") for row in rows_with_compounds(4)]
    cells += [cell(sample(number, "It rose."), "faithfulness") for number in range(4)]
    grade(cells, FakeJudge(), observer=observer)
    assert observer.settled == observer.totals[-1] == 4 + 8 + 4
    assert observer.rows == 8


@pytest.mark.parametrize("after", [1, 4, 6])
def test_a_run_that_is_stopped_in_either_stage_is_partial_and_can_go_on(after: int) -> None:
    observer = Observer()
    store = MemoryStore()
    cells = [cell(row, "faithfulness") for row in rows_with_compounds(4)]
    report = grade(cells, FakeJudge(), store, observer=observer, stop=lambda: observer.settled >= after)
    assert report.partial
    assert observer.settled == after
    whole = grade(cells, FakeJudge(), store)
    assert whole.rows == grade(cells, FakeJudge()).rows
    assert whole.usage.calls_replayed == after


def test_generated_tokens_are_counted() -> None:
    class Generating(FakeJudge):
        def ask(self, calls: Sequence[Call]) -> Iterator[tuple[int, Outcome]]:
            for index, outcome in super().ask(calls):
                if isinstance(outcome, Reply):
                    self.usage.tokens_generated += outcome.tokens
                yield index, outcome

    report = grade([cell(sample(), "faithfulness")], Generating())
    assert report.usage.tokens_generated > 5


def test_each_judge_cuts_for_its_own_tasks() -> None:
    row = sample()
    first, second = FakeJudge(id="a"), FakeJudge(claims={COMPOUND: PARTS[::-1]}, id="b")
    tasks = (
        *cell(row, "faithfulness", judge="a").tasks,
        Task("again", make_metric("faithfulness", splitting=Splitting(claims="judge")), row, 0.5, judge="b"),
    )
    report = Runner({"a": behind(first), "b": behind(second)}).run([Cell(row, tasks)])
    assert kinds(first) == kinds(second) == ["claims", "support_excerpt", "support_excerpt"]
    assert [item.claim for item in report.rows[0].scores["again"].items] == PARTS[::-1]


def test_a_judge_that_was_trained_to_check_cannot_cut() -> None:
    class Trained(FakeJudge):
        @property
        def profile(self) -> Profile | None:
            return load_profile("bespoke-minicheck")

    with pytest.raises(ConfigError, match="knows no question 'claims'") as caught:
        grade([cell(sample(), "faithfulness")], Trained())
    assert caught.value.hint is not None
    assert "another judge" in caught.value.hint


class Echo:
    """A metric of a user's own that asks for a name before it asks about it."""

    name, by = "echo", None
    mode: Mode = "decomposed"
    requires = ("output",)
    default_threshold = 0.5

    def prepare(self, sample: Sample) -> list[Call]:
        return [self._check("first", sample.output or "")] if sample.output else []

    def plan(self, sample: Sample, prepared: Sequence[Outcome] = ()) -> Plan:
        known = [round(probability(each, "Yes"), 3) for each in prepared if isinstance(each, Verdict)]
        return Plan.of_calls([self._check("second", f"{sample.output} {known}")])

    def score(self, sample: Sample, plan: Plan, outcomes: Sequence[Outcome]) -> Score:
        (call,) = plan.calls
        assert isinstance(call, Check)
        return Score(metric=self.name, value=1.0, status="scored", mode=self.mode, reason=call.own)

    def _check(self, name: str, claim: str) -> Check:
        return Check(
            template=name,
            version=1,
            system="Say Yes or No.",
            shared="",
            own=claim,
            labels=("Yes", "No"),
            positive="Yes",
            claim=claim,
        )


def test_a_metric_of_ones_own_may_prepare_too() -> None:
    judge = FakeJudge({"x": 0.25})
    tasks = [Task("echo", Echo(), Sample(id=text or "none", output=text), 0.5) for text in ("x", "")]
    report = grade([Cell(task.sample, (task,)) for task in tasks], judge)
    assert kinds(judge) == ["first", "second", "second"]
    assert [row.scores["echo"].reason for row in report.rows] == ["x [0.25]", " []"]


def test_the_reply_is_what_the_cache_keeps() -> None:
    store = MemoryStore()
    judge = FakeJudge(claims={COMPOUND: PARTS})
    grade([cell(sample(), "faithfulness")], judge, store)
    (key,) = [key for key, request in store.requests() if request["kind"] == "prompt"]
    answer = store.get(key)
    assert isinstance(answer, Reply)
    assert json.loads(answer.text) == {"claims": PARTS}
