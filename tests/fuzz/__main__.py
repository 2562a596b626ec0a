"""The long run: ``python -m tests.fuzz TARGET SECONDS [FOLDER]``.

With atheris where it is installed, else with changes of whole inputs. An input that raises, or that takes
longer than five seconds, is written into FOLDER (default: the target's seeds, which are tests from then on).
"""

from __future__ import annotations

import hashlib
import importlib
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.fuzz.mutation import mutated
from tests.fuzz.targets import SEEDS, TARGETS, examples

_MOST_SECONDS = 5.0


def main(arguments: list[str]) -> int:
    """Fuzz one target; return 1 when something was found."""
    if len(arguments) not in (2, 3) or arguments[0] not in TARGETS:
        sys.stderr.write(f"{__doc__}\nTargets: {', '.join(TARGETS)}\n")
        return 2
    name, seconds = arguments[0], float(arguments[1])
    folder = Path(arguments[2]) if len(arguments) == 3 else SEEDS / name
    try:
        atheris: Any = importlib.import_module("atheris")
    except ImportError:
        return _with_changes(name, seconds, folder)
    return _with_atheris(atheris, name, seconds, folder)


def _with_changes(name: str, seconds: float, folder: Path) -> int:
    found = runs = 0
    until = time.monotonic() + seconds
    start = time.time_ns()
    while time.monotonic() < until:
        data = mutated(examples()[name], start + runs)
        runs += 1
        if not _is_fine(TARGETS[name], data, folder):
            found += 1
    sys.stdout.write(f"{name}: {runs} inputs without atheris, {found} findings\n")
    return 1 if found else 0


def _is_fine(target: Callable[[bytes], None], data: bytes, folder: Path) -> bool:
    started = time.monotonic()
    try:
        target(data)
    except Exception:  # any exception is a finding
        traceback.print_exc()
    else:
        if time.monotonic() - started < _MOST_SECONDS:
            return True
        sys.stderr.write(f"slow: {time.monotonic() - started:.1f} s\n")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
    return False


def _with_atheris(atheris: Any, name: str, seconds: float, folder: Path) -> int:
    corpus = folder.with_name(f"{folder.name}-corpus")
    corpus.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(examples()[name]):
        (corpus / f"whole-{number}").write_bytes(data)
    folder.mkdir(parents=True, exist_ok=True)
    atheris.instrument_all()
    options = [f"-max_total_time={int(seconds)}", "-timeout=5", f"-artifact_prefix={folder}/"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], TARGETS[name])
    atheris.Fuzz()  # ends the process
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
