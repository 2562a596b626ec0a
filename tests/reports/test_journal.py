from __future__ import annotations

import os
from pathlib import Path

import pytest

from ragjudge.records import Report, Row
from ragjudge.reports.journal import Journal
from ragjudge.reports.json import render_row, render_rows
from tests.reports.examples import report

ROWS = [Row(id=f"row-{number}", output="ü" * number, scores={}) for number in range(5)]
WHOLE = "".join(map(render_row, ROWS)).encode()


def of(rows: list[Row]) -> Report:
    return report(*rows) if rows else report()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.jsonl"


def part(path: Path) -> Path:
    return Path(f"{path}.part")


def journal(path: Path, rows: list[Row]) -> Journal:
    made = Journal(path)
    for row in rows:
        made.add(row)
    return made


def test_each_row_is_there_as_soon_as_it_was_added(path: Path) -> None:
    made = Journal(path)
    for number, row in enumerate(ROWS, start=1):
        made.add(row)
        assert part(path).read_bytes().count(b"\n") == number
    assert not path.exists()
    made.finish(of(ROWS))
    assert path.read_bytes() == WHOLE == render_rows(of(ROWS)).encode()
    assert not part(path).exists()


@pytest.mark.parametrize("left", [0, 1, 30, 10_000])
def test_what_an_earlier_run_left_is_gone_on_with_and_a_torn_line_is_dropped(path: Path, left: int) -> None:
    part(path).write_bytes(WHOLE[:left])
    made = journal(path, ROWS[:2])
    assert part(path).read_bytes().startswith("".join(map(render_row, ROWS[:2])).encode())
    for row in ROWS[2:]:
        made.add(row)
    made.finish(of(ROWS))
    assert path.read_bytes() == WHOLE


def test_rows_of_an_earlier_run_stay_until_one_comes_out_differently(path: Path) -> None:
    part(path).write_bytes(WHOLE)
    made = journal(path, ROWS[:2])
    made.close()
    assert part(path).read_bytes() == WHOLE
    other = ROWS[1].model_copy(update={"output": "other"})
    made = journal(path, [ROWS[0], other])
    made.close()
    assert part(path).read_text(encoding="utf-8") == render_row(ROWS[0]) + render_row(other)


@pytest.mark.parametrize(("left", "kept"), [(0, [0, 1, 3]), (2, [0, 1, 3]), (3, [0, 1, 2])])
def test_rows_that_wait_for_their_turn_are_left_unless_an_earlier_run_came_further(
    path: Path, left: int, kept: list[int]
) -> None:
    part(path).write_text("".join(map(render_row, ROWS[:left])), encoding="utf-8")
    journal(path, ROWS[:2]).leave([*ROWS[:2], ROWS[3]])
    assert part(path).read_text(encoding="utf-8") == "".join(render_row(ROWS[number]) for number in kept)


def test_more_rows_than_there_are_now_are_cut_off(path: Path) -> None:
    part(path).write_bytes(WHOLE)
    journal(path, ROWS[:3]).finish(of(ROWS[:3]))
    assert path.read_bytes() == "".join(map(render_row, ROWS[:3])).encode()


def test_garbage_of_many_pages_without_a_line_end_is_dropped(path: Path) -> None:
    part(path).write_bytes(b"x" * 3_000_000)
    journal(path, ROWS).finish(of(ROWS))
    assert path.read_bytes() == WHOLE


def test_no_rows_leave_no_part(path: Path) -> None:
    Journal(path).close()
    made = Journal(path)
    made.finish(of([]))
    assert path.read_bytes() == b""
    assert not part(path).exists()


def test_a_journal_that_cannot_be_written_costs_nothing_but_itself(path: Path) -> None:
    part(path).mkdir()
    made = journal(path, ROWS)
    part(path).rmdir()
    made.finish(of(ROWS))
    assert path.read_bytes() == WHOLE


def test_the_mode_of_the_file_before_is_kept(path: Path) -> None:
    path.write_text("old", encoding="utf-8")
    path.chmod(0o640)
    journal(path, ROWS).finish(of(ROWS))
    assert path.read_bytes() == WHOLE
    if os.name == "posix":
        assert path.stat().st_mode & 0o777 == 0o640


def test_a_link_is_followed(path: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    path.symlink_to(tmp_path / "elsewhere" / "real.jsonl")
    journal(path, ROWS).finish(of(ROWS))
    assert path.is_symlink()
    assert (tmp_path / "elsewhere" / "real.jsonl").read_bytes() == WHOLE


@pytest.mark.skipif(os.name != "posix", reason="the locks of POSIX")
def test_a_second_run_for_the_same_file_does_not_write_into_the_first_ones_rows(path: Path) -> None:
    first = journal(path, ROWS[:2])
    second = journal(path, ROWS[3:])
    for row in ROWS[2:]:
        first.add(row)
    second.finish(of(ROWS[3:]))
    assert path.read_bytes() == "".join(map(render_row, ROWS[3:])).encode()
    first.finish(of(ROWS))
    assert path.read_bytes() == WHOLE
    assert not part(path).exists()


def test_a_link_in_place_of_the_part_is_not_followed(path: Path, tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("keep me", encoding="utf-8")
    part(path).symlink_to(tmp_path / "victim")
    journal(path, ROWS).finish(of(ROWS))
    assert (tmp_path / "victim").read_text(encoding="utf-8") == "keep me"
    assert path.read_bytes() == WHOLE
