"""Readers of data files, one for each format. A new format is one function and one line in `READERS`."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn

from ragjudge.datasets.columns import ACCEPTED
from ragjudge.datasets.values import describe
from ragjudge.errors import DataError

LIST_KEYS = ("rows", "data", "results", "tests")
"""Keys under which a JSON file may hold its list of rows."""

_ANSWERS = frozenset(ACCEPTED["output"])
_LONGEST_CELL = 2**31 - 1
"""Characters; Python's own limit of 131,072 is less than a list of contexts can have."""

_BOM = b"\xef\xbb\xbf"


class Found(NamedTuple):
    """One row of a file.

    Attributes:
        where: Its place for messages, e.g. ``rows.jsonl, line 3``.
        row: Its columns.
    """

    where: str
    row: dict[str, Any]


def read_rows(path: Path) -> Iterator[Found]:
    """Read the rows of a data file, one at a time where the format allows it.

    Raises:
        DataError: The file is missing, empty, of an unknown kind, not UTF-8, or broken; the message
            names the file and the line.
    """
    # What an interrupted run has left beside its results holds rows like these.
    suffix = Path(path.name.removesuffix(".part")).suffix
    reader = READERS.get(suffix.lower())
    if reader is None:
        raise DataError(f"{path}: unknown kind of data file {suffix!r}; accepted: {', '.join(READERS)}.")
    try:
        with path.open("rb") as file:
            if not file.peek(1):
                raise DataError(f"{path}: the file is empty; accepted: at least one row.")
            rows = 0
            for found in reader(file, path):
                rows += 1
                yield found
            if not rows:
                raise DataError(f"{path}: the file holds no rows; accepted: at least one row.")
    except FileNotFoundError as error:
        raise DataError(f"{path}: there is no such file.") from error
    except OSError as error:
        raise DataError(f"{path}: the file cannot be read: {error.strerror or error}.") from error


def read_jsonl(file: BinaryIO, path: Path) -> Iterator[Found]:
    """Read JSON lines: one object a line; blank lines do not count."""
    for number, line in _lines(file, path):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        row = _parse(line.rstrip("\r\n"), path, line=number)
        if not isinstance(row, dict):
            raise DataError(f"{where}: the row is {describe(row)}; accepted: an object.")
        yield Found(where, row)


def read_json(file: BinaryIO, path: Path) -> Iterator[Found]:
    """Read one JSON document: a list of rows, or an object with the list under one of `LIST_KEYS`."""
    text = "".join(line for _, line in _lines(file, path))
    data = _parse(text, path)
    key = ""
    if isinstance(data, dict):
        keys = [name for name in LIST_KEYS if isinstance(data.get(name), list)]
        if len(keys) != 1:
            found = f"lists under {' and '.join(keys)}" if keys else f"the keys {', '.join(data) or '(none)'}"
            raise DataError(
                f"{path}: the file holds an object with {found}; accepted: a list of rows, or an object "
                f"with one such list under {', '.join(LIST_KEYS)}."
            )
        key = keys[0]
        data = data[key]
    if not isinstance(data, list):
        raise DataError(f"{path}: the file holds {describe(data)}; accepted: a list of rows.")
    for index, row in enumerate(data):
        where = f"{path}, {key}[{index}]" if key else f"{path}, row {index + 1}"
        if not isinstance(row, dict):
            raise DataError(f"{where}: the row is {describe(row)}; accepted: an object.")
        yield Found(where, row)


def read_csv(file: BinaryIO, path: Path) -> Iterator[Found]:
    """Read comma-separated cells under a header line.

    An empty cell is not given: CSV has no other word for it. An answer alone may be empty, and is then graded
    as such. A cell is never split at a mark that a chunk may hold itself; what it spells out is read as a
    text of any other format is.
    """
    csv.field_size_limit(_LONGEST_CELL)
    reader = csv.reader((line for _, line in _lines(file, path)), strict=True)
    header: list[str] | None = None
    begins = 1
    try:
        for cells in reader:
            where, begins = f"{path}, line {begins}", reader.line_num + 1
            if not cells:
                continue
            if header is None:
                header = _header(cells, where)
                continue
            if len(cells) != len(header):
                raise DataError(f"{where}: the row has {len(cells)} cells and the header {len(header)}.")
            row = dict(zip(header, cells, strict=True))
            given = {name: cell for name, cell in row.items() if cell != ""}
            if _ANSWERS.isdisjoint(given):
                given |= {name: "" for name in row if name in _ANSWERS}
            yield Found(where, given)
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}: broken CSV: {error}.") from error


READERS: dict[str, Callable[[BinaryIO, Path], Iterable[Found]]] = {
    ".jsonl": read_jsonl,
    ".ndjson": read_jsonl,
    ".json": read_json,
    ".csv": read_csv,
}


def _lines(file: BinaryIO, path: Path) -> Iterator[tuple[int, str]]:
    """Decode line by line, so that a wrong byte has a line number and a large file never lies in memory."""
    for number, raw in enumerate(file, start=1):
        start = len(_BOM) if number == 1 and raw.startswith(_BOM) else 0
        try:
            yield number, raw[start:].decode("utf-8")
        except UnicodeDecodeError as error:
            at = error.start + start
            raise DataError(
                f"{path}, line {number}: byte 0x{raw[at]:02x} at position {at + 1} of the line is not UTF-8.",
                hint="save the file as UTF-8",
            ) from error


def _parse(text: str, path: Path, *, line: int | None = None) -> Any:
    """Parse strict JSON: no NaN, no infinities, no key twice in one object.

    Args:
        text: The JSON.
        path: The file it is from, for messages.
        line: Its line in the file, when it is one.
    """
    where = f"{path}, line {line}" if line else str(path)

    def no_constant(name: str) -> NoReturn:
        raise DataError(f"{where}: {name} is no JSON; accepted: finite numbers, or null for what is missing.")

    def no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise DataError(f"{where}: the key {twice!r} is given twice in one object.")
        return found

    try:
        return json.loads(text, parse_constant=no_constant, object_pairs_hook=no_key_twice)
    except json.JSONDecodeError as error:
        at = f"line {line or error.lineno}, column {error.colno}"
        raise DataError(f"{path}: broken JSON at {at}: {error.msg}.") from error
    except RecursionError as error:
        raise DataError(f"{where}: the JSON is nested too deeply.") from error
    except ValueError as error:
        # Python refuses whole numbers of thousands of digits.
        raise DataError(f"{where}: the JSON holds a number that is too long.") from error


def _header(cells: list[str], where: str) -> list[str]:
    if len(cells) == 1 and (mark := next((mark for mark in ";\t|" if mark in cells[0]), None)):
        raise DataError(
            f"{where}: the header is one cell and holds {mark!r}; accepted: cells parted by commas."
        )
    # Tables saved with their row numbers have a first column without a name.
    names = [cell.strip() or f"column {number}" for number, cell in enumerate(cells, start=1)]
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"{where}: the header names the column {name!r} twice.")
    return names
