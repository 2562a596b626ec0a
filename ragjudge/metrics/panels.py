"""What the answers of several judges mean to a metric. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

from ragjudge.metrics.aggregate import DECIMALS
from ragjudge.records import Item, Outcome, PanelReply, PanelVerdict, Reply, Verdict

_HOW = {"majority": "the majority", "mean": "the mean probability"}


def panel_fields(verdict: Verdict, holds: bool) -> dict[str, Any]:
    """Return what a piece says about the panel that decided on it; nothing for a single judge.

    Args:
        verdict: The verdict on the piece.
        holds: What it comes to.
    """
    if not isinstance(verdict, PanelVerdict):
        return {}
    votes = [vote.verdict for vote in verdict.votes if vote.verdict is not None]
    return {
        "panel": verdict.votes,
        "disagreement": round(sum(vote is not holds for vote in votes) / len(votes), DECIMALS),
        "windows": max((vote.windows for vote in verdict.votes if vote.windows is not None), default=None),
    }


def panel_remark(items: Sequence[Item], outcomes: Sequence[Outcome]) -> str:
    """Say who decided, and on how many pieces the judges differ; nothing without a panel."""
    verdict = next((outcome for outcome in outcomes if isinstance(outcome, PanelVerdict)), None)
    if verdict is None:
        return ""
    said = f" Decided by {_HOW[verdict.by]} of {len(verdict.votes)} judges"
    differing = sum(bool(item.disagreement) for item in items)
    said += f", who differ on {differing} of {len(items)}." if differing else ", who agree."
    partly = sum(any(vote.error is not None for vote in item.panel or ()) for item in items)
    return f"{said} On {partly} of {len(items)} a judge gave no answer." if partly else said


def mean_reply(
    reply: PanelReply, read: Callable[[str], tuple[float, str] | None]
) -> tuple[float | None, str]:
    """Return the mean score of several holistic replies, and what each of them says.

    A majority of scores makes no sense, so they are averaged whatever the panel does with verdicts. A judge
    without a usable reply is left out, and named.

    Args:
        reply: The replies.
        read: Takes a reply apart: its score in [0, 1] and its reason, or None when it cannot be used.

    Returns:
        The mean, or None when no reply can be used; and the reason.
    """
    values: list[float] = []
    told = []
    for each in reply.outcomes:
        parsed = read(each.outcome.text) if isinstance(each.outcome, Reply) else None
        if parsed is not None:
            values.append(parsed[0])
            told.append(f"{each.judge}: {parsed[0]:g}, “{parsed[1]}”")
        elif isinstance(each.outcome, Reply):
            told.append(f"{each.judge}: its reply does not fit the schema: {each.outcome.text!r}")
        else:
            told.append(f"{each.judge}: no score, {each.problem}")
    listed = "; ".join(told)
    if not values:
        return None, f"no judge of the panel gave a score ({listed})"
    asked = len(reply.outcomes)
    counted = f"{len(values)} of {asked}" if len(values) < asked else str(asked)
    return round(fmean(values), DECIMALS), f"Mean of {counted} judges. {listed}"
