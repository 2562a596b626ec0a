"""The last hidden state of a model, as numbers that can be kept: whole, or projected on a basis."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ragjudge.judges.base import digest

if TYPE_CHECKING:
    from ragjudge.judges.llama.grammar import Logits

DIGITS = 4
"""Significant digits that are kept; more are noise of batch shapes."""


@dataclass(frozen=True)
class Basis:
    """A few directions of a model's hidden states.

    Attributes:
        mean: The state that is subtracted first, one number for each dimension.
        components: The directions, each with one number for each dimension.
    """

    mean: tuple[float, ...]
    components: tuple[tuple[float, ...], ...]

    @cached_property
    def digest(self) -> str:
        """The sha256 of the numbers; part of the fingerprint of a judge that projects on them."""
        return digest({"mean": list(self.mean), "components": [list(row) for row in self.components]})

    @cached_property
    def _arrays(self) -> tuple[Any, Any]:
        import numpy as np

        return np.asarray(self.mean, np.float64), np.asarray(self.components, np.float64)

    def project(self, state: Logits) -> tuple[float, ...]:
        """Return a state's coordinates along the components, to 4 significant digits.

        Raises:
            ValueError: The state has another number of dimensions.
        """
        mean, components = self._arrays
        if state.shape != mean.shape:
            raise ValueError(f"a hidden state of {state.size} dimensions, and the basis has {mean.size}")
        return _kept(components @ (state - mean))


Hidden = bool | Basis
"""Whether a judge keeps hidden states: not at all, whole, or projected."""


def kept_state(state: Logits | None, hidden: Hidden) -> tuple[float, ...] | None:
    """Return what is kept of a state."""
    if state is None or hidden is False:
        return None
    return _kept(state) if hidden is True else hidden.project(state)


def identity_of_hidden(hidden: Hidden) -> bool | str:
    """Return what stands in a judge's identity for its hidden states."""
    return hidden if isinstance(hidden, bool) else hidden.digest


def _kept(values: Any) -> tuple[float, ...]:
    return tuple(float(f"{value:.{DIGITS}g}") for value in values)
