"""Rows on disk while the run is still going: ``results.jsonl.part``, renamed when the last one is there."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from ragjudge.records import Report, Row
from ragjudge.reports.json import render_row
from ragjudge.reports.registry import write_report

_STEP = 1 << 20


class Journal:
    """Writes the rows of a run as they come, in input order.

    What an earlier run has left behind is read, not thrown away: rows that come out the same are already
    there, the first one that differs, and everything after it, is replaced, and so is a last line that a
    killed process has torn. Rows that cannot be written cost nothing but the journal: the report is then
    written as a whole at the end.

    Args:
        path: The file that the rows are for; they go to its name with ``.part`` at the end until then.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._target = path.resolve()
        self.part = self._target.with_name(f"{self._target.name}.part")
        self._file: BinaryIO | None = None
        self._left = 0  # bytes of the earlier run that are still to be compared
        self._added = 0
        self._failed = False

    def add(self, row: Row) -> None:
        """Write a row, so that it is there even when this process is killed right after."""
        if self._failed:
            return
        self._added += 1
        try:
            self._add(render_row(row).encode("utf-8"))
        except OSError:
            self._failed = True

    def _add(self, line: bytes) -> None:
        if self._file is None:
            self._file = self._open()
        start = self._file.tell()
        if self._left >= len(line):
            if self._file.read(len(line)) == line:
                self._left -= len(line)
                return
            self._file.seek(start)
        if self._left:
            self._file.truncate()
            self._left = 0
        while line:  # the system may take a part of it
            line = line[self._file.write(line) :]

    def _open(self) -> BinaryIO:
        if self.part.is_symlink():
            raise OSError  # whoever put it there must not choose what we write to
        # Without a buffer of Python's: what was written is with the system when `add` returns.
        handle = os.open(self.part, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        file = os.fdopen(handle, "r+b", buffering=0)
        try:
            _lock(file)
            self._left = _whole_lines(file)
            file.truncate(self._left)
            file.seek(0)
        except BaseException:
            file.close()
            raise
        return file

    def finish(self, report: Report) -> None:
        """Put the rows in their place, all of them being there.

        Raises:
            UsageError: The file cannot be written.
        """
        try:
            if self._failed or self._file is None:
                raise OSError  # not kept: the report is written as a whole
            self._file.truncate()  # an earlier run may have had more rows
            os.fsync(self._file.fileno())
            if self._target.exists():
                shutil.copymode(self._target, self.part)
            if sys.platform == "win32":
                self._file.close()
            self.part.replace(self._target)  # still locked, so that nobody takes it for a part
        except OSError:
            write_report(report, self.path)
            if self._file is not None:
                self.part.unlink(missing_ok=True)
        finally:
            self.close()

    def leave(self, rows: Sequence[Row]) -> None:
        """Leave the rows of a run that ended early, those that waited for their turn included.

        Where an earlier run has left more than this one came to, that stays as it is.

        Args:
            rows: All rows there are, those that were added first.
        """
        with suppress(OSError):
            self._file = self._file or self._open()
            if not self._left:
                for row in rows[self._added :]:
                    self.add(row)
        self.close()

    def close(self) -> None:
        """Leave what there is under the name of the part; an empty one is removed."""
        if self._file is not None and not self._file.closed:
            empty = os.fstat(self._file.fileno()).st_size == 0
            self._file.close()
            if empty:
                self.part.unlink(missing_ok=True)


def _lock(file: BinaryIO) -> None:
    """Keep a file for this process; another run that writes the same report then keeps no journal."""
    if sys.platform != "win32":
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _whole_lines(file: BinaryIO) -> int:
    """Return how many bytes of a file end in whole lines."""
    end = file.seek(0, os.SEEK_END)
    while end > 0:
        start = max(0, end - _STEP)
        file.seek(start)
        at = file.read(end - start).rfind(b"\n")
        if at >= 0:
            return start + at + 1
        end = start
    return 0
