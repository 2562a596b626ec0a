"""How one template's verdicts are calibrated: a sum of terms, and the probability it comes to.

Every kind is the same sum: P = 1 / (1 + exp(-(bias + Σ weight · (value - mean) / scale))).

    threshold   the margin less a constant: only the decision moves
    platt       a slope and an offset of the margin
    evidence    margin, label mass and what `evidence.features` counts
    head        those, and the coordinates of the last hidden state along a few directions
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field, FiniteFloat, model_validator

from ragjudge.agreement.evidence import EVIDENCE_VERSION, FEATURES, asked_about, features
from ragjudge.errors import ConfigError
from ragjudge.judges.llama.hidden import Basis
from ragjudge.records import Check, ChunkSpan, Record

Kind = Literal["threshold", "platt", "evidence", "head"]
KINDS: tuple[Kind, ...] = ("threshold", "platt", "evidence", "head")
"""The kinds in rising complexity."""

MARGIN, LABEL_MASS = "margin", "label_mass"
HIDDEN = "hidden."
"""Begins the names of a hidden state's coordinates: ``hidden.1`` and so on."""

REACH = 4.0
"""Furthest that a value other than the margin counts, in scales: far out nothing was fitted."""

LEAST = 1e-6
"""P is never surer than this: a finite sample says nothing about what is rarer."""

_LOWEST = -20.0
"""Lowest logarithm of a label mass that is told apart."""


class Input(Record):
    """One term of the sum.

    Attributes:
        name: ``margin`` (log-odds of the positive label against the rest), ``label_mass`` (its natural
            logarithm), one of `evidence.FEATURES`, or ``hidden.N``.
        mean: Subtracted first.
        scale: Divided by then, above 0.
        weight: How much it counts.
    """

    name: str
    mean: FiniteFloat
    scale: Annotated[FiniteFloat, Field(gt=0)]
    weight: FiniteFloat


class Fit(Record):
    """How one template's verdicts are calibrated.

    Attributes:
        kind: See the module.
        bias: The constant of the sum.
        inputs: Its terms; the margin is the first.
        evidence_version: Which features were meant; None = none are used.
        basis: Directions of the hidden state; ``head`` only.
    """

    kind: Kind
    bias: FiniteFloat
    inputs: tuple[Input, ...] = Field(min_length=1)
    evidence_version: int | None = None
    basis: Basis | None = None

    @model_validator(mode="after")
    def _is_consistent(self) -> Fit:
        allowed = [MARGIN]
        if self.kind in ("evidence", "head"):
            allowed += [LABEL_MASS, *FEATURES]
            if self.evidence_version != EVIDENCE_VERSION:
                raise ValueError(
                    f"evidence_version is {self.evidence_version}; this release counts version "
                    f"{EVIDENCE_VERSION}"
                )
        if (self.kind == "head") != (self.basis is not None):
            raise ValueError("a basis belongs to the kind head, and that kind needs one")
        if self.basis is not None:
            _check_basis(self.basis)
            allowed += [f"{HIDDEN}{number + 1}" for number in range(len(self.basis.components))]
        names = [each.name for each in self.inputs]
        if wrong := [name for name in names if name not in allowed]:
            raise ValueError(f"input {wrong[0]!r} is unknown to the kind {self.kind}: {', '.join(allowed)}")
        if names[0] != MARGIN or len(set(names)) != len(names):
            raise ValueError("the first input is the margin, and each stands there once")
        return self

    @cached_property
    def _reads_mass(self) -> bool:
        return any(each.name == LABEL_MASS for each in self.inputs)

    def probability(
        self,
        check: Check,
        log_probabilities: Mapping[str, float],
        *,
        hidden: Sequence[float] | None = None,
        spans: Sequence[ChunkSpan] | None = None,
    ) -> float:
        """Return the calibrated P(positive), in (0, 1).

        Args:
            check: What was asked.
            log_probabilities: The judge's raw answer; see `Verdict`.
            hidden: Its hidden state, whole or as coordinates along the basis.
            spans: What was shown of the chunks; None = all of them.

        Raises:
            ConfigError: The fit needs a hidden state, and there is none or one of another size.
        """
        values = {MARGIN: log_odds(log_probabilities, check.positive)}
        if self.evidence_version is not None:
            values |= _counted(check, spans)
        if self._reads_mass:
            values[LABEL_MASS] = _bounded_mass(log_probabilities)
        if self.basis is not None:
            found = coordinates(self.basis, hidden)
            values |= {f"{HIDDEN}{number}": value for number, value in enumerate(found, start=1)}
        total = self.bias
        for each in self.inputs:
            value = (values[each.name] - each.mean) / each.scale
            if each.name != MARGIN:
                value = max(-REACH, min(REACH, value))
            total += each.weight * value
        return min(1 - LEAST, max(LEAST, _sigmoid(total)))


