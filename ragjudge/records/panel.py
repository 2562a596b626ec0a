"""What a panel of judges says: one answer, and what each of them said. Only what each said is ever stored."""

from __future__ import annotations

from ragjudge.records.base import PanelBy, Record, Share
from ragjudge.records.calls import CallFailure, Oversize, Reply, Unfinished, Verdict


class Vote(Record):
    """What one judge of a panel says about one piece.

    Attributes:
        judge: Its reference; the second of two with one reference gets ``#2``.
        probability: Its P(positive label) in [0, 1], calibrated where it has a calibration; None when its
            call failed.
        verdict: Whether that is a yes; None when its call failed.
        label_mass: The labels' share of its whole distribution in [0, 1]; None when its call failed.
        windows: In how many windows it was shown the contexts; None when one prompt held them all.
        error: Why its call failed.
    """

    judge: str
    probability: Share | None = None
    verdict: bool | None = None
    label_mass: Share | None = None
    windows: int | None = None
    error: str | None = None


class PanelVerdict(Verdict):
    """The verdict of several judges together.

    Attributes:
        by: How it came about.
        votes: One for each judge, in the order of the panel.
    """

    by: PanelBy
    votes: tuple[Vote, ...]


class PanelOutcome(Record):
    """What one judge of a panel answers to a `Prompt`.

    Attributes:
        judge: As in `Vote`.
        outcome: Its answer.
    """

    judge: str
    outcome: Reply | Oversize | Unfinished | CallFailure

    @property
    def problem(self) -> str:
        """Why there is no reply, without a full stop; empty when there is one."""
        return "" if isinstance(self.outcome, Reply) else self.outcome.problem


class PanelReply(Reply):
    """The replies of several judges; read as one reply, it is the first of them.

    Attributes:
        outcomes: One for each judge, in the order of the panel.
    """

    outcomes: tuple[PanelOutcome, ...]
