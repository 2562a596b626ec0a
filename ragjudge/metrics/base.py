r"""The metric protocol, and what the built-in metrics share.

A metric of your own needs no base class. Whatever has these attributes and methods is one::

    class Politeness:
        name, by, mode = "politeness", None, "decomposed"
        requires = ("output",)
        default_threshold = 0.5

        def plan(self, sample):
            return Plan.of_calls([Check(
                template="politeness", version=1,
                system="You check texts carefully and answer each question with Yes or No.",
                shared=f"Text: {sample.output}\\n", own="Is the text polite? Answer Yes or No.",
                labels=("Yes", "No"), positive="Yes", claim=sample.output,
            )])

        def score(self, sample, plan, outcomes):
            (outcome,) = outcomes
            if not isinstance(outcome, Verdict):
                return Score(metric=self.name, value=None, status="judge_error", mode=self.mode,
                             reason="the judge gave no verdict", errors=1)
            value = round(probability(outcome, "Yes"), 6)
            return Score(metric=self.name, value=value, status="scored", mode=self.mode,
                         reason=f"polite with probability {value}")

    evaluate(agent_fn=my_rag, dataset=rows, scorers=["faithfulness", Politeness()])
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol, runtime_checkable

from ragjudge.metrics.aggregate import DECIMALS
from ragjudge.metrics.items import Draft, make_items, remarks
from ragjudge.prompts.template import load_template
from ragjudge.records import (
    Call,
    CallFailure,
    Item,
    Mode,
    OnEmpty,
    Outcome,
    Oversize,
    Reply,
    Sample,
    Score,
)
from ragjudge.text.splitting import DEFAULT_SPLITTING, Splitting


@dataclass(frozen=True)
class Empty:
    """Why there is nothing to judge.

    Attributes:
        reason: One sentence.
        default: Whether that is a failure of the row (``fail``) or leaves it open (``skip``), unless the
            user says otherwise.
    """

    reason: str
    default: OnEmpty


@dataclass(frozen=True)
class Plan:
    """What a metric asks about one sample.

    Attributes:
        calls: The questions; `Metric.score` gets one outcome for each, in this order.
        drafts: The pieces they are about, for metrics that have any.
        empty: Set when there is nothing to judge; `Metric.score` is then not called.
    """

    calls: tuple[Call, ...] = ()
    drafts: tuple[Draft, ...] = ()
    empty: Empty | None = None

    @classmethod
    def of_calls(cls, calls: Sequence[Call]) -> Plan:
        """Plan questions that have no pieces."""
        return cls(calls=tuple(calls))

    @classmethod
    def of_drafts(cls, drafts: Sequence[Draft]) -> Plan:
        """Plan the questions of all pieces."""
        calls = tuple(check for draft in drafts for check in draft.checks)
        return cls(calls=calls, drafts=tuple(drafts))

    @classmethod
    def of_nothing(cls, reason: str, default: OnEmpty) -> Plan:
        """Plan nothing, and say why."""
        return cls(empty=Empty(reason, default))


@runtime_checkable
class Metric(Protocol):
    """Plans questions about a sample, and scores it from the answers. Stateless."""

    @property
    def name(self) -> str:
        """The metric's name, in lower case with underscores."""

    @property
    def by(self) -> str | None:
        """The variant, where the metric has any."""

    @property
    def mode(self) -> Mode:
        """How it asks: piece by piece, or one call for the whole."""

    @property
    def requires(self) -> tuple[str, ...]:
        """The fields of `Sample` that must be given (empty counts as given)."""

    @property
    def default_threshold(self) -> float:
        """The smallest passing value when the user names none."""

    def plan(self, sample: Sample) -> Plan:
        """Say which questions the sample needs."""

    def score(self, sample: Sample, plan: Plan, outcomes: Sequence[Outcome]) -> Score:
        """Score the sample.

        Args:
            sample: The sample that was planned.
            plan: What `plan` returned for it.
            outcomes: One outcome for each of the plan's calls.
        """


