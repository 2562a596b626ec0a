"""Taking a model file of the user's own into the models folder."""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

from ragjudge.errors import ModelFileError, UsageError
from ragjudge.gguf.digest import compute_sha256
from ragjudge.gguf.header import read_metadata
from ragjudge.gguf.locate import models_dir
from ragjudge.gguf.manifest import ModelEntry, load_manifest

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")


class Added(NamedTuple):
    """What became of an added file.

    Attributes:
        path: The file in the models folder.
        entry: The manifest's entry with the same sha256, or None.
        sha256: Its digest.
        was_there: Whether it was there already.
    """

    path: Path
    entry: ModelEntry | None
    sha256: str
    was_there: bool


def add(file: Path, name: str | None = None) -> Added:
    """Put a GGUF file into the models folder, as a hard link where that is possible, else as a copy.

    Args:
        file: The file.
        name: The name it shall have; by default the manifest's file name for a known model, else its own.

    Raises:
        ModelFileError: The file is no usable GGUF.
        UsageError: There is no such file, or the name is not possible or taken by another file.
    """
    if not file.is_file():
        raise UsageError(f"{file}: there is no such file.")
    read_metadata(file)
    source = file.resolve()
    digest = compute_sha256(source)
    entry = load_manifest().by_sha256(digest)
    target = models_dir() / _file_name(file, name, entry)
    if target.is_file():
        if compute_sha256(target) == digest:
            return Added(target, entry, digest, was_there=True)
        raise UsageError(f"{target} is there already with other contents; choose another --name.")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _place(source, target, digest)
    except OSError as error:
        raise ModelFileError(f"{target} could not be written: {error.strerror or error}.") from error
    return Added(target, entry, digest, was_there=False)


def _file_name(file: Path, name: str | None, entry: ModelEntry | None) -> str:
    """Choose the name in the models folder; a manifest's name is only for the manifest's very file."""
    if name is None:
        chosen = entry.file if entry else file.name if file.name.endswith(".gguf") else f"{file.stem}.gguf"
        what = f"the file name {chosen!r}"
    else:
        if not _NAME.match(name):
            raise UsageError(f"--name {name!r}: letters, digits, `.`, `_` and `-` are accepted.")
        known = load_manifest().get(name)
        if known is not None and known == entry:
            return known.file
        if known is not None:
            raise UsageError(f"--name {name!r} is a known model, and this is not its file.")
        chosen = name if name.endswith(".gguf") else f"{name}.gguf"
        what = f"--name {name!r}"
    owner = load_manifest().by_file(chosen)
    if owner is not None and owner != entry:
        raise UsageError(
            f"{what} belongs to the known model {owner.name!r} (sha256 {owner.sha256}), "
            f"and {file} has another sha256; choose another --name."
        )
    return chosen


def _place(source: Path, target: Path, digest: str) -> None:
    """Link or copy under a temporary name, check a copy, then rename."""
    with tempfile.TemporaryDirectory(prefix=".add-", dir=target.parent) as folder:
        temporary = Path(folder) / target.name
        try:
            os.link(source, temporary)
        except OSError as error:
            if error.errno not in (errno.EXDEV, errno.EPERM, errno.EACCES, errno.EMLINK, errno.ENOTSUP):
                raise
            shutil.copyfile(source, temporary)
            if compute_sha256(temporary) != digest:
                raise ModelFileError(f"{source} changed while it was copied; nothing was added.") from error
        temporary.replace(target)
