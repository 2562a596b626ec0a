"""The judge protocol: who it is, what it answers, what it cost."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, final

from ragjudge.records import Answer, Call, Outcome

if TYPE_CHECKING:
    from pydantic import JsonValue

    from ragjudge.prompts.profile import Profile


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def canonical_json(value: JsonValue) -> str:
    """Return the one JSON text of a value: sorted keys, no spaces, ASCII only.

    ASCII escapes keep lone surrogates representable, so that any text that Python can hold has a digest.
    """
    return _CANONICAL.encode(value)


def digest(value: JsonValue) -> str:
    """Return the sha256 of a value's canonical JSON as 64 hexadecimal digits."""
    return hashlib.sha256(canonical_json(value).encode("ascii")).hexdigest()


@final
@dataclass(frozen=True)
class Identity:
    """Everything of a judge that can change one of its answers.

    Attributes:
        document: Plain JSON data, e.g. ``{"kind": "llama", "model": "<sha256>", "window": 8192, …}``.
    """

    document: Mapping[str, JsonValue]

    @property
    def fingerprint(self) -> str:
        """The sha256 of the document: part of every cache key."""
        return digest(dict(self.document))


@dataclass
class JudgeUsage:
    """What a judge has cost so far. Fields as in `records.Usage`."""

    tokens_decoded: int = 0
    tokens_minimum: int = 0
    tokens_generated: int = 0
    tokens_restored: int = 0
    judge_seconds: float = field(default=0.0)


class Judge(ABC):
    """Answers calls. Subclass it to bring a judge of your own.

    Attributes:
        id: The reference by which the user asked for it: a model name, a path, ``fake``.
        usage: Counters, updated while calls are answered.
    """

    def __init__(self, id: str) -> None:
        self.id = id
        self.usage = JudgeUsage()

    @property
    def profile(self) -> Profile | None:
        """How it wants to be asked; None = in the words of our templates."""
        return None

    @abstractmethod
    def identity(self) -> Identity:
        """Say who this judge is, without opening a model where that can be avoided.

        Raises:
            JudgeUnavailableError: It can not be told, e.g. because the model file is not here.
        """

    @abstractmethod
    def ask(self, calls: Sequence[Call]) -> Iterator[tuple[int, Outcome]]:
        """Answer calls, in whatever order is cheapest.

        All calls are known at once, so that a judge can share work between them. An answer must not
        depend on which other calls stand beside it.

        Args:
            calls: Distinct calls.

        Yields:
            ``(index into calls, outcome)``, each index exactly once, as soon as it is known. A call that
            fails by itself is a `CallFailure`; so is, for the caller, what is no answer to its call.

        Raises:
            JudgeUnavailableError: No call at all can be answered.
            PromptTooLongError: A prompt does not fit the window; raised before anything is decoded.
        """

    def recognises(self, document: Mapping[str, JsonValue]) -> bool:
        """Say whether the identity under which this reference was met before can still be this judge's.

        Asked when `identity` cannot be told, so that a replay needs no model file. A judge with settings
        in its identity answers False when the document has other settings.
        """
        return True

    def confirms(self, answer: Answer) -> bool:
        """Say whether an answer that was stored under this judge's identity is one that it could give now.

        A judge whose identity says everything about it answers True. One that learns more while it is asked
        (`Verdict.served`) answers by what it knows; it asks nobody for it.
        """
        return True

    def close(self) -> None:  # noqa: B027 - most judges hold nothing
        """Free what the judge holds. It may be asked again; it then opens again."""

    def __enter__(self) -> Judge:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
