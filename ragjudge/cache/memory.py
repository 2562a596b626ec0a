"""A cache that lasts as long as the process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ragjudge.cache.rows import RowStore


class MemoryStore(RowStore):
    """A store that lasts as long as the process: what ``--no-cache`` uses."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: dict[str, str] = {}

    @property
    def location(self) -> str:
        """The word ``memory``."""
        return "memory"

    def _read(self, names: Sequence[str]) -> dict[str, str]:
        return {name: self._rows[name] for name in names if name in self._rows}

    def _scan(self, prefix: str) -> Iterator[tuple[str, str]]:
        yield from sorted((name, text) for name, text in self._rows.items() if name.startswith(prefix))

    def _write(self, rows: dict[str, str]) -> None:
        self._rows.update(rows)

    def _bytes(self) -> int:
        return sum(len(name) + len(text) for name, text in self._rows.items())
