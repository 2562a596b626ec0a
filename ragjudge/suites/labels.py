"""Names of scores within a row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


def unique_labels(names: Iterable[str]) -> list[str]:
    """Return names made unique: the second of the same name becomes ``name#2``, the third ``name#3``."""
    seen: Counter[str] = Counter()
    labels = []
    for name in names:
        seen[name] += 1
        labels.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return labels
