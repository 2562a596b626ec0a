"""What is graded: one row of data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field, JsonValue, field_validator

from ragjudge.records.base import Record

FIELDS = ("input", "output", "contexts", "expected")
"""The texts of a sample: what metrics can need."""


class Sample(Record):
    """One row to grade.

    A field that is None was not given; an empty string or an empty tuple of contexts was given and is
    empty. The two differ: a missing field is bad data, an empty one is a case to be graded as such.

    Attributes:
        id: Name of the row, unique within a run, or among the recorded outputs of one provider.
        input: The question.
        output: The answer of the system under test.
        contexts: The retrieved chunks, in rank order.
        expected: The reference answer.
        language: What its texts are written in; None = what the metric is told.
        provider: Name of the provider that produced the output; None for a recorded one, unless it is from
            the report of another run.
        error: Why it has no output, or none to be graded, as the report of another run says; it fails again.
        metadata: Whatever else the row carried; never shown to a judge.
    """

    id: str
    input: str | None = None
    output: str | None = None
    contexts: tuple[str, ...] | None = None
    expected: str | None = None
    language: str | None = None
    provider: str | None = None
    error: str | None = None
    metadata: dict[str, JsonValue] = Field(default_factory=dict)

    @field_validator("contexts", mode="before")
    @classmethod
    def _has_ranks(cls, contexts: Any) -> Any:
        if contexts is not None and not isinstance(contexts, Sequence):
            raise ValueError("accepted: a list or tuple of texts, in rank order")
        return contexts
