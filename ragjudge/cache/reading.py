"""A connection that reads a cache's database, whatever the folder and its neighbours allow."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ragjudge.cache.database import FILE_NAME, SIDE_FILES, check_content, check_files, connect
from ragjudge.errors import CacheError

_MOST_TRIES = 5


class NoCacheError(CacheError):
    """There is no cache in a folder.

    Args:
        directory: The folder.
    """

    def __init__(self, directory: Path) -> None:
        super().__init__(
            f"there is no cache at {directory}.",
            hint="run once without --replay to fill it, or name another folder with --cache DIR",
        )


def identity_of(directory: Path) -> tuple[int, int] | None:
    """Return what tells a database file from one that takes its place; None when there is none."""
    try:
        status = (directory / FILE_NAME).stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def database_bytes(directory: Path) -> int:
    """Return the size of a cache's files in bytes."""
    return sum(
        (directory / name).stat().st_size for name in (FILE_NAME, *SIDE_FILES) if (directory / name).exists()
    )


class Reading:
    """Reads a database without leaving anything behind.

    A connection that may not write still makes SQLite's side files. Where there are none nobody is writing,
    and the file is taken as it is, until it changes. Where they cannot be used, because somebody was
    killed and the folder cannot be written now, a private copy is read.

    Args:
        directory: The folder.
        mode: ``mode=rw`` for the reading side of somebody who writes as well; None for a mere reader.

    Raises:
        NoCacheError: There is no database, or no tables are in it.
        CacheError: Something in it is not ours.
        sqlite3.Error, OSError: It can not be read.
    """

    def __init__(self, directory: Path, mode: str | None = None) -> None:
        self._directory = directory
        self._mode = mode
        self._frozen: tuple[int, ...] | None = None
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        if mode is None and not (directory.is_dir() and check_files(directory)):
            raise NoCacheError(directory)
        self._connection = self._connect()
        try:
            if not check_content(self._connection, directory):
                raise NoCacheError(directory)
        except BaseException:
            self.close()
            raise

    def _connect(self) -> sqlite3.Connection:
        if self._mode is not None:
            return connect(self._directory, self._mode)
        if not self._side_file_exists():
            self._frozen = self._state()
            return connect(self._directory, "immutable=1")
        self._frozen = None
        connection = connect(self._directory, "mode=ro")
        try:
            connection.execute("SELECT name FROM sqlite_master LIMIT 1").fetchall()
        except sqlite3.OperationalError:
            connection.close()
            return self._connect_to_copy()
        return connection

    def _connect_to_copy(self) -> sqlite3.Connection:
        self._copy = tempfile.TemporaryDirectory(prefix="ragjudge-")
        folder = Path(self._copy.name)
        for name in (FILE_NAME, *SIDE_FILES):
            if not name.endswith("-shm") and (self._directory / name).exists():
                shutil.copyfile(self._directory / name, folder / name)
        return connect(folder, "mode=rw")

    def _side_file_exists(self) -> bool:
        return any((self._directory / name).exists() for name in SIDE_FILES)

    def _state(self) -> tuple[int, ...]:
        status = (self._directory / FILE_NAME).stat()
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns

    def fetch(self, sql: str, values: Sequence[str]) -> list[tuple[Any, ...]]:
        """Return the rows of a query.

        Raises:
            sqlite3.Error, OSError: It can not be read.
        """
        for _ in range(_MOST_TRIES):
            if self._has_changed():
                self._connection.close()
                self._connection = self._connect()
            try:
                rows = self._connection.execute(sql, values).fetchall()
            except sqlite3.DatabaseError:
                if not self._has_changed():
                    raise
                continue
            if not self._has_changed():
                return rows
        return self._connection.execute(sql, values).fetchall()

    def _has_changed(self) -> bool:
        """Say whether somebody has begun to write to a file that was taken as it is."""
        return self._frozen is not None and (self._side_file_exists() or self._state() != self._frozen)

    def close(self) -> None:
        """Let go of the files."""
        self._connection.close()
        if self._copy is not None:
            self._copy.cleanup()
            self._copy = None
