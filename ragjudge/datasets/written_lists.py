"""Lists that came as text: what a table writes into a cell when it has no lists."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

from ragjudge.datasets.chunks import read_contexts
from ragjudge.datasets.values import describe
from ragjudge.errors import DataError

_ESCAPE = r"\\(?:[\\'\"nrt]|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})"
_TEXT = "(?:" + "|".join(rf"{q}[^{q}\\\n]*(?:{_ESCAPE}[^{q}\\\n]*)*{q}" for q in "'\"") + ")"
_TEXTS = rf"{_TEXT}(?:\s*,\s*{_TEXT})*(?:\s*,)?"

_LIST = re.compile(rf"\[\s*(?:{_TEXTS})?\s*\]|\(\s*{_TEXTS}\s*\)")
"""A list or tuple of texts as Python writes it. Texts that only stand side by side, as numpy writes them,
are none: Python would join them."""

_LIST_OF_ONE = "a single chunk that looks like this can be given as a list of one"

_BEGINNING = re.compile(r"""\[[\s\[({]*(?:[bu]?['"]|[\w.]+\((?:\w+=|['"\[({]))|(?:\w+\.)?array\(\s*\[""")
_BEGUN_TUPLE = re.compile(rf"\(\s*{_TEXT}\s*,")
_SET = re.compile(rf"\{{\s*{_TEXTS}\s*\}}")


def list_or_text(text: str, what: str) -> str | list[str]:
    """Return the list of texts that a text spells out; else the text itself.

    A JSON list of texts, or of objects that hold a chunk's text, is the list of these texts, and so is a
    list or a tuple of texts as Python writes it. A text that only begins like a list (``[1] A footnote.``)
    is a text, and so is a JSON list in which nothing is a text (``[1]``, ``[[0.5, 2]]``), and JSON that is
    no list. Every other list is refused.

    Args:
        text: The text.
        what: The place and name for the message, e.g. ``rows.csv, line 3: 'contexts'``.

    Raises:
        DataError: It looks like a list or a set from beginning to end, and what its members are would have
            to be guessed, or are no texts.
    """
    written = text.strip()
    if written.startswith("["):
        try:
            found = json.loads(written)
        except (ValueError, RecursionError):
            pass
        else:
            return _texts_of(found, what) if '"' in written or not found else text
    if _LIST.fullmatch(written):
        try:
            found = ast.literal_eval(written)
        except (ValueError, SyntaxError):
            raise _unreadable(text, what) from None
        return text if isinstance(found, str) else list(found)
    if _looks_like_a_list(written):
        raise _unreadable(text, what)
    return text


def _texts_of(chunks: list[Any], what: str) -> list[str]:
    try:
        return list(read_contexts(chunks, what))
    except DataError as error:
        raise DataError(error.message, hint=_LIST_OF_ONE) from error


def _looks_like_a_list(written: str) -> bool:
    if _SET.fullmatch(written):
        return True
    if not written.endswith("]" if written.startswith("[") else ")"):
        return False
    return bool(_BEGINNING.match(written) or _BEGUN_TUPLE.match(written))


def _unreadable(text: str, what: str) -> DataError:
    return DataError(
        f"{what} is {describe(text)}, which looks like a list and cannot be read as one; accepted: a text, "
        f"or a list of texts as JSON or Python writes it.",
        hint="pandas: df.to_json(path, orient='records', lines=True) keeps lists as they are; "
        + _LIST_OF_ONE,
    )
