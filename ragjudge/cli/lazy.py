"""Groups of commands that are imported when they are called."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import click


class LazyCommand(NamedTuple):
    """Where a command is, and what a list of commands says about it.

    Attributes:
        place: Module and attribute, ``package.module:attribute``.
        summary: One sentence.
    """

    place: str
    summary: str


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called, so that help loads nothing.

    Args:
        lazy: The commands by name, in the order in which one needs them.
        options: What `click.Group` takes.
    """

    def __init__(self, *, lazy: Mapping[str, tuple[str, str]], **options: Any) -> None:
        super().__init__(**options)
        self._lazy = {name: LazyCommand(*told) for name, told in lazy.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order in which one needs them."""
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in self._lazy:
            return None
        module, _, attribute = self._lazy[cmd_name].place.partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.summary) for name, command in self._lazy.items()])
