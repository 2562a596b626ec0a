from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from ragjudge.errors import UnknownNameError
from ragjudge.judges.llama.questions import shared_of
from ragjudge.prompts.template import SharedPart, Template, load_template, template_versions
from ragjudge.records import Check, ChunkSpan, Prompt

CHECKED = Template(
    name="made_up",
    version=3,
    definition="it is so",
    system="Answer A or B.",
    shared=SharedPart(
        head="Topic: {{ topic }}\n",
        chunk="{% if total > 1 %}[{{ number }}] {% endif %}{{ chunk }}\n",
        tail="Question: {{ question }}\n",
    ),
    own="Claim: {{ claim }}\nTrue when {{ definition }}?",
    labels={"A": 1, "B": 0},
)
SLOTS = {"topic": "cats", "question": "Do they sleep?"}
ALL = [(name, version) for name, versions in template_versions().items() for version in versions]


def test_a_check_is_filled_in_from_its_slots() -> None:
    check = CHECKED.check("Cats sleep.", SLOTS, ["One.", "Two."])
    assert check == Check(
        template="made_up",
        version=3,
        system="Answer A or B.",
        shared="Topic: cats\n[1] One.\n[2] Two.\nQuestion: Do they sleep?\n",
        own="Claim: Cats sleep.\nTrue when it is so?",
        labels=("A", "B"),
        positive="A",
        claim="Cats sleep.",
        segments=check.segments,
        slots=tuple(sorted(SLOTS.items())),
    )


def test_one_chunk_has_no_number_and_no_chunk_has_no_line() -> None:
    assert CHECKED.check("x", SLOTS, ["One."]).shared == "Topic: cats\nOne.\nQuestion: Do they sleep?\n"
    assert CHECKED.check("x", SLOTS).shared == "Topic: cats\nQuestion: Do they sleep?\n"
    assert CHECKED.check("x", SLOTS).segments == ()


@given(st.lists(st.text(alphabet="ab {}%\n[1]\0", max_size=12), min_size=1, max_size=5))
def test_the_segments_say_where_each_chunk_stands(chunks: list[str]) -> None:
    check = CHECKED.check("x", SLOTS, chunks)
    for number, (chunk, segment) in enumerate(zip(chunks, check.segments, strict=True), start=1):
        line = f"[{number}] {chunk}\n" if len(chunks) > 1 else f"{chunk}\n"
        assert check.shared[segment.start : segment.end] == line
        assert check.shared[segment.text : segment.text_end] == chunk
    starts = [segment.start for segment in check.segments]
    assert starts[1:] == [segment.end for segment in check.segments[:-1]]


def test_data_is_never_a_template_itself() -> None:
    texts = "{{ 7 * 7 }}{% raise %}{{ claim }}"
    check = CHECKED.check(texts, {"topic": texts, "question": texts}, [texts, texts])
    assert check.shared.count(texts) == 4
    assert check.own.count(texts) == 1


def test_texts_are_taken_as_they_are() -> None:
    check = CHECKED.check("a < b & c\n", SLOTS, ["  <b>x</b> \n"])
    assert "Claim: a < b & c\n\n" in check.own
    assert "\n  <b>x</b> \n\n" in check.shared


def test_a_slot_without_a_value_is_an_error() -> None:
    from jinja2 import UndefinedError

    with pytest.raises(UndefinedError, match="topic"):
        CHECKED.check("x", {"question": "?"})


