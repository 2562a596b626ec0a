"""The one part of diskcache that turns values into rows and back, reduced to inline text.

diskcache's own would pickle what it does not know, unpickle what it finds, and read and delete files
that a row names. Here a row is text or it is refused, and no row ever leads to a file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import NoReturn

import diskcache

from ragjudge.cache.database import SETTINGS, checked_text
from ragjudge.errors import CacheError

WRITE_ERRORS = (sqlite3.Error, diskcache.Timeout, OSError)
"""What a write can fail with: SQLite's errors, a lock that was not freed in time, the file system."""


class TextDisk(diskcache.Disk):  # type: ignore[misc]  # diskcache ships no types
    """Stores text inline under text keys, and nothing else."""

    def put(self, key: object) -> tuple[str, bool]:
        """Return the database's form of a key; only text is one."""
        if type(key) is not str:
            _refuse(f"a key of type {type(key).__name__}")
        return key, True

    def get(self, key: object, raw: bool) -> str:
        """Return the key of a row; a pickled one is refused."""
        if not raw or type(key) is not str:
            _refuse("a row whose key is no plain text")
        return key

    def store(self, value: object, read: bool, key: object = None) -> tuple[int, int, None, str]:
        """Return the columns of a value: size (of its file: 0), mode, file name (none), value."""
        if read or type(value) is not str:
            _refuse(f"a value of type {type(value).__name__}")
        return 0, diskcache.core.MODE_RAW, None, value

    def fetch(self, mode: object, filename: object, value: object, read: bool) -> str:
        """Return the text of a row; any other row is refused, unread."""
        if read:
            _refuse("reading a value as a file")
        return checked_text("?", mode, filename, value)

    def filename(self, key: object = None, value: object = None) -> NoReturn:
        """Refuse to name a file: values stand in the database."""
        _refuse("a value in a file of its own")

    def remove(self, file_path: object) -> None:
        """Delete nothing: this store never made a file, so a name in a row is not ours to delete."""


class TextCache(diskcache.Cache):  # type: ignore[misc]
    """A diskcache with the settings of this project and no way to change them.

    Args:
        directory: An existing folder, absolute.
        timeout: Seconds that a write waits for another process's write.
    """

    def __init__(self, directory: Path, timeout: float) -> None:
        try:
            super().__init__(str(directory), timeout=timeout, disk=TextDisk, **SETTINGS)
        except BaseException:
            self.close()  # a half-opened database would otherwise stay open until collected
            raise

    def write(self, rows: Mapping[str, str]) -> None:
        """Write rows in one transaction: all of them or none.

        Raises:
            sqlite3.Error, diskcache.Timeout, OSError: The database can not be written to.
        """
        with self.transact():
            for name, value in rows.items():
                self.set(name, value)

    def names(self) -> list[str]:
        """Return the names of all rows, sorted; inside `transact` those of the transaction."""
        rows = self._sql(
            "SELECT key FROM Cache WHERE raw = 1 AND typeof(key) = 'text' ORDER BY key"
        ).fetchall()
        return [name for (name,) in rows]

    def read(self, name: str) -> str | None:
        """Return the text of a row, if there is one.

        Raises:
            CacheError: The row is none that ragjudge writes.
        """
        sql = "SELECT mode, filename, value FROM Cache WHERE raw = 1 AND key = ?"
        row = self._sql(sql, (name,)).fetchone()
        return None if row is None else checked_text(name, *row)

    def rename(self, name: str, new_name: str, text: str) -> None:
        """Give a row another name and text; when it was stored stays as it is."""
        if new_name != name:
            self.remove_rows([new_name])
        sql = "UPDATE Cache SET key = ?, value = ? WHERE raw = 1 AND key = ?"
        self._sql(sql, (new_name, text, name))

    def remove_rows(self, names: Iterable[str]) -> None:
        """Delete rows, inside or outside of a transaction. No file is touched, whatever they name."""
        for batch in _batches(names, 500):
            marks = ",".join("?" * len(batch))
            self._sql(f"DELETE FROM Cache WHERE raw = 1 AND key IN ({marks})", batch)  # noqa: S608

    def compact(self) -> None:
        """Give the room of deleted rows back to the file system, when no other process is in the way.

        Raises:
            sqlite3.Error: It could not be done; nothing is lost.
        """
        self._sql("VACUUM")
        self._sql("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _batches(names: Iterable[str], size: int) -> Iterator[list[str]]:
    rest = iter(names)
    while batch := list(islice(rest, size)):
        yield batch


def _refuse(what: str) -> NoReturn:
    raise CacheError(f"the cache stores text under text keys and nothing else; refused: {what}.")


__all__ = ["WRITE_ERRORS", "TextCache", "TextDisk"]
