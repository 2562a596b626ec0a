"""Rows that carry their outputs: nothing is run."""

from __future__ import annotations

from ragjudge.providers.base import RECORDED, Produced, ProducedOutput, ProviderFailure
from ragjudge.records import Sample


class RecordedProvider:
    """Hands out what the rows hold, or say of themselves in a report."""

    name = RECORDED

    def produce(self, sample: Sample) -> Produced:
        """Return the row's own output and contexts, or its error."""
        if sample.error is not None:
            return ProviderFailure(sample.error)
        return ProducedOutput(sample.output, sample.contexts)
