from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragjudge.text.plain import cells, plain_text, row_with_header


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Paris is big.", "Paris is big."),
        ("It goes\n  on here", "It goes on here"),
        ("It goes\n> on here", "It goes on here"),
        ("**Capital:** _Paris_", "Capital: Paris"),
        ("***Really*** ~~not~~ __so__", "Really not so"),
        ("a snake_case_name and 2*3*4", "a snake_case_name and 2*3*4"),
        ("See [the site](https://a.b/c_d_e).", "See the site."),
        ('See [it](a.b "Title") and ![a tower](t.png).', "See it and a tower."),
        ("See [it][ref] and <https://a.b/c>.", "See it and https://a.b/c."),
        ("Paris is large.[1][2]", "Paris is large."),
        ("Paris is large [1, 2].", "Paris is large."),
        ("It is so.[^note] It is.【1†source】", "It is so. It is."),
        ("It is so.¹²", "It is so."),
        ("An area of 5 m².", "An area of 5 m²."),
        ("x[1] is the first", "x[1] is the first"),
        ("Use `a_b_c` and ``**x**``.", "Use a_b_c and **x**."),
        ("H<sub>2</sub>O and 10<sup>6</sup>", "H2O and 10^6"),
        ("<b>5 &lt; 6</b> &amp; so", "5 < 6 & so"),
        ("if a < b and c > d", "if a < b and c > d"),
        ("5\\*3 and \\_x", "5*3 and _x"),
        ("co\u00adop\u200beration", "cooperation"),
        ("[1]", "[1]"),
        ("**", "**"),
        ("", ""),
    ],
)
def test_markup_is_taken_off(text: str, said: str) -> None:
    assert plain_text(text) == said


def test_a_row_is_read_with_the_names_of_its_columns() -> None:
    assert (
        row_with_header("City | People:", "**Paris** | 2 million | x") == "City: Paris; People: 2 million; x"
    )
    assert row_with_header("", "Paris | 2 million") == "Paris; 2 million"
    assert row_with_header("A | B | C", "x | | z") == "A: x; C: z"


def test_a_bar_in_code_or_behind_a_backslash_divides_no_cells() -> None:
    assert cells("`a|b` | c \\| d") == ["a|b", "c | d"]


@given(st.text())
def test_any_text_has_a_wording_in_one_line(text: str) -> None:
    said = plain_text(text)
    assert said == " ".join(said.split())
    assert bool(said) == bool(text.strip())


@pytest.mark.parametrize("unit", ["*a ", "**", "_a ", "[a](", "![", "`", "<b", "&", "[1] ", "\\", "<sup>"])
def test_long_repeats_are_read_quickly(unit: str) -> None:
    text = (unit * 6000)[:5900]
    began = time.perf_counter()
    for _ in range(5):
        plain_text(text)
    assert time.perf_counter() - began < 5
