"""Where states of prefixes are kept beyond a run, as the engine sees it."""

from __future__ import annotations

from typing import Protocol

from ragjudge.judges.steps import Tokens


class States(Protocol):
    """Keeps states of prefixes beyond a run."""

    def wants(self, tokens: Tokens, seconds: float) -> bool:
        """Say whether a state is worth keeping, given what decoding it takes."""

    def save(self, tokens: Tokens, state: bytes) -> None:
        """Keep a state."""

    def load(self, tokens: Tokens) -> memoryview | None:
        """Return a state that was kept."""
