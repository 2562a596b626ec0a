"""A cache that lasts as long as the process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ragjudge.cache.rows import RowStore, StoredRow


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

    def _scan(self, prefix: str) -> Iterator[StoredRow]:
        for name in sorted(name for name in self._rows if name.startswith(prefix)):
            yield StoredRow(name, self._rows[name], None)

    def _write(self, rows: Mapping[str, str]) -> None:
        self._rows.update(rows)

    def _bytes(self) -> int:
        return sum(len(name) + len(text) for name, text in self._rows.items())
