"""The database file of a cache: what may stand in it, checked before anything else opens it.

A cache folder may come from anybody: a repository, a colleague, a shared disk. SQLite runs what a
database's schema says (triggers, views), and diskcache runs what its settings table says (pragmas, file
thresholds). So both are compared with exactly what ragjudge itself writes, and anything else is refused.
"""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote

from ragjudge.errors import CacheError

FILE_NAME = "cache.db"
SIDE_FILES = (f"{FILE_NAME}-wal", f"{FILE_NAME}-shm", f"{FILE_NAME}-journal")
BUSY_SECONDS = 60.0
HINT = "name another folder with --cache DIR, or go on without one: --no-cache"
REFUSED_HINT = f"{HINT}; `ragjudge cache merge DIR --cache NEW` takes over from it whatever can be verified"

SETTINGS: dict[str, int | str] = {
    "statistics": 0,
    "tag_index": 0,
    "eviction_policy": "none",
    "size_limit": 1 << 62,
    "cull_limit": 0,
    "sqlite_auto_vacuum": 0,
    "sqlite_cache_size": 8192,
    "sqlite_journal_mode": "wal",
    # A file that shrinks while it is mapped kills the process instead of raising an error.
    "sqlite_mmap_size": 0,
    "sqlite_synchronous": 1,
    "disk_min_file_size": 1 << 62,
    "disk_pickle_protocol": 0,
}
"""Every setting that stands in the database: nothing is evicted, nothing is kept outside the file."""


class RefusedError(CacheError):
    """A cache that holds what ragjudge does not write."""


_COUNTERS = ("count", "size", "hits", "misses")
_TEXT_MODE = 1  # diskcache's number for a value that stands in the row as it is

_SCHEMA = {
    "Settings": "CREATE TABLE Settings ( key TEXT NOT NULL UNIQUE, value)",
    "sqlite_autoindex_Settings_1": None,
    "Cache": (
        "CREATE TABLE Cache ( rowid INTEGER PRIMARY KEY, key BLOB, raw INTEGER, store_time REAL, "
        "expire_time REAL, access_time REAL, access_count INTEGER DEFAULT 0, tag BLOB, "
        "size INTEGER DEFAULT 0, mode INTEGER DEFAULT 0, filename TEXT, value BLOB)"
    ),
    "Cache_key_raw": "CREATE UNIQUE INDEX Cache_key_raw ON Cache(key, raw)",
    "Cache_expire_time": "CREATE INDEX Cache_expire_time ON Cache (expire_time)",
    "Settings_count_insert": (
        "CREATE TRIGGER Settings_count_insert AFTER INSERT ON Cache FOR EACH ROW BEGIN "
        'UPDATE Settings SET value = value + 1 WHERE key = "count"; END'
    ),
    "Settings_count_delete": (
        "CREATE TRIGGER Settings_count_delete AFTER DELETE ON Cache FOR EACH ROW BEGIN "
        'UPDATE Settings SET value = value - 1 WHERE key = "count"; END'
    ),
    "Settings_size_insert": (
        "CREATE TRIGGER Settings_size_insert AFTER INSERT ON Cache FOR EACH ROW BEGIN "
        'UPDATE Settings SET value = value + NEW.size WHERE key = "size"; END'
    ),
    "Settings_size_update": (
        "CREATE TRIGGER Settings_size_update AFTER UPDATE ON Cache FOR EACH ROW BEGIN "
        'UPDATE Settings SET value = value + NEW.size - OLD.size WHERE key = "size"; END'
    ),
    "Settings_size_delete": (
        "CREATE TRIGGER Settings_size_delete AFTER DELETE ON Cache FOR EACH ROW BEGIN "
        'UPDATE Settings SET value = value - OLD.size WHERE key = "size"; END'
    ),
}

_DAMAGE = ("malformed", "not a database", "unsupported file format")

# The last bytes of a rollback journal that names a second journal, which SQLite would then delete.
_SUPER_JOURNAL = bytes.fromhex("d9d505f920a163d7")


@contextmanager
def as_cache_error(directory: Path, doing: str) -> Iterator[None]:
    """Turn SQLite's and the file system's errors into one sentence.

    Args:
        directory: The cache's folder, for the message.
        doing: What is being done to it: ``opened``, ``read``.

    Raises:
        CacheError: In place of the error.
    """
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise CacheError(f"the cache at {directory} cannot be {doing}: {error}.", hint=HINT) from error


