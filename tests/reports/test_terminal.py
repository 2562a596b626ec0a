from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from ragjudge.records import Item, JudgeInfo, MetricSummary, Report, Row, Score, Vote
from ragjudge.reports.page import open_console
from ragjudge.reports.terminal import print_report, print_score, summary_table
from tests.reports.examples import console, full_report, item, printed, report, score

UNICODE = """\
✗ apollo          When did Apollo 11 land on the Moon, and who were the two ast…
    ✗ faithfulness               0.500 < 0.900, 1 call failed
      2 of 4 claims are supported.
      ✗ Neil Armstrong and Buzz Aldrin stayed on the surf…    P = 0.03   chunk 2
      ✗ They raised a flag.                                 ~ P < 0.500  chunk 1
      ! It was the first landing.                             no answer
        the answer was cut after 8 tokens
    ✗ context_precision[claims]  0.125 < 0.500
      1 of 8 claims of the answer is supported by the given contexts, taken as
      one text.
      ✗ Claim number 1.                                                 P = 0.01
      ✗ Claim number 2.                                                 P = 0.02
      ✗ Claim number 3.                                                 P = 0.03
      ✗ Claim number 4.                                                 P = 0.04
      ✗ Claim number 5.                                                 P = 0.05
      … and 2 more
    ✓ tone (holistic)            1.000 ≥ 0.700
✓ python          Who created Python?                         faithfulness 1.000
! empty [answer]  What is the melting point of tungsten?
    – faithfulness               not applicable  The answer makes no claim.
    ! context_precision[claims]  judge error
      All 2 calls failed: the server closed the connection.
! lost
    the provider raised ValueError: no index

                            mean  passed  failed  scored/total  errors  coverage
faithfulness               0.750       1       1           2/3       0     100 %
context_precision[claims]  0.125       0       1           1/2       1      50 %
tone (holistic)            1.000       1       0           1/1       0     100 %

1,234 calls judged, 2 replayed, 3 failed; 61,700 tokens decoded (minimum
  61,000), 40 generated; judge 1 min 02 s, total 1 min 04 s, 995 tokens/s
judge qwen2.5-coder-1.5b (3fd0a1b2c3d4)
judge models/other.gguf (0123456789ab), calibrated (fefefefefefe)

FAILED  rows: 1 passed, 1 failed, 2 open; scores: 2 passed, 2 failed, 1 not
  applicable, 1 in error
"""

ASCII_START = """\
FAIL apollo          When did Apollo 11 land on the Moon, and who were the tw...
    FAIL faithfulness               0.500 < 0.900, 1 call failed
         2 of 4 claims are supported.
         FAIL Neil Armstrong and Buzz Aldrin stayed on...     P = 0.03   chunk 2
         FAIL They raised a flag.                           ~ P < 0.500  chunk 1
         ERR  It was the first landing.                       no answer
              the answer was cut after 8 tokens
    FAIL context_precision[claims]  0.125 < 0.500
         1 of 8 claims of the answer is supported by the given contexts, taken
         as one text.
         FAIL Claim number 1.                                           P = 0.01
         FAIL Claim number 2.                                           P = 0.02
         FAIL Claim number 3.                                           P = 0.03
         FAIL Claim number 4.                                           P = 0.04
         FAIL Claim number 5.                                           P = 0.05
         ... and 2 more
    ok   tone (holistic)            1.000 >= 0.700
ok   python          Who created Python?                      faithfulness 1.000
ERR  empty [answer]  What is the melting point of tungsten?
    n/a  faithfulness               not applicable  The answer makes no claim.
"""

VERBOSE_START = """\
✗ apollo          When did Apollo 11 land on the Moon, and who were the two ast…
    ✗ faithfulness               0.500 < 0.900, 1 call failed
      2 of 4 claims are supported.
      ✓ Apollo 11 landed on 20 July 1969.                     P > 0.99   chunk 1
      ✗ Neil Armstrong and Buzz Aldrin stayed on the          P = 0.03   chunk 2
        surface of the Moon for three days.
"""

SCORE = """\
✗ faithfulness  0.500 < 0.900, 1 call failed
  2 of 4 claims are supported.
  ✓ Apollo 11 landed on 20 July 1969.                         P > 0.99   chunk 1
  ✗ Neil Armstrong and Buzz Aldrin stayed on the surface      P = 0.03   chunk 2
    of the Moon for three days.
  ✗ They raised a flag.                                     ~ P < 0.500  chunk 1
  ! It was the first landing.                                 no answer
    the answer was cut after 8 tokens
"""

