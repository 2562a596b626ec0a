from __future__ import annotations

import ast
import inspect
import pickle
import pkgutil
import sqlite3
from importlib import import_module
from pathlib import Path
from types import ModuleType

import diskcache
import pytest

import ragjudge.cache
from ragjudge.cache.disk import TextCache, TextDisk
from ragjudge.errors import CacheError


@pytest.fixture
def text_disk(tmp_path: Path) -> TextDisk:
    return TextDisk(str(tmp_path))


def test_text_is_stored_inline_however_long(text_disk: TextDisk, tmp_path: Path) -> None:
    text = "x" * 10_000_000
    assert text_disk.store(text, read=False) == (0, 1, None, text)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", [b"bytes", 1, 1.5, None, {"a": 1}, object()])
def test_anything_but_text_is_refused_as_a_value(text_disk: TextDisk, value: object) -> None:
    with pytest.raises(CacheError, match="a value of type"):
        text_disk.store(value, read=False)


@pytest.mark.parametrize("key", [b"bytes", 1, 1.5, None, ("a", 1)])
def test_anything_but_text_is_refused_as_a_key(text_disk: TextDisk, key: object) -> None:
    with pytest.raises(CacheError, match="a key of type"):
        text_disk.put(key)


def test_a_file_like_value_is_refused(text_disk: TextDisk) -> None:
    with pytest.raises(CacheError):
        text_disk.store("text", read=True)
    with pytest.raises(CacheError):
        text_disk.fetch(1, None, "text", read=True)
    with pytest.raises(CacheError):
        text_disk.filename("key", "value")


def test_a_pickled_key_is_refused(text_disk: TextDisk) -> None:
    with pytest.raises(CacheError, match="no plain text"):
        text_disk.get(pickle.dumps(("a",)), raw=False)


@pytest.mark.parametrize(
    ("mode", "filename", "value"),
    [
        (4, None, pickle.dumps("text")),
        (2, "ab/cd/name.val", None),
        (3, "ab/cd/name.val", None),
        (1, "ab/cd/name.val", "text"),
        (1, None, b"bytes"),
        (1, None, 5),
        (0, None, None),
        ("1", None, "text"),
    ],
)
def test_a_row_that_is_no_plain_text_is_refused(
    text_disk: TextDisk, mode: object, filename: object, value: object
) -> None:
    with pytest.raises(CacheError):
        text_disk.fetch(mode, filename, value, read=False)


def test_a_row_of_plain_text_is_read(text_disk: TextDisk) -> None:
    assert text_disk.fetch(1, None, "text", read=False) == "text"


def test_no_file_is_ever_removed(text_disk: TextDisk, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("here", encoding="utf-8")
    text_disk.remove("file")
    text_disk.remove(str(file))
    assert file.read_text(encoding="utf-8") == "here"


def test_every_method_of_diskcache_that_touches_pickles_or_files_is_replaced() -> None:
    theirs = {name for name, _ in inspect.getmembers(diskcache.Disk, inspect.isfunction)}
    harmless = {"__init__", "hash"}
    ours = set(vars(TextDisk))
    # `_write` is reached from `store` alone.
    assert theirs - harmless - {"_write"} <= ours


def test_a_database_that_fails_to_open_is_let_go_of(tmp_path: Path) -> None:
    (tmp_path / "cache.db").write_bytes(b"no database" * 1000)
    with pytest.raises(sqlite3.DatabaseError):
        TextCache(tmp_path, 1.0)


def test_nothing_is_evicted_counted_or_mapped(tmp_path: Path) -> None:
    cache = TextCache(tmp_path, 1.0)
    try:
        assert (cache.eviction_policy, cache.cull_limit, cache.statistics) == ("none", 0, 0)
        assert (cache.tag_index, cache.sqlite_mmap_size) == (0, 0)
    finally:
        cache.close()


@pytest.mark.parametrize(
    "module",
    [
        import_module(f"ragjudge.cache.{found.name}")
        for found in pkgutil.iter_modules(ragjudge.cache.__path__)
    ],
    ids=lambda module: module.__name__,
)
def test_no_module_of_the_cache_imports_pickle(module: ModuleType) -> None:
    tree = ast.parse(inspect.getsource(module))
    imported = {
        name.name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in node.names
    }
    assert not imported & {"pickle", "dill", "cloudpickle", "marshal", "shelve"}
