"""Looking after a cache: verifying every row, removing what is no longer wanted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ragjudge.cache.entries import CALL, JUDGE, META, TEXT, judge_name
from ragjudge.cache.keys import text_names
from ragjudge.cache.rows import DAY, RowStore, StoredCall
from ragjudge.cache.store import Store
from ragjudge.errors import UnknownNameError, UsageError
from ragjudge.judges.base import digest

_UNITS = {"h": DAY / 24, "d": DAY, "w": 7 * DAY}
_AGE = re.compile(r"(\d{1,5})([hdw])")
_SHORTEST_FINGERPRINT = 8


class Findings(NamedTuple):
    """What `verify` found.

    Attributes:
        calls: Calls whose key and digest were computed again and agree.
        texts: Long texts whose hash agrees.
        judges: References that are remembered.
        damaged: Names of the rows that do not verify, sorted.
        lost_texts: Long texts that a call names and that are not there; needed only to explain misses.
        file: What SQLite finds wrong with the file.
    """

    calls: int
    texts: int
    judges: int
    damaged: tuple[str, ...]
    lost_texts: int
    file: tuple[str, ...]


class Removal(NamedTuple):
    """What is, or would be, removed.

    Attributes:
        calls: Calls.
        texts: Long texts that no remaining call names.
        total: Calls before.
    """

    calls: int
    texts: int
    total: int


def verify(store: RowStore) -> Findings:
    """Compute every key and digest again.

    Raises:
        CacheError: The store can not be read, or holds what ragjudge does not write.
    """
    counts = {CALL: 0, JUDGE: 0, TEXT: 0}
    texts: set[str] = set()
    for name, _ in store.rows():
        kind = name[: name.find("/") + 1]
        counts[kind] += 1
        if kind == TEXT:
            texts.add(name[len(TEXT) :])
    named: set[str] = set()
    for _, request in store.requests():
        named |= text_names(request)
    problems = tuple(store.problems()) if isinstance(store, Store) else ()
    return Findings(
        counts[CALL], counts[TEXT], counts[JUDGE], store.damaged_names, len(named - texts), problems
    )


def repair(store: Store) -> None:
    """Delete the rows that do not verify; they are judged or written anew when they are needed.

    Raises:
        CacheError: The store can not be written.
    """
    with store.changing() as cache:
        cache.remove_rows(store.damaged_names)


def select(
    store: RowStore, *, older_than: float | None = None, fingerprints: Iterable[str] | None = None, now: float
) -> Callable[[StoredCall], bool]:
    """Return the test for calls that are to go: all conditions that are given must hold.

    Args:
        store: The store.
        older_than: Seconds since the call was stored here, at least. A call from the future is young.
        fingerprints: Of the judges whose calls go.
        now: The time, in seconds since 1970.
    """
    wanted = None if fingerprints is None else set(fingerprints)

    def goes(call: StoredCall) -> bool:
        if wanted is not None and call.entry.request["judge"] not in wanted:
            return False
        if older_than is None:
            return True
        return call.stored is not None and now - call.stored >= older_than

    return goes


def plan_removal(store: RowStore, goes: Callable[[StoredCall], bool]) -> tuple[list[str], Removal]:
    """Return the names of the rows that would be removed, and their count."""
    calls: list[str] = []
    kept_texts: set[str] = set()
    total = 0
    for call in store.calls():
        total += 1
        if goes(call):
            calls.append(f"{CALL}{call.key}")
        else:
            kept_texts |= text_names(call.entry.request)
    texts = [name for name in store.names(TEXT) if name[len(TEXT) :] not in kept_texts]
    return [*calls, *texts], Removal(len(calls), len(texts), total)


def remove(store: Store, goes: Callable[[StoredCall], bool], references: Iterable[str] = ()) -> Removal:
    """Remove calls, the texts that no other call names, and what references mean.

    Raises:
        CacheError: The store can not be written; nothing was removed.
    """
    with store.changing() as cache:
        # While the lock is held nobody can add a call that names one of the texts.
        names, removal = plan_removal(store, goes)
        cache.remove_rows([*names, *map(judge_name, references)])
    store.compact()
    return removal


def clear(store: Store) -> Removal:
    """Remove everything.

    Raises:
        CacheError: The store can not be written; nothing was removed.
    """
    with store.changing() as cache:
        names = [name for name in cache.names() if not name.startswith(META)]
        cache.remove_rows(names)
    store.compact()
    calls = sum(name.startswith(CALL) for name in names)
    return Removal(calls, sum(name.startswith(TEXT) for name in names), calls)


def judge_fingerprints(store: RowStore, name: str) -> dict[str, tuple[str, ...]]:
    """Return the fingerprints that a judge's name means in a store, each with all its references.

    Args:
        store: The store.
        name: A reference, or the beginning of a fingerprint (8 digits or more).

    Raises:
        UnknownNameError: Nothing of the kind is stored.
    """
    judges = store.judges()
    references: dict[str, list[str]] = {}
    for reference, documents in judges.items():
        for document in documents:
            references.setdefault(digest(document), []).append(reference)
    if name in judges:
        found: Iterator[str] = (digest(document) for document in judges[name])
    else:
        answered = {request["judge"] for _, request in store.requests()}
        long_enough = len(name) >= _SHORTEST_FINGERPRINT
        known = sorted({*references, *answered}) if long_enough else []
        found = (fingerprint for fingerprint in known if fingerprint.startswith(name))
    fingerprints = {fingerprint: tuple(references.get(fingerprint, ())) for fingerprint in found}
    if not fingerprints:
        raise UnknownNameError("judge", name, judges, where=f"the cache at {store.location}")
    return fingerprints


def parse_age(text: str) -> float:
    """Return an age such as ``90d`` in seconds.

    Raises:
        UsageError: It is none.
    """
    match = _AGE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"the age {text!r} is not known; accepted: a number and h, d or w, e.g. 90d.")
    return int(match[1]) * _UNITS[match[2]]
