"""The scorer classes of the Python API: a metric with its judge, cache and threshold."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ragjudge.datasets.origins import Origin
from ragjudge.datasets.values import describe
from ragjudge.datasets.written_lists import list_or_text
from ragjudge.errors import UsageError
from ragjudge.metrics.base import Metric
from ragjudge.metrics.checked import check_metric
from ragjudge.metrics.registry import check_counts_claims, make_metric
from ragjudge.records import Mode, OnEmpty, Sample, Score
from ragjudge.sessions import cache_place, check_judge
from ragjudge.text.claims import ClaimMode, CodeMode
from ragjudge.text.splitting import EvidenceMode, Splitting, given_options

if TYPE_CHECKING:
    from ragjudge.sessions import CachePlace, Llm


_ARGUMENTS = {
    "input": ("input",),
    "output": ("output",),
    "contexts": ("context", "contexts"),
    "expected": ("expected",),
}
"""For each field of a sample the arguments of `Scorer.score` that may give it."""


class Scorer:
    """Scores one sample at a time. Subclasses name the metric; use those, or wrap a metric of your own.

    Args:
        llm: The judge: a model's name, the path of a ``.gguf`` file, or a `Judge`. None =
            ``$RAGJUDGE_JUDGE``, else the manifest's default model. Equal references share one model.
            Several judges in a list decide by majority; ``{"panel": […], "by": "mean"}`` averages their
            probabilities. Their models are loaded one after the other for each call of `score`, so let
            `evaluate` grade many rows.
        threshold: Smallest passing value, in [0, 1]; None = the metric's default.
        mode: ``decomposed`` asks about each claim, sentence or chunk; ``holistic`` asks once.
        by: The variant; context precision has ``chunks`` and ``claims``.
        on_empty: ``skip`` or ``fail`` when there is nothing to judge; None = what the metric says.
        cache: A cache folder; None = the default one; False = none.
        replay: Answer from the cache alone; a call that is not there is a `ReplayMissError`.
        bundle: A bundle to replay in the place of a cache.
        calibration: How probabilities are calibrated: a file, ``none`` for raw ones, or ``shipped`` for the
            calibration that comes with ragjudge for this judge, if there is one. None = a bundle's, else
            the shipped one.
        language: Language of the texts, by its name in English or its ISO 639-1 code; None = English.
        claims: ``sentence``; ``clause`` to judge the parts of compound sentences; ``judge`` to have the judge
            cut them first, which costs a generated answer each; None = ``sentence``. Only for metrics that
            count claims.
        code: ``skip`` fenced code, or judge each block of it as one claim (``whole``); None = ``skip``.
        abbreviations: Further abbreviations behind which no sentence ends.
        evidence: ``excerpt`` to show the judge the sentences of the contexts that come closest to each claim,
            ``whole`` to show it everything; None = ``excerpt``.
        metric: A metric of your own; for `Scorer` itself only. It cuts texts as it likes.

    Raises:
        UsageError: An argument is of no accepted kind, the threshold is out of its range, no metric is
            named, or a metric of your own is told how to cut texts.
        UnknownNameError: The splitter does not know the language, or has no such kind of claims.
        ConfigError: The metric has no such mode or variant, or counts no claims.
    """

    metric_name: ClassVar[str | None] = None

    def __init__(
        self,
        llm: Llm = None,
        threshold: float | None = None,
        *,
        mode: Mode = "decomposed",
        by: str | None = None,
        on_empty: OnEmpty | None = None,
        cache: CachePlace = None,
        replay: bool = False,
        bundle: str | os.PathLike[str] | None = None,
        calibration: str | os.PathLike[str] | None = None,
        language: str | None = None,
        claims: ClaimMode | None = None,
        code: CodeMode | None = None,
        abbreviations: Sequence[str] | None = None,
        evidence: EvidenceMode | None = None,
        metric: Metric | None = None,
    ) -> None:
        check_judge(llm, calibration)
        given = given_options(
            language=language, claims=claims, code=code, abbreviations=abbreviations, evidence=evidence
        )
        if metric is None:
            if self.metric_name is None:
                raise UsageError("Scorer needs a metric: pass metric=, or use a class such as Faithfulness.")
            metric = make_metric(self.metric_name, mode=mode, by=by, splitting=Splitting(**given))
            if claims is not None:
                check_counts_claims([metric.name], "claims=")
            if evidence is not None:
                check_counts_claims([metric.name], "evidence=")
            self._told: dict[str, Any] | None = given
        elif given:
            raise UsageError(
                f"{next(iter(given))}= is for the built-in metrics; metric= cuts texts as it likes."
            )
        else:
            metric = check_metric(metric, "metric")
            self._told = None
        if on_empty not in (None, "skip", "fail"):
            raise UsageError(f"on_empty is {on_empty!r}; accepted: 'skip', 'fail'.")
        self.metric = metric
        self.llm = llm
        self.threshold = check_threshold(metric.default_threshold if threshold is None else threshold)
        self.on_empty = on_empty
        self.cache = cache_place(cache, bundle)
        self.replay = replay or bundle is not None
        self.calibration = calibration

    @property
    def name(self) -> str:
        """The metric's name."""
        return self.metric.name

    def with_splitting(self, options: Mapping[str, Any]) -> Scorer:
        """Return the scorer with options of the splitter where it was told none itself.

        Args:
            options: As the constructor takes them. A metric of your own is left alone.
        """
        if not options or self._told is None:
            return self
        other = copy.copy(self)
        other._told = {**options, **self._told}
        other.metric = make_metric(
            self.metric.name, mode=self.metric.mode, by=self.metric.by, splitting=Splitting(**other._told)
        )
        return other

    def score(
        self,
        input: str | None = None,
        output: str | None = None,
        *,
        context: str | Sequence[str] | None = None,
        contexts: Sequence[str] | None = None,
        expected: str | None = None,
    ) -> Score:
        """Score one sample.

        Args:
            input: The question.
            output: The answer.
            context: The retrieved context; a string is one chunk, unless it spells out a list of texts.
            contexts: The retrieved chunks, in rank order.
            expected: The reference answer.

        Returns:
            The score: `value` (also `score`), `passed`, `reason`, `items`.

        Raises:
            UsageError: A field is no text.
            DataError: A field that the metric needs is missing, or a prompt does not fit the window.
            JudgeUnavailableError: There is no judge to ask.
            ConfigError: The calibration cannot be read, or is another judge's.
            ReplayMissError: With ``replay=True``, a call is not in the cache.
        """
        from ragjudge.runner import Cell, Runner, Task
        from ragjudge.sessions import shared_caching_judge

        for field, text in (("input", input), ("output", output), ("expected", expected)):
            if not (text is None or isinstance(text, str)):
                raise UsageError(f"{field} is {text!r}; accepted: text.")
        sample = Sample(
            id="sample",
            input=input,
            output=output,
            contexts=as_chunks(context, contexts),
            expected=expected,
        )
        arguments = {
            "input": input,
            "output": output,
            "context": context,
            "contexts": contexts,
            "expected": expected,
        }
        given = tuple(name for name, value in arguments.items() if value is not None)
        task = Task(self.name, self.metric, sample, self.threshold, self.on_empty)
        judge = shared_caching_judge(self.llm, self.cache, replay=self.replay, calibration=self.calibration)
        report = Runner({"": judge}).run([Cell(sample, (task,), origin=Origin("score()", given, _ARGUMENTS))])
        return report.rows[0].scores[self.name]

    def __repr__(self) -> str:
        return f"{type(self).__name__}(llm={self.llm!r}, threshold={self.threshold})"


