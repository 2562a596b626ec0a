"""File systems that are full, read-only or old-fashioned, and clocks that go back."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ragjudge.cache import store as store_module
from ragjudge.cache.bundle import read_bundle
from ragjudge.cache.disk import TextCache
from ragjudge.cache.store import Store
from ragjudge.errors import CacheError
from tests.cache.helpers import JUDGE, YES, check, database, key, put

CALLS = [check(f"{number} " * 400) for number in range(60)]
KEYS = [key(call) for call in CALLS]


def _mount(*arguments: str) -> bool:
    return subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 400 KiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    if sys.platform != "linux" or not _mount("-t", "tmpfs", "-o", "size=400k", "tmpfs", str(folder)):
        pytest.skip("only root on Linux can mount a small file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def make_read_only(tmp_path: Path) -> Iterator[Callable[[Path], None]]:
    """Makes a folder read-only, for root as well."""
    mounted: list[Path] = []

    def make(folder: Path) -> None:
        if sys.platform != "linux" or not _mount("--bind", str(folder), str(folder)):
            pytest.skip("only root on Linux can mount a folder read-only")
        mounted.append(folder)
        assert _mount("-o", "remount,ro,bind", str(folder))

    try:
        yield make
    finally:
        for folder in mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture(autouse=True)
def temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    return tmp_path / "tmp"


def test_a_full_disk_loses_no_verdict(small_disk: Path, temporary_files: Path) -> None:
    store = Store(small_disk / "cache")
    for call in CALLS:
        put(store, call)
    assert store.write_error is not None
    assert "full" in store.write_error
    assert len(store.get_many(KEYS)) == len(CALLS)
    store.close()
    (bundle,) = temporary_files.glob("*/unsaved.rjz")
    assert f"ragjudge cache import {bundle}" in store.write_error
    with Store(small_disk / "cache", read_only=True) as again:
        written = again.get_many(KEYS).keys()
    kept = {name.removeprefix("call/") for name in read_bundle(bundle) if name.startswith("call/")}
    assert written | kept == set(KEYS)
    assert f"{len(kept)} new answers are kept in" in store.write_error


def test_room_that_becomes_free_during_a_run_is_used(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "_RETRY_SECONDS", 0.0)
    (small_disk / "ballast").write_bytes(bytes(150_000))
    with Store(small_disk / "cache") as store:
        for call in CALLS[:40]:
            put(store, call)
        assert "full" in (store.write_error or "")
        (small_disk / "ballast").unlink()
        monkeypatch.setattr(store, "_retry_at", 0.0)
        put(store, CALLS[41])
        assert store.write_error is None
    with Store(small_disk / "cache", read_only=True) as again:
        assert len(again.get_many(KEYS)) == 41


def test_a_disk_without_any_room_is_one_sentence(small_disk: Path) -> None:
    with pytest.raises(OSError, match="No space"):
        (small_disk / "ballast").write_bytes(bytes(1_000_000))
    with pytest.raises(CacheError, match="cannot be opened"):
        Store(small_disk / "cache")


def test_a_read_only_folder_is_read_and_new_answers_are_kept_elsewhere(
    tmp_path: Path, make_read_only: Callable[[Path], None], temporary_files: Path
) -> None:
    folder = tmp_path / "cache"
    with Store(folder) as store:
        for call in CALLS[:10]:
            put(store, call)
    make_read_only(folder)
    with Store(folder) as store:
        assert store.write_error is not None
        assert len(store.get_many(KEYS)) == 10
        put(store, CALLS[10])
        store.remember_judge("fake", JUDGE.document)
        assert len(store.get_many(KEYS)) == 11
        assert store.identities("fake") == [dict(JUDGE.document)]
    (bundle,) = temporary_files.glob("*/unsaved.rjz")
    assert str(bundle) in store.write_error
    with Store(folder, read_only=True) as store:
        assert len(store.get_many(KEYS)) == 10


def test_a_read_only_folder_without_a_cache_is_one_sentence(
    tmp_path: Path, make_read_only: Callable[[Path], None]
) -> None:
    (tmp_path / "empty").mkdir()
    make_read_only(tmp_path / "empty")
    for folder in (tmp_path / "empty", tmp_path / "empty" / "below"):
        with pytest.raises(CacheError, match="cannot be opened"):
            Store(folder)


def test_a_log_that_somebody_left_in_a_read_only_folder_is_read(
    tmp_path: Path, make_read_only: Callable[[Path], None], temporary_files: Path
) -> None:
    folder = tmp_path / "cache"
    code = (
        "import os, sys; from pathlib import Path; from ragjudge.cache.store import Store;"
        "from tests.cache.helpers import check, put; store = Store(Path(sys.argv[1]));"
        "put(store, check('in the log')); os._exit(0)"
    )
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", code, str(folder)], cwd=root, check=False).returncode == 0
    assert (folder / "cache.db-wal").exists()
    (folder / "cache.db-shm").unlink()
    make_read_only(folder)
    with Store(folder, read_only=True) as store:
        assert store.get(key(check("in the log"))) == YES
    assert list(temporary_files.iterdir()) == []


@pytest.fixture
def no_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let SQLite believe that the file system has no shared memory, as network drives have none."""
    connect = sqlite3.connect

    def without(path: str, *args: Any, **options: Any) -> Any:
        options.pop("uri", None)
        path = path if path.startswith("file:") else f"file:{path}?mode=rwc"
        return connect(f"{path}&vfs=unix-dotfile", *args, uri=True, **options)

    monkeypatch.setattr(sqlite3, "connect", without)


