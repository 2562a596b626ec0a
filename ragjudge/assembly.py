"""From a suite to cells: outputs produced, metrics made, judges named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragjudge.agreement.choosing import Choice, choice_of
from ragjudge.cache.panel import Seating
from ragjudge.errors import ConfigError, ProviderError, RagjudgeError
from ragjudge.judges.base import Judge
from ragjudge.judges.llama.prefix_store import parse_bound
from ragjudge.judges.registry import open_judge
from ragjudge.metrics.registry import make_metric
from ragjudge.providers.base import RECORDED, Provider, ProviderFailure, with_output
from ragjudge.providers.registry import open_provider
from ragjudge.records import Sample
from ragjudge.runner import Cell, Task
from ragjudge.suites.spec import LLAMA_SETTINGS, SERVER_SETTINGS, AssertionSpec, JudgeSpec, PanelSpec, Suite
from ragjudge.text.splitting import Splitting


@dataclass(frozen=True)
class Assembly:
    """What a runner needs to grade a suite.

    Attributes:
        cells: One for each provider and case, case by case.
        judges: The judges by their keys, in the order of their first use.
        calibrations: What the suite says about the calibration of each, by the same keys; None = nothing.
        panels: Which of the judges decide together, by keys of their own. A cell's task names the key of
            a judge or of a panel.
    """

    cells: tuple[Cell, ...]
    judges: dict[str, Judge]
    calibrations: dict[str, Choice | None]
    panels: dict[str, Seating] = field(default_factory=dict)

    def seated(self, key: str) -> tuple[str, ...]:
        """Return the keys of the judges that answer what a task with this key asks."""
        return self.panels[key].keys if key in self.panels else (key,)


def assemble(suite: Suite, *, override: Judge | Sequence[Judge] | None = None) -> Assembly:
    """Produce a suite's outputs, and make its cells and judges. No model is loaded.

    Args:
        suite: The suite.
        override: Judges everything, whatever the suite says; several decide by majority. Of calibrations
            only the one that the suite names for all judges is left then.

    Raises:
        UnknownNameError: A judge or provider does not exist.
        ConfigError: A judge's setting is out of its range, or a provider's option is unknown.
        ProviderError: A provider cannot be used at all.
    """
    providers = [_provider(suite, index) for index in range(len(suite.providers))]
    judges = _Judges(suite, (override,) if isinstance(override, Judge) else tuple(override or ()))
    cells = []
    for case in suite.cases:
        keys = [judges.key(spec.judge or suite.judge) for spec in case.assertions]
        for sample, provider, error in _outputs(case.sample, providers, suite):
            tasks = tuple(
                _task(sample, spec, key, suite.splitting)
                for spec, key in zip(case.assertions, keys, strict=True)
            )
            cells.append(Cell(sample, tasks, provider=provider, error=error))
    return Assembly(tuple(cells), judges.opened, judges.calibrations, judges.panels)


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


def _provider(suite: Suite, index: int) -> Provider:
    try:
        return open_provider(suite.providers[index], suite.path.parent)
    except RagjudgeError as error:
        raise error.within(f"{suite.path}: providers[{index}]")  # noqa: B904 - the very error, told where


def _outputs(
    sample: Sample, providers: list[Provider], suite: Suite
) -> Iterator[tuple[Sample, str | None, str | None]]:
    """Yield the sample as each provider answers it, with the provider's name and its failure.

    A recorded output has the provider, and the failure, that its row names, if any.
    """
    if not providers:
        yield sample, sample.provider, sample.error
    for index, provider in enumerate(providers):
        name = sample.provider if provider.name == RECORDED else provider.name
        try:
            produced = provider.produce(sample)
        except ProviderError as error:
            raise error.within(f"{suite.path}: providers[{index}]")  # noqa: B904 - as above
        if isinstance(produced, ProviderFailure):
            yield sample, name, produced.reason
        else:
            yield with_output(sample, produced, name), name, None


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


class _Judges:
    """The judges of a suite, opened as they are first named; equal specs mean one judge."""

    def __init__(self, suite: Suite, override: tuple[Judge, ...]) -> None:
        self._suite = suite
        self._override = override
        self._prefix_bytes = prefix_bound(suite)
        self.opened: dict[str, Judge] = {}
        self.calibrations: dict[str, Choice | None] = {}
        self.panels: dict[str, Seating] = {}

    def key(self, spec: JudgeSpec | PanelSpec | None) -> str:
        """Return the key of the judge or panel that a spec means."""
        if len(self._override) > 1:
            keys = tuple(self._keep(str(n), judge, None) for n, judge in enumerate(self._override))
            self.panels.setdefault("", Seating(keys))
            return ""
        if self._override:
            return self._keep("", self._override[0], None)
        if isinstance(spec, PanelSpec):
            key = spec.model_dump_json()
            self.panels.setdefault(key, Seating(tuple(map(self._single, spec.members)), spec.by))
            return key
        return self._single(spec)

    def _single(self, spec: JudgeSpec | None) -> str:
        key = "" if spec is None else spec.model_dump_json()
        if key in self.opened:
            return key
        return self._keep(key, _open(spec, self._prefix_bytes), None if spec is None else spec.calibration)

    def _keep(self, key: str, judge: Judge, calibration: str | None) -> str:
        if key not in self.opened:
            self.opened[key] = judge
            wish = calibration or self._suite.calibration
            self.calibrations[key] = choice_of(wish, base=self._suite.path.parent)
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
