"""`evaluate`: a function under test over a dataset, graded by scorers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragjudge.errors import UsageError
from ragjudge.judges.base import Judge
from ragjudge.metrics.base import Metric
from ragjudge.metrics.registry import check_counts_claims, make_metric
from ragjudge.records import Report, Row, Sample
from ragjudge.scorers import Scorer, as_chunks
from ragjudge.text.claims import ClaimMode, CodeMode
from ragjudge.text.splitting import EvidenceMode, Splitting, given_options

if TYPE_CHECKING:
    from ragjudge.datasets.load import LoadedRow
    from ragjudge.providers.base import Provider
    from ragjudge.runner import Cell
    from ragjudge.sessions import CachePlace, Llm


@dataclass(frozen=True)
class Evaluation:
    """The outcome of `evaluate`.

    Attributes:
        report: Everything, as the command line writes it.
    """

    report: Report

    @property
    def rows(self) -> tuple[Row, ...]:
        """The graded rows, in the order of the dataset."""
        return self.report.rows

    @property
    def passed(self) -> bool:
        """Whether no score failed."""
        return self.report.passed

    def summary(self) -> str:
        """Return a table of the metrics as text: mean, passed, scored and total."""
        from ragjudge.reports.terminal import summary_table

        return summary_table(self.report)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report in the format of the file's suffix.

        Raises:
            UsageError: The suffix names no format, or the file cannot be written.
        """
        from ragjudge.reports.registry import write_report

        write_report(self.report, Path(path))


def evaluate(
    agent_fn: Callable[[str], Any] | None = None,
    dataset: Iterable[Mapping[str, Any] | Sample] | str | os.PathLike[str] = (),
    scorers: str | Scorer | Metric | Sequence[str | Scorer | Metric] = (),
    *,
    context: str | Sequence[str] | None = None,
    contexts: Sequence[str] | None = None,
    llm: Llm = None,
    cache: CachePlace = None,
    replay: bool = False,
    bundle: str | os.PathLike[str] | None = None,
    calibration: str | os.PathLike[str] | None = None,
    language: str | None = None,
    claims: ClaimMode | None = None,
    code: CodeMode | None = None,
    abbreviations: Sequence[str] | None = None,
    evidence: EvidenceMode | None = None,
    progress: bool = False,
) -> Evaluation:
    """Grade a system under test.

    Args:
        agent_fn: Gets a row's question; returns its answer, or a mapping with ``output`` and
            ``contexts``. None = the rows carry recorded outputs.
        dataset: Rows, or the path of a data file. A row's column names may be those of other libraries.
        scorers: Metric names, `Scorer` objects, or metrics of your own; a single one need not be in a list.
        context: Context for the rows that have none of their own; a string is one chunk, unless it spells
            out a list of texts.
        contexts: The same as chunks, in rank order.
        llm: The judge of scorers that name none, or several in a list; see `Scorer`.
        cache: A cache folder for all judge calls; None = the default one; False = none.
        replay: Answer from the cache alone.
        bundle: A bundle to replay in the place of a cache.
        calibration: How probabilities are calibrated, for scorers that do not say; see `Scorer`.
        language: Language of the rows that name none, for scorers that name none; see `Scorer`.
        claims: What claims are, for scorers that do not say; see `Scorer`.
        code: What to do with fenced code, for scorers that do not say; see `Scorer`.
        abbreviations: Further abbreviations, for scorers that have none of their own; see `Scorer`.
        evidence: How much of the contexts the judge sees, for scorers that do not say; see `Scorer`.
        progress: Show a progress bar on standard error, when that is a terminal.

    Returns:
        The graded rows. A row whose `agent_fn` call fails is graded as failed, and the others go on.

    Raises:
        UsageError: No scorer or no row is given, or an argument is of no accepted kind.
        UnknownNameError: The splitter does not know a language, or has no such kind of claims.
        ConfigError: ``claims`` is given and no scorer counts any; or a calibration cannot be read, or is
            another judge's.
        DataError: A row lacks what a scorer needs.
        JudgeUnavailableError: There is no judge to ask.
        ReplayMissError: With ``replay=True``, a call is not in the cache.
    """
    from ragjudge.datasets.load import load_rows, rows_of_program
    from ragjudge.datasets.values import describe
    from ragjudge.planning import check_questions
    from ragjudge.providers.python_callable import from_callable
    from ragjudge.runner import Runner
    from ragjudge.sessions import cache_place, check_judge, shared_caching_judge

    place = cache_place(cache, bundle)
    check_judge(llm, calibration)
    scorers = _as_list(scorers)
    if not scorers:
        raise UsageError("evaluate needs scorers, e.g. scorers=['faithfulness'].")
    if isinstance(dataset, (str, os.PathLike)):
        rows = load_rows(Path(dataset), recorded=agent_fn is None)
    elif isinstance(dataset, Mapping) or not isinstance(dataset, Iterable):
        raise UsageError(f"dataset is {describe(dataset)}; accepted: rows, or the path of a data file.")
    else:
        rows = rows_of_program(dataset, recorded=agent_fn is None)
    if not rows:
        raise UsageError("evaluate needs a dataset with at least one row.")
    told = given_options(
        language=language, claims=claims, code=code, abbreviations=abbreviations, evidence=evidence
    )
    made = [_as_scorer(scorer, llm, told) for scorer in scorers]
    if claims is not None:
        check_counts_claims((scorer.name for scorer in made), "claims=")
    if evidence is not None:
        check_counts_claims((scorer.name for scorer in made), "evidence=")
    keys: dict[str, tuple[Any, str | os.PathLike[str] | None]] = {}
    judge_of = [_judge_key(scorer, llm, calibration, keys) for scorer in made]
    common = as_chunks(context, contexts)
    provider = None if agent_fn is None else from_callable(agent_fn)
    # Before the system under test is called: what is wrong with a judge must not cost its answers.
    judges = {
        key: shared_caching_judge(given, place, replay=replay, calibration=wish)
        for key, (given, wish) in keys.items()
    }
    cells = [_cell(row, made, judge_of) for row in rows]
    if provider is not None:
        check_questions(cells, recorded=False)
    cells = [_answered(cell, provider, common) for cell in cells]
    if not progress:
        return Evaluation(Runner(judges).run(cells))
    from ragjudge.reports.page import open_console
    from ragjudge.reports.progress import Progress

    with Progress(len(cells), open_console(stderr=True)) as bar:
        return Evaluation(Runner(judges, observer=bar).run(cells))


