"""A judge without a model, for tests and for trying a suite out."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ragjudge.errors import ConfigError
from ragjudge.judges.base import Identity, Judge
from ragjudge.records import Call, CallFailure, Check, Outcome, Prompt, Reply, Verdict

if TYPE_CHECKING:
    from pydantic import JsonValue

_WORD = re.compile(r"\w+")
_LEAST, _MOST = 0.02, 0.98
_SENTENCE = re.compile(r"Sentence: (.*)")
_JOINT = re.compile(r",? and |; ")


class FakeJudge(Judge):
    """Answers from a script, or from plain word overlap. Deterministic, and not a measure of anything.

    Without a script, P(positive) grows with the share of the claim's words (four letters or more, and
    numbers) that the rest of the question holds.

    Args:
        script: P(positive) in [0, 1] by claim, or None to let that claim's call fail.
        score: The score of every holistic reply, in [0, 1].
        claims: The claims of a sentence, by sentence, or None to let that sentence's call fail. A sentence
            that is not there is cut at each "and" and semicolon.
        id: The reference under which it appears in reports.

    Attributes:
        asked: Every call that reached this judge, in order.

    Raises:
        ConfigError: A probability or the score is no number from 0 to 1.
    """

    def __init__(
        self,
        script: Mapping[str, float | None] | None = None,
        *,
        score: float = 0.5,
        claims: Mapping[str, Sequence[str] | None] | None = None,
        id: str = "fake",
    ) -> None:
        super().__init__(id)
        self.script = dict(script or {})
        for claim, chance in self.script.items():
            if not (chance is None or _is_share(chance)):
                raise ConfigError(
                    f"FakeJudge: script[{claim!r}] is {chance!r}; accepted: a number from 0 to 1, or None."
                )
        if not _is_share(score):
            raise ConfigError(f"FakeJudge: score is {score!r}; accepted: a number from 0 to 1.")
        self.score = score
        self.claims = dict(claims or {})
        self.asked: list[Call] = []

    def identity(self) -> Identity:
        """Two fake judges are the same when their scripts are."""
        script: dict[str, JsonValue] = dict(self.script)
        document: dict[str, JsonValue] = {
            "kind": "fake",
            "version": 1,
            "script": script,
            "score": self.score,
        }
        if self.claims:
            document["claims"] = {
                sentence: None if claims is None else list(claims) for sentence, claims in self.claims.items()
            }
        return Identity(document)

    def ask(self, calls: Sequence[Call]) -> Iterator[tuple[int, Outcome]]:
        """Answer in order. See `Judge.ask`."""
        for index, call in enumerate(calls):
            self.asked.append(call)
            yield index, self._answer(call)

    def _answer(self, call: Call) -> Outcome:
        if isinstance(call, Prompt):
            return self._reply(call)
        chance = self.script[call.claim] if call.claim in self.script else _overlap(call)
        if chance is None:
            return CallFailure(reason="the fake judge was told to fail here")
        chance = min(max(chance, 1e-9), 1 - 1e-9)
        other = (1 - chance) / (len(call.labels) - 1)
        return Verdict(
            log_probabilities={
                label: round(math.log(chance if label == call.positive else other), 6)
                for label in call.labels
            }
        )

    def _reply(self, prompt: Prompt) -> Outcome:
        said: dict[str, JsonValue] = {"score": self.score, "reason": "A fake judge reads nothing."}
        match = _SENTENCE.match(prompt.own) if prompt.template == "claims" else None
        if match is not None:
            sentence = match[1]
            claims = self.claims[sentence] if sentence in self.claims else _cut(sentence)
            if claims is None:
                return CallFailure(reason="the fake judge was told to fail here")
            said = {"claims": list(claims)}
        reply = json.dumps(said)
        return Reply(text=reply, tokens=len(_WORD.findall(reply)))


def _is_share(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1


def _cut(sentence: str) -> list[str]:
    return [part.rstrip(".") + "." for part in _JOINT.split(sentence)]


def _overlap(check: Check) -> float:
    words = {word for word in _words(check.claim) if len(word) > 3 or word.isdigit()}
    if not words:
        return _LEAST
    rest = set(_words(check.shared)) | set(_words(check.own.replace(check.claim, " ")))
    return _LEAST + (_MOST - _LEAST) * len(words & rest) / len(words)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
