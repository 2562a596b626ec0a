"""Rows of a bundle or another cache taken into a cache; what is there already stays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from ragjudge.cache.calibrations import CALIBRATION
from ragjudge.cache.entries import CALL, JUDGE, read_call, read_judge, template_label
from ragjudge.cache.rows import RowStore
from ragjudge.records import Answer

_BATCH = 500


class Conflict(NamedTuple):
    """A call to which two answers are known.

    Attributes:
        key: Its key.
        template: ``name@version`` of its template.
        kept: The answer that was there, and stays.
        refused: The other one.
    """

    key: str
    template: str
    kept: Answer
    refused: Answer


class Merged(NamedTuple):
    """What a merge did.

    Attributes:
        added: Calls that are new.
        known: Calls that were there with the same answer.
        conflicts: Calls that were there with another answer.
        judges: References that now mean more than one judge, because both sides knew them differently.
    """

    added: int
    known: int
    conflicts: tuple[Conflict, ...]
    judges: tuple[str, ...]


def merge(store: RowStore, rows: Iterable[tuple[str, str]]) -> Merged:
    """Take rows into a store.

    Args:
        store: Where they go; its `write_error` says whether they could be written.
        rows: Rows that verify. Calibrations among them are left out: what a store keeps is raw.

    Raises:
        CacheError: The store can not be read.
    """
    added = known = 0
    conflicts: list[Conflict] = []
    ambiguous: list[str] = []
    for batch in _batches(rows):
        new: dict[str, str] = {}
        stored = dict(store.rows([name for name, _ in batch]))
        for name, text in batch:
            if name.startswith(JUDGE):
                ambiguous += _merge_judge(store, name, text)
            elif name.startswith(CALIBRATION):
                continue
            elif name not in stored:
                new[name] = text
                added += name.startswith(CALL)
            elif name.startswith(CALL):
                conflict = _conflict(name, stored[name], text)
                known += conflict is None
                conflicts += [conflict] if conflict else []
        if new:
            store.write_rows(new)
    return Merged(added, known, tuple(conflicts), tuple(sorted(ambiguous)))


def _merge_judge(store: RowStore, name: str, text: str) -> list[str]:
    """Add what a reference means elsewhere; return it when it was known, and not so."""
    judge = read_judge(name, text)
    if judge is None:
        return []
    before = store.identities(judge.reference)
    for document in judge.identities:
        store.remember_judge(judge.reference, document)
    news = [document for document in judge.identities if document not in before]
    return [judge.reference] if before and news else []


def _conflict(name: str, stored: str, offered: str) -> Conflict | None:
    mine, other = read_call(name, stored), read_call(name, offered)
    if mine is None or other is None or mine.answer == other.answer:
        return None
    return Conflict(name[len(CALL) :], template_label(mine.request), mine.answer, other.answer)


def _batches(rows: Iterable[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    rest = iter(rows)
    while batch := list(islice(rest, _BATCH)):
        yield batch
