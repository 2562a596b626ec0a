"""Answer relevancy: output sentences that help to answer the question / output sentences.

No embeddings: this is not the formula of Ragas, which compares the question with questions generated
from the answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragjudge.metrics.aggregate import fraction
from ragjudge.metrics.base import Empty, TwoModeMetric
from ragjudge.metrics.cutting import Cut, claims_of
from ragjudge.metrics.items import Draft, count_reason
from ragjudge.prompts.template import load_template
from ragjudge.records import Item, Sample
from ragjudge.text.claims import Claim, is_refusal
from ragjudge.text.splitting import Splitting


class AnswerRelevancyMetric(TwoModeMetric):
    """Share of the output's sentences that help to answer the question; a refusal does not help."""

    name = "answer_relevancy"
    requires = ("input", "output")
    default_threshold = 0.7
    holistic_template = "answer_relevancy_holistic"
    counts = "sentences"

    def nothing_to_judge(self, sample: Sample) -> Empty | None:
        """An output without sentences."""
        if not (sample.output or "").strip():
            return Empty("the output is empty.", "skip")
        splitting = self.splitting_of(sample)
        if not _answering(claims_of(sample.output or "", splitting), splitting):
            return Empty("the output has no sentence that could answer.", "skip")
        return None

    def drafts(self, sample: Sample, cut: Cut) -> list[Draft]:
        """One piece for each sentence; a refusal needs no judge."""
        template = load_template("answer_relevance")
        slots = {"question": sample.input or ""}
        splitting = self.splitting_of(sample)
        return [
            Draft(
                sentence.text,
                sentence.start,
                sentence.end,
                () if _refuses(sentence, splitting) else (template.check(sentence.judge_text, slots),),
            )
            for sentence in _answering(cut(sample.output or ""), splitting)
        ]

    def value(self, items: Sequence[Item]) -> float:
        """Sentences that help / sentences."""
        return fraction([item.verdict is True for item in items])

    def reason(self, items: Sequence[Item]) -> str:
        """Count the sentences."""
        return count_reason(items, "sentence", "help to answer the question")

    def holistic_chunks(self, sample: Sample) -> tuple[str, ...]:
        """None: the contexts have no part in it."""
        return ()

    def holistic_slots(self, sample: Sample) -> dict[str, str | None]:
        """The question and the output."""
        return {"question": sample.input or "", "output": sample.output or ""}


def _answering(found: Sequence[Claim], splitting: Splitting) -> list[Claim]:
    """Return the sentences that answer or refuse; greetings, headings and the like do neither."""
    return [sentence for sentence in found if sentence.is_claim or _refuses(sentence, splitting)]


def _refuses(sentence: Claim, splitting: Splitting) -> bool:
    return is_refusal(sentence.text, splitting.language, splitting.abbreviations)
