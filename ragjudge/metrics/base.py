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

What breaks in a metric costs the score of the row at hand: it is a ``judge_error`` whose reason says what was
raised, or what was returned that is no `Score`. A `Score` refuses a value that is not from 0 to 1.

One that must know something before it can say what it asks has a method ``prepare`` as well: see
`PreparingMetric`.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol, get_args, runtime_checkable

from ragjudge.metrics.aggregate import DECIMALS
from ragjudge.metrics.cutting import Cut, Cutting, compound_sentences, cutting_call
from ragjudge.metrics.items import Draft, make_items, remarks
from ragjudge.metrics.panels import mean_reply, panel_remark
from ragjudge.metrics.uncertainty import Interval, chances, share_interval
from ragjudge.prompts.template import load_template
from ragjudge.records import (
    Call,
    Item,
    Mode,
    OnEmpty,
    Outcome,
    Oversize,
    PanelReply,
    Reply,
    Sample,
    Score,
    Verdict,
)
from ragjudge.text.splitting import DEFAULT_SPLITTING, Splitting


@dataclass(frozen=True)
class Empty:
    """Why there is nothing to judge.

    Attributes:
        reason: One sentence.
        default: Whether that is a failure of the row (``fail``) or leaves it open (``skip``), unless the
            user says otherwise.

    Raises:
        ValueError: One of them is something else.
    """

    reason: str
    default: OnEmpty

    def __post_init__(self) -> None:
        if not isinstance(self.reason, str) or self.default not in get_args(OnEmpty):
            raise ValueError(f"{self} is no reason and one of {', '.join(get_args(OnEmpty))}")


@dataclass(frozen=True)
class Plan:
    """What a metric asks about one sample.

    Attributes:
        calls: The questions; `Metric.score` gets one outcome for each, in this order.
        drafts: The pieces they are about, for metrics that have any.
        empty: Set when there is nothing to judge; `Metric.score` is then not called.
        remark: What was out of the ordinary in how it was planned, for the reason of the score: a sentence
            behind a blank, or nothing.
        broken: Set in the place of everything else when the metric broke before it could plan: a sentence.

    Raises:
        TypeError: What is planned is no sequence of calls.
    """

    calls: tuple[Call, ...] = ()
    drafts: tuple[Draft, ...] = ()
    empty: Empty | None = None
    remark: str = ""
    broken: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "calls", tuple(self.calls))
        strange = next((call for call in self.calls if not isinstance(call, Call)), None)
        if strange is not None:
            raise TypeError(f"a {type(strange).__name__} is planned; accepted: a Check, a Prompt")

    @classmethod
    def of_calls(cls, calls: Iterable[Call]) -> Plan:
        """Plan questions that have no pieces."""
        return cls(calls=tuple(calls))

    @classmethod
    def of_drafts(cls, drafts: Sequence[Draft], remark: str = "") -> Plan:
        """Plan the questions of all pieces."""
        calls = tuple(check for draft in drafts for check in draft.checks)
        return cls(calls=calls, drafts=tuple(drafts), remark=remark)

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


@runtime_checkable
class PreparingMetric(Metric, Protocol):
    """A metric that must ask something before it can plan: how a sentence is cut, for example.

    What all samples of a plan window need first is asked together, before anything of them is planned; it is
    cached and replayed like every other call.
    """

    def prepare(self, sample: Sample) -> Sequence[Call]:
        """Say what must be known before `plan`; nothing = the sample is planned at once."""

    def plan(self, sample: Sample, prepared: Sequence[Outcome] = ()) -> Plan:
        """Say which questions the sample needs.

        Args:
            sample: The sample.
            prepared: One outcome for each call of `prepare`, in its order. A call may have failed: that must
                not keep the sample from being planned.
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

    @property
    def summary(self) -> str:
        """What it measures, in one sentence: the first line of its class."""
        return (type(self).__doc__ or "").partition("\n")[0]

    @property
    def told_language(self) -> str | None:
        """The language it cuts texts in whose sample names none; None = English, which needs no telling."""
        told = self.splitting.language
        return None if told == DEFAULT_SPLITTING.language else told

    def splitting_of(self, sample: Sample) -> Splitting:
        """Return how the texts of a sample are cut."""
        splitting = self.splitting.in_language(sample.language)
        return splitting if self.counts == "claims" else splitting.in_sentences()

    def prepare(self, sample: Sample) -> tuple[Call, ...]:
        """See `PreparingMetric.prepare`: how the sentences are cut that may hold several claims."""
        return tuple(cutting_call(sentence) for sentence in self._compound_sentences(sample))

    def _compound_sentences(self, sample: Sample) -> tuple[str, ...]:
        splitting = self.splitting_of(sample)
        # Whatever needs no decomposition is found out first, since the texts would be cut for nothing.
        if splitting.claims != "judge" or self.mode == "holistic" or self.nothing_to_judge(sample):
            return ()
        return compound_sentences(self.claimed(sample), splitting)

    def plan(self, sample: Sample, prepared: Sequence[Outcome] = ()) -> Plan:
        """See `PreparingMetric.plan`.

        Raises:
            ValueError: There is not one outcome for each call of `prepare`.
        """
        empty = self.nothing_to_judge(sample)
        if empty is not None:
            return Plan(empty=empty)
        if self.mode == "holistic":
            template = load_template(self.holistic_template)
            return Plan.of_calls([template.prompt(self.holistic_slots(sample), self.holistic_chunks(sample))])
        said = dict(zip(self._compound_sentences(sample), prepared, strict=True))
        cutting = Cutting(self.splitting_of(sample), said)
        return Plan.of_drafts(self.drafts(sample, cutting), cutting.remark)

    def score(self, sample: Sample, plan: Plan, outcomes: Sequence[Outcome]) -> Score:
        """See `Metric.score`."""
        if self.mode == "holistic":
            return self._score_reply(outcomes[0])
        items = make_items(plan.drafts, outcomes)
        errors = sum(item.error is not None for item in items)
        if errors and errors == len(items):
            reason = f"no call could be answered: {items[0].error}{plan.remark}"
            return self._unscored(reason, errors, items)
        value = self.value(items)
        return Score(
            metric=self.name,
            by=self.by,
            value=value,
            status="scored",
            interval=self.interval(items),
            mode=self.mode,
            reason=self.reason(items) + panel_remark(items, outcomes) + remarks(items, errors) + plan.remark,
            errors=errors,
            items=items,
        )

    def _score_reply(self, outcome: Outcome) -> Score:
        if isinstance(outcome, PanelReply):
            mean, told = mean_reply(outcome, parse_holistic)
            if mean is None:
                return self._unscored(told, 1)
            return Score(
                metric=self.name, by=self.by, value=mean, status="scored", mode=self.mode, reason=told
            )
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
                reason=f"{outcome.problem}; decomposed mode asks window by window.",
            )
        return self._unscored("no reply" if isinstance(outcome, Verdict) else outcome.problem, 1)

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
    def drafts(self, sample: Sample, cut: Cut) -> list[Draft]:
        """Return the pieces, at least one, each with its question.

        Args:
            sample: The sample.
            cut: Cuts its texts.
        """

    def claimed(self, sample: Sample) -> tuple[str, ...]:
        """Return the texts whose claims are counted; none for what counts sentences or chunks alone."""
        return ()

    @abstractmethod
    def value(self, items: Sequence[Item]) -> float:
        """Return the score of the judged pieces, in [0, 1]."""

    def interval(self, items: Sequence[Item]) -> Interval:
        """Return the central 95 % interval of the score; one that is no share of pieces has its own."""
        return share_interval(chances(items))

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
