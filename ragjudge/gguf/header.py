"""A reader for the head of a GGUF file: its metadata and the list of its tensors, without loading a model.

Format (GGUF versions 2 and 3, little-endian): the four bytes ``GGUF``; version u32; number of tensors u64;
number of metadata entries u64; then the entries. An entry is a key (u64 length, UTF-8 bytes), a type
u32, a value. An array is an element type u32, a length u64, then the elements. Then the tensors: a name,
the number of dimensions u32, each dimension u64, a type u32, an offset u64 into the data, which begin at the
next multiple of ``general.alignment``.
Lengths are read from a file that nobody has checked, so each is held against what the file can hold
before anything is read or skipped.
"""

from __future__ import annotations

import math
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
_TOKENS = "tokenizer.ggml.tokens"
_MAX_NUMBERS = 1024
"""Longest array of numbers whose contents are kept; those with one number per layer have some hundred."""
_MAX_TENSORS = 1_000_000
_MAX_DIMENSIONS = 4
_ALIGNMENT = 32

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
        numbers: The elements of a short array of numbers, such as one number for each layer.
    """

    element: str
    length: int
    numbers: tuple[int | float | bool, ...] = ()


Value = int | float | bool | str | ArrayShape


class Tensor(NamedTuple):
    """One tensor of a file.

    Attributes:
        name: Its name, e.g. ``blk.0.attn_q.weight``.
        shape: Its dimensions.
        kind: The number of its type in ggml, e.g. 0 = F32, 12 = Q4_K.
        size: Its bytes in the file, with what aligns the next one.
    """

    name: str
    shape: tuple[int, ...]
    kind: int
    size: int

    @property
    def elements(self) -> int:
        """The number of its elements."""
        return math.prod(self.shape)


class Header(NamedTuple):
    """The head of a file.

    Attributes:
        metadata: Key to value, in the file's order.
        tensors: The tensors, in the order of their data.
        file_size: Bytes of the whole file.
    """

    metadata: dict[str, Value]
    tensors: tuple[Tensor, ...]
    file_size: int


def check_gguf(path: Path) -> None:
    """Check that a file is a GGUF whose vocabulary can be used.

    llama.cpp ends the process over a vocabulary in which a token stands twice.

    Args:
        path: The file.

    Raises:
        ModelMissingError: There is no such file.
        ModelFileError: It cannot be read, is no GGUF of version 2 or 3, its head is damaged, or two of its
            tokens are alike.
    """
    with _reading(path) as reader:
        reader.preamble()
        reader.metadata(distinct=_TOKENS)


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


def read_header(path: Path) -> Header:
    """Read the metadata of a GGUF file and the list of its tensors.

    Raises:
        ModelMissingError: There is no such file.
        ModelFileError: It cannot be read, is no GGUF of version 2 or 3, or its head is damaged.
    """
    with _reading(path) as reader:
        reader.preamble()
        metadata = reader.metadata()
        return Header(metadata, reader.tensors(metadata), reader.size)


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
        self.size = self._left = os.fstat(file.fileno()).st_size
        self._tensor_count = 0

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

    def metadata(self, *, distinct: str | None = None) -> dict[str, Value]:
        """Read all entries; refuse an array of texts under the key `distinct` that has a text twice."""
        self._tensor_count = self._count()
        entries = self._count()
        if entries > _MAX_ENTRIES:
            raise self._damaged(f"it announces {entries} metadata entries")
        values: dict[str, Value] = {}
        for _ in range(entries):
            key = self._text(_MAX_KEY, "a key")
            if key in values:
                raise self._damaged(f"the key {key!r} comes twice")
            values[key] = self._value(key, self._u32(), distinct=key == distinct)
        return values

    def tensors(self, metadata: dict[str, Value]) -> tuple[Tensor, ...]:
        """Read the list of tensors, after the metadata."""
        if self._tensor_count > _MAX_TENSORS:
            raise self._damaged(f"it announces {self._tensor_count} tensors")
        found = []
        for _ in range(self._tensor_count):
            name = self._text(_MAX_KEY, "a tensor's name")
            dimensions = self._u32()
            if dimensions > _MAX_DIMENSIONS:
                raise self._damaged(f"the tensor {name!r} has {dimensions} dimensions")
            shape = tuple(self._count() for _ in range(dimensions))
            kind = self._u32()
            found.append((self._count(), name, shape, kind))
        alignment = metadata.get("general.alignment", _ALIGNMENT)
        if not isinstance(alignment, int) or alignment < 1:
            raise self._damaged(f"its alignment is {alignment!r}")
        start = -(-(self.size - self._left) // alignment) * alignment
        found.sort(key=lambda entry: entry[0])
        # A tensor's bytes follow from where the next one begins, whatever its type.
        ends = [offset for offset, *_ in found[1:]] + [self.size - start]
        if any(end < offset for (offset, *_), end in zip(found, ends, strict=True)):
            raise self._damaged("it ends within its tensors")
        return tuple(
            Tensor(name, shape, kind, end - offset)
            for (offset, name, shape, kind), end in zip(found, ends, strict=True)
        )

    def _value(self, key: str, kind: int, *, distinct: bool = False) -> Value:
        if kind in _SCALARS:
            code = _SCALARS[kind][1]
            value: int | float | bool = struct.unpack(code, self._take(struct.calcsize(code)))[0]
            return value
        if kind == _STRING:
            return self._text(_MAX_STRING, f"the text of {key!r}")
        if kind == _ARRAY:
            return self._array(key, distinct=distinct)
        raise self._damaged(f"{key!r} has the unknown type {kind}")

    def _array(self, key: str, *, distinct: bool) -> ArrayShape:
        kind = self._u32()
        length = self._count()
        if kind in _SCALARS:
            name, code = _SCALARS[kind]
            if length <= _MAX_NUMBERS:
                data = self._take(length * struct.calcsize(code))
                return ArrayShape(name, length, tuple(value for (value,) in struct.iter_unpack(code, data)))
            self._skip(length * struct.calcsize(code), f"the array {key!r}")
            return ArrayShape(name, length)
        if kind != _STRING:
            raise self._damaged(f"the array {key!r} has elements of type {kind}")
        if length > _MAX_STRINGS or length * _COUNT.size > self._left:
            raise self._damaged(f"the array {key!r} announces {length} texts")
        if distinct:
            self._distinct(key, length)
        else:
            for _ in range(length):
                self._skip(self._count(), f"the array {key!r}")
        return ArrayShape("string", length)

    def _distinct(self, key: str, length: int) -> None:
        """Read an array of texts, and refuse it when two are alike."""
        seen: dict[bytes, int] = {}
        for number in range(length):
            size = self._count()
            if size > _MAX_STRING:
                raise self._damaged(f"a text of {key!r} announces {size} bytes")
            text = self._take(size)
            first = seen.setdefault(text, number)
            if first != number:
                shown = text.decode("utf-8", errors="replace")
                raise ModelFileError(
                    f"{self._path} cannot be used: tokens {first} and {number} of its vocabulary are both "
                    f"{shown!r}, and llama.cpp needs them to be distinct."
                )

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
