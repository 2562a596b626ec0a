"""From the suffix of a file to the format written into it, and the writing itself."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from ragjudge.errors import UsageError
from ragjudge.records import Report
from ragjudge.reports import json

FORMATS: dict[str, Callable[[Report], str]] = {
    ".json": json.render,
    ".jsonl": json.render_rows,
}
"""Suffix, in lower case → the function that renders a report for it."""


def check_output(path: Path, formats: Collection[str] = FORMATS.keys()) -> None:
    """Make sure, before any work is done, that a report can be written to ``path``.

    Args:
        path: The file.
        formats: The suffixes that name a format, in lower case.

    Raises:
        UsageError: The suffix names no format, or the folder or file cannot be written.
    """
    _require_format(path, formats)
    if path.is_dir():
        raise UsageError(f"{path}: is a folder; a report is written to a file.")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {str(path.parent)!r}.", hint="create it first")
    if path.exists() and not os.access(path, os.W_OK):
        raise UsageError(f"{path}: the file is there and must not be written.")
    try:
        # Asking the folder by doing: permission bits say little on Windows and network drives.
        _temporary_beside(path.resolve()).unlink()
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}.") from error


def check_outputs(
    paths: Iterable[Path], *, inputs: Iterable[Path] = (), formats: Collection[str] = FORMATS.keys()
) -> None:
    """Check every output as `check_output` does, and that none of them is another output or an input.

    Args:
        paths: The outputs.
        inputs: Files that are read; a report must not take their place.
        formats: See `check_output`.

    Raises:
        UsageError: An output cannot be written, is named twice, or is an input.
    """
    read = list(inputs)
    seen: list[Path] = []
    for path in paths:
        check_output(path, formats)
        for other in read:
            if _is_same_file(path, other):
                raise UsageError(f"{path}: is read by this command; a report needs a file of its own.")
        for other in seen:
            if _is_same_file(path, other):
                raise UsageError(f"{path}: named twice as output; each report needs a file of its own.")
        seen.append(path)


def write_report(report: Report, path: Path) -> None:
    """Write a report in the format its suffix names; the file is replaced whole or not at all.

    Args:
        report: The report.
        path: The file; a link is followed.

    Raises:
        UsageError: The suffix names no format, or the file cannot be written.
    """
    _require_format(path, FORMATS)
    write_text(FORMATS[path.suffix.lower()](report), path)


def write_text(text: str, path: Path) -> None:
    """Write a text as UTF-8; the file is replaced whole or not at all.

    Args:
        text: The text.
        path: The file; a link is followed.

    Raises:
        UsageError: The file cannot be written.
    """
    data = text.encode("utf-8")
    target = path.resolve()
    try:
        temporary = _temporary_beside(target)
        try:
            if target.exists():
                shutil.copymode(target, temporary)
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}.") from error


def _require_format(path: Path, formats: Collection[str]) -> None:
    if path.suffix.lower() not in formats:
        found = f"the suffix {path.suffix!r}" if path.suffix else "no suffix"
        raise UsageError(f"{path}: {found} names no report format. Accepted: {', '.join(formats)}.")


def _temporary_beside(target: Path) -> Path:
    """Create an empty file of a name of its own in the folder of ``target``."""
    path = target.with_name(f".ragjudge-{secrets.token_hex(6)}.tmp")
    path.open("xb").close()
    return path


def _is_same_file(one: Path, other: Path) -> bool:
    if os.path.normcase(one.resolve()) == os.path.normcase(other.resolve()):
        return True
    return one.exists() and other.exists() and one.samefile(other)
