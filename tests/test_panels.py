"""Runs with several judges: the runner, the Python API and suites."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ragjudge import ContextPrecision, Faithfulness, FakeJudge, evaluate, sessions
from ragjudge.agreement.calibrated_judge import CalibratedJudge
from ragjudge.assembly import assemble
from ragjudge.cache.caching_judge import CachingJudge
from ragjudge.cache.memory import MemoryStore
from ragjudge.cache.panel import Panel
from ragjudge.cache.protocol import CountedJudge
from ragjudge.errors import ConfigError, DataError, PromptTooLongError, ReplayMissError, UsageError
from ragjudge.judges.base import Judge
from ragjudge.metrics.registry import make_metric
from ragjudge.prompts.profile import Profile, load_profile
from ragjudge.records import Call, Outcome, Report, Sample
from ragjudge.runner import WINDOW_CALLS, Cell, Runner, Task
from ragjudge.suites.load import load_suite
from ragjudge.text.splitting import Splitting
from tests.agreement.calibrations import calibration, saved
from tests.observers import CountingObserver

CONTEXT = "Guido van Rossum began working on Python in the late 1980s and first released it in 1991."
FIRST, SECOND = "Python was created by Guido van Rossum.", "It was first released in 1985."
OUTPUT = f"{FIRST} {SECOND}"
SAMPLE = Sample(id="python", input="What is Python?", output=OUTPUT, contexts=(CONTEXT,))
ASKED = make_metric("faithfulness").plan(SAMPLE).calls[0]
ROW = {"id": "python", "question": "What is Python?", "answer": OUTPUT, "contexts": [CONTEXT]}


@pytest.fixture(autouse=True)
def _fresh_sessions() -> Iterator[None]:
    yield
    sessions.close_shared()


def three() -> list[FakeJudge]:
    chances = [(0.9, 0.2), (0.8, 0.6), (0.3, 0.1)]
    return [
        FakeJudge({FIRST: first, SECOND: second}, score=n / 10, id=name)
        for n, (name, (first, second)) in enumerate(zip("abc", chances, strict=True), 1)
    ]


def counted(judge: Judge, store: MemoryStore, *, replay: bool = False) -> CountedJudge:
    below = None if replay else judge
    return CachingJudge(below, store, judge.identity(), id=judge.id, profile=judge.profile)


def task(sample: Sample, name: str = "faithfulness", judge: str = "", **metric: Any) -> Task:
    return Task(name, make_metric(name, **metric), sample, 0.5, judge=judge)


def graded(
    judges: Sequence[Judge],
    *samples: Sample,
    store: MemoryStore | None = None,
    replay: bool = False,
    observer: Any = None,
    **metric: Any,
) -> Report:
    store = MemoryStore() if store is None else store
    panel = Panel([counted(judge, store, replay=replay) for judge in judges])
    cells = [Cell(sample, (task(sample, **metric),)) for sample in samples or (SAMPLE,)]
    return Runner({"": panel}, observer=observer).run(cells)


# -- the runner ----------------------------------------------------------------------------------------


def test_a_panel_grades_and_the_report_lists_its_judges() -> None:
    report = graded(three())
    score = report.rows[0].scores["faithfulness"]
    assert [(item.verdict, item.probability, item.disagreement) for item in score.items] == [
        (True, 0.8, 0.333333),
        (False, 0.2, 0.333333),
    ]
    assert [judge.id for judge in report.judges] == ["a", "b", "c"]
    assert (report.usage.calls_judged, report.usage.calls_replayed) == (6, 0)
    assert report.summary["faithfulness"].disagreement == 1.0


def test_each_judge_answers_all_windows_and_is_closed_before_the_next_is_asked() -> None:
    order: list[str] = []

    class Watched(FakeJudge):
        def ask(self, calls: Sequence[Call]) -> Iterator[tuple[int, Outcome]]:
            order.append(f"{self.id} {len(calls)}")
            return super().ask(calls)

        def close(self) -> None:
            order.append(f"{self.id} closed")

    number = 2 * WINDOW_CALLS + 10
    samples = [
        Sample(id=f"{n}", output=f"Sentence number {n} is here.", contexts=("A context.",))
        for n in range(number)
    ]
    report = graded([Watched(id="a"), Watched({"x": 0.5}, id="b")], *samples)
    windows = [f"{{}} {WINDOW_CALLS}", f"{{}} {WINDOW_CALLS}", "{} 10", "{} closed"]
    assert order == [each.format(name) for name in "ab" for each in windows]
    assert [row.id for row in report.rows] == [sample.id for sample in samples]
    assert report.usage.calls_judged == 2 * number


def test_a_second_run_asks_nothing_and_says_the_same() -> None:
    store = MemoryStore()
    first = graded(three(), store=store)
    again = three()
    second = graded(again, store=store)
    assert [judge.asked for judge in again] == [[], [], []]
    assert second.rows == first.rows
    assert (second.usage.calls_judged, second.usage.calls_replayed) == (0, 6)
    assert graded(three(), store=store, replay=True).rows == first.rows


def test_what_one_judge_answered_by_itself_is_its_part_of_the_panel() -> None:
    store = MemoryStore()
    judges = three()
    Runner({"": counted(judges[1], store)}).run([Cell(SAMPLE, (task(SAMPLE),))])
    report = graded(judges, store=store)
    assert [len(judge.asked) for judge in judges] == [2, 2, 2]
    assert (report.usage.calls_judged, report.usage.calls_replayed) == (4, 2)


def test_a_replay_miss_names_the_judge_the_row_and_the_metric() -> None:
    store = MemoryStore()
    judges = three()
    graded(judges[:2], store=store)
    with pytest.raises(ReplayMissError) as caught:
        graded(judges, store=store, replay=True)
    assert caught.value.message.startswith(
        "judge 'c': 2 calls are not in the cache.\n  python, faithfulness ("
    )
    assert "the judge" in caught.value.message


def test_a_failed_call_costs_one_vote_and_is_asked_once() -> None:
    judges = three()
    judges[2].script[SECOND] = None
    report = graded(judges)
    item = report.rows[0].scores["faithfulness"].items[1]
    assert (item.verdict, item.probability, item.disagreement) == (False, 0.4, 0.5)
    assert len(judges[2].asked) == 2
    assert (report.usage.calls_judged, report.usage.calls_failed) == (5, 1)


def test_an_observer_hears_of_each_call_of_each_judge_once() -> None:
    judges, observer, store = three(), CountingObserver(), MemoryStore()
    judges[2].script[SECOND] = None
    graded(judges, store=store, observer=observer)
    assert (observer.total, observer.judged, observer.replayed, observer.failed) == (6, 5, 0, 1)
    assert observer.rows == 1


def test_the_first_judge_alone_says_how_sentences_are_cut() -> None:
    compound = "Apollo 11 landed in 1969, and it carried a dog."
    parts = ["Apollo 11 landed in 1969.", "it carried a dog."]
    sample = Sample(id="moon", output=compound, contexts=("Apollo 11 landed in 1969.",))
    judges = [
        FakeJudge({parts[0]: 0.9, parts[1]: 0.1}, claims={compound: parts}, id="a"),
        FakeJudge({parts[0]: 0.8, parts[1]: 0.3}, id="b"),
    ]

    class Observer:
        total = heard = 0

        def set_total(self, total_calls: int) -> None:
            self.total = total_calls

        def advance(self, *, judged: int = 0, replayed: int = 0, failed: int = 0) -> None:
            self.heard += judged + replayed + failed

        def row_done(self) -> None:
            pass

    observer = Observer()
    report = graded(judges, sample, observer=observer, splitting=Splitting(claims="judge"))
    assert [call.template for call in judges[0].asked] == ["claims", ASKED.template, ASKED.template]
    assert [call.template for call in judges[1].asked] == [ASKED.template, ASKED.template]
    assert [item.claim for item in report.rows[0].scores["faithfulness"].items] == parts
    assert (observer.total, observer.heard) == (5, 5)


def test_a_judge_with_a_profile_takes_part_in_its_own_words() -> None:
    class Trained(FakeJudge):
        @property
        def profile(self) -> Profile:
            return load_profile("granite-guardian")

    trained = Trained({FIRST: 0.7, SECOND: 0.4}, id="trained")
    report = graded([three()[0], trained])
    assert {call.template for call in trained.asked} == {"granite-guardian.support"}
    items = report.rows[0].scores["faithfulness"].items
    assert [item.probability for item in items] == [0.8, 0.3]
    with pytest.raises(ConfigError, match="judge 'trained': the judge follows the profile"):
        graded([three()[0], trained], mode="holistic")


def test_a_prompt_too_long_names_row_metric_and_judge() -> None:
    class Narrow(FakeJudge):
        def ask(self, calls: Sequence[Call]) -> Iterator[tuple[int, Outcome]]:
            raise PromptTooLongError(9000, 8192, 1)

    with pytest.raises(DataError) as caught:
        graded([three()[0], Narrow(id="narrow")])
    assert caught.value.message.startswith(
        f"python, faithfulness ({ASKED.template}@{ASKED.version}): judge 'narrow': the prompt has 9000 tokens"
    )


def test_holistic_scores_are_averaged() -> None:
    score = graded(three(), mode="holistic").rows[0].scores["faithfulness"]
    assert (score.value, score.items) == (0.2, ())
    assert score.reason.startswith("Mean of 3 judges. a: 0.1, “")


def test_judges_and_panels_of_them_are_counted_and_listed_once() -> None:
    store = MemoryStore()
    a, b, _ = three()
    single = counted(a, store)
    panel = Panel([single, counted(b, store)])
    cells = [Cell(SAMPLE, (task(SAMPLE, judge="one"), task(SAMPLE, "answer_relevancy", judge="two")))]
    report = Runner({"one": single, "two": panel}).run(cells)
    assert [judge.id for judge in report.judges] == ["a", "b"]
    assert report.usage.calls_judged == len(a.asked) + len(b.asked) == 6


def test_a_stopped_run_reports_what_was_complete() -> None:
    judges = three()
    panel = Panel([counted(judge, MemoryStore()) for judge in judges])
    report = Runner({"": panel}, stop=lambda: bool(judges[0].asked)).run([Cell(SAMPLE, (task(SAMPLE),))])
    assert (report.partial, report.rows) == (True, ())
    assert [len(judge.asked) for judge in judges] == [1, 0, 0]


# -- the Python API ------------------------------------------------------------------------------------


def test_a_scorer_takes_a_list_of_judges() -> None:
    score = Faithfulness(three(), cache=False).score(output=OUTPUT, context=CONTEXT)
    assert [item.disagreement for item in score.items] == [0.333333, 0.333333]
    assert score.reason.endswith("Decided by the majority of 3 judges, who differ on 2 of 2.")
    mean = Faithfulness({"panel": three(), "by": "mean"}, cache=False).score(output=OUTPUT, context=CONTEXT)
    assert [item.probability for item in mean.items] == [0.666667, 0.3]


def test_evaluate_takes_a_list_and_a_scorer_s_own_judge_wins() -> None:
    judges = three()
    done = evaluate(
        dataset=[ROW],
        scorers=["faithfulness", Faithfulness(judges[2]), "answer_relevancy"],
        llm=judges,
        cache=False,
    )
    scores = done.rows[0].scores
    assert [score.value for score in (scores["faithfulness"], scores["faithfulness#2"])] == [0.5, 0.0]
    assert scores["faithfulness"].items[0].panel is not None
    assert scores["faithfulness#2"].items[0].panel is None
    assert [judge.id for judge in done.report.judges] == ["a", "b", "c"]


def test_each_judge_of_a_panel_has_its_own_calibration() -> None:
    judges, store = three(), MemoryStore()
    made = calibration(judges[0].identity(), -5.0, templates=(f"{ASKED.template}@{ASKED.version}",))
    members = [CalibratedJudge(counted(judges[0], store), made), counted(judges[1], store)]
    report = Runner({"": Panel(members)}).run([Cell(SAMPLE, (task(SAMPLE),))])
    first = report.rows[0].scores["faithfulness"].items[0]
    assert first.panel is not None
    assert [vote.probability for vote in first.panel] == [pytest.approx(0.0572, abs=1e-3), 0.8]
    assert (first.verdict, first.disagreement) == (False, 0.5)
    assert [judge.calibration for judge in report.judges] == [made.sha256, None]
    assert list(report.calibrations) == [made.sha256]


def test_a_calibration_file_is_one_judge_s_and_so_no_panel_s(tmp_path: Path) -> None:
    judges = three()
    file = saved(tmp_path / "a.json", calibration(judges[0].identity()))
    with pytest.raises(ConfigError, match="the calibration is for the judge 'the-judge'"):
        Faithfulness(judges, cache=False, calibration=file).score(output=OUTPUT, context=CONTEXT)


@pytest.mark.parametrize(
    ("llm", "message"),
    [
        ([], "llm: found an empty list; accepted: a list of 2 to 9 judges."),
        (["a"], "llm: found 1 judge; accepted: a list of 2 to 9 judges."),
        (["a", "b", "a"], "llm[2]: 'a' is there twice; a panel has each judge once."),
        (["a", Path("a")], f"llm[1]: {Path('a')!r} is there twice; a panel has each judge once."),
        (["a", 3], "llm[1] is 3; accepted: a model's name, the path of a .gguf file, or a Judge."),
        (["a", ["b", "c"]], "llm[1] is ['b', 'c']; accepted: a model's name"),
        ({"panel": ["a", "b"], "by": "vote"}, "llm: by is 'vote'; accepted: majority, mean."),
        ({"panel": "ab"}, "llm is {'panel': 'ab'}; accepted: a mapping with the keys 'panel'"),
        ({"panel": ["a", "b"], "to": 1}, "accepted: a mapping with the keys 'panel' (a list) and 'by'."),
    ],
)
def test_what_is_no_panel_is_refused_at_once(llm: Any, message: str) -> None:
    for use in (
        lambda: ContextPrecision(llm),
        lambda: evaluate(dataset=[ROW], scorers="faithfulness", llm=llm),
    ):
        with pytest.raises(UsageError) as caught:
            use()
        assert message in caught.value.message


# -- suites --------------------------------------------------------------------------------------------


def test_a_suite_s_judges_are_opened_once_however_many_panels_they_are_in(tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(
        "judge: [fake, qwen2.5-coder-0.5b]\ncalibration: none\n"
        "tests: [{vars: {question: Why, answer: A., context: C.}}]\n"
        "assert:\n- {type: faithfulness}\n- {type: answer-relevancy, provider: fake}\n"
        "- {type: context-relevance, provider: {panel: [{id: qwen2.5-coder-0.5b, calibration: shipped}, fake,"
        " qwen2.5-coder-1.5b], by: mean}}\n- {type: faithfulness}\n",
        encoding="utf-8",
    )
    made = assemble(load_suite(path))
    ids = {key: judge.id for key, judge in made.judges.items()}
    keys = [task.judge for task in next(made.cells).tasks]
    assert keys[0] == keys[3]
    assert [[ids[each] for each in made.seated(key)] for key in keys[:3]] == [
        ["fake", "qwen2.5-coder-0.5b"],
        ["fake"],
        ["qwen2.5-coder-0.5b", "fake", "qwen2.5-coder-1.5b"],
    ]
    assert [made.panels[keys[number]].by for number in (0, 2)] == ["majority", "mean"]
    wishes = [(ids[key], choice.asked if choice else None) for key, choice in made.calibrations.items()]
    assert wishes == [
        ("fake", "none"),
        ("qwen2.5-coder-0.5b", "none"),
        ("qwen2.5-coder-0.5b", "shipped"),
        ("qwen2.5-coder-1.5b", "none"),
    ]


def test_several_judges_can_replace_all(tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(
        f"judge: [x, y]\ntests: [{{vars: {json.dumps(ROW)}}}]\n"
        "assert: [{type: faithfulness, provider: z}, {type: answer-relevancy}]\n",
        encoding="utf-8",
    )
    mine = three()
    made = assemble(load_suite(path, override_judge=True), override=mine)
    assert list(made.judges.values()) == mine
    assert {made.seated(task.judge) for task in next(made.cells).tasks} == {tuple(made.judges)}
    assert made.panels[""].by == "majority"
