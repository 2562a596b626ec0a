from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ragjudge import AnswerRelevancy, Faithfulness, FakeJudge, evaluate, sessions
from ragjudge.errors import ConfigError, DataError, ProviderError, UnknownNameError, UsageError
from ragjudge.metrics.base import Plan
from ragjudge.prompts.answers import probability
from ragjudge.records import Check, Mode, Outcome, Sample, Score, Verdict

PYTHON = "Python is a high-level programming language created by Guido van Rossum."


@pytest.fixture(autouse=True)
def _fresh_sessions() -> Iterator[None]:
    yield
    sessions.close_shared()


def agent(question: str) -> str:
    return f"{question[:-1]} is a language created by Guido van Rossum."


def test_a_function_is_graded_over_a_dataset() -> None:
    results = evaluate(
        agent_fn=agent,
        dataset=[{"input": "Python?", "expected": "Python is a programming language."}, {"input": "Snakes?"}],
        scorers=["faithfulness", AnswerRelevancy(threshold=0.0)],
        context=PYTHON,
        llm="fake",
        cache=False,
    )
    assert [row.output for row in results.rows] == [
        "Python is a language created by Guido van Rossum.",
        "Snakes is a language created by Guido van Rossum.",
    ]
    assert results.rows[0].provider == "agent"
    assert results.rows[0].scores["faithfulness"].value == 1.0
    assert results.rows[0].contexts == (PYTHON,)
    assert list(results.report.summary) == ["faithfulness", "answer_relevancy"]


def test_what_a_function_leaves_out_fails_the_metrics_that_need_it_in_its_row_alone() -> None:
    def rag(question: str) -> dict[str, Any]:
        return {"output": agent(question), "contexts": None if question == "Snakes?" else [PYTHON]}

    results = evaluate(
        rag,
        [{"input": "Python?"}, {"input": "Snakes?"}],
        ["faithfulness", "answer_relevancy"],
        llm="fake",
        cache=False,
    )
    first, second = results.rows
    assert (first.error, first.scores["faithfulness"].value) == (None, 1.0)
    assert (second.error, second.passed) == (None, False)
    assert second.output == "Snakes is a language created by Guido van Rossum."
    lost = second.scores["faithfulness"]
    assert (lost.status, lost.passed) == ("skipped", False)
    assert lost.reason == "rag gave no contexts, which it needs."
    assert second.scores["answer_relevancy"].status == "scored"
    assert not results.passed


def test_a_field_that_the_data_set_lacks_is_refused_before_the_function_is_called() -> None:
    asked: list[str] = []
    rows = [{"input": "Python?", "expected": "A language."}, {"input": "Snakes?"}]
    with pytest.raises(DataError, match=r"^dataset\[1\]: context_recall needs expected; given: input\."):
        evaluate(asked.append, rows, ["context_recall"], context=PYTHON, llm="fake", cache=False)
    assert asked == []


def test_what_nobody_could_judge_has_not_passed() -> None:
    failing = FakeJudge({"Python is a language created by Guido van Rossum.": None})
    results = evaluate(
        agent, [{"input": "Python?"}], [Faithfulness(llm=failing)], context=PYTHON, cache=False
    )
    assert (results.rows[0].passed, results.report.coverage) == (None, 0.0)
    assert not results.passed


def test_the_summary_prints_each_metric_with_its_counts() -> None:
    results = evaluate(
        agent, [{"input": "Python?"}], ["faithfulness"], context=PYTHON, llm="fake", cache=False
    )
    lines = results.summary().splitlines()
    assert lines[1].split() == ["faithfulness", "1.000", "1", "1/1"]
    assert lines[-1].startswith("PASSED")


def test_a_rows_own_contexts_win_over_those_of_the_function_and_of_the_call() -> None:
    def retrieving(question: str) -> dict[str, Any]:
        return {"output": "An answer.", "contexts": ["from the function"]}

    results = evaluate(
        retrieving,
        [{"input": "a", "contexts": ["from the row"]}, {"input": "b"}],
        ["faithfulness"],
        context="from the call",
        llm="fake",
        cache=False,
    )
    assert [row.contexts for row in results.rows] == [("from the row",), ("from the function",)]


def test_judge_and_cache_are_opened_before_the_function_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def moving(question: str) -> str:
        asked.append(question)
        monkeypatch.chdir(tmp_path / "elsewhere")
        return agent(question)

    def graded(llm: str) -> None:
        evaluate(moving, [{"input": "Python?"}], "faithfulness", context=PYTHON, llm=llm, cache="cache")

    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnknownNameError):
        graded("qwen2.5-coder-15b")
    assert not asked
    graded("fake")
    assert asked == ["Python?"]
    assert (tmp_path / "cache" / "cache.db").is_file()
    assert not list((tmp_path / "elsewhere").iterdir())


