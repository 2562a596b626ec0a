from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragjudge.judges.llama.native import Engine, NativeError
from ragjudge.judges.llama.settings import EngineSettings
from ragjudge.prompts.template import load_template
from tests.native import tiny
from tests.native.support import count_decodes, nested_prompts, run_alone, run_together

pytestmark = pytest.mark.native

PROMPTS = nested_prompts(12, longest=40)


@pytest.fixture(scope="module")
def engine(tiny_model: Path) -> Iterator[Engine]:
    opened = Engine(tiny_model, EngineSettings(threads=1, batch=16, sequences=4))
    opened.limits(1024)
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("grammar", "pattern"),
    [
        ('root ::= "Yes" | "No"', r"Yes|No"),
        ("root ::= [0-9] [0-9] [0-9]", r"\d{3}"),
        ("root ::= [a-c]{2,5}", r"[a-c]{2,5}"),
        ('root ::= [à-ü]{3} "€"', r"[à-ü]{3}€"),
        ('root ::= "(" root? ")"', r"\(+\)+"),
    ],
)
def test_random_weights_write_only_what_the_grammar_accepts(
    engine: Engine, grammar: str, pattern: str
) -> None:
    written = set()
    for prompt in PROMPTS:
        reply = engine.generate(prompt, grammar, 60)
        assert reply.tokens <= 60
        if reply.complete:
            assert re.fullmatch(pattern, reply.text)
        written.add(reply)
    assert any(reply.complete for reply in written)


def test_the_holistic_grammar_forces_a_score_and_a_reason(engine: Engine) -> None:
    template = load_template("faithfulness_holistic", 1)
    assert template.grammar is not None
    for prompt in PROMPTS[:4]:
        reply = engine.generate(prompt, template.grammar, 900)  # a character may be four byte tokens
        assert reply.complete
        answer = json.loads(reply.text)
        assert list(answer) == ["score", "reason"]
        assert 0 <= answer["score"] <= 1
        # Random weights also write bytes that are no UTF-8: they come out as several replacement marks.
        assert 1 <= len(answer["reason"].replace("\ufffd", "")) <= 240


def test_the_token_written_is_the_likeliest_that_the_grammar_accepts(engine: Engine) -> None:
    digits = {tiny.token_id(str(digit)): str(digit) for digit in range(10)}
    digits |= {tiny.token_id(f"<0x3{digit}>"): str(digit) for digit in range(10)}
    for prompt in PROMPTS:
        row = run_alone(engine, prompt)
        likeliest = max(digits, key=lambda token: (row[token], -token))
        assert engine.generate(prompt, "root ::= [0-9]", 4).text == digits[likeliest]


def test_the_same_prompt_is_always_continued_alike(engine: Engine) -> None:
    grammar = "root ::= [a-z ]{20}"
    first = engine.generate(PROMPTS[3], grammar, 40)
    run_together(engine, PROMPTS)
    assert engine.generate(PROMPTS[3], grammar, 40) == first
    assert first.complete
    assert len(first.text) == 20


def test_a_reply_is_cut_at_the_most_tokens_and_says_so(engine: Engine) -> None:
    reply = engine.generate(PROMPTS[0], "root ::= [0-9]{50}", 7)
    assert (reply.tokens, len(reply.text), reply.complete) == (7, 7, False)


def test_a_reply_that_needs_exactly_the_most_tokens_is_complete(engine: Engine) -> None:
    assert engine.generate(PROMPTS[0], 'root ::= "abc"', 3) == ("abc", 3, True)
    assert engine.generate(PROMPTS[0], 'root ::= "abc"', 2) == ("ab", 2, False)


def test_a_generated_token_is_decoded_once_and_counted_as_generated(engine: Engine) -> None:
    library = count_decodes(engine)
    decoded, generated = engine.tokens_decoded, engine.tokens_generated
    engine.generate(PROMPTS[0], 'root ::= "abc"', 9)
    assert engine.tokens_decoded - decoded == len(PROMPTS[0])
    assert engine.tokens_generated - generated == 3
    assert library.decoded == len(PROMPTS[0]) + 3


@pytest.mark.parametrize(
    "grammar",
    [
        "",
        " \n",
        "root",
        "this is no grammar ::",
        "a ::= [a-z]",
        "root ::= b",
        'root ::= root "a" | "a"',
        'root ::= "a"\0',
    ],
    ids=ascii,
)
def test_a_grammar_that_cannot_be_meant_is_an_error(engine: Engine, grammar: str) -> None:
    with pytest.raises(NativeError, match="grammar"):
        engine.generate(PROMPTS[0], grammar, 5)
    assert engine.generate(PROMPTS[0], 'root ::= "a"', 5).text == "a"


def test_a_prompt_without_tokens_or_without_room_is_refused_in_python(engine: Engine) -> None:
    for tokens, most in (((), 5), ((1,) * 1020, 5)):
        with pytest.raises(ValueError, match="in 1024 cells"):
            engine.generate(tokens, 'root ::= "a"', most)
    assert engine.generate((1,) * 1020, 'root ::= "abcd"', 4).complete


def test_what_prompts_begin_with_alike_is_decoded_once_and_changes_no_answer(tiny_model: Path) -> None:
    digits = "root ::= [0-9] [0-9] [0-9] [0-9]"
    stem = PROMPTS[0]
    prompts = [(*stem, *PROMPTS[number]) for number in range(1, 6)]
    apart = Engine(tiny_model, EngineSettings(threads=1, batch=16, sequences=4))
    apart.limits(1024)
    expected = [apart.generate(prompt, digits, 20) for prompt in prompts]
    assert apart.tokens_decoded == sum(map(len, prompts))
    apart.close()
    engine = Engine(tiny_model, EngineSettings(threads=1, batch=16, sequences=4))
    engine.limits(1024)
    library = count_decodes(engine)
    found = [engine.generate(prompt, digits, 20, shared=len(stem)) for prompt in prompts]
    assert found == expected
    assert engine.tokens_decoded == len(stem) + sum(len(prompt) - len(stem) for prompt in prompts)
    assert library.decoded == engine.tokens_decoded + engine.tokens_generated
    # A plan between takes the memory over; so does another beginning.
    run_together(engine, PROMPTS[:3])
    assert engine.generate(prompts[0], digits, 20, shared=len(stem)) == expected[0]
    assert engine.generate(prompts[1], digits, 20) == expected[1]
    assert engine.generate(prompts[2], digits, 20, shared=len(stem)) == expected[2]
    assert engine.generate(prompts[3], digits, 20, shared=len(prompts[3]) + 5) == expected[3]
    engine.close()


def test_a_refused_batch_leaves_no_stem_behind(tiny_model: Path) -> None:
    engine = Engine(tiny_model, EngineSettings(threads=1, batch=16, sequences=4))
    engine.limits(1024)
    digits = "root ::= [0-9] [0-9] [0-9] [0-9]"
    prompt = (*PROMPTS[0], *PROMPTS[1])
    expected = engine.generate(prompt, digits, 20)
    engine.generate(prompt, digits, 20, shared=len(PROMPTS[0]))
    with pytest.raises(NativeError):
        engine.generate((*PROMPTS[0], 999_999), digits, 20, shared=len(PROMPTS[0]))
    assert engine.generate(prompt, digits, 20, shared=len(PROMPTS[0])) == expected
    engine.close()
