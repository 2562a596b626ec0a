"""The golden set: texts, and the pieces they must be cut into."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from ragjudge.text.languages import LANGUAGES

FOLDER = Path(__file__).parents[1] / "data" / "splitting"
# ¶ and an empty line end a piece, ⌊…⌋ holds markup that belongs to none.
_BETWEEN = re.compile(r"¶|⌊[^⌋]*⌋|\n[ \t]*\n")


class Case(NamedTuple):
    """One text; the pieces are all of it but white space and markup."""

    group: str
    text: str
    pieces: tuple[str, ...]
    language: str
    abbreviations: tuple[str, ...]


def cases() -> list[Case]:
    """Read every file of the golden set, in the order of their names."""
    return [
        _case(group, case)
        for file in sorted(FOLDER.glob("*.yaml"))
        for group, rows in yaml.safe_load(file.read_text(encoding="utf-8")).items()
        for case in rows
    ]


def _case(group: str, case: str | dict[str, Any]) -> Case:
    row = {"text": case} if isinstance(case, str) else case
    language = row.get("language", group if group in LANGUAGES else "english")
    abbreviations = tuple(row.get("abbreviations", ()))
    if "pieces" in row:
        return Case(group, row["text"], tuple(row["pieces"]), language, abbreviations)
    parts = (part.strip() for part in _BETWEEN.split(row["text"]))
    plain = re.sub("[¶⌊⌋]", "", row["text"])
    return Case(group, plain, tuple(part for part in parts if part), language, abbreviations)
