"""A cache that breaks, before or while it is used."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ragjudge.cache import handle as handle_module
from ragjudge.cache.disk import TextCache
from ragjudge.cache.recovery import set_aside, verified_rows
from ragjudge.cache.store import Store
from ragjudge.errors import CacheError
from ragjudge.records import Verdict
from tests.cache.helpers import JUDGE, YES, check, database, key, put

Damage = Callable[[Path], None]
CALLS = [check(f"Claim {number}.") for number in range(300)]
KEYS = [key(call) for call in CALLS]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Store(tmp_path / "cache") as store:
        for call in CALLS:
            put(store, call)
        store.remember_judge("fake", JUDGE.document)
    return tmp_path / "cache"


def garbage(folder: Path) -> None:
    data = database(folder).read_bytes()
    database(folder).write_bytes(os.urandom(len(data)))


def lost_header(folder: Path) -> None:
    data = database(folder).read_bytes()
    database(folder).write_bytes(b"\xff" * 4096 + data[4096:])


def cut(folder: Path) -> None:
    os.truncate(database(folder), int(database(folder).stat().st_size * 0.7))


def broken_middle(folder: Path) -> None:
    data = database(folder).read_bytes()
    pages = bytearray(data)
    for page in range(4, len(data) // 4096, 3):
        pages[page * 4096 : page * 4096 + 100] = b"\xff" * 100
    database(folder).write_bytes(bytes(pages))


DAMAGES = [(garbage, 0), (lost_header, 300), (cut, 100), (broken_middle, 80)]


@pytest.mark.parametrize(("damage", "least"), DAMAGES)
def test_a_damaged_database_is_set_aside_and_what_can_be_read_is_kept(
    folder: Path, damage: Damage, least: int
) -> None:
    damage(folder)
    broken = database(folder).read_bytes()
    with Store(folder) as store:
        found = store.get_many(KEYS)
        assert least <= len(found)
        assert all(answer == YES for answer in found.values())
        for call in CALLS:
            put(store, call)
        assert store.write_error is None
        (notice,) = store.notices
        assert f"{len(found)} of its answers were kept" in notice
        assert str(folder / "damaged-1") in notice
    assert (folder / "damaged-1" / "cache.db").stat().st_size == len(broken)
    with Store(folder, read_only=True) as again:
        assert len(again.get_many(KEYS)) == 300
        assert again.notices == ()


@pytest.mark.parametrize(("damage", "least"), DAMAGES)
def test_a_replay_uses_what_can_be_read_and_changes_nothing(folder: Path, damage: Damage, least: int) -> None:
    damage(folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with Store(folder, read_only=True) as store:
        found = store.get_many(KEYS)
        assert least <= len(found)
        assert all(answer == YES for answer in found.values())
        assert store.get_many(KEYS) == found
        assert len(list(store.calls())) == len(found)
        (notice,) = store.notices
        assert "cache verify --repair" in notice
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(("damage", "least"), DAMAGES)
def test_a_database_that_breaks_while_it_is_open_costs_the_running_job_nothing(
    folder: Path, damage: Damage, least: int
) -> None:
    new = [check(f"New claim {number}.") for number in range(50)]
    with Store(folder) as store:
        for call in new[:25]:
            put(store, call)
        damage(folder)
        for call in new[25:]:
            put(store, call)
        store.get_many(KEYS)
        for call in new:  # judged in this run, and perhaps read again
            if store.get(key(call)) is None:
                put(store, call)
        assert len(store.get_many(key(call) for call in new)) == 50
    with Store(folder) as again:
        again.get_many(KEYS)
        assert len(again.get_many(key(call) for call in new[25:])) == 25


def test_a_folder_that_is_deleted_while_it_is_open_is_made_again(folder: Path) -> None:
    with Store(folder) as store:
        shutil.rmtree(folder)
        put(store, check("after"))
        assert store.write_error is None
    with Store(folder, read_only=True) as again:
        assert again.get(key(check("after"))) == YES


def test_a_database_that_another_process_has_set_aside_is_no_longer_written(folder: Path) -> None:
    with Store(folder) as one, Store(folder) as two:
        lost_header(folder)
        (folder / "cache.db-wal").unlink()
        with Store(folder) as mender:
            assert len(mender.get_many(KEYS)) == 300
        put(one, check("one"))
        put(two, check("two"))
        assert (one.write_error, two.write_error) == (None, None)
    with Store(folder, read_only=True) as again:
        assert again.get_many([key(check("one")), key(check("two"))]).keys() == {
            key(check("one")),
            key(check("two")),
        }
    assert not (folder / "damaged-2").exists()


def test_a_database_that_breaks_again_and_again_is_given_up_and_the_run_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: TextCache, rows: dict[str, str]) -> None:
        raise sqlite3.DatabaseError("database disk image is malformed")

    monkeypatch.setattr(handle_module, "_MOST_RECOVERIES", 1)
    with Store(folder) as store:
        monkeypatch.setattr(TextCache, "write", fail)
        for number in range(5):
            put(store, check(f"New {number}."))
        assert store.write_error is not None
        assert "malformed" in store.write_error
        assert len(store.get_many(key(check(f"New {number}.")) for number in range(5))) == 5
        monkeypatch.undo()


def test_a_refused_database_is_not_mended(folder: Path) -> None:
    with closing(sqlite3.connect(database(folder))) as connection:
        connection.execute("CREATE TABLE evil (a)")
    for _ in range(2):
        with pytest.raises(CacheError, match="refused") as caught:
            Store(folder)
        assert "cache merge" in (caught.value.hint or "")
    assert not (folder / "damaged-1").exists()


def test_what_a_killed_process_has_not_finished_is_finished_by_the_next(folder: Path) -> None:
    lost_header(folder)
    set_aside(folder)  # and then it was killed
    with Store(folder, read_only=False) as store:
        assert len(store.get_many(KEYS)) == 300
        assert "300 of its answers were kept" in store.notices[0]
    with Store(folder) as store:
        assert store.notices == ()


def test_a_newer_answer_is_not_replaced_by_one_that_was_set_aside(folder: Path) -> None:
    other = Verdict(log_probabilities={"yes": -3.0, "no": -0.05})
    lost_header(folder)
    broken = set_aside(folder)
    unfinished = (broken / "unfinished").rename(broken / "later")
    with Store(folder) as store:
        put(store, CALLS[0], other)
    unfinished.rename(broken / "unfinished")
    with Store(folder) as store:
        assert store.get(KEYS[0]) == other
        assert store.get(KEYS[1]) == YES


def test_a_file_that_never_was_a_cache_stays_where_it_is(tmp_path: Path) -> None:
    database(tmp_path).write_bytes(b"somebody else's notes" * 1000)
    for _ in range(2):
        with pytest.raises(CacheError, match="cannot be opened: file is not a database"):
            Store(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["cache.db"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_in_place_of_a_database_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(database(tmp_path))
    with pytest.raises(OSError, match="no plain file"):
        list(verified_rows(tmp_path))


def test_a_reader_does_not_take_a_change_for_damage(folder: Path) -> None:
    with Store(folder, read_only=True) as reader:
        assert len(reader.get_many(KEYS)) == 300
        with Store(folder) as writer:
            for number in range(400):
                put(writer, check(f"New {number}."))
        assert len(reader.get_many(key(check(f"New {number}.")) for number in range(400))) == 400
        assert reader.notices == ()
