"""The golden set: texts, and the pieces they must be cut into."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from ragjudge.text.languages import LANGUAGES

FOLDER = Path(__file__).parents[1] / "data" / "splitting"
CLAUSES = FOLDER / "clauses"
# ¶ and an empty line end a piece, ⌊…⌋ holds markup that belongs to none.
# ⟨…⟩ is the subject that the judge reads in front of a clause without one.
_CARRIED = re.compile(r"⟨([^⟩]*)⟩ ")
_BETWEEN = re.compile(r"¶|⌊[^⌋]*⌋|\n[ \t]*\n")


class Case(NamedTuple):
    """One text; the pieces are all of it but white space and markup.

    `carried` has for each clause the subject it shares with the one before, empty where it has its own.
    """

    group: str
    text: str
    pieces: tuple[str, ...]
    language: str
    abbreviations: tuple[str, ...]
    carried: tuple[str, ...] = ()


def cases(folder: Path = FOLDER) -> list[Case]:
    """Read every file of the golden set, in the order of their names."""
    return [
        _case(group, case)
        for file in sorted(folder.glob("*.yaml"))
        for group, rows in yaml.safe_load(file.read_text(encoding="utf-8")).items()
        for case in rows
    ]


def clause_cases() -> list[Case]:
    """Read the sentences and the clauses they must be cut into."""
    found: list[Case] = []
    for case in cases(CLAUSES):
        subjects = tuple(match[1] if (match := _CARRIED.search(piece)) else "" for piece in case.pieces)
        pieces = tuple(_CARRIED.sub("", piece) for piece in case.pieces)
        found.append(case._replace(text=_CARRIED.sub("", case.text), pieces=pieces, carried=subjects))
    return found


def _case(group: str, case: str | dict[str, Any]) -> Case:
    row = {"text": case} if isinstance(case, str) else case
    language = row.get("language", group if group in LANGUAGES else "english")
    abbreviations = tuple(row.get("abbreviations", ()))
    if "pieces" in row:
        return Case(group, row["text"], tuple(row["pieces"]), language, abbreviations)
    parts = (part.strip() for part in _BETWEEN.split(row["text"]))
    plain = re.sub("[¶⌊⌋]", "", row["text"])
    return Case(group, plain, tuple(part for part in parts if part), language, abbreviations)
