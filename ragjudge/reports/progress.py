"""A progress bar for long judging; silent for short work and wherever nobody watches."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from ragjudge.reports import numbers

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

_DELAY = 1.0
"""Seconds before the bar appears: a replay is over by then and prints nothing."""


class Progress:
    """Counts the calls of a run and shows them on a terminal; a context manager.

    The bar goes to ``console``, which should write to stderr, and is wiped when the work is done.
    Counting works without a terminal as well; then nothing is ever written.

    Args:
        total_calls: Distinct calls that are expected.
        console: Where to draw.
        quiet: Never draw.
        delay: Seconds before the bar appears.
        clock: Seconds of a clock that never goes back.
    """

    def __init__(
        self,
        total_calls: int,
        console: Console,
        *,
        quiet: bool = False,
        delay: float = _DELAY,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.total = total_calls
        self.judged = 0
        self.replayed = 0
        self.failed = 0
        self.rows = 0
        self._console = console
        self._clock = clock
        self._delay = delay
        self._enabled = not quiet and _is_watched(console)
        # The bar is shown by a timer, not by the next call: a model may take half a minute to load.
        self._lock = threading.RLock()
        self._timer: threading.Timer | None = None
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._first: tuple[int, float] | None = None
        self._last: tuple[int, float] | None = None

    def __enter__(self) -> Progress:
        if self._enabled:
            self._timer = threading.Timer(self._delay, self._show)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._enabled = False
            if self._timer is not None:
                self._timer.cancel()
            if self._bar is not None:
                self._bar.stop()
                self._bar = None

    @property
    def done(self) -> int:
        """Calls that are settled, one way or another."""
        return self.judged + self.replayed + self.failed

    def advance(self, *, judged: int = 0, replayed: int = 0, failed: int = 0) -> None:
        """Count calls that were settled.

        Args:
            judged: Answered by the judge.
            replayed: Answered by the cache.
            failed: Answered by nobody.
        """
        with self._lock:
            self.judged += judged
            self.replayed += replayed
            self.failed += failed
            if judged or failed:
                self._last = (self.judged + self.failed, self._clock())
                self._first = self._first or self._last
            self._draw()

    def row_done(self) -> None:
        """Count a row whose scores are complete."""
        with self._lock:
            self.rows += 1
            self._draw()

    def set_total(self, total_calls: int) -> None:
        """Expect another number of calls, e.g. when a batch of rows was planned."""
        with self._lock:
            self.total = total_calls
            self._draw()

    def remaining(self) -> float | None:
        """Return the estimated seconds that are left; None before two batches were judged.

        Measured from the first judged batch on, since neither the calls of the cache nor the loading of
        the model say anything about the pace of the judge.
        """
        if self._first is None or self._last is None or self._last[0] == self._first[0]:
            return None
        pace = (self._last[1] - self._first[1]) / (self._last[0] - self._first[0])
        return max(self.total - self.done, 0) * pace

    def status(self) -> str:
        """Return the counts and the estimate as one line."""
        parts = [f"{numbers.ratio(self.done, max(self.total, self.done))} calls"]
        if self.replayed:
            parts.append(f"{numbers.count(self.replayed)} replayed")
        if self.failed:
            parts.append(f"{numbers.count(self.failed)} failed")
        if self.rows:
            parts.append(f"{numbers.counted(self.rows, 'row')} done")
        left = self.remaining()
        if left is not None and self.done < self.total:
            parts.append(f"about {numbers.duration(max(left, 1.0), whole=True)} left")
        return ", ".join(parts)

    def _show(self) -> None:
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar

        with self._lock:
            if not self._enabled:  # the work ended while the timer fired
                return
            # Redirecting stdout would send what a user's own program prints to stderr.
            self._bar = Bar(
                BarColumn(bar_width=24),
                TextColumn("{task.description}", markup=False),
                console=self._console,
                transient=True,
                redirect_stdout=False,
            )
            self._task = self._bar.add_task(self.status(), total=max(self.total, 1), completed=self.done)
            self._bar.start()

    def _draw(self) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(
                self._task,
                completed=self.done,
                total=max(self.total, self.done, 1),
                description=self.status(),
            )


def _is_watched(console: Console) -> bool:
    """Whether a person sees what is drawn; forced colours in a log file are no person."""
    if not console.is_interactive:
        return False
    try:
        return console.file.isatty()
    except (AttributeError, ValueError):  # no such method, or closed
        return False
