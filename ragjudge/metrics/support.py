"""Claims against contexts: the question that faithfulness, context recall and precision by claims share.

They ask the very same checks, so that a claim that two of them need is judged once.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragjudge.metrics.base import Empty
from ragjudge.metrics.cutting import Cut, claims_of
from ragjudge.metrics.items import Draft
from ragjudge.prompts.template import Template, load_template
from ragjudge.records import Check, Item, Sample
from ragjudge.text.excerpt import Excerpt, excerpt
from ragjudge.text.overlap import best_chunk
from ragjudge.text.splitting import DEFAULT_SPLITTING, Splitting


def chunks_of(sample: Sample) -> tuple[str, ...]:
    """Return the sample's chunks as they are, blank ones included, so that indexes stay true."""
    return sample.contexts or ()


def has_chunks(sample: Sample) -> bool:
    """Say whether any chunk carries text."""
    return any(chunk.strip() for chunk in chunks_of(sample))


def no_chunks() -> Empty:
    """The empty case of a sample without contexts: retrieval found nothing, which is a failure."""
    return Empty("there are no contexts to judge against.", "fail")


def support_check(
    claim: str, chunks: Sequence[str], question: str | None = None, splitting: Splitting = DEFAULT_SPLITTING
) -> Check:
    """Return the question whether chunks support a claim.

    Args:
        claim: The claim.
        chunks: The chunks, in rank order.
        question: The user's question, for judges with a profile that shows it.
        splitting: Whether the judge sees the chunks whole or an excerpt, and their language.
    """
    template = load_template("support" if splitting.evidence == "whole" else "support_excerpt")
    return asked_with(template, claim, chunks, question, splitting)


def asked_with(
    template: Template, claim: str, chunks: Sequence[str], question: str | None, splitting: Splitting
) -> Check:
    """Fill a template in about a claim and chunks, showing as much of the chunks as it says."""
    if template.excerpt is not None:
        size = Excerpt(template.excerpt.sentences, template.excerpt.whole)
        chunks = excerpt(claim, chunks, size, splitting.language, splitting.abbreviations)
    return template.check(claim, {"question": question or ""}, chunks)


def claims_to_support(text: str, sample: Sample, cut: Cut, splitting: Splitting) -> list[Draft]:
    """Return a text's claims, each with the question whether the sample's contexts support it."""
    chunks = chunks_of(sample)
    shown = tuple(chunk for chunk in chunks if chunk.strip())
    drafts = []
    for claim in cut(text):
        if not claim.is_claim:
            continue
        said = claim.judge_text if claim.part else None
        chunk = best_chunk(said or claim.text, chunks)
        drafts.append(
            Draft(
                claim.text,
                claim.start,
                claim.end,
                (support_check(claim.judge_text, shown, sample.input, splitting),),
                chunk=chunk,
                chunk_by=None if chunk is None else "lexical",
                claim=said,
            )
        )
    return drafts


def without_claims(text: str, name: str, splitting: Splitting) -> Empty | None:
    """Say why a text has no claims to judge, or return None when it has some."""
    if not text.strip():
        return Empty(f"the {name} is empty.", "skip")
    found = claims_of(text, splitting)
    if any(claim.is_claim for claim in found):
        return None
    if any(claim.reason == "refusal" for claim in found):
        return Empty(f"the {name} is a refusal: it claims nothing.", "skip")
    return Empty(f"the {name} makes no claim.", "skip")


def unsupported(items: Sequence[Item]) -> str:
    """Quote the first of the claims that do not hold, for a reason."""
    texts = [item.claim or item.text for item in items if item.verdict is False]
    if not texts:
        return ""
    rest = f" (and {len(texts) - 1} more)" if len(texts) > 1 else ""
    first = " ".join(texts[0].split())
    return f" Not supported: “{first[:117] + '…' if len(first) > 118 else first}”{rest}."
