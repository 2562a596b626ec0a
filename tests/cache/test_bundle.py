from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from ragjudge.cache import bundle as bundle_module
from ragjudge.cache.bundle import (
    BundleStore,
    leave_bundle,
    parse_bundle,
    read_bundle,
    render_bundle,
    write_bundle,
)
from ragjudge.cache.caching_judge import CachingJudge
from ragjudge.cache.memory import MemoryStore
from ragjudge.cache.opening import open_caching_judge
from ragjudge.cache.store import Store
from ragjudge.errors import CacheError, ReplayMissError
from ragjudge.judges.base import canonical_json, digest
from ragjudge.records import Reply, Verdict
from tests.cache.helpers import JUDGE, LONG, YES, CountingJudge, check, key, prompt, put

NO = Verdict(log_probabilities={"yes": -3.0, "no": -0.05})


@pytest.fixture
def store() -> MemoryStore:
    store = MemoryStore()
    put(store, check())
    put(store, check("Other."), NO)
    put(store, prompt(), Reply(text="{}", tokens=2))
    put(store, check("\ud800\x00"))
    store.remember_judge("counting", JUDGE.document)
    return store


@pytest.fixture
def path(store: MemoryStore, tmp_path: Path) -> Path:
    write_bundle(tmp_path / "suite.rjz", store.rows())
    return tmp_path / "suite.rjz"


def lines_of(path: Path) -> list[bytes]:
    return gzip.decompress(path.read_bytes()).splitlines(keepends=True)


def pack(path: Path, lines: list[bytes], *, mend_header: bool = True) -> None:
    """Write lines as a bundle whose header agrees with them, unless told otherwise."""
    if mend_header:
        header = json.loads(lines[0])
        header["digest"] = hashlib.sha256(b"".join(lines[1:])).hexdigest()
        lines = [canonical_json(header).encode() + b"\n", *lines[1:]]
    path.write_bytes(gzip.compress(b"".join(lines)))


def change(line: bytes, how: Callable[[dict[str, Any]], None], *, mend: bool = False) -> bytes:
    record = json.loads(line)
    how(record)
    if mend:
        record["digest"] = digest({"name": record["name"], "value": record["value"]})
    return canonical_json(record).encode() + b"\n"


def assert_refused(path: Path, *parts: str) -> None:
    with pytest.raises(CacheError) as caught:
        read_bundle(path)
    for part in (str(path), *parts):
        assert part in caught.value.message


def test_a_bundle_holds_what_the_store_held(store: MemoryStore, path: Path) -> None:
    assert read_bundle(path) == dict(store.rows())
    replayed = BundleStore(path)
    assert replayed.get(key(check("Other."))) == NO
    assert replayed.judges() == {"counting": [dict(JUDGE.document)]}
    assert [replayed.text(row.removeprefix("text/")) for row in replayed.names("text/")] == [LONG]
    assert replayed.location == str(path)


def test_the_same_rows_give_the_same_bytes_whatever_their_order_and_the_files_name(
    store: MemoryStore, path: Path, tmp_path: Path
) -> None:
    write_bundle(tmp_path / "other.rjz", reversed(list(store.rows())))
    assert (tmp_path / "other.rjz").read_bytes() == path.read_bytes()
    header = path.read_bytes()[:10]
    assert header[3] == 0  # no name, no comment
    assert header[4:8] == bytes(4)  # no time


def test_the_lines_are_sorted_json_with_a_header_that_counts_them(path: Path) -> None:
    first, *lines = lines_of(path)
    header = json.loads(first)
    assert (header["bundle"], header["schema"]) == ("ragjudge", 1)
    assert header["records"] == {"call": 4, "judge": 1, "text": 1}
    assert header["digest"] == hashlib.sha256(b"".join(lines)).hexdigest()
    names = [json.loads(line)["name"] for line in lines]
    assert names == sorted(names)
    assert sum(LONG in json.loads(line)["value"] for line in lines if b'"text/' in line) == 1


def test_a_replay_from_a_bundle_needs_no_model(path: Path) -> None:
    class Gone(CountingJudge):
        def identity(self) -> Any:
            from ragjudge.errors import ModelMissingError

            raise ModelMissingError("the model is not here.")

    judge = open_caching_judge(Gone(), BundleStore(path), replay=True)
    assert dict(judge.ask([check(), check("Other.")])) == {0: YES, 1: NO}
    with pytest.raises(ReplayMissError):
        list(judge.ask([check("Never asked.")]))


def test_nothing_is_added_to_a_bundle(path: Path) -> None:
    before = path.read_bytes()
    store = BundleStore(path)
    judge = CachingJudge(CountingJudge(), store, JUDGE, id="counting")
    assert dict(judge.ask([check("New.")])) == {0: YES}
    assert store.get(key(check("New."))) is None
    assert path.read_bytes() == before


def test_an_altered_verdict_is_refused_with_its_key(path: Path) -> None:
    lines = lines_of(path)
    number = next(n for n, line in enumerate(lines) if b"-3.0" in line)
    lines[number] = lines[number].replace(b"-3.0", b"-1.0")
    pack(path, lines)
    assert_refused(path, f"line {number + 1}: ", f"call/{key(check('Other.'))}", "changed or damaged")


def alter_request(record: dict[str, Any]) -> None:
    record["value"]["request"]["labels"] = ["yes", "maybe"]


def alter_label(record: dict[str, Any]) -> None:
    record["value"]["answer"]["log_probabilities"] = {"yes": -0.1}


def alter_number(record: dict[str, Any]) -> None:
    record["value"]["answer"]["log_probabilities"] = {"yes": 1e300, "no": -1.0}


def alter_kind(record: dict[str, Any]) -> None:
    record["value"]["answer"] = {"kind": "reply", "text": "Yes", "tokens": 1}


