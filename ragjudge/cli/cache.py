"""The commands about the cache."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ragjudge.reports.printable import printable


@click.group()
def cache() -> None:
    """Look after the stored answers."""


@cache.command()
@click.option(
    "--cache",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="The cache's folder. [default: $RAGJUDGE_CACHE, else a folder among your data]",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print it.",
)
def stats(directory: Path | None, form: str) -> None:
    """Show what the cache holds: calls by template, judges, texts and bytes."""
    from ragjudge.cache.store import Store

    with Store(directory, read_only=True) as store:
        found = store.stats()
    if form == "json":
        click.echo(json.dumps({**found._asdict()}, indent=2, sort_keys=False))
        return
    click.echo(f"location  {printable(found.location)}")
    click.echo(f"calls     {found.calls}")
    for template, count in found.templates.items():
        click.echo(f"  {count:>8}  {printable(template)}")
    click.echo(f"judges    {len(found.judges)}")
    for reference, fingerprints in found.judges.items():
        click.echo(f"  {printable(reference)}  {' '.join(name[:12] for name in fingerprints)}")
    click.echo(f"texts     {found.texts}")
    click.echo(f"bytes     {found.bytes}")
    if found.damaged:
        click.echo(f"damaged   {found.damaged}  (they count as missing and are judged anew)")
