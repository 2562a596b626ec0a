"""The same sample first, last, alone, and half of it cached: are its verdicts the same?

Within the tolerance they must be; with `exact` to the last digit.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.benchmarks.figures import Figure, Section, at_most, exactly, plain
from tests.benchmarks.process import measure_apart
from tests.benchmarks.texts import Towns

if TYPE_CHECKING:
    from ragjudge.records import Sample
    from tests.benchmarks.options import Bench

NAME = "order"
TITLE = "One sample as row 1 and as row 40, alone, and with half of its verdicts cached"

ROWS, WORDS = 40, 90
SLIDING, SLIDING_WORDS = "gemma-3-270m", 200
"""A model with a window of 512 tokens that slides, and the words of each of three chunks: more than that."""

METRICS = ("faithfulness", "answer_relevancy", "context_precision", "context_recall", "context_relevance")


def run(bench: Bench) -> Section:
    """Compare with the judge, and with a small model whose attention slides."""
    from ragjudge.gguf.locate import locate

    rows = 6 if bench.quick else ROWS
    lines: list[Figure] = []
    runs = [(bench.model.name, bench.model, WORDS)]
    sliding = locate(SLIDING).path
    if sliding is not None:
        runs.append((SLIDING, sliding, SLIDING_WORDS))
    for name, model, words in runs:
        for way in ("usual", "exact"):
            arguments = {"model": str(model), "rows": rows, "words": words, "exact": way == "exact"}
            apart = partial(measure_apart, f"{__name__}:judge", arguments)
            found = bench.measure(f"{NAME}/{name}-{way}", arguments, apart)
            lines += figures(found, name if way == "usual" else f"{name}, exact", rows)
    if sliding is None:
        lines.append(plain(f"{SLIDING}: not here", 0, note=f"ragjudge models pull {SLIDING}"))
    return Section(NAME, TITLE, lines)


def figures(found: dict[str, Any], name: str, rows: int) -> list[Figure]:
    """Return the lines of the table for one model."""
    from ragjudge.prompts.answers import TOLERANCE

    about = f"{found['items']} verdicts over {found['context_tokens']} tokens of contexts"
    limit = 0.0 if found["exact"] else TOLERANCE
    lines = [
        at_most(f"{name}: {what}", found["differences"][key], limit, note=about)
        for key, what in (
            ("first", "largest change of a probability, row 1 against alone"),
            ("last", f"… row {rows} against alone"),
            ("half", "… half cached against alone"),
        )
    ]
    note = f"{found['marginal']} of them within {TOLERANCE} of the threshold"
    seconds = plain(f"{name}: {rows} rows", found["seconds"], "s")
    return [*lines, exactly(f"{name}: changed verdicts", found["changed"], 0, note=note), seconds]


def judge(model: str, rows: int, words: int, exact: bool) -> dict[str, Any]:
    """Judge one sample in four surroundings."""
    from ragjudge.cache.memory import MemoryStore
    from ragjudge.records import Sample
    from tests.benchmarks import loaded

    judge = loaded.LoadedJudge(model, prefix_bytes=0, exact=exact)
    # Whole contexts: prompts with long common beginnings, and longer than what attention slides over, are
    # what the surroundings could change.
    target = loaded.cell(_target(words), METRICS, evidence="whole")
    others = [loaded.cell(sample, ["faithfulness"], evidence="whole") for sample in _others(rows - 1)]
    stored = MemoryStore()
    alone = judge.run([target], stored)
    half = MemoryStore()
    whole = dict(stored.rows())
    calls = [name for name in whole if name.startswith("call/")]
    half.write_rows({name: text for name, text in whole.items() if name not in calls[::2]})
    runs = {
        "first": (judge.run([target, *others]), 0),
        "last": (judge.run([*others, target]), rows - 1),
        "half": (judge.run([target], half), 0),
    }
    assert runs["half"][0].report.usage.calls_judged == len(calls[::2])
    expected, said = loaded.probabilities(alone.report), loaded.verdicts(alone.report)
    differences, changed = {}, 0
    for key, (work, row) in runs.items():
        found = loaded.probabilities(work.report, row)
        differences[key] = loaded.largest_difference(expected, found)
        other = loaded.verdicts(work.report, row)
        changed += sum(said[name] != other[name] for name in said)
    assert isinstance(target.sample, Sample)
    scores = alone.report.rows[0].scores.values()
    return {
        "items": len(said),
        "context_tokens": sum(map(judge.count, target.sample.contexts or ())),
        "differences": differences,
        "changed": changed,
        "exact": exact,
        "seconds": runs["last"][0].judging,
        "marginal": sum(item.marginal for score in scores for item in score.items),
        "model": Path(model).name,
    }


def _target(words: int) -> Sample:
    from ragjudge.records import Sample

    towns, others = Towns(), Towns(seed=3)
    about = towns.sentences(0)
    false = others.say(2, {**others.facts(0), "town": towns.facts(0)["town"]})
    return Sample(
        id="target",
        input=f"What is {towns.facts(0)['town']} known for?",
        output=" ".join([about[2], about[4], false]),
        contexts=tuple(towns.chunk(10 * chunk, words) for chunk in range(3)),
        expected=" ".join(about[1:3]),
    )


def _others(count: int) -> Iterator[Sample]:
    from ragjudge.records import Sample

    towns = Towns(seed=4)
    for number in range(count):
        about = towns.sentences(number)
        yield Sample(id=f"other-{number}", output=about[1], contexts=(" ".join(about[:2]),))
