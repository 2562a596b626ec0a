"""Keeps the states of expensive prefixes on disk, so that a rerun decodes only what changed.

The usual rerun changes answers and keeps contexts. A state is llama.cpp's own memory image of a prefix
(about 28 KB a token for the default model), valid for exactly these tokens in exactly this setting. Each
file carries its scope and a sha256, because llama.cpp itself accepts a state with flipped bytes. Whatever
does not fit in every respect is a miss, never an error: the prefix is then decoded as if there were none.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import tempfile
import time
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ragjudge.errors import ConfigError
from ragjudge.gguf.digest import data_home
from ragjudge.judges.base import canonical_json
from ragjudge.judges.steps import Tokens

if TYPE_CHECKING:
    from pydantic import JsonValue

ENVIRONMENT_VARIABLE = "RAGJUDGE_PREFIX_STORE"
"""Bounds the store when no suite does: a size such as ``8GiB``, or ``off``."""

DEFAULT_BOUND = 2 << 30
"""Bytes that the store may hold."""

LEAST_TOKENS = 64
"""A shorter prefix is decoded faster than it is worth a file."""

LEAST_SECONDS = 0.25
"""A prefix that is decoded in less is not kept: a GPU decodes what a disk would have to read."""

_MAGIC = b"ragjudge-state-1\n"
_SUFFIX = ".state"
_TEMPORARY = ".state-"
_STALE_SECONDS = 3600.0
_SIZE = re.compile(r"\s*(\d{1,30}(?:\.\d{1,30})?)\s*([kmgt]?)(i?)b?\s*", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def parse_bound(text: str) -> int:
    """Read a bound: ``off`` (0), or a size such as ``8GiB``, ``500 MB`` or ``1000000``.

    Returns:
        Bytes; 0 = no store.

    Raises:
        ConfigError: The text is neither.
    """
    if text.strip().lower() in ("off", "0", "none"):
        return 0
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ConfigError(f"prefix store: {text!r} is no size; accepted: off, or a size such as 8GiB.")
    number, power, binary = match.groups()
    return int(float(number) * (1024 if binary else 1000) ** _POWERS[power.lower()])


def default_bound() -> int:
    """Return the bound of ``$RAGJUDGE_PREFIX_STORE``, else 2 GiB.

    Raises:
        ConfigError: The variable holds no size.
    """
    text = os.environ.get(ENVIRONMENT_VARIABLE, "")
    return parse_bound(text) if text.strip() else DEFAULT_BOUND


class PrefixStore:
    """States by scope and tokens.

    Entries that no recent run has used go first. What this run has used or written is never removed: when
    there is no room left, new states are not admitted, so that a suite larger than the bound still hits.

    Args:
        scope: Everything that must be equal for a state to be valid, as plain JSON data: the judge's
            fingerprint, llama.cpp's build, memory types and settings.
        bound: Bytes that the whole folder may hold.
        directory: The folder; None = ``prefixes`` in ragjudge's data folder.
    """

    def __init__(self, scope: Mapping[str, JsonValue], bound: int, directory: Path | None = None) -> None:
        self.bound = bound
        self.directory = directory or data_home() / "prefixes"
        self._scope = canonical_json(dict(scope)).encode("ascii")
        self._started = time.time()
        self._used: set[Path] = set()
        self._full = bound <= 0

    def holds(self, tokens: Tokens) -> bool:
        """Say whether there is a state for exactly these tokens; its content is checked when it is loaded."""
        return self._path(tokens).is_file()

    def wants(self, tokens: Tokens, seconds: float) -> bool:
        """Say whether a state is worth keeping.

        Args:
            tokens: The tokens.
            seconds: What decoding them took.
        """
        worth = len(tokens) >= LEAST_TOKENS and seconds >= LEAST_SECONDS
        return worth and not self._full and not self.holds(tokens)

    def load(self, tokens: Tokens) -> memoryview | None:
        """Return a state, or None when there is none that is whole and fits.

        The bytes are read once and copied nowhere: a state has tens of megabytes.
        """
        path = self._path(tokens)
        try:
            with path.open("rb") as file:
                data = bytearray(os.fstat(file.fileno()).st_size)
                if file.readinto(data) != len(data):
                    return None
        except OSError:
            return None
        state = self._checked(data, tokens)
        if state is None:
            self._remove(path)
            return None
        self._used.add(path)
        with contextlib.suppress(OSError):
            os.utime(path, (self._started, self._started))
        return state

    def save(self, tokens: Tokens, state: bytes) -> None:
        """Keep a state if there is room. A disk that refuses is a store that is full."""
        head = self._head(tokens, state)
        if not self._make_room(len(head) + len(state)):
            self._full = True
            return
        path = self._path(tokens)
        temporary = None
        try:
            self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, temporary = tempfile.mkstemp(prefix=_TEMPORARY, dir=self.directory)
            with os.fdopen(handle, "wb") as file:
                file.write(head)
                file.write(state)
            Path(temporary).replace(path)
            os.utime(path, (self._started, self._started))
        except OSError:
            self._full = True
            if temporary is not None:
                self._remove(Path(temporary))
            return
        self._used.add(path)

    # -- files -------------------------------------------------------------------------------------

    def _path(self, tokens: Tokens) -> Path:
        name = hashlib.sha256(self._scope + b"\n" + array("i", tokens).tobytes()).hexdigest()
        return self.directory / f"{name}{_SUFFIX}"

    def _head(self, tokens: Tokens, state: bytes | memoryview) -> bytes:
        about = {
            "scope": json.loads(self._scope),
            "tokens": hashlib.sha256(array("i", tokens).tobytes()).hexdigest(),
            "length": len(tokens),
            "size": len(state),
            "sha256": hashlib.sha256(state).hexdigest(),
        }
        return _MAGIC + canonical_json(about).encode("ascii") + b"\n"

    def _checked(self, data: bytearray, tokens: Tokens) -> memoryview | None:
        """Return the state in a file's content when the head is exactly the one that belongs to it."""
        end = data.find(b"\n", len(_MAGIC))
        if not data.startswith(_MAGIC) or end < 0:
            return None
        state = memoryview(data)[end + 1 :]
        return state if data[: end + 1] == self._head(tokens, state) else None

    def _make_room(self, needed: int) -> bool:
        """Remove what the most recent runs have not used until `needed` bytes fit; say whether they do."""
        entries = []
        total = 0
        try:
            for entry in os.scandir(self.directory):
                status = entry.stat()
                if entry.name.startswith(_TEMPORARY) and status.st_mtime < self._started - _STALE_SECONDS:
                    self._remove(Path(entry.path))  # left behind by a killed run
                elif entry.name.endswith(_SUFFIX):
                    total += status.st_size
                    entries.append((status.st_mtime, status.st_size, Path(entry.path)))
        except FileNotFoundError:
            pass
        except OSError:
            return False
        removable = sorted(entry for entry in entries if entry[2] not in self._used)
        keep = total - sum(size for _, size, _ in removable)
        if keep + needed > self.bound:
            return False
        for _, size, path in removable:
            if total + needed <= self.bound:
                break
            self._remove(path)
            total -= size
        return True

    def _remove(self, path: Path) -> None:
        with contextlib.suppress(OSError):
            path.unlink()
