"""From the rows of an older version to those of this one.

The rows of a cache are worth more than the version that wrote them: when `rows.STORE_SCHEMA` is raised, a
step is added here that turns each row of the version before into one of the new version, so that a cache of
any age keeps its answers. Steps are never changed or removed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ragjudge.cache.entries import SCHEMA_ROW

if TYPE_CHECKING:
    from ragjudge.cache.disk import TextCache

Step = Callable[[str, str], tuple[str, str] | None]
"""Gets name and text of a row; returns the new ones, or None for a row that is no longer needed."""

STEPS: Mapping[int, Step] = {}
"""The step from each version to the next."""


def migrate(cache: TextCache, target: int, steps: Mapping[int, Step]) -> int:
    """Bring all rows to a version, in one transaction: all of them or none.

    Args:
        cache: The open cache.
        target: The version.
        steps: The step from each earlier version on.

    Returns:
        The version that was found; another process may have done the work meanwhile.

    Raises:
        sqlite3.Error, diskcache.Timeout, OSError: It could not be done; everything is as it was.
        CacheError: A row is none that ragjudge writes.
    """
    with cache.transact():
        found = version = int(cache.read(SCHEMA_ROW) or target)
        while version < target:
            for name in cache.names():
                text = cache.read(name)
                if name == SCHEMA_ROW or text is None:
                    continue
                changed = steps[version](name, text)
                if changed is None:
                    cache.remove_rows([name])
                elif changed != (name, text):
                    cache.rename(name, *changed)
            version += 1
        cache.rename(SCHEMA_ROW, SCHEMA_ROW, str(target))
    return found
