"""From a suite to cells: outputs produced, metrics made, judges named."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ragjudge.errors import ConfigError
from ragjudge.judges.base import Judge
from ragjudge.judges.llama.prefix_store import parse_bound
from ragjudge.judges.registry import open_judge
from ragjudge.metrics.registry import make_metric
from ragjudge.providers.base import RECORDED, Provider, ProviderFailure, with_output
from ragjudge.providers.registry import open_provider
from ragjudge.records import Sample
from ragjudge.runner import Cell, Task
from ragjudge.suites.spec import LLAMA_SETTINGS, SERVER_SETTINGS, AssertionSpec, JudgeSpec, Suite
from ragjudge.text.splitting import Splitting


@dataclass(frozen=True)
class Assembly:
    """What a runner needs to grade a suite.

    Attributes:
        cells: One for each provider and case, case by case.
        judges: The judges, by the key that the cells' tasks name, in the order of their first use.
    """

    cells: tuple[Cell, ...]
    judges: dict[str, Judge]


def assemble(suite: Suite, *, override: Judge | None = None) -> Assembly:
    """Produce a suite's outputs, and make its cells and judges. No model is loaded.

    Args:
        suite: The suite.
        override: Judges everything, whatever the suite says.

    Raises:
        UnknownNameError: A judge or provider does not exist.
        ConfigError: A judge's setting is out of its range, or a provider's option is unknown.
        ProviderError: A provider cannot be used at all.
    """
    base = suite.path.parent
    providers = [open_provider(spec, base) for spec in suite.providers]
    prefix_bytes = prefix_bound(suite)
    judges: dict[str, Judge] = {}
    cells = []
    for case in suite.cases:
        keys = [
            _judge_key(spec.judge or suite.judge, judges, override, prefix_bytes) for spec in case.assertions
        ]
        for sample, provider, error in _outputs(case.sample, providers):
            tasks = tuple(
                _task(sample, spec, key, suite.splitting)
                for spec, key in zip(case.assertions, keys, strict=True)
            )
            cells.append(Cell(sample, tasks, provider=provider, error=error))
    return Assembly(tuple(cells), judges)


def prefix_bound(suite: Suite) -> int | None:
    """Return how many bytes kept prefixes may take; None = the default.

    Raises:
        ConfigError: The suite gives no size.
    """
    if suite.prefix_store is None:
        return None
    try:
        return parse_bound(suite.prefix_store)
    except ConfigError as error:
        raise ConfigError(f"{suite.path}: {error.message}") from error


def _outputs(sample: Sample, providers: list[Provider]) -> Iterator[tuple[Sample, str | None, str | None]]:
    """Yield the sample as each provider answers it, with the provider's name and its failure.

    A recorded output names no provider.
    """
    if not providers:
        yield sample, None, None
    for provider in providers:
        name = None if provider.name == RECORDED else provider.name
        produced = provider.produce(sample)
        if isinstance(produced, ProviderFailure):
            yield sample, name, produced.reason
        else:
            yield with_output(sample, produced), name, None


def _task(sample: Sample, spec: AssertionSpec, judge: str, splitting: Splitting) -> Task:
    metric = make_metric(spec.metric, mode=spec.mode or "decomposed", by=spec.by, splitting=splitting)
    own = {
        name: value
        for name, value in (("contexts", spec.context), ("expected", spec.reference))
        if value is not None
    }
    return Task(
        spec.label,
        metric,
        sample.model_copy(update=own) if own else sample,
        metric.default_threshold if spec.threshold is None else spec.threshold,
        spec.on_empty,
        judge,
    )


def _judge_key(
    spec: JudgeSpec | None, judges: dict[str, Judge], override: Judge | None, prefix_bytes: int | None
) -> str:
    """Return the key of the judge that a spec means; equal specs mean one judge."""
    if override is not None:
        judges.setdefault("", override)
        return ""
    key = "" if spec is None else spec.model_dump_json()
    if key not in judges:
        judges[key] = _open(spec, prefix_bytes)
    return key


def _open(spec: JudgeSpec | None, prefix_bytes: int | None) -> Judge:
    if spec is None:
        return open_judge(prefix_bytes=prefix_bytes)
    settings: dict[str, Any] = {
        name: getattr(spec, name)
        for name in (*LLAMA_SETTINGS, *SERVER_SETTINGS)
        if getattr(spec, name) is not None
    }
    return open_judge(spec.id, path=spec.path, prefix_bytes=prefix_bytes, **settings)
