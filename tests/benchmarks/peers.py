"""Ragas, DeepEval and ragjudge with the same model file: who agrees with people, and how long it takes."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.benchmarks.clients import ask_client
from tests.benchmarks.figures import Section
from tests.benchmarks.process import MeasurementError, measure_at_home
from tests.benchmarks.ragas_setup import (
    DEEPEVAL,
    RAGAS,
    Server,
    deepeval_python,
    ragas_python,
    server_python,
)

if TYPE_CHECKING:
    from ragjudge.agreement.calibration import Calibration
    from ragjudge.agreement.labels import LabelledRow
    from tests.benchmarks.journal import Result
    from tests.benchmarks.options import Bench
    from tests.benchmarks.peers_table import Judged

NAME = "peers"
TITLE = f"{RAGAS[0]}, {DEEPEVAL[0]} and ragjudge on human-labelled rows, with the same model file"

SETS = ("qags", "wice_oracle")
ROWS = 20
"""The first rows of each set."""

QUESTION = "What does the document say?"
"""Stands in for the question that Ragas and DeepEval demand where a row has none; DeepEval ignores it."""

METRIC = "faithfulness"
LIBRARIES = {"ragas": (RAGAS, ragas_python), "deepeval": (DEEPEVAL, deepeval_python)}
HEAD = (
    *("set", "judged by", "rows", "lost", "balanced accuracy", "95 %", "… lost rows wrong"),
    *("… at the best threshold", "AUC", "95 %", "said supported", "people: supported", "s per row"),
)

Rows = Mapping[str, Sequence["LabelledRow"]]
Calibrations = Mapping[str, "Calibration"]


def run(bench: Bench) -> Section:
    """Measure every row with all three, each row and each of them by itself."""
    rows = load_rows(bench)
    calibrations = load_calibrations(bench)
    for name, of_set in rows.items():
        for row in of_set:
            ours(bench, name, row)
    server: Server | None = None
    try:
        for name, of_set in rows.items():
            for row in of_set:
                for library in LIBRARIES:
                    if not bench.measured(*_key(library, name, row)):
                        server = server or _server(bench)
                        theirs(bench, server, library, name, row)
    finally:
        if server is not None:
            server.stop()
    from tests.benchmarks import peers_table

    judged = collect(bench, rows, calibrations)
    return Section(NAME, TITLE, list(peers_table.figures(judged)), HEAD, list(peers_table.lines(judged)))


def load_rows(bench: Bench) -> Rows:
    """Return the first rows of each set; when it should be quick, the shortest of them.

    Raises:
        MeasurementError: No folder is named, or it has not one file for each set.
    """
    from ragjudge.agreement.labels import read_labels

    wanted = f"a folder with {' and '.join(f'{name}*.jsonl' for name in SETS)}"
    if bench.data is None:
        raise MeasurementError(f"human-labelled rows are needed: --data FOLDER, {wanted}")
    rows = {}
    for name in SETS:
        paths = sorted(bench.data.glob(f"{name}*.jsonl"))
        if len(paths) != 1:
            raise MeasurementError(f"{bench.data} has {len(paths)} files {name}*.jsonl; wanted is {wanted}")
        rows[name] = read_labels(paths)[:ROWS]
    if not bench.quick:
        return rows
    first = SETS[0]
    return {first: [min(rows[first], key=lambda row: row.context_words)]}


def load_calibrations(bench: Bench) -> Calibrations:
    """Return the calibrations that were named, by set; ``""`` = for the rows of all other sets."""
    from ragjudge.agreement.calibration import load_calibration

    return {name: load_calibration(path) for name, path in bench.calibrations.items()}


def _server(bench: Bench) -> Server:
    return Server(server_python(bench.out, bench.journal.say), bench.model, bench.out / "server.log")


# -- ours ------------------------------------------------------------------------------------------------


def ours(bench: Bench, name: str, row: LabelledRow) -> Result:
    """Grade a row with a cache and a home of its own, both empty, and without a prefix store."""
    given = {"id": row.id, "output": row.claim, "contexts": list(row.contexts)}
    given |= {"input": row.question} if row.question else {}
    arguments = {"model": str(bench.model), "row": given}

    at_home = partial(measure_at_home, f"{__name__}:grade", arguments, bench.out)
    return bench.measure(f"{NAME}/ours/{name}/{row.id}", arguments, at_home)


def grade(model: str, row: dict[str, Any]) -> dict[str, Any]:
    """Grade a row as a program does, the model being loaded; return also what was asked and answered."""
    import time

    from ragjudge import evaluate
    from ragjudge.cache.opening import open_caching_judge
    from ragjudge.cache.store import Store
    from ragjudge.metrics.registry import make_metric
    from ragjudge.records import Check, Sample, Verdict
    from ragjudge.sessions import close_shared
    from tests.benchmarks.loaded import LoadedJudge

    judge = LoadedJudge(model, prefix_bytes=0).judge
    sample = Sample(**row)
    with tempfile.TemporaryDirectory(prefix="cache-") as folder:
        started = time.perf_counter()
        evaluation = evaluate(dataset=[sample], scorers=[METRIC], llm=judge, cache=folder)
        seconds = time.perf_counter() - started
        close_shared()
        # The cache holds raw answers, whatever is made of them afterwards.
        with Store(Path(folder), read_only=True) as store:
            calls = make_metric(METRIC).plan(sample).calls
            answers = dict(open_caching_judge(judge, store, replay=True).ask(calls))
    asked = []
    for number, check in enumerate(calls):
        verdict = answers[number]
        if isinstance(check, Check) and isinstance(verdict, Verdict):
            asked.append([check.model_dump(mode="json"), verdict.model_dump(mode="json")])
    (score,) = evaluation.rows[0].scores.values()
    usage = evaluation.report.usage
    return {
        "seconds": seconds,
        "reported": score.value,
        "error": None if len(asked) == len(calls) > 0 else score.reason,
        "asked": asked,
        "fingerprint": judge.identity().fingerprint,
        "tokens_decoded": usage.tokens_decoded,
    }


# -- theirs ----------------------------------------------------------------------------------------------


def _key(library: str, name: str, row: LabelledRow) -> tuple[str, dict[str, Any]]:
    case = {"question": row.question or QUESTION, "answer": row.claim, "contexts": list(row.contexts)}
    packages, _ = LIBRARIES[library]
    return f"{NAME}/{library}/{name}/{row.id}", {"packages": list(packages), "case": case}


def theirs(bench: Bench, server: Server, library: str, name: str, row: LabelledRow) -> Result:
    """Let another library score a row; one that is not done in time is lost, its time a lower bound."""
    key, inputs = _key(library, name, row)
    python = LIBRARIES[library][1](bench.out, bench.journal.say)

    def ask() -> Result:
        request = {"base_url": server.base_url, "metrics": [METRIC], "case": inputs["case"]}
        client = Path(__file__).with_name(f"{library}_client.py")
        found = ask_client(client, python, server, request, bench.timeout)
        if found["metrics"][METRIC]["error"]:
            server.stop()  # whatever it is still doing must not slow the next row
        return found

    return bench.measure(key, inputs, ask)


def measured(bench: Bench, library: str, name: str, row: LabelledRow) -> Result:
    """Return what was measured."""

    def missing() -> Result:
        raise AssertionError("asked for before it was measured")

    return bench.measure(*_key(library, name, row), missing)


# -- together --------------------------------------------------------------------------------------------


def collect(bench: Bench, rows: Rows, calibrations: Calibrations) -> list[Judged]:
    """Return what each of them said about each row, ours raw and calibrated."""
    from tests.benchmarks.peers_table import Judged

    found: list[Judged] = []
    for name, of_set in rows.items():
        calibration = _calibration(calibrations, name, ours(bench, name, of_set[0])["fingerprint"])
        for row in of_set:
            about: dict[str, Any] = {"set": name, "row": row.id, "group": row.group, "label": row.label}
            our = ours(bench, name, row)
            found.append(Judged(**about, by="ours, raw", **said(our, None)))
            if calibration is not None:
                found.append(Judged(**about, by="ours, calibrated", **said(our, calibration)))
            ragas = measured(bench, "ragas", name, row)
            found.append(Judged(**about, by="Ragas", **scored(ragas, "value")))
            deepeval = measured(bench, "deepeval", name, row)
            found.append(Judged(**about, by="DeepEval", **scored(deepeval, "value")))
            found.append(Judged(**about, by="DeepEval, strict", **scored(deepeval, "strict")))
    return found


def _calibration(calibrations: Calibrations, name: str, fingerprint: str) -> Calibration | None:
    """Return the calibration for a set's rows: the one that was named for them, else the shipped one."""
    from ragjudge.agreement.calibration import shipped

    calibration = calibrations.get(name, calibrations.get(""))
    if calibration is None:
        return shipped(fingerprint)
    calibration.check_judge(fingerprint)
    return calibration


def said(found: Mapping[str, Any], calibration: Calibration | None) -> dict[str, Any]:
    """Return our score (the share of claims that are supported) and the mean of their probabilities."""
    from ragjudge.prompts.answers import DECISION_THRESHOLD, probability
    from ragjudge.records import Check, Verdict

    if found["error"]:
        return {"score": None, "rank": None, "seconds": found["seconds"], "error": found["error"]}
    chances = []
    for given, answered in found["asked"]:
        check, verdict = Check(**given), Verdict(**answered)
        if calibration is not None:
            verdict = calibration.apply(check, verdict)
        chances.append(probability(verdict, check.positive))
    score = sum(chance >= DECISION_THRESHOLD for chance in chances) / len(chances)
    rank = sum(chances) / len(chances)
    return {"score": score, "rank": rank, "seconds": found["seconds"], "error": None}


def scored(found: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return another library's score, which is also what its rows are ranked by."""
    metric = found["metrics"][METRIC]
    value = metric.get(name)
    error = metric["error"] or (None if value is not None else "no score")
    if found["late"]:
        error = "time-out"
    value = None if error else value
    return {"score": value, "rank": value, "seconds": found["seconds"], "error": error}
