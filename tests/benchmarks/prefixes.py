"""The prefix store: the answers have changed, the contexts are the same."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from tests.benchmarks.figures import Figure, Section, at_least, at_most, exactly, plain
from tests.benchmarks.process import measure_at_home
from tests.benchmarks.texts import Towns

if TYPE_CHECKING:
    from ragjudge.records import Sample
    from tests.benchmarks.options import Bench

NAME = "prefixes"
TITLE = "Answers changed, whole contexts of 800 tokens and more kept: faithfulness of three claims each"

SAMPLES, CHUNKS, WORDS = 6, 3, 200
LEAST_TIMES, LEAST_SHARE = 5.0, 0.85


def run(bench: Bench) -> Section:
    """Judge cold, then other answers over the same contexts, then those cold as well."""
    arguments = {"model": str(bench.model), "samples": 2 if bench.quick else SAMPLES}
    at_home = partial(measure_at_home, f"{__name__}:judge", arguments, bench.out)
    found = bench.measure(NAME, arguments, at_home)
    return Section(NAME, TITLE, figures(found))


def figures(found: dict[str, Any]) -> list[Figure]:
    """Return the lines of the table."""
    from ragjudge.prompts.answers import TOLERANCE

    cold, warm = found["cold"], found["warm"]
    faster, fewer = cold["seconds"] / warm["seconds"], cold["decoded"] / warm["decoded"]
    seconds = f"{cold['seconds']:.2f} s and {warm['seconds']:.2f} s"
    tokens = f"{cold['decoded']:,} and {warm['decoded']:,} at llama_decode"
    return [
        at_least(
            "cold seconds ÷ seconds with changed answers",
            faster,
            LEAST_TIMES,
            note=f"{seconds}; contexts of {min(found['context_tokens'])} tokens and more",
        ),
        at_least(
            "… ÷ (cold tokens ÷ tokens with changed answers)",
            faster / fewer,
            LEAST_SHARE,
            note=f"{tokens}, {warm['restored']:,} restored",
        ),
        at_most("largest change of a probability", found["difference"], TOLERANCE, note="against a cold run"),
        exactly("changed verdicts", found["changed"], 0, note=f"of {found['claims']} claims"),
        plain("cold, no prefix store", found["without"]["seconds"], "s", "the changed answers"),
    ]


def judge(model: str, samples: int) -> dict[str, Any]:
    """Judge three times: cold; other answers; the other answers without a prefix store."""
    from tests.benchmarks import loaded

    # Whole contexts: excerpts are short, and each claim has its own, so that there is no prefix to keep.
    first, second = (
        [loaded.cell(sample, ["faithfulness"], evidence="whole") for sample in made_up(samples, claim)]
        for claim in (0, 3)
    )
    works = []
    for cells, bound in ((first, None), (second, None), (second, 0)):
        judge = loaded.LoadedJudge(model, prefix_bytes=bound)
        works.append(judge.run(cells))
        lengths = [sum(map(judge.count, cell.sample.contexts or ())) for cell in cells]
        judge.close()
    cold, warm, without = works
    difference, changed, claims = 0.0, 0, 0
    for row in range(samples):
        one, other = loaded.verdicts(warm.report, row), loaded.verdicts(without.report, row)
        changed += sum(one[name] != other[name] for name in one)
        claims += len(one)
        found = (loaded.probabilities(work.report, row) for work in (warm, without))
        difference = max(difference, loaded.largest_difference(*found))
    return {
        "cold": cold.plain(),
        "warm": warm.plain(),
        "without": without.plain(),
        "context_tokens": lengths,
        "difference": difference,
        "changed": changed,
        "claims": claims,
    }


def made_up(count: int, first_claim: int) -> Iterator[Sample]:
    """Yield samples whose outputs say three things, two of them true."""
    from ragjudge.records import Sample

    towns, others = Towns(), Towns(seed=2)
    for number in range(count):
        first = number * 50
        chunks = tuple(towns.chunk(first + 10 * chunk, WORDS) for chunk in range(CHUNKS))
        true = towns.sentences(first)[first_claim : first_claim + 2]
        wrong = {**others.facts(first), "town": towns.facts(first)["town"]}
        false = others.say(first_claim + 2, wrong)
        yield Sample(id=f"town-{number}", output=" ".join([*true, false]), contexts=chunks)
