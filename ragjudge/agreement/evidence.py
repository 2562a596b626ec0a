"""What can be counted, without a model, about how a claim stands to its evidence. Pure.

The counts are cheap and blind to meaning. Beside a small model's margin they tell it what it tends to
overlook: words and figures that stand nowhere in what was shown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from ragjudge.records import Check, ChunkSpan
from ragjudge.text.overlap import function_words, word_set

EVIDENCE_VERSION = 1
"""Raised when a feature means something else: a calibration keeps to the features it was fitted on.

The words come from `text.overlap`, so a change there is a change of the features, too.
"""

OTHER_LANGUAGE = "other_language"

FEATURES = ("words_found", "numbers_missing", "has_numbers", "words_shown", "words_asked", OTHER_LANGUAGE)
"""Names of the features, in their order.

``words_found``: share of the claim's content words that the evidence holds, by their first letters, so that
an inflected form counts; at most `ENOUGH_WORDS`. ``numbers_missing``: share of its figures, those of dates
included, that the evidence lacks. ``has_numbers``: 1 when it has any. ``words_shown`` and ``words_asked``:
natural logarithm of one more than the number of different content words, those of the evidence and those of
the claim, by their first letters: a small model says yes the sooner the more it is shown.
``other_language``: 1 when both together hardly hold function words of English, so that they are in another
language: the same small model says yes less often there, and fewer words are found.

Left out, since they tell where texts come from more than whether a claim holds: the share of words or whole
phrases in one place, names missing. Measured with the default model on four sets of 150 rows, each tested by
fits on the other three: log loss 0.603, balanced accuracy 0.68 with them; 0.593 and 0.70 without.

The two lengths are for texts unlike those that a fit has seen. Fitted on these four sets (contexts of 80 to
140 words), it told the pairs of XNLI (16 words) apart with a log loss of 0.49 and a balanced accuracy of 0.81
with them, 0.57 and 0.69 without.

The language is for the same end. Fitted on four English sets of 300 rows alone, balanced accuracy over
pairs of XNLI in seven other languages fell from 0.74 (raw) to 0.67. Fitted on pairs as well, each language
being tested by fits without it and without its pairs, it was 0.74 without this feature and 0.77 with it.
"""

LEAST_ENGLISH = 0.06
"""Share of function words of English from which a text counts as English.

They are 24 to 30 % of the words in five English sets, less than 6 % in one of a hundred rows there, and 0.3 %
at most in the pairs of seven other languages.
"""

ENOUGH_WORDS = 0.6
"""A share beyond which more tells how a claim was written (copied, or in other words), not if it holds."""

_STEM = 5


class _Spoken(NamedTuple):
    """Words of a text, and how many of them are function words of English."""

    english: int
    words: int


class _Asked(NamedTuple):
    """What is looked up of a claim; made once for all evidence it is held against."""

    stems: frozenset[str]
    numbers: frozenset[str]
    spoken: _Spoken


class _Evidence(NamedTuple):
    """What is looked up in the evidence; made once for all claims about it."""

    words: frozenset[str]
    stems: frozenset[str]
    spoken: _Spoken


def features(claim: str, evidence: Sequence[str]) -> tuple[float, ...]:
    """Count how a claim stands to its evidence.

    Args:
        claim: What is claimed, or asked.
        evidence: The texts that were shown; none is allowed.

    Returns:
        One number for each of `FEATURES`: the lengths at least 0, the others in [0, 1].
    """
    held = _indexed(tuple(evidence))
    asked = _asked(claim)
    words = asked.spoken.words + held.spoken.words
    return (
        min(ENOUGH_WORDS, _share(len(asked.stems & held.stems), len(asked.stems))),
        _share(len(asked.numbers - held.words), len(asked.numbers)),
        float(bool(asked.numbers)),
        math.log1p(len(held.stems)),
        math.log1p(len(asked.stems)),
        float(asked.spoken.english + held.spoken.english < LEAST_ENGLISH * words),
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


@lru_cache(maxsize=256)
def _asked(claim: str) -> _Asked:
    words = word_set(claim)
    numbers = frozenset(word for word in words if any(sign.isdigit() for sign in word))
    return _Asked(frozenset(word[:_STEM] for word in words), numbers, _Spoken(*function_words(claim)))


@lru_cache(maxsize=64)
def _indexed(evidence: tuple[str, ...]) -> _Evidence:
    words = frozenset().union(*map(word_set, evidence))
    counts = [function_words(text) for text in evidence]
    spoken = _Spoken(sum(english for english, _ in counts), sum(number for _, number in counts))
    return _Evidence(words, frozenset(word[:_STEM] for word in words), spoken)


def _share(count: int, total: int) -> float:
    return count / total if total else 0.0
