from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragjudge.judges.llama.native import Engine
from ragjudge.judges.llama.settings import EngineSettings
from tests.native import tiny

pytestmark = pytest.mark.native


@pytest.fixture
def engine(tiny_model: Path) -> Iterator[Engine]:
    opened = Engine(tiny_model, EngineSettings(threads=1))
    yield opened
    opened.close()


def written(engine: Engine, tokens: list[int]) -> str:
    return b"".join(engine.piece(token, special=True) for token in tokens).decode("utf-8")


@pytest.mark.parametrize(
    "text",
    ["", "a", "Is it Yes or No?", "naïve café, 12 µm²", "漢字 😀", "a\0b", "\0", "\n\n \t", "x" * 3000],
    ids=ascii,
)
def test_every_text_survives_its_tokens(engine: Engine, text: str) -> None:
    assert written(engine, engine.tokenize(text, add_special=False)) == text


def test_a_lone_surrogate_becomes_a_question_mark(engine: Engine) -> None:
    assert engine.tokenize("a\ud800b", add_special=False) == engine.tokenize("a?b", add_special=False)


def test_control_strings_become_control_tokens_and_the_first_token_comes_when_asked_for(
    engine: Engine,
) -> None:
    start, end = (tiny.token_id(text) for text in tiny.CONTROLS)
    assert engine.tokenize("<|im_start|>no<|im_end|>", add_special=True) == [
        tiny.BOS,
        start,
        tiny.token_id("no"),
        end,
    ]


def test_the_last_token_is_never_put_behind_a_prompt(tmp_path: Path) -> None:
    path = tiny.build(tmp_path / "eos.gguf", add_eos=True)
    engine = Engine(path, EngineSettings(threads=1))
    assert engine.tokenize("no", add_special=True) == [tiny.BOS, tiny.token_id("no")]
    assert engine.tokenize("no</s>", add_special=True) == [tiny.BOS, tiny.token_id("no"), tiny.EOS]
    engine.close()


def test_the_steering_tokens_are_the_control_tokens_and_the_unknown_token(engine: Engine) -> None:
    steering = ["<unk>", "<s>", "</s>", *tiny.CONTROLS, tiny.USER_DEFINED]
    assert [token.text for token in engine.control_tokens()] == steering


def test_a_token_of_the_user_s_steers_when_it_stands_in_the_frame_or_is_written_like_a_mark(
    tmp_path: Path,
) -> None:
    words = ("keyword", "<turn>", "<|constrain|>")
    engine = Engine(tiny.build(tmp_path / "words.gguf", user_defined=words), EngineSettings(threads=1))
    known = [token.text for token in engine.control_tokens("<|other|>")]
    assert [word for word in words if word in known] == ["<|constrain|>"]
    assert "<turn>" in [token.text for token in engine.control_tokens("<turn>user")]
    engine.close()


def test_first_and_last_token_have_their_texts(engine: Engine) -> None:
    bos, eos = engine.bos(), engine.eos()
    assert bos == (tiny.BOS, "<s>")
    assert eos == (tiny.EOS, "</s>")
    assert engine.adds_bos()
    assert engine.piece(tiny.BOS) == b""


def test_the_longest_piece_is_the_longest_text_of_a_token(engine: Engine) -> None:
    assert engine.longest_piece == len("<|im_start|>")


def test_a_text_far_beyond_any_window_is_counted_in_time_that_grows_with_its_length(engine: Engine) -> None:
    started = time.perf_counter()
    # Byte tokens: the tokenizer takes 50 seconds and more for these at one go.
    assert engine.count("\n" * 1_000_000) == 1_000_000
    assert time.perf_counter() - started < 30
    assert engine.count("the cat " * 10) == len(engine.tokenize("the cat " * 10, add_special=False))
    assert engine.count("") == 0
