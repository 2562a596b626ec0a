"""What can be counted, without a model, about how a claim stands to its evidence. Pure.

The counts are cheap and blind to meaning. Beside a small model's margin they tell it what it tends to
overlook: a name, a figure or half a sentence that stands nowhere in what was shown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from ragjudge.records import Check, ChunkSpan
from ragjudge.text.overlap import content_words

EVIDENCE_VERSION = 1
"""Raised when a feature means something else: a calibration keeps to the features it was fitted on.

The words come from `text.overlap`, so a change there is a change of the features, too.
"""

FEATURES = (
    "words_found",
    "sentence_found",
    "numbers_missing",
    "has_numbers",
    "names_missing",
    "claim_length",
)
"""Names of the features, in their order.

``words_found``: share of the claim's content words that the evidence holds, by their first letters, so that
an inflected form counts; at most `ENOUGH_WORDS`. ``sentence_found``: the largest share of them that two
neighbouring sentences hold; at most `ENOUGH_IN_SENTENCE`. ``numbers_missing``: share of its figures, those of
dates included, that the evidence lacks. ``has_numbers``: 1 when it has any. ``names_missing``: log(1 + number
of capitalised words inside its sentences that the evidence lacks). ``claim_length``: log(1 + number of its
content words).

Left out, since they tell where texts come from more than whether a claim holds: length of the evidence, and
whole phrases found. On sets that were not fitted on they made probabilities worse.
"""

ENOUGH_WORDS, ENOUGH_IN_SENTENCE = 0.6, 0.7
"""Shares beyond which more tells how a claim was written (copied, or in other words), and not if it holds."""

_STEM = 5
_MOST = 8.0
"""Largest value of a logarithm: three thousand words and more look alike."""

# Coarse on purpose: what is compared are neighbourhoods, and loading a sentence model for it is not worth it.
_SENTENCE_END = re.compile(r"(?<=[.!?؟।])[\"'”’)\]]*\s+|\n+|(?<=[。！？])")
_WORD = re.compile(r"(?<![^\W_])[^\W\d_][\w'’-]*")


@dataclass(frozen=True, slots=True)
class _Evidence:
    """What is looked up in the evidence; made once for all claims about it."""

    words: frozenset[str]
    stems: frozenset[str]
    pairs: tuple[frozenset[str], ...]


def features(claim: str, evidence: Sequence[str]) -> tuple[float, ...]:
    """Count how a claim stands to its evidence.

    Args:
        claim: What is claimed, or asked.
        evidence: The texts that were shown; none is allowed.

    Returns:
        One number for each of `FEATURES`: shares in [0, 1], logarithms in [0, 8].
    """
    held = _indexed(tuple(evidence))
    words = content_words(claim)
    distinct = list(dict.fromkeys(words))
    stems = list(dict.fromkeys(word[:_STEM] for word in words))
    numbers = [word for word in distinct if any(sign.isdigit() for sign in word)]
    names = dict.fromkeys(_names(claim))
    in_sentence = max((_share(stem in pair for stem in stems) for pair in held.pairs), default=0.0)
    return (
        min(ENOUGH_WORDS, _share(stem in held.stems for stem in stems)),
        min(ENOUGH_IN_SENTENCE, in_sentence),
        _share(number not in held.words for number in numbers),
        float(bool(numbers)),
        _log(sum(name not in held.words for name in names)),
        _log(len(words)),
    )


def asked_about(check: Check, spans: Sequence[ChunkSpan] | None = None) -> tuple[str, list[str]]:
    """Return the two texts of a check that are held against each other.

    A claim is held against the chunks. Where a chunk or a sentence is itself what is judged, the question is
    held against it.

    Args:
        check: The check.
        spans: The part of the chunks that was shown; None = all of them.

    Returns:
        ``(claim or question, evidence)``.
    """
    chunks = [check.shared[segment.text : segment.text_end] for segment in check.segments]
    shown = chunks if spans is None else [chunks[span.chunk][span.start : span.end] for span in spans]
    is_itself_shown = chunks == [check.claim] and check.claim not in check.own
    if chunks and not is_itself_shown:
        return check.claim, shown
    question = dict(check.slots).get("question", "")
    return question, shown if chunks else [check.claim]


@lru_cache(maxsize=64)
def _indexed(evidence: tuple[str, ...]) -> _Evidence:
    listed = [content_words(sentence) for text in evidence for sentence in _SENTENCE_END.split(text)]
    stems = [frozenset(word[:_STEM] for word in sentence) for sentence in listed if sentence]
    return _Evidence(
        words=frozenset(word for sentence in listed for word in sentence),
        stems=frozenset().union(*stems),
        pairs=tuple(one | other for one, other in pairwise(stems)) or tuple(stems),
    )


def _names(claim: str) -> Iterable[str]:
    """Yield the folded words that carry a capital letter which they do not owe to their place."""
    for sentence in _SENTENCE_END.split(claim):
        for word in _WORD.findall(sentence)[1:]:
            if word[0].isupper():
                yield from content_words(word)


def _share(hits: Iterable[bool]) -> float:
    found = list(hits)
    return sum(found) / len(found) if found else 0.0


def _log(count: int) -> float:
    return min(_MOST, math.log1p(count))
