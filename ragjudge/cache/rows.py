"""A store over anything that keeps named texts; what stands in them is in `entries`."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ragjudge.cache.entries import (
    CALL,
    JUDGE,
    TEXT,
    CallEntry,
    JudgeEntry,
    call_row,
    judge_name,
    judge_row,
    read_call,
    read_judge,
    read_text,
    template_label,
    text_row,
)
from ragjudge.cache.protocol import JudgeShare, Share, StoreStats
from ragjudge.errors import CacheError
from ragjudge.judges.base import digest
from ragjudge.records import Answer

if TYPE_CHECKING:
    from pydantic import JsonValue

STORE_SCHEMA = 1
"""Version of the rows; raised when a reader would have to change. See `migrations`."""

DAY = 86_400.0
AGES: dict[str, float] = {
    "up to 1 day": DAY,
    "up to 7 days": 7 * DAY,
    "up to 30 days": 30 * DAY,
    "up to 90 days": 90 * DAY,
    "older": float("inf"),
}
"""Groups of ages, by their largest age in seconds."""

_Self = TypeVar("_Self", bound="RowStore")


class StoredRow(NamedTuple):
    """A row as it stands in the store, not verified.

    Attributes:
        name: Its name.
        text: Its text.
        stored: When it was written here, in seconds since 1970; None when that is not kept.
    """

    name: str
    text: str
    stored: float | None


class StoredCall(NamedTuple):
    """A stored call that verifies, with what is known about its row."""

    key: str
    entry: CallEntry
    bytes: int
    stored: float | None


class RowStore(ABC):
    """A `protocol.CallStore` over anything that can keep named texts."""

    def __init__(self) -> None:
        self._damaged: set[str] = set()
        self._saved_texts: set[str] = set()

    @property
    @abstractmethod
    def location(self) -> str:
        """Where the rows are, for messages."""

    @property
    def write_error(self) -> str | None:
        """Why rows are kept in memory only; None while all are written."""
        return None

    @property
    def notices(self) -> tuple[str, ...]:
        """What had to be done to the store so that it can be used."""
        return ()

    @property
    def damaged(self) -> int:
        """Rows found damaged so far; each counts as missing."""
        return len(self._damaged)

    @property
    def damaged_names(self) -> tuple[str, ...]:
        """The names of those rows, sorted."""
        return tuple(sorted(self._damaged))

    @abstractmethod
    def _read(self, names: Sequence[str]) -> dict[str, str]:
        """Return the rows of these names that there are."""

    @abstractmethod
    def _scan(self, prefix: str) -> Iterator[StoredRow]:
        """Yield all rows whose names begin so, in the order of the names."""

    @abstractmethod
    def _write(self, rows: Mapping[str, str]) -> None:
        """Keep rows, all or none; must not raise for want of space, permission or a lock."""

    @abstractmethod
    def _bytes(self) -> int:
        """Return how much space the rows take."""

    # -- answers -----------------------------------------------------------------------------------

    def get(self, key: str) -> Answer | None:
        """Return the answer under a key, if there is one."""
        return self.get_many([key]).get(key)

    def get_many(self, keys: Iterable[str]) -> dict[str, Answer]:
        """Return the answers under those of the keys that have one.

        Args:
            keys: Those of requests as `keys.request_of` writes them.
        """
        answers: dict[str, Answer] = {}
        for name, text in self._read([f"{CALL}{key}" for key in dict.fromkeys(keys)]).items():
            entry = self._call(name, text, asked=True)
            if entry is not None:
                answers[name[len(CALL) :]] = entry.answer
        return answers

    def put(self, document: JsonValue, texts: Mapping[str, str], answer: Answer) -> None:
        """Keep an answer together with the long texts of its request."""
        new = [name for name in texts if name not in self._saved_texts and self._lacks_text(name)]
        rows = dict(text_row(texts[name]) for name in new)
        name, text = call_row(document, answer)
        self._write({**rows, name: text})
        self._saved_texts.update(texts)

    def calls(self) -> Iterator[StoredCall]:
        """Yield every stored call that verifies, in the order of the keys."""
        for row in self._scan(CALL):
            entry = self._call(row.name, row.text)
            if entry is not None:
                yield StoredCall(row.name[len(CALL) :], entry, len(row.text), row.stored)

    def requests(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the key and the request of every stored call, in the order of the keys."""
        for call in self.calls():
            yield call.key, call.entry.request

    def text(self, name: str) -> str | None:
        """Return a long text by its hash, if it is stored."""
        row = f"{TEXT}{name}"
        found = self._read([row]).get(row)
        return None if found is None else self._text(row, found)

    # -- judges ------------------------------------------------------------------------------------

    def remember_judge(self, reference: str, identity: Mapping[str, JsonValue]) -> None:
        """Remember whom a reference meant."""
        known = self.identities(reference)
        if dict(identity) not in known:
            self._write(dict([judge_row(reference, [*known, identity])]))

    def identities(self, reference: str) -> list[dict[str, JsonValue]]:
        """Return the identity documents that a reference has meant, oldest first."""
        name = judge_name(reference)
        row = self._read([name]).get(name)
        entry = self._judge(name, row) if row is not None else None
        return entry.identities if entry else []

    def judges(self) -> dict[str, list[dict[str, JsonValue]]]:
        """Return the identity documents of all references, sorted by reference."""
        entries = [self._judge(row.name, row.text) for row in self._scan(JUDGE)]
        return dict(sorted((entry for entry in entries if entry), key=lambda entry: entry[0]))

    # -- the whole ---------------------------------------------------------------------------------

    def rows(self, names: Iterable[str] | None = None) -> Iterator[tuple[str, str]]:
        """Yield name and text of rows that verify, in the order of the names.

        Args:
            names: Only those that are stored among these; None = all calls, judges and texts.
        """
        if names is None:
            stored: Iterable[tuple[str, str]] = (
                (row.name, row.text) for prefix in (CALL, JUDGE, TEXT) for row in self._scan(prefix)
            )
        else:
            stored = sorted(self._read(list(names)).items())
        for name, text in stored:
            reader: Any = {CALL: self._call, JUDGE: self._judge, TEXT: self._text}.get(
                name[: name.find("/") + 1]
            )
            if reader is not None and reader(name, text) is not None:
                yield name, text

    def names(self, prefix: str) -> Iterator[str]:
        """Yield the names of all rows that begin so, whole or damaged, in their order."""
        for row in self._scan(prefix):
            yield row.name

    def times(self, keys: Sequence[str]) -> dict[str, float]:
        """Return when calls were stored here, in seconds since 1970, where that is kept."""
        return {}

    def write_rows(self, rows: Mapping[str, str]) -> None:
        """Write rows that `rows` has verified, all or none; see `write_error`."""
        self._write(rows)

    def stats(self) -> StoreStats:
        """Count what is stored; reads all of it."""
        now = time.time()
        count, templates, ages = 0, dict[str, Share](), dict[str, Share]()
        by_judge: dict[str, Share] = {}
        for call in self.calls():
            count += 1
            _add(templates, template_label(call.entry.request), call.bytes)
            _add(by_judge, call.entry.request["judge"], call.bytes)
            if call.stored is not None:
                _add(ages, age_group(now - call.stored), call.bytes)
        texts = [len(row.text) for row in self._scan(TEXT)]
        return StoreStats(
            location=self.location,
            calls=count,
            texts=len(texts),
            text_bytes=sum(texts),
            bytes=self._bytes(),
            templates=dict(sorted(templates.items())),
            judges=self._judge_shares(by_judge),
            ages={name: ages[name] for name in AGES if name in ages},
            damaged=self.damaged,
        )

    def _judge_shares(self, shares: Mapping[str, Share]) -> dict[str, JudgeShare]:
        references: dict[str, list[str]] = {fingerprint: [] for fingerprint in shares}
        for reference, documents in self.judges().items():
            for document in documents:
                references.setdefault(digest(document), []).append(reference)
        none = Share(0, 0)
        return {
            fingerprint: JudgeShare(tuple(names), *shares.get(fingerprint, none))
            for fingerprint, names in sorted(references.items(), key=lambda entry: (entry[1], entry[0]))
        }

    # -- rows --------------------------------------------------------------------------------------

    def _call(self, name: str, text: str, *, asked: bool = False) -> CallEntry | None:
        entry = read_call(name, text, asked=asked)
        if entry is None:
            self._damaged.add(name)
        return entry

    def _judge(self, name: str, text: str) -> JudgeEntry | None:
        entry = read_judge(name, text)
        if entry is None:
            self._damaged.add(name)
        return entry

    def _text(self, name: str, text: str) -> str | None:
        found = read_text(name, text)
        if found is None:
            self._damaged.add(name)
        return found

    def _lacks_text(self, name: str) -> bool:
        try:
            return self.text(name) is None
        except CacheError:  # an unreadable row is written anew
            return True

    def close(self) -> None:  # noqa: B027 - a store without files holds nothing
        """Let go of what the store holds."""

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def age_group(seconds: float) -> str:
    """Return the group of `AGES` that an age falls into; one that a clock set back makes negative is 0."""
    return next(name for name, most in AGES.items() if seconds <= most)


def _add(shares: dict[str, Share], name: str, size: int) -> None:
    known = shares.get(name, Share(0, 0))
    shares[name] = Share(known.calls + 1, known.bytes + size)
