"""Downloads run in a child process: it can be watched, and given up at an exact second.

Time-outs inside a network library bound single steps (a name look-up, a connection, a retry), never their
sum; the end of a process bounds everything.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ragjudge.errors import JudgeUnavailableError

_TICK_SECONDS = 0.2


def run_child(
    command: Sequence[str],
    folder: Path,
    *,
    env: Mapping[str, str],
    tick: Callable[[float, str], None],
) -> str:
    """Run a command to its end and return what it wrote to its standard output.

    Args:
        command: The command and its arguments.
        folder: Its working folder; its output is kept there in ``stdout`` and ``stderr``.
        env: Variables set for it in addition to this process's own.
        tick: Called about five times a second with the seconds since the start and the standard output so
            far. It may raise, which ends the child.

    Raises:
        JudgeUnavailableError: The child failed; the message is the last line of its standard error.
    """
    out, err = folder / "stdout", folder / "stderr"
    start = time.monotonic()
    with out.open("wb") as out_file, err.open("wb") as err_file:
        child = subprocess.Popen(  # noqa: S603 - our own interpreter, no shell
            command,
            cwd=folder,
            env={**os.environ, **env},
            stdin=subprocess.DEVNULL,
            stdout=out_file,
            stderr=err_file,
        )
        try:
            while True:
                try:
                    child.wait(_TICK_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    tick(time.monotonic() - start, _text(out))
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()
    if child.returncode != 0:
        raise JudgeUnavailableError(_last_line(_text(err)) or f"exit code {child.returncode}")
    return _text(out)


class Watch:
    """Follows a download by the largest file under a folder, and notices when nothing comes any more.

    Args:
        folder: The folder the download writes to.
        on_bytes: Called with the bytes that are there, each time it is asked.
        stall_seconds: Seconds without a new byte after which the download is given up.
    """

    def __init__(self, folder: Path, on_bytes: Callable[[int], None], stall_seconds: float) -> None:
        self._folder = folder
        self._on_bytes = on_bytes
        self._stall_seconds = stall_seconds
        self._bytes = 0
        self._since: float | None = None

    def look(self, now: float) -> None:
        """Report the bytes there are.

        Args:
            now: Seconds on any clock that only goes forward.

        Raises:
            JudgeUnavailableError: No new byte for too long.
        """
        size = largest_file(self._folder)
        if self._since is None or size > self._bytes:
            self._bytes, self._since = size, now
        elif now - self._since > self._stall_seconds:
            raise JudgeUnavailableError(f"no data for {self._stall_seconds:.0f} seconds")
        self._on_bytes(size)


def largest_file(folder: Path) -> int:
    """Return the size in bytes of the largest file under a folder, 0 when there is none."""
    return max((_size(Path(place, name)) for place, _, names in os.walk(folder) for name in names), default=0)


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0  # it was renamed or removed meanwhile


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""
