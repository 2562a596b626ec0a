"""The open database of a cache: opened with care, mended when it breaks, followed when it is replaced."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragjudge.cache import database
from ragjudge.cache.database import as_cache_error, check_content, check_files, connect, is_damage
from ragjudge.cache.entries import CALL
from ragjudge.cache.lock import LOCK_NAME, opening_lock
from ragjudge.cache.reading import NoCacheError, Reading, identity_of
from ragjudge.cache.recovery import refill, rescued_rows, set_aside, unfinished, verified_rows
from ragjudge.errors import CacheError

if TYPE_CHECKING:
    from ragjudge.cache.disk import TextCache

_MOST_RECOVERIES = 3


class Handle:
    """One process's hold on a database.

    Args:
        directory: The folder, absolute.
        read_only: Write nothing at all.

    Attributes:
        notices: What had to be done, in one sentence each.
        unwritable: Why it is open for reading only although writing was asked for.
        rescued: Rows of a damaged database that is only read; the file is no longer used then.

    Raises:
        CacheError: There is no cache to read, or it holds what ragjudge does not write.
        sqlite3.Error, diskcache.Timeout, OSError: It cannot be opened.
    """

    def __init__(self, directory: Path, *, read_only: bool) -> None:
        self._directory = directory
        self.notices: list[str] = []
        self.unwritable: Exception | None = None
        self.rescued: dict[str, str] | None = None
        self._guard = threading.RLock()
        self._cache: TextCache | None = None
        self._reading: Reading | None = None
        self._place: tuple[int, int] | None = None
        self._recoveries = 0
        self._owner = threading.get_ident()
        try:
            self._open_for_reading() if read_only else self._open_for_writing()
        except BaseException:
            self.close()
            raise

    # -- opening -----------------------------------------------------------------------------------

    @property
    def writable(self) -> bool:
        """Whether rows can be written."""
        return self._cache is not None

    def _open_for_reading(self) -> None:
        try:
            self._reading = Reading(self._directory)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            self._rescue()
            if not (self.rescued or self._is_ours()):
                raise

    def _is_ours(self) -> bool:
        """Whether we ever wrote here: a file of that name that never was a cache is somebody else's."""
        return (self._directory / LOCK_NAME).exists()

    def _rescue(self) -> None:
        """Go on with what verifies of a damaged database, and leave its files alone."""
        self._drop_reading()
        self.rescued = rescued_rows(self._directory)
        count = sum(name.startswith(CALL) for name in self.rescued)
        self.notices.append(
            f"the database of the cache at {self._directory} is damaged; {count} of its answers can be read "
            "and are used. Mend it with `ragjudge cache verify --repair`."
        )

    def _open_for_writing(self) -> None:
        from ragjudge.cache.disk import WRITE_ERRORS

        try:
            self._open_or_mend()
        except WRITE_ERRORS as error:
            self.close()
            if is_damage(error):
                raise
            try:
                self._open_for_reading()
            except (NoCacheError, sqlite3.Error, OSError):
                raise error from None
            self.unwritable = error

    def _open_or_mend(self) -> None:
        make_private(self._directory)
        is_ours = self._is_ours()
        with opening_lock(self._directory, database.BUSY_SECONDS):
            try:
                self._connect()
            except sqlite3.DatabaseError as error:
                if not is_damage(error):
                    raise
                if not is_ours and not any(verified_rows(self._directory)):
                    (self._directory / LOCK_NAME).unlink()
                    raise
                self._mend()
            for broken in unfinished(self._directory):
                self._refill(broken)

    def _connect(self) -> None:
        """Open the database, after a look at what stands in it. The caller holds the lock."""
        from ragjudge.cache.disk import TextCache

        if check_files(self._directory):
            connection = connect(self._directory, "mode=rw")
            try:
                check_content(connection, self._directory)
            finally:
                connection.close()
        # diskcache waits for the write lock while it opens and fails at once when it can not write.
        self._cache = TextCache(self._directory, database.BUSY_SECONDS)
        self._reading = Reading(self._directory, "mode=rw")
        self._place = identity_of(self._directory)

    def _mend(self) -> None:
        """Put a fresh database in the place of a damaged one. The caller holds the lock."""
        self.close()
        broken = set_aside(self._directory)
        self._connect()
        self._refill(broken)

    def _refill(self, broken: Path) -> None:
        assert self._cache is not None  # noqa: S101 - the caller has opened it
        kept = refill(self._cache, broken)
        self.notices.append(
            f"the database of the cache at {self._directory} was damaged and is now in {broken}; "
            f"{kept} of its answers were kept."
        )

    def _recovered(self) -> bool:
        """Replace the database that has just failed, unless another process has done so already."""
        if self._cache is None or self._recoveries >= _MOST_RECOVERIES:
            return False
        self._recoveries += 1
        with self._guard:
            self.close()
            try:
                with opening_lock(self._directory, database.BUSY_SECONDS):
                    if identity_of(self._directory) == self._place:
                        self._mend()
                    else:
                        self._connect()
            except BaseException:
                self.close()
                self.rescued = {}  # the run goes on with what it keeps in memory
                raise
        return True

    # -- use ---------------------------------------------------------------------------------------

    def fetch(self, sql: str, values: Sequence[str]) -> list[tuple[Any, ...]]:
        """Return the rows of a query; none when `rescued` is all that there is.

        Raises:
            CacheError: The database can not be read.
        """
        with self._guard, as_cache_error(self._directory, "read"):
            try:
                return self._fetch(sql, values)
            except sqlite3.DatabaseError as error:
                if not is_damage(error):
                    raise
                if self._cache is None:
                    self._rescue()
                elif not self._recovered():
                    raise
                return self._fetch(sql, values)

    def _fetch(self, sql: str, values: Sequence[str]) -> list[tuple[Any, ...]]:
        if self._reading is not None:
            return self._reading.fetch(sql, values)
        if self.rescued is None:
            raise CacheError(f"the cache at {self._directory} was closed.")
        return []

    def write(self, rows: Mapping[str, str]) -> None:
        """Write rows, all or none.

        Raises:
            sqlite3.Error, diskcache.Timeout, OSError, CacheError: They can not be written.
        """
        with self.transact() as cache:
            cache.write(rows)

    @contextmanager
    def transact(self) -> Iterator[TextCache]:
        """Hold the database for a change that happens whole or not at all.

        A database that another process has set aside or deleted is no longer used. What fails because
        the file is damaged fails once: the next call finds it mended.

        Raises:
            sqlite3.Error, diskcache.Timeout, OSError, CacheError: It can not be changed.
        """
        if self._cache is None:
            raise CacheError(f"the cache at {self._directory} is open for reading only.")
        if identity_of(self._directory) != self._place:
            with self._guard:
                self._reopen()
        cache = self._cache
        try:
            with cache.transact():
                yield cache
        except BaseException as error:
            cache.close()  # leaves a transaction behind that failed half-way
            if is_damage(error):
                self._recovered()
            raise
        if threading.get_ident() != self._owner:
            # Every thread has a connection of its own, which only that thread can close.
            cache.close()

    def _reopen(self) -> None:
        self.close()
        try:
            self._open_or_mend()
        except BaseException:
            self.close()
            self.rescued = {}
            raise

    def compact(self) -> None:
        """Give the room of deleted rows back, when no other process is in the way.

        Raises:
            CacheError: The database can not be read afterwards.
        """
        if self._cache is None:
            return
        with self._guard, as_cache_error(self._directory, "read"):
            self._drop_reading()  # a reader of our own would be in the way as well
            try:
                self._cache.compact()
            except sqlite3.Error:  # the room will be used by the next rows
                self._cache.close()
            self._reading = Reading(self._directory, "mode=rw")

    def problems(self) -> list[str]:
        """Return what SQLite itself finds wrong with the file; empty when all is well."""
        if self._reading is None:
            return ["the file is damaged"]
        try:
            with self._guard:
                found = [str(row[0]) for row in self._reading.fetch("PRAGMA integrity_check(20)", ())]
        except sqlite3.Error as error:
            return [str(error)]
        return [] if found == ["ok"] else found

    def close(self) -> None:
        """Let go of the files."""
        self._drop_reading()
        if self._cache is not None:
            self._cache.close()
            self._cache = None

    def _drop_reading(self) -> None:
        with self._guard:
            if self._reading is not None:
                self._reading.close()
                self._reading = None


def make_private(directory: Path) -> None:
    """Make a folder and its missing parents, each for this user alone."""
    missing: list[Path] = []
    while not directory.exists():
        missing.append(directory)
        directory = directory.parent
    for path in reversed(missing):
        path.mkdir(mode=0o700, exist_ok=True)
