"""The wording of sentences that assert nothing, read from ``data/phrases_english.yaml``."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from importlib import resources
from typing import Any

_PART = re.compile(r"<<(\w+)>>")


@dataclass(frozen=True, slots=True)
class Phrases:
    """Compiled patterns; what each must match is said in the data file.

    All are for lower-case text with single spaces.
    """

    greeting: re.Pattern[str]
    bare_answer: re.Pattern[str]
    offer: re.Pattern[str]
    lead_in: re.Pattern[str]
    citation: re.Pattern[str]
    finite_verb: re.Pattern[str]
    refusal_open: tuple[re.Pattern[str], ...]
    refusal: tuple[re.Pattern[str], ...]
    refusal_lead: re.Pattern[str]
    turn: re.Pattern[str]
    doubt: re.Pattern[str]


@functools.cache
def english() -> Phrases:
    """Return the English patterns; read on first use."""
    import yaml

    file = resources.files("ragjudge.text") / "data" / "phrases_english.yaml"
    source: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    parts = {name: _joined(value) for name, value in source.pop("parts").items()}

    def compiled(value: str | list[str]) -> re.Pattern[str] | tuple[re.Pattern[str], ...]:
        if isinstance(value, list):
            return tuple(re.compile(_filled(_joined(item), parts)) for item in value)
        return re.compile(_filled(_joined(value), parts))

    patterns: dict[str, Any] = {name: compiled(value) for name, value in source.items()}
    return Phrases(**patterns)


def _joined(block: str) -> str:
    return block.replace("\n", "")


def _filled(pattern: str, parts: dict[str, str]) -> str:
    # Parts are made of parts, so that this goes on until none is left.
    while _PART.search(pattern):
        pattern = _PART.sub(lambda match: parts[match[1]], pattern)
    return pattern
