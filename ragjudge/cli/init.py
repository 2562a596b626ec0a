"""``ragjudge init``: an example suite to start from."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import click

from ragjudge.cli.command import Command
from ragjudge.errors import UsageError

FILES = ("suite.yaml", "rows.jsonl")


@click.command("init", cls=Command)
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
def init(folder: Path) -> None:
    """Write an example suite and its data into DIR (by default the working directory).

    A file that is there already is never overwritten.
    """
    import shlex

    targets = [folder / name for name in FILES]
    for target in targets:
        if target.exists() or target.is_symlink():
            raise UsageError(
                f"{target} is there already, and nothing was written.",
                hint="name another folder: ragjudge init DIR",
            )
    example = files("ragjudge.suites") / "example"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for target in targets:
            with target.open("xb") as file:
                file.write((example / target.name).read_bytes())
    except OSError as error:
        raise UsageError(f"{folder}: the example cannot be written: {error.strerror or error}.") from error
    for target in targets:
        click.echo(f"wrote {target}")
    suite = shlex.quote(str(targets[0]))
    click.echo(
        "\nNext:\n"
        "  ragjudge models pull    get the judge model, once\n"
        f"  ragjudge run {suite}    grade the rows\n"
        f"  ragjudge run {suite} --replay    the same report again, from the cache alone"
    )
