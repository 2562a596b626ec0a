"""Programs and suites written for two other libraries run here, with their import line and judge changed.

They are run twice: with the fake judge for their shape, and with the default model for their values.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragjudge import (
    AnswerRelevancy,
    ContextPrecision,
    ContextRecall,
    ContextRelevance,
    Faithfulness,
    evaluate,
    sessions,
)
from ragjudge.cli.main import run

DEFAULT_MODEL = "qwen2.5-coder-1.5b"


@pytest.fixture(params=["fake", pytest.param(DEFAULT_MODEL, marks=[pytest.mark.native, pytest.mark.model])])
def judge(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    if request.param != "fake":
        path: Path = request.getfixturevalue("default_model")
        monkeypatch.setenv("RAGJUDGE_MODELS", str(path.parent))
    monkeypatch.setenv("RAGJUDGE_JUDGE", request.param)
    yield request.param
    sessions.close_shared()


def test_faithfulness_of_a_supported_answer(judge: str) -> None:
    scorer = Faithfulness()
    result = scorer.score(
        input="What is Python?",
        output="Python is a programming language created by Guido van Rossum.",
        context="Python is a high-level programming language created by Guido van Rossum in 1991.",
    )
    assert result.score == 1.0
    assert result.passed


def test_answer_relevancy_needs_neither_expected_nor_context(judge: str) -> None:
    scorer = AnswerRelevancy()
    result = scorer.score(
        input="What is the capital of France?",
        output="Paris is the capital of France, located in northern France.",
    )
    assert result.status == "scored"
    if judge == DEFAULT_MODEL:
        assert result.score == 1.0
        assert result.passed


def test_context_precision_rewards_relevant_chunks_in_front(judge: str) -> None:
    scorer = ContextPrecision()
    result = scorer.score(
        input="What is the capital of France?",
        output="Paris",
        contexts=[
            "Paris is the capital and largest city of France.",
            "France is a country in Western Europe.",
            "The Eiffel Tower is in Paris.",
        ],
    )
    assert len(result.items) == 3
    if judge == DEFAULT_MODEL:
        assert result.score == 1.0


def test_context_recall_needs_an_expected_answer(judge: str) -> None:
    scorer = ContextRecall()
    result = scorer.score(
        input="What is Python?",
        output="anything",
        expected="Python is a programming language created by Guido van Rossum in 1991.",
        context="Python is a programming language. Guido van Rossum created it in 1991.",
    )
    assert result.score == 1.0
    assert result.passed


class Agent:
    def run(self, question: str) -> str:
        return "Python is a high-level programming language."


@pytest.mark.parametrize(
    "scorers",
    [
        [Faithfulness(), AnswerRelevancy(), ContextRecall()],
        ["faithfulness", "answer_relevancy", "context_recall"],
    ],
    ids=["objects", "names"],
)
def test_scorers_are_combined_in_evaluate(judge: str, scorers: list[str | Faithfulness]) -> None:
    my_rag_agent = Agent()
    results = evaluate(
        agent_fn=my_rag_agent.run,
        dataset=[{"input": "What is Python?", "expected": "Python is a programming language."}],
        scorers=scorers,
        context="Python is a high-level programming language created by Guido van Rossum.",
    )
    print(results.summary())
    scores = results.rows[0].scores
    assert list(scores) == ["faithfulness", "answer_relevancy", "context_recall"]
    assert scores["faithfulness"].score == 1.0
    assert scores["context_recall"].score == 1.0


ASSERTIONS = {
    "context-recall": """
        - type: context-recall
          reference: "Apollo 11 landed on the Moon on 20 July 1969."
          threshold: 0.8
          provider: {{ id: {judge} }}
    """,
    "context-precision": """
        - type: context-precision
          reference: "Apollo 11 landed on 20 July 1969."
          threshold: 0.9
          provider: {{ id: {judge} }}
    """,
    "context-relevance": """
        - type: context-relevance
          threshold: 0.7
          provider: {{ id: {judge} }}
    """,
    "faithfulness": """
        - type: faithfulness
          context: |
            Apollo 11 launched on 16 July 1969 and landed on the Moon on
            20 July 1969. Neil Armstrong was the mission commander.
          threshold: 1.0
          provider: {{ id: {judge} }}
    """,
}


@pytest.mark.parametrize("name", ASSERTIONS)
def test_an_assertion_is_graded_as_written(
    judge: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = tmp_path / "suite.yaml"
    assertion = textwrap.indent(textwrap.dedent(ASSERTIONS[name].format(judge=judge)).strip(), "  ")
    suite.write_text(
        "tests:\n- vars:\n    question: When did Apollo 11 land?\n"
        "    answer: Apollo 11 landed on 20 July 1969.\n"
        "    context: Apollo 11 landed on the Moon on 20 July 1969.\n"
        f"  assert:\n{assertion}\n",
        encoding="utf-8",
    )
    code = run(["run", str(suite), "-o", str(tmp_path / "rows.jsonl")])
    # Word overlap, which is all that the fake judge knows, says nothing about relevance.
    assert code == 0 or (judge == "fake" and name == "context-relevance")
    printed = capsys.readouterr().out
    by = "[claims]" if name == "context-precision" else ""
    assert f"{name.replace('-', '_')}{by}" in printed


def test_the_system_under_test_and_its_judge_can_be_different(
    judge: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "system.py").write_text(
        "def answer(question):\n    return 'Apollo 11 landed on 20 July 1969.'\n", encoding="utf-8"
    )
    suite = tmp_path / "suite.yaml"
    suite.write_text(
        textwrap.dedent(f"""\
            providers:
              - id: python:system.py:answer
            tests:
              - vars: {{ question: "When did Apollo 11 land?" }}
                assert:
                  - type: faithfulness
                    context: "Apollo 11 landed on 20 July 1969."
                    threshold: 0.9
                    provider:
                      id: {judge}
            """),
        encoding="utf-8",
    )
    assert run(["run", str(suite)]) == 0
    assert "PASSED" in capsys.readouterr().out


def test_a_cloud_judge_is_mapped_by_name(
    judge: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = tmp_path / "suite.yaml"
    assertion = textwrap.dedent(ASSERTIONS["faithfulness"].format(judge="openai:gpt-4o")).strip()
    tests = "tests:\n- vars: {answer: Apollo 11 landed on 20 July 1969.}\n  assert:\n"
    suite.write_text(tests + textwrap.indent(assertion, "  "), encoding="utf-8")
    assert run(["run", str(suite)]) == 2
    assert 'judges: {"openai:gpt-4o": qwen2.5-coder-1.5b}' in capsys.readouterr().err
    suite.write_text(
        f'judges: {{"openai:gpt-4o": {judge}}}\n' + suite.read_text(encoding="utf-8"), encoding="utf-8"
    )
    assert run(["run", str(suite)]) == 0


def test_relevance_scorer_is_public() -> None:
    assert ContextRelevance().name == "context_relevance"
    assert "RAGJUDGE_JUDGE" not in os.environ
