"""Labelled rows put to a judge: in windows, those over equal contexts side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ragjudge.agreement.questions import check_of
from ragjudge.cache.caching_judge import CallsMissingError, replay_miss
from ragjudge.errors import PromptTooLongError
from ragjudge.prompts.profiled import in_profile
from ragjudge.records import CallFailure, Check, Outcome

if TYPE_CHECKING:
    from ragjudge.agreement.labels import LabelledRow
    from ragjudge.cache.protocol import CountedJudge

WINDOW_CALLS = 256
"""Calls that are planned together, as in a graded run."""


class Answered(NamedTuple):
    """What a judge made of a labelled row.

    Attributes:
        check: The question as it was asked.
        outcome: The verdict; a failure when there is none.
    """

    check: Check
    outcome: Outcome


class Observer(Protocol):
    """Watches the asking, e.g. a progress bar."""

    def advance(self, *, judged: int = 0, replayed: int = 0, failed: int = 0) -> None:
        """Count settled calls."""

    def row_done(self) -> None:
        """Count a row that has its answer."""


@dataclass(frozen=True)
class _Window:
    places: list[int]
    checks: list[Check]


def ask_rows(
    judge: CountedJudge,
    rows: Sequence[LabelledRow],
    *,
    template: str | None = None,
    observer: Observer | None = None,
    stop: Callable[[], bool] | None = None,
) -> list[Answered]:
    """Ask a judge about labelled rows.

    A row whose prompt does not fit the judge's window costs itself alone: it comes back as a failure.

    Args:
        judge: The judge, behind its store.
        rows: The rows.
        template: See `check_of`.
        observer: Told how it proceeds.
        stop: Asked between answers whether to stop there.

    Returns:
        One answer for each row, in their order.

    Raises:
        ReplayMissError: A replay needs calls that are not stored.
        JudgeUnavailableError: There is no judge to ask.
        ConfigError: The template, or the judge's profile, has no question for a row.
        KeyboardInterrupt: `stop` said so; what was judged is in the store.
    """
    answers: dict[int, Answered] = {}
    missing: list[str] = []
    for window in _windows(rows, judge, template):
        try:
            outcomes = _ask_window(judge, window.checks, observer, stop)
        except CallsMissingError as error:
            missing += [
                f"{rows[window.places[each.index]].id} ({each.call.template}@{each.call.version}): "
                f"{each.nearest}"
                for each in error.missing
            ]
            continue
        for number, place in enumerate(window.places):
            answers[place] = Answered(window.checks[number], outcomes[number])
    if missing:
        raise replay_miss(missing, judge.id)
    return [answers[place] for place in range(len(rows))]


def _windows(rows: Sequence[LabelledRow], judge: CountedJudge, template: str | None) -> Iterator[_Window]:
    groups: dict[tuple[str, ...], list[int]] = {}
    for place, row in enumerate(rows):
        groups.setdefault(row.contexts, []).append(place)
    places = [place for group in groups.values() for place in group]
    profile = judge.profile
    for start in range(0, len(places), WINDOW_CALLS):
        window = places[start : start + WINDOW_CALLS]
        checks = [check_of(rows[place], template) for place in window]
        yield _Window(window, [in_profile(check, profile) for check in checks] if profile else checks)


def _ask_window(
    judge: CountedJudge,
    checks: Sequence[Check],
    observer: Observer | None,
    stop: Callable[[], bool] | None,
) -> Mapping[int, Outcome]:
    outcomes: dict[int, Outcome] = {}

    def settle(place: int, outcome: Outcome, *, judged: bool) -> None:
        outcomes[place] = outcome
        if observer is not None:
            failed = isinstance(outcome, CallFailure)
            observer.advance(judged=judged, failed=failed, replayed=not (judged or failed))
            observer.row_done()

    while len(outcomes) < len(checks):
        left = [place for place in range(len(checks)) if place not in outcomes]
        before = judge.calls_judged
        try:
            for index, outcome in judge.ask([checks[place] for place in left]):
                settle(left[index], outcome, judged=judge.calls_judged > before)
                before = judge.calls_judged
                if stop is not None and stop():
                    raise KeyboardInterrupt
        except PromptTooLongError as error:
            # Nothing was decoded yet, so asking for the others again costs nothing.
            settle(left[error.index], CallFailure(reason=error.message), judged=False)
    return outcomes
