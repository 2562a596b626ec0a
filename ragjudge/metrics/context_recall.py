"""Context recall: claims of the expected answer that the contexts cover / its claims."""

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


class ContextRecallMetric(TwoModeMetric):
    """Share of the expected answer's claims that retrieval brought back."""

    name = "context_recall"
    requires = ("expected", "contexts")
    default_threshold = 0.5
    holistic_template = "context_recall_holistic"

    def nothing_to_judge(self, sample: Sample) -> Empty | None:
        """An expected answer without claims, or a sample without chunks."""
        empty = without_claims(sample.expected or "", "expected answer", self.splitting_of(sample))
        return empty or (None if has_chunks(sample) else no_chunks())

    def claimed(self, sample: Sample) -> tuple[str, ...]:
        """The expected answer."""
        return (sample.expected or "",)

    def drafts(self, sample: Sample, cut: Cut) -> list[Draft]:
        """One piece for each claim of the expected answer."""
        return claims_to_support(sample.expected or "", sample, cut, self.splitting_of(sample))

    def value(self, items: Sequence[Item]) -> float:
        """Covered claims / claims."""
        return fraction([item.verdict is True for item in items])

    def reason(self, items: Sequence[Item]) -> str:
        """Count the claims and quote the first that is missing."""
        return count_reason(items, "expected claim", "covered by the contexts") + unsupported(items)

    def holistic_slots(self, sample: Sample) -> dict[str, str | None]:
        """The expected answer."""
        return {"expected": sample.expected or ""}
