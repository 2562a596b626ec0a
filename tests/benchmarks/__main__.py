"""The command: ``python -m tests.benchmarks [NAME …] [--out DIR]``."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from ragjudge.errors import RagjudgeError
from tests.benchmarks.figures import Section
from tests.benchmarks.journal import Journal
from tests.benchmarks.options import Bench
from tests.benchmarks.process import ROOT, MeasurementError
from tests.benchmarks.table import write_table

MODULES = {
    "engine": "engine",
    "ragas": "side_by_side",
    "peers": "peers",
    "prefixes": "prefixes",
    "replay": "replay",
    "long": "long",
    "memory": "memory",
    "order": "order",
}
"""The benchmarks, in the order of the table."""

NEED_DATA = ("peers",)
"""Those that need human-labelled rows, which do not come with the project."""

SPLITTING = "tests.benchmarks.splitting"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks that are named; return an exit code."""
    options = _parser().parse_args(arguments)
    # Ended like this, it ends what it has started too: a server left behind would slow whatever comes next.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    names = options.names or [name for name in MODULES if options.data or name not in NEED_DATA]
    unknown = [name for name in names if name not in MODULES]
    if unknown:
        sys.stderr.write(f"no benchmark is called {unknown[0]!r}; there are: {', '.join(MODULES)}\n")
        return 2
    out: Path = options.out.expanduser().resolve()
    out.mkdir(parents=True, exist_ok=True)
    journal = Journal(out / "measured.jsonl", _say, options.lock)
    for prefix in options.again:
        _say(f"forgot {journal.forget(prefix)} measurements that begin with {prefix!r}")
    bench = _bench(options, out, journal)
    sections: list[Section] = []
    failed = False
    for name, module in MODULES.items():
        if name in names:
            try:
                sections.append(importlib.import_module(f"tests.benchmarks.{module}").run(bench))
            except (MeasurementError, RagjudgeError) as error:
                failed = True
                _say(f"{name}: {error}")
    markdown, data = write_table(sections, bench)
    sys.stdout.write(markdown.read_text(encoding="utf-8"))
    _say(f"written: {markdown}, {data}")
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description="Measure speed and memory, and write one table. What is measured already is not "
        "measured again. Let nothing else run meanwhile: two processes on the same cores slow each other "
        "down far more than by half.",
        epilog=_epilog(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="which benchmarks [all]")
    parser.add_argument(
        "--out",
        type=Path,
        default=ROOT / ".cache" / "benchmarks",
        metavar="DIR",
        help="folder for results, made-up data and virtual environments [.cache/benchmarks]",
    )
    parser.add_argument("--judge", metavar="ID", help="model name or .gguf file [the default model]")
    parser.add_argument(
        "--quick", action="store_true", help="a few small cases, to see that everything works; no figures"
    )
    parser.add_argument(
        "--again",
        action="append",
        default=[],
        metavar="KEY",
        help="measure again what begins so, e.g. engine or ragas/ours; may be repeated",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=900.0,
        metavar="SECONDS",
        help="most seconds that another library may take for one case [900]",
    )
    parser.add_argument(
        "--data",
        type=Path,
        metavar="FOLDER",
        help="folder of human-labelled rows, one JSON object a line; without it peers is left out",
    )
    parser.add_argument(
        "--calibration",
        type=_calibration,
        action="append",
        default=[],
        metavar="[SET=]FILE",
        help="peers: our calibration for the rows of a set, e.g. one that was fitted without them; may be "
        "repeated [the shipped one]",
    )
    parser.add_argument(
        "--lock",
        type=Path,
        metavar="FILE",
        help="lock this file (flock) during each measurement, and never between two of them",
    )
    return parser


def _calibration(text: str) -> tuple[str, Path]:
    name, equals, path = text.rpartition("=")
    return (name if equals else "", Path(path))


def _epilog() -> str:
    lines = ["benchmarks:"]
    for name, module in MODULES.items():
        lines.append(f"  {name:10}{importlib.import_module(f'tests.benchmarks.{module}').TITLE}")
    if importlib.util.find_spec(SPLITTING) is not None:
        lines.append(f"  splitting is measured by itself: python -m {SPLITTING}")
    return "\n".join(lines)


def _bench(options: argparse.Namespace, out: Path, journal: Journal) -> Bench:
    from ragjudge.gguf.locate import existing_path
    from ragjudge.gguf.manifest import load_manifest

    judge = options.judge or load_manifest().default.name
    model = existing_path(judge).resolve()
    calibrations = dict(options.calibration)
    return Bench(out, journal, judge, model, options.quick, options.timeout, options.data, calibrations)


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
