"""Context precision: average precision of the ranked chunks, or the share of supported claims."""

from __future__ import annotations

from collections.abc import Sequence

from ragjudge.metrics.aggregate import average_precision, fraction
from ragjudge.metrics.base import Empty, TwoModeMetric
from ragjudge.metrics.cutting import Cut
from ragjudge.metrics.items import Draft, count_reason
from ragjudge.metrics.support import (
    chunks_of,
    claims_to_support,
    has_chunks,
    no_chunks,
    support_check,
    unsupported,
    without_claims,
)
from ragjudge.metrics.uncertainty import Interval, average_precision_interval, chances
from ragjudge.prompts.template import load_template
from ragjudge.records import Check, Item, Mode, Sample
from ragjudge.text.splitting import DEFAULT_SPLITTING, Splitting


class ContextPrecisionMetric(TwoModeMetric):
    """How well the relevant chunks rank, or how much of the output the contexts back.

    Args:
        mode: See `TwoModeMetric`.
        by: ``chunks``: average precision over the ranked chunks; a chunk is relevant when it supports a
            claim of the expected answer, or where there is none, when it answers the question.
            ``claims``: claims of the output that the contexts support / its claims.
        splitting: See `TwoModeMetric`.
    """

    name = "context_precision"
    default_threshold = 0.5
    variants = ("chunks", "claims")

    def __init__(
        self,
        mode: Mode = "decomposed",
        by: str | None = None,
        splitting: Splitting = DEFAULT_SPLITTING,
    ) -> None:
        super().__init__(mode, by or "chunks", splitting)
        self.requires = ("input", "contexts") if self.by == "chunks" else ("output", "contexts")

    @property
    def summary(self) -> str:
        """The two variants mean different things."""
        if self.by == "chunks":
            return "Average precision of the ranked chunks: 1 when every relevant one is ahead of the others."
        return "Share of the output's claims that the contexts support, as in faithfulness."

    @property
    def holistic_template(self) -> str:  # type: ignore[override]
        """The two variants ask for different things."""
        return "context_precision_holistic" if self.by == "chunks" else "faithfulness_holistic"

    def nothing_to_judge(self, sample: Sample) -> Empty | None:
        """A sample without chunks, or by claims an output without any."""
        empty = None
        if self.by == "claims":
            empty = without_claims(sample.output or "", "output", self.splitting_of(sample))
        return empty or (None if has_chunks(sample) else no_chunks())

    def claimed(self, sample: Sample) -> tuple[str, ...]:
        """By claims the output; by chunks the expected answer, whose claims make a chunk relevant."""
        return ((sample.output if self.by == "claims" else sample.expected) or "",)

    def drafts(self, sample: Sample, cut: Cut) -> list[Draft]:
        """One piece for each chunk, or each claim."""
        splitting = self.splitting_of(sample)
        if self.by == "claims":
            return claims_to_support(sample.output or "", sample, cut, splitting)
        wanted = [claim.judge_text for claim in cut(sample.expected or "") if claim.is_claim]
        return [
            Draft(
                chunk,
                0,
                len(chunk),
                _checks(chunk, wanted, sample, splitting) if chunk.strip() else (),
                chunk=rank,
                chunk_by="judge",
            )
            for rank, chunk in enumerate(chunks_of(sample))
        ]

    def value(self, items: Sequence[Item]) -> float:
        """Average precision over chunks, or the share of claims."""
        verdicts = [item.verdict is True for item in items]
        return average_precision(verdicts) if self.by == "chunks" else fraction(verdicts)

    def interval(self, items: Sequence[Item]) -> Interval:
        """Average precision over chunks, or the share of claims, as far as the verdicts are sure."""
        return average_precision_interval(chances(items)) if self.by == "chunks" else super().interval(items)

    def reason(self, items: Sequence[Item]) -> str:
        """Name the ranks of the relevant chunks, or count the claims."""
        if self.by == "claims":
            return count_reason(items, "claim", "supported by the contexts") + unsupported(items)
        ranks = [str(rank) for rank, item in enumerate(items, start=1) if item.verdict]
        where = f" Relevant at rank {', '.join(ranks)}." if ranks else ""
        return count_reason(items, "chunk", "relevant") + where

    def holistic_slots(self, sample: Sample) -> dict[str, str | None]:
        """The question and the expected answer, or the output."""
        if self.by == "claims":
            return {"output": sample.output or ""}
        return {"question": sample.input or "", "expected": sample.expected}


def _checks(chunk: str, wanted: Sequence[str], sample: Sample, splitting: Splitting) -> tuple[Check, ...]:
    """Return the questions about one chunk.

    With an expected answer: does it support any of that answer's claims? This is RAGChecker's notion of a
    relevant chunk, and the very question of context recall. Without one: does it answer the question?

    Args:
        chunk: The chunk.
        wanted: The claims of the expected answer.
        sample: The sample.
        splitting: How it is shown.
    """
    if not wanted:
        slots = {"question": sample.input or ""}
        return (load_template("chunk_relevance").check(chunk, slots, (chunk,)),)
    return tuple(support_check(claim, (chunk,), sample.input, splitting) for claim in wanted)
