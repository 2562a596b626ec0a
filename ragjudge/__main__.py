"""Entry point of ``ragjudge`` and ``python -m ragjudge``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and leave with its exit code."""
    from ragjudge.cli.main import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
