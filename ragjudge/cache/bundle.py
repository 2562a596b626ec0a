"""Bundles: the calls of a suite in one file that can be committed, compared and replayed anywhere.

A bundle is a gzip file of JSON lines. The first line is the header::

    {"bundle": "ragjudge", "digest": …, "records": {"call": 12, "judge": 1, "text": 4}, "schema": 1}

and each other line is one row of a cache, sorted by name::

    {"digest": …, "name": "call/<key>", "value": {"answer": …, "request": …}}

A line's digest covers its name and value, the header's the other lines. They detect damage, not forgery:
whoever can write the file can write digests. The same rows give the same bytes. A new kind of record is a
line in `READERS`; a reader refuses kinds it does not know, instead of replaying half a bundle.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import secrets
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from ragjudge.cache import entries
from ragjudge.cache.calibrations import CALIBRATION, CalibrationEntry, read_calibration
from ragjudge.cache.entries import CALL, SCHEMA_ROW, entry_digest
from ragjudge.cache.memory import MemoryStore
from ragjudge.errors import CacheError
from ragjudge.judges.base import canonical_json, digest

SUFFIX = ".rjz"
BUNDLE_SCHEMA = 1
"""Version of the lines; raised when a reader would have to change."""

MOST_BYTES = 1 << 30
"""Most bytes that a bundle may have when it is decompressed, 1 GiB; more is neither written nor read."""

READERS: dict[str, Callable[[str, str], object | None]] = {
    **entries.READERS,
    CALIBRATION: read_calibration,
}
"""How each kind of record is verified: those of a cache, and what only a bundle carries."""

_LEVEL = 9
_KINDS = {prefix.rstrip("/") for prefix in READERS}


class BundleStore(MemoryStore):
    """A bundle as a store: what it holds is replayed, and nothing is added to it.

    Args:
        path: The file.

    Raises:
        CacheError: It can not be read, or is damaged.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._rows = read_bundle(path)

    @property
    def location(self) -> str:
        """The file."""
        return str(self._path)

    def calibrations(self, judge: str) -> dict[str, CalibrationEntry]:
        """Return what the bundle says about the calibrations of a judge, by how each was asked for.

        Args:
            judge: The judge's fingerprint.
        """
        found = [read_calibration(row.name, row.text) for row in self._scan(CALIBRATION)]
        return {entry.asked: entry for entry in found if entry is not None and entry.judge == judge}

    def _write(self, rows: Mapping[str, str]) -> None:
        """Keep nothing: a bundle is read."""