SUMMARY = """\
                            mean  passed  scored/total
faithfulness               0.750       1           2/3
context_precision[claims]  0.125       0           1/2
tone (holistic)            1.000       1           1/1
FAILED  rows: 1 passed, 1 failed, 2 open; scores: 2 passed, 2 failed, 1 not applicable, 1 in error"""


def show(shown: Report, *, width: int = 80, encoding: str | None = None, **options: bool) -> str:
    screen = console(width, encoding)
    print_report(shown, screen, **options)
    return printed(screen)


def show_row(**scores: Score) -> list[str]:
    passed = {score.passed for score in scores.values()}
    verdict = False if False in passed else True if True in passed else None
    row = Row(id="row", input="Why?", passed=verdict, scores=scores)
    return show(report(row)).split("\n\n")[0].splitlines()


def test_a_report_on_a_unicode_terminal() -> None:
    assert show(full_report()) == UNICODE


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_a_report_in_plain_ascii_where_the_terminal_cannot_do_better(encoding: str) -> None:
    text = show(full_report(), encoding=encoding)
    assert text.startswith(ASCII_START)
    assert text.isascii()


def test_a_legacy_windows_console_gets_plain_ascii() -> None:
    screen = console()
    screen.legacy_windows = True
    print_score(full_report().rows[0].scores["faithfulness"], screen)
    assert printed(screen).startswith("FAIL faithfulness  0.500 < 0.900")


def test_verbose_shows_every_piece_in_full() -> None:
    text = show(full_report(), verbose=True)
    assert text.startswith(VERBOSE_START)
    assert "Claim number 7." in text
    assert "    ✓ faithfulness               1.000 ≥ 0.700  All claims are supported.\n" in text


def test_quiet_is_the_verdict_alone() -> None:
    row = Row(id="a", passed=True, scores={"faithfulness": score(1.0)})
    assert show(report(row), quiet=True) == "PASSED  rows: 1 passed; scores: 1 passed\n"


def test_a_report_without_rows_says_so() -> None:
    assert show(report(passed=False), quiet=True) == "FAILED  rows: none; scores: none\n"


def test_one_score_is_shown_with_every_piece() -> None:
    screen = console()
    print_score(full_report().rows[0].scores["faithfulness"], screen)
    assert printed(screen) == SCORE


def test_the_summary_is_a_small_plain_table() -> None:
    assert summary_table(full_report()) == SUMMARY
    assert SUMMARY.isascii()


def test_a_metric_without_a_value_has_no_mean_in_the_summary() -> None:
    empty = report(summary={"faithfulness": MetricSummary(mean=None, scored=0, total=2, passed=0)})
    assert summary_table(empty).splitlines()[1].split() == ["faithfulness", "-", "0", "0/2"]


def test_the_same_report_prints_the_same_bytes() -> None:
    assert show(full_report(), encoding="utf-8") == show(full_report(), encoding="utf-8")


@pytest.mark.parametrize("width", [1, 64, 80, 100, 200])
@pytest.mark.parametrize("verbose", [False, True])
def test_no_line_is_wider_than_the_terminal(width: int, verbose: bool) -> None:
    lines = show(full_report(), width=width, verbose=verbose).splitlines()
    assert max(map(cell_len, lines)) <= max(width, 64)
    assert all(line == line.rstrip() for line in lines)


def test_a_passing_row_names_its_scores_while_they_fit() -> None:
    (line,) = show_row(faithfulness=score(1.0), recall=score(0.8))
    assert line == "✓ row  Why?".ljust(48) + "faithfulness 1.000, recall 0.800"


def test_a_passing_row_with_many_scores_names_the_lowest() -> None:
    line = show_row(**{f"metric_number_{n}": score(0.8 + n / 100) for n in range(5)})[0]
    assert line.startswith("✓ row  Why?  ")
    assert line.endswith("  5 scores, lowest 0.800")


def test_a_row_on_one_line_leaves_undecided_scores_to_the_totals() -> None:
    undecided = score(0.9, interval=(0.5, 1.0), undecided=True)
    (line,) = show_row(tone=undecided, recall=score(0.8))
    assert line.endswith("  tone 0.900, recall 0.800")


def test_an_interval_that_leaves_everything_open_is_not_shown() -> None:
    open_score = score(0.5, interval=(0.0, 1.0), undecided=True, reason="Half.")
    screen = console(encoding="ascii")
    print_score(open_score, screen)
    assert printed(screen).startswith("FAIL faithfulness  0.500 < 0.700, undecided\n")


