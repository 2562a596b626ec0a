from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from ragjudge import (
    AnswerRelevancy,
    ContextPrecision,
    ContextRecall,
    ContextRelevance,
    Faithfulness,
    FakeJudge,
    Sample,
    Scorer,
    evaluate,
    sessions,
)
from ragjudge.errors import ConfigError, DataError, ReplayMissError, UnknownNameError, UsageError
from ragjudge.metrics.registry import make_metric

CONTEXT = "Guido van Rossum began working on Python in the late 1980s and first released it in 1991."
OUTPUT = "Python was created by Guido van Rossum. It was first released in 1985."
SCRIPT = {"Python was created by Guido van Rossum.": 0.95, "It was first released in 1985.": 0.05}


@pytest.fixture(autouse=True)
def _fresh_sessions() -> Iterator[None]:
    yield
    sessions.close_shared()


def test_a_score_has_value_verdict_reason_and_items() -> None:
    result = Faithfulness(llm=FakeJudge(SCRIPT)).score(
        input="What is Python?", output=OUTPUT, context=CONTEXT
    )
    assert result.score == result.value == 0.5
    assert result.passed is False
    assert result.threshold == 0.7
    assert result.reason.startswith("1 of 2 claims supported by the contexts.")
    first = result.items[0]
    assert (first.text, first.start, first.end, first.verdict, first.probability, first.chunk) == (
        "Python was created by Guido van Rossum.", 0, 39, True, 0.95, 0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("scorer", "threshold"),
    [
        (Faithfulness(), 0.7),
        (AnswerRelevancy(), 0.7),
        (ContextRelevance(), 0.7),
        (ContextPrecision(), 0.5),
        (ContextRecall(), 0.5),
        (Faithfulness(threshold=0.2), 0.2),
        (Faithfulness(None, 1), 1.0),
    ],
)
def test_default_thresholds(scorer: Scorer, threshold: float) -> None:
    assert scorer.threshold == threshold


def test_the_threshold_itself_passes() -> None:
    judge = FakeJudge(SCRIPT)
    assert Faithfulness(judge, threshold=0.5).score(output=OUTPUT, context=CONTEXT).passed is True
    assert Faithfulness(judge, threshold=0.51).score(output=OUTPUT, context=CONTEXT).passed is False


def test_context_is_one_chunk_and_contexts_are_many() -> None:
    judge = FakeJudge()
    score = ContextPrecision(judge)
    assert len(score.score(input="Who?", context=CONTEXT).items) == 1
    assert len(score.score(input="Who?", contexts=[CONTEXT, "Snakes."]).items) == 2
    assert len(score.score(input="Who?", context=[CONTEXT, "Snakes."]).items) == 2
    assert len(score.score(input="Who?", context=str([CONTEXT, "Snakes."])).items) == 2
    with pytest.raises(DataError, match=r"context is the text \"\['a' 'b'\]\", which looks like a list"):
        score.score(input="Who?", context="['a' 'b']")
    with pytest.raises(UsageError, match="context= and contexts= are both given"):
        score.score(input="Who?", context=CONTEXT, contexts=[CONTEXT])
    with pytest.raises(UsageError, match=r"contexts\[1\] is a int; a chunk is a string"):
        score.score(input="Who?", contexts=["a", 2])  # type: ignore[list-item]


UNORDERED = [{"a", "b"}, frozenset("ab"), {"a": 1}, {"a": 1}.keys(), (chunk for chunk in "ab"), iter("ab"), 5]


@pytest.mark.parametrize("contexts", UNORDERED, ids=lambda contexts: type(contexts).__name__)
def test_contexts_without_an_order_are_refused(contexts: Any) -> None:
    accepted = "accepted: a string (one chunk), or a list or tuple of strings in rank order."
    for arguments in ({"context": contexts}, {"contexts": contexts}):
        (name,) = arguments
        with pytest.raises(UsageError, match=f"^{name} is ") as caught:
            Faithfulness(FakeJudge()).score(output=OUTPUT, **arguments)
        assert caught.value.message.endswith(accepted)
        with pytest.raises(UsageError) as caught:
            evaluate(dataset=[{"output": OUTPUT}], scorers="faithfulness", llm="fake", **arguments)
        assert caught.value.message.endswith(accepted)
    with pytest.raises(DataError, match=r"^dataset\[0\]: 'contexts' is "):
        evaluate(dataset=[{"output": OUTPUT, "contexts": contexts}], scorers="faithfulness", llm="fake")
    with pytest.raises(ValidationError, match="a list or tuple of texts, in rank order"):
        Sample(id="a", contexts=contexts)
    failed = evaluate(
        lambda _: {"output": OUTPUT, "contexts": contexts}, [{"input": "Who?"}], "faithfulness", llm="fake"
    )
    assert "'contexts' is " in (failed.rows[0].error or "")


@pytest.mark.parametrize("kind", [list, tuple, deque, np.array])
def test_contexts_with_an_order_are_taken(kind: Callable[[Sequence[str]], Any]) -> None:
    score = ContextPrecision(FakeJudge()).score(input="Who?", contexts=kind([CONTEXT, "Snakes."]))
    assert [item.text for item in score.items] == [CONTEXT, "Snakes."]


def test_a_missing_field_is_named_with_the_metric() -> None:
    with pytest.raises(DataError, match="faithfulness needs contexts") as caught:
        Faithfulness(FakeJudge()).score(input="a", output="b")
    assert caught.value.message == (
        "score(): faithfulness needs contexts; given: input, output. Accepted as contexts: context, contexts."
    )


@pytest.mark.parametrize("threshold", [-0.1, 1.1, True, "0.5", float("nan")])
def test_a_threshold_outside_its_range_is_refused(threshold: float) -> None:
    with pytest.raises(UsageError, match="a number from 0 to 1"):
        Faithfulness(threshold=threshold)


