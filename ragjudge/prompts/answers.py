"""From the log-probabilities of the labels to probability, margin and label mass. Pure."""

from __future__ import annotations

import math

from ragjudge.records import Verdict

DECISION_THRESHOLD = 0.5
"""P(positive) from which a verdict is positive, for a judge that is not calibrated."""

TOLERANCE = 0.06
"""Largest change of a probability between two machines, batch shapes or builds that we have to expect.

The low bits of logits depend on the shape of the batch they were computed in, and on which of its kernels
llama.cpp takes for it. Measured with the default model over eight checks: up to 0.054 between batches of 32
and 512 tokens, and between repacked and plain weights. A probability this close to the decision threshold
is marked, since it could turn elsewhere; from the cache it never turns, nor on one machine with `exact`.
"""


def label_mass(verdict: Verdict) -> float:
    """Return the labels' share of the whole distribution, in [0, 1]."""
    return min(1.0, sum(math.exp(value) for value in verdict.log_probabilities.values()))


def probability(verdict: Verdict, label: str) -> float:
    """Return a label's share of the labels' probability, in [0, 1].

    Computed from differences of log-probabilities, so that a tiny label mass loses no digits.
    """
    values = verdict.log_probabilities
    top = max(values.values())
    total = sum(math.exp(value - top) for value in values.values())
    return math.exp(values[label] - top) / total


def margin(verdict: Verdict, label: str) -> float:
    """Return the label's log-probability minus the largest of the other labels'."""
    values = verdict.log_probabilities
    return values[label] - max(value for name, value in values.items() if name != label)
