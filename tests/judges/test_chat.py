from __future__ import annotations

import sys
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ragjudge.errors import ModelFileError
from ragjudge.judges.llama.chat import PLAIN, ChatFormat, Neutraliser, from_template

CHATML = """{%- for message in messages %}
{{- '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"""

HEADERS = """{{- bos_token }}{% for m in messages %}
{{- '<|start_header_id|>' ~ m.role ~ '<|end_header_id|>\n\n' ~ (m.content | trim) ~ '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"""

TURNS = """{{ bos_token }}
{%- if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}
{% for m in messages %}
{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}
{% set role = 'model' if m.role == 'assistant' else m.role %}
{{ '<start_of_turn>' + role + '\n' + m.content | trim + '<end_of_turn>\n' }}
{%- endfor %}
{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}"""

INST = """{%- set ns = namespace(system='') %}
{%- for m in messages if m.role == 'system' %}{% set ns.system = m.content ~ '\n\n' %}{% endfor %}
{{- bos_token }}
{%- for m in messages if m.role != 'system' %}
{{- '[INST] ' ~ ns.system ~ m.content ~ ' [/INST]' }}
{%- endfor %}"""

HEADERS_FRAME = (
    "<s><|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|>"
    "<|start_header_id|>user<|end_header_id|>\n\nU<|eot_id|>"
    "<|start_header_id|>assistant<|end_header_id|>\n\n"
)


def frame(template: str) -> ChatFormat:
    return from_template(template, bos="<s>", eos="</s>")


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (
            CHATML,
            "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n",
        ),
        (HEADERS, HEADERS_FRAME),
        (INST, "<s>[INST] S\n\nU [/INST]"),
        (TURNS, "<s><start_of_turn>user\nS\n\nU<end_of_turn>\n<start_of_turn>model\n"),
    ],
    ids=["chatml", "headers", "inst", "no system role"],
)
def test_the_frame_is_what_the_template_writes_around_the_texts(template: str, expected: str) -> None:
    assert frame(template).render("S", "U") == expected


def test_a_template_that_drops_the_system_text_gets_it_at_the_head_of_the_user_text() -> None:
    template = "{% for m in messages if m.role == 'user' %}<u>{{ m.content }}</u>{% endfor %}"
    assert frame(template).render("S", "U") == "<u>S\n\nU</u>"


def test_the_plain_format_needs_no_template() -> None:
    assert PLAIN.render("S", "U") == "S\n\nU\nAnswer:"


def test_texts_never_pass_through_the_template() -> None:
    texts = "{{ 7 * 7 }} {% raw %} \\ RAGJUDGE-USER-TEXT RAGJUDGE-SYSTEM-TEXT"
    assert frame(CHATML).render(texts, texts).count(texts) == 2


@pytest.mark.parametrize("call", ["strftime_now('%d %B %Y')", "strftime_now('%d %b %Y')[:20]"])
def test_a_template_that_prints_the_date_always_sees_the_same_day(call: str) -> None:
    text = frame("{{ " + call + " }}|" + CHATML).render("S", "U")
    assert text.startswith(("01 January 2025|", "01 Jan 2025|"))


def test_thinking_is_switched_off_where_a_template_asks() -> None:
    template = (
        CHATML + "{% if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}"
    )
    assert frame(template).after.endswith("<think></think>")


@pytest.mark.parametrize(
    "attack",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages.__class__.__base__.__subclasses__()[0] }}",
        "{{ raise_exception.__globals__['os'].system('true') }}",
        "{{ strftime_now.__func__.__code__.co_consts() }}",
        "{{ self.__init__.__globals__.__builtins__.open('/etc/passwd').read() }}",
        "{{ messages.append({'role': 'user', 'content': 'x'}) }}",
        "{% for i in range(1000000000) %}x{% endfor %}",
        "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
        "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(50) }}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{{ 'x' * 100000000000 }}",
        "{{ 100000000000 * 'x' }}",
        "{{ [0] * 100000000000 }}",
        "{{ 9 ** 9 ** 9 ** 9 }}",
        "{{ '%1000000000000d' % 1 }}",
        "{% include '/etc/passwd' %}",
        "{% import 'os' as os %}",
        "{{ unknown.attribute }}",
        "{% if %}",
        "no texts at all",
        "{% for m in messages %}{{ m.content }}{{ m.content }}{% endfor %}",
        "{% for m in messages | reverse %}{{ m.content }}{% endfor %}" + "{{ messages[5].content }}",
    ],
)
def test_a_template_that_misbehaves_is_refused_and_soon(attack: str) -> None:
    started = time.perf_counter()
    tracer = sys.gettrace()
    with pytest.raises(ModelFileError, match="chat template cannot be used") as error:
        frame(CHATML + attack if "content" not in attack and "no texts" not in attack else attack)
    assert error.value.exit_code == 2
    assert "chat: plain" in (error.value.hint or "")
    assert sys.gettrace() is tracer
    assert time.perf_counter() - started < 30  # a second or two; a busy machine is given its time


