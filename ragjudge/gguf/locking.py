"""One process at a time: a lock that lasts as long as its holder, also when the holder is killed."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

_PAUSE_SECONDS = 0.2


@contextlib.contextmanager
def locked(path: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Hold the lock file ``path`` while the block runs, and remove it afterwards.

    A file system without locks is no reason to stop: what is done under the lock checks its own result,
    and the lock only spares two processes the same work.

    Args:
        path: The lock file; its folder exists.
        on_wait: Called once when somebody else holds the lock.

    Raises:
        OSError: The lock file cannot be created.
    """
    file = _acquire(path, on_wait)
    try:
        yield
    finally:
        # Removed while it is held: whoever waits finds out that the file is not the named one any more.
        # (Windows refuses to remove an open file; it stays there, empty.)
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
        file.close()


def _acquire(path: Path, on_wait: Callable[[], None]) -> BinaryIO:
    waited = False
    while True:
        file = path.open("a+b")
        try:
            taken = _try_lock(file)
        except BaseException:
            file.close()
            raise
        if taken and _is_named(file, path):
            return file
        file.close()
        if not taken:
            if not waited:
                waited = True
                on_wait()
            time.sleep(_PAUSE_SECONDS)


def _is_named(file: BinaryIO, path: Path) -> bool:
    """Return whether the open file is still the one its path names."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


if sys.platform == "win32":

    def _try_lock(file: BinaryIO) -> bool:
        import msvcrt

        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:

    def _try_lock(file: BinaryIO) -> bool:
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return True  # no locks on this file system
        return True
