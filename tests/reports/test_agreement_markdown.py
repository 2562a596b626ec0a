from __future__ import annotations

import pytest

from ragjudge.reports.agreement_markdown import agreement_markdown, code, sentence
from tests.reports.agreement_examples import HOSTILE, agreement


def test_figures_are_a_table_with_their_intervals() -> None:
    text = agreement_markdown(agreement())
    assert text.startswith(
        "# How well the judge agrees with people\n\n- Judge `qags`, fingerprint `3fd0a1b2c3d4`"
    )
    assert "| `qags` | 12 | 33 % | 0.650 (0.59–0.71) | 0.700 (0.64–0.76) | 0.750 (0.69–0.81) |" in text
    assert "- **P \\> 0.99, people say no** `qags qags qags`: `Apollo 11 landed in 1970.`\n" in text
    assert text.endswith("\n")


def test_every_row_of_a_table_has_the_same_number_of_cells_whatever_the_data() -> None:
    text = agreement_markdown(agreement(HOSTILE, HOSTILE))
    tables: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.startswith("|"):
            tables[-1].append(line)
        elif tables[-1]:
            tables.append([])
    counted = [{line.replace("\\|", "").count("|") for line in table} for table in tables if table]
    assert len(counted) == 4
    assert all(len(counts) == 1 for counts in counted)


def test_no_text_of_the_data_is_obeyed() -> None:
    text = agreement_markdown(agreement(HOSTILE, HOSTILE))
    text.encode("utf-8")
    assert not {"\x1b", "\u202e"} & set(text)
    assert [line for line in text.splitlines() if line.startswith("# ")] == [
        "# How well the judge agrees with people"
    ]
    for line in text.splitlines():
        if "<script" in line.replace("\\<script", ""):
            before, after = line[: line.index("<script")], line[line.rindex("gnp.exe") :]
            assert "``" in before  # the text holds single back-ticks, so its span has two
            assert "``" in after


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("plain", "`plain`"),
        ("a\nb", "`a b`"),
        ("a|b", "`a|b`"),
        ("`", "`` ` ``"),
        ("x ``` y", "```` x ``` y ````"),
        ("", "–"),
    ],
)
def test_a_span_is_longer_than_the_ticks_in_it(text: str, span: str) -> None:
    assert code(text) == span


def test_a_bar_in_a_table_is_escaped() -> None:
    assert code("a|b", in_table=True) == "`a\\|b`"


def test_a_sentence_is_only_text() -> None:
    assert sentence("*a* <b> [c](http://d) www.e.f\n# g") == (
        "\\*a\\* \\<b\\> \\[c\\]\\(http\\://d\\) www\\.e.f \\# g"
    )


def test_a_very_long_claim_is_cut() -> None:
    assert len(code("x" * 10_000)) < 500
