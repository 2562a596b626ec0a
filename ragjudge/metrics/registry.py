"""From a metric's name to the metric. A new built-in metric is one line here."""

from __future__ import annotations

import importlib
from collections.abc import Iterable

from ragjudge.errors import ConfigError, UnknownNameError
from ragjudge.metrics.base import TwoModeMetric
from ragjudge.records import Mode
from ragjudge.text.splitting import DEFAULT_SPLITTING, Splitting

_METRICS = {
    "faithfulness": "ragjudge.metrics.faithfulness:FaithfulnessMetric",
    "answer_relevancy": "ragjudge.metrics.answer_relevancy:AnswerRelevancyMetric",
    "context_precision": "ragjudge.metrics.context_precision:ContextPrecisionMetric",
    "context_recall": "ragjudge.metrics.context_recall:ContextRecallMetric",
    "context_relevance": "ragjudge.metrics.context_relevance:ContextRelevanceMetric",
}


def metric_names() -> tuple[str, ...]:
    """Return the names of the built-in metrics, in the order of the documentation."""
    return tuple(_METRICS)


def canonical_name(name: str, *, where: str | None = None) -> str:
    """Return a metric's name with underscores.

    Args:
        name: The name as given; hyphens are accepted for underscores.
        where: The place it was read from, for the message.

    Raises:
        UnknownNameError: There is no such metric.
    """
    canonical = name.strip().replace("-", "_")
    if canonical not in _METRICS:
        raise UnknownNameError("metric", name, _METRICS, where=where)
    return canonical


def metric_class(name: str) -> type[TwoModeMetric]:
    """Return a built-in metric's class.

    Raises:
        UnknownNameError: There is no such metric.
    """
    module, _, attribute = _METRICS[canonical_name(name)].partition(":")
    found: type[TwoModeMetric] = getattr(importlib.import_module(module), attribute)
    return found


def check_counts_claims(names: Iterable[str], option: str) -> None:
    """Refuse an option about claims where nothing counts any.

    Args:
        names: Names of metrics; others than the built-in ones count none.
        option: The option as the user knows it, for the message.

    Raises:
        ConfigError: None of them counts claims.
    """
    counting = [name for name in _METRICS if metric_class(name).counts == "claims"]
    if not set(names) & set(counting):
        raise ConfigError(f"{option} belongs to the metrics that count claims: {', '.join(counting)}.")


def make_metric(
    name: str,
    *,
    mode: Mode = "decomposed",
    by: str | None = None,
    splitting: Splitting = DEFAULT_SPLITTING,
) -> TwoModeMetric:
    """Make a built-in metric.

    Args:
        name: Its name.
        mode: ``decomposed`` or ``holistic``.
        by: The variant, for metrics that have any.
        splitting: How texts are cut.

    Raises:
        UnknownNameError: There is no such metric.
        ConfigError: It has no such mode or variant.
    """
    found = metric_class(name)
    if mode not in ("decomposed", "holistic"):
        raise ConfigError(f"{name}: mode is {mode!r}; accepted: decomposed, holistic.")
    if by is not None and by not in found.variants:
        accepted = f"accepted: {', '.join(found.variants)}" if found.variants else "it has no variants"
        raise ConfigError(f"{name}: by is {by!r}; {accepted}.")
    return found(mode, by, splitting)
