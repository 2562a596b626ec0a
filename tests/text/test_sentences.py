from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ragjudge.text import punkt
from ragjudge.text.sentences import pieces, sentences

GOLDEN = Path(__file__).parents[1] / "data" / "splitting" / "basic.yaml"
CASES = [
    pytest.param(case["text"], case["pieces"], id=f"{group}-{number}")
    for group, cases in yaml.safe_load(GOLDEN.read_text(encoding="utf-8")).items()
    for number, case in enumerate(cases)
]

# Pieces of every construct the splitter knows, so that random texts reach its branches.
_MARKUP = "# |## T ##|- |* |1. |2) |> |>> |```|~~~|`|``|\n---\n|\n===\n|- [x] |•|**|_|[1]|[x](u.v)"
_SPACES = "\n|\n\n|\r\n| |  |\t|\u2028|\x0b|\xa0"
_MARKS = '.|...|…|!|?|。|؟|．|(|)|"|¹|\x00|\ud800|😀'
_WORDS = "Dr.|e.g.|U.S.|No. 5|J. |a|The|paris|42|3.14|x.Y|http://a.b/c.|end.Next|A: b|巴黎"
FRAGMENTS = st.sampled_from(["|", "|-|-|", *f"{_MARKUP}|{_SPACES}|{_MARKS}|{_WORDS}".split("|")])
TEXTS = st.one_of(st.text(), st.text(st.characters()), st.lists(FRAGMENTS, max_size=40).map("".join))
MARKUP = set("#>-*+–·•‣◦▪●|`~=_:.)([]xX0123456789")


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_a_golden_text_is_cut_into_the_right_pieces(text: str, expected: list[str]) -> None:
    assert [span.text for span in sentences(text)] == expected


def test_the_golden_file_has_enough_cases() -> None:
    assert len(CASES) >= 80


@settings(max_examples=400, deadline=None)
@given(TEXTS)
def test_offsets_are_true_ordered_and_disjoint(text: str) -> None:
    done = 0
    for span in sentences(text):
        assert done <= span.start < span.end <= len(text)
        assert span.text == text[span.start : span.end]
        assert span.text == span.text.strip()
        done = span.end


@settings(max_examples=400, deadline=None)
@given(TEXTS)
def test_only_white_space_and_markup_is_left_out(text: str) -> None:
    left_out = list(text)
    for span in sentences(text):
        left_out[span.start : span.end] = [" "] * (span.end - span.start)
    for line in "".join(left_out).splitlines():
        rest = line.strip()
        # A fence may name a language, and a list mark may be a letter or a short roman figure.
        is_fence = "```" in rest or "~~~" in rest
        assert set("".join(rest.split())) <= MARKUP or is_fence or re.search(r"[a-z]{1,4}[.)]", rest)


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(categories=["L", "N", "Po", "Zs"])))
def test_plain_prose_loses_no_letter(text: str) -> None:
    prose = f"Word {text}"
    kept = "".join("".join(span.text.split()) for span in sentences(prose))
    assert kept == "".join(prose.split()) or any(mark in prose for mark in "#*|`~=·•‣>")


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_the_same_text_gives_the_same_pieces(text: str) -> None:
    assert pieces(text) == pieces(text)


@pytest.mark.parametrize(
    "text",
    [
        "word " * 200_000,
        "a" * 1_000_000,
        "a." * 500_000,
        "." * 1_000_000,
        ")" * 1_000_000,
        "[" * 1_000_000,
        ".[1]" * 250_000,
        "`" * 1_000_000,
        "[a](" * 250_000,
        ">" * 1_000_000,
        "x" + " " * 1_000_000 + "x",
        "- " * 500_000,
        "|" * 1_000_000,
    ],
    ids=lambda text: repr(text[:8]),
)
def test_a_hostile_megabyte_takes_linear_time(text: str) -> None:
    # Quadratic behaviour would take hours for these; the bound leaves room for a slow, busy machine.
    sentences("Warm. Up.")
    began = time.perf_counter()
    sentences(text)
    assert time.perf_counter() - began < 10


def test_a_long_line_without_a_full_stop_is_one_piece() -> None:
    text = "word " * 200_000
    began = time.perf_counter()
    found = sentences(text)
    assert time.perf_counter() - began < 2
    assert [(span.start, span.end) for span in found] == [(0, len(text) - 1)]


def test_pieces_say_what_kind_of_block_they_stand_in() -> None:
    text = "# T\nProse.\n- item\n-\n\n|a|b|\n|-|-|\n|1|2|\n\n```\ncode\n```"
    kinds = [piece.kind for piece in pieces(text)]
    assert kinds == ["heading", "prose", "item", "marker", "header", "row", "code"]


def test_the_punkt_parameters_come_from_the_package() -> None:
    assert punkt.is_abbreviation("u.s")
    assert punkt.is_word("coverage")
    assert not punkt.is_word("zzyzx")
    assert punkt.breaks("dog.", "The")
    assert not punkt.breaks("Inc.", "government")


def test_unknown_words_do_not_pile_up_in_the_model() -> None:
    model = punkt._model()
    before = len(model.ortho)
    sentences("The qwxyz. Qwxyzzy began. Inc. Wqqqxyz went on.")
    assert len(model.ortho) == before


def test_importing_the_splitter_does_not_load_nltk() -> None:
    program = "import sys, ragjudge.text.claims, ragjudge.text.overlap; sys.exit('nltk' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_nltk_loads_without_warnings_and_without_its_data() -> None:
    program = (
        "import nltk.data; nltk.data.path[:] = []\n"
        "from ragjudge.text.sentences import sentences\n"
        "assert len(sentences('Dr. Smith left. Mr. Jones stayed.')) == 2"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
