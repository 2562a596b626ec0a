"""Rows that carry their outputs: nothing is run."""

from __future__ import annotations

from ragjudge.providers.base import RECORDED, ProducedOutput
from ragjudge.records import Sample


class RecordedProvider:
    """Hands out what the rows hold."""

    name = RECORDED

    def produce(self, sample: Sample) -> ProducedOutput:
        """Return the row's own output and contexts."""
        return ProducedOutput(sample.output, sample.contexts)
