"""How a model is run. Loads nothing, so that settings can be checked without llama.cpp."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ragjudge.errors import ConfigError

MOST_THREADS = 512
MOST_SEQUENCES = 256
"""What llama.cpp is built for."""


@dataclass(frozen=True)
class EngineSettings:
    """How a model is run; nothing here changes an answer beyond floating-point noise.

    Attributes:
        threads: Worker threads, 1 to 512; None = one per physical core.
        gpu_layers: Layers to offload, -1 = all; None = all when llama.cpp was built for a GPU, else none.
        batch: Most tokens in one batch, at least 1.
        sequences: Most sequences held at one time, 2 to 256.

    Raises:
        ConfigError: A setting is out of its range.
    """

    threads: int | None = None
    gpu_layers: int | None = None
    batch: int = 512
    sequences: int = 32

    def __post_init__(self) -> None:
        """Check the ranges: llama.cpp answers many a wrong size by ending the process."""
        for name, value, least, most in (
            ("threads", self.threads, 1, MOST_THREADS),
            ("gpu_layers", self.gpu_layers, -1, None),
            ("batch", self.batch, 1, None),
            ("sequences", self.sequences, 2, MOST_SEQUENCES),
        ):
            if value is not None and (value < least or (most is not None and value > most)):
                accepted = f"{least} or more" if most is None else f"{least} to {most}"
                raise ConfigError(f"the judge's {name} is {value}; accepted: {accepted}.")


def physical_cores() -> int:
    """Return the number of physical cores this process may run on, at least 1."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
    cores = set()
    for cpu in allowed:
        siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        try:
            cores.add(siblings.read_text(encoding="ascii"))
        except OSError:
            cores.add(str(cpu))
    return max(1, len(cores))
