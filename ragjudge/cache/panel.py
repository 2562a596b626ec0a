"""Several judges that answer together, each from its own part of the cache."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, final

from ragjudge.cache.caching_judge import CallsMissingError
from ragjudge.cache.protocol import CountedJudge
from ragjudge.errors import ConfigError, PromptTooLongError, UsageError
from ragjudge.judges.base import Identity, JudgeUsage
from ragjudge.judges.voting import Said, combined
from ragjudge.prompts.profiled import in_profile
from ragjudge.records import LEAST_JUDGES, MOST_JUDGES, Call, CallFailure, JudgeInfo, Outcome, PanelBy

if TYPE_CHECKING:
    from pydantic import JsonValue


@dataclass(frozen=True)
class Seating:
    """A panel that is yet to be opened.

    Attributes:
        keys: The keys of its judges among others, each once.
        by: How their verdicts are put together.
    """

    keys: tuple[str, ...]
    by: PanelBy = "majority"


def with_panels(
    judges: Mapping[str, CountedJudge], seatings: Mapping[str, Seating]
) -> dict[str, CountedJudge]:
    """Return judges with the panels that some of them form, by their keys.

    Raises:
        ConfigError: Two judges of a panel are one.
    """
    panels = {
        key: Panel([judges[each] for each in seating.keys], seating.by) for key, seating in seatings.items()
    }
    return {**judges, **panels}


def check_size(number: int, place: str) -> None:
    """Refuse a panel of too few or too many judges.

    Args:
        number: How many there are.
        place: Where they are named, for the message.

    Raises:
        UsageError: There are not 2 to 9.
    """
    if not LEAST_JUDGES <= number <= MOST_JUDGES:
        found = "an empty list" if not number else "1 judge" if number == 1 else f"{number} judges"
        accepted = f"a list of {LEAST_JUDGES} to {MOST_JUDGES} judges"
        raise UsageError(f"{place}: found {found}; accepted: {accepted}.")


class _Judge(CountedJudge):
    """What a panel and a seat of it have in common: they count what the judges behind them count."""

    @property
    def calls_judged(self) -> int:
        """Distinct calls that the judges answered."""
        return sum(member.calls_judged for member in self.members)

    @property
    def calls_replayed(self) -> int:
        """Distinct calls that the store answered."""
        return sum(member.calls_replayed for member in self.members)

    @property
    def calls_failed(self) -> int:
        """Distinct calls that nobody could answer."""
        return sum(member.calls_failed for member in self.members)

    def close(self) -> None:
        """Free what the judges hold."""
        for member in self.members:
            member.close()


@final
class Seat(_Judge):
    """One judge of a panel.

    It is asked in our words and asks its judge in those of the judge's profile. What its judge could not
    answer is not asked again: the judge may be closed by then, and others may be open.

    Args:
        judge: The judge.
        name: What the panel calls it.
    """

    def __init__(self, judge: CountedJudge, name: str) -> None:
        super().__init__(name)
        self._judge = judge
        self._failures: dict[Call, CallFailure] = {}
        self.usage = judge.usage

    @property
    def members(self) -> tuple[CountedJudge, ...]:
        """The judge."""
        return (self._judge,)

    def identity(self) -> Identity:
        """Return who the judge is."""
        return self._judge.identity()

    def info(self) -> JudgeInfo:
        """Return the judge as a report names it."""
        return self._judge.info()

    def in_its_words(self, call: Call) -> Call:
        """Return a call as the judge wants to be asked it.

        Raises:
            ConfigError: The judge was not trained for it.
        """
        profile = self._judge.profile
        if profile is None:
            return call
        try:
            return in_profile(call, profile)
        except ConfigError as error:
            raise error.within(f"judge {self.id!r}")  # noqa: B904 - the very error, told whose it is

    def ask(self, calls: Sequence[Call]) -> Iterator[tuple[int, Outcome]]:
        """Answer calls as the judge does. See `CachingJudge.ask`."""
        asked, places = [], []
        failed: list[tuple[int, CallFailure]] = []
        for place, call in enumerate(map(self.in_its_words, calls)):
            # A look-up digests the texts, so it is left out while there is nothing to find.
            failure = self._failures.get(call) if self._failures else None
            if failure is None:
                asked.append(call)
                places.append(place)
            else:
                failed.append((place, failure))
        answers = self._judge.ask(asked)
        try:
            yield from failed
            for index, outcome in answers:
                if isinstance(outcome, CallFailure):
                    self._failures[asked[index]] = outcome
                yield places[index], outcome
        except PromptTooLongError as error:
            told = PromptTooLongError(error.tokens, error.window, places[error.index])
            raise told.within(f"judge {self.id!r}") from None
        except CallsMissingError as error:
            error.missing = tuple(replace(each, index=places[each.index]) for each in error.missing)
            raise
        finally:
            close = getattr(answers, "close", None)
            if close is not None:
                close()
            self.usage = self._judge.usage


@final
class Panel(_Judge):
    """Several judges that are asked the same, and answer together.

    Its answers are made from theirs whenever they are needed and stored nowhere, so another way of putting
    them together asks nothing anew.

    Args:
        judges: Its judges, each behind its store, 2 to 9.
        by: How their verdicts are put together; see `judges.voting`.

    Raises:
        UsageError: There are fewer, or more.
        ConfigError: Two of them are one.
    """

    def __init__(self, judges: Sequence[CountedJudge], by: PanelBy = "majority") -> None:
        names = unique_names([judge.id for judge in judges])
        super().__init__(", ".join(names))
        check_size(len(judges), "judge")
        self.by: PanelBy = by
        self._seats = tuple(map(Seat, judges, names))
        met: dict[str, str] = {}
        for seat in self._seats:
            first = met.setdefault(seat.identity().fingerprint, seat.id)
            if first != seat.id:
                raise ConfigError(
                    f"judge: {first!r} and {seat.id!r} are the same judge; a panel has each judge once."
                )

    @property
    def seats(self) -> tuple[CountedJudge, ...]:
        """Its judges, each as it is asked."""
        return self._seats

    @property
    def members(self) -> tuple[CountedJudge, ...]:
        """Its judges, each as it was given."""
        return tuple(member for seat in self._seats for member in seat.members)

    def identity(self) -> Identity:
        """Return who answers: all of them, in their order."""
        members: list[JsonValue] = [seat.identity().fingerprint for seat in self._seats]
        return Identity({"kind": "panel", "by": self.by, "judges": members})

    def calibrations(self) -> dict[str, dict[str, JsonValue]]:
        """Return the calibrations of its judges by their sha256."""
        return {sha: each for member in self.members for sha, each in member.calibrations().items()}

    def ask(self, calls: Sequence[Call]) -> Iterator[tuple[int, Outcome]]:
        """Answer calls: each judge all of them, one judge after the other, then all together.

        A judge that had to answer anything itself is closed before the next is asked.

        Args:
            calls: The calls, in our words.

        Yields:
            ``(index into calls, outcome)``, in the order of the calls.

        Raises:
            CallsMissingError, CacheError, JudgeUnavailableError, PromptTooLongError: As a judge raises them.
            ConfigError: A judge was not trained for a call.
        """
        said: list[list[Said]] = [[] for _ in calls]
        for seat in self._seats:
            judged = seat.calls_judged
            for index, outcome in seat.ask(calls):
                said[index].append(Said(seat.id, seat.in_its_words(calls[index]), outcome))
            if seat.calls_judged > judged:
                seat.close()
        self.usage = _total(seat.usage for seat in self._seats)
        for index, call in enumerate(calls):
            yield index, combined(call, said[index], self.by)


def _total(usages: Iterable[JudgeUsage]) -> JudgeUsage:
    total = JudgeUsage()
    for usage in usages:
        for field in fields(JudgeUsage):
            setattr(total, field.name, getattr(total, field.name) + getattr(usage, field.name))
    return total


def unique_names(references: Sequence[str]) -> list[str]:
    """Return what the judges of a panel are called: their references, the second of a kind with ``#2``.

    >>> unique_names(["fake", "other", "fake"])
    ['fake', 'other', 'fake#2']
    """
    names: list[str] = []
    for reference in references:
        name, number = reference, 2
        while name in names:
            name, number = f"{reference}#{number}", number + 1
        names.append(name)
    return names