def test_reversed_texts_are_put_right_by_the_merged_form() -> None:
    template = "{% for m in messages | reverse %}<{{ m.content }}>{% endfor %}"
    assert frame(template).render("S", "U") == "<S\n\nU>"


# -- control strings in data ---------------------------------------------------------------------------

CONTROLS = ("<|im_start|>", "<|im_end|>", "</s>", "<s>", "[INST]")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a<|im_end|>b", "a< |im_end|>b"),
        ("<s></s>", "< s>< /s>"),
        ("<|im_<|im_end|>end|>", "<|im_< |im_end|>end|>"),
        ("", ""),
        ("<|im_end>", "<|im_end>"),
    ],
)
def test_a_control_string_in_data_loses_its_power(text: str, expected: str) -> None:
    assert Neutraliser(CONTROLS)(text) == expected


def test_without_control_strings_every_text_stays_as_it_is() -> None:
    assert Neutraliser(())("<|im_end|>") == "<|im_end|>"
    assert Neutraliser(("", "x"))("x") == "x"


SMALL = st.text(alphabet="ab< >·", min_size=2, max_size=4)


@given(st.lists(SMALL, max_size=5), st.text(alphabet="ab< >·", max_size=40))
@example(["  "], "    ")
@example([" b", "b "], " b b")
@example(["aa"], "aaaaa")
@example(["a b", "ab"], "ab")
def test_no_text_keeps_a_control_string_and_nothing_but_marks_is_added(
    controls: list[str], text: str
) -> None:
    neutralise = Neutraliser(controls)
    result = neutralise(text)
    assert not any(control in result for control in controls)
    assert neutralise(result) == result
    if not any(control in text for control in controls):
        assert result == text
    rest = iter(result)
    assert all(character in rest for character in text)  # the text is a subsequence of the result


@given(st.text())
def test_ordinary_text_is_never_touched(text: str) -> None:
    if not any(control in text for control in CONTROLS):
        assert Neutraliser(CONTROLS)(text) == text


# -- frames --------------------------------------------------------------------------------------------


def test_a_question_without_a_system_text_has_no_system_turn() -> None:
    assert frame(CHATML).render("", "U") == "<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n"
    assert frame(HEADERS).head("") == "<s><|start_header_id|>user<|end_header_id|>\n\n"
    assert PLAIN.render("", "U") == "U\nAnswer:"


def test_where_a_template_wants_a_system_text_an_empty_one_is_given() -> None:
    template = "{{ messages[0].content }}|{{ messages[1].content }}"
    chat = frame(template)
    assert chat.alone is None
    assert chat.render("", "U") == "|U"


def test_a_template_for_lists_of_parts_gets_them() -> None:
    template = (
        "{% for m in messages %}<|{{ m.role }}|>{% for part in m.content %}{{ part.text }}{% endfor %}"
        "{{ '\n' }}{% endfor %}<|assistant|>"
    )
    assert frame(template).render("S", "U") == "<|system|>S\n<|user|>U\n<|assistant|>"


def test_what_trainers_mark_as_said_by_the_model_is_printed_as_it_stands() -> None:
    marked = CHATML.replace("{%- endfor %}", "{% generation %}{% endgeneration %}{%- endfor %}").replace(
        "{{- '<|im_start|>'", "{% generation %}{% endgeneration %}{{- '<|im_start|>'"
    )
    assert marked.count("endgeneration") == 2
    assert frame(marked).render("S", "U").split() == frame(CHATML).render("S", "U").split()
    said = "{% generation %}{% for m in messages[:2] %}<{{ m.content }}>{% endfor %}{% endgeneration %}"
    assert frame(said).render("S", "U") == "<S><U>"


def test_the_marks_of_a_frame_are_what_turns_are_marked_with() -> None:
    chat = ChatFormat("<s>[INST] <<SYS>>\n", "\n<</SYS>>\n\n", " [/INST] a < b and [1] or [x]", alone="◁u▷")
    assert chat.marks == {"<s>", "[INST]", "<<SYS>>", "<</SYS>>", "[/INST]", "◁u▷"}
    assert PLAIN.marks == frozenset()
