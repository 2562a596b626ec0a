"""What all measurements are given: where to keep things, which judge, how much."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.benchmarks.journal import Journal, Result


@dataclass(frozen=True)
class Bench:
    """The setting of a run.

    Attributes:
        out: The folder for results, virtual environments and made-up data.
        journal: What has been measured already.
        judge: The model's name or path.
        model: The model file.
        quick: Measure a few cases only, to see that everything works.
        timeout: Most seconds for one case of another library.
        data: A folder of human-labelled rows, or None.
        calibrations: Calibration files by the set of rows that they are for; ``""`` = for all others.
    """

    out: Path
    journal: Journal
    judge: str
    model: Path
    quick: bool
    timeout: float
    data: Path | None = None
    calibrations: Mapping[str, Path] = field(default_factory=dict)

    def measure(self, key: str, inputs: Any, run: Callable[[], Result]) -> Result:
        """Measure, or return what was measured before with this model and these inputs."""
        return self.journal.measure(self._name(key), inputs, run)

    def measured(self, key: str, inputs: Any) -> bool:
        """Say whether that was measured already."""
        return self.journal.has(self._name(key), inputs)

    def _name(self, key: str) -> str:
        return f"{key}@{self.model.name}{'/quick' if self.quick else ''}"
