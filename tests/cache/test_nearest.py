from __future__ import annotations

import pytest

from ragjudge.cache import nearest
from ragjudge.cache.keys import request_of
from ragjudge.cache.memory import MemoryStore
from ragjudge.cache.nearest import NOTHING, explain
from ragjudge.judges.base import Identity
from ragjudge.records import Call, Reply
from tests.cache.helpers import JUDGE, LONG, check, prompt, put


@pytest.fixture
def store() -> MemoryStore:
    store = MemoryStore()
    for number in range(3):
        put(store, check(f"Claim {number} is one of several."))
    put(store, check())
    put(store, prompt(), Reply(text="{}"))
    return store


def why(store: MemoryStore, call: Call, judge: Identity = JUDGE) -> str:
    (clause,) = explain([request_of(call, judge.fingerprint)], store)
    return clause


def test_another_judge_is_named_by_the_fields_in_which_it_differs(store: MemoryStore) -> None:
    other = Identity({"kind": "fake", "seed": 8})
    store.remember_judge("fake", JUDGE.document)
    store.remember_judge("fake:8", other.document)
    assert why(store, check(), other) == "the judge differs: seed 7 is stored, 8 is asked"


def test_a_judge_that_nobody_remembers_is_named_by_its_fingerprint(store: MemoryStore) -> None:
    other = Identity({"kind": "fake", "seed": 8})
    clause = why(store, check(), other)
    assert JUDGE.fingerprint[:12] in clause
    assert other.fingerprint[:12] in clause


def test_another_template_version_is_named(store: MemoryStore) -> None:
    assert why(store, check(version=2)) == "the template's version differs: 1 is stored, 2 is asked"


def test_another_template_is_named(store: MemoryStore) -> None:
    assert (
        why(store, check(template="cover")) == "the template differs: 'support' is stored, 'cover' is asked"
    )


def test_changed_context_is_shown_around_its_first_difference(store: MemoryStore) -> None:
    changed = LONG.replace("Black Forest", "Bavarian Forest", 1)
    assert why(store, check(shared=changed)) == (
        "the context or question differs from character 26 on: "
        "…'anube rises in the Black Forest and ends'… is stored, "
        "…'anube rises in the Bavarian Forest and e'… is asked"
    )


def test_a_changed_claim_is_compared_with_the_one_most_like_it(store: MemoryStore) -> None:
    clause = why(store, check("Claim 1 is one of many."))
    assert clause.startswith("the claim differs from character 19 on: 'Claim 1 is one of several.' is stored")


def test_other_labels_grammar_and_length_are_named(store: MemoryStore) -> None:
    assert why(store, check(labels=("A", "B"), positive="A")) == (
        "the set of labels differs: ['yes', 'no'] is stored, ['A', 'B'] is asked"
    )
    assert "the grammar differs" in why(store, prompt(grammar='root ::= "[]"'))
    assert why(store, prompt(max_tokens=65)) == "the answer's length differs: 64 is stored, 65 is asked"


def test_several_differences_are_all_named(store: MemoryStore) -> None:
    clause = why(store, check(version=2, system="Say yes or no."))
    assert "the template's version differs" in clause
    assert "the standing instruction differs" in clause


def test_nothing_alike_is_said_to_be_so(store: MemoryStore) -> None:
    assert why(store, check("Who?", shared="Something else.")) == NOTHING
    assert why(MemoryStore(), check()) == NOTHING


def test_control_characters_of_foreign_texts_are_escaped(store: MemoryStore) -> None:
    put(store, check("\x1b[31mred\ud800", shared="c"))
    clause = why(store, check("\x1b[32mred\ud800", shared="c"))
    assert clause.isprintable()
    assert "\\x1b" in clause


def test_a_stored_text_that_was_lost_leaves_a_plain_clause(store: MemoryStore) -> None:
    store._rows = {name: row for name, row in store._rows.items() if not name.startswith("text/")}
    assert why(store, check(shared=LONG + "x")) == "the context or question differs"


def test_only_so_many_stored_calls_are_looked_at(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "_MOST_REQUESTS", 0)
    assert why(store, check(version=2)) == NOTHING


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("", "", 0),
        ("a", "", 0),
        ("abc", "abd", 2),
        ("abc", "abc", 3),
        ("abc", "abcd", 3),
        ("x" * 1000, "x" * 999 + "y", 999),
    ],
)
def test_the_common_beginning_is_found_by_halving(one: str, other: str, expected: int) -> None:
    assert nearest._common_prefix(one, other) == expected
