"""Which tokens mean a label, and what the logits say about each label."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragjudge.judges.llama.grammar import Logits
    from ragjudge.judges.llama.vocabulary import Vocabulary

LabelTokens = Mapping[str, list[int]]
"""For each label the ids of the tokens with which an answer may begin that means it."""


class LabelsAlikeError(ValueError):
    """Two labels begin with the same token, so that logits cannot tell them apart."""


def probe_labels(vocabulary: Vocabulary, labels: Sequence[str]) -> LabelTokens:
    """Return the tokens of each label.

    Raises:
        LabelsAlikeError: A token would mean two labels.
    """
    found = {label: probe_label(vocabulary, label) for label in labels}
    tokens = [token for ids in found.values() for token in ids]
    if len(tokens) != len(set(tokens)):
        raise LabelsAlikeError(f"the answers {' / '.join(labels)} cannot be told apart by their first token")
    return found


def probe_label(vocabulary: Vocabulary, label: str) -> list[int]:
    """Return the ids of the tokens that stand for a label, in any case, with or without a leading blank.

    The tokenizer is asked for each variant both at the start of a text and after a line break, since
    many vocabularies put a blank of their own before a text. A label that is no single token in any
    variant is known by its first token.
    """
    found = set()
    for variant in (label, label.lower(), label.upper(), label.capitalize()):
        for lead in ("", " ", "\n", "\n "):
            token = vocabulary.tokenize(lead + variant, add_special=False)[-1]
            if vocabulary.piece(token).decode("utf-8", "replace").strip().casefold() == label.casefold():
                found.add(token)
    if not found:
        for variant in (label, f" {label}"):
            found.add(vocabulary.tokenize(variant, add_special=False)[0])
    return sorted(found)


def read_labels(logits: Logits, tokens: LabelTokens) -> dict[str, float] | None:
    """Return each label's log-probability over the whole vocabulary, rounded to 6 decimals.

    A label's probability is the sum over its tokens of softmax(logits).

    Returns:
        The log-probabilities, at most 0; None when the logits are no finite numbers.
    """
    total = _log_sum_exp(logits)
    values = {label: _log_sum_exp(logits[ids]) - total for label, ids in tokens.items()}
    if not all(map(math.isfinite, values.values())):
        return None
    return {label: min(0.0, round(value, 6)) for label, value in values.items()}


def _log_sum_exp(logits: Logits) -> float:
    import numpy as np

    values = logits.astype(np.float64)
    top = float(values.max())
    return top + float(np.log(np.exp(values - top).sum())) if math.isfinite(top) else math.nan
