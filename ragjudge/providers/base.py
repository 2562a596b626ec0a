"""What a provider is, and what it may return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pydantic import Field, JsonValue

from ragjudge.records import Record, Sample

RECORDED = "recorded"
"""The provider of rows that carry their outputs."""

SERVICES = frozenset(
    {
        "ai21", "aleph-alpha", "anthropic", "aws", "azure", "azureopenai", "bedrock", "cerebras",
        "cloudflare-ai", "cohere", "databricks", "deepseek", "fireworks", "fireworks-ai", "gemini", "github",
        "google", "groq", "huggingface", "hyperbolic", "litellm", "mistral", "nvidia", "ollama", "openai",
        "openrouter", "perplexity", "replicate", "sagemaker", "togetherai", "together", "vercel", "vertex",
        "vertexai", "vertex_ai", "voyage", "watsonx", "xai",
    }
)  # fmt: skip
"""Prefixes by which other tools name models behind a service. ragjudge calls none of them."""


def service_of(reference: str) -> str | None:
    """Return the service that a reference such as ``openai:gpt-4o`` names, or None."""
    prefix, colon, _ = reference.partition(":")
    return prefix if colon and prefix.strip().lower() in SERVICES else None


class ProviderSpec(Record):
    """A provider as a suite names it.

    Attributes:
        id: ``recorded``, or ``python:FILE.py:FUNCTION``, or ``python:package.module:FUNCTION``.
        options: The other keys beside the id.
    """

    id: str
    options: dict[str, JsonValue] = Field(default_factory=dict)


@dataclass(frozen=True)
class ProducedOutput:
    """What a system under test answered.

    Attributes:
        output: Its answer; None when a recorded row has none.
        contexts: The chunks it retrieved; None when it does not say.
    """

    output: str | None
    contexts: tuple[str, ...] | None = None


@dataclass(frozen=True)
class ProviderFailure:
    """One row for which the system under test gave no answer; the run goes on without it.

    Attributes:
        reason: One sentence for the report.
    """

    reason: str


Produced = ProducedOutput | ProviderFailure


class Provider(Protocol):
    """A system under test."""

    @property
    def name(self) -> str:
        """What reports call it."""

    def produce(self, sample: Sample) -> Produced:
        """Answer one sample's question.

        Raises:
            ProviderError: It can not be used at all, for this row or any other.
        """


def with_output(sample: Sample, produced: ProducedOutput, provider: str | None) -> Sample:
    """Return the sample with what a provider produced; contexts that the row itself gives win."""
    contexts = produced.contexts if sample.contexts is None else sample.contexts
    update = {"output": produced.output, "contexts": contexts, "provider": provider, "error": None}
    return sample.model_copy(update=update)