@pytest.mark.skipif(sys.platform == "win32", reason="the VFS of POSIX")
@pytest.mark.usefixtures("no_log")
def test_a_file_system_without_a_write_ahead_log_works_all_the_same(tmp_path: Path) -> None:
    with Store(tmp_path / "cache") as store:
        with store.changing() as cache:
            assert cache._sql("PRAGMA journal_mode").fetchall() == [("delete",)]
        for call in CALLS[:20]:
            put(store, call)
        assert len(store.get_many(KEYS)) == 20
        assert store.write_error is None
        with Store(tmp_path / "cache", read_only=True) as reader:
            assert len(reader.get_many(KEYS)) == 20
            put(store, CALLS[20])
            assert len(reader.get_many(KEYS)) == 21
    with Store(tmp_path / "cache") as store:
        assert store.stats().calls == 21


@pytest.mark.parametrize("seconds", [-3e9, -86_400.0, 86_400.0])
def test_a_clock_that_is_set_loses_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    with Store(tmp_path) as store:
        put(store, CALLS[0])
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + seconds)
    with Store(tmp_path) as store:
        assert store.get(KEYS[0]) == YES
        put(store, CALLS[1])
        assert store.stats().calls == 2
    monkeypatch.undo()
    with Store(tmp_path, read_only=True) as store:
        assert len(store.get_many(KEYS)) == 2
        assert sum(share.calls for share in store.stats().ages.values()) == 2


def test_a_failed_write_is_not_tried_again_at_every_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = 0

    def fail(_: TextCache, rows: dict[str, str]) -> None:
        nonlocal tries
        tries += 1
        raise sqlite3.OperationalError("database or disk is full")

    with Store(tmp_path) as store, monkeypatch.context() as patch:
        patch.setattr(TextCache, "write", fail)
        for call in CALLS:
            put(store, call)
        assert tries == 1
        monkeypatch.setattr(store, "_retry_at", 0.0)
        put(store, check("later"))
        assert tries == 2
    with Store(tmp_path, read_only=True) as again:
        assert len(again.get_many([*KEYS, key(check("later"))])) == 61


def test_permissions_of_the_database_file_are_respected(tmp_path: Path) -> None:
    with Store(tmp_path / "cache") as store:
        put(store, CALLS[0])
    if os.geteuid() == 0:
        pytest.skip("root may write everything")
    database(tmp_path / "cache").chmod(0o400)
    with Store(tmp_path / "cache") as store:
        assert store.write_error is not None
        assert store.get(KEYS[0]) == YES
