from __future__ import annotations

import os
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ragjudge.cache.entries import is_whole
from ragjudge.cache.recovery import rescued_rows, set_aside, verified_rows
from ragjudge.cache.salvage import _varint, read_rows
from ragjudge.cache.store import Store
from ragjudge.judges.base import Identity
from tests.cache.helpers import JUDGE, check, database, key, put

LONG_CLAIM = "x" * 300_000


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of 400 small calls and one with a text of many pages."""
    folder = tmp_path_factory.mktemp("whole")
    with Store(folder) as store:
        for number in range(400):
            put(store, check(f"Claim {number}."))
        put(store, check(LONG_CLAIM))
        store.remember_judge("fake", JUDGE.document)
        store.remember_judge("fake", Identity({"kind": "never asked"}).document)
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "cache"))


def overwrite(folder: Path, start: int, data: bytes) -> None:
    with database(folder).open("r+b") as file:
        file.seek(start)
        file.write(data)


def expected(folder: Path) -> dict[str, str]:
    with closing(sqlite3.connect(database(folder))) as connection:
        return dict(connection.execute("SELECT key, value FROM Cache").fetchall())


def test_every_row_of_a_whole_database_is_read_as_sqlite_reads_it(folder: Path) -> None:
    assert dict(read_rows(folder)) == expected(folder)


def test_rows_that_are_still_in_the_log_are_read_in_their_newest_version(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        for number in range(50):
            put(store, check(f"Claim {number}."))
        assert (tmp_path / "cache.db-wal").stat().st_size > 0
        copy = Path(shutil.copytree(tmp_path, tmp_path / "copy"))
    assert len([row for row in read_rows(copy) if is_whole(*row)]) == 51
    (copy / "cache.db").write_bytes(b"")
    assert len([row for row in read_rows(copy) if is_whole(*row)]) == 51


def test_a_lost_header_and_schema_cost_no_row(folder: Path) -> None:
    rows = expected(folder)
    overwrite(folder, 0, os.urandom(4096))
    assert dict(read_rows(folder)) == rows


def test_a_destroyed_page_costs_its_own_rows(folder: Path) -> None:
    rows = expected(folder)
    # Through the middle of the database, so that it hits pages of every kind.
    overwrite(folder, database(folder).stat().st_size // 2 // 4096 * 4096, os.urandom(4096))
    found = rescued_rows(folder)
    assert 300 < len(found) < len(rows) + 1
    assert all(rows[name] == text for name, text in found.items() if not name.startswith("judge/"))


def test_of_judges_only_what_a_call_confirms_is_kept(folder: Path) -> None:
    rows = dict(verified_rows(folder))
    (judge,) = (text for name, text in rows.items() if name.startswith("judge/"))
    assert '"seed":7' in judge
    assert "never asked" not in judge
    assert sum(name.startswith("call/") for name in rows) == 401


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_cut_file_gives_what_stands_before_the_cut(folder: Path, share: float) -> None:
    size = database(folder).stat().st_size
    os.truncate(database(folder), int(size * share))
    rows = expected_keys(folder)
    assert len(rows) > 10 * share


def expected_keys(folder: Path) -> set[str]:
    return {name for name, text in read_rows(folder) if is_whole(name, text)}


def test_no_damage_makes_the_reader_fail_or_return_what_does_not_verify(folder: Path) -> None:
    good = database(folder).read_bytes()
    rows = expected(folder)
    chance = random.Random(4)  # noqa: S311 - no secret
    for _ in range(60):
        data = bytearray(good)
        for _ in range(chance.choice([1, 5, 50, 500])):
            data[chance.randrange(len(data))] = chance.randrange(256)
        start = chance.randrange(len(data))
        data[start : start + chance.choice([0, 10, 5000])] = b""
        database(folder).write_bytes(bytes(data))
        for name, text in rescued_rows(folder).items():
            assert name.startswith("judge/") or rows[name] == text


def test_pages_that_point_in_circles_are_not_followed_for_ever(folder: Path) -> None:
    data = bytearray(database(folder).read_bytes())
    pages = len(data) // 4096
    # Every page that continues a long row says that page 3 comes next, and page 3 says so of itself.
    for page in range(2, pages):
        if data[page * 4096] not in (2, 5, 10, 13):
            data[page * 4096 : page * 4096 + 4] = (3).to_bytes(4, "big")
    database(folder).write_bytes(bytes(data))
    assert len(rescued_rows(folder)) > 300


def test_files_are_moved_into_a_folder_of_their_own_each_time(folder: Path) -> None:
    (folder / "cache.db-wal").write_bytes(b"log")
    assert set_aside(folder) == folder / "damaged-1"
    names = sorted(path.name for path in (folder / "damaged-1").iterdir())
    assert names == ["cache.db", "cache.db-wal", "unfinished"]
    database(folder).write_bytes(b"")
    assert set_aside(folder) == folder / "damaged-2"


@pytest.mark.parametrize(
    ("data", "value"),
    [(b"\x00", 0), (b"\x7f", 127), (b"\x81\x00", 128), (b"\xff" * 9, 2**64 - 1), (b"\x80", 0), (b"", 0)],
)
def test_numbers_of_variable_length_are_read(data: bytes, value: int) -> None:
    assert _varint(data, 0)[0] == value


def test_a_key_is_found_again(folder: Path) -> None:
    assert f"call/{key(check('Claim 7.'))}" in dict(read_rows(folder))
