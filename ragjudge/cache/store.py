"""The cache on disk: one SQLite database in one folder, written by diskcache, open to many processes."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ragjudge.cache.database import BUSY_SECONDS, HINT, as_cache_error, checked_text
from ragjudge.cache.entries import CALL, SCHEMA_ROW, judge_row
from ragjudge.cache.handle import Handle
from ragjudge.cache.memory import MemoryStore
from ragjudge.cache.migrations import STEPS, migrate
from ragjudge.cache.protocol import CallStore, StoreStats
from ragjudge.cache.reading import database_bytes
from ragjudge.cache.rows import STORE_SCHEMA, RowStore, StoredRow
from ragjudge.errors import CacheError

if TYPE_CHECKING:
    from pydantic import JsonValue

    from ragjudge.cache.disk import TextCache

__all__ = ["CallStore", "MemoryStore", "Store", "StoreStats", "default_directory"]

_BATCH = 500  # names per query: every build of SQLite takes 999
_COLUMNS = "SELECT key, mode, filename, value, store_time FROM Cache WHERE raw = 1 AND "
_PAGE = f"{_COLUMNS} key > ? AND key < ? ORDER BY key LIMIT {_BATCH}"
_RETRY_SECONDS = 30.0
"""Shortest time from a failed write to the next try; a try that took long is repeated later still."""


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
    is kept for this run, tried again from time to time, and at the latest by `close`, which as a last
    resort leaves a bundle beside the system's other temporary files. A damaged database is set aside, and
    the rows of it that verify go into a fresh one; see `notices`.

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
        self._retry_at = 0.0
        if os.path.expandvars(self.directory) != str(self.directory):
            raise CacheError(f"the cache's folder {self.directory} has an environment variable in its name.")
        with as_cache_error(self.directory, "opened"):
            self._handle = Handle(self.directory, read_only=read_only)
        try:
            if self._handle.unwritable is not None:
                self._note(self._handle.unwritable)
            self._check_schema()
        except BaseException:
            self._handle.close()
            raise

    def _check_schema(self) -> None:
        found = self._read([SCHEMA_ROW]).get(SCHEMA_ROW)
        if found == str(STORE_SCHEMA):
            return
        if found is None:
            self._write({SCHEMA_ROW: str(STORE_SCHEMA)})
            return
        number = int(found) if found.isdecimal() and found.isascii() and len(found) < 10 else 0
        if number not in STEPS:
            newer = number > STORE_SCHEMA
            what = "was written by a newer ragjudge" if newer else "says a version that no ragjudge wrote"
            raise CacheError(
                f"the cache at {self.directory} {what}: schema {found[:20]!r} (known: {STORE_SCHEMA}).",
                hint=f"update ragjudge, or {HINT}" if newer else HINT,
            )
        if not self._handle.writable:
            raise CacheError(
                f"the cache at {self.directory} was written by an older ragjudge (schema {number}; this one "
                f"reads {STORE_SCHEMA}) and is open for reading only.",
                hint="run once without --replay, where it can be written, to bring it up to date",
            )
        with self.changing() as cache:
            migrate(cache, STORE_SCHEMA, STEPS)

    # -- what it says of itself --------------------------------------------------------------------

    @property
    def location(self) -> str:
        """The folder."""
        return str(self.directory)

    @property
    def write_error(self) -> str | None:
        """Why answers are kept in memory only, in one sentence; None while all are written."""
        return self._write_error

    @property
    def notices(self) -> tuple[str, ...]:
        """What had to be done to the store so that it can be used, in one sentence each."""
        return tuple(self._handle.notices)

    def problems(self) -> list[str]:
        """Return what SQLite itself finds wrong with the file; empty when all is well."""
        return self._handle.problems()

    def _bytes(self) -> int:
        return database_bytes(self.directory)

    # -- reading -----------------------------------------------------------------------------------

    def _query(self, sql: str, values: Sequence[str]) -> list[StoredRow]:
        return [
            StoredRow(
                name, checked_text(name, mode, filename, value), stored if type(stored) is float else None
            )
            for name, mode, filename, value, stored in self._handle.fetch(sql, values)
        ]

    def _only_in_memory(self) -> dict[str, str]:
        rescued = self._handle.rescued
        return {**rescued, **self._unsaved} if rescued else self._unsaved

    def _read(self, names: Sequence[str]) -> dict[str, str]:
        rows: dict[str, str] = {}
        for start in range(0, len(names), _BATCH):
            batch = names[start : start + _BATCH]
            found = self._query(f"{_COLUMNS} key IN ({','.join('?' * len(batch))})", batch)
            rows.update((row.name, row.text) for row in found)
        memory = self._only_in_memory()
        if memory:
            rows.update((name, memory[name]) for name in names if name in memory)
        return rows

    def times(self, keys: Sequence[str]) -> dict[str, float]:
        """Return when calls were stored here, in seconds since 1970."""
        found = [self._query(f"{_COLUMNS} key IN (?)", [f"{CALL}{key}"]) for key in keys]
        return {row.name[len(CALL) :]: row.stored for (row,) in filter(None, found) if row.stored is not None}

    def _scan(self, prefix: str) -> Iterator[StoredRow]:
        last, end = prefix, f"{prefix[:-1]}0"  # "0" is the character after "/"
        while last < end:
            page = self._query(_PAGE, (last, end))
            until = page[-1].name if page else end
            memory = self._only_in_memory()
            extra = [StoredRow(name, memory[name], None) for name in memory if last < name <= until]
            if extra:
                page = sorted([*(row for row in page if row.name not in memory), *extra])
            yield from page
            last = until

    # -- writing -----------------------------------------------------------------------------------

    def _write(self, rows: Mapping[str, str]) -> None:
        if self.read_only:
            return
        if self._write_error is None and self._try_to_write(rows):
            return
        self._unsaved.update(rows)
        if time.monotonic() >= self._retry_at and self._try_to_write(self._unsaved):
            self._unsaved = {}

    def _try_to_write(self, rows: Mapping[str, str]) -> bool:
        from ragjudge.cache.disk import WRITE_ERRORS

        if not self._handle.writable:
            if self._write_error is None:
                self._note(CacheError("its database was lost"))
            return False
        started = time.monotonic()
        for last in (False, True):
            repairs = len(self._handle.notices)
            try:
                self._handle.write(rows)
                self._write_error = None
                return True
            except (*WRITE_ERRORS, CacheError) as error:
                if last or len(self._handle.notices) == repairs:  # else it was mended meanwhile
                    self._note(error, time.monotonic() - started)
                    break
        return False

    def _note(self, error: Exception, seconds: float = 0.0) -> None:
        why = str(error).rstrip(".") or f"another process kept it locked for over {BUSY_SECONDS:.0f} s"
        self._retry_at = time.monotonic() + max(_RETRY_SECONDS, 10 * seconds)
        self._write_error = (
            f"the cache at {self.directory} cannot be written: {why}; "
            "new answers are kept in memory, and are lost unless it can be written at the end."
        )

    def remember_judge(self, reference: str, identity: Mapping[str, JsonValue]) -> None:
        """Remember whom a reference meant; other processes may be adding to the same list."""
        if self.read_only or dict(identity) in self.identities(reference):
            return
        from ragjudge.cache.disk import WRITE_ERRORS

        if self._handle.writable and self._write_error is None:
            try:
                with self._handle.transact() as cache:
                    cache.write(dict([judge_row(reference, [*self.identities(reference), identity])]))
                return
            except (*WRITE_ERRORS, CacheError) as error:
                self._note(error)
        super().remember_judge(reference, identity)

    @contextmanager
    def changing(self) -> Iterator[TextCache]:
        """Hold the cache for a change of many rows, which happens whole or not at all.

        Raises:
            CacheError: It can not be written.
        """
        from ragjudge.cache.disk import WRITE_ERRORS

        if self._handle.unwritable is not None:
            raise CacheError((self._write_error or "").partition("; new answers")[0] + ".", hint=HINT)
        try:
            with self._handle.transact() as cache:
                yield cache
        except WRITE_ERRORS as error:
            why = str(error) or "another process keeps it locked"
            raise CacheError(
                f"the cache at {self.directory} cannot be changed: {why}. It was left as it was.", hint=HINT
            ) from error
        self._saved_texts.clear()

    def compact(self) -> None:
        """Give the room of deleted rows back, when no other process is in the way."""
        self._handle.compact()

    # -- closing -----------------------------------------------------------------------------------

    def close(self) -> None:
        """Write what could not be written before, and let go of the files."""
        if self._unsaved and not self._try_to_write(self._unsaved):
            self._leave_bundle()
        self._unsaved = {}
        self._handle.close()

    def _leave_bundle(self) -> None:
        from ragjudge.cache.bundle import leave_bundle

        count = sum(name.startswith(CALL) for name in self._unsaved)
        if count:
            path = leave_bundle(self._unsaved)
            where = "are lost" if path is None else f"are kept in {path}: `ragjudge cache import {path}`"
            why = (self._write_error or "").partition("; new answers")[0]
            self._write_error = f"{why}; {count} new answers {where}."