def test_an_unknown_judge_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"Did you mean 'qwen2\.5-coder-1\.5b'"):
        Faithfulness("qwen2.5-coder-15b").score(output="It is.", context="x")


def test_calls_are_cached_and_replayed_without_a_judge(tmp_path: Path) -> None:
    class Model(FakeJudge):
        pass

    judge = Model(SCRIPT)
    Faithfulness(judge, cache=tmp_path).score(output=OUTPUT, context=CONTEXT)
    assert len(judge.asked) == 2
    again = Faithfulness(judge, cache=tmp_path).score(output=OUTPUT, context=CONTEXT)
    assert len(judge.asked) == 2
    replay = Faithfulness(judge, cache=tmp_path, replay=True)
    assert replay.score(output=OUTPUT, context=CONTEXT) == again
    with pytest.raises(ReplayMissError):
        replay.score(output=OUTPUT, context="Something else.")
    assert len(judge.asked) == 2


def test_without_a_cache_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGJUDGE_CACHE", str(tmp_path / "cache"))
    Faithfulness("fake", cache=False).score(output=OUTPUT, context=CONTEXT)
    assert list(tmp_path.iterdir()) == []


def test_holistic_mode_gives_the_judges_score_and_reason() -> None:
    result = Faithfulness(FakeJudge(score=0.8), mode="holistic").score(output=OUTPUT, context=CONTEXT)
    assert (result.value, result.passed, result.mode) == (0.8, True, "holistic")
    assert result.reason == "A fake judge reads nothing."


def test_scorers_of_one_reference_share_one_judge() -> None:
    assert sessions.shared_judge("fake") is sessions.shared_judge("fake")
    mine = FakeJudge()
    assert sessions.shared_judge(mine) is mine


def test_scoring_from_several_threads_gives_each_its_own_score() -> None:
    scorer = Faithfulness("fake", cache=False)
    outputs = [f"Sentence number {n} is about Python." for n in range(12)]
    results: dict[str, str] = {}

    def work(output: str) -> None:
        results[output] = scorer.score(output=output, context=CONTEXT).items[0].text

    threads = [threading.Thread(target=work, args=(output,)) for output in outputs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {output: output for output in outputs}


def test_a_scorer_cuts_texts_as_it_is_told() -> None:
    german = "Es wurde am 3. Oktober 1990 gebaut."
    compound = "Paris is the capital of France, and Berlin is the capital of Germany."

    def pieces(scorer: Scorer, output: str) -> list[str]:
        return [item.text for item in scorer.score(output=output, context=CONTEXT).items]

    assert len(pieces(Faithfulness(FakeJudge()), german)) == 2
    assert pieces(Faithfulness(FakeJudge(), language="german"), german) == [german]
    assert pieces(Faithfulness(FakeJudge(), claims="clause"), compound) == [
        "Paris is the capital of France,",
        "and Berlin is the capital of Germany.",
    ]
    code = "It runs.\n\n```\nprint(1)\n```\n"
    assert pieces(Faithfulness(FakeJudge(), code="whole"), code) == ["It runs.", "print(1)"]
    assert len(pieces(Faithfulness(FakeJudge(), abbreviations=["Rdnr."]), "See Rdnr. Acht.")) == 1


def test_how_to_cut_texts_is_refused_where_it_would_change_nothing() -> None:
    with pytest.raises(ConfigError, match="claims= belongs to the metrics that count claims: faithfulness"):
        AnswerRelevancy(claims="clause")
    with pytest.raises(UsageError, match="language= is for the built-in metrics"):
        Scorer(metric=make_metric("faithfulness"), language="german")
    with pytest.raises(UnknownNameError, match=r"unknown language 'germn'\. Did you mean 'german'"):
        AnswerRelevancy(language="germn")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"llm": 5}, "llm is 5; accepted: a model's name, the path of a .gguf file, a Judge, "),
        (
            {"cache": True},
            "cache is True; accepted: a folder, None for the default one, False for none at all.",
        ),
        ({"cache": 5}, "cache is 5; accepted: a folder, None for the default one, False for none at all."),
        ({"cache": None, "bundle": 5}, "bundle is 5; accepted: the path of a .rjz file."),
        ({"calibration": 5}, "calibration is 5; accepted: the path of a file, 'none' or 'shipped'."),
        ({"on_empty": "pass"}, "on_empty is 'pass'; accepted: 'skip', 'fail'."),
        ({"metric": 5}, "metric is 5; accepted: an object with the methods of a Metric."),
    ],
)
def test_an_argument_of_another_kind_is_refused_in_one_sentence(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        Faithfulness(**{"llm": "fake", "cache": False, **arguments})
    assert caught.value.message.startswith(message)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"output": 5, "context": "x"}, "output is 5; accepted: text."),
        (
            {"output": "x", "context": 5},
            (
                "context is the number 5; accepted: a string (one chunk), or a list or tuple of strings in "
                "rank order."
            ),
        ),
        ({"output": "x", "contexts": [1]}, "contexts[0] is a int; a chunk is a string."),
        *(
            (
                {"output": "x", "contexts": contexts},
                (
                    f"contexts is a value of type {type(contexts).__name__}; accepted: a string (one chunk), "
                    "or a list or tuple of strings in rank order."
                ),
            )
            for contexts in (b"x", bytearray(b"x"), memoryview(b"x"))
        ),
        ({"input": b"x", "output": "x", "context": "x"}, "input is b'x'; accepted: text."),
    ],
)
def test_a_field_that_is_no_text_is_refused_in_one_sentence(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        Faithfulness(llm="fake", cache=False).score(**fields)
    assert caught.value.message == message
