from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ragjudge.cli.models import models
from ragjudge.errors import JudgeUnavailableError, ModelFileError, ModelMissingError, UnknownNameError
from ragjudge.gguf import memory
from ragjudge.gguf.memory import Memory
from tests.judges.families import GEMMA, GPT_OSS
from tests.native import tiny


def text_of(*args: str) -> str:
    result = CliRunner().invoke(models, ["info", *args])
    assert result.exception is None, result.exception
    return result.output


def info_of(*args: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text_of(*args, "--format", "json"))
    return found


@pytest.fixture
def model(tmp_path: Path) -> str:
    return str(tiny.build(tmp_path / "tiny.gguf"))


@pytest.fixture
def no_llama(monkeypatch: pytest.MonkeyPatch) -> None:
    from ragjudge.judges.llama import library

    def missing() -> None:
        raise JudgeUnavailableError("this judge needs llama-cpp-python, which is not installed here.")

    monkeypatch.setattr(library, "library", missing)


def test_the_head_of_a_file_tells_most(model: str) -> None:
    info = info_of(model)
    assert info["architecture"] == "llama"
    assert info["title"] == "tiny"
    assert info["layers"] == 2
    assert info["training_context"] == info["window"] == tiny.CONTEXT
    assert info["size"] == Path(model).stat().st_size
    assert info["known_as"] is None
    assert info["profile"] is None
    assert info["rope_factors"] is None


def test_the_memory_grows_with_the_window_and_shrinks_with_smaller_numbers(model: str) -> None:
    small, large, tight = (
        info_of(model, *options)["memory"]
        for options in (("--window", "512"), ("--window", "2048"), ("--window", "2048", "--kv", "q8_0"))
    )
    per_token = 2 * (64 + 64) * 2  # layers x (keys + values) x bytes
    assert small["tokens"] == (512 + 512) * per_token
    assert large["tokens"] == (2048 + 512) * per_token
    assert tight["tokens"] == large["tokens"] / 2 * 34 / 32
    for taken in (small, large, tight):
        assert taken["total"] == taken["file"] + taken["tokens"] + taken["compute"]


@pytest.mark.parametrize(("repack", "more"), [(600_000_000, "; with repack up to 600.0 MB more"), (0, "")])
def test_the_text_says_what_repacked_weights_would_take_besides(
    model: str, monkeypatch: pytest.MonkeyPatch, repack: int, more: str
) -> None:
    found = Memory(file=1_000_000_000, tokens=200_000_000, compute=30_000_000, repack=repack)
    monkeypatch.setattr(memory, "memory_needed", lambda *args, **settings: found)
    (line,) = (line for line in text_of(model).splitlines() if line.startswith("memory"))
    parts = "file 1,000.0 MB, tokens 200.0 MB (f16), working space about 30.0 MB"
    assert line.split(maxsplit=1)[1] == f"1,230.0 MB: {parts}{more}"


@pytest.mark.native
def test_with_llama_cpp_the_tokens_of_labels_and_prompt_are_shown(model: str) -> None:
    info = info_of(model)
    assert info["chat"]["family"] == "ChatML"
    assert info["chat"]["source"] == "file"
    assert info["chat"]["thinking"] == "none"
    asks = info["asks"]
    assert asks["positive"] == "Yes"
    assert {"Yes", "YES", "yes"} <= {text.strip() for text in asks["labels"]["Yes"]}
    assert asks["prompt"].startswith("<|im_start|>system\nYou check texts carefully")
    assert asks["prompt"].endswith("<|im_end|>\n<|im_start|>assistant\n")
    assert asks["tokens"] > 50
    assert info["missing"] is None
    text = text_of(model)
    assert "frame" in text
    assert "'<|im_start|>system\\n' SYSTEM '<|im_end|>\\n<|im_start|>user\\n' USER" in text
    assert re.search(r"answer Yes +it holds, written '", text)


