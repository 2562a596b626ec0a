"""Runs a measurement in a process of its own, so that its memory is its own and goes back afterwards."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
"""The checkout."""

_MARK = "measured: "


class MeasurementError(Exception):
    """A measurement's process ended without a result."""


def measure_apart(
    function: str, arguments: Mapping[str, Any], environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Call a function in a fresh process.

    Args:
        function: ``package.module:name``; it takes keyword arguments and returns a mapping, both plain JSON.
        arguments: The arguments.
        environment: Environment variables to set.

    Returns:
        What the function returned, with the process's ``peak_bytes``.

    Raises:
        MeasurementError: The process failed; its error output goes with it.
    """
    command = [sys.executable, "-m", __name__, function]
    done = subprocess.run(
        command,
        input=json.dumps(arguments),
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        check=False,
    )
    for line in done.stdout.splitlines():
        if line.startswith(_MARK):
            result: dict[str, Any] = json.loads(line[len(_MARK) :])
            return result
    raise MeasurementError(f"{function} ended with {done.returncode}:\n{done.stderr[-3000:]}")


def measure_at_home(function: str, arguments: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Call a function in a fresh process with a home of its own: nothing in it, whatever the user's holds.

    Args:
        function: As for `measure_apart`.
        arguments: As for `measure_apart`.
        folder: Where the home is made; it is gone afterwards.
    """
    with tempfile.TemporaryDirectory(dir=folder, prefix="home-") as home:
        return measure_apart(function, arguments, {"RAGJUDGE_HOME": home})


def peak_bytes() -> int:
    """Return the largest resident memory that this process has had, in bytes."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


def main() -> None:
    """Call the function that the command line names with the arguments on standard input."""
    module, _, name = sys.argv[1].partition(":")
    result = getattr(importlib.import_module(module), name)(**json.load(sys.stdin))
    sys.stdout.write(f"\n{_MARK}{json.dumps({**result, 'peak_bytes': peak_bytes()})}\n")


if __name__ == "__main__":
    main()
