"""Ctrl-C as a request: the first one lets what is in flight end, the second one does not wait.

Python tells the main thread of a signal only between two of its own steps, and of two signals once. A judge
can be in llama.cpp for many seconds. So another thread counts what the system itself notes.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

PATIENCE = 1.0
"""Seconds that the main thread has to react to the second Ctrl-C before the process ends without it."""

_ASKED = b"\nStopping after what is in flight; press Ctrl-C again to stop at once.\n"
_ENDED = b"\nStopped at once; what was judged is where it was kept so far.\n"
_INTERRUPTED = 130


@contextmanager
def stop_on_interrupt() -> Iterator[Callable[[], bool]]:
    """Yield the question whether Ctrl-C was pressed; a second one raises `KeyboardInterrupt`.

    Where the main thread does not come to that, the second one ends the process (exit code 130). Outside of
    the main thread, where no signals come, the answer is always no.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    counter = _Counter()
    previous = signal.signal(signal.SIGINT, counter.note)
    told = signal.set_wakeup_fd(counter.writer.fileno(), warn_on_full_buffer=False)
    try:
        yield lambda: counter.asked
    finally:
        signal.set_wakeup_fd(told)
        signal.signal(signal.SIGINT, previous)
        counter.close()


class _Counter:
    """Counts Ctrl-C, in the main thread as far as that runs, and in a thread of its own."""

    def __init__(self) -> None:
        self.asked = False
        self._noted = self._counted = 0
        self._reacted = threading.Event()
        reader, self.writer = socket.socketpair()
        self.writer.setblocking(False)
        self._thread = threading.Thread(target=self._count, args=(reader,), daemon=True)
        self._thread.start()

    def note(self, number: int, frame: FrameType | None) -> None:
        """Take a signal in the main thread."""
        self.asked = True
        self._noted += 1
        if max(self._noted, self._counted) > 1:
            self._reacted.set()
            raise KeyboardInterrupt

    def _count(self, reader: socket.socket) -> None:
        with reader:
            while numbers := reader.recv(64):
                for _ in range(numbers.count(signal.SIGINT)):
                    self._counted += 1
                    if self._counted == 1:
                        self.asked = True
                        _say(_ASKED)
                    elif not self._reacted.wait(PATIENCE):
                        _say(_ENDED)
                        os._exit(_INTERRUPTED)

    def close(self) -> None:
        """Stop counting."""
        self._reacted.set()
        self.writer.close()
        self._thread.join()


def _say(line: bytes) -> None:
    with suppress(OSError):
        os.write(2, line)  # a buffered stream could be in the middle of a write of its own