@pytest.mark.usefixtures("no_llama")
def test_without_llama_cpp_the_rest_is_shown_and_what_is_missing_is_said(model: str) -> None:
    info = info_of(model)
    assert info["asks"]["tokens"] is None
    assert info["asks"]["labels"] == {"Yes": None, "No": None}
    assert "Claim: Python was created by Guido van Rossum." in info["asks"]["prompt"]
    assert "llama-cpp-python" in info["missing"]
    text = text_of(model)
    assert "not shown" in text
    assert "llama-cpp-python, which is not installed" in text


@pytest.mark.usefixtures("no_llama")
def test_how_thinking_and_missing_roles_are_handled_is_shown(tmp_path: Path) -> None:
    thinking = info_of(str(tiny.build(tmp_path / "thinks.gguf", template=GPT_OSS)))["chat"]
    assert thinking["thinking"] == "final"
    assert "<|channel|>final<|message|>" in thinking["thinking_handled"]
    merged = text_of(str(tiny.build(tmp_path / "merged.gguf", template=GEMMA)))
    assert "Gemma (the file's chat template); the system text is head of the user's turn" in merged


@pytest.mark.usefixtures("no_llama")
def test_a_file_without_a_template_is_asked_in_plain_text(tmp_path: Path) -> None:
    chat = info_of(str(tiny.build(tmp_path / "base.gguf", template=None)))["chat"]
    assert (chat["family"], chat["source"], chat["after"]) == ("plain", "ours", "\nAnswer:")


@pytest.mark.usefixtures("no_llama")
def test_a_template_that_cannot_be_used_is_said_beside_the_rest(tmp_path: Path) -> None:
    path = str(tiny.build(tmp_path / "bad.gguf", template="{{ nothing }}"))
    info = info_of(path)
    assert info["architecture"] == "llama"
    assert info["chat"] is info["asks"] is None
    assert "chat template cannot be used" in info["unusable"]
    assert "chat template cannot be used" in text_of(path)


@pytest.mark.usefixtures("no_llama")
def test_a_profile_is_shown_with_what_its_labels_mean(model: str) -> None:
    info = info_of(model, "--profile", "granite-guardian")
    assert info["profile"] == "granite-guardian@1"
    assert info["chat"]["source"] == "profile"
    assert info["asks"]["positive"] == "No"
    text = text_of(model, "--profile", "granite-guardian")
    assert re.search(r"answer Yes +it does not hold\n", text)
    assert re.search(r"answer No +it holds\n", text)


@pytest.mark.usefixtures("no_llama")
def test_rope_factors_and_sliding_windows_are_shown_where_there_are_any(tmp_path: Path) -> None:
    path = str(tiny.build(tmp_path / "rope.gguf", shape=tiny.Shape(rope_switch=512)))
    assert info_of(path, "--window", "512")["rope_factors"] == "short"
    assert "those for long contexts, by the window" in text_of(path, "--window", "1024")
    sliding = str(tiny.build(tmp_path / "sliding.gguf", shape=tiny.Shape(layers=7, window=16)))
    assert info_of(sliding)["sliding_window"] == 16
    assert "slides over 16 tokens" in text_of(sliding)


def test_texts_of_a_file_cannot_speak_to_the_terminal(tmp_path: Path) -> None:
    template = tiny.CHATML.replace("<|im_end|>", "\x1b[31m")
    text = text_of(str(tiny.build(tmp_path / "red.gguf", template=template)))
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("gone.gguf", ModelMissingError),
        ("qwen2.5-coder-1.5b", ModelMissingError),
        ("no-such", UnknownNameError),
    ],
)
def test_a_model_that_is_not_here_is_a_clear_error(name: str, error: type[Exception]) -> None:
    assert isinstance(CliRunner().invoke(models, ["info", name]).exception, error)


def test_a_file_that_is_no_gguf_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "prose.gguf"
    path.write_text("Once upon a time.", encoding="utf-8")
    assert isinstance(CliRunner().invoke(models, ["info", str(path)]).exception, ModelFileError)
