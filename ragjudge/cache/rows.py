"""What stands in a cache: named rows of JSON text, and the protocol of whatever keeps them.

    call/<sha256 of the request>     {"answer": …, "digest": …, "request": …}
    text/<sha256 of the text>        a long text of a request, once
    judge/<sha256 of the reference>  {"identities": […], "reference": "…"}
    meta/schema                      the version of all this

All JSON is canonical ASCII, so every text that Python can hold survives, lone surrogates and NUL included.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from pydantic import JsonValue, TypeAdapter, ValidationError

from ragjudge.cache.keys import key_of, text_digest
from ragjudge.judges.base import canonical_json, digest
from ragjudge.records import Answer

STORE_SCHEMA = 1
"""Version of the rows; raised when a reader would have to change."""

_ANSWER: TypeAdapter[Answer] = TypeAdapter(Answer)


class StoreStats(NamedTuple):
    """What a store holds.

    Attributes:
        location: Where: a folder, or ``memory``.
        calls: Stored calls that can be replayed.
        texts: Long texts, each stored once.
        bytes: Size of the store's files, or of its rows in memory.
        templates: Calls by ``name@version`` of their template.
        judges: Fingerprints of the judges, by the reference under which each was asked for.
        damaged: Rows that failed their digest; they count as missing.
    """

    location: str
    calls: int
    texts: int
    bytes: int
    templates: dict[str, int]
    judges: dict[str, tuple[str, ...]]
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


class RowStore(ABC):
    """A `CallStore` over anything that can keep named texts."""

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
    def damaged(self) -> int:
        """Rows found damaged so far; each counts as missing."""
        return len(self._damaged)

    @abstractmethod
    def _read(self, names: Sequence[str]) -> dict[str, str]:
        """Return the rows of these names that there are."""

    @abstractmethod
    def _scan(self, prefix: str) -> Iterator[tuple[str, str]]:
        """Yield all rows whose names begin so, in the order of the names."""

    @abstractmethod
    def _write(self, rows: dict[str, str]) -> None:
        """Keep rows, all or none; must not raise for want of space, permission or a lock."""

    @abstractmethod
    def _bytes(self) -> int:
        """Return how much space the rows take."""

    def get(self, key: str) -> Answer | None:
        """Return the answer under a key, if there is one."""
        return self.get_many([key]).get(key)

    def get_many(self, keys: Iterable[str]) -> dict[str, Answer]:
        """Return the answers under those of the keys that have one."""
        answers: dict[str, Answer] = {}
        for name, text in self._read([f"call/{key}" for key in dict.fromkeys(keys)]).items():
            entry = self._entry(name, text)
            if entry is not None:
                answers[name[5:]] = entry[1]
        return answers

    def put(self, document: JsonValue, texts: Mapping[str, str], answer: Answer) -> None:
        """Keep an answer together with the long texts of its request."""
        key = key_of(document)
        plain = answer.model_dump(mode="json")
        entry = {"request": document, "answer": plain, "digest": _entry_digest(key, plain)}
        new = [name for name in texts if name not in self._saved_texts and self._lacks_text(name)]
        self._write({f"text/{name}": canonical_json(texts[name]) for name in new} | {f"call/{key}": canonical_json(entry)})
        self._saved_texts.update(texts)

    def remember_judge(self, reference: str, identity: Mapping[str, JsonValue]) -> None:
        """Remember whom a reference meant."""
        known = self.identities(reference)
        if dict(identity) not in known:
            row = {"reference": reference, "identities": [*known, dict(identity)]}
            self._write({_judge_name(reference): canonical_json(row)})  # type: ignore[arg-type]

    def identities(self, reference: str) -> list[dict[str, JsonValue]]:
        """Return the identity documents that a reference has meant, oldest first."""
        name = _judge_name(reference)
        row = self._read([name]).get(name)
        entry = self._judge(name, row) if row is not None else None
        return entry[1] if entry else []

    def judges(self) -> dict[str, list[dict[str, JsonValue]]]:
        """Return the identity documents of all references, sorted by reference."""
        entries = [self._judge(name, text) for name, text in self._scan("judge/")]
        return dict(sorted(entry for entry in entries if entry))

    def requests(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the key and the request of every stored call, in the order of the keys."""
        for name, text in self._scan("call/"):
            entry = self._entry(name, text)
            if entry is not None:
                yield name[5:], entry[0]

    def text(self, name: str) -> str | None:
        """Return a long text by its hash, if it is stored."""
        row = f"text/{name}"
        text = _loads(self._read([row]).get(row, "null"))
        if isinstance(text, str) and text_digest(text) == name:
            return text
        if text is not None:
            self._damaged.add(row)
        return None

    def stats(self) -> StoreStats:
        """Count what is stored; reads all of it."""
        templates = Counter(_template_label(request) for _, request in self.requests())
        judges = {
            reference: tuple(digest(document) for document in documents)  # type: ignore[arg-type]
            for reference, documents in self.judges().items()
        }
        return StoreStats(
            location=self.location,
            calls=sum(templates.values()),
            texts=sum(1 for _ in self._scan("text/")),
            bytes=self._bytes(),
            templates=dict(sorted(templates.items())),
            judges=judges,
            damaged=self.damaged,
        )

    def _entry(self, name: str, text: str) -> tuple[dict[str, Any], Answer] | None:
        """Take a call's row apart; a damaged one is counted and None."""
        entry = _loads(text)
        try:
            request, plain = entry["request"], entry["answer"]
            key = key_of(request)
            if name == f"call/{key}" and entry["digest"] == _entry_digest(key, plain) and isinstance(request, dict):
                return request, _ANSWER.validate_python(plain)
        except (KeyError, TypeError, ValueError, RecursionError, ValidationError):
            pass
        self._damaged.add(name)
        return None

    def _judge(self, name: str, text: str) -> tuple[str, list[dict[str, JsonValue]]] | None:
        entry = _loads(text)
        try:
            reference, documents = entry["reference"], entry["identities"]
            if name == _judge_name(reference) and all(isinstance(document, dict) for document in documents):
                return reference, list(documents)
        except (KeyError, TypeError, AttributeError):
            pass
        self._damaged.add(name)
        return None

    def _lacks_text(self, name: str) -> bool:
        return self.text(name) is None

    def close(self) -> None:
        """Let go of what the store holds."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class MemoryStore(RowStore):
    """A store that lasts as long as the process: what ``--no-cache`` uses."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: dict[str, str] = {}

    @property
    def location(self) -> str:
        """The word ``memory``."""
        return "memory"

    def _read(self, names: Sequence[str]) -> dict[str, str]:
        return {name: self._rows[name] for name in names if name in self._rows}

    def _scan(self, prefix: str) -> Iterator[tuple[str, str]]:
        yield from sorted((name, text) for name, text in self._rows.items() if name.startswith(prefix))

    def _write(self, rows: dict[str, str]) -> None:
        self._rows.update(rows)

    def _bytes(self) -> int:
        return sum(len(name) + len(text) for name, text in self._rows.items())


def _entry_digest(key: str, answer: JsonValue) -> str:
    # The key is the digest of the request, so this covers both without hashing the request twice.
    return digest({"request": key, "answer": answer})


def _judge_name(reference: str) -> str:
    return f"judge/{text_digest(reference)}"


def _template_label(request: dict[str, Any]) -> str:
    template = request.get("template")
    return f"{template.get('name')}@{template.get('version')}" if isinstance(template, dict) else "?"


def _loads(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return ""  # no row has this value, so it fails every test of shape
