"""From what a person wrote for a judge to the model file on this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from ragjudge.errors import ModelFileError, ModelMissingError, UnknownNameError
from ragjudge.gguf.digest import data_home
from ragjudge.gguf.manifest import ModelEntry, checkout_root, load_manifest


class Located(NamedTuple):
    """Where a reference leads.

    Attributes:
        path: The file, or None when it is not on this machine.
        entry: What the manifest knows about it; None for a file of the user's own.
    """

    path: Path | None
    entry: ModelEntry | None


def models_dir() -> Path:
    """Return the folder of the model files; it need not exist.

    It is ``$RAGJUDGE_MODELS``, else ``models`` in the checkout this package is imported from, else
    ``models`` in ragjudge's data folder.
    """
    chosen = os.environ.get("RAGJUDGE_MODELS")
    if chosen:
        return Path(chosen).expanduser()
    root = checkout_root()
    return (root or data_home()) / "models"


def added_files() -> list[Path]:
    """Return the GGUF files in the models folder that are not the manifest's, sorted by name."""
    try:
        files = sorted(models_dir().glob("*.gguf"))
    except OSError:
        return []
    known = {entry.file for entry in load_manifest()}
    return [file for file in files if file.name not in known and file.is_file()]


def looks_like_path(reference: str) -> bool:
    """Return whether a reference can only be meant as a path, not as a name."""
    return (
        reference.endswith(".gguf")
        or reference.startswith(("~", "."))
        or os.sep in reference
        or "/" in reference
    )


def locate(reference: str | Path) -> Located:
    """Find the model file that a reference means.

    In this order: a name of the manifest; an existing path; the stem or file name of a file in the
    models folder, known to the manifest or added by the user.

    Args:
        reference: A manifest name, the name of an added file, or the path of a ``.gguf``.

    Returns:
        The file and the manifest's entry. The path is None for a known model that is not here, and for
        something that can only be a path and does not exist.

    Raises:
        ModelFileError: The path is a folder.
        UnknownNameError: Neither a known name nor a path.
    """
    text = os.fspath(reference)
    manifest = load_manifest()
    is_path = isinstance(reference, Path) or looks_like_path(text)
    entry = manifest.get(text)
    if entry is not None and not is_path:
        return _of_entry(entry)
    if is_path:
        path = Path(text).expanduser()
        if path.is_dir():
            raise ModelFileError(f"{path} is a folder, not a model file.")
        if path.is_file():
            return Located(path, _entry_of(path))
    entry = manifest.by_file(text) or manifest.by_file(f"{text}.gguf")
    if entry is not None:
        return _of_entry(entry)
    added = added_files()
    for file in added:
        if text in (file.name, file.stem):
            return Located(file, None)
    if is_path:
        return Located(None, None)
    raise UnknownNameError("model", text, [*manifest.names, *(file.stem for file in added)])


def existing_path(reference: str | Path) -> Path:
    """Return the model file that a reference means, which must be here.

    Args:
        reference: As for `locate`.

    Raises:
        ModelMissingError: The file is not on this machine.
        ModelFileError: The path is a folder.
        UnknownNameError: Neither a known name nor a path.
    """
    located = locate(reference)
    if located.path is not None:
        return located.path
    raise missing(reference, located.entry)


def missing(reference: str | Path, entry: ModelEntry | None) -> ModelMissingError:
    """Return the error for a model file that is not here, with what to do about it.

    Args:
        reference: What was asked for.
        entry: What the manifest knows about it.
    """
    if entry is None:
        return ModelMissingError(f"model file {os.fspath(reference)!r}: there is no such file.")
    return ModelMissingError(
        f"model {entry.name!r} is not on this machine: {models_dir() / entry.file} is missing.",
        hint=f"get it with `ragjudge models pull {entry.name}`",
    )


def _of_entry(entry: ModelEntry) -> Located:
    path = models_dir() / entry.file
    return Located(path if path.is_file() else None, entry)


def _entry_of(path: Path) -> ModelEntry | None:
    """Return the manifest's entry when the path is that entry's own place in the models folder."""
    entry = load_manifest().by_file(path.name)
    if entry is None:
        return None
    place = models_dir() / entry.file
    return entry if place.is_file() and place.samefile(path) else None
