from __future__ import annotations

from pathlib import Path

from ragjudge.cache.memory import MemoryStore
from ragjudge.cache.merging import Conflict, merge
from ragjudge.cache.store import Store
from ragjudge.records import Verdict
from tests.cache.helpers import JUDGE, YES, check, key, put

NO = Verdict(log_probabilities={"yes": -3.0, "no": -0.05})


def test_what_is_new_is_added_and_what_is_there_is_counted() -> None:
    one, other = MemoryStore(), MemoryStore()
    put(one, check("a"))
    put(other, check("a"))
    put(other, check("b"))
    other.remember_judge("fake", JUDGE.document)
    assert merge(one, other.rows()) == (1, 1, (), ())
    assert one.get(key(check("b"))) == YES
    assert one.judges() == {"fake": [dict(JUDGE.document)]}
    assert one.stats().texts == 1
    assert merge(one, other.rows()) == (0, 2, (), ())


def test_of_two_answers_to_one_call_the_one_that_is_there_stays_and_both_are_named() -> None:
    one, other = MemoryStore(), MemoryStore()
    put(one, check("a"))
    put(other, check("a"), NO)
    merged = merge(one, other.rows())
    assert merged.conflicts == (Conflict(key(check("a")), "support@1", YES, NO),)
    assert one.get(key(check("a"))) == YES


def test_a_damaged_row_is_replaced_by_a_whole_one() -> None:
    one, other = MemoryStore(), MemoryStore()
    put(one, check("a"))
    put(other, check("a"))
    one._rows[f"call/{key(check('a'))}"] = "{}"
    assert merge(one, other.rows()).added == 1
    assert one.get(key(check("a"))) == YES


def test_a_name_that_means_another_judge_elsewhere_is_named() -> None:
    one, other = MemoryStore(), MemoryStore()
    one.remember_judge("models/j.gguf", {"model": "a"})
    one.remember_judge("same", {"model": "a"})
    other.remember_judge("models/j.gguf", {"model": "b"})
    other.remember_judge("same", {"model": "a"})
    assert merge(one, other.rows()).judges == ("models/j.gguf",)
    assert one.identities("models/j.gguf") == [{"model": "a"}, {"model": "b"}]


def test_a_thousand_rows_go_from_one_cache_into_another(tmp_path: Path) -> None:
    with Store(tmp_path / "one") as one, Store(tmp_path / "other") as other:
        for number in range(1_100):
            put(other, check(f"Claim {number}."))
        assert merge(one, other.rows()).added == 1_100
        assert one.stats().calls == 1_100