class TwoModeMetric(ABC):
    """A metric that asks about each piece (``decomposed``) or once about the whole (``holistic``).

    Args:
        mode: Which of the two.
        by: The variant, for metrics that have any.
        splitting: How texts are cut; the language of a sample wins over the one in it.
    """

    name: ClassVar[str]
    requires: tuple[str, ...] = ()
    default_threshold: float = 0.7
    holistic_template: ClassVar[str]
    variants: ClassVar[tuple[str, ...]] = ()
    counts: ClassVar[Literal["claims", "sentences"]] = "claims"
    """What the pieces are; a sentence is one whatever `Splitting.claims` says."""

    def __init__(
        self,
        mode: Mode = "decomposed",
        by: str | None = None,
        splitting: Splitting = DEFAULT_SPLITTING,
    ) -> None:
        self.mode: Mode = mode
        self.by = by
        self.splitting = splitting

    def splitting_of(self, sample: Sample) -> Splitting:
        """Return how the texts of a sample are cut."""
        splitting = self.splitting.in_language(sample.language)
        return splitting if self.counts == "claims" else splitting.in_sentences()

    def plan(self, sample: Sample) -> Plan:
        """See `Metric.plan`."""
        empty = self.nothing_to_judge(sample)
        if empty is not None:
            return Plan(empty=empty)
        if self.mode == "holistic":
            template = load_template(self.holistic_template)
            return Plan.of_calls([template.prompt(self.holistic_slots(sample), self.holistic_chunks(sample))])
        return Plan.of_drafts(self.drafts(sample))

    def score(self, sample: Sample, plan: Plan, outcomes: Sequence[Outcome]) -> Score:
        """See `Metric.score`."""
        if self.mode == "holistic":
            return self._score_reply(outcomes[0])
        items = make_items(plan.drafts, outcomes)
        errors = sum(item.error is not None for item in items)
        if errors and errors == len(items):
            return self._unscored(f"no call could be answered: {items[0].error}", errors, items)
        value = self.value(items)
        return Score(
            metric=self.name,
            by=self.by,
            value=value,
            status="scored",
            mode=self.mode,
            reason=self.reason(items) + remarks(items, errors),
            errors=errors,
            items=items,
        )

    def _score_reply(self, outcome: Outcome) -> Score:
        if isinstance(outcome, Reply):
            parsed = parse_holistic(outcome.text)
            if parsed is not None:
                value, reason = parsed
                return Score(
                    metric=self.name, by=self.by, value=value, status="scored", mode=self.mode, reason=reason
                )
            return self._unscored(f"the judge's reply does not fit the schema: {outcome.text!r}", 1)
        if isinstance(outcome, Oversize):
            return Score(
                metric=self.name,
                by=self.by,
                value=None,
                status="not_applicable",
                mode=self.mode,
                reason=f"the prompt has {outcome.tokens} tokens and the judge's window holds "
                f"{outcome.window}; decomposed mode asks window by window.",
            )
        return self._unscored(outcome.reason if isinstance(outcome, CallFailure) else "no reply", 1)

    def _unscored(self, reason: str, errors: int, items: tuple[Item, ...] = ()) -> Score:
        return Score(
            metric=self.name,
            by=self.by,
            value=None,
            status="judge_error",
            mode=self.mode,
            reason=reason,
            errors=errors,
            items=items,
        )

    @abstractmethod
    def nothing_to_judge(self, sample: Sample) -> Empty | None:
        """Say why there is nothing to judge, or return None when there is something."""

    @abstractmethod
    def drafts(self, sample: Sample) -> list[Draft]:
        """Return the pieces, at least one, each with its question."""

    @abstractmethod
    def value(self, items: Sequence[Item]) -> float:
        """Return the score of the judged pieces, in [0, 1]."""

    @abstractmethod
    def reason(self, items: Sequence[Item]) -> str:
        """Sum the judged pieces up in a sentence."""

    @abstractmethod
    def holistic_slots(self, sample: Sample) -> dict[str, str | None]:
        """Return the slots of the holistic template."""

    def holistic_chunks(self, sample: Sample) -> tuple[str, ...]:
        """Return the chunks that the holistic template shows."""
        return tuple(chunk for chunk in sample.contexts or () if chunk.strip())


def parse_holistic(text: str) -> tuple[float, str] | None:
    """Read ``{"score": 0..1, "reason": "…"}``; None when the text is anything else."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or set(data) != {"score", "reason"}:
        return None
    score, reason = data["score"], data["reason"]
    if isinstance(score, bool) or not isinstance(score, (int, float)) or not isinstance(reason, str):
        return None
    return (round(float(score), DECIMALS), reason) if 0 <= score <= 1 else None
