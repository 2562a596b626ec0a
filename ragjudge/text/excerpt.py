"""The sentences of the contexts that come closest to a claim.

A small judge leans the more towards "supported" the more it is shown: with long contexts the same margin
means less. So it is shown the few sentences that share most words with the claim, whatever the length of
what was retrieved. A claim that shares no word with any sentence (one in another language, say) gets
everything: then the words cannot tell where to look.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from ragjudge.text.claims import claims
from ragjudge.text.overlap import word_set


class Excerpt(NamedTuple):
    """How much is shown.

    Attributes:
        sentences: Most sentences of an excerpt, those of all chunks together.
        whole: Contexts of at most so many sentences are shown whole: they are short enough, and claims that
            are held against the very same text share its tokens.
    """

    sentences: int
    whole: int


def excerpt(
    claim: str,
    chunks: Sequence[str],
    size: Excerpt,
    language: str = "english",
    abbreviations: tuple[str, ...] = (),
) -> tuple[str, ...]:
    """Return what of the chunks is shown beside a claim.

    Args:
        claim: The claim.
        chunks: The chunks, in rank order.
        size: How much.
        language: What the chunks are written in, as the splitter calls it.
        abbreviations: Further abbreviations behind which no sentence ends.

    Returns:
        The chunks as they are, or for each chunk with a sentence among the closest those sentences, in their
        order. Ties go to the earlier sentence.
    """
    cut = [_sentences(chunk, language, abbreviations) for chunk in chunks]
    found = [(number, sentence) for number, each in enumerate(cut) for sentence in each]
    if len(found) <= size.whole:
        return tuple(chunks)
    wanted = word_set(claim)
    shared = [len(wanted & word_set(sentence)) for _, sentence in found]
    if not any(shared):
        return tuple(chunks)
    closest = sorted(range(len(found)), key=lambda place: (-shared[place], place))[: size.sentences]
    shown: dict[int, list[str]] = {}
    for place in sorted(closest):
        number, sentence = found[place]
        shown.setdefault(number, []).append(sentence)
    return tuple(" ".join(texts) for texts in shown.values())


@lru_cache(maxsize=256)
def _sentences(chunk: str, language: str, abbreviations: tuple[str, ...]) -> tuple[str, ...]:
    """Cut a chunk into what is read for each of its pieces; remembered, since every claim looks at it."""
    found = claims(chunk, language, abbreviations=abbreviations)
    return tuple(piece.judge_text or piece.text for piece in found)
