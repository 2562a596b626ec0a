"""A judge whose verdicts are calibrated on their way out of the cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, final

from ragjudge.cache.protocol import CountedJudge
from ragjudge.judges.base import Identity
from ragjudge.records import Call, Check, JudgeInfo, Outcome, Verdict

if TYPE_CHECKING:
    from pydantic import JsonValue

    from ragjudge.agreement.calibration import Calibration
    from ragjudge.prompts.profile import Profile


@final
class CalibratedJudge(CountedJudge):
    """Applies a calibration to every verdict of a judge behind a store.

    The store below keeps and gives raw answers under raw keys, so another calibration asks nothing anew.
    Verdicts of templates that the calibration does not have, replies and failures pass as they are.

    Args:
        judge: The judge behind its store.
        calibration: What is applied; the caller has made sure that it is this judge's.
    """

    def __init__(self, judge: CountedJudge, calibration: Calibration) -> None:
        super().__init__(judge.id)
        self._judge = judge
        self._calibration = calibration
        self._uncalibrated: set[str] = set()
        self.usage = judge.usage

    @property
    def calls_judged(self) -> int:
        """Distinct calls that the judge below answered."""
        return self._judge.calls_judged

    @property
    def calls_replayed(self) -> int:
        """Distinct calls that the store answered."""
        return self._judge.calls_replayed

    @property
    def calls_failed(self) -> int:
        """Distinct calls that nobody could answer."""
        return self._judge.calls_failed

    @property
    def profile(self) -> Profile | None:
        """How the judge below wants to be asked."""
        return self._judge.profile

    def identity(self) -> Identity:
        """Return who answers: a calibration changes no answer, so it is no part of it."""
        return self._judge.identity()

    def info(self) -> JudgeInfo:
        """Return the judge as a report names it, with its calibration and what that left raw so far."""
        return self._judge.info().model_copy(
            update={
                "calibration": self._calibration.sha256,
                "uncalibrated": tuple(sorted(self._uncalibrated)),
            }
        )

    def calibrations(self) -> dict[str, dict[str, JsonValue]]:
        """Return the calibration as plain JSON data, by its sha256."""
        return {self._calibration.sha256: self._calibration.document}

    def ask(self, calls: Sequence[Call]) -> Iterator[tuple[int, Outcome]]:
        """Answer calls as the judge below does, with calibrated verdicts. See `CachingJudge.ask`."""
        answers = self._judge.ask(calls)
        try:
            for index, outcome in answers:
                call = calls[index]
                if isinstance(call, Check) and isinstance(outcome, Verdict):
                    yield index, self._calibrated(call, outcome)
                else:
                    yield index, outcome
        finally:
            close = getattr(answers, "close", None)
            if close is not None:
                close()
            self.usage = self._judge.usage

    def _calibrated(self, check: Check, verdict: Verdict) -> Verdict:
        template = f"{check.template}@{check.version}"
        if template not in self._calibration.templates:
            self._uncalibrated.add(template)
            return verdict
        return self._calibration.apply(check, verdict)

    def close(self) -> None:
        """Free what the judge below holds."""
        self._judge.close()
