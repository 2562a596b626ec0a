from __future__ import annotations

import re
import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragjudge.errors import UnknownNameError
from ragjudge.text.languages import LANGUAGES
from ragjudge.text.normal import INVISIBLE
from ragjudge.text.sentences import pieces, sentences
from tests.text.golden import Case, cases

CASES = cases()

# Pieces of every construct the splitter knows, so that random texts reach its branches.
_MARKUP = (
    "# |## T ##|- |* |1. |2) |> |>> |```|~~~|`|``|\n---\n|\n===\n|- [x] |•|**|_|[1]|[x](u.v)|: 1. a, 2. b"
)
_HTML = "<p>|</p>|<br>|<b>|</b>|<li>|<!--|-->|&nbsp;|<h2>"
_SPACES = "\n|\n\n|\r\n| |  |\t|\u2028|\x0b|\xa0"
_MARKS = '.|...|…|!|?|。|؟|．|;|(|)|"|”|¹|\x00|\ud800|😀|\u200b|\u0301'
_WORDS = "Dr.|e.g.|U.S.|No. 5|J. |a|The|paris|42|3.14|x.Y|http://a.b/c.|end.Next|A: b|巴黎|ครับ |z. B. |é"
FRAGMENTS = st.sampled_from(
    ["|", "|-|-|", '{"a": 1}', *f"{_MARKUP}|{_HTML}|{_SPACES}|{_MARKS}|{_WORDS}".split("|")]
)
TEXTS = st.one_of(st.text(), st.text(st.characters()), st.lists(FRAGMENTS, max_size=40).map("".join))
MARKUP = set("#>-*+–·•‣◦▪●|`~=_:.)([]xX0123456789")
TAG = re.compile(r"</?\w[^<>]*>|&nbsp;|<!--.*?-->", re.DOTALL)


@pytest.mark.parametrize("case", [pytest.param(case, id=f"{case.group}-{n}") for n, case in enumerate(CASES)])
def test_a_golden_text_is_cut_into_the_right_pieces(case: Case) -> None:
    found = sentences(case.text, case.language, case.abbreviations)
    assert tuple(span.text for span in found) == case.pieces


def test_the_golden_set_has_enough_cases_in_enough_groups() -> None:
    assert len(CASES) >= 400
    assert len({case.group for case in CASES}) >= 12
    assert {case.language for case in CASES} == set(LANGUAGES)


@settings(max_examples=400, deadline=None)
@given(TEXTS, st.sampled_from(["english", "german", "greek"]))
def test_offsets_are_true_ordered_and_disjoint(text: str, language: str) -> None:
    done = 0
    for span in sentences(text, language):
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
    plain = re.sub(rf"[{INVISIBLE}\u0300-\u036f]", "", TAG.sub("", "".join(left_out)))
    for line in plain.splitlines():
        rest = line.strip()
        # A fence may name a language, and a list mark may be a letter or a short roman figure.
        is_fence = "```" in rest or "~~~" in rest
        assert set("".join(rest.split())) <= MARKUP or is_fence or re.search(r"[a-z]{1,4}[.)]", rest)


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(categories=["L", "N", "Po", "Zs"])))
def test_plain_prose_loses_no_letter(text: str) -> None:
    prose = f"Word {text}"
    kept = "".join("".join(span.text.split()) for span in sentences(prose))
    assert kept == "".join(prose.split()) or any(mark in prose for mark in "#*|`~=·•‣>:&")


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_the_same_text_gives_the_same_pieces(text: str) -> None:
    assert pieces(text) == pieces(text)


HOSTILE = [
    *("word ", "a", "a.", ".", ")", "[", ".[1]", "`", "[a](", ">", "- ", "|", "<", "<p>", "<!--", "&nbsp;"),
    *(
        "1. a, 2. b ",
        "ก ",
        "e\u0301",
        "\u200b",
        "😀. A",
        "。",
        '" . ',
        "Dr. ",
        "z. B. ",
        '{"a":',
        "**a ",
        "\n- ",
    ),
    *("\n|a|", "\n```\n", "【1】", "; and "),
]


