from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragjudge.cache.database import FILE_NAME
from ragjudge.cache.keys import key_of, request_of
from ragjudge.judges.base import Identity, Judge
from ragjudge.records import Call, Check, Outcome, Prompt, Reply, Verdict

if TYPE_CHECKING:
    from ragjudge.cache.protocol import CallStore

JUDGE = Identity({"kind": "fake", "seed": 7})
YES = Verdict(log_probabilities={"yes": -0.105361, "no": -2.302585})
LONG = "The Danube rises in the Black Forest and ends in the Black Sea. " * 5


def check(own: str = "The Danube ends in the Black Sea.", **changes: Any) -> Check:
    fields: dict[str, Any] = {
        "template": "support",
        "version": 1,
        "system": "Answer with one word.",
        "shared": LONG,
        "own": own,
        "labels": ("yes", "no"),
        "positive": "yes",
        "claim": own,
    }
    return Check(**{**fields, **changes})


def prompt(**changes: Any) -> Prompt:
    fields: dict[str, Any] = {
        "template": "holistic",
        "version": 2,
        "system": "Answer in JSON.",
        "shared": LONG,
        "own": "Grade it.",
        "grammar": 'root ::= "{}"',
        "max_tokens": 64,
    }
    return Prompt(**{**fields, **changes})


def key(call: Call, judge: Identity = JUDGE) -> str:
    return key_of(request_of(call, judge.fingerprint)[0])


def put(store: CallStore, call: Call, answer: Verdict | Reply = YES, judge: Identity = JUDGE) -> str:
    document, texts = request_of(call, judge.fingerprint)
    store.put(document, texts, answer)
    return key_of(document)


def database(directory: Path) -> Path:
    return directory / FILE_NAME


class CountingJudge(Judge):
    """Answers every call and remembers what it was asked; `outcomes` overrides answers by their own part."""

    def __init__(self, outcomes: dict[str, Outcome] | None = None, break_after: int | None = None) -> None:
        super().__init__("counting")
        self.asked: list[str] = []
        self.closed = False
        self.stream_closed = False
        self._outcomes = outcomes or {}
        self._break_after = break_after

    def identity(self) -> Identity:
        return JUDGE

    def ask(self, calls: Sequence[Call]) -> Iterator[tuple[int, Outcome]]:
        try:
            # Backwards, since a judge may answer in any order.
            for done, index in enumerate(reversed(range(len(calls)))):
                if done == self._break_after:
                    raise RuntimeError("the judge broke down")
                call = calls[index]
                self.asked.append(call.own)
                default = YES if isinstance(call, Check) else Reply(text="{}", tokens=2)
                yield index, self._outcomes.get(call.own, default)
        finally:
            self.stream_closed = True

    def close(self) -> None:
        self.closed = True
