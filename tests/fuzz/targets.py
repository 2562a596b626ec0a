"""What is fuzzed: readers of foreign bytes. Each target raises nothing but an error that is ours."""

from __future__ import annotations

import gzip
import hashlib
import json
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

from ragjudge.cache.bundle import parse_bundle, render_bundle
from ragjudge.cache.entries import CALL, is_whole, read_call, read_judge, read_text
from ragjudge.cache.keys import text_names
from ragjudge.cache.recovery import verified_rows
from ragjudge.errors import CacheError
from ragjudge.judges.base import canonical_json, digest
from ragjudge.judges.http.failures import CallFailedError
from ragjudge.judges.http.reply import find_label, find_object
from ragjudge.metrics.base import parse_holistic

SEEDS = Path(__file__).with_name("seeds")
SCHEMA = {
    "type": "object",
    "required": ["score", "reason"],
    "properties": {"score": {"type": "number", "minimum": 0, "maximum": 1}, "reason": {"type": "string"}},
}


def bundle(data: bytes) -> None:
    """The file itself: gzip, header, lines."""
    _parse(data)


def bundle_lines(data: bytes) -> None:
    """The lines behind a header that agrees with them, so that the reader gets further."""
    lines = data.splitlines(keepends=True)
    kinds = [_kind(line) for line in lines]
    header = {
        "bundle": "ragjudge",
        "schema": 1,
        "digest": hashlib.sha256(data).hexdigest(),
        "records": {kind: kinds.count(kind) for kind in sorted({kind for kind in kinds if kind})},
    }
    _parse(gzip.compress(canonical_json(header).encode() + b"\n" + data))  # type: ignore[arg-type]


def bundle_record(data: bytes) -> None:
    """One record whose digest is right, so that only its meaning can be wrong."""
    name, _, value = data.partition(b"\n")
    try:
        record = {"name": name.decode("ascii"), "value": json.loads(value)}
        line = canonical_json({**record, "digest": digest(record)}).encode() + b"\n"
    except (ValueError, RecursionError):
        return
    bundle_lines(line)


def rows(data: bytes) -> None:
    """The rows of a cache."""
    name, _, rest = data.partition(b"\n")
    key, text = name.decode("utf-8", "surrogateescape"), rest.decode("utf-8", "surrogateescape")
    call = read_call(key, text)
    if call is not None:
        assert key.startswith(CALL)
        text_names(call.request)
    read_judge(key, text)
    read_text(key, text)
    is_whole(key, text)


def damaged_database(data: bytes) -> None:
    """A database file that SQLite would refuse; the first byte says how much of it is its log."""
    share = data[0] if data else 0
    cut = len(data) * share // 255
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "cache.db").write_bytes(data[1 : 1 + cut])
        (Path(folder) / "cache.db-wal").write_bytes(data[1 + cut :])
        for name, text in verified_rows(Path(folder)):
            assert is_whole(name, text)


def holistic_reply(data: bytes) -> None:
    """The reply of a model under a grammar."""
    found = parse_holistic(_text(data))
    assert found is None or 0 <= found[0] <= 1


def free_reply(data: bytes) -> None:
    """The reply of a model that writes what it likes."""
    with suppress(CallFailedError):
        assert 0 <= find_object(_text(data), SCHEMA)["score"] <= 1
    with suppress(CallFailedError):
        assert find_label(_text(data), ("Yes", "No")) in ("Yes", "No")


TARGETS: dict[str, Callable[[bytes], None]] = {
    "bundle": bundle,
    "bundle_lines": bundle_lines,
    "bundle_record": bundle_record,
    "rows": rows,
    "damaged_database": damaged_database,
    "holistic_reply": holistic_reply,
    "free_reply": free_reply,
}


@cache
def examples() -> dict[str, list[bytes]]:
    """Return whole inputs for each target, to be changed."""
    from ragjudge.cache.memory import MemoryStore
    from ragjudge.cache.store import Store
    from ragjudge.records import Reply
    from tests.cache.helpers import JUDGE, check, prompt, put

    store = MemoryStore()
    put(store, check())
    put(store, prompt(), Reply(text='{"score": 0.5, "reason": "x"}', tokens=3))
    store.remember_judge("fake", JUDGE.document)
    found = list(store.rows())
    whole, _ = render_bundle(found)
    lines = gzip.decompress(whole).split(b"\n", 1)[1]
    records: list[dict[str, Any]] = [json.loads(line) for line in lines.splitlines()]
    with tempfile.TemporaryDirectory() as folder:
        with Store(Path(folder)) as on_disk:
            on_disk.write_rows(dict(found))
            put(on_disk, check("x" * 9_000))
            log = (Path(folder) / "cache.db-wal").read_bytes()
        database = (Path(folder) / "cache.db").read_bytes()
    replies = [
        b'{"score": 0.5, "reason": "x"}',
        b'<think>{"score": 0}</think> Sure: ```json\n{"score": 1, "reason": "a"}\n``` Yes.',
    ]
    return {
        "bundle": [whole],
        "bundle_lines": [lines],
        "bundle_record": [f"{r['name']}\n{json.dumps(r['value'])}".encode() for r in records],
        "rows": [f"{name}\n{text}".encode() for name, text in found],
        "damaged_database": [b"\xff" + database, b"\x00" + log],
        "holistic_reply": replies,
        "free_reply": replies,
    }


def seeds(name: str) -> list[bytes]:
    """Return the inputs that were kept because they once found something."""
    folder = SEEDS / name
    return [path.read_bytes() for path in sorted(folder.iterdir())] if folder.is_dir() else []


def _parse(data: bytes) -> None:
    try:
        parsed = parse_bundle(BytesIO(data), "it")
    except CacheError:
        return
    assert all(is_whole(name, text) for name, text in parsed.items())


def _kind(line: bytes) -> str:
    try:
        return str(json.loads(line)["name"]).partition("/")[0]
    except (ValueError, RecursionError, TypeError, KeyError):
        return ""


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
