from __future__ import annotations

import os
from pathlib import Path

import pytest

from ragjudge.errors import ConfigError
from ragjudge.judges.llama.prefix_store import (
    DEFAULT_BOUND,
    LEAST_SECONDS,
    LEAST_TOKENS,
    PrefixStore,
    default_bound,
    parse_bound,
)

SCOPE = {"judge": "abc", "llama": "1"}
TOKENS = tuple(range(100))
STATE = bytes(range(256)) * 4


@pytest.fixture
def store(tmp_path: Path) -> PrefixStore:
    return PrefixStore(SCOPE, 1 << 20, tmp_path / "prefixes")


def files(store: PrefixStore) -> list[Path]:
    return sorted(store.directory.iterdir()) if store.directory.is_dir() else []


def content(store: PrefixStore, tokens: tuple[int, ...]) -> bytes | None:
    state = store.load(tokens)
    return None if state is None else bytes(state)


def test_a_state_comes_back_for_exactly_its_tokens(store: PrefixStore) -> None:
    assert store.load(TOKENS) is None
    store.save(TOKENS, STATE)
    assert store.holds(TOKENS)
    assert content(store, TOKENS) == STATE
    assert store.load(TOKENS[:-1]) is None
    assert store.load((*TOKENS, 1)) is None


def test_a_state_of_another_scope_is_not_seen(store: PrefixStore) -> None:
    store.save(TOKENS, STATE)
    other = PrefixStore({**SCOPE, "llama": "2"}, 1 << 20, store.directory)
    assert other.load(TOKENS) is None
    assert content(store, TOKENS) == STATE


@pytest.mark.parametrize("place", [0, 20, 200, -1])
def test_a_damaged_file_is_a_miss_and_goes(store: PrefixStore, place: int) -> None:
    store.save(TOKENS, STATE)
    (path,) = files(store)
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    assert store.load(TOKENS) is None
    assert files(store) == []


def test_a_truncated_file_is_a_miss(store: PrefixStore) -> None:
    store.save(TOKENS, STATE)
    (path,) = files(store)
    path.write_bytes(path.read_bytes()[:-1])
    assert store.load(TOKENS) is None


def test_a_file_under_another_name_is_a_miss(store: PrefixStore) -> None:
    store.save(TOKENS, STATE)
    (path,) = files(store)
    store.save(TOKENS[:70], STATE)
    (other,) = [file for file in files(store) if file != path]
    other.write_bytes(path.read_bytes())
    assert store.load(TOKENS[:70]) is None


def test_only_expensive_prefixes_are_wanted(store: PrefixStore) -> None:
    assert store.wants(TOKENS, LEAST_SECONDS)
    assert not store.wants(TOKENS, LEAST_SECONDS / 2)
    assert not store.wants(TOKENS[: LEAST_TOKENS - 1], 10.0)
    store.save(TOKENS, STATE)
    assert not store.wants(TOKENS, LEAST_SECONDS)


def test_what_recent_runs_did_not_use_goes_first(tmp_path: Path) -> None:
    def run() -> PrefixStore:
        return PrefixStore(SCOPE, 3 * (len(STATE) + 400), tmp_path)

    first = run()
    for number in range(3):
        first.save((number, *TOKENS), STATE)
    for age, path in enumerate(files(first)):
        os.utime(path, (1000 + age, 1000 + age))
    second = run()
    kept = [number for number in range(3) if second._path((number, *TOKENS)).stat().st_mtime >= 1001]
    second.save((9, *TOKENS), STATE)
    assert second.holds((9, *TOKENS))
    assert [number for number in range(3) if second.holds((number, *TOKENS))] == kept


def test_what_this_run_used_is_never_evicted_and_admission_stops(tmp_path: Path) -> None:
    store = PrefixStore(SCOPE, 2 * (len(STATE) + 400), tmp_path)
    for number in range(4):
        store.save((number, *TOKENS), STATE)
    assert [store.holds((number, *TOKENS)) for number in range(4)] == [True, True, False, False]
    assert not store.wants((5, *TOKENS), 10.0)


def test_what_a_killed_run_left_behind_is_removed(store: PrefixStore) -> None:
    store.save(TOKENS, STATE)
    torn = store.directory / ".state-torn"
    torn.write_bytes(b"half")
    os.utime(torn, (1000, 1000))
    fresh = store.directory / ".state-fresh"
    fresh.write_bytes(b"half")
    store.save(TOKENS[:80], STATE)
    assert not torn.exists()
    assert fresh.exists()


def test_a_bound_of_zero_keeps_nothing(tmp_path: Path) -> None:
    store = PrefixStore(SCOPE, 0, tmp_path / "prefixes")
    assert not store.wants(TOKENS, 10.0)
    store.save(TOKENS, STATE)
    assert files(store) == []


def test_a_folder_that_cannot_be_made_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    store = PrefixStore(SCOPE, 1 << 20, tmp_path / "file" / "prefixes")
    store.save(TOKENS, STATE)
    assert store.load(TOKENS) is None
    assert not store.wants(TOKENS, 10.0)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("off", 0),
        (" OFF ", 0),
        ("0", 0),
        ("8GiB", 8 << 30),
        ("500 MB", 500_000_000),
        ("1.5k", 1500),
        ("7", 7),
    ],
)
def test_bounds_are_read(text: str, size: int) -> None:
    assert parse_bound(text) == size


@pytest.mark.parametrize("text", ["lots", "-1", "8 GiB more", ""])
def test_what_is_no_bound_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="accepted: off, or a size such as 8GiB"):
        parse_bound(text)


def test_the_environment_bounds_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAGJUDGE_PREFIX_STORE", raising=False)
    assert default_bound() == DEFAULT_BOUND
    monkeypatch.setenv("RAGJUDGE_PREFIX_STORE", "1GiB")
    assert default_bound() == 1 << 30
