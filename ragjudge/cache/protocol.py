"""What a keeper of answers offers to whoever asks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ragjudge.judges.base import Judge
from ragjudge.records import Answer, JudgeInfo

if TYPE_CHECKING:
    from pydantic import JsonValue


class Share(NamedTuple):
    """A part of the stored calls.

    Attributes:
        calls: How many.
        bytes: The length of their rows, without the long texts that calls share.
    """

    calls: int
    bytes: int


class JudgeShare(NamedTuple):
    """The stored calls of one judge.

    Attributes:
        references: The references under which it was asked for; empty when nobody remembers.
        calls: How many calls it has answered.
        bytes: As in `Share`.
    """

    references: tuple[str, ...]
    calls: int
    bytes: int


class StoreStats(NamedTuple):
    """What a store holds.

    Attributes:
        location: Where: a folder, a file, or ``memory``.
        calls: Stored calls that can be replayed.
        texts: Long texts, each stored once.
        text_bytes: The length of their rows.
        bytes: Size of the store's files, or of its rows in memory.
        templates: Calls by ``name@version`` of their template.
        judges: Calls by the fingerprint of their judge, and every judge that is remembered.
        ages: Calls by the time since they were stored here, in the order of `rows.AGES`; empty where
            no times are kept.
        damaged: Rows that failed their digest; they count as missing.
    """

    location: str
    calls: int
    texts: int
    text_bytes: int
    bytes: int
    templates: dict[str, Share]
    judges: dict[str, JudgeShare]
    ages: dict[str, Share]
    damaged: int


class CallStore(Protocol):
    """Keeps answers by the key of their request."""

    @property
    def location(self) -> str:
        """Where it keeps them, for messages."""

    @property
    def damaged(self) -> int:
        """Rows found damaged so far; each counts as missing."""

    @property
    def write_error(self) -> str | None:
        """Why answers are kept in memory only, in one sentence; None while all are written."""

    @property
    def notices(self) -> tuple[str, ...]:
        """What had to be done to the store so that it can be used, in one sentence each."""

    def get(self, key: str) -> Answer | None:
        """Return the answer under a key, if there is one."""

    def get_many(self, keys: Iterable[str]) -> dict[str, Answer]:
        """Return the answers under those of the keys that have one."""

    def put(self, document: JsonValue, texts: Mapping[str, str], answer: Answer) -> None:
        """Keep an answer. Never raises for want of space, permission or a lock: see `write_error`.

        Args:
            document: The request, as `keys.request_of` writes it.
            texts: The long texts of the request, by hash.
            answer: The answer.
        """

    def remember_judge(self, reference: str, identity: Mapping[str, JsonValue]) -> None:
        """Remember whom a reference meant, so that a replay needs no model file."""

    def identities(self, reference: str) -> list[dict[str, JsonValue]]:
        """Return the identity documents that a reference has meant, oldest first."""

    def judges(self) -> dict[str, list[dict[str, JsonValue]]]:
        """Return the identity documents of all references."""

    def requests(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the key and the request of every stored call, in the order of the keys."""

    def text(self, name: str) -> str | None:
        """Return a long text by its hash, if it is stored."""

    def stats(self) -> StoreStats:
        """Count what is stored; reads all of it."""

    def close(self) -> None:
        """Write what could not be written before, and let go of the files."""


class CountedJudge(Judge):
    """A judge behind a store: it knows how each call was settled, and how a report names it.

    The counters count distinct calls over the life of the object.
    """

    @property
    @abstractmethod
    def calls_judged(self) -> int:
        """Distinct calls that the judge below answered."""

    @property
    @abstractmethod
    def calls_replayed(self) -> int:
        """Distinct calls that the store answered."""

    @property
    @abstractmethod
    def calls_failed(self) -> int:
        """Distinct calls that nobody could answer."""

    @property
    def members(self) -> tuple[CountedJudge, ...]:
        """The judges behind it that a report lists and counts: itself, or those of a panel."""
        return (self,)

    @property
    def seats(self) -> tuple[CountedJudge, ...]:
        """The judges of a panel, each as it is asked in our own words; empty for a single judge."""
        return ()

    def info(self) -> JudgeInfo:
        """Return the judge as a report names it."""
        return JudgeInfo(id=self.id, fingerprint=self.identity().fingerprint)

    def calibrations(self) -> dict[str, dict[str, JsonValue]]:
        """Return the calibrations that are applied to its verdicts as plain JSON data, by their sha256."""
        return {}
