"""The text files that a suite names."""

from __future__ import annotations

import stat
from pathlib import Path

from ragjudge.errors import ConfigError
from ragjudge.suites.yaml_file import MAX_BYTES

SUFFIXES = (".txt", ".md")
"""Suffixes of the files that a text may name. promptfoo would run or parse most others."""


class TextFiles:
    """The text files of one suite. However many rows name a file, it is read and held once.

    Args:
        base: The folder that relative paths are relative to.
    """

    def __init__(self, base: Path) -> None:
        self._base = base
        self._texts: dict[Path, str] = {}

    def read(self, name: str, what: str) -> str:
        """Return the text of a file, without the blanks around it.

        Args:
            name: The path as written, with one of `SUFFIXES`.
            what: The place that names it, for messages.

        Raises:
            ConfigError: It cannot be read, is no regular file, has more than `MAX_BYTES`, or is not UTF-8.
        """
        try:
            path = self._base / Path(name).expanduser()
        except RuntimeError as error:
            raise ConfigError(f"{what}: {name!r} cannot be read: {error}") from error
        if path not in self._texts:
            self._texts[path] = _text(path, what)
        return self._texts[path]


def _text(path: Path, what: str) -> str:
    try:
        status = path.stat()
        # A pipe would be waited for, and a device may have no end.
        if not stat.S_ISREG(status.st_mode):
            raise ConfigError(f"{what}: {path} is no regular file.")
        if status.st_size > MAX_BYTES:
            raise ConfigError(f"{what}: {path} has {status.st_size:,} bytes; accepted: up to {MAX_BYTES:,}.")
        return path.read_bytes().decode("utf-8-sig").strip()
    except FileNotFoundError as error:
        raise ConfigError(f"{what}: there is no file {path}.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{what}: {path} is not UTF-8.", hint="save the file as UTF-8") from error
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ConfigError(f"{what}: {str(path)!r} cannot be read: {why}.") from error