def _as_list(scorers: str | Scorer | Metric | Sequence[str | Scorer | Metric]) -> list[str | Scorer | Metric]:
    if isinstance(scorers, (str, Scorer, Metric)):
        return [scorers]
    if not isinstance(scorers, Iterable):
        raise UsageError(
            f"scorers is {_kind(scorers)}; accepted: a metric's name, a Scorer, a Metric, a list."
        )
    return list(scorers)


def _as_scorer(scorer: str | Scorer | Metric, llm: Llm, told: Mapping[str, Any]) -> Scorer:
    if isinstance(scorer, Scorer):
        return scorer.with_splitting(told)
    if isinstance(scorer, str):
        return Scorer(llm, metric=make_metric(scorer, splitting=Splitting(**told)))
    if isinstance(scorer, Metric):
        return Scorer(llm, metric=scorer)
    raise UsageError(f"scorers holds {_kind(scorer)}; accepted: a metric's name, a Scorer, or a Metric.")


def _kind(given: object) -> str:
    return f"the class {given.__name__}" if isinstance(given, type) else f"a {type(given).__name__}"


def _judge_key(
    scorer: Scorer,
    llm: Llm,
    calibration: str | os.PathLike[str] | None,
    keys: dict[str, tuple[Any, str | os.PathLike[str] | None]],
) -> str:
    """Return the runner's key of a scorer's judge; the same judge with the same calibration has one key."""
    from ragjudge.sessions import judges_of

    given = scorer.llm if scorer.llm is not None else llm
    wish = scorer.calibration if scorer.calibration is not None else calibration
    judges, by = judges_of(given)
    names = [f"object {id(each)}" if isinstance(each, Judge) else f"reference {each}" for each in judges]
    key = f"{names}, by {by}, calibration {wish}"
    keys[key] = (given, wish)
    return key


def _cell(row: LoadedRow, scorers: Sequence[Scorer], judge_of: Sequence[str]) -> Cell:
    from ragjudge.runner import Cell, Task
    from ragjudge.suites.labels import unique_labels

    sample = row.sample
    labels = unique_labels([scorer.name for scorer in scorers])
    tasks = tuple(
        Task(label, scorer.metric, sample, scorer.threshold, scorer.on_empty, key)
        for label, scorer, key in zip(labels, scorers, judge_of, strict=True)
    )
    return Cell(sample, tasks, provider=sample.provider, error=sample.error, origin=row.origin)


def _answered(cell: Cell, provider: Provider | None, common: tuple[str, ...] | None) -> Cell:
    """Return a cell with its output, and with the common contexts where neither row nor provider has any."""
    from ragjudge.providers.base import ProviderFailure, with_output

    name = cell.provider if provider is None else provider.name
    given = None if provider is None else provider.produce(cell.sample)

    def fill(sample: Sample) -> Sample:
        if given is not None and not isinstance(given, ProviderFailure):
            sample = with_output(sample, given, name)
        if sample.contexts is None and common is not None:
            sample = sample.model_copy(update={"contexts": common})
        return sample

    error = given.reason if isinstance(given, ProviderFailure) else cell.error if given is None else None
    return replace(cell.filled(fill, provider=name, produced=provider is not None), error=error)