def _check_basis(basis: Basis) -> None:
    rows = (basis.mean, *basis.components)
    if len(rows) < 2 or any(len(row) != len(basis.mean) for row in rows):
        raise ValueError("every component of the basis has as many numbers as its mean")
    if len(basis.components) >= len(basis.mean):
        raise ValueError("a basis has fewer components than dimensions")
    if not all(math.isfinite(value) for row in rows for value in row):
        raise ValueError("the numbers of the basis must be finite")


def log_odds(log_probabilities: Mapping[str, float], positive: str) -> float:
    """Return ln(P(positive) / P(any other label)), whatever the label mass."""
    return log_probabilities[positive] - _log_total(
        [value for label, value in log_probabilities.items() if label != positive]
    )


def plain_values(
    check: Check, log_probabilities: Mapping[str, float], spans: Sequence[ChunkSpan] | None = None
) -> dict[str, float]:
    """Return every input that needs no hidden state, by name.

    Args:
        check: What was asked.
        log_probabilities: The judge's raw answer.
        spans: What was shown of the chunks; None = all of them.
    """
    return {
        MARGIN: log_odds(log_probabilities, check.positive),
        LABEL_MASS: _bounded_mass(log_probabilities),
        **_counted(check, spans),
    }


def _counted(check: Check, spans: Sequence[ChunkSpan] | None) -> dict[str, float]:
    return dict(zip(FEATURES, features(*asked_about(check, spans)), strict=True))


def _bounded_mass(log_probabilities: Mapping[str, float]) -> float:
    return max(_LOWEST, min(0.0, _log_total(list(log_probabilities.values()))))


def coordinates(basis: Basis, hidden: Sequence[float] | None) -> tuple[float, ...]:
    """Return the coordinates of a hidden state along a basis.

    Args:
        basis: The directions.
        hidden: The whole state, or its coordinates, which a judge that was opened with the basis keeps.

    Raises:
        ConfigError: There is no state, or it is of neither size.
    """
    size, directions = len(basis.mean), len(basis.components)
    if hidden is not None and len(hidden) == directions:
        return tuple(hidden)
    if hidden is None or len(hidden) != size:
        found = "none" if hidden is None else f"one of {len(hidden)} numbers"
        raise ConfigError(
            f"the calibration reads the judge's hidden state ({size} numbers, or {directions} coordinates), "
            f"and a verdict carries {found}.",
            hint="open the judge with its hidden states, or use a calibration of another kind",
        )
    import numpy as np

    return basis.project(np.asarray(hidden, np.float64))


def recalibrated(log_probabilities: Mapping[str, float], positive: str, chance: float) -> dict[str, float]:
    """Return log-probabilities of the same label mass in which the positive label has a given share.

    The other labels keep their proportions. Six decimals, as everywhere.

    Args:
        log_probabilities: Those to start from.
        positive: The positive label.
        chance: Its share, in (0, 1).
    """
    mass = min(0.0, _log_total(list(log_probabilities.values())))
    others = _log_total([value for label, value in log_probabilities.items() if label != positive])
    return {
        label: round(
            mass + (math.log(chance) if label == positive else math.log1p(-chance) + value - others), 6
        )
        for label, value in log_probabilities.items()
    }


def _log_total(values: Sequence[float]) -> float:
    if len(values) == 1:
        return values[0]
    top = max(values)
    return top + math.log(sum(math.exp(value - top) for value in values))


def _sigmoid(value: float) -> float:
    if value < 0:
        return math.exp(value) / (1 + math.exp(value))
    return 1 / (1 + math.exp(-value))
