"""The cache on disk: one SQLite database in one folder, written by diskcache, open to many processes."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from ragjudge.cache.database import (
    BUSY_SECONDS,
    FILE_NAME,
    HINT,
    as_cache_error,
    check_content,
    check_files,
    checked_text,
    connect,
)
from ragjudge.cache.lock import opening_lock
from ragjudge.cache.memory import MemoryStore
from ragjudge.cache.protocol import CallStore, StoreStats
from ragjudge.cache.rows import STORE_SCHEMA, RowStore
from ragjudge.errors import CacheError

if TYPE_CHECKING:
    import sqlite3

    from pydantic import JsonValue

    from ragjudge.cache.disk import TextCache

__all__ = ["CallStore", "MemoryStore", "Store", "StoreStats", "default_directory"]

_BATCH = 500  # names per query: every build of SQLite takes 999
_COLUMNS = "SELECT key, mode, filename, value FROM Cache WHERE raw = 1 AND "
_PAGE = f"{_COLUMNS} key > ? AND key < ? ORDER BY key LIMIT {_BATCH}"
_SCHEMA_ROW = "meta/schema"


def default_directory() -> Path:
    """Return the folder of the cache: ``$RAGJUDGE_CACHE``, else ``cache`` among the user's data.

    The user's data are in ``$RAGJUDGE_HOME``, else where the platform keeps such: not in its folder of
    caches, which cleaners empty.
    """
    named = os.environ.get("RAGJUDGE_CACHE")
    if named:
        return Path(named).expanduser()
    home = os.environ.get("RAGJUDGE_HOME")
    if home:
        return Path(home).expanduser() / "cache"
    from platformdirs import user_data_path

    return user_data_path("ragjudge", appauthor=False) / "cache"


class Store(RowStore):
    """The answers of all runs, by the key of their request.

    Nothing is evicted, nothing is pickled, and no row leads to a file. An answer that can not be written
    is kept for this run and tried once more by `close`.

    Args:
        directory: The folder; None means `default_directory`. Made when missing, for this user alone.
        read_only: Write nothing at all; the cache must then exist.

    Raises:
        CacheError: There is no cache to read; or it can not be opened; or it holds what ragjudge does not
            write; or a newer version wrote it.
    """

    def __init__(self, directory: Path | None = None, *, read_only: bool = False) -> None:
        super().__init__()
        self.directory = (default_directory() if directory is None else directory).expanduser().absolute()
        self.read_only = read_only
        self._write_error: str | None = None
        self._unsaved: dict[str, str] = {}
        self._guard = threading.RLock()
        self._frozen = False
        self._cache: TextCache | None = None
        if os.path.expandvars(self.directory) != str(self.directory):
            raise CacheError(f"the cache's folder {self.directory} has an environment variable in its name.")
        self._connection: sqlite3.Connection | None = None
        with ExitStack() as undo, as_cache_error(self.directory, "opened"):
            undo.callback(self._let_go)
            self._open_for_reading() if read_only else self._open_for_writing()
            self._check_schema()
            undo.pop_all()

    def _open_for_reading(self) -> None:
        missing = CacheError(
            f"there is no cache at {self.directory}.",
            hint="run once without --replay to fill it, or name another folder with --cache DIR",
        )
        if not self.directory.is_dir() or not check_files(self.directory):
            raise missing
        # A connection that may not write still leaves SQLite's two side files behind. Where they are
        # missing nobody is writing, and the file can be taken as it is.
        self._frozen = not self._side_file_exists()
        self._connection = connect(self.directory, "immutable=1" if self._frozen else "mode=ro")
        if not check_content(self._connection, self.directory):
            raise missing

    def _open_for_writing(self) -> None:
        from ragjudge.cache.disk import TextCache

        _make_private(self.directory)
        with opening_lock(self.directory, BUSY_SECONDS):
            if check_files(self.directory):
                connection = connect(self.directory, "mode=rw")
                try:
                    check_content(connection, self.directory)
                finally:
                    connection.close()
            # diskcache waits for the write lock while it opens and fails at once when it can not write.
            self._cache = TextCache(self.directory, BUSY_SECONDS)
            self._connection = connect(self.directory, "mode=rw")

    def _check_schema(self) -> None:
        found = self._read([_SCHEMA_ROW]).get(_SCHEMA_ROW)
        if found is None:
            self._write({_SCHEMA_ROW: str(STORE_SCHEMA)})
        elif found != str(STORE_SCHEMA):
            newer = found.isdecimal() and found.isascii() and len(found) < 10 and int(found) > STORE_SCHEMA
            what = "was written by a newer ragjudge" if newer else "says a version that no ragjudge wrote"
            raise CacheError(
                f"the cache at {self.directory} {what}: schema {found[:20]!r} (known: {STORE_SCHEMA}).",
                hint=f"update ragjudge, or {HINT}" if newer else HINT,
            )

    @property
    def location(self) -> str:
        """The folder."""
        return str(self.directory)

    @property
    def write_error(self) -> str | None:
        """Why answers are kept in memory only, in one sentence; None while all are written."""
        return self._write_error

    def _side_file_exists(self) -> bool:
        return (self.directory / f"{FILE_NAME}-wal").exists()

    def _query(self, sql: str, values: Sequence[str]) -> list[tuple[str, str]]:
        with self._guard, as_cache_error(self.directory, "read"):
            if self._frozen and self._side_file_exists():  # somebody has begun to write
                self._drop_connection()
                self._connection = connect(self.directory, "mode=ro")
                self._frozen = False
            if self._connection is None:
                raise CacheError(f"the cache at {self.directory} was closed.")
            rows = self._connection.execute(sql, values).fetchall()
        return [(name, checked_text(name, mode, filename, value)) for name, mode, filename, value in rows]

    def _read(self, names: Sequence[str]) -> dict[str, str]:
        rows: dict[str, str] = {}
        for start in range(0, len(names), _BATCH):
            batch = names[start : start + _BATCH]
            rows.update(self._query(f"{_COLUMNS} key IN ({','.join('?' * len(batch))})", batch))
        if self._unsaved:
            rows.update((name, self._unsaved[name]) for name in names if name in self._unsaved)
        return rows

    def _scan(self, prefix: str) -> Iterator[tuple[str, str]]:
        unsaved = dict(self._unsaved)
        yield from sorted((name, text) for name, text in unsaved.items() if name.startswith(prefix))
        last, end = prefix, f"{prefix[:-1]}0"  # "0" is the character after "/"
        while page := self._query(_PAGE, (last, end)):
            yield from ((name, text) for name, text in page if name not in unsaved)
            last = page[-1][0]

    def _write(self, rows: dict[str, str]) -> None:
        if self._cache is None:
            return
        if self._write_error is not None or not self._try_to_write(self._cache, rows):
            self._unsaved.update(rows)

    def _try_to_write(self, cache: TextCache, rows: dict[str, str]) -> bool:
        from ragjudge.cache.disk import WRITE_ERRORS

        try:
            cache.write(rows)
        except WRITE_ERRORS as error:
            self._note(error)
            return False
        return True

    def _note(self, error: Exception) -> None:
        why = str(error) or f"another process kept it locked for over {BUSY_SECONDS:.0f} s"
        self._write_error = (
            f"the cache at {self.directory} cannot be written: {why}; "
            "new answers are kept in memory, and are lost unless it can be written at the end."
        )

    def remember_judge(self, reference: str, identity: Mapping[str, JsonValue]) -> None:
        """Remember whom a reference meant; other processes may be adding to the same list."""
        if self._cache is None or dict(identity) in self.identities(reference):
            return
        from ragjudge.cache.disk import WRITE_ERRORS

        if self._write_error is None:
            try:
                with self._cache.transact():
                    super().remember_judge(reference, identity)
            except WRITE_ERRORS as error:
                self._note(error)
        super().remember_judge(reference, identity)  # in memory, if it did not get to the disk

    def _bytes(self) -> int:
        total = 0
        for suffix in ("", "-wal", "-shm"):
            path = self.directory / f"{FILE_NAME}{suffix}"
            total += path.stat().st_size if path.exists() else 0
        return total

    def close(self) -> None:
        """Write what could not be written before, and let go of the files."""
        if self._cache is not None and self._unsaved:
            self._cache.close()  # leaves a transaction behind that failed half-way
            if self._try_to_write(self._cache, self._unsaved):
                self._unsaved = {}
                self._write_error = None
        self._let_go()

    def _let_go(self) -> None:
        self._drop_connection()
        if self._cache is not None:
            self._cache.close()
            self._cache = None

    def _drop_connection(self) -> None:
        with self._guard:
            if self._connection is not None:
                self._connection.close()
                self._connection = None


def _make_private(directory: Path) -> None:
    """Make a folder and its missing parents, each for this user alone."""
    missing: list[Path] = []
    while not directory.exists():
        missing.append(directory)
        directory = directory.parent
    for path in reversed(missing):
        path.mkdir(mode=0o700, exist_ok=True)
