"""The records that travel between the layers: samples in, calls and answers between, a report out.

All are frozen pydantic models that refuse unknown fields, so a misspelt key is an error and never a
silently ignored one. Only what is stored or reported lives here; working state lives with its layer.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, JsonValue, computed_field

SCHEMA_VERSION = 1
"""Version of the report and of the stored calls; raised when a reader would have to change."""

Status = Literal["scored", "not_applicable", "judge_error", "skipped"]
Mode = Literal["decomposed", "holistic"]
OnEmpty = Literal["skip", "fail"]


class Record(BaseModel):
    """Base of all records: frozen, and closed to unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Sample(Record):
    """One row to grade.

    A field that is None was not given; an empty string or an empty tuple of contexts was given and is
    empty. The two differ: a missing field is bad data, an empty one is a case to be graded as such.

    Attributes:
        id: Name of the row, unique within a run.
        input: The question.
        output: The answer of the system under test.
        contexts: The retrieved chunks, in rank order.
        expected: The reference answer.
        language: What its texts are written in; None = what the metric is told.
        metadata: Whatever else the row carried; never shown to a judge.
    """

    id: str
    input: str | None = None
    output: str | None = None
    contexts: tuple[str, ...] | None = None
    expected: str | None = None
    language: str | None = None
    metadata: dict[str, JsonValue] = Field(default_factory=dict)


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
        labels: The possible answers, at least two.
        positive: The label that means "yes, it holds". Not part of the cache key.
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
    """

    spans: tuple[ChunkSpan, ...]
    log_probabilities: dict[str, float]


class Verdict(Record):
    """The judge's answer to a `Check`.

    Attributes:
        log_probabilities: For each label the natural logarithm of its probability over the whole
            vocabulary (at most 0), rounded to 6 decimals. Everything else derives from it: see
            `prompts.answers`. Of a check that was asked window by window: those of the window in which
            the positive label is likeliest, since what one window supports is supported.
        windows: What was said of each window; None when one prompt held everything.
        served: The model that answered, by the account of the server that was asked; None when no server
            was, or it does not say.
    """

    kind: Literal["verdict"] = "verdict"
    log_probabilities: dict[str, float]
    windows: tuple[WindowVerdict, ...] | None = None
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


Answer = Verdict | Reply | Oversize
Outcome = Verdict | Reply | Oversize | CallFailure


class Item(Record):
    """One judged piece of a score: a claim, a sentence or a chunk.

    Attributes:
        text: The piece, exactly as it stands in its source.
        start: Offset of its first character in the source (the output, the expected answer, or the
            chunk named by `chunk`).
        end: Offset after its last character.
        verdict: Whether it holds; None when its call failed.
        probability: P(positive label) in [0, 1]; None when its call failed.
        label_mass: The labels' share of the whole distribution in [0, 1]; low = it would use other words.
        chunk: Index of the chunk it belongs to or is best covered by.
        chunk_by: How `chunk` was found: by word overlap, or asked of the judge.
        windows: In how many windows the contexts were shown; None when one prompt held them all.
        window: Which of them decided, from 0.
        marginal: True when it is so close to the decision threshold that another machine could turn it.
        error: Why the call failed.
    """

    text: str
    start: int
    end: int
    verdict: bool | None
    probability: float | None
    label_mass: float | None
    chunk: int | None = None
    chunk_by: Literal["lexical", "judge"] | None = None
    windows: int | None = None
    window: int | None = None
    marginal: bool = False
    error: str | None = None


class Score(Record):
    """What one metric says about one sample.

    Attributes:
        metric: Name of the metric.
        by: Variant of the metric, where it has any (context precision: ``chunks`` or ``claims``).
        value: The score in [0, 1], or None when there is none; `status` and `reason` then say why.
        status: ``scored``; ``not_applicable`` (nothing to judge); ``judge_error`` (no call succeeded);
            ``skipped`` (the row was not graded, e.g. because its provider failed).
        passed: Whether `value` reaches `threshold`; None when neither passed nor failed.
        threshold: Smallest passing value.
        mode: ``decomposed`` or ``holistic``.
        reason: One or two sentences for a person.
        errors: Number of items whose call failed; each counts as not holding.
        items: The judged pieces, in order.
    """

    metric: str
    by: str | None = None
    value: float | None
    status: Status
    passed: bool | None = None
    threshold: float | None = None
    mode: Mode
    reason: str
    errors: int = 0
    items: tuple[Item, ...] = ()

    @property
    def score(self) -> float | None:
        """The same as `value`: how scorers of other libraries name it."""
        return self.value


class JudgeInfo(Record):
    """A judge as a report names it.

    Attributes:
        id: The reference as the user wrote it.
        fingerprint: sha256 over everything of the judge that can change an answer.
        calibration: sha256 of the calibration that was applied; None for raw probabilities.
    """

    id: str
    fingerprint: str
    calibration: str | None = None


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
    """

    mean: float | None
    scored: int
    total: int
    passed: int
    failed: int = 0
    errors: int = 0


class Row(Record):
    """One cell of a report: a sample with its scores. Holds nothing that changes from run to run.

    Attributes:
        id: Name of the sample.
        provider: Name of the provider that produced the output; None for a recorded one.
        input: The question.
        output: The answer.
        contexts: The chunks.
        expected: The reference answer.
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
    passed: bool | None = None
    error: str | None = None
    scores: dict[str, Score]


class Report(Record):
    """Everything of a run; every output format is written from it.

    A run that was interrupted is `partial`: it has the rows that were complete, and has not passed.
    """

    schema_version: int = SCHEMA_VERSION
    ragjudge_version: str
    judges: tuple[JudgeInfo, ...] = ()
    usage: Usage = Usage()
    partial: bool = False
    summary: dict[str, MetricSummary]
    passed: bool
    rows: tuple[Row, ...]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def coverage(self) -> float | None:
        """Share of the asked scores that have a value or are not applicable, in [0, 1]."""
        scores = [score for row in self.rows for score in row.scores.values()]
        if not scores:
            return None
        graded = sum(score.status in ("scored", "not_applicable") for score in scores)
        return round(graded / len(scores), 6)

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain JSON data, in the order of its fields."""
        return self.model_dump(mode="json")
