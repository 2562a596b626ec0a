"""How well a judge agrees with people: labelled rows asked through the cache, and summed up."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ragjudge import __version__
from ragjudge.agreement.asking import Answered, Observer, ask_rows
from ragjudge.agreement.figures import DECIMALS, JudgedRow, figures
from ragjudge.agreement.labels import LabelledRow, read_label_file
from ragjudge.agreement.questions import require_one_question
from ragjudge.agreement.statistics import RESAMPLES, SEED
from ragjudge.errors import DataError
from ragjudge.prompts.answers import DECISION_THRESHOLD, label_mass, probability
from ragjudge.records import (
    Agreement,
    CallFailure,
    CheckedRow,
    CheckUsage,
    JudgeInfo,
    Verdict,
)

if TYPE_CHECKING:
    from ragjudge.cache.protocol import CountedJudge


class LabelSet(NamedTuple):
    """The labelled rows of one file.

    Attributes:
        name: The file's name, as reports show it.
        rows: Its rows.
    """

    name: str
    rows: Sequence[LabelledRow]


def packaged_sets() -> list[Path]:
    """Return the files of labelled rows that come with the package: traps by kind and language."""
    folder = Path(__file__).parent / "traps"
    return sorted(folder.glob("*.jsonl"))


def read_sets(paths: Sequence[Path]) -> list[LabelSet]:
    """Read each file of labels as a set of its own.

    Raises:
        DataError: A file cannot be read, or a row is no labelled row.
    """
    return [LabelSet(name, read_label_file(path)) for name, path in zip(set_names(paths), paths, strict=True)]


def set_names(paths: Sequence[Path]) -> list[str]:
    """Return a name for each file: its stem, or its whole path where two stems are the same.

    Raises:
        DataError: A file is named twice.
    """
    for place, path in enumerate(paths):
        if path in paths[:place]:
            raise DataError(f"{path}: the file is named twice; its rows would count twice.")
    stems = [path.stem for path in paths]
    return [path.stem if stems.count(path.stem) == 1 else str(path) for path in paths]


def limited(
    sets: Sequence[LabelSet], *, limit: int | None = None, max_words: int | None = None
) -> tuple[list[LabelSet], list[str]]:
    """Take a part of every set, and say in sentences what was left out.

    Args:
        sets: The sets.
        limit: Most rows of each set, its first ones.
        max_words: Most words that the contexts of a row may have.

    Raises:
        DataError: Nothing is left.
    """
    kept, long, late = [], 0, 0
    for each in sets:
        short = [row for row in each.rows if max_words is None or row.context_words <= max_words]
        long += len(each.rows) - len(short)
        late += 0 if limit is None else max(len(short) - limit, 0)
        if short:
            kept.append(LabelSet(each.name, short[:limit]))
    if not kept:
        raise DataError(f"no row is left: all {long} have more than {max_words} words of context.")
    return kept, _left_out(long, late, limit, max_words)


def _left_out(long: int, late: int, limit: int | None, max_words: int | None) -> list[str]:
    said = []
    if long:
        said.append(f"{_rows(long)} with more than {max_words} words of context left out.")
    if late:
        said.append(f"{_rows(late)} left out: each set gives its first {limit}.")
    return said


def _rows(number: int) -> str:
    return "1 row" if number == 1 else f"{number} rows"


def check_judge(
    judge: CountedJudge,
    sets: Sequence[LabelSet],
    *,
    template: str | None = None,
    observer: Observer | None = None,
    stop: Callable[[], bool] | None = None,
    notes: Sequence[str] = (),
) -> Agreement:
    """Ask a judge about labelled rows and measure how well it agrees.

    Args:
        judge: The judge, behind its store; a calibrated one is measured as it comes.
        sets: The rows, at least one.
        template: See `questions.check_of`.
        observer: Told how it proceeds.
        stop: Asked between answers whether to stop there.
        notes: Sentences to be handed on.

    Raises:
        ReplayMissError: A replay needs calls that are not stored.
        JudgeUnavailableError: There is no judge to ask.
        ConfigError: The template, or the judge's profile, has no question for a row.
        KeyboardInterrupt: `stop` said so.
    """
    started = time.perf_counter()
    rows = [row for each in sets for row in each.rows]
    names = [each.name for each in sets for _ in each.rows]
    if template is not None:
        require_one_question([row.task for row in rows], template)
    before = _usage(judge)
    answers = ask_rows(judge, rows, template=template, observer=observer, stop=stop)
    judged = [_judged(name, row, answer) for name, row, answer in zip(names, rows, answers, strict=True)]
    asked = sorted({f"{answer.check.template}@{answer.check.version}" for answer in answers})
    usage = _spent(before, _usage(judge), time.perf_counter() - started)
    return agreement(
        judged,
        judges=[judge.info()],
        templates=asked,
        threshold=DECISION_THRESHOLD,
        usage=usage,
        notes=notes,
    )


def agreement(
    rows: Sequence[JudgedRow],
    *,
    judges: Sequence[JudgeInfo],
    threshold: float | None,
    templates: Sequence[str] = (),
    usage: CheckUsage | None = None,
    notes: Sequence[str] = (),
) -> Agreement:
    """Sum judged rows up.

    Args:
        rows: The rows.
        judges: Who judged them.
        threshold: The present threshold; None when rows have different ones.
        templates: What was asked.
        usage: What it cost.
        notes: Sentences to be handed on.
    """
    parts = figures(rows, near=DECISION_THRESHOLD if threshold is None else threshold)
    return Agreement(
        ragjudge_version=__version__,
        judges=tuple(judges),
        templates=tuple(templates),
        threshold=threshold,
        resamples=RESAMPLES,
        seed=SEED,
        notes=tuple(notes),
        rows=tuple(map(_checked, rows)),
        usage=usage or CheckUsage(),
        **parts._asdict(),
    )


def _judged(name: str, row: LabelledRow, answer: Answered) -> JudgedRow:
    outcome = answer.outcome
    chance = probability(outcome, answer.check.positive) if isinstance(outcome, Verdict) else None
    error = None
    if chance is None:
        error = outcome.reason if isinstance(outcome, CallFailure) else "the judge gave no verdict"
    return JudgedRow(
        id=row.id,
        set=name,
        label=row.label,
        group=row.group,
        words=row.context_words,
        probability=chance,
        # Rounded first, as an item of a score is.
        decision=None if chance is None else round(chance, DECIMALS) >= DECISION_THRESHOLD,
        claim=row.claim or "\n\n".join(row.contexts),
        question=row.question,
        language=row.language,
        kind=row.kind,
        label_mass=label_mass(outcome) if isinstance(outcome, Verdict) else None,
        error=error,
    )


def _checked(row: JudgedRow) -> CheckedRow:
    return CheckedRow(
        id=row.id,
        set=row.set,
        label=row.label,
        probability=None if row.probability is None else round(row.probability, DECIMALS),
        decision=row.decision,
        label_mass=None if row.label_mass is None else round(row.label_mass, DECIMALS),
        error=row.error,
    )


def _usage(judge: CountedJudge) -> CheckUsage:
    usage = judge.usage
    return CheckUsage(
        calls_judged=judge.calls_judged,
        calls_replayed=judge.calls_replayed,
        calls_failed=judge.calls_failed,
        tokens_decoded=usage.tokens_decoded,
        tokens_minimum=usage.tokens_minimum,
        tokens_generated=usage.tokens_generated,
        tokens_restored=usage.tokens_restored,
        judge_seconds=usage.judge_seconds,
    )


def _spent(before: CheckUsage, after: CheckUsage, seconds: float) -> CheckUsage:
    """Return what was spent between two counts."""
    first = before.model_dump()
    spent = {name: value - (first[name] or 0) for name, value in after.model_dump(exclude_none=True).items()}
    judged = spent["calls_judged"]
    return CheckUsage(
        **{
            **spent,
            "judge_seconds": round(spent["judge_seconds"], 3),
            "wall_seconds": round(seconds, 3),
            "seconds_per_verdict": round(spent["judge_seconds"] / judged, 4) if judged else None,
            "tokens_per_verdict": round(spent["tokens_decoded"] / judged, 1) if judged else None,
        }
    )
