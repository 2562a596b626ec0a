from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from ragjudge.errors import UsageError
from ragjudge.records import Report, Row
from ragjudge.reports.json import read_report, render, render_rows
from ragjudge.reports.registry import check_output, check_outputs, write_report
from tests.reports.examples import full_report, report


@pytest.mark.parametrize(("name", "form"), [("a.json", render), ("a.jsonl", render_rows), ("A.JSON", render)])
def test_the_suffix_chooses_the_format(tmp_path: Path, name: str, form: Callable[[Report], str]) -> None:
    write_report(full_report(), tmp_path / name)
    assert (tmp_path / name).read_bytes() == form(full_report()).encode("utf-8")


@pytest.mark.parametrize(
    ("name", "found"), [("a.xml", "the suffix '.xml'"), ("a", "no suffix"), (".json", "no suffix")]
)
def test_another_suffix_is_refused_with_the_accepted_ones(tmp_path: Path, name: str, found: str) -> None:
    path = tmp_path / name
    message = f"{path}: {found} names no report format. Accepted: .json, .jsonl."
    with pytest.raises(UsageError) as before:
        check_output(path)
    with pytest.raises(UsageError) as after:
        write_report(report(), path)
    assert before.value.message == after.value.message == message
    assert list(tmp_path.iterdir()) == []


def test_a_check_leaves_nothing_behind(tmp_path: Path) -> None:
    check_output(tmp_path / "a.json")
    assert list(tmp_path.iterdir()) == []


def test_an_output_below_a_missing_folder_is_refused_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no folder") as caught:
        check_output(tmp_path / "gone" / "a.json")
    assert caught.value.hint == "create it first"


def test_a_folder_is_no_output(tmp_path: Path) -> None:
    (tmp_path / "a.json").mkdir()
    with pytest.raises(UsageError, match="is a folder"):
        check_output(tmp_path / "a.json")


def test_a_protected_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.json").touch()
    monkeypatch.setattr("os.access", lambda _, mode: mode != os.W_OK)  # root may write everywhere
    with pytest.raises(UsageError, match=r"the file is there and must not be written\.$"):
        check_output(tmp_path / "a.json")


def test_a_folder_that_takes_no_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("pathlib.Path.open", refuse)
    with pytest.raises(UsageError, match=r"cannot be written: Read-only file system\.$"):
        check_output(tmp_path / "a.json")


def test_one_file_named_twice_is_refused(tmp_path: Path) -> None:
    check_outputs([tmp_path / "a.json", tmp_path / "a.jsonl"])
    with pytest.raises(UsageError, match="named twice"):
        check_outputs(
            [tmp_path / "a.json", tmp_path / "b.json", tmp_path / "." / ".." / tmp_path.name / "a.json"]
        )


def test_a_link_to_another_output_is_the_same_file(tmp_path: Path) -> None:
    (tmp_path / "a.json").touch()
    (tmp_path / "b.json").symlink_to(tmp_path / "a.json")
    (tmp_path / "c.json").hardlink_to(tmp_path / "a.json")
    for other in ("b.json", "c.json"):
        with pytest.raises(UsageError, match="named twice"):
            check_outputs([tmp_path / "a.json", tmp_path / other])


def test_writing_replaces_the_old_report_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("x" * 100_000, encoding="utf-8")
    write_report(report(), path)
    assert read_report(path) == report()
    assert list(tmp_path.iterdir()) == [path]


def test_writing_through_a_link_keeps_the_link(tmp_path: Path) -> None:
    (tmp_path / "real.json").touch()
    (tmp_path / "a.json").symlink_to(tmp_path / "real.json")
    write_report(report(), tmp_path / "a.json")
    assert (tmp_path / "a.json").is_symlink()
    assert read_report(tmp_path / "real.json") == report()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_a_private_report_stays_private(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.touch()
    path.chmod(0o600)
    write_report(report(), path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_failed_write_leaves_the_old_report_and_no_rubbish(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.json"
    path.write_text("old", encoding="utf-8")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(UsageError, match=r"a\.json: cannot be written: No space left on device\.$"):
        write_report(report(), path)
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_line_ends_are_the_same_on_every_system(tmp_path: Path) -> None:
    write_report(report(Row(id="a", scores={}), Row(id="b", scores={})), tmp_path / "a.jsonl")
    data = (tmp_path / "a.jsonl").read_bytes()
    assert data.endswith(b"}\n")
    assert data.count(b"\n") == 2
    assert b"\r" not in data