def test_without_a_function_recorded_outputs_are_graded(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    row = {"question": "What?", "answer": PYTHON, "contexts": [PYTHON], "ground_truth": PYTHON}
    path.write_text(json.dumps(row), encoding="utf-8")
    results = evaluate(dataset=path, scorers=["faithfulness", "context_recall"], llm="fake", cache=False)
    assert results.passed
    assert {label: score.value for label, score in results.rows[0].scores.items()} == {
        "faithfulness": 1.0,
        "context_recall": 1.0,
    }


def test_a_function_that_raises_fails_its_row_alone() -> None:
    def fragile(question: str) -> str:
        if question == "b":
            raise ValueError("no index")
        return PYTHON

    results = evaluate(
        fragile, [{"input": "a"}, {"input": "b"}], ["faithfulness"], context=PYTHON, llm="fake", cache=False
    )
    assert [row.passed for row in results.rows] == [True, False]
    assert results.rows[1].error is not None
    assert "ValueError: no index" in results.rows[1].error
    assert not results.passed


def test_scorers_with_judges_of_their_own_keep_them() -> None:
    yes, no = FakeJudge({PYTHON: 0.9}), FakeJudge({PYTHON: 0.1})
    results = evaluate(
        None,
        [{"input": "a", "output": PYTHON, "context": PYTHON}],
        [Faithfulness(yes), Faithfulness(no), "faithfulness"],
        llm=no,
        cache=False,
    )
    values = {label: score.value for label, score in results.rows[0].scores.items()}
    assert values == {"faithfulness": 1.0, "faithfulness#2": 0.0, "faithfulness#3": 0.0}
    assert len(results.report.judges) == 2


class Politeness:
    """The worked example of the documentation."""

    name, by = "politeness", None
    mode: Mode = "decomposed"
    requires = ("output",)
    default_threshold = 0.5

    def plan(self, sample: Sample) -> Plan:
        return Plan.of_calls(
            [
                Check(
                    template="politeness",
                    version=1,
                    system="You check texts carefully and answer each question with Yes or No.",
                    shared=f"Text: {sample.output}\n",
                    own="Is the text polite? Answer Yes or No.",
                    labels=("Yes", "No"),
                    positive="Yes",
                    claim=sample.output or "",
                )
            ]
        )

    def score(self, sample: Sample, plan: Plan, outcomes: Sequence[Outcome]) -> Score:
        (outcome,) = outcomes
        assert isinstance(outcome, Verdict)
        value = round(probability(outcome, "Yes"), 6)
        return Score(
            metric=self.name, value=value, status="scored", mode=self.mode, reason=f"polite: {value}"
        )


def test_a_metric_of_ones_own_is_a_scorer() -> None:
    results = evaluate(
        None, [{"output": "Thank you!"}], [Politeness()], llm=FakeJudge({"Thank you!": 0.8}), cache=False
    )
    score = results.rows[0].scores["politeness"]
    assert (score.value, score.passed, score.reason) == (0.8, True, "polite: 0.8")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"dataset": [{"output": "x"}], "scorers": []}, UsageError, "evaluate needs scorers"),
        ({"dataset": [], "scorers": ["faithfulness"]}, UsageError, "at least one row"),
        ({"dataset": [{"output": "x"}], "scorers": [3]}, UsageError, "scorers holds a int"),
        ({"dataset": [{"output": "x"}], "scorers": 5}, UsageError, "scorers is a int; accepted: a metric's"),
        ({"dataset": [{"output": "x"}], "scorers": Faithfulness}, UsageError, "is the class Faithfulness"),
        ({"dataset": [{"output": "x"}], "scorers": [Faithfulness]}, UsageError, "holds the class Faithful"),
        ({"dataset": 5, "scorers": "faithfulness"}, UsageError, "dataset is the number 5; accepted: rows"),
        ({"dataset": {"output": "x"}, "scorers": "faithfulness"}, UsageError, "dataset is an object"),
        (
            {"dataset": [{"output": "x"}], "scorers": "faithfulness", "context": 5},
            UsageError,
            "context is the number 5",
        ),
        (
            {"dataset": [{"output": "x"}], "scorers": "faithfulness", "llm": 5},
            UsageError,
            "llm is 5; accepted",
        ),
        (
            {"dataset": [{"output": "x"}], "scorers": "faithfulness", "cache": True},
            UsageError,
            "cache is True",
        ),
        ({"dataset": [{"output": "x"}], "scorers": "faithfulness", "bundle": 5}, UsageError, "bundle is 5"),
        (
            {"dataset": [{"output": "x"}], "scorers": "faithfulness", "calibration": 5},
            UsageError,
            "calibration is 5; accepted: the path of a file, 'none' or 'shipped'",
        ),
        (
            {"dataset": [{"output": "x"}], "scorers": ["faithfulness"]},
            DataError,
            r"dataset\[0\]: faithfulness needs contexts; given: output\. Accepted as contexts: contexts, ",
        ),
        (
            {"agent_fn": "my agent", "dataset": [{"input": "x"}], "scorers": ["faithfulness"]},
            ProviderError,
            "accepted: a function",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        evaluate(**{"llm": "fake", "cache": False, **arguments})


@pytest.mark.parametrize("scorers", ["faithfulness", Faithfulness(llm="fake")])
def test_a_single_scorer_needs_no_list(scorers: Any) -> None:
    rows = [{"output": "Rain fell.", "context": "Rain fell."}]
    results = evaluate(dataset=rows, scorers=scorers, llm="fake", cache=False)
    assert list(results.rows[0].scores) == ["faithfulness"]


def test_a_report_is_saved_in_the_format_of_its_suffix(tmp_path: Path) -> None:
    results = evaluate(
        agent, [{"input": "Python?"}], ["faithfulness"], context=PYTHON, llm="fake", cache=False
    )
    results.save(tmp_path / "report.json")
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert report["rows"][0]["scores"]["faithfulness"]["value"] == 1.0
    with pytest.raises(UsageError, match=r"\.json, \.jsonl"):
        results.save(tmp_path / "report.xlsx")


def test_texts_are_cut_as_row_scorer_and_call_say_in_this_order() -> None:
    german = "Es wurde am 3. Oktober 1990 gebaut."
    rows: list[dict[str, Any]] = [
        {"output": german, "context": PYTHON},
        {"output": german, "context": PYTHON, "language": "en"},
    ]
    results = evaluate(
        None,
        rows,
        ["faithfulness", Faithfulness(threshold=0.1), Faithfulness(language="english"), Politeness()],
        llm="fake",
        cache=False,
        language="german",
    )
    counts = [[len(score.items) for score in row.scores.values()] for row in results.rows]
    assert counts == [[1, 1, 2, 0], [2, 2, 2, 0]]


def test_kinds_of_claims_are_for_scorers_that_count_them() -> None:
    compound = "Paris is the capital of France, and Berlin is the capital of Germany."
    rows = [{"input": "What?", "output": compound, "context": PYTHON}]
    scorers: list[Any] = [Faithfulness(claims="sentence"), "faithfulness", "answer_relevancy"]
    results = evaluate(None, rows, scorers, llm="fake", cache=False, claims="clause")
    assert [len(score.items) for score in results.rows[0].scores.values()] == [1, 2, 1]
    with pytest.raises(ConfigError, match="claims= belongs to the metrics that count claims"):
        evaluate(None, rows, ["answer_relevancy"], llm="fake", cache=False, claims="clause")


def test_an_unknown_language_is_named_before_anything_is_judged() -> None:
    judge = FakeJudge()
    rows = [{"output": PYTHON, "context": PYTHON}, {"output": PYTHON, "context": PYTHON, "language": "germn"}]
    with pytest.raises(UnknownNameError, match=r"dataset\[1\]: 'language': unknown language 'germn'"):
        evaluate(None, rows, ["faithfulness"], llm=judge, cache=False)
    samples = [Sample(id="a", output=PYTHON, contexts=(PYTHON,), language="germn")]
    with pytest.raises(UnknownNameError, match=r"dataset\[0\]: 'language': unknown language 'germn'"):
        evaluate(None, samples, ["faithfulness"], llm=judge, cache=False)
    assert judge.asked == []


def test_an_answer_that_is_none_costs_its_row_alone() -> None:
    results = evaluate(
        lambda question: None if question == "b" else PYTHON,
        [{"input": "a"}, {"input": "b"}],
        ["faithfulness"],
        context=PYTHON,
        llm="fake",
        cache=False,
    )
    assert [row.passed for row in results.rows] == [True, False]
    assert results.rows[1].error is not None
    assert "returned" in results.rows[1].error
