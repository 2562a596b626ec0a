"""Everything of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field, JsonValue, computed_field

from ragjudge.records.base import SCHEMA_VERSION, Record
from ragjudge.records.scores import Score

LEAST_COVERAGE = 0.9
"""Smallest share of scores that must be graded for a run to mean anything."""

_RARE = frozenset({"language", "metadata"})
"""Fields of a row that are written only when there is something in them."""


class JudgeInfo(Record):
    """A judge as a report names it.

    Attributes:
        id: The reference as the user wrote it.
        fingerprint: sha256 over everything of the judge that can change an answer.
        calibration: sha256 of the calibration that was applied; None for raw probabilities.
        uncalibrated: ``name@version`` of the templates that were asked and that the calibration does not
            have, sorted: their probabilities are raw. Empty without a calibration.
    """

    id: str
    fingerprint: str
    calibration: str | None = None
    uncalibrated: tuple[str, ...] = ()


class Usage(Record):
    """What a run cost. The only part of a report that changes from run to run.

    Attributes:
        calls_judged: Distinct calls the judge answered.
        calls_replayed: Distinct calls the cache answered.
        calls_failed: Distinct calls that nobody could answer.
        tokens_decoded: Prompt tokens that were decoded.
        tokens_minimum: Nodes of the token tries of the judged calls: no plan can decode fewer.
        tokens_generated: Tokens of generated answers.
        tokens_restored: Prompt tokens whose state was restored instead of decoded.
        judge_seconds: Time spent in the judge, loading included.
        wall_seconds: Time from start to report.
    """

    calls_judged: int = 0
    calls_replayed: int = 0
    calls_failed: int = 0
    tokens_decoded: int = 0
    tokens_minimum: int = 0
    tokens_generated: int = 0
    tokens_restored: int = 0
    judge_seconds: float = 0.0
    wall_seconds: float = 0.0


class MetricSummary(Record):
    """One metric over all rows.

    Attributes:
        mean: Mean of the scored values; None when nothing was scored.
        scored: Rows with a value.
        total: Rows that were asked for.
        passed: Rows that passed.
        failed: Rows that failed, by value or because an empty case counts as a failure.
        errors: Rows without a value because of the judge.
        disagreement: Share of the items judged by a panel on which its judges do not all say the same, in
            [0, 1]; None without such items.
    """

    mean: float | None
    scored: int
    total: int
    passed: int
    failed: int = 0
    errors: int = 0
    disagreement: float | None = None


class Row(Record):
    """One cell of a report: a sample with its scores. Holds nothing that changes from run to run.

    Graded again it is the same cell: `datasets.columns` reads its fields.

    Attributes:
        id: Name of the sample.
        provider: Name of the provider that produced the output; None for a recorded one.
        input: The question.
        output: The answer.
        contexts: The chunks.
        expected: The reference answer.
        language: What its texts were cut in: the row's own, else the one that all its metrics were told. None
            = English, or metrics that were told different ones. In JSON only when there is one.
        metadata: Whatever else the row carried, in its order; in JSON only when it carried something.
        passed: False when a score failed; True when at least one passed and none failed; else None.
        error: Why the row could not be graded at all.
        scores: By label, in the order of the suite.
    """

    id: str
    provider: str | None = None
    input: str | None = None
    output: str | None = None
    contexts: tuple[str, ...] | None = None
    expected: str | None = None
    language: str | None = None
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    passed: bool | None = None
    error: str | None = None
    scores: dict[str, Score]

    def to_json(self) -> dict[str, Any]:
        """Return the row as plain JSON data, in the order of its fields."""
        return _without_the_rare(self.model_dump(mode="json"))


class Report(Record):
    """Everything of a run; every output format is written from it.

    A run that was interrupted is `partial`: it has the rows that were complete, and those with an output
    that a provider had produced, with the scores that were there. It has not passed.

    Attributes:
        calibrations: What was applied to verdicts, by the sha256 under which `judges` name it; in JSON it
            stands after the rows.
    """

    schema_version: int = SCHEMA_VERSION
    ragjudge_version: str
    judges: tuple[JudgeInfo, ...] = ()
    usage: Usage = Usage()
    partial: bool = False
    summary: dict[str, MetricSummary]
    passed: bool
    rows: tuple[Row, ...]
    calibrations: dict[str, dict[str, JsonValue]] = Field(default_factory=dict)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def coverage(self) -> float | None:
        """Share of the asked scores that have a value or are not applicable, in [0, 1]."""
        return coverage_of(self.rows)

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain JSON data, in the order of its fields."""
        data = self.model_dump(mode="json")
        return {**data, "rows": [_without_the_rare(row) for row in data["rows"]]}


def _without_the_rare(row: dict[str, Any]) -> dict[str, Any]:
    """Leave out what few rows have: the others are written as they always were, and as short."""
    return {name: value for name, value in row.items() if value or name not in _RARE}


def coverage_of(rows: Sequence[Row]) -> float | None:
    """Return the share of scores that have a value or are not applicable, in [0, 1]; None without scores."""
    scores = [score for row in rows for score in row.scores.values()]
    if not scores:
        return None
    graded = sum(score.status in ("scored", "not_applicable") for score in scores)
    return round(graded / len(scores), 6)


def have_passed(rows: Sequence[Row]) -> bool:
    """Say whether rows pass: no score failed, and enough of them were graded to say so."""
    return is_enough(coverage_of(rows)) and all(row.passed is not False for row in rows)


def is_enough(coverage: float | None) -> bool:
    """Say whether a run of which that much was graded means anything; one without scores does."""
    return coverage is None or coverage >= LEAST_COVERAGE