def test_the_undecided_are_counted_beside_the_passed_and_failed() -> None:
    undecided = score(0.5, interval=(0.25, 0.75), undecided=True)
    row = Row(id="a", passed=False, scores={"faithfulness": undecided, "recall": score(1.0)})
    assert show(report(row, passed=False), quiet=True) == (
        "FAILED  rows: 1 failed; scores: 1 passed, 1 failed; 1 undecided\n"
    )


def test_an_interval_is_plain_ascii_where_the_terminal_is() -> None:
    undecided = score(0.5, interval=(0.25, 0.75), undecided=True, reason="Half.")
    screen = console(encoding="ascii")
    print_score(undecided, screen)
    assert printed(screen).startswith("FAIL faithfulness  0.500 (0.250-0.750) < 0.700, undecided\n")


def test_a_passing_row_with_a_failed_call_is_opened() -> None:
    failed = item("Lost.", None, error="timed out")
    shown = show_row(faithfulness=score(0.75, errors=1, items=(failed,), reason="3 of 4 hold."))
    assert shown[1] == "    ✓ faithfulness  0.750 ≥ 0.700, 1 call failed"
    assert shown[2].split() == ["!", "Lost.", "no", "answer"]
    assert shown[3].strip() == "timed out"


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        (
            {"value": None, "passed": False, "reason": "No contexts."},
            "✗ m  not applicable, counts as failed  No contexts.",
        ),
        ({"value": None, "status": "skipped", "reason": "No output."}, "– m  skipped  No output."),
        (
            {"value": 0.5, "threshold": None, "errors": 1, "reason": "Half."},
            "· m  0.500, 1 call failed  Half.",
        ),
        ({"value": 0.69996, "reason": "Close."}, "✗ m  0.69996 < 0.70000  Close."),
        (
            {"value": 0.5, "interval": (0.25, 0.69996), "reason": "Half."},
            "✗ m  0.500 (0.250–0.69996) < 0.700  Half.",
        ),
        (
            {"value": 0.5, "interval": (0.25, 0.75), "undecided": True, "errors": 1, "reason": "Half."},
            "✗ m  0.500 (0.250–0.750) < 0.700, undecided, 1 call failed  Half.",
        ),
        ({"value": 0.5, "interval": (0.5, 0.5), "reason": "Half."}, "✗ m  0.500 < 0.700  Half."),
        (
            {"value": 0.5, "interval": (0.25, 0.75), "threshold": None, "errors": 1, "reason": "Half."},
            "· m  0.500 (0.250–0.750), 1 call failed  Half.",
        ),
    ],
)
def test_every_kind_of_score_has_its_line(fields: dict[str, Any], line: str) -> None:
    assert show_row(m=score(**fields))[1] == f"    {line}"


def test_a_row_without_thresholds_is_neither_passed_nor_failed() -> None:
    assert show_row(m=score(0.5, threshold=None))[0].split() == ["·", "row", "Why?", "m", "0.500"]
    assert show_row(m=score(None, reason="No claims."))[0].split() == ["–", "row", "Why?"]


def test_a_piece_that_has_a_verdict_but_no_probability_shows_none() -> None:
    piece = item("Wrong.", None, verdict=False)
    assert show_row(m=score(0.0, items=(piece,), reason="None holds."))[2].split() == ["✗", "Wrong."]


def test_variants_that_differ_from_row_to_row_are_all_named_in_the_totals() -> None:
    rows = (
        Row(id=by, passed=True, scores={"context_precision": score(1.0, "context_precision", by=by)})
        for by in ("chunks", "claims")
    )
    summary = {
        "context_precision": MetricSummary(mean=1.0, scored=2, total=2, passed=2),
        "unused": MetricSummary(mean=None, scored=0, total=0, passed=0),
    }
    lines = summary_table(report(*rows, summary=summary)).splitlines()
    assert lines[1].startswith("context_precision[chunks|claims]  1.000")
    assert lines[2].startswith("unused ")


def test_restored_tokens_are_named_when_there_are_any() -> None:
    usage = {"tokens_restored": 500, "calls_judged": 1}
    assert "1 call judged" in show(report(usage=usage))
    assert "(minimum 0), 500 restored" in show(report(usage=usage), width=200)


def test_colours_are_for_terminals_alone() -> None:
    plain, coloured = console(), console(terminal=True)
    print_report(full_report(), plain)
    print_report(full_report(), coloured)
    assert "\x1b" not in printed(plain)
    assert "\x1b[1;31m✗\x1b[0m" in printed(coloured)