def is_damage(error: BaseException) -> bool:
    """Say whether an error means that the file itself is broken, and not that it could not be reached."""
    return isinstance(error, sqlite3.DatabaseError) and any(word in str(error) for word in _DAMAGE)


def check_files(directory: Path) -> bool:
    """Check the files of a cache before SQLite follows them.

    Returns:
        Whether there is a database yet.

    Raises:
        CacheError: One of them is no plain file, or is a journal that would make SQLite delete another file.
        OSError: One of them cannot be looked at.
    """
    present = False
    for name in (FILE_NAME, *SIDE_FILES):
        path = directory / name
        try:
            status = path.lstat()
        except FileNotFoundError:
            continue
        if not stat.S_ISREG(status.st_mode):
            refuse(directory, f"{name} is no plain file")
        if name.endswith("-journal") and _names_a_second_journal(path):
            refuse(directory, f"{name} names a second journal")
        present = present or name == FILE_NAME
    return present


def _names_a_second_journal(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - len(_SUPER_JOURNAL)))
            return file.read() == _SUPER_JOURNAL
    except FileNotFoundError:  # another process has just finished with it
        return False


def connect(directory: Path, mode: str) -> sqlite3.Connection:
    """Open a connection that only reads and trusts nothing of the schema.

    Args:
        directory: The cache's folder.
        mode: SQLite's URI parameters, e.g. ``mode=ro``.

    Raises:
        sqlite3.Error: The database can not be opened.
    """
    connection = sqlite3.connect(
        f"file:{quote(str(directory / FILE_NAME))}?{mode}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,  # the store has a lock of its own
    )
    try:
        connection.text_factory = _decode
        for pragma in ("trusted_schema = OFF", "query_only = ON", "cell_size_check = ON", "mmap_size = 0"):
            connection.execute(f"PRAGMA {pragma}").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def _decode(data: bytes) -> str:
    # Damaged text then fails its digest, as any other damage, instead of failing the whole query.
    return data.decode("utf-8", "replace")


def check_content(connection: sqlite3.Connection, directory: Path) -> bool:
    """Compare schema and settings with what ragjudge writes; parts may be missing, none may be added.

    Returns:
        Whether the tables are there; a process that was killed early may have left them out.

    Raises:
        CacheError: Something else stands in the database.
        sqlite3.Error: It can not be read.
    """
    found: set[str] = set()
    for kind, name, sql in connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall():
        if name not in _SCHEMA or sql != _SCHEMA[name]:
            refuse(directory, f"its database has the {kind} {name!r}")
        found.add(name)
    if "Settings" in found:
        for key, value in connection.execute("SELECT key, value FROM Settings").fetchall():
            if not _is_ours(key, value):
                refuse(directory, f"its settings say {key!r}: {_shown(value)}")
    return {"Settings", "Cache"} <= found


def _is_ours(key: Any, value: Any) -> bool:
    if key in _COUNTERS:
        return type(value) is int
    return key in SETTINGS and type(value) is type(SETTINGS[key]) and bool(value == SETTINGS[key])


def _shown(value: Any, most: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}…"


def checked_text(name: str, mode: object, filename: object, value: object) -> str:
    """Return the text of a row, provided that the row is one that ragjudge writes.

    Args:
        name: The row's key, for the message.
        mode: diskcache's kind of value.
        filename: The file that holds the value.
        value: The value.

    Raises:
        RefusedError: The row holds a pickle, bytes or a number, or names a file. It was not followed.
    """
    if mode == _TEXT_MODE and filename is None and type(value) is str:
        return value
    if filename is not None:
        what = f"names the file {_shown(filename, 300)}"
    elif mode != _TEXT_MODE:
        what = f"holds no plain text (mode {_shown(mode)}; a pickle has mode 4)"
    else:
        what = f"holds a value of type {type(value).__name__}"
    raise RefusedError(
        f"the row {name!r} of the cache {what}; ragjudge writes no such row and did not use it.", hint=HINT
    )


def refuse(directory: Path, what: str) -> NoReturn:
    """Refuse a cache that holds what ragjudge does not write.

    Raises:
        RefusedError: Always.
    """
    raise RefusedError(
        f"the cache at {directory} is refused: {what}, and ragjudge writes nothing of the kind.",
        hint=REFUSED_HINT,
    )
