"""The commands about the cache."""

from __future__ import annotations

import json
import time
from pathlib import Path

import click

from ragjudge.cli.cache_bundles import export, import_, merge_
from ragjudge.cli.cache_why import why
from ragjudge.cli.command import Group
from ragjudge.cli.options import format_option
from ragjudge.cli.suite_calls import cache_option
from ragjudge.errors import UsageError
from ragjudge.reports.printable import printable

_DAMAGED = 2
_LISTED = 20
yes_option = click.option("--yes", is_flag=True, help="Do not ask.")


@click.group(cls=Group)
def cache() -> None:
    """Look after the stored answers."""


cache.add_command(export)
cache.add_command(import_)
cache.add_command(merge_)
cache.add_command(why)


@cache.command()
@cache_option
@format_option
def stats(directory: Path | None, form: str) -> None:
    """Show what the cache holds: calls and bytes by template, judge and age."""
    from ragjudge.cache.store import Store
    from ragjudge.cli.grading import say_notices

    with Store(directory, read_only=True) as store:
        say_notices(store)
        found = store.stats()
    if form == "json":
        data = found._asdict()
        for name in ("templates", "judges", "ages"):
            data[name] = {key: share._asdict() for key, share in data[name].items()}
        click.echo(json.dumps(data, indent=2, sort_keys=False))
        return
    click.echo(f"location  {printable(found.location)}")
    click.echo(f"bytes     {found.bytes:,}")
    click.echo(f"texts     {found.texts}  ({found.text_bytes:,} bytes)")
    click.echo(f"calls     {found.calls}")
    for template, share in found.templates.items():
        click.echo(_line(share.calls, share.bytes, template))
    click.echo(f"judges    {len(found.judges)}")
    for fingerprint, judge in found.judges.items():
        click.echo(_line(judge.calls, judge.bytes, "  ".join((fingerprint[:12], *judge.references))))
    if found.ages:
        click.echo("age")
    for age, share in found.ages.items():
        click.echo(_line(share.calls, share.bytes, age))
    if found.damaged:
        click.echo(f"damaged   {found.damaged}  (they count as missing and are judged anew)")


def _line(calls: int, size: int, name: str) -> str:
    return f"  {calls:>8}  {size:>14,} bytes  {printable(name)}"


@cache.command()
@cache_option
@click.option(
    "--repair", is_flag=True, help="Set a broken database aside, and delete rows that do not verify."
)
def verify(directory: Path | None, repair: bool) -> int:
    """Compute every key and digest again; exit code 2 when something is damaged."""
    from ragjudge.cache import upkeep
    from ragjudge.cache.store import Store
    from ragjudge.cli.grading import say_notices

    with Store(directory, read_only=True) as store:
        before = upkeep.verify(store)
        if not repair:
            say_notices(store)
    found, wrong = before, bool(before.damaged or before.file)
    if wrong and repair:
        with Store(directory) as writable:
            upkeep.verify(writable)  # reading all of it is what shows the damage
            if writable.damaged_names:
                upkeep.repair(writable)
            say_notices(writable)
        with Store(directory, read_only=True) as store:
            found = upkeep.verify(store)
    click.echo(f"calls     {found.calls}")
    click.echo(f"texts     {found.texts}" + (f"  ({found.lost_texts} are lost)" if found.lost_texts else ""))
    click.echo(f"judges    {found.judges}")
    for problem in before.file:
        click.echo(f"file      {printable(problem)}")
    click.echo(f"damaged   {len(before.damaged)}" + ("  (deleted)" if before.damaged and repair else ""))
    for name in before.damaged[:_LISTED]:
        click.echo(f"  {printable(name)}")
    if len(before.damaged) > _LISTED:
        click.echo(f"  … and {len(before.damaged) - _LISTED} more")
    return _DAMAGED if found.damaged or found.file else 0


@cache.command()
@click.option("--older-than", "age", metavar="AGE", help="Stored here that long ago or longer, e.g. 90d.")
@click.option(
    "--judge", metavar="NAME", help="Answered by this judge: a name, or the start of a fingerprint."
)
@cache_option
@yes_option
def prune(age: str | None, judge: str | None, directory: Path | None, yes: bool) -> None:
    """Remove stored calls: old ones, or those of one judge; with both options, what both fit."""
    from ragjudge.cache import upkeep
    from ragjudge.cache.store import Store
    from ragjudge.cli.grading import say_notices

    if age is None and judge is None:
        raise UsageError("prune needs --older-than AGE or --judge NAME; `cache clear` removes everything.")
    seconds = None if age is None else upkeep.parse_age(age)
    _require(directory)
    with Store(directory) as store:
        say_notices(store)
        prints = None if judge is None else upkeep.judge_fingerprints(store, judge)
        goes = upkeep.select(store, older_than=seconds, fingerprints=prints, now=time.time())
        _, removal = upkeep.plan_removal(store, goes)
        shared = sorted({name for names in (prints or {}).values() for name in names} - {judge})
        if shared:
            click.echo(f"The same judge is also known as {printable(', '.join(map(str, shared)))}.")
        if not removal.calls:
            click.echo("Nothing is to be removed.")
            return
        question = f"Remove {removal.calls} of {removal.total} calls, and {removal.texts} texts?"
        if not _agreed(question, yes):
            return
        # The name goes with its answers, unless some of them stay.
        names = [judge] if judge is not None and seconds is None and judge in store.judges() else []
        done = upkeep.remove(store, goes, names)
    click.echo(f"Removed {done.calls} calls and {done.texts} texts.")


@cache.command()
@cache_option
@yes_option
def clear(directory: Path | None, yes: bool) -> None:
    """Remove everything from the cache."""
    from ragjudge.cache import upkeep
    from ragjudge.cache.store import Store
    from ragjudge.cli.grading import say_notices

    _require(directory)
    with Store(directory) as store:
        say_notices(store)
        count = sum(1 for _ in store.names("call/"))
        if not _agreed(f"Remove all {count} calls of the cache at {printable(store.location)}?", yes):
            return
        done = upkeep.clear(store)
    click.echo(f"Removed {done.calls} calls and {done.texts} texts.")


def _require(directory: Path | None) -> None:
    """Refuse a folder without a cache, which opening for writing would make.

    Raises:
        CacheError: There is none.
    """
    from ragjudge.cache.reading import NoCacheError, identity_of
    from ragjudge.cache.store import default_directory

    folder = (default_directory() if directory is None else directory).expanduser().absolute()
    if identity_of(folder) is None:
        raise NoCacheError(folder)


def _agreed(question: str, yes: bool) -> bool:
    if yes:
        return True
    try:
        agreed = click.confirm(question)
    except click.Abort:
        raise UsageError(
            "nothing was removed: nobody answered.", hint="say --yes to be asked nothing"
        ) from None
    if not agreed:
        click.echo("Nothing was removed.")
    return agreed
