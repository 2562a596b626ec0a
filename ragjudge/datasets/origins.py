"""Where a sample comes from, for messages about what it lacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragjudge.datasets.columns import ACCEPTED, asides_of
from ragjudge.errors import nearest

_MISSPELT = 0.85
"""How alike two names must be; ``reference_contexts`` is another column than ``retrieved_contexts``."""


@dataclass(frozen=True)
class Origin:
    """Where a sample comes from.

    Attributes:
        where: Its place for messages, e.g. ``rows.jsonl, line 3``.
        given: Names of what was given there, as written.
        accepted: For each field of a sample the names it may have there.
    """

    where: str
    given: tuple[str, ...]
    accepted: Mapping[str, Sequence[str]] = field(default_factory=lambda: ACCEPTED)

    def without(self, fields: Sequence[str]) -> str:
        """Say what was given in the place of fields, and by which names they would be known."""
        known = {name for names in self.accepted.values() for name in names}
        found = f"given: {', '.join(self.given) or 'nothing'}."
        for wanted in fields:
            for name in self.given:
                near = None if name in known else nearest(name, self.accepted[wanted], cutoff=_MISSPELT)
                if near:
                    found += f" Is {name!r} meant to be {near!r}?"
        names = "; ".join(f"as {wanted}: {', '.join(self.accepted[wanted])}" for wanted in fields)
        return f"{found} Accepted {names}."


def origin_of_columns(columns: Mapping[str, Any], where: str) -> Origin:
    """Return the origin of the sample that a row makes.

    Args:
        columns: The columns of a row that makes a sample.
        where: Its place.
    """
    asides = asides_of(columns)
    given = tuple(
        f"{name} (what an ideal retriever finds)" if name in asides else name
        for name, value in columns.items()
        if value is not None
    )
    if not asides:
        return Origin(where, given)
    contexts = tuple(name for name in ACCEPTED["contexts"] if name not in asides)
    return Origin(where, given, {**ACCEPTED, "contexts": contexts})
