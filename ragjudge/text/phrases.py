"""The wording of sentences that assert nothing, read from ``data/phrases``."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from importlib import resources
from typing import Any

_PART = re.compile(r"<<(\w+)>>")
_NEVER = "(?!)"


@dataclass(frozen=True, slots=True)
class Phrases:
    """Compiled patterns; what each must match is said beside the data files.

    All are for lower-case text with single spaces.
    """

    greeting: re.Pattern[str]
    bare_answer: re.Pattern[str]
    offer: re.Pattern[str]
    lead_in: re.Pattern[str]
    citation: re.Pattern[str]
    finite_verb: re.Pattern[str]
    refusal_open: re.Pattern[str]
    refusal: tuple[re.Pattern[str], ...]
    any_refusal: re.Pattern[str]
    refusal_lead: re.Pattern[str]
    turn: re.Pattern[str]
    doubt: re.Pattern[str]
    coordinator: re.Pattern[str]
    own_subject: re.Pattern[str]
    pronoun: re.Pattern[str]
    knows_verbs: bool

    def is_lead_in(self, low: str) -> bool:
        """Tell whether a sentence in lower case is a formula that leads into what follows."""
        return self.lead_in.fullmatch(low) is not None


@functools.cache
def phrases_of(language: str) -> tuple[Phrases, ...]:
    """Return the patterns of a language, and behind them the English ones: models fall back to English.

    Args:
        language: A name as `languages.language_name` returns it.
    """
    own = _read(language)
    return (own,) if language == "english" else (own, phrases_of("english")[0])


@functools.cache
def _read(language: str) -> Phrases:
    import yaml

    file = resources.files("ragjudge.text") / "data" / "phrases" / f"{language}.yaml"
    source: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    parts = {name: _joined(value) for name, value in source.pop("parts", {}).items()}

    def compiled(key: str) -> re.Pattern[str]:
        return re.compile(_filled(_joined(source.get(key, _NEVER)), parts))

    def listed(key: str) -> list[str]:
        return [_filled(_joined(item), parts) for item in source.get(key, [])]

    def any_of(key: str) -> re.Pattern[str]:
        # One pattern: most sentences match none, and then one look is enough.
        return re.compile("|".join(f"(?:{pattern})" for pattern in listed(key)) or _NEVER)

    return Phrases(
        greeting=compiled("greeting"),
        bare_answer=compiled("bare_answer"),
        offer=compiled("offer"),
        lead_in=compiled("lead_in"),
        citation=compiled("citation"),
        finite_verb=compiled("finite_verb"),
        refusal_open=any_of("refusal_open"),
        refusal=tuple(map(re.compile, listed("refusal"))),
        any_refusal=any_of("refusal"),
        refusal_lead=compiled("refusal_lead"),
        turn=compiled("turn"),
        doubt=compiled("doubt"),
        coordinator=_word(source.get("coordinator", "")),
        own_subject=_word(source.get("own_subject", "")),
        pronoun=_word(source.get("pronoun", "")),
        knows_verbs="finite_verb" in source,
    )


def _word(alternatives: str) -> re.Pattern[str]:
    """Compile a choice of words; each must end where a word ends."""
    return re.compile(rf"(?:{_joined(alternatives)})(?![\w'’])" if alternatives else _NEVER)


def _joined(block: str) -> str:
    return block.replace("\n", "")


def _filled(pattern: str, parts: dict[str, str]) -> str:
    # Parts are made of parts, so that this goes on until none is left.
    while _PART.search(pattern):
        pattern = _PART.sub(lambda match: parts[match[1]], pattern)
    return pattern