class Faithfulness(Scorer):
    """Supported claims of the output / its claims. Needs output and context. Default threshold 0.7."""

    metric_name = "faithfulness"


class AnswerRelevancy(Scorer):
    """Output sentences that help to answer / output sentences. Needs input and output. Default 0.7."""

    metric_name = "answer_relevancy"


class ContextPrecision(Scorer):
    """Average precision of the ranked chunks, or with ``by="claims"`` the share of supported claims.

    Needs input and contexts, and by claims output and contexts. Default threshold 0.5.
    """

    metric_name = "context_precision"


class ContextRecall(Scorer):
    """Claims of the expected answer that the contexts cover / its claims. Default threshold 0.5."""

    metric_name = "context_recall"


class ContextRelevance(Scorer):
    """Context sentences that bear on the question / context sentences. Default threshold 0.7."""

    metric_name = "context_relevance"


def as_chunks(
    context: str | Sequence[str] | None, contexts: Sequence[str] | None = None
) -> tuple[str, ...] | None:
    """Return chunks from the two ways of giving them.

    Raises:
        UsageError: Both are given, one is no list or tuple, or a chunk is not a string.
        DataError: A string looks like a list and cannot be read as one.
    """
    if context is not None and contexts is not None:
        raise UsageError("context= and contexts= are both given; give one of them.")
    given: Any = contexts if context is None else context
    if given is None:
        return None
    name = "contexts" if context is None else "context"
    if hasattr(given, "tolist") and not isinstance(given, memoryview):
        given = given.tolist()  # an array, or a column of a table
    if isinstance(given, str):
        given = list_or_text(given, name)
    if isinstance(given, str):
        return (given,)
    if not isinstance(given, Sequence) or isinstance(given, (bytes, bytearray, memoryview)):
        # What has no order has no ranks: a set would be another sample in each process.
        raise UsageError(
            f"{name} is {describe(given)}; accepted: a string (one chunk), or a list or tuple of strings in "
            f"rank order."
        )
    chunks = tuple(given)
    for number, chunk in enumerate(chunks):
        if not isinstance(chunk, str):
            raise UsageError(f"contexts[{number}] is a {type(chunk).__name__}; a chunk is a string.")
    return chunks


def check_threshold(threshold: float) -> float:
    """Return the threshold when it is in [0, 1].

    Raises:
        UsageError: It is not.
    """
    if isinstance(threshold, bool) or not isinstance(threshold, (int, float)) or not 0 <= threshold <= 1:
        raise UsageError(f"threshold is {threshold!r}; accepted: a number from 0 to 1.")
    return float(threshold)
