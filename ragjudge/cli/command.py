"""What all commands refuse in the same way: an option that contradicts itself, and a path without a name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from ragjudge.errors import UsageError


class Command(click.Command):
    """A command none of whose options is overruled in silence by another of the same name."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments.

        Raises:
            UsageError: An option that takes one value has two different ones, or a path is empty.
        """
        if not ctx.resilient_parsing:  # the shell asks how a half-written line goes on
            for parameter, values in self._given(ctx, list(args)):
                _check(parameter, values)
        return super().parse_args(ctx, args)

    def _given(self, ctx: click.Context, args: list[str]) -> Iterator[tuple[click.Parameter, list[Any]]]:
        """Yield the parameters that are given with all their values: click itself keeps the last one."""
        parser = self.make_parser(ctx)
        parameters = self.get_params(ctx)
        for option in parameters:
            if not isinstance(option, click.Option):
                continue
            if option.is_flag:
                for names, value in ((option.opts, True), (option.secondary_opts, False)):
                    parser.add_option(option, names, option.name, action="append_const", const=value)
            else:
                parser.add_option(option, option.opts, option.name, action="append", nargs=option.nargs)
        found, _, _ = parser.parse_args(args)
        for parameter in parameters:
            values = found.get(parameter.name)
            if isinstance(values, (list, tuple)):
                yield parameter, list(values)
            elif isinstance(values, str):
                yield parameter, [values]


class Group(click.Group):
    """A group whose own commands are of this kind."""

    command_class = Command


def _check(parameter: click.Parameter, values: list[Any]) -> None:
    name = (
        max(parameter.opts, key=len) if isinstance(parameter, click.Option) else parameter.human_readable_name
    )
    if isinstance(parameter.type, click.Path) and "" in values:
        raise UsageError(f"{name} is an empty text; accepted: a path.")
    different = list(dict.fromkeys(values))
    if not isinstance(parameter, click.Option) or parameter.multiple or len(different) < 2:
        return
    if parameter.is_flag:
        other = max(parameter.secondary_opts, key=len)
        raise UsageError(f"{name} and {other} contradict each other; give one of them.")
    shown = " and ".join(map(repr, different))
    raise UsageError(f"{name} is given {len(values)} times, with {shown}; accepted: one value.")
