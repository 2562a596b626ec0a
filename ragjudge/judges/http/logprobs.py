"""A verdict from the likeliest first tokens of an answer. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ragjudge.judges.http.completion import Completion

TOP = 20
"""Tokens to ask for: the most that servers give."""

LEAST_PROBABILITY = 1e-12
"""Stands for 0, since a logarithm must be finite."""

MOST_SUM = 1.01
"""Largest sum of the listed probabilities; above 1 by what a server's rounding can add."""

_SAME = 0.1
"""Largest difference of two log-probabilities that can mean the same token."""

_MARKS = " \t\r\n\u2581\u0120\u010a"
"""Blanks and line breaks around a token's text, also as some vocabularies spell them."""


def read_first_token(completion: Completion, labels: Sequence[str]) -> dict[str, float] | str:
    """Return each label's log-probability, or why there is none.

    A label's probability is the sum over the listed tokens that read as the label, in any case and with
    any blanks around it; a token that is listed twice counts once. Of a label that is not among them only
    an upper bound is known: the smaller one of the least listed probability and of what the list leaves
    over. It gets that bound: so the verdict is never surer than the list allows, and the label mass is a
    lower bound but for that much.

    Args:
        completion: An answer of one token.
        labels: The possible answers.

    Returns:
        The natural logarithms, at most 0, rounded to 6 decimals; or the end of a sentence on why the first
        token says nothing.
    """
    first = completion.first
    if completion.reasoning.strip():
        return "the answer begins with reasoning"
    if first is None:
        return "the server gives no log-probabilities"
    label = _label_of(first.text, labels)
    if label is None:
        return f"the answer begins with {first.text!r}"
    listed = list(dict.fromkeys(completion.top))
    again = [token.logprob for token in listed if token.text == first.text]
    if not again:
        listed.append(first)
    chances = [math.exp(token.logprob) for token in listed]
    if (
        math.fsum(chances) > MOST_SUM
        or (again and min(abs(value - first.logprob) for value in again) > _SAME)
        or _label_of(completion.text, labels) not in (None, label)
    ):
        return "the server's log-probabilities contradict each other, or the answer"
    bound = min(*chances, max(0.0, 1.0 - math.fsum(chances)))
    sums = {
        label: math.fsum(
            chance
            for token, chance in zip(listed, chances, strict=True)
            if _label_of(token.text, labels) == label
        )
        for label in labels
    }
    return {label: _log(chance or bound) for label, chance in sums.items()}


def _label_of(text: str, labels: Sequence[str]) -> str | None:
    found = text.strip(_MARKS).casefold()
    return next((label for label in labels if label.casefold() == found), None)


def _log(chance: float) -> float:
    return min(0.0, round(math.log(max(chance, LEAST_PROBABILITY)), 6))
