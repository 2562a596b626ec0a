from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ragjudge.errors import ConfigError, ProviderError, UnknownNameError
from ragjudge.providers.base import (
    ProducedOutput,
    Provider,
    ProviderFailure,
    ProviderSpec,
    service_of,
    with_output,
)
from ragjudge.providers.python_callable import from_callable, load_callable
from ragjudge.providers.recorded import RecordedProvider
from ragjudge.providers.registry import open_provider
from ragjudge.records import Sample

ROW = Sample(id="r1", input="Q")


@pytest.fixture(autouse=True)
def _modules_are_forgotten() -> Iterator[None]:
    """Undo what a test imports, so that the next one imports its own file."""
    modules, path = set(sys.modules), list(sys.path)
    yield
    assert sys.path == path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def write(folder: Path, text: str, name: str = "my_rag.py") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def opened(folder: Path, reference: str = "python:my_rag.py:answer") -> Provider:
    return open_provider(ProviderSpec(id=reference), folder)


def test_a_function_of_a_file_beside_the_suite_answers(tmp_path: Path) -> None:
    write(tmp_path, "def answer(question):\n    return question + '!'\n")
    provider = opened(tmp_path)
    assert provider.name == "python:my_rag.py:answer"
    assert provider.produce(ROW) == ProducedOutput("Q!")


def test_a_file_may_import_its_neighbours_while_it_is_imported(tmp_path: Path) -> None:
    write(tmp_path, "from my_neighbour import mark\ndef answer(q):\n    return q + mark\n", "sub/my_rag.py")
    write(tmp_path, "mark = '?'\n", "sub/my_neighbour.py")
    assert opened(tmp_path, "python:sub/my_rag.py:answer").produce(ROW) == ProducedOutput("Q?")
    assert str(tmp_path / "sub") not in sys.path


def test_a_module_of_a_package_beside_the_suite_is_found_and_so_are_attributes_of_objects(
    tmp_path: Path,
) -> None:
    write(tmp_path, "", "my_package/__init__.py")
    write(
        tmp_path,
        "class Bot:\n    def ask(self, q):\n        return q * 2\nbot = Bot()\n",
        "my_package/bots.py",
    )
    assert opened(tmp_path, "python:my_package.bots:bot.ask").produce(ROW) == ProducedOutput("QQ")


def test_a_file_cannot_hide_an_installed_module(tmp_path: Path) -> None:
    import json

    write(
        tmp_path,
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: 'int' = 1\n"
        "def answer(q):\n    return str(A().x)\n",
        "json.py",
    )
    assert opened(tmp_path, "python:json.py:answer").produce(ROW) == ProducedOutput("1")
    assert sys.modules["json"] is json


@pytest.mark.parametrize(
    ("returned", "produced"),
    [
        ("A.", ProducedOutput("A.")),
        ("", ProducedOutput("")),
        ({"output": "A."}, ProducedOutput("A.")),
        ({"output": "A.", "contexts": ["a", "b"], "cost": 3}, ProducedOutput("A.", ("a", "b"))),
        ({"answer": "A.", "context": "one"}, ProducedOutput("A.", ("one",))),
        ({"output": "A.", "contexts": [{"page_content": "a"}]}, ProducedOutput("A.", ("a",))),
        ({"output": "A.", "contexts": []}, ProducedOutput("A.", ())),
        ({"output": "A.", "contexts": None}, ProducedOutput("A.")),
    ],
)
def test_a_function_returns_text_or_a_mapping(returned: Any, produced: ProducedOutput) -> None:
    assert from_callable(lambda _: returned, "fn").produce(ROW) == produced


