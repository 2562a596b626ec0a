"""What is asked of a judge, and what it answers."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple

from pydantic import Field, model_validator

from ragjudge.records.base import Record


class ChunkSpan(NamedTuple):
    """A stretch of a chunk, in characters.

    Attributes:
        chunk: Index of the chunk among those that were asked about.
        start: Offset of the first character.
        end: Offset after the last character.
    """

    chunk: int
    start: int
    end: int


class Segment(NamedTuple):
    """Where a chunk stands in the shared part of a question, in characters.

    Attributes:
        start: Where its line begins, the number before the text included.
        text: Where the chunk's own text begins.
        text_end: Where that text ends.
        end: Where the line ends.
    """

    start: int
    text: int
    text_end: int
    end: int


class Check(Record):
    """One closed question for the judge.

    Attributes:
        template: Name of the template that asked.
        version: Version of that template.
        system: Standing instruction; the same in every template, so that it is decoded once.
        shared: The part of the question that many checks have in common (chunks, then the question).
        own: The part that is this check's alone (the claim); the answer comes right after it.
        labels: The possible answers, at least two; no two may differ by case or blanks alone.
        positive: The one of them that means "yes, it holds". Not part of the cache key.
        claim: The plain text that is judged, for reports. Not part of the cache key.
        segments: Where the chunks stand in `shared`, so that a judge can ask about a part of them when
            all are longer than its window. Empty = `shared` cannot be divided. Not part of the cache key.
        slots: The other texts that it was made from, by name, so that a judge with words of its own can be
            asked in those. Not part of the cache key.
    """

    kind: Literal["check"] = "check"
    template: str
    version: int
    system: str
    shared: str
    own: str
    labels: tuple[str, ...] = Field(min_length=2)
    positive: str
    claim: str = ""
    segments: tuple[Segment, ...] = ()
    slots: tuple[tuple[str, str], ...] = ()

    @model_validator(mode="after")
    def _can_be_answered(self) -> Check:
        if not _told_apart(self.labels):
            raise ValueError(f"the labels {self.labels} cannot be told apart")
        if self.positive not in self.labels:
            raise ValueError(f"positive is {self.positive!r}, which is none of the labels {self.labels}")
        return self


class Prompt(Record):
    """One open question, answered by text that a grammar constrains.

    Attributes:
        template: Name of the template that asked.
        version: Version of that template.
        system: Standing instruction.
        shared: The part of the question that other prompts may have in common.
        own: The part that is this prompt's alone.
        grammar: The grammar of the answer, in GBNF.
        max_tokens: Most tokens the answer may have.
        reply_schema: The same as JSON Schema, as JSON text, for judges that know no GBNF; empty = the answer
            is no JSON. Not part of the cache key.
    """

    kind: Literal["prompt"] = "prompt"
    template: str
    version: int
    system: str
    shared: str
    own: str
    grammar: str
    max_tokens: int = Field(gt=0)
    reply_schema: str = ""


Call = Check | Prompt


class WindowVerdict(Record):
    """What the judge said of one window of contexts that are longer than its window.

    Attributes:
        spans: What the window showed, of the chunks that were asked about.
        log_probabilities: As in `Verdict`.
        hidden: As in `Verdict`.
    """

    spans: tuple[ChunkSpan, ...]
    log_probabilities: dict[str, float]
    hidden: tuple[float, ...] | None = None


class Verdict(Record):
    """The judge's answer to a `Check`.

    Attributes:
        log_probabilities: For each label the natural logarithm of its probability over the whole
            vocabulary (at most 0), rounded to 6 decimals. Everything else derives from it: see
            `prompts.answers`. Of a check that was asked window by window: those of the window in which
            the positive label is likeliest, since what one window supports is supported.
        windows: What was said of each window; None when one prompt held everything.
        hidden: The model's last hidden state where the answer comes, or its coordinates along a few
            directions; None unless the judge was opened to keep them.
        served: The model that answered, by the account of the server that was asked; None when no server
            was, or it does not say.
    """

    kind: Literal["verdict"] = "verdict"
    log_probabilities: dict[str, float]
    windows: tuple[WindowVerdict, ...] | None = None
    hidden: tuple[float, ...] | None = None
    served: str | None = None


class Oversize(Record):
    """The judge's answer to a `Prompt` that is longer than its window: it was not asked, and nothing was cut.

    Attributes:
        tokens: Length of the prompt, the room for its answer included.
        window: The judge's window in tokens.
        served: As in `Verdict`.
    """

    kind: Literal["oversize"] = "oversize"
    tokens: int
    window: int
    served: str | None = None

    @property
    def problem(self) -> str:
        """Why there is no reply, without a full stop."""
        return f"the prompt has {self.tokens} tokens and the judge's window holds {self.window}"


class Unfinished(Record):
    """The judge's answer to a `Prompt` when it has not come to an end within the tokens it may have.

    It is kept: asked again, the same judge would write the same and be cut at the same place.

    Attributes:
        text: What there was of it.
        tokens: Its length in the judge's tokens.
        served: As in `Verdict`.
    """

    kind: Literal["unfinished"] = "unfinished"
    text: str
    tokens: int
    served: str | None = None

    @property
    def problem(self) -> str:
        """Why there is no reply, without a full stop."""
        return f"the reply was cut at {self.tokens} tokens"


class Reply(Record):
    """The judge's answer to a `Prompt`.

    Attributes:
        text: The generated text, complete.
        tokens: Its length in the judge's tokens.
        served: As in `Verdict`.
    """

    kind: Literal["reply"] = "reply"
    text: str
    tokens: int = 0
    served: str | None = None


class CallFailure(Record):
    """A call that could not be answered; it counts against its item alone and is never stored.

    Attributes:
        reason: One sentence for the report.
        raw: What came instead of an answer, when anything came.
    """

    kind: Literal["failure"] = "failure"
    reason: str
    raw: str | None = None

    @property
    def problem(self) -> str:
        """The reason without a full stop."""
        return self.reason.rstrip(".")


Answer = Verdict | Reply | Oversize | Unfinished
Outcome = Verdict | Reply | Oversize | Unfinished | CallFailure


@lru_cache(maxsize=64)
def _told_apart(labels: tuple[str, ...]) -> bool:
    return len({label.strip().casefold() for label in labels} - {""}) == len(labels)
