"""A cache folder that somebody else has prepared."""

from __future__ import annotations

import pickle
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ragjudge.cache.database import _SCHEMA, check_content
from ragjudge.cache.store import Store
from ragjudge.errors import CacheError
from tests.cache.helpers import YES, check, database, key, put


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A cache with one call."""
    with Store(tmp_path / "cache") as store:
        put(store, check())
    return tmp_path / "cache"


def plant(folder: Path, *statements: str, values: tuple[object, ...] = ()) -> None:
    with closing(sqlite3.connect(database(folder))) as connection:
        for statement in statements:
            connection.execute(statement, values)
        connection.commit()


def assert_refused(folder: Path, *parts: str) -> None:
    for read_only in (False, True):
        with pytest.raises(CacheError) as caught:
            Store(folder, read_only=read_only)
        for part in parts:
            assert part in caught.value.message
        assert "--cache DIR" in (caught.value.hint or "")
        assert "--no-cache" in (caught.value.hint or "")


def test_a_fresh_database_has_exactly_the_known_schema(folder: Path) -> None:
    with closing(sqlite3.connect(database(folder))) as connection:
        found = dict(connection.execute("SELECT name, sql FROM sqlite_master").fetchall())
        assert found == _SCHEMA
        assert check_content(connection, folder)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("sqlite_writable_schema", 1),
        ("sqlite_temp_store_directory", "'/tmp'"),
        ("sqlite_journal_mode", "off"),
        ("disk_pickle_protocol", 4),
        ("disk_min_file_size", 0),
        ("size_limit", 1),
        ("size_limit", "4611686018427387904"),
        ("eviction_policy", "least-recently-used"),
        ("cull_limit", 10),
        ("nonsense", None),
        ("count", "1; DROP TABLE Cache"),
        (b"cull_limit", 0),
    ],
)
def test_a_planted_setting_is_refused(folder: Path, setting: object, value: object) -> None:
    plant(folder, "INSERT OR REPLACE INTO Settings VALUES (?, ?)", values=(setting, value))
    assert_refused(folder, repr(setting))


@pytest.mark.parametrize(
    ("name", "statement"),
    [
        ("evil", "CREATE TRIGGER evil AFTER INSERT ON Cache BEGIN DELETE FROM Cache; END"),
        ("evil", "CREATE VIEW evil AS SELECT * FROM Cache"),
        ("evil", "CREATE TABLE evil (a)"),
        ("evil", "CREATE INDEX evil ON Cache (lower(key))"),
    ],
)
def test_a_planted_trigger_view_table_or_index_is_refused(folder: Path, name: str, statement: str) -> None:
    plant(folder, statement)
    assert_refused(folder, repr(name))


def test_a_trigger_that_was_replaced_under_its_own_name_is_refused(folder: Path) -> None:
    plant(
        folder,
        "DROP TRIGGER Settings_count_insert",
        "CREATE TRIGGER Settings_count_insert AFTER INSERT ON Cache BEGIN DELETE FROM Cache; END",
    )
    assert_refused(folder, "'Settings_count_insert'")


def test_a_view_in_place_of_the_table_of_calls_is_refused(folder: Path) -> None:
    plant(folder, "DROP TABLE Cache", "CREATE VIEW Cache AS SELECT 1 AS key")
    assert_refused(folder, "'Cache'")


def test_a_pickle_row_is_refused_and_never_run(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "touched"

    class Touch:
        def __reduce__(self) -> tuple[object, tuple[object, ...]]:
            return (Path.touch, (target,))

    plant(
        folder,
        "UPDATE Cache SET mode = 4, value = ? WHERE key LIKE 'call/%'",
        values=(pickle.dumps(Touch()),),
    )
    for read_only in (False, True):
        with pytest.raises(CacheError, match="mode 4"), Store(folder, read_only=read_only) as store:
            store.get(key(check()))
    assert not target.exists()


def test_a_pickled_key_is_neither_read_nor_run(folder: Path, tmp_path: Path) -> None:
    plant(
        folder,
        "INSERT INTO Cache (key, raw, mode, value) VALUES (?, 0, 1, 'x')",
        values=(b"cposix\nsystem\n.",),
    )
    with Store(folder) as store:
        assert store.get(key(check())) == YES
        assert store.stats().calls == 1


@pytest.mark.parametrize("mode", [1, 2, 3, 4])
def test_a_row_that_names_a_file_is_refused_and_the_file_stays(
    folder: Path, tmp_path: Path, mode: int
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("keep me", encoding="utf-8")
    plant(
        folder,
        "UPDATE Cache SET filename = ?, mode = ?, value = NULL WHERE key LIKE 'call/%'",
        values=(str(secret), mode),
    )
    with pytest.raises(CacheError, match="secret"), Store(folder) as store:
        store.get(key(check()))
    assert secret.read_text(encoding="utf-8") == "keep me"


def test_overwriting_a_row_that_names_a_file_leaves_the_file(folder: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("keep me", encoding="utf-8")
    plant(
        folder,
        "UPDATE Cache SET filename = ?, mode = 2, value = NULL WHERE key NOT LIKE 'meta/%'",
        values=(str(secret),),
    )
    with Store(folder) as store:
        put(store, check())
        assert store.write_error is None
        assert store.get(key(check())) == YES
    assert secret.read_text(encoding="utf-8") == "keep me"


def test_an_empty_file_becomes_a_cache(tmp_path: Path) -> None:
    database(tmp_path).touch()
    with Store(tmp_path) as store:
        assert store.get(put(store, check())) == YES


def test_a_database_that_was_left_half_made_is_completed(folder: Path) -> None:
    plant(folder, "DROP TABLE Cache", "DELETE FROM Settings WHERE key LIKE 'sqlite%'")
    with pytest.raises(CacheError, match="there is no cache"):
        Store(folder, read_only=True)
    with Store(folder) as store:
        assert store.get(key(check())) is None
        assert store.get(put(store, check())) == YES


def test_a_link_in_place_of_the_database_is_not_followed(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    database(folder).rename(other)
    database(folder).symlink_to(other)
    assert_refused(folder, "no plain file")


def test_a_link_in_place_of_the_lock_is_not_followed(folder: Path, tmp_path: Path) -> None:
    (folder / ".lock").unlink()
    (folder / ".lock").symlink_to(tmp_path / "made-by-us")
    with pytest.raises(CacheError):
        Store(folder)
    assert not (tmp_path / "made-by-us").exists()


def test_a_journal_that_would_delete_another_file_is_refused(folder: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("keep me", encoding="utf-8")
    name = str(victim).encode()
    journal = bytes.fromhex("d9d505f920a163d7") + b"\0" * 504
    journal += (1).to_bytes(4, "big") + name + len(name).to_bytes(4, "big")
    journal += sum(name).to_bytes(4, "big") + bytes.fromhex("d9d505f920a163d7")
    Path(f"{database(folder)}-journal").write_bytes(journal)
    assert_refused(folder, "second journal")
    assert victim.read_text(encoding="utf-8") == "keep me"


def test_the_cache_of_a_newer_version_is_refused(folder: Path) -> None:
    plant(folder, "UPDATE Cache SET value = '2' WHERE key = 'meta/schema'")
    assert_refused(folder, "newer ragjudge", "'2'")


@pytest.mark.parametrize("value", ["0", "-1", "two", "9" * 5000])
def test_a_version_that_nobody_wrote_is_refused(folder: Path, value: str) -> None:
    plant(folder, "UPDATE Cache SET value = ? WHERE key = 'meta/schema'", values=(value,))
    assert_refused(folder, "no ragjudge wrote")
