"""Several judges' answers to one call become one. Pure.

By majority a piece holds when more judges say yes than no, and its probability is the median of theirs (of
an even number, the mean of the two in the middle). So the probability is at least 0.5 exactly when the
majority says yes, and it is close to 0.5 exactly when the majority hangs on a judge that is: the mean of
all could contradict the majority, and the mean of the majority alone would hide a wavering vote among
sure ones. An even split has no majority: there the mean of all probabilities decides, and is the
probability.

By mean the probability is the mean of all, whatever each would decide.

A judge whose call failed has no vote. An open question has no majority: its replies are handed on together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean, median
from typing import NamedTuple

from ragjudge.prompts.answers import DECISION_THRESHOLD, label_mass, probability
from ragjudge.records import (
    Call,
    CallFailure,
    Check,
    Outcome,
    Oversize,
    PanelBy,
    PanelOutcome,
    PanelReply,
    PanelVerdict,
    Prompt,
    Reply,
    Unfinished,
    Verdict,
    Vote,
)

_DECIMALS = 6
_SURE = 1e-9
_LEAST_MASS = 1e-12


class Said(NamedTuple):
    """What one judge answered.

    Attributes:
        judge: What to call it.
        call: The call as it was asked: a judge with a profile is asked in its own words.
        outcome: Its answer.
    """

    judge: str
    call: Call
    outcome: Outcome


def together(probabilities: Sequence[float], by: PanelBy) -> float:
    """Return the probability of a panel.

    Args:
        probabilities: Those of the judges that answered, in [0, 1]; at least one.
        by: How they are put together.

    >>> together([0.9, 0.6, 0.1], "majority"), round(together([0.9, 0.6, 0.1], "mean"), 4)
    (0.6, 0.5333)
    >>> together([0.9, 0.2], "majority")
    0.55
    """
    yes = sum(value >= DECISION_THRESHOLD for value in probabilities)
    if by == "mean" or 2 * yes == len(probabilities):
        return fmean(probabilities)
    return median(probabilities)


def combined(call: Call, said: Sequence[Said], by: PanelBy) -> Outcome:
    """Return what a panel answers to a call.

    Args:
        call: The call in our own words; the answer is one to it.
        said: What its judges answered, in the order of the panel; at least one.
        by: How verdicts are put together.

    Returns:
        A `PanelVerdict` or `PanelReply`; a failure when nobody answered; `Oversize` when the prompt is too
        long for everybody.
    """
    return _reply(said) if isinstance(call, Prompt) else _verdict(call, said, by)


def _verdict(check: Check, said: Sequence[Said], by: PanelBy) -> Outcome:
    votes = tuple(map(_vote, said))
    chances = [vote.probability for vote in votes if vote.probability is not None]
    if not chances:
        return _failure((vote.judge, vote.error or "") for vote in votes)
    chance = min(max(together(chances, by), _SURE), 1 - _SURE)
    # The smallest, so that a low one is never hidden behind others.
    masses = [label_mass(each.outcome) for each in said if isinstance(each.outcome, Verdict)]
    mass = max(min(masses), _LEAST_MASS)
    other = (1 - chance) / (len(check.labels) - 1)
    return PanelVerdict(
        log_probabilities={
            label: min(0.0, round(math.log(mass * (chance if label == check.positive else other)), _DECIMALS))
            for label in check.labels
        },
        by=by,
        votes=votes,
    )


def _vote(said: Said) -> Vote:
    judge, call, outcome = said
    if not isinstance(outcome, Verdict) or not isinstance(call, Check):
        why = outcome.reason if isinstance(outcome, CallFailure) else "the judge gave no verdict"
        return Vote(judge=judge, error=why)
    chance = round(probability(outcome, call.positive), _DECIMALS)
    return Vote(
        judge=judge,
        probability=chance,
        verdict=chance >= DECISION_THRESHOLD,
        label_mass=round(label_mass(outcome), _DECIMALS),
        windows=None if outcome.windows is None else len(outcome.windows),
    )


def _reply(said: Sequence[Said]) -> Outcome:
    outcomes = tuple(PanelOutcome(judge=each.judge, outcome=_open_outcome(each.outcome)) for each in said)
    replies = [each.outcome for each in outcomes if isinstance(each.outcome, Reply)]
    if replies:
        return PanelReply(text=replies[0].text, tokens=replies[0].tokens, outcomes=outcomes)
    oversizes = [each.outcome for each in outcomes if isinstance(each.outcome, Oversize)]
    if len(oversizes) == len(outcomes):
        return max(oversizes, key=lambda one: one.window)
    return _failure((each.judge, each.problem) for each in outcomes)


def _failure(reasons: Iterable[tuple[str, str]]) -> CallFailure:
    listed = "; ".join(f"{judge}: {reason.rstrip('.')}" for judge, reason in reasons)
    return CallFailure(reason=f"no judge of the panel could answer ({listed})")


def _open_outcome(outcome: Outcome) -> Reply | Oversize | Unfinished | CallFailure:
    return CallFailure(reason="the judge gave no reply") if isinstance(outcome, Verdict) else outcome
