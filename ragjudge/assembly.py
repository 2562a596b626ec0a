"""From a suite to cells: outputs produced, metrics made, judges named."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from ragjudge.agreement.choosing import Choice, choice_of
from ragjudge.cache.panel import Seating
from ragjudge.errors import ConfigError, RagjudgeError
from ragjudge.judges.base import Judge
from ragjudge.judges.llama.prefix_store import parse_bound
from ragjudge.judges.registry import open_judge
from ragjudge.metrics.registry import make_metric
from ragjudge.planning import check_questions
from ragjudge.providers.base import RECORDED, Produced, ProviderFailure, with_output
from ragjudge.providers.registry import open_provider
from ragjudge.records import Sample
from ragjudge.runner import Cell, Task
from ragjudge.suites.spec import LLAMA_SETTINGS, SERVER_SETTINGS, AssertionSpec, JudgeSpec, PanelSpec, Suite
from ragjudge.text.splitting import Splitting


@dataclass(frozen=True)
class Assembly:
    """What a runner needs to grade a suite.

    Attributes:
        cells: One for each provider and case, case by case. The systems under test answer while these are
            gone through, which can be done once.
        total: How many cells there are.
        judges: The judges by their keys, in the order of their first use.
        calibrations: What the suite says about the calibration of each, by the same keys; None = nothing.
        panels: Which of the judges decide together, by keys of their own. A cell's task names the key of
            a judge or of a panel.
    """

    cells: Iterator[Cell]
    total: int
    judges: dict[str, Judge]
    calibrations: dict[str, Choice | None]
    panels: dict[str, Seating] = field(default_factory=dict)

    def seated(self, key: str) -> tuple[str, ...]:
        """Return the keys of the judges that answer what a task with this key asks."""
        return self.panels[key].keys if key in self.panels else (key,)


def assemble(suite: Suite, *, override: Judge | Sequence[Judge] | None = None) -> Assembly:
    """Make a suite's judges, and its cells as far as that needs no output. No model is loaded.

    Args:
        suite: The suite.
        override: Judges everything, whatever the suite says; several decide by majority. Of calibrations
            only the one that the suite names for all judges is left then.

    Raises:
        UnknownNameError: A judge or provider does not exist.
        ConfigError: A judge's setting is out of its range, or a provider's option is unknown.
        ProviderError: A provider cannot be used at all; some show that at their first output only.
        DataError: A row lacks what a metric needs and no provider gives.
    """
    providers = [_Hosted(suite, index) for index in range(len(suite.providers))]
    judges = _Judges(suite, (override,) if isinstance(override, Judge) else tuple(override or ()))
    cells = [
        Cell(
            case.sample,
            tuple(
                _task(case.sample, spec, judges.key(spec.judge or suite.judge), suite.splitting)
                for spec in case.assertions
            ),
            provider=case.sample.provider,
            error=case.sample.error,
            origin=case.origin,
        )
        for case in suite.cases
    ]
    if providers:
        check_questions(cells, recorded=any(provider.name == RECORDED for provider in providers))
    return Assembly(
        _produced(cells, providers) if providers else iter(cells),
        len(cells) * max(1, len(providers)),
        judges.opened,
        judges.calibrations,
        judges.panels,
    )


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


def _produced(cells: Sequence[Cell], providers: Sequence[_Hosted]) -> Iterator[Cell]:
    """Yield each cell as each provider answers it.

    A recorded output has the provider, and the failure, that its row names, if any.
    """
    for cell in cells:
        for provider in providers:
            name = cell.provider if provider.name == RECORDED else provider.name
            produced = provider.produce(cell.sample)
            if isinstance(produced, ProviderFailure):
                yield replace(cell, provider=name, error=produced.reason)
                continue
            fill = partial(with_output, produced=produced, provider=name)
            yield cell.filled(fill, provider=name, produced=provider.name != RECORDED)


class _Hosted:
    """A provider of a suite: its errors name the suite, and its working directory is its own.

    One that moves to another folder stays there, and the paths that the user gave us mean what they meant.
    """

    def __init__(self, suite: Suite, index: int) -> None:
        self._place = f"{suite.path}: providers[{index}]"
        self._folder = _here()
        with self._at_home():
            self._provider = open_provider(suite.providers[index], suite.path.parent)
        self.name = self._provider.name

    def produce(self, sample: Sample) -> Produced:
        """Answer one sample's question.

        Raises:
            ProviderError: It can not be used at all.
        """
        with self._at_home():
            return self._provider.produce(sample)

    @contextmanager
    def _at_home(self) -> Iterator[None]:
        ours = _here()
        if self._folder is not None and self._folder != ours:
            os.chdir(self._folder)
        try:
            yield
        except RagjudgeError as error:
            raise error.within(self._place)  # noqa: B904 - the very error, told where
        finally:
            self._folder = _here()
            if ours is not None and self._folder != ours:
                os.chdir(ours)


def _here() -> Path | None:
    """Return the working directory; None when it has been removed, as temporary ones are."""
    try:
        return Path.cwd()
    except OSError:
        return None


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
        try:
            judge = _open(spec, self._prefix_bytes)
        except ConfigError as error:
            raise error.within(str(self._suite.path))  # noqa: B904 - the very error, told where
        return self._keep(key, judge, None if spec is None else spec.calibration)

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
