from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from ragjudge.records import Agreement
from ragjudge.reports.agreement_terminal import print_agreement
from tests.reports.agreement_examples import HOSTILE, agreement, estimate, measures


def show(result: Agreement, *, width: int = 80, encoding: str = "utf-8", quiet: bool = False) -> str:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, newline="\n")
    console = Console(file=file, width=width, highlight=False, markup=False, emoji=False)
    print_agreement(result, console, quiet=quiet)
    file.flush()
    return raw.getvalue().decode(encoding)


SETS = """\
By set: does it tell them apart?
                 rows positive bal. acc.   at best       AUC      kappa
qags               12     33 %     0.650     0.700     0.750      0.250
                               0.59–0.71 0.64–0.76 0.69–0.81  0.19–0.31
wice               12     33 %     0.700     0.750     0.800      0.250
                               0.64–0.76 0.69–0.81 0.74–0.86  0.19–0.31
mean of the sets                   0.680     0.730     0.780     -0.020
                               0.62–0.74 0.67–0.79 0.72–0.84 -0.08–0.04
all rows           24     33 %     0.700     0.750     0.800      0.250
                               0.64–0.76 0.69–0.81 0.74–0.86  0.19–0.31

"""

WRONG = """\
Most confidently wrong
✗ P > 0.99, people say no  qags qags qags
  Apollo 11 landed in 1970.
  question: Apollo 11 landed in 1970.
✗ P = 0.03, people say yes  wice b
"""

END = """\
judge qags (3fd0a1b2c3d4), not calibrated
Asked with support@1.
Decided positive when P is at least 0.500.
Intervals: 95 %, 2,000 resamples of groups, seed 7.
Left out: Apollo 11 landed in 1970.
1 of 25 rows could not be judged; the first, qags: Apollo 11 landed in 1970.
24 calls judged, 0 replayed, 0 failed; 2,400 tokens decoded (minimum 2,400);
  judge 12.0 s, total 13.0 s, 200 tokens/s; 0.50 s and 100 tokens per verdict
"""


def test_figures_stand_above_their_intervals_for_each_set_their_mean_and_all_rows() -> None:
    text = show(agreement())
    assert text.startswith(SETS)
    assert WRONG in text
    assert text.endswith(END)


@pytest.mark.parametrize(
    "title",
    [
        "By words of context",
        "By language",
        "By kind",
        "Reliability",
        "ROC curve",
        "Negative (“unsupported”) rows",
    ],
)
def test_every_part_has_its_table(title: str) -> None:
    assert f"\n{title}" in show(agreement())


def test_quiet_prints_the_table_of_the_sets_alone() -> None:
    assert show(agreement(), quiet=True) == SETS


def test_a_single_set_is_not_told_twice() -> None:
    result = agreement()
    single = result.model_copy(update={"by_set": result.by_set[:1], "average": None})
    assert "all rows" not in show(single, quiet=True)


def test_a_figure_that_is_missing_says_why() -> None:
    lone = measures(0.5).model_copy(update={"auc": estimate(None, "all rows have one label.")})
    result = agreement()
    changed = result.by_set[0].model_copy(update={"measures": lone})
    text = show(result.model_copy(update={"by_set": (changed, result.by_set[1])}), quiet=True)
    assert "qags               12     33 %     0.500     0.550         –      0.250\n" in text
    assert "\n– qags: all rows have one label.\n" in text


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
@pytest.mark.parametrize("width", [64, 80, 120])
def test_hostile_texts_neither_speak_to_the_terminal_nor_leave_its_columns(encoding: str, width: int) -> None:
    text = show(agreement(HOSTILE, HOSTILE), width=width, encoding=encoding)
    assert not {"\x1b", "\u202e", "\r"} & set(text)
    assert max(map(cell_len, text.splitlines())) <= width
    assert "\\x1b[2J\\u202egnp.exe # heading" in text
    if encoding == "ascii":
        assert text.isascii()


def test_blocks_become_ascii_where_the_encoding_lacks_them() -> None:
    text = show(agreement(), encoding="cp1252")
    assert "#" * 20 in text
    assert "FAIL P > 0.99, people say no" in text
    assert 'Negative ("unsupported") rows' in text.replace("“", '"').replace("”", '"')
