"""Texts on the command line: as they are, from standard input (``-``) or from a file (``@FILE``)."""

from __future__ import annotations

import sys
from pathlib import Path

from ragjudge.errors import DataError


def read_text_argument(value: str) -> str:
    """Return the text that an argument names.

    Args:
        value: ``-`` for standard input, ``@FILE`` for a UTF-8 file (a byte order mark is dropped), anything
            else for itself.

    Raises:
        DataError: The file is missing, cannot be read or is not UTF-8.
    """
    if value == "-":
        return _decoded(sys.stdin.buffer.read(), "standard input")
    if not value.startswith("@"):
        return value
    name = value[1:]
    if not name:
        raise DataError("@ without a file name: @FILE reads a file, - reads standard input.")
    try:
        data = Path(name).read_bytes()
    except FileNotFoundError:
        hint = "a text that itself begins with @ can be given through standard input: -"
        raise DataError(f"{name}: there is no such file.", hint=hint) from None
    except IsADirectoryError:
        raise DataError(f"{name}: is a folder; a UTF-8 text file is needed.") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise DataError(f"{name}: cannot be read ({why}).") from error
    return _decoded(data, name)


def _decoded(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The decoder counts behind a byte order mark; a person's editor counts from the file's first byte.
        offset = error.start + (3 if data.startswith(b"\xef\xbb\xbf") else 0)
        found = data[offset]
        message = f"{where}: is not UTF-8 text (byte 0x{found:02x} at byte offset {offset})."
        raise DataError(message, hint="save the text as UTF-8") from None
