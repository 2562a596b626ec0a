"""How the texts of a sample become claims: by rules alone, or with a judge that cuts compound sentences.

With ``claims: judge`` one open question is asked about each sentence that may hold several claims, before
the checks are planned. A claim it names keeps the offsets of its sentence. Where the reply cannot be used,
the sentence is judged whole, and the reason of the score says so: nothing is ever lost but detail.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ragjudge.prompts.template import load_template
from ragjudge.records import CallFailure, Outcome, Oversize, Prompt, Reply, Unfinished
from ragjudge.text.claims import Claim, claims
from ragjudge.text.compound import why_unlike
from ragjudge.text.overlap import content_words
from ragjudge.text.splitting import Splitting

Cut = Callable[[str], tuple[Claim, ...]]
"""Cuts a text into its claims and what is none."""

MOST_CLAIMS = 8
"""Claims of one sentence; the grammar allows no more, and a judge without grammars must not give more."""

_TEMPLATE = "claims"


def claims_of(text: str, splitting: Splitting) -> tuple[Claim, ...]:
    """Cut a text into claims."""
    return claims(text, splitting.language, splitting.claims, splitting.abbreviations, code=splitting.code)


def compound_sentences(texts: Iterable[str], splitting: Splitting) -> tuple[str, ...]:
    """Return the sentences about which a judge is to be asked, each once; none unless claims are `judge`."""
    found = (claim for text in texts for claim in claims_of(text, splitting) if claim.compound)
    return tuple(dict.fromkeys(claim.judge_text for claim in found))


def cutting_call(sentence: str) -> Prompt:
    """Return the question which claims a sentence holds."""
    return load_template(_TEMPLATE).prompt({"sentence": sentence})


class Cutting:
    """Cuts the texts of one sample.

    Args:
        splitting: How texts are cut.
        outcomes: What a judge said of the compound sentences, by sentence; without it they stay whole.

    Attributes:
        kept_whole: Why a sentence stays whole though a judge was asked, by sentence.
    """

    def __init__(self, splitting: Splitting, outcomes: Mapping[str, Outcome] | None = None) -> None:
        self._splitting = splitting
        self._parts: dict[str, tuple[str, ...]] = {}
        self.kept_whole: dict[str, str] = {}
        for sentence, outcome in (outcomes or {}).items():
            parts, why = read_parts(sentence, outcome)
            if why:
                self.kept_whole[sentence] = why
            elif parts:
                self._parts[sentence] = parts

    def __call__(self, text: str) -> tuple[Claim, ...]:
        """Return the text's claims and other pieces, in order; those of one sentence have its offsets."""
        return tuple(part for claim in claims_of(text, self._splitting) for part in self.claims_in(claim))

    def claims_in(self, claim: Claim) -> tuple[Claim, ...]:
        """Return the claims of one piece, at least one: itself unless the judge found several."""
        parts = self._parts.get(claim.judge_text, ()) if claim.compound else ()
        return tuple(replace(claim, judge_text=part, part=True) for part in parts) or (claim,)

    @property
    def remark(self) -> str:
        """How many sentences stayed whole, with the first reason, for a score's reason; empty for none."""
        if not self.kept_whole:
            return ""
        count = len(self.kept_whole)
        what = "1 sentence was" if count == 1 else f"{count} sentences were"
        return f" {what} not cut into claims: {next(iter(self.kept_whole.values()))}."


def read_parts(sentence: str, outcome: Outcome) -> tuple[tuple[str, ...], str]:
    """Read which claims a judge found in a sentence.

    Args:
        sentence: The sentence.
        outcome: What the judge said of it.

    Returns:
        The claims when there are several, and why they cannot be used. Both are empty when the judge names a
        single claim: that is the sentence itself, however it is put.
    """
    if isinstance(outcome, CallFailure | Oversize | Unfinished):
        return (), outcome.problem
    listed = _listed(outcome.text) if isinstance(outcome, Reply) else None
    if listed is None:
        return (), "the judge's reply does not fit the schema"
    parts = _distinct(listed)
    if not parts:
        return (), "the judge names no claim"
    if len(parts) == 1:
        return (), ""
    if len(parts) > MOST_CLAIMS:
        return (), f"the judge names more than {MOST_CLAIMS} claims"
    why = why_unlike(sentence, parts)
    return ((), why) if why else (parts, "")


def _listed(text: str) -> list[str] | None:
    """Read ``{"claims": ["…", …]}``; None when the text is anything else."""
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or set(data) != {"claims"} or not isinstance(data["claims"], list):
        return None
    listed = data["claims"]
    return listed if all(isinstance(claim, str) for claim in listed) else None


def _distinct(listed: Sequence[str]) -> tuple[str, ...]:
    """Drop blank claims, and those that have the same words of content as an earlier one."""
    found: dict[tuple[str, ...], str] = {}
    for claim in listed:
        text = " ".join(claim.split())
        if text:
            found.setdefault(tuple(content_words(text)), text)
    return tuple(found.values())
