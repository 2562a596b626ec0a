"""Ctrl-C as a request: the first one lets what is in flight end, the second one does not wait."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

_ASKED = b"\nStopping after what is in flight; press Ctrl-C again to stop at once.\n"


@contextmanager
def stop_on_interrupt() -> Iterator[Callable[[], bool]]:
    """Yield the question whether Ctrl-C was pressed; a second one raises `KeyboardInterrupt`.

    Outside of the main thread, where no signals come, the answer is always no.
    """
    asked = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        with suppress(OSError):
            os.write(2, _ASKED)  # a buffered stream could be in the middle of a write of its own

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    previous = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, previous)
