"""``ragjudge cache export``, ``import`` and ``merge``: calls from one place to another."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragjudge.cli.command import Command
from ragjudge.cli.suite_calls import (
    Asked,
    cache_option,
    judge_option,
    load,
    planned,
    tasks_of,
    window_option,
)
from ragjudge.errors import CacheError, ReplayMissError, UsageError
from ragjudge.reports.printable import printable

if TYPE_CHECKING:
    from pydantic import JsonValue

    from ragjudge.agreement.choosing import Choice
    from ragjudge.assembly import Assembly
    from ragjudge.cache.store import Store

_LISTED = 20


@click.command("export", cls=Command)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), required=True, metavar="FILE.rjz"
)
@click.option("--for", "suite", type=click.Path(path_type=Path), metavar="SUITE", help="Only what it needs.")
@cache_option
@judge_option
@window_option
@click.option(
    "--calibration",
    metavar="FILE|none|shipped",
    help="The calibration to replay with. [--for: the suite's; else the shipped ones]",
)
def export(
    output: Path,
    suite: Path | None,
    directory: Path | None,
    judges: tuple[str, ...],
    window: int | None,
    calibration: str | None,
) -> None:
    """Write stored calls into a bundle: one file that replays anywhere.

    With --for exactly the calls that SUITE asks, with the judges it names. When one of them is not stored
    nothing is written (exit code 4), since the bundle could not replay the suite.

    The calibrations of the judges go with the calls, so that a replay gives the same scores under every
    later release.
    """
    from ragjudge.agreement.choosing import choice_of
    from ragjudge.cache.bundle import write_bundle
    from ragjudge.cache.store import Store
    from ragjudge.cli.grading import say_notices

    if output.suffix.lower() != ".rjz":
        raise UsageError(f"{output}: a bundle's name ends in .rjz.")
    named = choice_of(calibration, named=True)
    if suite is None:
        if judges or window is not None:
            raise UsageError("--judge and --window belong to --for SUITE.")
        with Store(directory, read_only=True) as store:
            say_notices(store)
            rows = list(_rows_with_calls(store))
            records = write_bundle(output, [*rows, *_calibrations(rows, store, named)])
    else:
        loaded = load(suite, directory=directory, judges=judges, window=window)
        place = None if loaded.place is None else Path(str(loaded.place))
        with Store(place, read_only=True) as store:
            say_notices(store)
            records = write_bundle(output, _rows_of_suite(loaded.assembly, store, named))
    counts = ", ".join(f"{count} {kind}{'s' if count != 1 else ''}" for kind, count in records.items())
    click.echo(f"{printable(str(output))}: {counts or 'nothing'}, {output.stat().st_size:,} bytes")


def _rows_with_calls(store: Store) -> Iterator[tuple[str, str]]:
    """Yield the rows of a cache without the judges that answered none of its calls."""
    from ragjudge.cache.entries import CALL, JUDGE, judge_row, read_judge
    from ragjudge.judges.base import digest

    asked = set()
    judges = []
    for name, text in store.rows():
        if name.startswith(JUDGE):
            judges.append(read_judge(name, text))
            continue
        if name.startswith(CALL):
            asked.add(json.loads(text)["request"]["judge"])
        yield name, text
    for judge in filter(None, judges):
        documents = [document for document in judge.identities if digest(document) in asked]
        if documents:
            yield judge_row(judge.reference, documents)


def _calibrations(
    rows: Iterable[tuple[str, str]], store: Store, named: Choice | None
) -> Iterator[tuple[str, str]]:
    """Yield the calibrations of all judges of a bundle's rows.

    Raises:
        ConfigError: The file that is named cannot be read, or belongs to none of them.
    """
    from ragjudge.agreement.choosing import Use, owner_of, rows_to_carry
    from ragjudge.cache.entries import JUDGE, read_judge
    from ragjudge.judges.base import digest

    uses = [
        Use(digest(document), judge.reference)
        for judge in (read_judge(name, text) for name, text in rows if name.startswith(JUDGE))
        if judge is not None
        for document in judge.identities
    ]
    if named is not None and named.file is not None:
        # One file is one judge's; the others have what they would have without it.
        owner = owner_of(named, uses, store.location)
        yield from rows_to_carry([use for use in uses if use.fingerprint == owner], named)
        uses, named = [use for use in uses if use.fingerprint != owner], None
    yield from rows_to_carry(uses, named)


def _rows_of_suite(assembly: Assembly, store: Store, choice: Choice | None) -> Iterator[tuple[str, str]]:
    from ragjudge.agreement.choosing import Use, rows_to_carry
    from ragjudge.cache.entries import CALL, TEXT, judge_row
    from ragjudge.cache.keys import key_of, request_of
    from ragjudge.cache.opening import identify

    identities = {key: identify(judge, store) for key, judge in assembly.judges.items()}
    uses = [
        Use(identities[key].fingerprint, judge.id, assembly.calibrations.get(key))
        for key, judge in assembly.judges.items()
    ]
    calibrations = list(rows_to_carry(uses, choice))  # a wrong file is told before anything is read
    names: dict[str, str] = {}
    texts: set[str] = set()
    for _, task in tasks_of(assembly):
        asked = [Asked(assembly.judges[key], identities[key]) for key in assembly.seated(task.judge)]
        for each, plan in zip(asked, planned(task, asked, store), strict=True):
            place = f"{task.sample.id}, {task.label}"
            if len(asked) > 1:
                place += f", judge {each.judge.id}"
            for call in plan.calls:
                document, named = request_of(call, each.identity.fingerprint)
                names.setdefault(f"{CALL}{key_of(document)}", place)
                texts |= {f"{TEXT}{name}" for name in named}
    found = dict(store.rows(names))
    missing = [place for name, place in names.items() if name not in found]
    if missing:
        raise ReplayMissError(
            f"{len(missing)} of the {len(names)} calls of the suite are not in the cache at "
            f"{store.location}; the first belongs to {missing[0]}. No bundle was written.",
            hint="run the suite once, then export it; `ragjudge cache why` says what differs",
        )
    yield from found.items()
    yield from store.rows(texts)
    yield from calibrations
    documents: dict[str, list[Mapping[str, JsonValue]]] = {}
    for key, judge in assembly.judges.items():
        known = documents.setdefault(judge.id, [])
        if dict(identities[key].document) not in known:
            known.append(dict(identities[key].document))
    for reference, group in documents.items():
        yield judge_row(reference, group)


@click.command("import", cls=Command)
@click.argument("bundle", type=click.Path(path_type=Path, dir_okay=False))
@cache_option
def import_(bundle: Path, directory: Path | None) -> None:
    """Add the calls of BUNDLE to the cache.

    Every line is verified first, and nothing is added when one of them fails. Where the cache has another
    answer to the same call, its own stays and both are shown. Calibrations stay behind: a cache is raw.
    """
    from ragjudge.cache.bundle import read_bundle
    from ragjudge.cache.calibrations import CALIBRATION

    rows = read_bundle(bundle)
    _take(rows.items(), directory)
    if any(name.startswith(CALIBRATION) for name in rows):
        click.echo(
            "The bundle's calibrations stay in it; replay with --bundle, or name one with --calibration."
        )


@click.command("merge", cls=Command)
@click.argument("source", type=click.Path(path_type=Path, file_okay=False))
@cache_option
def merge_(source: Path, directory: Path | None) -> None:
    """Add the calls of another cache, in the folder SOURCE, to the cache.

    A cache that is damaged, or that holds what ragjudge does not write, is not opened but read row by row,
    and only what verifies is taken.
    """
    from ragjudge.cache.store import default_directory

    target = (default_directory() if directory is None else directory).expanduser()
    if target.resolve() == source.expanduser().resolve():
        raise UsageError(f"{source}: is the cache itself; merge takes another one.")
    _take(_rows_of(source), directory)


def _rows_of(source: Path) -> Iterable[tuple[str, str]]:
    from ragjudge.cache.database import RefusedError
    from ragjudge.cache.recovery import verified_rows
    from ragjudge.cache.store import Store

    try:
        with Store(source, read_only=True) as store:
            for notice in store.notices:
                click.echo(f"Warning: {printable(notice)}", err=True)
            return list(store.rows())
    except RefusedError as error:
        click.echo(f"Warning: {printable(error.message)} Only what verifies is taken from it.", err=True)
    try:
        return list(verified_rows(source.expanduser()))
    except OSError as error:
        raise CacheError(f"the cache at {source} cannot be read: {error.strerror or error}.") from error


def _take(rows: Iterable[tuple[str, str]], directory: Path | None) -> None:
    from ragjudge.cache.merging import merge
    from ragjudge.cache.store import Store
    from ragjudge.cli.grading import say_notices

    with Store(directory) as store:
        say_notices(store)
        merged = merge(store, rows)
    if store.write_error is not None:
        raise CacheError(store.write_error)
    click.echo(f"added     {merged.added}")
    click.echo(f"known     {merged.known}")
    click.echo(f"differing {len(merged.conflicts)}")
    for conflict in merged.conflicts[:_LISTED]:
        click.echo(f"  {conflict.key}  {printable(conflict.template)}")
        click.echo(f"    stays    {_shown(conflict.kept)}")
        click.echo(f"    refused  {_shown(conflict.refused)}")
    if len(merged.conflicts) > _LISTED:
        click.echo(f"  … and {len(merged.conflicts) - _LISTED} more")
    for reference in merged.judges:
        click.echo(f"Warning: {printable(reference)} now means more than one judge in this cache.", err=True)


def _shown(answer: object) -> str:
    from ragjudge.records import Verdict
    from ragjudge.reports.printable import shorten

    if isinstance(answer, Verdict):
        values = answer.log_probabilities.items()
        return printable(", ".join(f"{label} {value:.6f}" for label, value in values))
    return shorten(printable(str(getattr(answer, "text", ""))), 80)
