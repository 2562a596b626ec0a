from __future__ import annotations

import time
import warnings

import pytest

from ragjudge.datasets.columns import contexts_are_one_text, sample_of_columns
from ragjudge.datasets.written_lists import list_or_text
from ragjudge.errors import DataError

TEXTS = ["It's a, b.", 'He said "c".', "both ' and \"", "a\nb\\n\t\x00\u2028é☃😀", "", "[1]"]


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        (repr(TEXTS), TEXTS),
        (ascii(TEXTS), TEXTS),
        (repr(tuple(TEXTS)), TEXTS),
        ("[ 'a', \n\"b\" , ]\n", ["a", "b"]),
        ("('a',)", ["a"]),
        ("['a']", ["a"]),
        (r'["a\/b", "\ud83d\ude00"]', ["a/b", "😀"]),
        ("[]", []),
        (' [{"text": "a", "score": 1}, {"content": "b"}, "c"] ', ["a", "b", "c"]),
    ],
)
def test_a_list_of_texts_is_read_as_json_or_python_writes_it(text: str, texts: list[str]) -> None:
    assert list_or_text(text, "x") == texts


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "[1] Smith et al. found 'a'.",
        "[sic] he wrote",
        "[1]",
        "['a', 'b'] is a list in Python.",
        '["Yes," he said] and left.',
        "('a')",
        "(a, b)",
        "()",
        "{}",
        "{a, b}",
        "An array([1]) of figures (see below)",
        '{"a": 1}',
        "[null, 0.5]",
        "[[1, 2], [{}]]",
        "[" * 100_000,
        "[" * 100_000 + "]" * 100_000,
    ],
)
def test_what_only_begins_like_a_list_is_a_text(text: str) -> None:
    assert list_or_text(text, "x") is text


@pytest.mark.parametrize(
    "text",
    [
        "['a' 'b']",
        "['a'\n 'b']",
        "array(['a', 'b'], dtype=object)",
        "np.array(['a'])",
        "[np.str_('a'), np.str_('b')]",
        "[array(['a'], dtype=object)]",
        "['a', nan]",
        "('a', None)",
        "[b'a']",
        "[['a'], ['b']]",
        "{'a', 'b'}",
        "[{'text': 'a'}]",
        "[Document(metadata={}, page_content='a')]",
        "[(Document(page_content='a'), 0.5)]",
        "['a\rb']",
        r"['\d']",
        '["a",, "b"]',
        "['it's', 'b']",
    ],
)
def test_a_list_whose_members_would_have_to_be_guessed_is_refused(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DataError) as caught:
            list_or_text(text, "rows.csv, line 2: 'contexts'")
    assert caught.value.message.startswith("rows.csv, line 2: 'contexts' is the text ")
    assert caught.value.message.endswith(
        ", which looks like a list and cannot be read as one; accepted: a text, or a list of texts as JSON "
        "or Python writes it."
    )


CHUNK = "accepted: text, or an object with one of the keys text, content, page_content."


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            '["a", 1]',
            f"x[1] is the number 1; {CHUNK}",
        ),
        (
            '[["a"], 1]',
            f"x[0] is a list; {CHUNK}",
        ),
        ('[{"name": "Bob"}]', "x[0] has none of the keys text, content, page_content; found: name."),
        ('[{"text": 5}]', "x[0]: 'text' is the number 5; accepted: text."),
        (
            '[{"text": "a", "content": "b"}]',
            "x[0]: 'text' and 'content' both mean the chunk's text and differ; give one of them.",
        ),
    ],
)
def test_a_json_list_with_a_text_in_it_that_is_no_list_of_chunks_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(DataError) as caught:
        list_or_text(text, "x")
    assert caught.value.message == sentence
    assert caught.value.hint == "a single chunk that looks like this can be given as a list of one"


@pytest.mark.parametrize(
    "text",
    ["['a'" + " " * 200_000 + "x]", "[" + "'a', " * 100_000 + "x]", "['" + "\\n" * 100_000 + "x]"],
    ids=["blanks", "texts", "escapes"],
)
def test_a_long_text_that_is_no_list_takes_no_longer_than_its_length(text: str) -> None:
    began = time.process_time()
    with pytest.raises(DataError):
        list_or_text(text, "x")
    assert time.process_time() - began < 2


def test_a_text_that_spells_a_list_out_is_not_one_text() -> None:
    assert not contexts_are_one_text({"context": "['a']"})
    assert contexts_are_one_text({"context": "[1] a"})


def test_an_answer_may_look_like_a_list() -> None:
    row = {"output": "['a', 'b']", "expected": "['a' 'b']"}
    sample = sample_of_columns(row, where="x", index=1)
    assert (sample.output, sample.expected) == ("['a', 'b']", "['a' 'b']")
