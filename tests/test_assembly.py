from __future__ import annotations

from pathlib import Path

import pytest

from ragjudge.assembly import assemble
from ragjudge.errors import ConfigError, DataError, ProviderError, RagjudgeError, UnknownNameError
from ragjudge.judges.fake import FakeJudge
from ragjudge.judges.llama.judge import LlamaJudge
from ragjudge.metrics.base import TwoModeMetric
from ragjudge.suites.load import load_suite
from ragjudge.text.splitting import Splitting

ROW = "tests:\n- vars: {question: Who, answer: Me., context: It was me.}\n"


def suite(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "suite.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_equal_judges_are_one_and_different_ones_are_not(tmp_path: Path) -> None:
    asserts = (
        "assert:\n- {type: faithfulness}\n- {type: context-relevance, provider: fake}\n"
        "- {type: answer-relevancy, provider: {id: qwen2.5-coder-0.5b, window: 512}}\n"
        "- {type: faithfulness, provider: {id: qwen2.5-coder-0.5b}}\n"
    )
    made = assemble(load_suite(suite(tmp_path, f"judge: fake\n{ROW}{asserts}")))
    (cell,) = made.cells
    keys = [task.judge for task in cell.tasks]
    assert keys[0] == keys[1]
    assert len({*keys}) == len(made.judges) == 3
    assert [judge.id for judge in made.judges.values()] == [
        "fake",
        "qwen2.5-coder-0.5b",
        "qwen2.5-coder-0.5b",
    ]
    assert [task.label for task in cell.tasks][-1] == "faithfulness#2"


def test_one_judge_can_replace_all(tmp_path: Path) -> None:
    asserts = "assert:\n- {type: faithfulness, provider: some-model}\n- {type: answer-relevancy}\n"
    mine = FakeJudge()
    made = assemble(load_suite(suite(tmp_path, ROW + asserts), override_judge=True), override=mine)
    assert list(made.judges.values()) == [mine]


def test_an_assertions_own_context_and_reference_win(tmp_path: Path) -> None:
    asserts = (
        "assert:\n- {type: context-recall, reference: It was you., context: [a, b]}\n- {type: faithfulness}\n"
    )
    made = assemble(load_suite(suite(tmp_path, f"judge: fake\n{ROW}{asserts}")))
    recall, faithfulness = next(made.cells).tasks
    assert (recall.sample.expected, recall.sample.contexts) == ("It was you.", ("a", "b"))
    assert (faithfulness.sample.expected, faithfulness.sample.contexts) == (None, ("It was me.",))
    assert (recall.threshold, faithfulness.threshold) == (0.5, 0.7)


def test_each_provider_answers_each_row(tmp_path: Path) -> None:
    (tmp_path / "system.py").write_text(
        "def good(q):\n    return {'output': 'Yes ' + q, 'contexts': ['c']}\n"
        "def bad(q):\n    raise KeyError('index')\n",
        encoding="utf-8",
    )
    providers = "providers: [recorded, 'python:system.py:good', 'python:system.py:bad']\n"
    tests = "tests:\n- vars: {question: Who, answer: Me.}\nassert: [{type: answer-relevancy}]\n"
    made = assemble(load_suite(suite(tmp_path, f"judge: fake\n{providers}{tests}")))
    recorded, good, bad = made.cells
    assert (recorded.provider, recorded.sample.output, recorded.error) == (None, "Me.", None)
    assert (good.provider, good.sample.output) == ("python:system.py:good", "Yes Who")
    assert good.sample.contexts == ("c",)
    assert bad.error is not None
    assert "KeyError" in bad.error


@pytest.mark.parametrize(
    ("providers", "metric", "second", "says"),
    [
        (
            "'python:system.py:answer'",
            "context-recall",
            "{question: Why}",
            "needs expected; given: question.",
        ),
        # What the system gives, a recorded row does not.
        (
            "'python:system.py:answer', recorded",
            "answer-relevancy",
            "{question: Why, expected: So.}",
            "needs output; given: question, expected.",
        ),
    ],
)
def test_nothing_is_produced_for_a_suite_with_a_row_that_cannot_be_graded(
    tmp_path: Path, providers: str, metric: str, second: str, says: str
) -> None:
    (tmp_path / "system.py").write_text("def answer(q):\n    raise SystemExit('asked')\n", encoding="utf-8")
    text = (
        f"judge: fake\nproviders: [{providers}]\n"
        f"tests: [{{vars: {{question: Who, expected: Me., answer: I.}}}}, {{vars: {second}}}]\n"
        f"assert: [{{type: {metric}}}]\n"
    )
    with pytest.raises(DataError) as caught:
        assemble(load_suite(suite(tmp_path, text)))
    assert f"tests[1].vars: {metric.replace('-', '_')} {says}" in caught.value.message


@pytest.mark.parametrize(
    ("provider", "error", "sentence"),
    [
        (
            "python:none.py:answer",
            ProviderError,
            "providers[1]: provider 'python:none.py:answer': there is no",
        ),
        ("command:x", UnknownNameError, "providers[1]: unknown provider 'command:x'."),
        ("{id: recorded, key: 1}", ConfigError, "providers[1]: provider 'recorded': unknown key 'key'"),
        ("python:system.py:later", ProviderError, "providers[1]: python:system.py:later for row 'row-1' ret"),
    ],
)
def test_what_a_provider_is_refused_for_names_the_suite(
    tmp_path: Path, provider: str, error: type[RagjudgeError], sentence: str
) -> None:
    (tmp_path / "system.py").write_text(
        "def good(q):\n    return q\nasync def later(q):\n    return q\n", encoding="utf-8"
    )
    path = suite(
        tmp_path,
        f"judge: fake\nproviders: [python:system.py:good, {provider}]\n{ROW}assert: [type: faithfulness]\n",
    )
    with pytest.raises(error) as caught:
        list(assemble(load_suite(path)).cells)
    assert caught.value.message.startswith(f"{path}: {sentence}")
    assert str(caught.value) == caught.value.message


@pytest.mark.parametrize(("setting", "size"), [("off", 0), ("8GiB", 8 << 30), ("1000", 1000), (None, None)])
def test_the_prefix_store_is_bounded_by_the_suite(
    tmp_path: Path, setting: str | None, size: int | None
) -> None:
    head = "" if setting is None else f"prefix_store: {setting}\n"
    text = f"judge: qwen2.5-coder-0.5b\n{head}{ROW}assert: [{{type: faithfulness}}]\n"
    (judge,) = assemble(load_suite(suite(tmp_path, text))).judges.values()
    assert isinstance(judge, LlamaJudge)
    assert judge._prefix_bytes == size


@pytest.mark.parametrize(
    ("head", "sentence"),
    [
        ("prefix_store: plenty", "prefix store: 'plenty' is no size; accepted: off, or a size such as 8GiB."),
        (f"prefix_store: 1{'0' * 400}GiB", f"prefix store: '1{'0' * 400}GiB' is no size; accepted: off, or"),
        (
            f"judge: {{id: qwen2.5-coder-0.5b, window: 1{'0' * 22}}}",
            f"judge 'qwen2.5-coder-0.5b': window is 1{'0' * 22}; accepted: 64 to 100000000.",
        ),
        (
            "judge: {id: http, base_url: 'http://localhost/v1', model: m, timeout: 1.0e+400}",
            "judge 'http': timeout is inf; accepted: a number of seconds above 0, up to 1,000,000.",
        ),
        (
            'judge: fake\ncalibration: "a\\0b"',
            "calibration: found the text 'a\\x00b'; accepted: a text without",
        ),
    ],
)
def test_a_setting_out_of_its_range_names_the_suite(tmp_path: Path, head: str, sentence: str) -> None:
    path = suite(tmp_path, f"{head}\n{ROW}assert: [{{type: faithfulness}}]\n")
    with pytest.raises(ConfigError) as caught:
        assemble(load_suite(path))
    assert caught.value.message.startswith(f"{path}: {sentence}")


def test_the_metrics_of_a_suite_cut_texts_as_it_says(tmp_path: Path) -> None:
    head = "judge: fake\nlanguage: german\nclaims: clause\n"
    asserts = "assert:\n- {type: faithfulness}\n- {type: answer-relevancy}\n"
    (cell,) = assemble(load_suite(suite(tmp_path, head + ROW + asserts))).cells
    metrics = [task.metric for task in cell.tasks]
    assert [metric.splitting for metric in metrics if isinstance(metric, TwoModeMetric)] == [
        Splitting("german", "clause")
    ] * 2
