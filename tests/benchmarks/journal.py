"""What has been measured already: one JSON object a line, so that an interruption costs one case at most."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Result = dict[str, Any]

_GIVE_WAY_SECONDS = 1.0
"""A lock goes to whoever asks first, so that others get their turn between two measurements."""


class Journal:
    """Finished measurements in a file.

    A measurement counts as finished for the inputs it was made with: other inputs are measured anew, and
    the newest line of a key holds.

    Args:
        path: The file; made when it is missing.
        say: Told what is being measured.
        lock: A file to be locked during each measurement, so that other work on this machine that takes the
            same lock runs between measurements; None = nothing else runs.
    """

    def __init__(self, path: Path, say: Callable[[str], None], lock: Path | None = None) -> None:
        self.path = path
        self.say = say
        self._lock = lock
        self._finished: dict[str, tuple[str, Result]] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                entry = _entry(line)
                if entry is not None:
                    self._finished[entry["key"]] = (entry["inputs"], entry["result"])

    def measure(self, key: str, inputs: Any, run: Callable[[], Result]) -> Result:
        """Return the result under a key, measuring it when it is not there.

        Args:
            key: Its name, e.g. ``ragas/ours/bridges``.
            inputs: Everything that was given to the measurement, as plain JSON.
            run: Measures.
        """
        if self.has(key, inputs):
            return self._finished[key][1]
        with self._alone():
            self.say(f"measuring {key} …")
            started = time.perf_counter()
            result = run()
            self.say(f"  {time.perf_counter() - started:.1f} s")
        given, at = _digest(inputs), time.strftime("%Y-%m-%dT%H:%M:%S")
        entry = {"key": key, "inputs": given, "at": at, "result": result}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")
        self._finished[key] = (given, result)
        return result

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lock, if there is one, and let others have it first."""
        if self._lock is None:
            yield
            return
        import fcntl

        time.sleep(_GIVE_WAY_SECONDS)
        with self._lock.open("ab") as file:  # closing it gives the lock back
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def has(self, key: str, inputs: Any) -> bool:
        """Say whether a measurement was made with these inputs."""
        known = self._finished.get(key)
        return known is not None and known[0] == _digest(inputs)

    def forget(self, prefix: str) -> int:
        """Forget the measurements whose keys begin so, in the file too; return how many."""
        gone = [key for key in self._finished if key.startswith(prefix)]
        for key in gone:
            del self._finished[key]
        if gone:
            lines = self.path.read_text(encoding="utf-8").splitlines()
            kept = [line for line in lines if (entry := _entry(line)) and entry["key"] not in gone]
            self.path.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
        return len(gone)


def _entry(line: str) -> Mapping[str, Any] | None:
    """Read a line; None for one that an interruption cut off."""
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) and {"key", "inputs", "result"} <= set(entry) else None


def _digest(inputs: Any) -> str:
    text = json.dumps(inputs, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:16]
