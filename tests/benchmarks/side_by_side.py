"""Ragas and ragjudge, the same cases and the same model file: how long they take, and who is right."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.benchmarks.clients import ask_client
from tests.benchmarks.figures import Figure, Section, at_least, plain, shown
from tests.benchmarks.process import measure_at_home
from tests.benchmarks.ragas_setup import Server, ragas_python, server_python

if TYPE_CHECKING:
    from tests.benchmarks.journal import Result
    from tests.benchmarks.options import Bench

NAME = "ragas"
TITLE = "Ragas 0.4.3 and ragjudge with the same model file: short and longer contexts"

CASES = Path(__file__).parent / "data" / "ragas_cases.json"
CLIENT = Path(__file__).with_name("ragas_client.py")
METRICS = {
    "short": ("faithfulness", "context_recall"),
    "long": ("faithfulness", "context_precision", "context_recall", "context_relevance"),
}
LEAST_COLD = {"short": 20.0, "long": 6.0}
LEAST_CHANGED = 20.0
NEAR = 0.25
"""A score is right when it is no farther than this from the known one."""


def run(bench: Bench) -> Section:
    """Measure every case with both; ours with the model loaded, as the server has it loaded."""
    cases = load_cases(bench.quick)
    for group, case in cases:
        ours(bench, group, case)
    server: Server | None = None
    try:
        for group, case in cases:
            key, inputs = _theirs_key(bench, group, case)
            if server is None and not bench.measured(key, inputs):
                say = bench.journal.say
                ragas_python(bench.out, say)
                server = Server(server_python(bench.out, say), bench.model, bench.out / "server.log")
            theirs(bench, server, group, case)
    finally:
        if server is not None:
            server.stop()
    found = [
        (group, case, ours(bench, group, case), theirs(bench, None, group, case)) for group, case in cases
    ]
    return Section(NAME, TITLE, list(figures(found)), HEAD, list(case_lines(found)))


def load_cases(quick: bool) -> list[tuple[str, dict[str, Any]]]:
    """Return the cases with their groups; when it should be quick, the first of each."""
    groups = json.loads(CASES.read_text(encoding="utf-8"))
    return [(group, case) for group, cases in groups.items() for case in (cases[:1] if quick else cases)]


# -- ours ------------------------------------------------------------------------------------------------


def ours(bench: Bench, group: str, case: dict[str, Any]) -> Result:
    """Judge a case: cold, then with its answer changed."""
    arguments = {"model": str(bench.model), "case": case, "metrics": list(METRICS[group])}

    at_home = partial(measure_at_home, f"{__name__}:judge", arguments, bench.out)
    return bench.measure(f"{NAME}/ours/{case['id']}", arguments, at_home)


def judge(model: str, case: dict[str, Any], metrics: Sequence[str]) -> dict[str, Any]:
    """Judge a case cold, and with its answer changed: from the prefix store alone, and as a rerun would."""
    from ragjudge.cache.memory import MemoryStore
    from ragjudge.records import Sample
    from tests.benchmarks.loaded import LoadedJudge, cell

    sample = Sample(
        id=case["id"],
        input=case["question"],
        output=case["answer"],
        contexts=tuple(case["contexts"]),
        expected=case["reference"],
    )
    changed = sample.model_copy(update={"output": case["changed_answer"]})
    store = MemoryStore()
    runs = {}
    for name, about, cache in (
        ("cold", sample, store),
        ("prefixes", changed, None),
        ("changed", changed, store),
    ):
        loaded = LoadedJudge(model, prefix_bytes=None)  # a run of its own, with whatever the last one left
        work = loaded.run([cell(about, metrics)], cache)
        tokens = sum(map(loaded.count, sample.contexts or ()))
        loaded.close()
        scores = work.report.rows[0].scores
        runs[name] = {
            **work.plain(),
            "values": {label: score.value for label, score in scores.items()},
            "items": {
                label: [[item.text, item.verdict, item.probability] for item in score.items]
                for label, score in scores.items()
            },
        }
    return {**runs, "context_tokens": tokens}


# -- theirs ----------------------------------------------------------------------------------------------


def _theirs_key(bench: Bench, group: str, case: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    inputs = {"model": bench.model.name, "case": case, "metrics": list(METRICS[group])}
    return f"{NAME}/theirs/{case['id']}", inputs


def theirs(bench: Bench, server: Server | None, group: str, case: dict[str, Any]) -> Result:
    """Let Ragas score a case; a metric that is not done in time is an error, and its time a lower bound."""
    key, inputs = _theirs_key(bench, group, case)

    def ask() -> Result:
        assert server is not None
        python = ragas_python(bench.out, bench.journal.say)
        request = {"base_url": server.base_url, "metrics": inputs["metrics"], "case": case}
        return ask_client(CLIENT, python, server, request, bench.timeout)

    return bench.measure(key, inputs, ask)


# -- the table -------------------------------------------------------------------------------------------

HEAD = (
    *("case", "tokens of contexts", "metric", "known", "Ragas", "ours"),
    *("Ragas, s", "ours cold, s", "answer changed, s", "… prefix store alone, s", "Ragas ÷ ours cold"),
)

Found = tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]


def figures(found: Sequence[Found]) -> Iterator[Figure]:
    """Yield the lines of the table."""
    for group in METRICS:
        of_group = [entry for entry in found if entry[0] == group]
        their = sum(theirs["seconds"] for *_, theirs in of_group)
        about = _about(group, of_group, their)
        ratios = {
            key: their / sum(ours[key]["seconds"] for _, _, ours, _ in of_group)
            for key in ("cold", "changed", "prefixes")
        }
        yield at_least(f"{group} contexts: Ragas ÷ ours, cold", ratios["cold"], LEAST_COLD[group], "", about)
        name = f"{group} contexts: Ragas ÷ ours, only the answers changed"
        if group == "long":
            yield at_least(name, ratios["changed"], LEAST_CHANGED, note="kept verdicts and prefix store")
        else:
            yield plain(name, ratios["changed"], note="kept verdicts and prefix store")
        yield plain("… with the prefix store alone, no kept verdicts", ratios["prefixes"])
        yield _right(f"{group} contexts: scores of Ragas near the known one", of_group, _their_value)
        yield _right(f"{group} contexts: ours near the known one", of_group, _our_value)
        yield _changed_right(f"{group} contexts: our faithfulness of the changed answers", of_group)


def _about(group: str, found: Sequence[Found], their: float) -> str:
    tokens = [ours["context_tokens"] for _, _, ours, _ in found]
    metrics = ", ".join(name.replace("_", " ") for name in METRICS[group])
    late = sum(theirs["late"] for *_, theirs in found)
    return (
        f"{len(found)} cases of {min(tokens)} to {max(tokens)} tokens; {metrics}; {shown(their)} s for Ragas"
        + (f", {late} of them stopped" if late else "")
    )


def _their_value(name: str, found: Found) -> float | None:
    value: float | None = found[3]["metrics"][name]["value"]
    return value


def _our_value(name: str, found: Found) -> float | None:
    value: float | None = found[2]["cold"]["values"][name]
    return value


def _changed_right(name: str, found: Sequence[Found]) -> Figure:
    pairs = [
        (case["known_changed"]["faithfulness"], ours["changed"]["values"]["faithfulness"])
        for _, case, ours, _ in found
    ]
    right = sum(is_right(known, value) for known, value in pairs)
    return plain(name, right / len(pairs), "", f"{right} of {len(pairs)} near the known score")


def _right(name: str, found: Sequence[Found], value: Any) -> Figure:
    pairs = [
        (entry[1]["known"][metric], value(metric, entry)) for entry in found for metric in METRICS[entry[0]]
    ]
    right = sum(is_right(known, value) for known, value in pairs)
    errors = [abs(known - value) for known, value in pairs if value is not None]
    mean = sum(errors) / len(errors) if errors else float("nan")
    note = f"{right} of {len(pairs)}, mean distance {mean:.2f}; {len(pairs) - len(errors)} without a score"
    return plain(name, right / len(pairs), "", note)


def is_right(known: float, value: float | None) -> bool:
    """Say whether a score is near enough to the known one."""
    return value is not None and abs(known - value) <= NEAR + 1e-9


def case_lines(found: Sequence[Found]) -> Iterator[tuple[str, ...]]:
    """Yield a row for every case and metric; times stand in a case's first row."""
    for entry in found:
        group, case, our, their = entry
        times = (
            f"{'≥ ' if their['late'] else ''}{their['seconds']:.1f}",
            f"{our['cold']['seconds']:.2f}",
            f"{our['changed']['seconds']:.2f}",
            f"{our['prefixes']['seconds']:.2f}",
            f"{their['seconds'] / our['cold']['seconds']:.1f}",
        )
        for number, metric in enumerate(METRICS[group]):
            known, error = case["known"][metric], their["metrics"][metric]["error"]
            yield (
                case["id"] if number == 0 else "",
                str(our["context_tokens"]) if number == 0 else "",
                metric.replace("_", " "),
                shown(known),
                _marked(known, _their_value(metric, entry), error),
                _marked(known, _our_value(metric, entry), None),
                *(times if number == 0 else ("",) * len(times)),
            )


def _marked(known: float, value: float | None, error: str | None) -> str:
    if value is None:
        return f"— ({(error or 'no score').splitlines()[0][:60]})"
    return f"{shown(round(value, 3))} {'✓' if is_right(known, value) else '✗'}"
