"""Which calibration a judge gets: the one that is named, the bundle's, the shipped one, or none.

What a person names on the command line or in a call wins over everything. A replay from a bundle uses what
the bundle carries, whatever this release ships and whatever has become of the files. Else the suite's wish
counts, and without one the calibration that this release ships for the judge, if it ships any.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ragjudge.cache.bundle import BundleStore
from ragjudge.cache.opening import open_caching_judge
from ragjudge.errors import CacheError, ConfigError, UsageError

if TYPE_CHECKING:
    from pydantic import JsonValue

    from ragjudge.agreement.calibration import Calibration
    from ragjudge.cache.calibrations import CalibrationEntry
    from ragjudge.cache.protocol import CallStore, CountedJudge
    from ragjudge.judges.base import Judge

SHIPPED, NONE = "shipped", "none"


@dataclass(frozen=True)
class Choice:
    """How a calibration is asked for.

    Attributes:
        asked: ``shipped``, ``none`` or a file, as written.
        file: The file; None for the two words.
        named: Whether it was named for this very run, and so wins over a bundle's.
    """

    asked: str = SHIPPED
    file: Path | None = None
    named: bool = False


def choice_of(
    asked: str | os.PathLike[str] | None, *, base: Path | None = None, named: bool = False
) -> Choice | None:
    """Read what somebody wrote.

    Args:
        asked: ``shipped``, ``none`` or a file; None = nothing was written.
        base: The folder that a relative path is relative to; None = the working directory.
        named: See `Choice`.

    Raises:
        UsageError: An empty text was written.
    """
    if asked is None:
        return None
    written = os.fspath(asked)
    if not written:
        raise UsageError("the calibration is an empty text; accepted: a file, 'none' or 'shipped'.")
    if written in (SHIPPED, NONE):
        return Choice(written, named=named)
    path = Path(written).expanduser()
    return Choice(written, path if base is None else base / path, named)


def open_calibrated_judge(
    judge: Judge, store: CallStore, choice: Choice | None = None, *, replay: bool = False
) -> CountedJudge:
    """Put a judge behind a store and in front of that its calibration, if it has any.

    Args:
        judge: The judge.
        store: Where answers are kept.
        choice: Which calibration is asked for; None = the shipped one.
        replay: Never ask the judge; a call that is not stored is an error.

    Raises:
        JudgeUnavailableError: Neither the judge nor the store knows who it is.
        ConfigError: The calibration cannot be read, or is another judge's.
        CacheError: The bundle does not say which of several calibrations is meant.
    """
    asked = open_caching_judge(judge, store, replay=replay)
    wish = choice or Choice()
    fingerprint = asked.identity().fingerprint
    if isinstance(store, BundleStore) and not wish.named:
        calibration = _carried(store, wish, fingerprint, judge.id)
    else:
        calibration = chosen(wish, fingerprint, judge.id)
    if calibration is None:
        return asked
    from ragjudge.agreement.calibrated_judge import CalibratedJudge

    return CalibratedJudge(asked, calibration)


def chosen(choice: Choice, fingerprint: str, judge: str) -> Calibration | None:
    """Return the calibration that a choice means for a judge; None = raw probabilities.

    Args:
        choice: The choice.
        fingerprint: The judge's fingerprint.
        judge: The judge's reference, for messages.

    Raises:
        ConfigError: The file cannot be read, or is another judge's.
    """
    if choice.asked == NONE:
        return None
    from ragjudge.agreement.calibration import load_calibration, shipped

    if choice.file is None:
        return shipped(fingerprint)
    calibration = load_calibration(choice.file)
    calibration.check_judge(fingerprint, judge, str(choice.file))
    return calibration


class Use(NamedTuple):
    """A judge whose calls are exported, and the calibration that it is asked to have.

    Attributes:
        fingerprint: The judge's fingerprint.
        judge: Its reference.
        choice: What its suite says; None = nothing.
    """

    fingerprint: str
    judge: str
    choice: Choice | None = None


def rows_to_carry(uses: Iterable[Use], named: Choice | None = None) -> Iterator[tuple[str, str]]:
    """Yield the rows of a bundle that say which calibrations its judges have.

    A judge with nothing but raw probabilities gets no row, since a bundle without rows replays raw; but one
    whose suite names a file that is not to be used gets it.

    Args:
        uses: The judges, each as often as it is asked for in another way.
        named: The calibration of all of them, whatever their suite says.

    Raises:
        ConfigError: A file cannot be read, or is another judge's.
    """
    from ragjudge.cache.calibrations import calibration_row

    meant: dict[str, dict[str, Calibration | None]] = {}
    for use in uses:
        choice = use.choice or Choice()
        found = chosen(named or choice, use.fingerprint, use.judge)
        meant.setdefault(use.fingerprint, {})[choice.asked] = found
    for fingerprint, group in meant.items():
        if any(group.values()) or not group.keys() <= {SHIPPED, NONE}:
            for asked, found in group.items():
                yield calibration_row(fingerprint, asked, None if found is None else found.document)


def owner_of(choice: Choice, uses: Iterable[Use], where: str) -> str:
    """Return the fingerprint of the judge that a file is for.

    Args:
        choice: A choice of a file.
        uses: The judges that it may be for.
        where: Where these are known, for messages.

    Raises:
        ConfigError: The file cannot be read, or is for none of them.
    """
    from ragjudge.agreement.calibration import load_calibration

    calibration = load_calibration(choice.file or Path(choice.asked))
    if calibration.judge not in {use.fingerprint for use in uses}:
        raise ConfigError(
            f"{choice.asked}: the calibration is for the judge {calibration.judge_id!r} "
            f"({calibration.judge[:12]}…), and {where} knows none with this fingerprint."
        )
    return calibration.judge


def _carried(store: BundleStore, choice: Choice, fingerprint: str, judge: str) -> Calibration | None:
    """Return what a bundle says that a choice means; of no choice without a word about it, its only one."""
    entries = store.calibrations(fingerprint)
    entry = entries.get(choice.asked)
    if entry is None and choice.file is not None:
        # The bundle of a whole cache, or of the suite as it was: other scores would come out in silence.
        raise CacheError(
            f"{store.location}: the bundle does not carry the calibration {choice.asked!r} that the suite "
            f"names for judge {judge!r}.",
            hint="export it with `--for SUITE`, or name what is meant: --calibration FILE, none or shipped",
        )
    if entry is None and (not entries or choice.asked == NONE):
        return None
    if entry is None:
        different: dict[str, CalibrationEntry] = {str(each.content): each for each in entries.values()}
        if len(different) > 1:
            raise CacheError(
                f"{store.location}: the bundle has {len(different)} calibrations of judge {judge!r}, asked "
                f"for as {', '.join(map(repr, sorted(entries)))}, and {choice.asked!r} is none of them.",
                hint="name the one that is meant: --calibration FILE, none or shipped",
            )
        entry = next(iter(different.values()))
    if entry.content is None:
        return None
    calibration = _parsed(entry.content, store.location)
    calibration.check_judge(fingerprint, judge, store.location)
    return calibration


def _parsed(content: Mapping[str, JsonValue], where: str) -> Calibration:
    from pydantic import ValidationError

    from ragjudge.agreement.calibration import Calibration

    try:
        return Calibration.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "calibration"
        raise CacheError(
            f"{where}: the bundle has a calibration that this ragjudge cannot use: {place}: {first['msg']}.",
            hint="replay with the release that wrote the bundle, or name another: --calibration none",
        ) from error