@pytest.mark.parametrize(
    ("returned", "sentence"),
    [
        (None, "fn for row 'r1' returned null; accepted: text, or a mapping with 'output' and 'contexts'."),
        (
            ("A.", ["a"]),
            "fn for row 'r1' returned a list; accepted: text, or a mapping with 'output' and 'contexts'.",
        ),
        ({"text": "A."}, "fn for row 'r1' returned a mapping without 'output'; its keys: text."),
        ({"output": None}, "fn for row 'r1' returned a mapping without 'output'; its keys: output."),
        ({"output": 5}, "fn for row 'r1' returned: 'output' is the number 5; accepted: text."),
        (
            {"output": "A.", "contexts": 5},
            (
                "fn for row 'r1' returned: 'contexts' is the number 5; "
                "accepted: a text (one chunk) or a list of chunks."
            ),
        ),
        (
            {"output": "A.", "answer": "B."},
            (
                "fn for row 'r1' returned: 'output' and 'answer' both mean the sample's output and differ; "
                "give one of them."
            ),
        ),
    ],
)
def test_what_is_no_answer_costs_its_row_alone(returned: Any, sentence: str) -> None:
    assert from_callable(lambda _: returned, "fn").produce(ROW) == ProviderFailure(sentence)


def test_a_coroutine_is_refused_with_the_way_out() -> None:
    async def answer(question: str) -> str:
        return question

    with pytest.raises(ProviderError) as caught:
        from_callable(answer).produce(ROW)
    assert caught.value.message == "answer for row 'r1' returned an awaitable; accepted: the answer itself."
    assert caught.value.hint == "name a plain function that runs the coroutine with asyncio.run"


def test_an_exception_costs_its_row_alone_and_names_file_and_line(tmp_path: Path) -> None:
    write(
        tmp_path,
        "def answer(q):\n    if q == 'bad':\n        raise KeyError('no\\nluck')\n    return q\n",
    )
    provider = opened(tmp_path)
    assert provider.produce(Sample(id="a", input="bad")) == ProviderFailure(
        "python:my_rag.py:answer raised KeyError: 'no\\nluck' (my_rag.py, line 3)."
    )
    assert provider.produce(Sample(id="b", input="good")) == ProducedOutput("good")


class WordlessError(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (SystemExit(0), "SystemExit: 0"),
        (asyncio.CancelledError(), "CancelledError"),
        (WordlessError(), "WordlessError"),
    ],
)
def test_whatever_ends_the_function_costs_its_row_alone(raised: BaseException, said: str) -> None:
    def answer(question: str) -> str:
        raise raised

    produced = from_callable(answer, "fn").produce(ROW)
    assert isinstance(produced, ProviderFailure)
    assert produced.reason.startswith(f"fn raised {said} (test_python_callable.py, line ")


def test_an_interrupt_is_no_failure_of_a_row() -> None:
    def answer(question: str) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        from_callable(answer).produce(ROW)


def test_a_row_without_a_question_is_not_asked() -> None:
    asked: list[str] = []
    assert from_callable(asked.append, "fn").produce(Sample(id="a")) == ProviderFailure(
        "fn: the row has no input to ask."
    )
    assert asked == []


@pytest.mark.parametrize(
    ("reference", "sentence"),
    [
        (
            "python:my_rag.py",
            "names no function; accepted: python:FILE.py:FUNCTION or python:package.module:FUNCTION.",
        ),
        (
            "python:my_rag.py:",
            "names no function; accepted: python:FILE.py:FUNCTION or python:package.module:FUNCTION.",
        ),
        (
            "python:",
            "names no function; accepted: python:FILE.py:FUNCTION or python:package.module:FUNCTION.",
        ),
        ("python:none.py:answer", ": there is no file {folder}none.py."),
        ("python:my_rag.py:anwser", ": there is no 'anwser' in it. Did you mean 'answer'?"),
        ("python:my_rag.py:x.y.z", ": there is no 'x.y.z' in it."),
        ("python:my_rag.py:LIMIT", ": LIMIT is the number 5, not a function."),
        (
            "python:broken.py:answer",
            ": importing it raised ValueError: at import (broken.py, line 2).",
        ),
        ("python:leaves.py:answer", ": importing it raised SystemExit: 3 (leaves.py, line 1)."),
        (
            "python:no_such_package.module:answer",
            ": importing it raised ModuleNotFoundError: No module named 'no_such_package'.",
        ),
    ],
)
def test_a_function_that_cannot_be_loaded_is_said_in_one_sentence(
    tmp_path: Path, reference: str, sentence: str
) -> None:
    write(tmp_path, "LIMIT = 5\ndef answer(q):\n    return q\n")
    write(tmp_path, "x = 1\nraise ValueError('at import')\n", "broken.py")
    write(tmp_path, "raise SystemExit(3)\n", "leaves.py")
    with pytest.raises(ProviderError) as caught:
        opened(tmp_path, reference)
    separator = "" if sentence.startswith(":") else " "
    expected = sentence.replace("{folder}", str(tmp_path / "x")[:-1])
    assert caught.value.message == f"provider '{reference}'{separator}{expected}"


