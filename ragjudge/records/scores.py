"""What a metric says about a sample."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from ragjudge.records.base import Mode, Record, Share, Status
from ragjudge.records.panel import Vote


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
        claim: What was judged, when that is one of several claims that a judge found in the piece; None = the
            piece itself.
        chunk: Index of the chunk it belongs to or is best covered by.
        chunk_by: How `chunk` was found: by word overlap, or asked of the judge.
        windows: In how many windows the contexts were shown; None when one prompt held them all.
        window: Which of them decided, from 0.
        marginal: True when it is so close to the decision threshold that another machine could turn it.
        error: Why the call failed.
        panel: What each judge of a panel says, in the order of the panel; where several questions decide
            together, to the one that speaks most for the piece. None without a panel.
        disagreement: Share of the judges that answered whose verdict is not the item's, in [0, 1]; None
            without a panel.
    """

    text: str
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    verdict: bool | None
    probability: Share | None
    label_mass: Share | None
    claim: str | None = None
    chunk: int | None = None
    chunk_by: Literal["lexical", "judge"] | None = None
    windows: int | None = None
    window: int | None = None
    marginal: bool = False
    error: str | None = None
    panel: tuple[Vote, ...] | None = None
    disagreement: Share | None = None


class Score(Record):
    """What one metric says about one sample. A number that cannot be meant is refused.

    Attributes:
        metric: Name of the metric.
        by: Variant of the metric, where it has any (context precision: ``chunks`` or ``claims``).
        value: The score in [0, 1], or None when there is none; `status` and `reason` then say why.
        status: ``scored``, exactly when there is a value; ``not_applicable`` (nothing to judge);
            ``judge_error`` (no call succeeded, or the metric itself broke); ``skipped`` (the row was not
            graded, e.g. because its provider failed).
        passed: Whether `value` reaches `threshold`; None when neither passed nor failed.
        threshold: Smallest passing value.
        interval: Where the score lies with a probability of 95 %, as far as the probabilities of its
            verdicts are right and independent of each other: the lower and the upper end, both in [0, 1].
            Items whose call failed widen it, since they count as not holding in `value`. None when there
            is no value, or when it comes from one call (holistic).
        undecided: Whether `interval` leaves open on which side of `threshold` the score is; see
            `metrics.uncertainty.is_undecided`. `passed` says on which side the count is, all the same.
        mode: ``decomposed`` or ``holistic``.
        reason: One or two sentences for a person.
        errors: Number of items whose call failed; each counts as not holding.
        items: The judged pieces, in order.
    """

    metric: str
    by: str | None = None
    value: Share | None
    status: Status
    passed: bool | None = None
    threshold: Share | None = None
    interval: tuple[Share, Share] | None = None
    undecided: bool = False
    mode: Mode
    reason: str
    errors: int = Field(default=0, ge=0)
    items: tuple[Item, ...] = ()

    @model_validator(mode="after")
    def _means_one_thing(self) -> Score:
        if (self.value is None) is (self.status == "scored"):
            has = "no value" if self.value is None else f"the value {self.value}"
            raise ValueError(f"a score with {has} cannot have the status {self.status!r}")
        if self.interval is not None and self.interval[0] > self.interval[1]:
            raise ValueError(f"the interval {self.interval} has its upper end first")
        return self

    @property
    def score(self) -> float | None:
        """The same as `value`: how scorers of other libraries name it."""
        return self.value
