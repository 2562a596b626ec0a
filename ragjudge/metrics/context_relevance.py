"""Context relevance: context sentences that bear on the question / context sentences."""

from __future__ import annotations

from collections.abc import Sequence

from ragjudge.metrics.aggregate import fraction
from ragjudge.metrics.base import Empty, TwoModeMetric
from ragjudge.metrics.cutting import Cut, claims_of
from ragjudge.metrics.items import Draft, count_reason
from ragjudge.metrics.support import chunks_of, has_chunks, no_chunks
from ragjudge.prompts.template import load_template
from ragjudge.records import Item, Sample


class ContextRelevanceMetric(TwoModeMetric):
    """Share of what was retrieved that has to do with the question."""

    name = "context_relevance"
    requires = ("input", "contexts")
    default_threshold = 0.7
    holistic_template = "context_relevance_holistic"
    counts = "sentences"

    def nothing_to_judge(self, sample: Sample) -> Empty | None:
        """A sample without chunks, or with chunks that hold no sentence."""
        if not has_chunks(sample):
            return no_chunks()
        splitting = self.splitting_of(sample)
        if not any(claim.is_claim for chunk in chunks_of(sample) for claim in claims_of(chunk, splitting)):
            return Empty("the contexts hold no sentence.", "skip")
        return None

    def drafts(self, sample: Sample, cut: Cut) -> list[Draft]:
        """One piece for each sentence of each chunk; headings and the like are left out."""
        template = load_template("sentence_relevance")
        slots = {"question": sample.input or ""}
        return [
            Draft(
                sentence.text,
                sentence.start,
                sentence.end,
                (template.check(sentence.judge_text, slots),),
                chunk=rank,
                chunk_by="judge",
            )
            for rank, chunk in enumerate(chunks_of(sample))
            for sentence in cut(chunk)
            if sentence.is_claim
        ]

    def value(self, items: Sequence[Item]) -> float:
        """Sentences that bear on the question / sentences."""
        return fraction([item.verdict is True for item in items])

    def reason(self, items: Sequence[Item]) -> str:
        """Count the sentences."""
        return count_reason(items, "context sentence", "bear on the question")

    def holistic_slots(self, sample: Sample) -> dict[str, str | None]:
        """The question."""
        return {"question": sample.input or ""}
