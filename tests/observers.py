from __future__ import annotations


class CountingObserver:
    """Counts what a run tells of its progress."""

    total = judged = replayed = failed = rows = 0

    def set_total(self, total_calls: int) -> None:
        self.total = total_calls

    def advance(self, *, judged: int = 0, replayed: int = 0, failed: int = 0) -> None:
        self.judged += judged
        self.replayed += replayed
        self.failed += failed

    def row_done(self) -> None:
        self.rows += 1
