"""From planned pieces and the judge's answers to judged pieces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ragjudge.metrics.aggregate import DECIMALS
from ragjudge.metrics.panels import panel_fields
from ragjudge.prompts.answers import DECISION_THRESHOLD, TOLERANCE, label_mass, probability
from ragjudge.records import CallFailure, Check, Item, Outcome, Verdict


@dataclass(frozen=True)
class Draft:
    """A future `Item`: the piece, and the checks that will decide it.

    Attributes:
        text: The piece.
        start: Its first offset in its source.
        end: The offset after it.
        checks: The questions about it: it holds when any of them does. Empty = a rule has decided that it
            does not hold.
        chunk: See `Item`.
        chunk_by: See `Item`.
        claim: See `Item`.
    """

    text: str
    start: int
    end: int
    checks: tuple[Check, ...]
    chunk: int | None = None
    chunk_by: Literal["lexical", "judge"] | None = None
    claim: str | None = None


def make_items(drafts: Sequence[Draft], outcomes: Sequence[Outcome]) -> tuple[Item, ...]:
    """Join pieces with the outcomes of their checks, which come in the order of the pieces."""
    remaining = iter(outcomes)
    return tuple(_make_item(draft, remaining) for draft in drafts)


def _make_item(draft: Draft, remaining: Iterator[Outcome]) -> Item:
    """Make one judged piece from the check that speaks most for it.

    A check that failed might have spoken for it: unless another one does, the piece has then no verdict.
    """
    best: tuple[float, Verdict] | None = None
    error = None
    for check in draft.checks:
        outcome = next(remaining)
        if isinstance(outcome, Verdict):
            chance = probability(outcome, check.positive)
            best = max(best, (chance, outcome), key=lambda pair: pair[0]) if best else (chance, outcome)
        else:
            error = outcome.reason if isinstance(outcome, CallFailure) else "the judge gave no verdict"
    verdict: bool | None = None if draft.checks else False
    decided: dict[str, Any] = {"probability": None, "label_mass": None, "error": error}
    if best is not None:
        chance, answer = round(best[0], DECIMALS), best[1]
        holds = chance >= DECISION_THRESHOLD
        if holds or error is None:
            verdict = holds
            decided = {
                "probability": chance,
                "label_mass": round(label_mass(answer), DECIMALS),
                "marginal": abs(chance - DECISION_THRESHOLD) < TOLERANCE,
                **_window_of(answer),
                **panel_fields(answer, holds),
            }
    return Item(
        text=draft.text,
        start=draft.start,
        end=draft.end,
        verdict=verdict,
        claim=draft.claim,
        chunk=draft.chunk,
        chunk_by=draft.chunk_by,
        **decided,
    )


def _window_of(verdict: Verdict) -> dict[str, int]:
    """Say which of how many windows decided, where the contexts were shown in several."""
    if verdict.windows is None:
        return {}
    values = [window.log_probabilities for window in verdict.windows]
    return {"windows": len(values), "window": values.index(verdict.log_probabilities)}


def remarks(items: Sequence[Item], errors: int) -> str:
    """Say what was out of the ordinary in how the pieces were judged."""
    said = f" {errors} of them could not be judged." if errors else ""
    windows = max((item.windows or 1 for item in items), default=1)
    return said + (f" The contexts were shown in {windows} windows." if windows > 1 else "")


def count_reason(items: Sequence[Item], noun: str, holds: str) -> str:
    """Say how many pieces hold, e.g. ``1 of 2 claims supported``."""
    held = sum(item.verdict is True for item in items)
    plural = noun if len(items) == 1 else f"{noun}s"
    return f"{held} of {len(items)} {plural} {holds}."
