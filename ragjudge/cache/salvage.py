"""The rows of a database that SQLite refuses, read page by page.

A table's rows stand in its leaf pages, each with its own directory, so they can be read when the header,
the schema or the pages above them are lost. No SQL runs on the file and nothing in it is followed but page
numbers. What comes out is not trusted: the caller keeps what `entries.is_whole` verifies, so a page that
was freed long ago, or half overwritten, costs nothing.

The format is the one that SQLite documents as its file format: b-tree leaf pages (1.6), the record format
(2.1) and the write-ahead log (4.1).
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from ragjudge.cache.database import FILE_NAME

_MAGIC = b"SQLite format 3\x00"
_WAL_MAGIC = (0x377F0682, 0x377F0683)
_WAL_HEADER, _FRAME_HEADER = 32, 24
_DEFAULT_PAGE = 4096
_LEAF = 13  # the type of a page that holds rows of a table
_COLUMNS = (
    12  # of diskcache's table: rowid, key, raw, four times and counts, tag, size, mode, filename, value
)
_KEY, _RAW, _MODE, _FILE, _VALUE = 1, 2, 9, 10, 11
_TEXT_MODE = 1


def read_rows(directory: Path) -> Iterator[tuple[str, str]]:
    """Yield name and text of whatever looks like a row of ragjudge's, in the order of the file.

    Args:
        directory: The folder of the cache.

    Raises:
        OSError: The files cannot be read.
    """
    with ExitStack() as open_files:
        database = open_files.enter_context(_open_plain(directory / FILE_NAME))
        log = None
        if (directory / f"{FILE_NAME}-wal").exists():
            log = open_files.enter_context(_open_plain(directory / f"{FILE_NAME}-wal"))
        pages = _Pages(database, log)
        for number in range(1, pages.count + 1):
            yield from _rows_of(pages, number)


def _open_plain(path: Path) -> BinaryIO:
    """Open a file, and nothing that only looks like one: a pipe would keep us waiting for ever."""
    if not stat.S_ISREG(path.lstat().st_mode):
        raise OSError(errno.EINVAL, "is no plain file", str(path))
    return path.open("rb")


class _Pages:
    """The pages of a database, the newer ones from its log."""

    def __init__(self, database: BinaryIO, log: BinaryIO | None) -> None:
        self._database, self._log = database, log
        self._in_log: dict[int, int] = {}
        header = database.read(100)
        size = int.from_bytes(header[16:18], "big")
        size = 65_536 if size == 1 else size
        known = header.startswith(_MAGIC) and size >= 512 and size & (size - 1) == 0
        self.size = size if known else _DEFAULT_PAGE
        if log is not None:
            self._index(log, known)
        reserved = header[20] if known and len(header) > 20 else 0
        self.usable = max(self.size - reserved, 480)
        length = os.fstat(database.fileno()).st_size
        self.count = max([-(-length // self.size), *self._in_log])
        # Pages that follow one another may do so in a circle; four times the file is more than all of it.
        self.allowance = 4 * (length // self.size + len(self._in_log)) + 100

    def _index(self, log: BinaryIO, known: bool) -> None:
        """Find the newest whole transaction's version of each page."""
        header = log.read(_WAL_HEADER)
        size = int.from_bytes(header[8:12], "big")
        if int.from_bytes(header[:4], "big") not in _WAL_MAGIC or not 512 <= size <= 65_536:
            return
        if not known:
            self.size = size
        elif size != self.size:
            return
        frames: dict[int, int] = {}
        most = os.fstat(log.fileno()).st_size // 512 + 1
        for number in range(most):
            start = _WAL_HEADER + number * (_FRAME_HEADER + size)
            log.seek(start)
            frame = log.read(_FRAME_HEADER)
            if len(frame) < _FRAME_HEADER or frame[8:16] != header[16:24]:
                return
            page = int.from_bytes(frame[:4], "big")
            if 0 < page <= 1 << 31:
                frames[page] = start + _FRAME_HEADER
            if frame[4:8] != bytes(4):  # the last frame of a transaction
                self._in_log.update(frames)
                frames = {}

    def read(self, number: int) -> bytes:
        """Return a page; one beyond the end is short."""
        if number in self._in_log and self._log is not None:
            self._log.seek(self._in_log[number])
            return self._log.read(self.size)
        self._database.seek((number - 1) * self.size)
        return self._database.read(self.size)


def _rows_of(pages: _Pages, number: int) -> Iterator[tuple[str, str]]:
    page = pages.read(number)
    if number == 1 or len(page) < 8 or page[0] != _LEAF:
        return
    for cell in range(min(int.from_bytes(page[3:5], "big"), len(page) // 2)):
        start = int.from_bytes(page[8 + 2 * cell : 10 + 2 * cell], "big")
        record = _payload(pages, page, start)
        row = _row(record) if record is not None else None
        if row is not None:
            yield row


def _payload(pages: _Pages, page: bytes, start: int) -> bytes | None:
    """Return the record of a cell, its overflow pages included; None when it is cut short."""
    length, at = _varint(page, start)
    _, at = _varint(page, at)  # the row's number
    most = pages.usable - 35
    inside = length
    if length > most:
        least = (pages.usable - 12) * 32 // 255 - 23
        inside = least + (length - least) % (pages.usable - 4)
        inside = inside if inside <= most else least
    if length > pages.count * pages.size or at + inside > len(page):
        return None
    parts, have = [page[at : at + inside]], inside
    following = int.from_bytes(page[at + inside : at + inside + 4], "big")
    while have < length:
        if not 0 < following <= pages.count or pages.allowance <= 0:
            return None
        pages.allowance -= 1
        more = pages.read(following)
        part = more[4 : min(4 + length - have, pages.usable)]
        if not part:
            return None
        parts.append(part)
        have += len(part)
        following = int.from_bytes(more[:4], "big")
    return b"".join(parts)


def _row(record: bytes) -> tuple[str, str] | None:
    """Return name and text of a record, when it is a row that ragjudge writes."""
    header, at = _varint(record, 0)
    if not 0 < header <= min(len(record), 200):
        return None
    spans, start = [], header
    while at < header:
        kind, at = _varint(record, at)
        size = _size(kind)
        spans.append((kind, record[start : start + size]))
        start += size
    if len(spans) != _COLUMNS or start > len(record) or spans[_FILE][0] != 0:
        return None
    (key_kind, key), (value_kind, value) = spans[_KEY], spans[_VALUE]
    if not (_is_text(key_kind) and _is_text(value_kind)):
        return None
    if _integer(*spans[_RAW]) != 1 or _integer(*spans[_MODE]) != _TEXT_MODE:
        return None
    try:
        return key.decode("ascii"), value.decode("ascii")
    except UnicodeDecodeError:
        return None


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of one to nine bytes and the place after it; what is cut short reads as 0."""
    value = 0
    for step in range(9):
        if at + step >= len(data):
            return 0, len(data)
        byte = data[at + step]
        if step == 8:
            return (value << 8) | byte, at + 9
        value = (value << 7) | (byte & 0x7F)
        if byte < 0x80:
            return value, at + step + 1
    raise AssertionError("unreachable")


def _size(kind: int) -> int:
    if kind < 12:
        return (0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0)[kind]
    return (kind - 12) // 2


def _is_text(kind: int) -> bool:
    return kind >= 13 and kind % 2 == 1


def _integer(kind: int, data: bytes) -> int | None:
    if kind in (8, 9):  # the constants 0 and 1 take no room
        return kind - 8
    return int.from_bytes(data, "big", signed=True) if 1 <= kind <= 6 else None