def test_a_syntax_error_names_its_file_and_line(tmp_path: Path) -> None:
    write(tmp_path, "def answer(q)\n    return q\n")
    with pytest.raises(ProviderError, match=r"importing it raised SyntaxError: .*\(my_rag\.py, line 1\)\.$"):
        opened(tmp_path)


def test_what_is_not_callable_is_refused() -> None:
    with pytest.raises(ProviderError) as caught:
        from_callable("answer")  # type: ignore[arg-type]
    assert caught.value.message == (
        "the system under test is the text 'answer'; accepted: a function of the question."
    )


def test_a_function_is_called_by_its_name_and_an_object_by_its_class() -> None:
    class Bot:
        def __call__(self, question: str) -> str:
            return question

    assert from_callable(Bot()).name == "Bot"
    assert from_callable(len).name == "len"


def test_loading_runs_a_file_once_only_when_it_is_named(tmp_path: Path) -> None:
    write(tmp_path, "import pathlib\npathlib.Path(__file__).with_name('ran').touch()\ndef answer(q): ...\n")
    assert not (tmp_path / "ran").exists()
    assert callable(load_callable("python:my_rag.py:answer", tmp_path))
    assert (tmp_path / "ran").exists()


def test_recorded_rows_hand_out_what_they_hold(tmp_path: Path) -> None:
    provider = opened(tmp_path, "recorded")
    assert isinstance(provider, RecordedProvider)
    assert provider.name == "recorded"
    assert provider.produce(Sample(id="a", output="A.", contexts=("c",))) == ProducedOutput("A.", ("c",))
    assert provider.produce(Sample(id="a")) == ProducedOutput(None)


def test_a_row_s_own_contexts_win() -> None:
    produced = ProducedOutput("new", ("theirs",))
    own = Sample(id="a", output="old", contexts=("own",))
    assert with_output(own, produced, "f") == Sample(id="a", output="new", contexts=("own",), provider="f")
    assert with_output(Sample(id="a", contexts=()), produced, "f").contexts == ()
    assert with_output(Sample(id="a"), produced, "f").contexts == ("theirs",)


@pytest.mark.parametrize(
    ("reference", "hint"),
    [
        (
            "openai:gpt-4o-mini",
            (
                "ragjudge calls no openai model; write a Python function that does, and name it as "
                "`python:FILE.py:FUNCTION`"
            ),
        ),
        ("exec:./run.sh", None),
        ("pythn:my_rag.py:answer", None),
    ],
)
def test_an_unknown_kind_of_provider_is_named(tmp_path: Path, reference: str, hint: str | None) -> None:
    with pytest.raises(UnknownNameError) as caught:
        opened(tmp_path, reference)
    assert caught.value.message.startswith(f"unknown provider '{reference}'.")
    assert caught.value.message.endswith("Accepted: python:FILE.py:FUNCTION, recorded.")
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (
            ProviderSpec(id="recorded", options={"temperature": 0}),
            "provider 'recorded': unknown key 'temperature'; accepted: id.",
        ),
        (
            ProviderSpec(id="recorded:x"),
            "provider 'recorded:x': 'recorded' stands alone; accepted: recorded.",
        ),
    ],
)
def test_what_a_provider_does_not_take_is_refused(tmp_path: Path, spec: ProviderSpec, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        open_provider(spec, tmp_path)
    assert caught.value.message == sentence


@pytest.mark.parametrize(
    ("reference", "service"),
    [
        ("openai:gpt-4o", "openai"),
        ("Anthropic:claude", "Anthropic"),
        ("bedrock:x:y", "bedrock"),
        ("openai", None),
        ("C:\\models\\a.gguf", None),
        ("models/openai:x.gguf", None),
        ("fake", None),
    ],
)
def test_the_service_of_a_name_is_its_known_prefix(reference: str, service: str | None) -> None:
    assert service_of(reference) == service
