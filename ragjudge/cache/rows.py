"""What stands in a cache: named rows of JSON text.

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
from typing import Annotated, Any, TypeVar

from pydantic import Field, JsonValue, TypeAdapter, ValidationError

from ragjudge.cache.keys import key_of, text_digest
from ragjudge.cache.protocol import StoreStats
from ragjudge.errors import CacheError
from ragjudge.judges.base import canonical_json, digest
from ragjudge.records import Answer

STORE_SCHEMA = 1
"""Version of the rows; raised when a reader would have to change."""

_ANSWER: TypeAdapter[Answer] = TypeAdapter(Annotated[Answer, Field(discriminator="kind")])


_Self = TypeVar("_Self", bound="RowStore")


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
        rows = {f"text/{name}": canonical_json(texts[name]) for name in new}
        rows[f"call/{key}"] = canonical_json(entry)
        self._write(rows)
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
        return dict(sorted((entry for entry in entries if entry), key=lambda entry: entry[0]))

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
            reference: tuple(digest(document) for document in documents)
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
            whole = name == f"call/{key}" and entry["digest"] == _entry_digest(key, plain)
            if whole and (request["kind"] == "check") == (plain["kind"] == "verdict"):
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
