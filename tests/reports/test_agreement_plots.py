from __future__ import annotations

import pytest

from ragjudge.records import ReliabilityBin, RocPoint
from ragjudge.reports.agreement_plots import reliability_lines, roc_lines
from tests.reports.agreement_examples import BINS, CURVE


def test_a_bar_is_the_share_of_positive_rows_and_its_mark_their_mean_probability() -> None:
    lines = reliability_lines(BINS)
    assert lines[0] == "P            rows  mean P  positive"
    assert lines[1] == "0.0 to 0.1      0"
    assert lines[3] == "0.2 to 0.3      4    0.25      0.00  " + " " * 10 + "│"
    assert lines[8] == "0.7 to 0.8      8    0.75      0.50  " + "█" * 20 + " " * 10 + "│"
    assert len(lines) == 11


def test_a_reliability_diagram_in_ascii() -> None:
    lines = reliability_lines(BINS, ascii_only=True)
    assert lines[8] == "0.7 to 0.8      8    0.75      0.50  " + "#" * 20 + " " * 10 + "|"
    assert all(map(str.isascii, lines))


@pytest.mark.parametrize("ascii_only", [False, True])
def test_a_full_bar_fits_the_width_and_keeps_its_mark(ascii_only: bool) -> None:
    full = ReliabilityBin(low=0.9, high=1.0, count=1_234_567, mean_probability=1.0, positive_share=1.0)
    for width in (64, 80, 200):
        line = reliability_lines([full], ascii_only=ascii_only, width=width)[1]
        assert len(line) <= width
        assert line.endswith("|" if ascii_only else "│")


def test_a_bar_ends_in_eighths_of_a_cell() -> None:
    third = ReliabilityBin(low=0.3, high=0.4, count=3, mean_probability=0.9, positive_share=1 / 3)
    line = reliability_lines([third])[1]
    assert "█" * 13 + "▍ " in line  # a third of 40 cells: 13, and 2.67 eighths


CORNERS = (
    RocPoint(threshold=None, false_positive_share=0.0, true_positive_share=0.0),
    RocPoint(threshold=0.5, false_positive_share=0.0, true_positive_share=1.0),
    RocPoint(threshold=0.1, false_positive_share=1.0, true_positive_share=1.0),
)


def test_the_curve_of_a_perfect_judge_runs_along_the_upper_edge() -> None:
    lines = roc_lines(CORNERS)
    assert lines[0] == "true positive share"
    assert lines[1] == "1.0 │" + "█" * 48
    assert lines[-2].split() == ["0.0", "0.5", "1.0"]
    assert lines[-1].strip() == "false positive share"


def test_a_curve_stands_at_its_height_over_each_column() -> None:
    lines = roc_lines(CURVE, ascii_only=True)
    plot = [line[5:].ljust(48) for line in lines[1:13]]
    height = [next(12 - row for row in range(12) if plot[row][column] == "*") for column in range(48)]
    assert height[:12] == [6] * 12  # true positive share 0.5 of 12 rows, up to a false positive share of 0.25
    assert height[12:24] == sorted(height[12:24])
    assert height[24:] == [12] * 24
    assert all(map(str.isascii, lines))


def test_the_line_of_chance_is_dotted() -> None:
    plot = [line[5:].ljust(48) for line in roc_lines(CURVE, ascii_only=True)[1:13]]
    places = [(column, 11 - row) for row in range(12) for column in range(48) if plot[row][column] == "."]
    assert len(places) > 10
    assert all(abs((column + 0.5) / 48 - (row + 0.5) / 12) < 0.05 for column, row in places)


def test_what_cannot_be_drawn_is_no_line() -> None:
    assert reliability_lines(()) == roc_lines(()) == []
