"""A lock between processes, held while a cache is being opened."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ragjudge.errors import CacheError

LOCK_NAME = ".lock"
"""The file that is locked; where it is, ragjudge has opened a cache."""

_NOT_SUPPORTED = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}
_POLL_SECONDS = 0.02


@contextmanager
def opening_lock(directory: Path, seconds: float) -> Iterator[None]:
    """Hold the lock of a folder; on a file system without locks, go on without.

    Args:
        directory: An existing folder; the file ``.lock`` is made in it.
        seconds: How long to wait for other processes.

    Raises:
        CacheError: Another process held it all that time, or it is a link.
        OSError: The lock file can not be made.
    """
    # A link that someone put in its place must not make us create or lock another file.
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        handle = os.open(directory / LOCK_NAME, flags, 0o600)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise CacheError(f"the cache at {directory} is refused: its file .lock is a link.") from error
    try:
        deadline = time.monotonic() + seconds
        while not _acquire(handle):
            if time.monotonic() > deadline:
                raise CacheError(
                    f"the cache at {directory} is being opened by another process for over {seconds:.0f} s.",
                    hint="end that process, or name another folder with --cache DIR",
                )
            time.sleep(_POLL_SECONDS)
        yield
    finally:
        os.close(handle)  # frees the lock as well


if sys.platform == "win32":

    def _acquire(handle: int) -> bool:
        import msvcrt

        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:

    def _acquire(handle: int) -> bool:
        import fcntl

        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno not in _NOT_SUPPORTED:
                raise
        return True
