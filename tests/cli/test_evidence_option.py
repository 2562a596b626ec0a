"""How much of the contexts the judge is shown, from the outside: options, the suite's key, Python."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ragjudge import ContextPrecision, ContextRecall, Faithfulness, FakeJudge, evaluate, sessions
from ragjudge.cli.main import run
from ragjudge.errors import UnknownNameError, UsageError
from ragjudge.metrics.registry import make_metric
from ragjudge.records import Call, Check, Outcome
from ragjudge.scorers import Scorer
from ragjudge.text.splitting import EvidenceMode

SENTENCES = [f"Ship {number} left the harbour of Skerry in {1900 + number}." for number in range(9)]
CONTEXT = " ".join(SENTENCES)
CLAIM = "Ship 7 left in 1907."
EXCERPT = ("support_excerpt@1", " ".join([*SENTENCES[:4], SENTENCES[7]]))
WHOLE = ("support@1", CONTEXT)
ROW: dict[str, Any] = {
    "id": "ship",
    "question": "When?",
    "answer": CLAIM,
    "contexts": [CONTEXT],
    "expected": CLAIM,
}


@pytest.fixture(autouse=True)
def _fresh_sessions() -> Iterator[None]:
    yield
    sessions.close_shared()


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What the fake judge is asked: template and chunks of each question."""
    found: list[tuple[str, str]] = []
    ask = FakeJudge.ask

    def watched(self: FakeJudge, calls: Sequence[Call]) -> Iterator[tuple[int, Outcome]]:
        for call in calls:
            assert isinstance(call, Check)
            chunks = (call.shared[each.text : each.text_end] for each in call.segments)
            found.append((f"{call.template}@{call.version}", "|".join(chunks)))
        return ask(self, calls)

    monkeypatch.setattr(FakeJudge, "ask", watched)
    return found


def forget(shown: list[tuple[str, str]]) -> None:
    """Forget what was shown, and what was answered."""
    sessions.close_shared()
    shown.clear()


# -- the command line ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "expected"),
    [([], EXCERPT), (["--evidence", "excerpt"], EXCERPT), (["--evidence", "whole"], WHOLE)],
)
def test_score_and_grade_show_an_excerpt_unless_told_to_show_everything(
    options: list[str], expected: tuple[str, str], shown: list[tuple[str, str]], tmp_path: Path
) -> None:
    fake = ["--judge", "fake", "--no-cache"]
    run(["score", "faithfulness", "--output", CLAIM, "--context", CONTEXT, *fake, *options])
    assert shown == [expected]
    rows = tmp_path / "rows.jsonl"
    rows.write_text(f"{json.dumps(ROW)}\n", encoding="utf-8")
    for metric, more in (
        ("context-recall", []),
        ("context-precision", []),
        ("context-precision", ["--by", "claims"]),
    ):
        shown.clear()
        run(["grade", str(rows), "-m", metric, *more, "-q", *fake, *options])
        assert shown == [expected]


@pytest.mark.parametrize("value", ["all", "Whole", ""])
@pytest.mark.parametrize(
    "command",
    [
        ["score", "faithfulness", "--output", CLAIM, "--context", CONTEXT],
        ["grade", "rows.jsonl", "-m", "faithfulness"],
    ],
)
def test_another_value_is_one_sentence_and_exit_code_2(
    command: list[str], value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, "--judge", "fake", "--evidence", value]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("Error: ") == 1
    assert (
        f"Error: Invalid value for '--evidence': '{value}' is not one of 'excerpt', 'whole'." in captured.err
    )


# -- suites --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "expected"),
    [("", EXCERPT), ("evidence: excerpt\n", EXCERPT), ("evidence: whole\n", WHOLE)],
)
def test_a_suite_says_how_much_is_shown(
    key: str, expected: tuple[str, str], shown: list[tuple[str, str]], tmp_path: Path
) -> None:
    suite = tmp_path / "suite.yaml"
    (tmp_path / "rows.jsonl").write_text(f"{json.dumps(ROW)}\n", encoding="utf-8")
    assertions = "assert: [{type: faithfulness}, {type: context-recall}, {type: context-precision}]\n"
    suite.write_text(f"judge: fake\ncache: cache\ndataset: rows.jsonl\n{key}{assertions}", encoding="utf-8")
    run(["run", str(suite), "-q"])
    assert shown == [expected]  # once for the three of them
    shown.clear()
    assert run(["run", str(suite), "-q", "--replay"]) in (0, 1)
    assert shown == []


def test_a_cache_that_was_filled_under_one_setting_misses_under_the_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = tmp_path / "suite.yaml"
    (tmp_path / "rows.jsonl").write_text(f"{json.dumps(ROW)}\n", encoding="utf-8")
    text = "judge: fake\ncache: cache\ndataset: rows.jsonl\nassert: [{type: faithfulness}]\n"
    suite.write_text(text, encoding="utf-8")
    assert run(["run", str(suite), "-q"]) in (0, 1)
    suite.write_text(f"evidence: whole\n{text}", encoding="utf-8")
    capsys.readouterr()
    assert run(["run", str(suite), "-q", "--replay"]) == 4
    assert "ship, faithfulness (support@1)" in capsys.readouterr().err


# -- Python --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Faithfulness, ContextRecall, ContextPrecision])
def test_a_scorer_shows_an_excerpt_unless_told_to_show_everything(
    kind: type[Scorer], shown: list[tuple[str, str]]
) -> None:
    modes: list[EvidenceMode | None] = [None, "excerpt", "whole"]
    for evidence, expected in zip(modes, [EXCERPT, EXCERPT, WHOLE], strict=True):
        forget(shown)
        scorer = kind(FakeJudge(), cache=False, evidence=evidence)
        scorer.score(input="When?", output=CLAIM, expected=CLAIM, context=CONTEXT)
        assert shown == [expected]


def test_evaluate_tells_scorers_that_do_not_say(shown: list[tuple[str, str]]) -> None:
    def graded(*scorers: Any, **options: Any) -> set[tuple[str, str]]:
        forget(shown)
        evaluate(dataset=[ROW], scorers=scorers, llm="fake", cache=False, **options)
        return set(shown)

    assert graded("faithfulness") == {EXCERPT}
    assert graded("faithfulness", "context_recall", evidence="whole") == {WHOLE}
    assert graded(Faithfulness(), evidence="whole") == {WHOLE}
    assert graded(Faithfulness(evidence="excerpt"), "context_recall", evidence="whole") == {EXCERPT, WHOLE}
    assert graded(Faithfulness(evidence="whole")) == {WHOLE}


def test_what_cannot_be_shown_is_refused() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown evidence mode 'hole'\. Did you mean 'whole'\?"):
        Faithfulness(evidence="hole")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="unknown evidence mode 'all'"):
        evaluate(dataset=[ROW], scorers=["faithfulness"], llm="fake", cache=False, evidence="all")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="evidence= is for the built-in metrics"):
        Scorer(metric=make_metric("faithfulness"), evidence="whole")
