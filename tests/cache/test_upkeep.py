from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from ragjudge.cache import upkeep
from ragjudge.cache.memory import MemoryStore
from ragjudge.cache.rows import AGES, age_group
from ragjudge.cache.store import Store
from ragjudge.errors import CacheError, UnknownNameError, UsageError
from ragjudge.judges.base import Identity
from tests.cache.helpers import JUDGE, LONG, YES, check, database, key, put

OTHER = Identity({"kind": "fake", "seed": 8})
DAY = 86_400


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three calls of one judge, the first a hundred days old, and one of another."""
    with Store(tmp_path / "cache") as store:
        put(store, check("old", shared=LONG + "old"))
        put(store, check("a"))
        put(store, check("b"))
        put(store, check("a"), judge=OTHER)
        store.remember_judge("one", JUDGE.document)
        store.remember_judge("uno", JUDGE.document)
        store.remember_judge("other", OTHER.document)
    name = f"call/{key(check('old', shared=LONG + 'old'))}"
    set_time(tmp_path / "cache", time.time() - 100 * DAY, name)
    return tmp_path / "cache"


def set_time(folder: Path, when: float, name: str) -> None:
    with closing(sqlite3.connect(database(folder))) as connection:
        connection.execute("UPDATE Cache SET store_time = ? WHERE key = ?", (when, name))
        connection.commit()


def test_all_is_well_with_a_fresh_cache(folder: Path) -> None:
    with Store(folder, read_only=True) as store:
        assert upkeep.verify(store) == (4, 2, 3, (), 0, ())
    assert upkeep.verify(MemoryStore()) == (0, 0, 0, (), 0, ())


def test_damaged_rows_are_named_and_deleted_by_a_repair(folder: Path) -> None:
    with closing(sqlite3.connect(database(folder))) as connection:
        connection.execute("UPDATE Cache SET value = '{}' WHERE key = ?", (f"call/{key(check('a'))}",))
        connection.execute("UPDATE Cache SET value = '\"x\"' WHERE key LIKE 'text/%'")
        connection.execute("UPDATE Cache SET value = '[]' WHERE key LIKE 'judge/%'")
        connection.commit()
    with Store(folder) as store:
        found = upkeep.verify(store)
        assert (found.calls, found.texts, found.judges, found.lost_texts) == (3, 0, 0, 2)
        assert len(found.damaged) == 6
        assert found.damaged[0] == f"call/{key(check('a'))}"
        upkeep.repair(store)
    with Store(folder) as store:
        assert upkeep.verify(store) == (3, 0, 0, (), 2, ())


def test_old_calls_go_with_the_texts_that_only_they_name(folder: Path) -> None:
    with Store(folder) as store:
        goes = upkeep.select(store, older_than=90 * DAY, now=time.time())
        assert upkeep.plan_removal(store, goes)[1] == (1, 1, 4)
        assert upkeep.remove(store, goes) == (1, 1, 4)
        assert store.get(key(check("a"))) == YES
        assert store.get(key(check("old", shared=LONG + "old"))) is None
        assert upkeep.verify(store) == (3, 1, 3, (), 0, ())


def test_the_calls_of_one_judge_go_and_those_of_others_stay(folder: Path) -> None:
    with Store(folder) as store:
        prints = upkeep.judge_fingerprints(store, "other")
        assert prints == {OTHER.fingerprint: ("other",)}
        goes = upkeep.select(store, fingerprints=prints, now=time.time())
        assert upkeep.remove(store, goes, ["other"]).calls == 1
        assert store.get(key(check("a"), OTHER)) is None
        assert store.get(key(check("a"))) == YES
        assert list(store.judges()) == ["one", "uno"]


def test_both_conditions_must_hold(folder: Path) -> None:
    with Store(folder) as store:
        prints = upkeep.judge_fingerprints(store, "other")
        goes = upkeep.select(store, fingerprints=prints, older_than=90 * DAY, now=time.time())
        assert upkeep.plan_removal(store, goes)[1].calls == 0


def test_a_judge_is_found_by_any_of_its_names_and_by_the_start_of_its_fingerprint(folder: Path) -> None:
    with Store(folder, read_only=True) as store:
        for name in ("one", "uno", JUDGE.fingerprint[:8], JUDGE.fingerprint):
            assert upkeep.judge_fingerprints(store, name) == {JUDGE.fingerprint: ("one", "uno")}
        for name in ("none", JUDGE.fingerprint[:7], ""):
            with pytest.raises(UnknownNameError):
                upkeep.judge_fingerprints(store, name)


def test_a_call_from_the_future_is_young(folder: Path) -> None:
    set_time(folder, time.time() + 400 * DAY, f"call/{key(check('a'))}")
    with Store(folder) as store:
        goes = upkeep.select(store, older_than=DAY, now=time.time())
        assert upkeep.plan_removal(store, goes)[1].calls == 1
        assert store.stats().ages["up to 1 day"].calls == 3
        assert store.stats().ages["older"].calls == 1


def test_everything_goes_but_the_version(folder: Path) -> None:
    size = database(folder).stat().st_size
    with Store(folder) as store:
        for number in range(300):
            put(store, check(f"Claim {number}."))
        assert upkeep.clear(store).calls == 304
    assert database(folder).stat().st_size <= size
    with Store(folder) as store:
        assert upkeep.verify(store) == (0, 0, 0, (), 0, ())
        assert store.get(put(store, check())) == YES


def test_a_cache_that_is_only_read_is_not_changed(folder: Path) -> None:
    with (
        Store(folder, read_only=True) as store,
        pytest.raises(CacheError, match="open for reading only"),
    ):
        upkeep.clear(store)


def test_a_text_that_was_removed_is_written_again_when_it_is_needed(folder: Path) -> None:
    with Store(folder) as store:
        upkeep.clear(store)
        put(store, check("a"))
        assert store.stats().texts == 1


@pytest.mark.parametrize(
    ("text", "seconds"), [("90d", 90 * DAY), ("2w", 14 * DAY), ("12h", DAY / 2), ("0d", 0)]
)
def test_an_age_is_a_number_and_a_unit(text: str, seconds: float) -> None:
    assert upkeep.parse_age(text) == seconds


@pytest.mark.parametrize("text", ["90", "d", "-1d", "1.5d", "90 days", "", "9999999d", "1m"])
def test_another_age_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="accepted"):
        upkeep.parse_age(text)


def test_every_age_falls_into_a_group() -> None:
    ages = [-5, 0, DAY, DAY + 1, 7 * DAY, 30 * DAY, 90 * DAY, 91 * DAY]
    names = list(AGES)
    assert [names.index(age_group(age)) for age in ages] == [0, 0, 0, 1, 1, 2, 3, 4]
