"""A reader for the head of a GGUF file: its metadata, without loading a model.

Format (GGUF versions 2 and 3, little-endian): the four bytes ``GGUF``; version u32; number of tensors u64;
number of metadata entries u64; then the entries. An entry is a key (u64 length, UTF-8 bytes), a type
u32, a value. An array is an element type u32, a length u64, then the elements.
Lengths are read from a file that nobody has checked, so each is held against what the file can hold
before anything is read or skipped.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ragjudge.errors import ModelFileError, ModelMissingError

MAGIC = b"GGUF"
VERSIONS = (2, 3)

_MAX_ENTRIES = 65_536
_MAX_KEY = 65_535
"""Longest key in bytes, as the format's specification says."""
_MAX_STRING = 16 << 20
"""Longest single text in bytes that is read; chat templates have some ten thousand."""
_MAX_STRINGS = 4_000_000
"""Longest array of texts that is walked; the largest vocabularies have some 300,000 tokens."""

_STRING, _ARRAY = 8, 9
_SCALARS = {
    0: ("u8", "<B"),
    1: ("i8", "<b"),
    2: ("u16", "<H"),
    3: ("i16", "<h"),
    4: ("u32", "<I"),
    5: ("i32", "<i"),
    6: ("f32", "<f"),
    7: ("bool", "<?"),
    10: ("u64", "<Q"),
    11: ("i64", "<q"),
    12: ("f64", "<d"),
}
_COUNT = struct.Struct("<Q")


class ArrayShape(NamedTuple):
    """What is kept of an array: vocabularies are large, and nobody here needs their contents.

    Attributes:
        element: Type of the elements, e.g. ``"string"`` or ``"f32"``.
        length: Number of elements.
    """

    element: str
    length: int


Value = int | float | bool | str | ArrayShape


def check_gguf(path: Path) -> None:
    """Check that a file begins like a GGUF of a version that can be read.

    Args:
        path: The file.

    Raises:
        ModelMissingError: There is no such file.
        ModelFileError: It cannot be read, or is no such GGUF.
    """
    with _reading(path) as reader:
        reader.preamble()


def read_metadata(path: Path) -> dict[str, Value]:
    """Read the metadata of a GGUF file.

    Args:
        path: The file.

    Returns:
        Key to value, in the file's order; arrays only as `ArrayShape`.

    Raises:
        ModelMissingError: There is no such file.
        ModelFileError: It cannot be read, is no GGUF of version 2 or 3, or its head is damaged.
    """
    with _reading(path) as reader:
        reader.preamble()
        return reader.metadata()


@contextmanager
def _reading(path: Path) -> Iterator[_Reader]:
    """Open a file for reading its head; an error of the system becomes one of ours."""
    try:
        if path.exists() and not path.is_file():
            raise ModelFileError(f"{path} is not a regular file.")
        with path.open("rb", buffering=1 << 20) as file:
            yield _Reader(path, file)
    except FileNotFoundError as error:
        raise ModelMissingError(f"{path}: there is no such file.") from error
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror}.") from error


class _Reader:
    """Walks through the head of one open file."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path = path
        self._file = file
        self._left = os.fstat(file.fileno()).st_size

    def preamble(self) -> None:
        """Read magic and version."""
        start = self._file.read(8)
        self._left -= len(start)
        if start[:4] != MAGIC:
            raise ModelFileError(f"{self._path} is not a GGUF file (starts with {start[:4]!r}).")
        if len(start) < 8:
            raise self._damaged("it ends within the version")
        version = int.from_bytes(start[4:], "little")
        if version not in VERSIONS:
            swapped = int.from_bytes(start[4:], "big") in VERSIONS
            found = "a big-endian file" if swapped else f"version {version}"
            raise ModelFileError(
                f"{self._path} is a GGUF file that cannot be used: {found}; "
                f"accepted are little-endian files of versions 2 and 3."
            )

    def metadata(self) -> dict[str, Value]:
        """Read all entries."""
        self._count()  # number of tensors
        entries = self._count()
        if entries > _MAX_ENTRIES:
            raise self._damaged(f"it announces {entries} metadata entries")
        values: dict[str, Value] = {}
        for _ in range(entries):
            key = self._text(_MAX_KEY, "a key")
            if key in values:
                raise self._damaged(f"the key {key!r} comes twice")
            values[key] = self._value(key, self._u32())
        return values

    def _value(self, key: str, kind: int) -> Value:
        if kind in _SCALARS:
            code = _SCALARS[kind][1]
            value: int | float | bool = struct.unpack(code, self._take(struct.calcsize(code)))[0]
            return value
        if kind == _STRING:
            return self._text(_MAX_STRING, f"the text of {key!r}")
        if kind == _ARRAY:
            return self._array(key)
        raise self._damaged(f"{key!r} has the unknown type {kind}")

    def _array(self, key: str) -> ArrayShape:
        kind = self._u32()
        length = self._count()
        if kind in _SCALARS:
            name, code = _SCALARS[kind]
            self._skip(length * struct.calcsize(code), f"the array {key!r}")
            return ArrayShape(name, length)
        if kind != _STRING:
            raise self._damaged(f"the array {key!r} has elements of type {kind}")
        if length > _MAX_STRINGS or length * _COUNT.size > self._left:
            raise self._damaged(f"the array {key!r} announces {length} texts")
        for _ in range(length):
            self._skip(self._count(), f"the array {key!r}")
        return ArrayShape("string", length)

    def _text(self, most: int, what: str) -> str:
        size = self._count()
        if size > most:
            raise self._damaged(f"{what} announces {size} bytes")
        return self._take(size).decode("utf-8", errors="replace")

    def _u32(self) -> int:
        return int.from_bytes(self._take(4), "little")

    def _count(self) -> int:
        count: int = _COUNT.unpack(self._take(_COUNT.size))[0]
        return count

    def _take(self, size: int) -> bytes:
        if size > self._left:
            raise self._damaged("it ends within its metadata")
        data = self._file.read(size)
        if len(data) != size:
            raise self._damaged("it ends within its metadata")
        self._left -= size
        return data

    def _skip(self, size: int, what: str) -> None:
        if size > self._left:
            raise self._damaged(f"it ends within {what}")
        self._file.seek(size, 1)
        self._left -= size

    def _damaged(self, what: str) -> ModelFileError:
        return ModelFileError(f"{self._path} is a damaged GGUF file: {what}.")
