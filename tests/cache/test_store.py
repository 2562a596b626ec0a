from __future__ import annotations

import json
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragjudge.cache import database as database_module
from ragjudge.cache.disk import TextCache
from ragjudge.cache.keys import request_of
from ragjudge.cache.rows import RowStore
from ragjudge.cache.store import CallStore, MemoryStore, Store, default_directory
from ragjudge.errors import CacheError
from ragjudge.records import Reply, Verdict
from tests.cache.helpers import JUDGE, LONG, YES, check, database, key, prompt, put


@pytest.fixture(params=["disk", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RowStore]:
    with Store(tmp_path / "cache") if request.param == "disk" else MemoryStore() as opened:
        yield opened


def test_both_stores_meet_the_protocol(tmp_path: Path) -> None:
    with Store(tmp_path) as disk:
        stores: list[CallStore] = [disk, MemoryStore()]
        assert [store.location for store in stores] == [str(tmp_path), "memory"]


def test_what_was_put_comes_back(store: RowStore) -> None:
    reply = Reply(text='{"score": 0.5}', tokens=7)
    assert store.get(put(store, check())) == YES
    assert store.get(put(store, prompt(), reply)) == reply
    assert store.get("0" * 64) is None


def test_many_are_found_at_once_and_the_others_left_out(store: RowStore) -> None:
    calls = [check(f"Claim {number}.") for number in range(1_203)]
    answers = [Verdict(log_probabilities={"yes": -number / 7, "no": -1e-6}) for number in range(1_203)]
    for call, answer in zip(calls[::2], answers[::2], strict=True):
        put(store, call, answer)
    found = store.get_many([key(call) for call in calls] * 2)
    assert found == {key(call): answer for call, answer in zip(calls[::2], answers[::2], strict=True)}


def test_a_later_answer_replaces_an_earlier_one(store: RowStore) -> None:
    other = Verdict(log_probabilities={"yes": -3.0, "no": -0.1})
    put(store, check())
    put(store, check(), other)
    assert store.get(key(check())) == other
    assert store.stats().calls == 1


def test_a_text_that_many_calls_share_is_stored_once(store: RowStore) -> None:
    for number in range(20):
        put(store, check(f"Claim {number}."))
    assert store.stats().texts == 1


@pytest.mark.parametrize(
    "text", ["\ud800 lone", "a\x00b", "\ud800" * 300, "\x00" * 300, "é€𝄞" * 100, "\x1b[31m"]
)
def test_any_text_survives(store: RowStore, text: str) -> None:
    reply = Reply(text=text)
    assert store.get(put(store, prompt(own=text), reply)) == reply
    for name, stored in request_of(prompt(own=text), JUDGE.fingerprint)[1].items():
        assert store.text(name) == stored


def test_a_text_of_ten_megabytes_stays_in_the_database(tmp_path: Path) -> None:
    call = check("x" * 10_000_000)
    with Store(tmp_path) as store:
        put(store, call)
    with Store(tmp_path, read_only=True) as store:
        assert store.get(key(call)) == YES
        (name,) = (name for name, text in request_of(call, "f")[1].items() if text == call.own)
        assert store.text(name) == call.own
    assert {path.name for path in tmp_path.iterdir()} == {"cache.db", ".lock"}


def test_a_judge_is_remembered_with_all_that_its_name_has_meant(store: RowStore) -> None:
    store.remember_judge("models/j.gguf", {"model": "a"})
    store.remember_judge("models/j.gguf", {"model": "b"})
    store.remember_judge("models/j.gguf", {"model": "a"})
    store.remember_judge("fake", {"kind": "fake"})
    assert store.identities("models/j.gguf") == [{"model": "a"}, {"model": "b"}]
    assert store.identities("unknown") == []
    assert store.judges() == {"fake": [{"kind": "fake"}], "models/j.gguf": [{"model": "a"}, {"model": "b"}]}


def test_stats_count_calls_by_template_and_judges_by_name(store: RowStore) -> None:
    put(store, check())
    put(store, check("Other."))
    put(store, prompt(), Reply(text="{}"))
    store.remember_judge("fake", JUDGE.document)
    stats = store.stats()
    assert (stats.calls, stats.texts, stats.damaged) == (3, 1, 0)
    assert {name: share.calls for name, share in stats.templates.items()} == {"holistic@2": 1, "support@1": 2}
    assert stats.judges.keys() == {JUDGE.fingerprint}
    assert stats.judges[JUDGE.fingerprint][:2] == (("fake",), 3)
    size = sum(share.bytes for share in stats.templates.values())
    assert stats.judges[JUDGE.fingerprint].bytes == size
    assert {name: share.calls for name, share in stats.ages.items()} in ({}, {"up to 1 day": 3})
    assert stats.text_bytes == len(LONG) + 2
    assert stats.bytes > 0


def test_requests_come_in_the_order_of_their_keys(store: RowStore) -> None:
    calls = [check(f"Claim {number}.") for number in range(1_100)]
    for call in calls:
        put(store, call)
    found = list(store.requests())
    assert [name for name, _ in found] == sorted(key(call) for call in calls)
    assert dict(found)[key(calls[0])] == request_of(calls[0], JUDGE.fingerprint)[0]


def change(folder: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(database(folder))) as connection:
        connection.execute(statement, values)
        connection.commit()


def flip_answer(row: str) -> str:
    return row.replace("-0.105361", "-0.905361")


def flip_request(row: str) -> str:
    return row.replace("Danube ends", "Danube rises")


@pytest.mark.parametrize(
    "damage",
    [
        flip_answer,
        flip_request,
        lambda row: row[:-10],
        lambda _: "",
        lambda _: "[]",
        lambda _: "null",
        lambda _: "[" * 100_000,
        lambda _: '{"answer": {}, "digest": "", "request": {}}',
        lambda _: "9" * 10_000,
    ],
)
def test_a_damaged_row_counts_as_missing_and_is_counted(tmp_path: Path, damage: Callable[[str], str]) -> None:
    with Store(tmp_path) as store:
        put(store, check())
    with closing(sqlite3.connect(database(tmp_path))) as connection:
        ((row,),) = connection.execute("SELECT value FROM Cache WHERE key LIKE 'call/%'").fetchall()
    assert damage(row) != row
    change(tmp_path, "UPDATE Cache SET value = ? WHERE key LIKE 'call/%'", damage(row))
    with Store(tmp_path) as store:
        assert store.get(key(check())) is None
        assert store.get(key(check())) is None
        assert store.damaged == 1
        assert store.stats().calls == 0
        assert store.get(put(store, check())) == YES


def test_bytes_that_are_no_utf8_count_as_damage(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        put(store, check())
    change(tmp_path, "UPDATE Cache SET value = CAST(x'FFFE' AS TEXT) WHERE key LIKE 'call/%'")
    with Store(tmp_path) as store:
        assert store.get(key(check())) is None
        assert store.damaged == 1


def test_an_answer_moved_under_another_key_counts_as_damage(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        put(store, check())
    change(tmp_path, "UPDATE Cache SET key = ? WHERE key LIKE 'call/%'", f"call/{key(check('Other.'))}")
    with Store(tmp_path) as store:
        assert store.get(key(check("Other."))) is None
        assert store.damaged == 1


def test_a_damaged_text_is_written_anew(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        put(store, check())
    change(tmp_path, "UPDATE Cache SET value = '\"other\"' WHERE key LIKE 'text/%'")
    (name,) = request_of(check(), JUDGE.fingerprint)[1]
    with Store(tmp_path) as store:
        assert store.text(name) is None
        put(store, check("Other."))
        assert store.text(name) == LONG


@pytest.mark.parametrize("row", ["[]", "{}", '{"reference": "x", "identities": []}', '{"reference": 1}'])
def test_a_damaged_judge_row_counts_as_missing(tmp_path: Path, row: str) -> None:
    with Store(tmp_path) as store:
        store.remember_judge("fake", JUDGE.document)
    change(tmp_path, "UPDATE Cache SET value = ? WHERE key LIKE 'judge/%'", row)
    with Store(tmp_path) as store:
        assert store.identities("fake") == []
        assert store.judges() == {}
        assert store.damaged == 1


def test_a_cache_that_is_only_read_is_not_written(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        put(store, check())
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with Store(tmp_path, read_only=True) as store:
        assert store.get(key(check())) == YES
        put(store, check("Other."))
        store.remember_judge("fake", JUDGE.document)
        assert store.get(key(check("Other."))) is None
        assert store.identities("fake") == []
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_reader_sees_what_is_written_after_it_has_opened(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        put(store, check())
    with Store(tmp_path, read_only=True) as reader:
        assert reader.get(key(check("Other."))) is None
        with Store(tmp_path) as writer:
            put(writer, check("Other."))
            assert reader.get(key(check("Other."))) == YES


@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.mkdir(), lambda path: path.touch()])
def test_reading_a_cache_that_is_not_there_is_an_error(tmp_path: Path, make: Callable[[Path], None]) -> None:
    folder = tmp_path / "cache"
    make(folder)
    with pytest.raises(CacheError, match="there is no cache at"):
        Store(folder, read_only=True)


def test_a_file_in_place_of_the_folder_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for folder in (file, file / "below"):
        with pytest.raises(CacheError, match="cannot be opened"):
            Store(folder)


def test_a_folder_that_diskcache_would_rename_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ELSEWHERE", str(tmp_path / "elsewhere"))
    with pytest.raises(CacheError, match="environment variable"):
        Store(tmp_path / "$ELSEWHERE")


def test_a_folder_with_odd_characters_in_its_name_works(tmp_path: Path) -> None:
    folder = tmp_path / "what? 100% #1 ünïcode;mode=ro&x"
    with Store(folder) as store:
        put(store, check())
    with Store(folder, read_only=True) as store:
        assert store.get(key(check())) == YES


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_folders_that_are_made_are_for_this_user_alone(tmp_path: Path) -> None:
    with Store(tmp_path / "a" / "b"):
        pass
    for folder in (tmp_path / "a", tmp_path / "a" / "b"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_the_default_folder_is_named_by_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGJUDGE_CACHE", str(tmp_path / "named"))
    monkeypatch.setenv("RAGJUDGE_HOME", str(tmp_path / "home"))
    assert default_directory() == tmp_path / "named"
    monkeypatch.setenv("RAGJUDGE_CACHE", "")
    assert default_directory() == tmp_path / "home" / "cache"
    with Store() as store:
        assert store.directory == tmp_path / "home" / "cache"


def test_without_the_environment_the_cache_is_among_the_user_data(monkeypatch: pytest.MonkeyPatch) -> None:
    import platformdirs

    monkeypatch.delenv("RAGJUDGE_CACHE", raising=False)
    monkeypatch.delenv("RAGJUDGE_HOME", raising=False)
    assert default_directory() == platformdirs.user_data_path("ragjudge", appauthor=False) / "cache"


def fail(_: TextCache, rows: dict[str, str]) -> None:
    raise sqlite3.OperationalError("database or disk is full")


def test_when_the_disk_is_full_answers_stay_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(tmp_path) as store:
        put(store, check())
        with monkeypatch.context() as patch:
            patch.setattr(TextCache, "write", fail)
            put(store, check("Other."))
            store.remember_judge("fake", JUDGE.document)
        assert store.write_error is not None
        assert "database or disk is full" in store.write_error
        assert store.get(key(check("Other."))) == YES
        assert store.identities("fake") == [dict(JUDGE.document)]
        assert store.stats().calls == 2
        assert len(list(store.requests())) == 2


def test_what_stayed_in_memory_is_written_when_the_store_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(TextCache, "write", fail)
        put(store, check())
    store.close()
    assert store.write_error is None
    with Store(tmp_path, read_only=True) as again:
        assert again.get(key(check())) == YES


def test_closing_does_not_raise_while_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path)
    monkeypatch.setattr(TextCache, "write", fail)
    put(store, check())
    store.close()
    assert store.write_error is not None


def test_a_real_full_database_loses_nothing_of_the_run(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        put(store, check())
        with store.changing() as cache:
            ((pages,),) = cache._sql("PRAGMA page_count").fetchall()
        cache._sql(f"PRAGMA max_page_count = {pages}").fetchall()
        calls = [check(f"{number} " * 300) for number in range(30)]
        for call in calls:
            put(store, call)
        assert store.write_error is not None
        assert "full" in store.write_error
        assert len(store.get_many(key(call) for call in calls)) == 30
    with Store(tmp_path) as store:
        assert len(store.get_many(key(call) for call in calls)) == 30


def test_a_database_that_stays_locked_costs_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "BUSY_SECONDS", 0.1)
    with (
        Store(tmp_path) as store,
        closing(sqlite3.connect(database(tmp_path), isolation_level=None)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        put(store, check())
        store.remember_judge("fake", JUDGE.document)
        other.execute("ROLLBACK")
        assert store.write_error is not None
        assert "locked" in store.write_error
        assert store.get(key(check())) == YES
    with Store(tmp_path, read_only=True) as again:
        assert again.get(key(check())) == YES
        assert again.identities("fake") == [dict(JUDGE.document)]


def test_a_lock_held_for_a_moment_is_waited_for(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        other = sqlite3.connect(database(tmp_path), isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")

        def release() -> None:
            time.sleep(0.3)
            other.execute("ROLLBACK")
            other.close()

        thread = threading.Thread(target=release)
        thread.start()
        put(store, check())
        thread.join()
        assert store.write_error is None


def test_an_opening_that_never_ends_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ragjudge.cache.lock import opening_lock

    monkeypatch.setattr(database_module, "BUSY_SECONDS", 0.1)
    with opening_lock(tmp_path, 1.0), pytest.raises(CacheError, match="being opened by another process"):
        Store(tmp_path)


def test_a_folder_that_cannot_be_written_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(self: TextCache, directory: Path, timeout: float) -> None:
        raise sqlite3.OperationalError("attempt to write a readonly database")

    monkeypatch.setattr(TextCache, "__init__", read_only)
    with pytest.raises(CacheError, match="cannot be opened: attempt to write a readonly database"):
        Store(tmp_path)


def test_a_failing_read_is_one_sentence(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.close()
    with pytest.raises(CacheError, match="was closed"):
        store.get("0" * 64)


def test_threads_share_a_store(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        calls = [[check(f"Claim {part} {number}.") for number in range(25)] for part in range(4)]

        def work(part: int) -> None:
            for call in calls[part]:
                put(store, call)
                assert store.get(key(call)) == YES

        threads = [threading.Thread(target=work, args=(part,)) for part in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert store.stats().calls == 100


def test_rows_are_plain_json_text(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        put(store, check())
    with closing(sqlite3.connect(database(tmp_path))) as connection:
        rows = connection.execute(
            "SELECT key, raw, mode, filename, typeof(value), value FROM Cache"
        ).fetchall()
    for _, raw, mode, filename, kind, value in rows:
        assert (raw, mode, filename, kind) == (1, 1, None, "text")
        json.loads(value)


def test_the_modules_that_others_import_load_no_diskcache() -> None:
    code = (
        "import sys, ragjudge.cache.store, ragjudge.cache.caching_judge, ragjudge.cli.cache;"
        "sys.exit('diskcache' in sys.modules or 'platformdirs' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@given(
    text=st.text(st.characters(exclude_categories=[])) | st.text(min_size=201, max_size=260),
    number=st.floats(max_value=0.0, allow_nan=False, allow_infinity=False),
)
def test_whatever_is_put_comes_back_as_it_was(text: str, number: float) -> None:
    store = MemoryStore()
    other = f"not {text}"
    call = check(text, shared=text[::-1], labels=("yes", other))
    answer = Verdict(log_probabilities={"yes": number, other: -0.5})
    assert store.get(put(store, call, answer)) == answer
    assert store.damaged == 0
