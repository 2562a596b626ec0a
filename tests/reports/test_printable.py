from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from ragjudge.reports.printable import first_line, one_line, printable, shorten

any_text = st.text(st.characters())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("naïve 東京 🌙", "naïve 東京 🌙"),
        ("\x1b[2J\x07", "\\x1b[2J\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("a\u202eb\u2066c", "a\\u202eb\\u2066c"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("tag \U000e0041", "tag \\U000e0041"),
        ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
        ("line\u2028separator", "line\\u2028separator"),
        ("half \ud83d pair", "half \\ud83d pair"),
        ("می\u200cخواهم", "می\u200cخواهم"),
    ],
)
def test_what_a_terminal_would_obey_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_what_the_encoding_does_not_hold_is_escaped() -> None:
    assert printable("naïve ✓", "latin-1") == "naïve \\u2713"
    assert printable("naïve ✓", "ascii") == "na\\xefve \\u2713"


def test_typographic_signs_become_plain_ones_where_the_encoding_lacks_them() -> None:
    text = "“It’s” — ‘so’ 1990–1995… „ja‟"
    assert printable(text, "ascii") == '"It\'s" -- \'so\' 1990-1995... "ja"'
    assert printable(text) == text


def test_what_the_encoding_does_hold_is_never_folded() -> None:
    assert printable("“naïve” ✓", "cp1252") == "“naïve” \\u2713"
    assert printable("«oui» “no”", "latin-1") == '«oui» "no"'


@given(any_text)
def test_no_text_gets_a_control_character_through(text: str) -> None:
    categories = {
        unicodedata.category(character) for character in printable(text) if character not in "\u200c\u200d"
    }
    assert not categories & {"Cc", "Cf", "Cs", "Zl", "Zp"}


def test_white_space_is_folded_to_one_line() -> None:
    assert one_line("  two\n\n lines\tand\u2028more ") == "two lines and more"


@pytest.mark.parametrize(("text", "line"), [("\n\n first \nsecond", "first"), ("", ""), (" \n ", "")])
def test_the_first_line_is_the_first_that_is_not_blank(text: str, line: str) -> None:
    assert first_line(text) == line


@pytest.mark.parametrize(
    ("text", "cells", "shown"),
    [
        ("short", 5, "short"),
        ("longer", 5, "long…"),
        ("long er", 6, "long…"),
        ("東京タワー", 5, "東京…"),
        ("abc", 1, "…"),
        ("abc", 0, ""),
    ],
)
def test_long_text_is_cut_to_its_cells(text: str, cells: int, shown: str) -> None:
    assert shorten(text, cells) == shown


def test_the_ellipsis_itself_is_cut_when_nothing_else_fits() -> None:
    assert shorten("abcdef", 2, "...") == ".."


def test_a_letter_with_a_thousand_marks_is_cut_too() -> None:
    assert len(shorten("a" + "\u0301" * 1000, 10)) <= 40


@given(any_text, st.integers(0, 30))
def test_shortened_text_fits(text: str, cells: int) -> None:
    assert cell_len(shorten(printable(text), cells)) <= cells
