"""The command group: loads a command's module when it is called, and maps errors to exit codes."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

import click

from ragjudge import __version__
from ragjudge.cli.lazy import LazyGroup
from ragjudge.errors import RagjudgeError

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""

_COMMANDS = {
    "init": ("ragjudge.cli.init:init", "Write an example suite to start from."),
    "run": ("ragjudge.cli.run:run", "Grade a suite."),
    "grade": ("ragjudge.cli.grade:grade", "Grade the rows of a data file."),
    "score": ("ragjudge.cli.score:score", "Score one answer."),
    "metrics": ("ragjudge.cli.metrics:metrics", "List the metrics and what they need."),
    "split": ("ragjudge.cli.split:split", "Show the sentences and claims of a text."),
    "models": ("ragjudge.cli.models:models", "List, get, add and check model files."),
    "judge": ("ragjudge.cli.judge:judge", "Measure and calibrate judges against people."),
    "cache": ("ragjudge.cli.cache:cache", "Look after the stored answers."),
}


@click.command(cls=LazyGroup, lazy=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ragjudge")
def cli() -> None:
    """Grade retrieval-augmented generation offline, with a local judge and a cache that replays.

    Exit codes: 0 passed, 1 an assertion failed, 2 usage, configuration or data, 3 no judge or too little
    could be graded, 4 a replay needs what is not stored, 130 interrupted.
    """


def run(arguments: Sequence[str]) -> int:
    """Run the command line; return its exit code.

    Every `RagjudgeError` becomes one message on standard error. Anything else that escapes is a fault of
    ours and keeps its traceback.
    """
    # A run makes millions of small records and next to no cycles: looking for cycles at the usual pace costs
    # a tenth of a replay.
    gc.set_threshold(100_000, 50, 1_000)
    try:
        result = cli.main(args=list(arguments), prog_name="ragjudge", standalone_mode=False)
        if sys.stdout is not None:  # closed before we began
            sys.stdout.flush()
    except RagjudgeError as error:
        _say(f"Error: {error.message}" + (f"\nHint: {error.hint}" if error.hint else ""))
        return error.exit_code
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (click.Abort, KeyboardInterrupt):
        _say("Interrupted. Everything that was judged is in the cache; run the same command again to go on.")
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except BrokenPipeError:
        # The reader of a pipe has gone (`| head`): nothing to say, and nothing more to flush at exit.
        _silence_stdout()
        return 0
    except OSError as error:
        _silence_stdout()
        _say(f"Error: the output cannot be written: {error.strerror or error}.")
        return RagjudgeError.exit_code
    return result if isinstance(result, int) else 0


def _silence_stdout() -> None:
    """Let go of what is still waiting to be written, or the interpreter fails over it at its end."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(message: str) -> None:
    from ragjudge.reports.printable import printable

    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
    click.echo("\n".join(printable(line, encoding) for line in message.split("\n")), err=True)
