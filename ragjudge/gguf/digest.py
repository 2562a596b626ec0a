"""The sha256 of a model file, remembered so that a gigabyte is hashed once and not at every start."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from ragjudge.errors import ModelFileError, ModelMissingError

_CHUNK = 1 << 20
_KEPT = 256
"""Digests remembered at most; the oldest go first."""

_SETTLED_NS = 2_000_000_000
"""Age in ns from which a modification time is trusted.

A file written again within one tick of its file system's clock keeps its time (2 s on FAT), so the
digest of a file that changed a moment ago is not remembered yet.
"""


def data_home() -> Path:
    """Return the folder for ragjudge's own data: ``$RAGJUDGE_HOME``, else the user's data folder."""
    chosen = os.environ.get("RAGJUDGE_HOME")
    if chosen:
        return Path(chosen).expanduser()
    import platformdirs

    return platformdirs.user_data_path("ragjudge", appauthor=False)


def compute_sha256(path: Path) -> str:
    """Read the whole file and return its sha256 in lower-case hexadecimal.

    Args:
        path: The file.

    Raises:
        ModelMissingError: There is no such file.
        ModelFileError: It cannot be read.
    """
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except FileNotFoundError as error:
        raise ModelMissingError(f"{path}: there is no such file.") from error
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror}.") from error
    return digest.hexdigest()


def sha256_of(path: Path) -> str:
    """Return the file's sha256, from memory when path, size, modification time and inode are unchanged.

    What cannot be remembered (a damaged memory, a folder that cannot be written) is computed each time.

    Args:
        path: The file.

    Raises:
        ModelMissingError: There is no such file.
        ModelFileError: It cannot be read.
    """
    path = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links; the name is the key
    before = _state(path)
    known = _read().get(str(path))
    if before is not None and isinstance(known, dict) and known.get("state") == before:
        digest = known.get("sha256")
        if isinstance(digest, str) and len(digest) == 64 and not set(digest) - set("0123456789abcdef"):
            return digest
    digest = compute_sha256(path)
    if before is not None and _state(path) == before:
        remember(path, digest)
    return digest


def remember(path: Path, digest: str) -> None:
    """Remember a digest that was just computed; silently does nothing where that is not possible.

    Args:
        path: The file the digest belongs to.
        digest: Its sha256 in lower-case hexadecimal.
    """
    path = Path(os.path.abspath(path))  # noqa: PTH100 - see sha256_of
    state = _state(path)
    if state is None or time.time_ns() - state[1] < _SETTLED_NS:
        return
    entries = _read()
    entries.pop(str(path), None)
    entries[str(path)] = {"state": state, "sha256": digest}
    _write(dict(list(entries.items())[-_KEPT:]))


def _state(path: Path) -> list[int] | None:
    """Return what changes when the file does: size in bytes, modification time in ns, inode."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return [stat.st_size, stat.st_mtime_ns, stat.st_ino]


def _read() -> dict[str, Any]:
    try:
        entries = json.loads((data_home() / "digests.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return entries if isinstance(entries, dict) else {}


def _write(entries: dict[str, Any]) -> None:
    folder = data_home()
    temporary: str | None = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".digests-", dir=folder)
        with open(handle, "w", encoding="utf-8") as file:  # noqa: PTH123 - it is a file descriptor
            json.dump(entries, file, indent=1)
        Path(temporary).replace(folder / "digests.json")
        temporary = None
    except OSError:
        return  # a read-only home costs the time to hash again, nothing else
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
