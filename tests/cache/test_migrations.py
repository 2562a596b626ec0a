"""A cache of an older version, brought up to date by steps that only these tests know."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ragjudge.cache import rows as rows_module
from ragjudge.cache import store as store_module
from ragjudge.cache.migrations import STEPS, Step
from ragjudge.cache.store import Store
from ragjudge.errors import CacheError
from tests.cache.helpers import JUDGE, YES, check, database, key, put


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A cache whose calls are kept under other names and with another spelling, as version 1 would."""
    folder = tmp_path / "cache"
    with Store(folder) as store:
        for number in range(700):
            put(store, check(f"Claim {number}."))
        store.remember_judge("fake", JUDGE.document)
    with closing(sqlite3.connect(database(folder))) as connection:
        connection.execute(
            "UPDATE Cache SET key = replace(key, 'call/', 'verdict/'), "
            "value = replace(value, '\"answer\"', '\"reply\"'), store_time = 1000.0 WHERE key LIKE 'call/%'"
        )
        connection.execute(
            "INSERT INTO Cache (key, raw, store_time, mode, value) VALUES ('note/1', 1, 1.0, 1, 'drop me')"
        )
        connection.commit()
    return folder


def from_1(name: str, text: str) -> tuple[str, str] | None:
    if name.startswith("note/"):
        return None
    return name.replace("verdict/", "called/"), text.replace('"reply"', '"said"')


def from_2(name: str, text: str) -> tuple[str, str] | None:
    return name.replace("called/", "call/"), text.replace('"said"', '"answer"')


@pytest.fixture
def version(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, dict[int, Step]], None]:
    def use(number: int, steps: dict[int, Step]) -> None:
        monkeypatch.setattr(store_module, "STORE_SCHEMA", number)
        monkeypatch.setattr(store_module, "STEPS", steps)

    return use


def schema(folder: Path) -> str:
    with closing(sqlite3.connect(database(folder))) as connection:
        ((text,),) = connection.execute("SELECT value FROM Cache WHERE key = 'meta/schema'").fetchall()
    return str(text)


Use = Callable[[int, dict[int, Step]], None]


def test_an_old_cache_keeps_every_answer_and_its_age(old: Path, version: Use) -> None:
    version(3, {1: from_1, 2: from_2})
    with Store(old) as store:
        assert store.get(key(check("Claim 7."))) == YES
        stats = store.stats()
        assert (stats.calls, stats.texts, stats.damaged) == (700, 1, 0)
        assert stats.ages["older"].calls == 700
        assert list(store.names("note/")) == []
    assert schema(old) == "3"
    with Store(old) as store:
        assert store.stats().calls == 700


def test_a_step_that_fails_leaves_everything_as_it_was(old: Path, version: Use) -> None:
    done = 0

    def fails(name: str, text: str) -> tuple[str, str] | None:
        nonlocal done
        done += 1
        if done > 350:
            raise OSError(28, "No space left on device")
        return from_1(name, text)

    version(3, {1: fails, 2: from_2})
    with pytest.raises(CacheError, match=r"No space left.*left as it was"):
        Store(old)
    assert schema(old) == "1"
    version(3, {1: from_1, 2: from_2})
    with Store(old) as store:
        assert store.stats().calls == 700


def test_two_processes_that_migrate_do_the_work_once(old: Path, version: Use) -> None:
    version(3, {1: from_1, 2: from_2})
    with Store(old):
        pass
    calls: list[str] = []

    def counted(name: str, text: str) -> tuple[str, str] | None:
        calls.append(name)
        return from_2(name, text)

    version(3, {1: from_1, 2: counted})
    with Store(old) as store:
        assert store.stats().calls == 700
    assert calls == []


def test_an_old_cache_that_may_not_be_written_is_one_sentence(old: Path, version: Use) -> None:
    version(3, {1: from_1, 2: from_2})
    with pytest.raises(CacheError, match="older ragjudge \\(schema 1; this one reads 3\\)") as caught:
        Store(old, read_only=True)
    assert "run once without --replay" in (caught.value.hint or "")


def test_a_version_without_a_step_is_refused(old: Path, version: Use) -> None:
    version(3, {2: from_2})
    with pytest.raises(CacheError, match="no ragjudge wrote"):
        Store(old)


def test_there_is_a_step_from_every_earlier_version() -> None:
    assert sorted(STEPS) == list(range(1, rows_module.STORE_SCHEMA))
