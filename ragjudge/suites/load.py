"""From a suite file to a suite: names mapped, defaults merged, labels given, relative paths resolved."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ragjudge.datasets.columns import columns_of, contexts_are_one_text
from ragjudge.datasets.load import Ids, LoadedRow, read_columns
from ragjudge.datasets.readers import Found
from ragjudge.datasets.values import plain_json
from ragjudge.errors import ConfigError, DataError, UnknownNameError, nearest
from ragjudge.metrics.registry import canonical_name, metric_names
from ragjudge.providers.base import RECORDED, ProviderSpec, service_of
from ragjudge.suites.config import (
    AssertionConfig,
    By,
    JudgeConfig,
    MetricSettings,
    PanelConfig,
    Settings,
    SuiteConfig,
    validated,
)
from ragjudge.suites.spec import AssertionSpec, Case, JudgeSpec, PanelSpec, Suite
from ragjudge.suites.text_files import TextFiles
from ragjudge.suites.texts import Texts, refers_to_vars
from ragjudge.suites.yaml_file import read_yaml
from ragjudge.text.languages import language_name
from ragjudge.text.splitting import Splitting

if TYPE_CHECKING:
    from pydantic import JsonValue

_WITH_VARIANTS = "context_precision"


def load_suite(path: str | Path, *, override_judge: bool = False) -> Suite:
    """Read a suite and everything it names but models, caches and providers.

    Args:
        path: The YAML file.
        override_judge: True when every judge will be replaced anyway, so that their names do not matter.

    Raises:
        ConfigError: The file cannot be read, or something in it cannot be meant.
        UnknownNameError: It names a metric that does not exist, or a language that the splitter lacks.
        DataError: A row, or the data file it names, cannot be graded.
    """
    file = Path(path)
    config = validated(SuiteConfig, read_yaml(file), str(file))
    return _Loader(file, config, override_judge).suite()


def judge_path(reference: str, base: Path) -> Path | None:
    """Return the file that a judge's reference means, or None for a name.

    Args:
        reference: The reference as written.
        base: The folder that relative paths are relative to in the first place.

    Returns:
        The file beside ``base``, or the one in the working directory when only that exists. A path
        that leads nowhere stays relative to ``base``; a bare file name that leads nowhere is None, since
        it may be the name of a file in the models folder.
    """
    has_folder = "/" in reference or os.sep in reference or reference.startswith("~")
    if not has_folder and not reference.endswith(".gguf"):
        return None
    path = Path(reference).expanduser()
    if (base / path).exists():
        return base / path
    if path.exists():
        return path
    return base / path if has_folder else None


class _Placed(NamedTuple):
    """An assertion, the label the user gave it, and its place in the file."""

    spec: AssertionSpec
    label: str | None
    place: str


class _Loader:
    """Resolves one suite."""

    def __init__(self, file: Path, config: SuiteConfig, override_judge: bool) -> None:
        self._file = file
        self._base = file.parent
        self._files = TextFiles(self._base)
        self._config = config
        self._override_judge = override_judge
        self._judges: dict[str, JudgeSpec] = {}
        self._judges = {
            name: self._judge(judge, f"judges[{name!r}]") for name, judge in (config.judges or {}).items()
        }
        self._general, self._of_metric = self._read_defaults()
        self._metric_of_label: dict[str, tuple[str, str]] = {}
        self._ids = Ids(recorded=all(provider.id == RECORDED for provider in config.providers or ()))

    def suite(self) -> Suite:
        """Resolve everything."""
        config = self._config
        judge = self._judge_or_panel(config.judge, "judge") if config.judge else None
        splitting = self._splitting()
        cases = tuple(self._cases())
        if not any(case.assertions for case in cases):
            raise self._error(
                "", "the suite asserts nothing; accepted: an `assert:` list at the top, or in a test."
            )
        return Suite(
            path=self._file,
            description=config.description,
            judge=judge,
            judges=self._judges,
            calibration=config.calibration,
            providers=self._providers(),
            cases=cases,
            dataset=self._beside(config.dataset) if config.dataset else None,
            cache=self._beside(config.cache) if config.cache else None,
            prefix_store=config.prefix_store,
            splitting=splitting,
        )

    def _splitting(self) -> Splitting:
        names = {"language", "claims", "code", "abbreviations", "evidence"}
        given = self._config.model_dump(include=names, exclude_none=True)
        if "language" in given:
            language_name(given["language"], where=f"{self._file}: language")
        return Splitting(**given)

    # -- judges and providers ----------------------------------------------------------------------

    def _judge(self, judge: JudgeConfig, place: str) -> JudgeSpec:
        settings = judge.model_dump(exclude={"id"}, exclude_none=True)
        mapped = self._judges.get(judge.id)
        if mapped is not None:
            return mapped.model_copy(update=settings)
        if service_of(judge.id) and not self._override_judge:
            raise self._error(
                place,
                f"the judge {judge.id!r} is a model behind a service, and ragjudge calls none.",
                hint=f'map it to a local model, e.g. `judges: {{"{judge.id}": qwen2.5-coder-1.5b}}`, '
                f"or pass --judge",
            )
        return JudgeSpec(id=judge.id, path=judge_path(judge.id, self._base), **settings)

    def _judge_or_panel(
        self, given: JudgeConfig | Sequence[JudgeConfig] | PanelConfig, place: str
    ) -> JudgeSpec | PanelSpec:
        if isinstance(given, JudgeConfig):
            return self._judge(given, place)
        panel, by = (given.panel, given.by) if isinstance(given, PanelConfig) else (given, "majority")
        inside = f"{place}.panel" if isinstance(given, PanelConfig) else place
        members: list[JudgeSpec] = []
        for index, judge in enumerate(panel):
            spec = self._judge(judge, f"{inside}[{index}]")
            if spec in members:
                raise self._error(
                    f"{inside}[{index}]",
                    f"the judge {judge.id!r} is that of {inside}[{members.index(spec)}]; a panel has each "
                    f"judge once.",
                )
            members.append(spec)
        return PanelSpec(members=tuple(members), by=by)

    def _providers(self) -> tuple[ProviderSpec, ...]:
        specs: dict[str, ProviderSpec] = {}
        for index, provider in enumerate(self._config.providers or ()):
            place = f"providers[{index}]"
            if provider.id in specs:
                raise self._error(place, f"the provider {provider.id!r} is listed twice.")
            specs[provider.id] = ProviderSpec(
                id=provider.id, options=self._options(provider.model_extra or {}, place)
            )
        return tuple(specs.values())

    def _options(self, options: Mapping[str, Any], place: str) -> dict[str, JsonValue]:
        found = {}
        for name, value in options.items():
            what = f"{self._file}: {place}: {name!r}"
            try:
                found[name] = plain_json(value, what)
            except TypeError as error:
                raise ConfigError(
                    f"{what} is a {error}; accepted: texts, numbers, lists, mappings."
                ) from error
        return found

    def _beside(self, path: str) -> Path:
        return self._base / Path(path).expanduser()

    # -- assertions --------------------------------------------------------------------------------

    def _read_defaults(self) -> tuple[Settings, dict[str, MetricSettings]]:
        general: dict[str, Any] = {}
        of_metric: dict[str, MetricSettings] = {}
        for key, value in (self._config.defaults or {}).items():
            metric = str(key).replace("-", "_")
            if key in Settings.model_fields:
                general[key] = value
            elif metric not in metric_names():
                known = sorted([*Settings.model_fields, *metric_names()])
                near = nearest(str(key), known)
                suggestion = f" Did you mean {near!r}?" if near else ""
                raise self._error(
                    "defaults", f"unknown key {key!r}.{suggestion} Accepted: {', '.join(known)}."
                )
            elif metric in of_metric:
                raise self._error("defaults", f"the metric {metric!r} is given twice, in two spellings.")
            else:
                place = f"defaults.{key}"
                of_metric[metric] = validated(MetricSettings, value, str(self._file), inside=place)
                self._refuse_variant(metric, of_metric[metric].by, place)
        return validated(Settings, general, str(self._file), inside="defaults"), of_metric

    def _placed(self, config: AssertionConfig, place: str, one_text: bool) -> _Placed:
        """Resolve one assertion.

        Args:
            config: What the file says.
            place: Its place in the file.
            one_text: Whether the row gives its contexts as one text.
        """
        metric = canonical_name(config.type, where=f"{self._file}: {place}.type")
        self._refuse_variant(metric, config.by, place)
        other = (config.label or "").replace("-", "_")
        if other != metric and other in metric_names():
            raise self._error(
                f"{place}.label", f"{config.label!r} is the name of another metric; accepted: any other text."
            )
        layers = [
            (config, place),
            (self._of_metric.get(metric), f"defaults.{metric}"),
            (self._general, "defaults"),
        ]

        def setting(name: str) -> Any:
            values = (getattr(layer, name, None) for layer, _ in layers)
            return next((value for value in values if value is not None), None)

        judge = next(
            (
                self._judge_or_panel(layer.provider, f"{at}.provider")
                for layer, at in layers
                if layer and layer.provider
            ),
            None,
        )
        by: By | None = setting("by")
        if metric == _WITH_VARIANTS and by is None:
            if config.context is not None:
                one_text = isinstance(config.context, str)
            by = "claims" if config.reference is not None and one_text else "chunks"
        context = (config.context,) if isinstance(config.context, str) else config.context
        spec = AssertionSpec(
            metric=metric,
            label=config.label or metric,
            threshold=setting("threshold"),
            mode=setting("mode"),
            by=by,
            reference=config.reference,
            context=None if context is None else tuple(context),
            on_empty=setting("on_empty"),
            judge=judge,
        )
        return _Placed(spec, config.label, place)

    def _refuse_variant(self, metric: str, by: By | None, place: str) -> None:
        if by is not None and metric != _WITH_VARIANTS:
            raise self._error(f"{place}.by", f"{metric} has no variants; accepted: {_WITH_VARIANTS} only.")

    def _labelled(self, placed: Sequence[_Placed]) -> tuple[AssertionSpec, ...]:
        """Give each assertion of a case a label of its own."""
        taken: dict[str, str] = {}
        for _, label, place in placed:
            if label is not None:
                if label in taken:
                    raise self._error(place, f"the label {label!r} is taken by {taken[label]}.")
                taken[label] = place
        specs = []
        for spec, own, place in placed:
            label, number = spec.label, 2
            while own is None and label in taken:
                label, number = f"{spec.metric}#{number}", number + 1
            taken[label] = place
            metric, first = self._metric_of_label.setdefault(label, (spec.metric, place))
            if metric != spec.metric:
                raise self._error(
                    place, f"the label {label!r} means {spec.metric} here and {metric} in {first}."
                )
            specs.append(spec.model_copy(update={"label": label}))
        return tuple(specs)

    # -- rows --------------------------------------------------------------------------------------

    def _cases(self) -> Iterator[Case]:
        common = _numbered(self._config.asserts or (), "assert")
        vary = any(refers_to_vars(config) for config, _ in common)
        shared: dict[bool, tuple[AssertionSpec, ...]] = {}
        for found, vars_, own, place in self._rows():
            sample, origin = self._loaded(found)
            one_text = contexts_are_one_text(found.row)
            assertions = None if own or vary else shared.get(one_text)
            if assertions is None:
                texts = vars_ or self._texts(found.row, written=False)
                row = f"{place}.vars" if vars_ else f"dataset: {found.where}"
                filled = [
                    *(
                        (texts.assertion(config, f"{row}: {at}" if refers_to_vars(config) else at), at)
                        for config, at in common
                    ),
                    *((texts.assertion(config, at), at) for config, at in _numbered(own, f"{place}.assert")),
                ]
                assertions = self._labelled([self._placed(config, at, one_text) for config, at in filled])
                if not own:
                    shared[one_text] = assertions
            yield Case(sample=sample, assertions=assertions, origin=origin)

    def _rows(self) -> Iterator[tuple[Found, Texts | None, Sequence[AssertionConfig], str]]:
        """Yield rows, their texts when they stand in the suite, and their own assertions with the place."""
        config = self._config
        if (config.tests is None) == (config.dataset is None):
            both = "both `tests:` and `dataset:`" if config.tests is not None else "no rows"
            raise self._error("", f"the suite has {both}; accepted: either `tests:` or `dataset:`.")
        if config.dataset is not None:
            for found in self._read_dataset(config.dataset):
                yield found, None, (), ""
        for index, test in enumerate(config.tests or ()):
            place = f"tests[{index}]"
            row = dict(test.vars)
            for key in ("id", "description"):
                value = getattr(test, key)
                if value is None:
                    continue
                if row.get(key) not in (None, value):
                    raise self._error(place, f"{key!r} is given twice, in the test and in its vars.")
                row[key] = value
            texts = self._texts(row, written=True)
            where = f"{self._file}: {place}.vars"
            yield Found(where, columns_of(texts.row(f"{place}.vars"), where)), texts, test.asserts, place
        if config.tests is not None and not config.tests:
            raise self._error("tests", "found an empty list; accepted: at least one test.")

    def _texts(self, values: Mapping[Any, Any], *, written: bool) -> Texts:
        return Texts(self._file, values, written=written, files=self._files)

    def _read_dataset(self, dataset: str) -> Iterator[Found]:
        try:
            yield from read_columns(self._beside(dataset))
        except DataError as error:
            raise error.within(f"{self._file}: dataset")  # noqa: B904 - the very error, told where

    def _loaded(self, found: Found) -> LoadedRow:
        try:
            return self._ids.loaded(found)
        except (DataError, UnknownNameError) as error:
            if self._config.dataset is None:
                raise  # the place of a test names the suite already
            raise error.within(f"{self._file}: dataset")  # noqa: B904 - as above

    def _error(self, place: str, what: str, *, hint: str | None = None) -> ConfigError:
        return ConfigError(f"{self._file}: {place}: {what}" if place else f"{self._file}: {what}", hint=hint)


def _numbered(configs: Sequence[AssertionConfig], place: str) -> list[tuple[AssertionConfig, str]]:
    return [(config, f"{place}[{index}]") for index, config in enumerate(configs)]