def test_an_open_question_carries_its_grammar() -> None:
    template = Template(
        name="open",
        version=1,
        definition_of="support",
        system="Score it.",
        shared=SharedPart(head="Head.\n"),
        own="Output: {{ output }}{% if note is not none %}, {{ note }}{% endif %}; {{ definition }}",
        grammar='root ::= "1"',
        max_tokens=7,
    )
    prompt = template.prompt({"output": "out", "note": None})
    assert prompt == Prompt(
        template="open",
        version=1,
        system="Score it.",
        shared="Head.\n",
        own="Output: out; " + load_template("support").definition,
        grammar='root ::= "1"',
        max_tokens=7,
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": None}, "either labels or a grammar"),
        ({"grammar": 'root ::= "x"'}, "either labels or a grammar"),
        ({"labels": {"A": 1, "B": 1}}, "one of value 1 and one of value 0"),
        ({"labels": {"A": 1}}, "one of value 1 and one of value 0"),
        ({"max_tokens": 0}, "greater than 0"),
        ({"colour": "red"}, "Extra inputs"),
    ],
)
def test_a_template_that_cannot_be_meant_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Template.model_validate({**CHECKED.model_dump(), **change})


def test_an_unknown_template_or_version_is_named_with_the_nearest_one() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown template 'suport'\. Did you mean 'support'\?"):
        load_template("suport")
    with pytest.raises(UnknownNameError, match="unknown version of template support '99'"):
        load_template("support", 99)


def test_without_a_version_the_newest_is_meant() -> None:
    for name, versions in template_versions().items():
        assert load_template(name).version == versions[-1] == max(versions)


@pytest.mark.parametrize(("name", "version"), ALL)
def test_every_template_in_the_package_is_what_its_file_name_says(name: str, version: int) -> None:
    template = load_template(name, version)
    assert (template.name, template.version) == (name, version)
    slots = {"question": "Q?", "expected": "E.", "output": "O.", "sentence": "S."}
    if template.labels is not None:
        check = template.check("The claim.", slots, ["C1.", "C2."])
        # What is asked about is the claim or, for questions about a chunk, the chunks shown.
        assert "The claim." in check.own or "C2." in check.shared
        assert check.own.endswith("Answer Yes or No.")
        assert "The claim." not in check.shared  # what is shared must not depend on the claim
        assert list(template.labels) == ["Yes", "No"]
    else:
        prompt = template.prompt(slots, ["C1.", "C2."])
        assert "root ::=" in prompt.grammar
        if template.definition_of is not None:
            assert load_template(template.definition_of).definition in prompt.own
        assert "O." not in prompt.shared  # what is shared must not depend on what is asked about
        assert "S." not in prompt.shared


def test_templates_of_one_kind_share_their_instruction_so_that_it_is_decoded_once() -> None:
    newest = [load_template(name) for name in template_versions()]
    assert len({template.system for template in newest if template.labels is not None}) == 1
    assert len({template.system for template in newest if template.grammar is not None}) == 1


def test_a_question_with_a_nul_in_it_is_not_taken_for_the_claim_s_place() -> None:
    template = load_template("support")
    template = template.model_copy(update={"own": "Question: {{ question }} Claim: {{ claim }}"})
    assert template.check("It rains.", {"question": "a\0b"}).own == "Question: a\0b Claim: It rains."
    assert template.check("c\0d", {"question": "Q"}).own == "Question: Q Claim: c\0d"


def test_a_chunk_s_question_follows_it_so_that_questions_about_one_chunk_share_it() -> None:
    slots = {"question": "When did it open?"}
    check = load_template("chunk_relevance").check("It opened in 1932.", slots, ("It opened in 1932.",))
    assert check.shared == "Document: It opened in 1932.\nQuestion: When did it open?\n"
    (segment,) = check.segments
    assert check.shared[segment.text : segment.text_end] == "It opened in 1932."
    assert check.own.startswith("Is it true that someone who reads only this document learns the answer")


def test_a_chunk_that_is_shown_in_windows_keeps_its_question_in_each() -> None:
    slots = {"question": "When did it open?"}
    check = load_template("chunk_relevance").check(
        "It is old. It opened in 1932.", slots, ("It is old. It opened in 1932.",)
    )
    window = (ChunkSpan(chunk=0, start=11, end=29),)
    assert shared_of(check.shared, check.segments, window) == (
        "Document: It opened in 1932.\nQuestion: When did it open?\n"
    )
