"""``file://`` and ``{{name}}`` in the texts of a suite."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from ragjudge.errors import ConfigError, DataError
from ragjudge.suites.load import load_suite
from ragjudge.suites.spec import Case


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_bytes(b"\xef\xbb\xbfJinja writes {{x}} \xe2\x80\x94 so.\n")
    (tmp_path / "docs" / "latin.txt").write_bytes(b"M\xfcnchen")
    (tmp_path / "docs" / "folder.md").mkdir()
    with (tmp_path / "docs" / "large.txt").open("wb") as file:
        file.truncate(50_000_001)
    return tmp_path


A = "Jinja writes {{x}} — so."


def cases(folder: Path, text: str) -> tuple[Case, ...]:
    path = folder / "suite.yaml"
    path.write_text(text, encoding="utf-8")
    return load_suite(path).cases


def case(folder: Path, row: str, assertion: str = "type: faithfulness") -> Case:
    (found,) = cases(folder, f"tests:\n- vars: {{{row}}}\n  assert: [{{{assertion}}}]\n")
    return found


@pytest.mark.parametrize(
    ("row", "contexts"),
    [
        ("context: file://docs/a.txt", (A,)),
        ('context: [" file://docs/a.txt\\n"]', (A,)),
        ("context: [file://docs/a.txt, {text: file://docs/a.txt}, b]", (A, A, "b")),
        ('context: "{{ doc }}", doc: file://docs/a.txt', (A,)),
        ('context: "{{docs}}", docs: [a, file://docs/a.txt, "{{who}}"], who: Me', ("a", A, "Me")),
        ('context: "{{who}} and {{-who-}}: {{doc}}", who: Me, doc: file://docs/a.txt', (f"Me and Me: {A}",)),
        ('context: "{{a}}!", a: "{{b}}?", b: c', ("c?!",)),
        ('context: ["{a}", "{{ open", "close }}", "see file://docs/a.txt"]', None),
    ],
)
def test_a_var_may_be_a_file_or_name_other_vars(
    folder: Path, row: str, contexts: tuple[str, ...] | None
) -> None:
    found = case(folder, f"question: Q, {row}").sample.contexts
    assert found == (contexts or ("{a}", "{{ open", "close }}", "see file://docs/a.txt"))


def test_rows_that_name_one_file_hold_its_text_once(folder: Path) -> None:
    row = "{vars: {answer: A, context: file://docs/a.txt}}"
    texts = {
        id(text)
        for each in cases(folder, f"tests: [{row}, {row}]\nassert: [{{type: faithfulness}}]\n")
        for text in each.sample.contexts or ()
    }
    assert len(texts) == 1


def test_question_answer_and_expected_are_filled_in_and_other_vars_left_as_they_are(folder: Path) -> None:
    row = 'question: "Did {{who}}?", answer: "{{who}} did.", expected: file://docs/a.txt'
    sample = case(folder, row + ', who: Me, also: "{{zz}}"').sample
    assert (sample.input, sample.output, sample.expected) == ("Did Me?", "Me did.", A)
    assert sample.metadata == {"who": "Me", "also": "{{zz}}"}


@pytest.mark.parametrize(
    ("settings", "reference", "context", "by"),
    [
        ('reference: "{{who}} did.", context: "{{docs}}"', "Me did.", ("a", A), "chunks"),
        ("reference: file://docs/a.txt, context: file://docs/a.txt", A, (A,), "claims"),
        ('reference: "{{doc}}", context: [b, "{{who}}"]', A, ("b", "Me"), "chunks"),
    ],
)
def test_an_assertion_s_own_texts_are_filled_in_from_the_row(
    folder: Path, settings: str, reference: str, context: tuple[str, ...], by: str
) -> None:
    row = "question: Q, who: Me, doc: file://docs/a.txt, docs: [a, file://docs/a.txt]"
    (spec,) = case(folder, row, f"type: context-precision, {settings}").assertions
    assert (spec.reference, spec.context, spec.by) == (reference, context, by)


def test_a_common_assertion_is_filled_in_for_each_row(folder: Path) -> None:
    found = cases(
        folder,
        "assert: [{type: context-recall, reference: '{{who}} did.'}]\n"
        "tests: [{vars: {context: a, who: One}}, {vars: {context: a, who: Two}}]\n",
    )
    assert [each.assertions[0].reference for each in found] == ["One did.", "Two did."]


def test_the_texts_of_a_data_file_are_data(folder: Path) -> None:
    row = {"question": "{{x | y}}", "answer": "{% a %}", "truth": "{{x}}", "context": ["file://docs/a.txt"]}
    (folder / "rows.jsonl").write_text(json.dumps(row), encoding="utf-8")
    (found,) = cases(
        folder,
        "dataset: rows.jsonl\n"
        "assert: [{type: context-recall, reference: 'So: {{truth}}', context: '{{context}}'}]\n",
    )
    assert (found.sample.input, found.sample.output) == ("{{x | y}}", "{% a %}")
    assert found.sample.contexts == found.assertions[0].context == ("file://docs/a.txt",)
    assert found.assertions[0].reference == "So: {{x}}"


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl"])
def test_a_column_that_spells_a_list_out_is_that_list_as_a_var_too(folder: Path, name: str) -> None:
    (folder / "rows.csv").write_text('context\n"[""a"", ""b""]"\n')
    (folder / "rows.jsonl").write_text(json.dumps({"context": '["a", "b"]'}))
    suite = f"dataset: {name}\nassert: [{{type: faithfulness, context: '{{{{context}}}}'}}]\n"
    (found,) = cases(folder, suite)
    assert found.sample.contexts == found.assertions[0].context == ("a", "b")
    with pytest.raises(ConfigError, match="the var 'context' is a list; accepted inside of a text: text"):
        cases(folder, suite.replace("'{{", "'So: {{"))


@pytest.mark.parametrize(
    ("row", "assertion", "sentence"),
    [
        (
            "context: file://docs/a.json",
            "",
            "vars.context: found 'file://docs/a.json'; accepted: file:// and a text file (.txt, .md).",
        ),
        ("context: [file://none.txt]", "", "vars.context[0]: there is no file {folder}/none.txt."),
        ("context: file://docs/latin.txt", "", "vars.context: {folder}/docs/latin.txt is not UTF-8."),
        (
            r'context: "file://\0.txt"',
            "",
            r"vars.context: '{folder}/\x00.txt' cannot be read: embedded null byte.",
        ),
        (
            "context: file://~nobody-of-this-name/a.txt",
            "",
            "vars.context: '~nobody-of-this-name/a.txt' cannot be read: Could not determine home directory.",
        ),
        ("context: file://docs/folder.md", "", "vars.context: {folder}/docs/folder.md is no regular file."),
        (
            "context: file://docs/large.txt",
            "",
            "vars.context: {folder}/docs/large.txt has 50,000,001 bytes; accepted: up to 50,000,000.",
        ),
        (
            'context: "{{contxt}}", contexts: [a], note: null',
            "",
            "vars.context: unknown var 'contxt'. Did you mean 'context'? Accepted: context, contexts.",
        ),
        (
            'answer: "{{ a | upper }}"',
            "",
            "vars.answer: found the template '{{ a | upper }}'; accepted: {{name}}, one of the row's vars.",
        ),
        (
            'answer: "{% if a %}b{% endif %}"',
            "",
            "vars.answer: found the template '{% if a %}'; accepted: {{name}}, one of the row's vars.",
        ),
        (
            'answer: "{{{# none #}"',
            "",
            "vars.answer: found the template '{# none #}'; accepted: {{name}}, one of the row's vars.",
        ),
        ('context: "a {{b}}", b: "{{context}}"', "", "vars.context: the var 'b' refers to itself."),
        (
            'context: "a {{b}}", b: [c]',
            "",
            "vars.context: the var 'b' is a list; accepted inside of a text: text.",
        ),
        ('expected: "{{b}}", b: 5', "", "vars: 'expected' is the number 5; accepted: text."),
        ("b: [c]", 'reference: "{{b}}"', "assert[0].reference is a list; accepted: text."),
        (
            "b: 5",
            'context: "{{b}}"',
            "assert[0].context is the number 5; accepted: a text (one chunk) or a list of chunks.",
        ),
        (
            "b: c",
            'reference: "{{a}}"',
            "assert[0].reference: unknown var 'a'. Accepted: b.",
        ),
        (
            "a: null",
            'reference: "{{a}}"',
            "assert[0].reference: the var 'a' is null. Accepted: none, since the row gives no var.",
        ),
    ],
)
def test_what_a_text_cannot_refer_to_is_said_in_one_sentence(
    folder: Path, row: str, assertion: str, sentence: str
) -> None:
    with pytest.raises((ConfigError, DataError)) as caught:
        case(folder, row, f"type: faithfulness, {assertion}")
    assert caught.value.message.startswith(f"{folder}/suite.yaml: tests[0].")
    told = caught.value.message.removeprefix(f"{folder}/suite.yaml: tests[0].")
    assert told == sentence.replace("{folder}", str(folder))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_is_refused_and_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe.txt")
    with pytest.raises(ConfigError, match=r"pipe\.txt is no regular file\."):
        case(folder, "context: file://pipe.txt")


COMMON = "assert: [{type: faithfulness, context: c}, {type: context-recall, reference: '{{gold}}'}]\n"


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (
            "dataset: null.jsonl",
            "dataset: {folder}/null.jsonl, line 2: assert[1].reference: the var 'gold' is null.",
        ),
        ("dataset: none.csv", "dataset: {folder}/none.csv, line 3: assert[1].reference: unknown var 'gold'."),
        (
            "tests: [{vars: {question: Q, gold: G}}, {vars: {question: Q}}]",
            "tests[1].vars: assert[1].reference: unknown var 'gold'.",
        ),
    ],
)
def test_a_common_assertion_names_the_row_that_lacks_its_var(folder: Path, rows: str, sentence: str) -> None:
    (folder / "null.jsonl").write_text('{"question": "Q", "gold": "G"}\n{"question": "Q", "gold": null}\n')
    (folder / "none.csv").write_text("question,gold\nQ,G\nQ,\n")
    with pytest.raises(ConfigError) as caught:
        cases(folder, COMMON + rows)
    told = sentence.replace("{folder}", str(folder))
    assert caught.value.message == f"{folder}/suite.yaml: {told} Accepted: question."


def test_a_file_that_a_common_assertion_lacks_is_no_fault_of_a_row(folder: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        cases(
            folder, "tests: [{vars: {answer: A}}]\nassert: [{type: faithfulness, context: file://none.txt}]\n"
        )
    assert caught.value.message == (
        f"{folder}/suite.yaml: assert[0].context: there is no file {folder}/none.txt."
    )


@pytest.mark.parametrize(("vars_", "times"), [(25, 1), (19, 10)], ids=["deep", "long"])
def test_vars_that_stand_for_too_much_are_refused(folder: Path, vars_: int, times: int) -> None:
    links = ["{{v" + str(number + 1) + "}}" for number in range(vars_)]
    chain = [f"v{number}: 'a{link * times}'" for number, link in enumerate(links)]
    row = ", ".join(["context: 'a {{v0}}'", *chain, f"v{vars_}: {'x' * 10_000}"])
    with pytest.raises(ConfigError, match="nested more than 20 deep, or longer than 50,000,000 characters"):
        case(folder, row)


def test_vars_that_name_one_another_many_times_are_each_filled_in_once(folder: Path) -> None:
    chain = [f"v{number}: '{('{{v' + str(number + 1) + '}}') * 8}'" for number in range(12)]
    row = ", ".join(["context: 'a{{v0}}'", *chain, "v12: ''"])
    began = time.process_time()
    assert case(folder, row).sample.contexts == ("a",)
    assert time.process_time() - began < 2


@pytest.mark.parametrize("opening", ["{{", "{%", "{#", "{{ a", "{{a "])
def test_braces_that_nothing_closes_are_text_and_take_no_longer_than_their_number(
    folder: Path, opening: str
) -> None:
    text = opening * 50_000
    began = time.process_time()
    assert case(folder, f"context: '{text}'").sample.contexts == (text,)
    assert time.process_time() - began < 2
