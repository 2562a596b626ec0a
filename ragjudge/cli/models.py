"""``ragjudge models``: which model files there are, and how they come here."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from ragjudge.cli.command import Group
from ragjudge.cli.model_info import model_info
from ragjudge.cli.options import format_option
from ragjudge.errors import ModelFileError, ModelMissingError, UnknownNameError

if TYPE_CHECKING:
    from ragjudge.gguf.manifest import ModelEntry
    from ragjudge.gguf.pull import Progress


@click.group(cls=Group)
def models() -> None:
    """List, get, add, check and inspect model files."""


models.add_command(model_info)


class Row(NamedTuple):
    """One model in the list; `sha256`, `licence`, `chat` and `context` only when the manifest knows them.

    Attributes:
        name: What to write for it.
        file: Its file name.
        state: ``here``, ``missing`` or ``wrong size``.
        size: Bytes: what the file has, or shall have.
        path: Where the file is, or shall be.
        default: Whether it is used when no judge is named.
        sha256: Digest it must have.
        licence: Its licence.
        chat: ``auto`` or ``plain``.
        context: Training context in tokens.
    """

    name: str
    file: str
    state: str
    size: int
    path: str
    default: bool = False
    sha256: str | None = None
    licence: str | None = None
    chat: str | None = None
    context: int | None = None


@models.command("list")
@format_option
def list_models(form: str) -> None:
    """Show the known models and the added files, and which of them are here."""
    rows = _rows()
    if form == "json":
        click.echo(json.dumps([row._asdict() for row in rows], indent=2))
        return
    table = [("NAME", "FILE HERE", "SIZE", "LICENCE")]
    table += [
        (
            f"{row.name} (default)" if row.default else row.name,
            {"here": "yes", "missing": "no"}.get(row.state, row.state),
            _megabytes(row.size),
            row.licence or "(added)",
        )
        for row in rows
    ]
    widths = [max(len(line[column]) for line in table) for column in range(4)]
    for line in table:
        name, state, size, licence = (
            text.rjust(width) if column == 2 else text.ljust(width)
            for column, (text, width) in enumerate(zip(line, widths, strict=True))
        )
        click.echo(f"{name}  {state}  {size}  {licence}".rstrip())


@models.command("pull")
@click.argument("name", required=False)
def pull_model(name: str | None) -> None:
    """Get the known model NAME (the default model when none is named) and check it."""
    from ragjudge.gguf.locate import models_dir
    from ragjudge.gguf.manifest import load_manifest
    from ragjudge.gguf.pull import pull

    manifest = load_manifest()
    entry = manifest.default if name is None else manifest.get(name)
    if entry is None:
        raise UnknownNameError("model to pull", str(name), manifest.names)
    with _shown_progress(entry.name) as (progress, notice):
        path = pull(entry, models_dir(), progress, notice=notice)
    click.echo(f"{entry.name}: {path} (sha256 {entry.sha256[:12]}..., {entry.licence})")


@models.command("add")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--name", help="Name to give it; by default its own file name.")
def add_model(file: Path, name: str | None) -> None:
    """Take the GGUF file FILE into the models folder (a hard link where possible, else a copy)."""
    from ragjudge.gguf.add import add

    added = add(file, name)
    verb = "is there already" if added.was_there else "added"
    click.echo(f"{verb}: {added.path} (sha256 {added.sha256})")
    if added.entry is not None and added.path.name == added.entry.file:
        click.echo(f"this is the known model {added.entry.name}; use it as `--judge {added.entry.name}`")
    elif added.entry is not None:
        click.echo(
            f"this is the file of the known model {added.entry.name}; "
            f"without --name it would be found under that name"
        )
    else:
        click.echo(f"use it as `--judge {added.path.stem}`")


@models.command("verify")
@click.argument("name", required=False)
def verify_models(name: str | None) -> None:
    """Read model files anew and compare their sha256: NAME, or all that are here.

    Exit code 2 when a file is not what it should be, 3 when it is missing.
    """
    from ragjudge.gguf.locate import added_files, existing_path, locate, models_dir
    from ragjudge.gguf.manifest import load_manifest

    if name is not None:
        path = existing_path(name)
        click.echo(_verified(path, locate(name).entry))
        return
    known = [(models_dir() / entry.file, entry) for entry in load_manifest()]
    here: list[tuple[Path, ModelEntry | None]] = [pair for pair in known if pair[0].is_file()]
    here += [(path, None) for path in added_files()]
    if not here:
        raise ModelMissingError(
            f"there is no model file in {models_dir()}.", hint="get one with `ragjudge models pull`"
        )
    failures = [failure for path, entry in here if (failure := _reported(path, entry))]
    if failures:
        raise ModelFileError(" ".join(failure.message for failure in failures), hint=failures[0].hint)


@models.command("path")
@click.argument("name")
def model_path(name: str) -> None:
    """Print the path of the model file NAME. Exit code 3 when it is missing."""
    from ragjudge.gguf.locate import existing_path

    click.echo(existing_path(name))


def _rows() -> list[Row]:
    from ragjudge.gguf.locate import added_files, models_dir
    from ragjudge.gguf.manifest import load_manifest

    rows = []
    for entry in load_manifest():
        path = models_dir() / entry.file
        size = path.stat().st_size if path.is_file() else None
        state = "missing" if size is None else "here" if size == entry.size else "wrong size"
        rows.append(
            Row(
                name=entry.name,
                file=entry.file,
                state=state,
                size=entry.size if size is None else size,
                path=str(path),
                default=entry.default,
                sha256=entry.sha256,
                licence=entry.licence,
                chat=entry.chat,
                context=entry.context,
            )
        )
    rows += [
        Row(name=path.stem, file=path.name, state="here", size=path.stat().st_size, path=str(path))
        for path in added_files()
    ]
    return rows


def _verified(path: Path, entry: ModelEntry | None) -> str:
    """Return the line for a right file; a file the manifest does not know must at least be a GGUF."""
    from ragjudge.gguf.digest import compute_sha256
    from ragjudge.gguf.header import read_metadata

    digest = compute_sha256(path)
    if entry is None:
        read_metadata(path)
        return f"{path.name}: a GGUF file, sha256 {digest} (not a known model, nothing to compare with)"
    if digest != entry.sha256:
        raise ModelFileError(
            f"{path} is not the file of {entry.name}: sha256 {digest}, expected {entry.sha256}.",
            hint=f"get it again with `ragjudge models pull {entry.name}`",
        )
    return f"{entry.name}: right, sha256 {digest}"


def _reported(path: Path, entry: ModelEntry | None) -> ModelFileError | None:
    """Print the line for a right file; return what is wrong with another."""
    try:
        click.echo(_verified(path, entry))
    except ModelFileError as error:
        return error
    return None


@contextmanager
def _shown_progress(name: str) -> Iterator[tuple[Progress, Callable[[str], None]]]:
    """Show progress on standard error: a bar on a terminal, else one line per tenth."""
    if _is_terminal():
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task(name, total=None)
            yield (
                lambda done, total: bar.update(task, completed=done, total=total),
                lambda text: bar.console.print(text, markup=False, highlight=False),
            )
        return
    shown = -1

    def line_per_tenth(done: int, total: int) -> None:
        nonlocal shown
        tenth = 10 * done // total
        if tenth > shown:
            shown = tenth
            click.echo(f"{name}: {_megabytes(done)} of {_megabytes(total)} ({10 * tenth} %)", err=True)

    yield line_per_tenth, lambda text: click.echo(text, err=True)


def _is_terminal() -> bool:
    return sys.stderr.isatty()


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