@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_repeats_take_linear_time(unit: str) -> None:
    # Quadratic behaviour would take hours for these; the bound leaves room for a slow, busy machine.
    sentences("Warm. Up.")
    text = unit * (500_000 // len(unit))
    began = time.perf_counter()
    sentences(text)
    assert time.perf_counter() - began < 15


def test_ten_times_the_text_takes_about_ten_times_the_time() -> None:
    paragraph = "He left. Dr. Smith stayed until 5 p.m. and wrote.Then he slept.\n\n"

    def measured(repeats: int) -> float:
        began = time.process_time()
        sentences(paragraph * repeats)
        return time.process_time() - began

    sentences(paragraph)
    short = min(measured(3_000) for _ in range(3))
    assert measured(30_000) < 25 * short


@pytest.mark.parametrize("unit", ["word ", "a", "слово ", "é, ", "ก", "漢字"])
def test_a_megabyte_without_a_full_stop_is_one_piece_within_two_seconds(unit: str) -> None:
    sentences("Warm. Up.")
    text = unit * (1_000_000 // len(unit))
    began = time.perf_counter()
    found = sentences(text)
    assert time.perf_counter() - began < 2
    assert [(span.start, span.end) for span in found] == [(0, len(text.rstrip()))]


def test_pieces_say_what_kind_of_block_they_stand_in() -> None:
    text = "# T\nProse.\n- item\n-\n\n|a|b|\n|-|-|\n|1|2|\n\n```\ncode\n```"
    kinds = [piece.kind for piece in pieces(text)]
    assert kinds == ["heading", "prose", "item", "marker", "header", "row", "code"]
    assert [piece.kind for piece in pieces('{"a": "b. C"}')] == ["data"]


def test_pieces_of_one_item_share_its_block_and_indent() -> None:
    found = pieces("- One. Two.\n  - Three.")
    assert [(piece.span.text, piece.block, piece.indent) for piece in found] == [
        ("One.", 0, 0),
        ("Two.", 0, 0),
        ("Three.", 1, 2),
    ]


def test_own_abbreviations_never_end_a_sentence() -> None:
    text = "It is a Zif. The rest is Zif. work."
    assert len(sentences(text)) == 2
    assert len(sentences(text, "english", ("Zif.",))) == 1
    assert sentences(text, abbreviations=("zif",)) == sentences(text, abbreviations=(" ZIF. ",))


def test_the_language_decides() -> None:
    text = "Am 3. Oktober war es so weit."
    assert len(sentences(text)) == 2
    assert len(sentences(text, "german")) == len(sentences(text, "de")) == 1


def test_an_unknown_language_is_named_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown language 'germn'\. Did you mean 'german'"):
        sentences("a", "germn")


def test_importing_the_splitter_does_not_load_nltk() -> None:
    program = "import sys, ragjudge.text.claims, ragjudge.text.overlap; sys.exit('nltk' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_nltk_loads_without_warnings_and_without_its_data_or_a_network() -> None:
    program = (
        "import socket\n"
        "def refused(*args, **options): raise OSError('no network')\n"
        "socket.socket.connect = socket.getaddrinfo = refused\n"
        "import nltk.data; nltk.data.path[:] = []\n"
        "from ragjudge.text.sentences import sentences\n"
        "assert len(sentences('Dr. Smith left. Mr. Jones stayed.')) == 2\n"
        "assert len(sentences('Am 3. Mai kam er. Er blieb.', 'german')) == 2"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        (" - 5 < 6", ["5 < 6"]),
        ("  - a < b\n  - c<br>d", ["a < b", "c", "d"]),
        (" - <", ["<"]),
        ("   1. It is <b>5</b> m high.", ["It is <b>5</b> m high."]),
    ],
)
def test_an_indented_item_with_a_less_than_sign_or_a_tag_loses_nothing(text: str, pieces: list[str]) -> None:
    assert [span.text for span in sentences(text)] == pieces