def test_a_report_for_a_file_is_a_hundred_columns_wide(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    assert open_console().width == 100
    monkeypatch.setenv("COLUMNS", "72")
    assert open_console().width == 72
    print_report(full_report(), open_console(stderr=True), quiet=True)
    assert capsys.readouterr().err.startswith("FAILED")


HOSTILE = "[bold]not bold[/] \x1b[2J\x1b]0;title\x07 \u202etxet\u2066 :smile: [/nonsense] \x9b31m"


def hostile(text: str) -> Report:
    """Return a report that carries a text in every field that is data."""
    piece = Item(
        text=text, start=0, end=len(text), verdict=False, probability=0.1, label_mass=0.9, chunk=0, error=text
    )
    failed = score(0.0, text, by=text, reason=text, items=(piece,))
    return report(
        Row(id=text, provider=text, input=text, passed=False, error=text, scores={text: failed}),
        Row(id=text, input=text, passed=True, scores={text: score(1.0)}),
        summary={text: MetricSummary(mean=0.5, scored=2, total=2, passed=1, failed=1)},
        judges=(JudgeInfo(id=text, fingerprint=text, calibration=text),),
        passed=False,
    )


def test_hostile_data_neither_moves_the_cursor_nor_becomes_markup() -> None:
    text = show(hostile(HOSTILE), width=400)
    assert not {"\x1b", "\x9b", "\x07", "\u202e", "\u2066"} & set(text)
    assert (
        "[bold]not bold[/] \\x1b[2J\\x1b]0;title\\x07 \\u202etxet\\u2066 :smile: [/nonsense] \\x9b31m" in text
    )
    assert not {"\x1b", "\u202e"} & set(summary_table(hostile(HOSTILE)))


@settings(deadline=None, max_examples=60)
@given(
    text=st.text(st.characters()),
    width=st.integers(1, 120),
    encoding=st.sampled_from(["utf-8", "ascii", "cp1252"]),
)
def test_no_text_in_the_data_can_break_the_printing(text: str, width: int, encoding: str) -> None:
    shown = hostile(text.encode("utf-8", "replace").decode("utf-8"))
    for verbose in (False, True):
        show(shown, width=width, encoding=encoding, verbose=verbose)
    screen = console(width, encoding)
    print_score(shown.rows[0].scores.popitem()[1], screen)
    summary_table(shown)


def test_a_lone_surrogate_is_shown_as_an_escape() -> None:
    row = Row.model_construct(**{**dict(Row(id="a", scores={})), "id": "half \ud83d"})
    shown = Report.model_construct(**{**dict(report()), "rows": (row,)})
    assert "half \\ud83d" in show(shown, encoding="utf-8")


def test_importing_the_reports_loads_no_rich() -> None:
    modules = "json, numbers, page, printable, progress, registry, scores, terminal, totals"
    code = f"import sys; from ragjudge.reports import {modules}; sys.exit('rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_providers_of_one_file_are_told_apart() -> None:
    rows = [
        Row(id="apollo", provider=f"python:a_folder/of_my_own/rag.py:{name}", scores={"tone": score(1.0)})
        for name in ("answer", "answer_with_reranking")
    ]
    text = show(report(*rows))
    assert "apollo [answer] " in text
    assert "apollo [answer_with_rer…] " in text


def test_disagreement_of_judges_is_shown_where_there_is_any() -> None:
    def voted(text: str, *verdicts: bool | None, **fields: Any) -> Item:
        votes = tuple(Vote(judge=f"j{n}", verdict=verdict) for n, verdict in enumerate(verdicts))
        answered = [verdict for verdict in verdicts if verdict is not None]
        holds = sum(answered) * 2 > len(answered)
        share = sum(verdict is not holds for verdict in answered) / len(answered)
        return item(text, 0.8 if holds else 0.2, panel=votes, disagreement=share, **fields)

    items = (
        voted("It is red.", True, True, False, chunk=0),
        voted("It is old.", False, False, False, chunk=1),
        voted("It is big.", False, True, None, False, marginal=True),
    )
    rows = [Row(id="a", passed=False, scores={"faithfulness": score(0.333, items=items)})]
    summary = {"faithfulness": MetricSummary(mean=0.333, scored=1, total=1, passed=0, disagreement=2 / 3)}
    screen = console()
    print_report(report(*rows, summary=summary), screen, verbose=True)
    shown = printed(screen)
    assert "  P = 0.80  2 of 3 judges  chunk 1\n" in shown
    assert "  P = 0.20                 chunk 2\n" in shown
    assert "~ P = 0.20  2 of 3 judges\n" in shown
    (head,) = (line.split() for line in shown.splitlines() if "judges differ" in line)
    (figures,) = (line.split() for line in shown.splitlines() if line.startswith("faithfulness"))
    assert head[-2:] == ["judges", "differ"]
    assert figures[-2:] == ["67", "%"]
