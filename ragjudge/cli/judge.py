"""The commands about judges themselves."""

from __future__ import annotations

import click

from ragjudge.cli.lazy import LazyGroup

_COMMANDS = {
    "check": ("ragjudge.cli.judge_check:check", "Measure how well a judge agrees with people."),
    "calibrate": ("ragjudge.cli.judge_calibrate:calibrate", "Fit what corrects a judge's probabilities."),
}


@click.command(cls=LazyGroup, lazy=_COMMANDS)
def judge() -> None:
    """Measure and calibrate judges against what people say."""
