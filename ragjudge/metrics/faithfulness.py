"""Faithfulness: supported claims of the output / its claims."""

from __future__ import annotations

from collections.abc import Sequence

from ragjudge.metrics.aggregate import fraction
from ragjudge.metrics.base import Empty, TwoModeMetric
from ragjudge.metrics.cutting import Cut
from ragjudge.metrics.items import Draft, count_reason
from ragjudge.metrics.support import (
    claims_to_support,
    has_chunks,
    no_chunks,
    unsupported,
    without_claims,
)
from ragjudge.records import Item, Sample


class FaithfulnessMetric(TwoModeMetric):
    """Share of the output's claims that the contexts support; a true claim that is not in them fails."""

    name = "faithfulness"
    requires = ("output", "contexts")
    default_threshold = 0.7
    holistic_template = "faithfulness_holistic"

    def nothing_to_judge(self, sample: Sample) -> Empty | None:
        """An output without claims, or a sample without chunks."""
        empty = without_claims(sample.output or "", "output", self.splitting_of(sample))
        return empty or (None if has_chunks(sample) else no_chunks())

    def claimed(self, sample: Sample) -> tuple[str, ...]:
        """The output."""
        return (sample.output or "",)

    def drafts(self, sample: Sample, cut: Cut) -> list[Draft]:
        """One piece for each claim of the output."""
        return claims_to_support(sample.output or "", sample, cut, self.splitting_of(sample))

    def value(self, items: Sequence[Item]) -> float:
        """Supported claims / claims."""
        return fraction([item.verdict is True for item in items])

    def reason(self, items: Sequence[Item]) -> str:
        """Count the claims and quote the first that fails."""
        return count_reason(items, "claim", "supported by the contexts") + unsupported(items)

    def holistic_slots(self, sample: Sample) -> dict[str, str | None]:
        """The output."""
        return {"output": sample.output or ""}
