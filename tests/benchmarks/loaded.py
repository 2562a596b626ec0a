"""A judge whose model is open already, with its tokens counted at llama.cpp and its time taken apart."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragjudge.cache.caching_judge import CachingJudge
from ragjudge.cache.memory import MemoryStore
from ragjudge.gguf.locate import locate
from ragjudge.judges.fake import FakeJudge
from ragjudge.judges.llama.judge import LlamaJudge
from ragjudge.judges.llama.settings import EngineSettings
from ragjudge.judges.steps import Tokens
from ragjudge.judges.trie import plan
from ragjudge.metrics.registry import make_metric, metric_names
from ragjudge.records import Check, Report, Sample
from ragjudge.runner import Cell, Runner, Task
from ragjudge.text.splitting import Splitting
from tests.native.support import count_decodes

if TYPE_CHECKING:
    from ragjudge.judges.llama.model import Model
    from ragjudge.judges.llama.questions import Questioner
    from ragjudge.text.splitting import EvidenceMode
    from tests.native.support import CountingLibrary

WARM_UP = Check(
    template="warm-up",
    version=1,
    system="You answer with Yes or No.",
    shared="",
    own="Is water wet? Answer Yes or No.",
    labels=("Yes", "No"),
    positive="Yes",
)
"""Asked once before the clock starts: it loads the model, brings its pages in and opens the memory."""


@dataclass(frozen=True)
class Work:
    """What a run did.

    Attributes:
        report: Its report.
        seconds: From start to report, the model being loaded and everything imported.
        judging: The part of it spent in the judge without tokenising.
        decoded: Tokens that reached `llama_decode`.
        nodes: Distinct prefixes of all prompts: no way of decoding them takes fewer tokens.
        restored: Tokens whose state came from the prefix store.
        prompts: The prompts, as tokens.
    """

    report: Report
    seconds: float
    judging: float
    decoded: int
    nodes: int
    restored: int
    prompts: tuple[Tokens, ...]

    def plain(self) -> dict[str, Any]:
        """Return the figures as plain JSON data."""
        return {
            "seconds": self.seconds,
            "judging": self.judging,
            "decoded": self.decoded,
            "nodes": self.nodes,
            "restored": self.restored,
            "prompts": len(self.prompts),
            "calls_judged": self.report.usage.calls_judged,
            "calls_failed": self.report.usage.calls_failed,
        }


class LoadedJudge:
    """A llama judge with its model open.

    Args:
        path: The model file.
        prefix_bytes: As for `LlamaJudge`.
        exact: See `EngineSettings`.
    """

    def __init__(self, path: str, *, prefix_bytes: int | None, exact: bool = False) -> None:
        located = locate(Path(path))
        self.judge = LlamaJudge(
            path,
            Path(path),
            entry=located.entry,
            prefix_bytes=prefix_bytes,
            settings=EngineSettings(exact=exact),
        )
        self.judge.identity()  # reads the whole file the first time, which no run should pay for
        list(self.judge.ask([WARM_UP]))
        use_everything()
        assert self.judge._model is not None
        self.model: Model = self.judge._model
        self._library: CountingLibrary = count_decodes(self.model.engine)
        self._questioner = _TimedQuestioner(self.model.questioner)
        self.model.questioner = self._questioner  # type: ignore[assignment]

    def run(self, cells: Sequence[Cell], store: MemoryStore | None = None) -> Work:
        """Grade cells, with a fresh cache or the one that is given."""
        asked = CachingJudge(self.judge, store or MemoryStore(), self.judge.identity(), id=self.judge.id)
        usage, counted = self.judge.usage, self._questioner
        counted.seconds, counted.prompts = 0.0, {}
        decoded, restored, judging = self._library.decoded, usage.tokens_restored, usage.judge_seconds
        started = time.perf_counter()
        report = Runner({"": asked}).run(cells)
        seconds = time.perf_counter() - started
        prompts = tuple(counted.prompts)
        return Work(
            report,
            seconds,
            usage.judge_seconds - judging - counted.seconds,
            self._library.decoded - decoded,
            distinct_prefixes(prompts),
            usage.tokens_restored - restored,
            prompts,
        )

    def raw_rate(self, prompts: Sequence[Tokens], times: int = 3) -> tuple[int, float]:
        """Measure how fast one sequence is decoded that is as long as the median prompt.

        Returns:
            Its length in tokens, and tokens per second at the best of a few times.
        """
        length = statistics.median_low(map(len, prompts))
        prompt = next(prompt for prompt in prompts if len(prompt) == length)
        engine = self.model.engine
        steps = plan([prompt], engine.limits(length))
        best = float("inf")
        for _ in range(times):
            started = time.perf_counter()
            list(engine.run(steps, lambda row, hidden: row.copy()))
            best = min(best, time.perf_counter() - started)
        return length, length / best

    def count(self, text: str) -> int:
        """Return how many tokens a text has."""
        return self.model.engine.count(text)

    def close(self) -> None:
        """Unload the model."""
        self.judge.close()


def use_everything() -> None:
    """Grade a made-up sample with the fake judge and every metric.

    What Python imports and reads at first use (NLTK takes a second of it where SciPy is installed) is then
    there before a clock starts, as it is for the libraries that are measured beside this one.
    """
    sample = Sample(
        id="warm-up",
        input="Is water wet?",
        output="Dr. Rain says that it is. Water wets what it touches.",
        contexts=("Water wets what it touches. So does oil.", "Sand is dry."),
        expected="Water is wet.",
    )
    judge = FakeJudge()
    asked = CachingJudge(judge, MemoryStore(), judge.identity(), id=judge.id)
    Runner({"": asked}).run([cell(sample, metric_names())])


class _TimedQuestioner:
    """A questioner with its time and its prompts kept."""

    def __init__(self, questioner: Questioner) -> None:
        self._questioner = questioner
        self.seconds = 0.0
        self.prompts: dict[Tokens, None] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._questioner, name)

    def questions(self, calls: Any) -> Any:
        started = time.perf_counter()
        found = self._questioner.questions(calls)
        self.seconds += time.perf_counter() - started
        for questions in found:
            if isinstance(questions, list):
                self.prompts.update((question.tokens, None) for question in questions)
        return found


def distinct_prefixes(prompts: Sequence[Tokens]) -> int:
    """Count the nodes of the prompts' trie, by another way than the planner's."""
    ordered = sorted(set(prompts))
    total = sum(map(len, ordered))
    for left, right in pairwise(ordered):
        for one, other in zip(left, right, strict=False):
            if one != other:
                break
            total -= 1
    return total


def cell(sample: Sample, metrics: Sequence[str], *, evidence: EvidenceMode = "excerpt") -> Cell:
    """Return a row that needs some metrics.

    Args:
        sample: The row.
        metrics: Their names.
        evidence: ``excerpt`` as a run does by itself; ``whole`` where it is measured what long contexts cost.
    """
    tasks = []
    for name in metrics:
        metric = make_metric(name, splitting=Splitting(evidence=evidence))
        tasks.append(Task(name, metric, sample, metric.default_threshold))
    return Cell(sample, tuple(tasks))


def probabilities(report: Report, row: int = 0) -> dict[str, float | None]:
    """Return the probability of every judged piece of a row, by metric and place."""
    return {
        f"{label}/{place}": item.probability
        for label, score in report.rows[row].scores.items()
        for place, item in enumerate(score.items)
    }


def verdicts(report: Report, row: int = 0) -> dict[str, bool | None]:
    """Return the verdict on every judged piece of a row, by metric and place."""
    return {
        f"{label}/{place}": item.verdict
        for label, score in report.rows[row].scores.items()
        for place, item in enumerate(score.items)
    }


def largest_difference(left: dict[str, float | None], right: dict[str, float | None]) -> float:
    """Return the largest difference of two runs' probabilities; infinite when one of them failed."""
    assert left.keys() == right.keys()
    differences = [0.0]
    for name, one in left.items():
        other = right[name]
        differences.append(float("inf") if one is None or other is None else abs(one - other))
    return max(differences)