def alter_shape(record: dict[str, Any]) -> None:
    record["value"]["request"]["messages"] = []


def alter_answer_to_list(record: dict[str, Any]) -> None:
    record["value"]["answer"] = []


@pytest.mark.parametrize(
    "how", [alter_request, alter_label, alter_number, alter_kind, alter_shape, alter_answer_to_list]
)
def test_an_entry_with_good_digests_and_a_bad_meaning_is_refused(
    path: Path, how: Callable[[dict[str, Any]], None]
) -> None:
    lines = lines_of(path)
    number = next(n for n, line in enumerate(lines) if b'"verdict"' in line)
    lines[number] = change(lines[number], how, mend=True)
    pack(path, lines)
    assert_refused(path, f"line {number + 1}: ", "refused: call/")


@pytest.mark.parametrize(
    "name", ["meta/schema", "call", "../../etc/passwd", "/etc/passwd", "file/x", "", 7, None, "call/../x"]
)
def test_a_record_with_another_name_is_refused(path: Path, name: object) -> None:
    lines = lines_of(path)
    lines[1] = change(lines[1], lambda record: record.update(name=name), mend=True)
    pack(path, lines)
    assert_refused(path, "line 2: ")


@pytest.mark.parametrize(
    ("how", "what"),
    [
        (lambda lines: [lines[0], *lines[2:]], "some are missing or were changed"),
        (lambda lines: [*lines, lines[-1]], "not in its place"),
        (lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], "not in its place"),
        (lambda lines: lines[1:], "not the header of a bundle"),
        (lambda _: [b"[]\n"], "not the header of a bundle"),
        (lambda _: [b"[" * 100_000 + b"\n"], "line 1: the bundle is refused: no JSON"),
        (lambda _: [], "line 1: the bundle is refused: no JSON"),
        (lambda lines: [*lines[:2], b'{"a": 1}\n', *lines[2:]], "line 3: the bundle is refused: no record"),
        (lambda lines: [*lines[:2], b"not JSON\n", *lines[2:]], "line 3: the bundle is refused: no JSON"),
        (lambda lines: [lines[0], lines[1].replace(b'":', b'": '), *lines[2:]], "line 2: "),
    ],
)
def test_lines_that_are_not_those_of_the_header_are_refused(
    path: Path, how: Callable[[list[bytes]], list[bytes]], what: str
) -> None:
    pack(path, how(lines_of(path)), mend_header=False)
    assert_refused(path, what)


def test_a_missing_line_is_noticed_even_with_a_mended_digest(path: Path) -> None:
    lines = lines_of(path)
    pack(path, [lines[0], *lines[2:]])
    assert_refused(path, "some are missing")


@pytest.mark.parametrize(
    ("changes", "what"),
    [({"schema": 2}, "schema '2'"), ({"records": {"call": 1, "dream": 2}}, "records of kind 'dream'")],
)
def test_the_bundle_of_a_newer_version_is_refused_with_a_hint(
    path: Path, changes: dict[str, Any], what: str
) -> None:
    lines = lines_of(path)
    lines[0] = canonical_json({**json.loads(lines[0]), **changes}).encode() + b"\n"
    pack(path, lines, mend_header=False)
    with pytest.raises(CacheError, match=what) as caught:
        read_bundle(path)
    assert caught.value.hint == "update ragjudge"


def test_a_file_that_is_cut_or_no_gzip_is_refused(path: Path) -> None:
    data = path.read_bytes()
    for broken in (data[:-1], data[: len(data) // 2], data[:5], b"", b"PK\x03\x04", b'{"bundle": 1}\n'):
        path.write_bytes(broken)
        assert_refused(path, "refused")


def test_a_file_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(CacheError, match="there is no such bundle"):
        read_bundle(tmp_path / "none.rjz")
    with pytest.raises(CacheError, match="cannot be read"):
        read_bundle(tmp_path)


def test_a_small_file_that_decompresses_to_too_much_is_refused_early(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle_module, "MOST_BYTES", 1_000_000)
    bomb = gzip.compress(lines_of(path)[0] + b'"' + b"a" * 50_000_000, 9)
    assert len(bomb) < 100_000
    path.write_bytes(bomb)
    assert_refused(path, "decompresses to more than 1,000,000 bytes")


def test_no_bundle_is_written_that_could_not_be_read(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle_module, "MOST_BYTES", 1_000)
    with pytest.raises(CacheError, match="more than 1,000 bytes"):
        write_bundle(tmp_path / "big.rjz", store.rows())
    assert list(tmp_path.iterdir()) == []


def test_a_bundle_that_cannot_be_written_leaves_the_old_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    before = path.read_bytes()
    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(CacheError, match="No space left"):
        write_bundle(path, [])
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == ["suite.rjz"]


def test_an_empty_store_makes_an_empty_bundle(tmp_path: Path) -> None:
    assert write_bundle(tmp_path / "empty.rjz", []) == {}
    assert read_bundle(tmp_path / "empty.rjz") == {}


def test_the_version_of_the_cache_stays_out(tmp_path: Path) -> None:
    with Store(tmp_path / "cache") as store:
        put(store, check())
        data, records = render_bundle([*store.rows(), ("meta/schema", "1")])
    assert records == {"call": 1, "text": 1}
    assert parse_bundle(BytesIO(data), "it").keys() == {row for row, _ in _rows(tmp_path / "cache")}


def _rows(folder: Path) -> list[tuple[str, str]]:
    with Store(folder, read_only=True) as store:
        return list(store.rows())


def test_what_found_no_other_place_is_left_in_a_private_folder(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = leave_bundle(dict(store.rows()))
    assert path is not None
    assert read_bundle(path) == dict(store.rows())
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    assert leave_bundle({}) is None
