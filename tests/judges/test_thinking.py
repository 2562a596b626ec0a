from __future__ import annotations

import pytest

from ragjudge.judges.llama.chat import ChatFormat, from_template
from ragjudge.judges.llama.thinking import NO_THINKING, Past, answer_start
from tests.judges.families import GEMMA, GPT_OSS, LLAMA_3, MISTRAL, PHI, QWEN, R1, SEED


def frame(template: str) -> ChatFormat:
    return from_template(template, bos="<s>", eos="</s>")


@pytest.mark.parametrize(
    "template", [LLAMA_3, GEMMA, MISTRAL, PHI], ids=["Llama 3", "Gemma", "Mistral", "Phi"]
)
def test_a_model_that_does_not_think_is_asked_as_ever(template: str) -> None:
    assert frame(template).thinking == NO_THINKING


@pytest.mark.parametrize(
    ("template", "word", "after"),
    [
        (QWEN, "off", "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"),
        (GPT_OSS, "final", "<|end|><|start|>assistant<|channel|>final<|message|>"),
        (R1, "closed", "<｜Assistant｜><think>\n\n</think>\n\n"),
        (SEED, "empty", "<seed:eos><seed:bos>assistant\n<seed:think></seed:think>\n"),
    ],
    ids=["a switch", "a final channel", "an open block", "past reasoning"],
)
def test_the_answer_begins_behind_the_reasoning(template: str, word: str, after: str) -> None:
    chat = frame(template)
    assert chat.after == after
    assert chat.thinking.word == word
    assert chat.thinking.done


def test_a_switch_by_the_other_name_is_turned_off_too() -> None:
    template = QWEN.replace("enable_thinking is defined and enable_thinking is false", "not thinking")
    assert frame(template).after.endswith("<think>\n\n</think>\n\n")
    assert frame(template).thinking.word == "off"


def test_a_switch_that_changes_only_the_system_turn_counts_as_one() -> None:
    template = "{% if enable_thinking %}Think hard.\n{% endif %}" + PHI
    assert frame(template).thinking.word == "off"
    assert frame(template).after == "<|end|>\n<|assistant|>\n"


ASKED = "<end><assistant>\n"


@pytest.mark.parametrize(
    ("asked", "switched", "past", "after", "word"),
    [
        (ASKED, False, Past(), ASKED, "none"),
        (ASKED, True, Past(), ASKED, "off"),
        # Where past answers stand
        (ASKED, False, Past(ASKED + "<final>"), ASKED + "<final>", "final"),
        (ASKED, True, Past(ASKED + "<final>"), ASKED + "<final>", "final"),
        (ASKED, False, Past(ASKED + " "), ASKED, "none"),  # a blank alone would only shift the answer's token
        (ASKED, False, Past("<end>"), ASKED, "none"),
        (ASKED, False, Past("<other>"), ASKED, "none"),
        # Past reasoning
        (ASKED, False, Past(ASKED, ASKED + "<t>", "</t>"), ASKED + "<t></t>", "empty"),
        (ASKED + "<t>", False, Past(ASKED, ASKED + "<t>", "</t>\n"), ASKED + "<t></t>\n", "empty"),
        (ASKED + "Steps:\n", False, Past(ASKED, ASKED, "\n[GO]\n"), ASKED + "Steps:\n\n[GO]\n", "empty"),
        (ASKED, False, Past(ASKED, "<other><t>", "</t>"), ASKED, "none"),
        (ASKED + "<t></t>", False, Past(ASKED + "<t></t>", ASKED + "<t>", "</t>"), ASKED + "<t></t>", "off"),
        (ASKED, True, Past(ASKED, ASKED + "<t>", "</t>"), ASKED, "off"),
        # Open blocks
        (ASKED + "<think>", False, Past(), ASKED + "<think></think>", "closed"),
        (ASKED + "<think>\n", False, Past(), ASKED + "<think>\n\n</think>\n\n", "closed"),
        (ASKED + "<think>\n", True, Past(), ASKED + "<think>\n\n</think>\n\n", "closed"),
        (ASKED + "[THINK]", False, Past(), ASKED + "[THINK][/THINK]", "closed"),
        (ASKED + "◁think▷", False, Past(), ASKED + "◁think▷◁/think▷", "closed"),
        (
            ASKED + "<|START_THINKING|>",
            False,
            Past(),
            ASKED + "<|START_THINKING|><|END_THINKING|>",
            "closed",
        ),
        (ASKED + "<think></think>", False, Past(), ASKED + "<think></think>", "none"),
        (
            ASKED + "<|START_THINKING|><|END_THINKING|>",
            True,
            Past(),
            ASKED + "<|START_THINKING|><|END_THINKING|>",
            "off",
        ),
        (ASKED, False, Past(ASKED + "<think>\n"), ASKED + "<think>\n\n</think>\n\n", "closed"),
    ],
)
def test_the_way_is_chosen_from_what_the_template_prints(
    asked: str, switched: bool, past: Past, after: str, word: str
) -> None:
    found, thinking = answer_start(asked, switched=switched, past=past)
    assert (found, thinking.word) == (after, word)