def write_bundle(path: Path, rows: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Write rows into a bundle; the file is replaced whole or not at all.

    Args:
        path: The file.
        rows: Rows that verify, by whatever order.

    Returns:
        The number of records by kind.

    Raises:
        CacheError: It would be larger than `MOST_BYTES`, or cannot be written.
    """
    data, records = render_bundle(rows)
    temporary = path.with_name(f".ragjudge-{secrets.token_hex(6)}.tmp")
    try:
        try:
            temporary.write_bytes(data)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise CacheError(f"{path}: the bundle cannot be written: {error.strerror or error}.") from error
    return records


def render_bundle(rows: Iterable[tuple[str, str]]) -> tuple[bytes, dict[str, int]]:
    """Return the bytes of a bundle, and the number of its records by kind.

    Raises:
        CacheError: It would be larger than `MOST_BYTES`.
    """
    lines = []
    records: Counter[str] = Counter()
    total = 0
    for name, text in sorted(rows):
        kind = name.partition("/")[0]
        if kind not in _KINDS:
            continue  # the version of the cache is no business of the bundle
        records[kind] += 1
        line = _line(name, _portable(name, json.loads(text)))
        total += len(line)
        if total > MOST_BYTES:
            raise CacheError(
                f"the bundle would have more than {MOST_BYTES:,} bytes before compression.",
                hint="export one suite: --for SUITE",
            )
        lines.append(line)
    body = b"".join(lines)
    header = {
        "bundle": "ragjudge",
        "schema": BUNDLE_SCHEMA,
        "records": dict(sorted(records.items())),
        "digest": hashlib.sha256(body).hexdigest(),
    }
    target = BytesIO()
    # No file name and no time go into the file, so that equal rows give equal bytes.
    with gzip.GzipFile(filename="", mode="wb", fileobj=target, compresslevel=_LEVEL, mtime=0) as file:
        file.write(canonical_json(header).encode("ascii") + b"\n")  # type: ignore[arg-type]
        file.write(body)
    return target.getvalue(), dict(sorted(records.items()))


def leave_bundle(rows: Mapping[str, str]) -> Path | None:
    """Write rows that found no other place into a bundle of a private temporary folder.

    Returns:
        The bundle; None when not even that could be written.
    """
    try:
        path = Path(tempfile.mkdtemp(prefix="ragjudge-")) / f"unsaved{SUFFIX}"
        write_bundle(path, rows.items())
    except (OSError, CacheError):
        return None
    return path


def read_bundle(path: Path) -> dict[str, str]:
    """Return the rows of a bundle by name, each verified as if it came from an enemy.

    Args:
        path: The file.

    Raises:
        CacheError: It can not be read; is no bundle, or one of a newer version; is larger than
            `MOST_BYTES`; or a line of it does not verify, which names the line and the row.
    """
    try:
        with path.open("rb") as file:
            return parse_bundle(file, str(path))
    except FileNotFoundError:
        raise CacheError(f"{path}: there is no such bundle.") from None
    except OSError as error:
        raise CacheError(f"{path}: the bundle cannot be read: {error.strerror or error}.") from error


def parse_bundle(file: BinaryIO, where: str) -> dict[str, str]:
    """Return the rows of an open bundle. See `read_bundle`; ``where`` names it in messages."""
    lines = _lines(file, where)
    header = _header(next(lines, b""), where)
    rows: dict[str, str] = {}
    overall = hashlib.sha256()
    records: Counter[str] = Counter()
    last = ""
    for number, line in enumerate(lines, start=2):
        overall.update(line)
        name, text = _row(line, f"{where}, line {number}")
        if name <= last:
            _refuse(f"{where}, line {number}", f"{name} is not in its place; the lines are sorted by name")
        last = name
        rows[name] = text
        records[name.partition("/")[0]] += 1
    if overall.hexdigest() != header["digest"] or dict(records) != header["records"]:
        _refuse(where, "the lines are not those that the header counted: some are missing or were changed")
    return rows


def _lines(file: BinaryIO, where: str) -> Iterator[bytes]:
    """Yield the decompressed lines, up to `MOST_BYTES` in all."""
    left = MOST_BYTES + 1_000
    try:
        with gzip.GzipFile(fileobj=file, mode="rb") as unpacked:
            while line := unpacked.readline(left):
                left -= len(line)
                if left <= 0:
                    _refuse(where, f"it decompresses to more than {MOST_BYTES:,} bytes")
                yield line
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        _refuse(where, f"it is no whole gzip file ({error})")


def _header(line: bytes, where: str) -> dict[str, Any]:
    header = _json(line, f"{where}, line 1")
    if not isinstance(header, dict) or header.get("bundle") != "ragjudge":
        _refuse(where, "its first line is not the header of a bundle")
    schema, records = header.get("schema"), header.get("records")
    unknown = sorted(set(records) - _KINDS) if isinstance(records, dict) else []
    if schema != BUNDLE_SCHEMA or unknown:
        what = f"records of kind {unknown[0]!r}" if unknown else f"schema {str(schema)[:20]!r}"
        raise CacheError(
            f"{where}: the bundle has {what}, which this ragjudge does not know.", hint="update ragjudge"
        )
    if not isinstance(records, dict) or not isinstance(header.get("digest"), str):
        _refuse(where, "its header lacks the counts or the digest")
    return header


def _row(line: bytes, where: str) -> tuple[str, str]:
    entry = _json(line, where)
    if not isinstance(entry, dict) or set(entry) != {"digest", "name", "value"}:
        _refuse(where, "no record: accepted are the keys digest, name and value")
    name, value = entry["name"], entry["value"]
    if not isinstance(name, str) or name == SCHEMA_ROW or name.partition("/")[0] not in _KINDS:
        _refuse(where, f"{_shown(name)} names no kind of record")
    try:
        whole = _line(name, value) == line
        text = canonical_json(_stored(name, value)) if whole else ""
    except (ValueError, RecursionError, KeyError, TypeError):
        whole, text = False, ""
    if not whole:
        _refuse(where, f"{_shown(name)} does not agree with its digest: it was changed or damaged")
    reader = READERS.get(name[: name.find("/") + 1])
    if reader is None or reader(name, text) is None:
        meaning = "its answer is none to its request"
        if name.startswith(CALIBRATION):
            meaning = "its calibration is not the one of that sha256"
        _refuse(where, f"{_shown(name)} does not follow from its content, or {meaning}")
    return name, text


def _line(name: str, value: Any) -> bytes:
    record = {"digest": digest({"name": name, "value": value}), "name": name, "value": value}
    return canonical_json(record).encode("ascii") + b"\n"


def _portable(name: str, value: Any) -> Any:
    """Return a row's value as a bundle writes it: without the digest that the line repeats."""
    if name.startswith(CALL):
        return {"answer": value["answer"], "request": value["request"]}
    return value


def _stored(name: str, value: Any) -> Any:
    """Return a row's value as a cache writes it."""
    if name.startswith(CALL):
        return {**value, "digest": entry_digest(name[len(CALL) :], value["answer"])}
    return value


def _json(line: bytes, where: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        _refuse(where, "no JSON")


def _shown(name: object) -> str:
    text = name if isinstance(name, str) else repr(name)
    return text if len(text) <= 100 else f"{text[:100]}…"


def _refuse(where: str, why: str) -> NoReturn:
    raise CacheError(
        f"{where}: the bundle is refused: {why}.",
        hint="write it anew with `ragjudge cache export`, or get it again from where it came from",
    )
