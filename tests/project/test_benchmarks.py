"""The parts of the benchmarks that measure nothing: what is kept, locked, counted and said."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import time
import types
from pathlib import Path
from typing import Any

import pytest

from ragjudge.records import Check
from tests.benchmarks import __main__ as command
from tests.benchmarks import deepeval_client, journal, peers, peers_table
from tests.benchmarks.clients import ask_client
from tests.benchmarks.journal import Journal
from tests.benchmarks.options import Bench
from tests.benchmarks.peers_table import Judged
from tests.benchmarks.process import MeasurementError

fcntl = pytest.importorskip("fcntl")

# -- what is kept, and what is locked ---------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "_GIVE_WAY_SECONDS", 0.0)


def _silent(text: str) -> None:
    pass


def _is_locked(path: Path) -> bool:
    with path.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_a_measurement_holds_the_lock_and_gives_it_back(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    kept = Journal(tmp_path / "measured.jsonl", _silent, lock)
    assert kept.measure("one", 1, lambda: {"locked": _is_locked(lock)}) == {"locked": True}
    assert not _is_locked(lock)


def test_a_measurement_that_fails_gives_the_lock_back_and_is_not_kept(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    kept = Journal(tmp_path / "measured.jsonl", _silent, lock)

    def fail() -> dict[str, Any]:
        raise MeasurementError("broken")

    with pytest.raises(MeasurementError):
        kept.measure("one", 1, fail)
    assert not _is_locked(lock)
    assert not kept.has("one", 1)


def test_what_is_measured_already_needs_no_lock(tmp_path: Path) -> None:
    lock, path = tmp_path / "lock", tmp_path / "measured.jsonl"
    Journal(path, _silent).measure("one", 1, lambda: {"value": 7})
    with lock.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        again = Journal(path, _silent, lock).measure("one", 1, lambda: {"value": 8})
    assert again == {"value": 7}


def test_a_measurement_waits_before_it_takes_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, waited = tmp_path / "lock", []
    monkeypatch.setattr(journal, "_GIVE_WAY_SECONDS", 1.0)

    def sleep(seconds: float) -> None:
        waited.append((seconds, lock.exists() and _is_locked(lock)))

    monkeypatch.setattr(time, "sleep", sleep)
    Journal(tmp_path / "measured.jsonl", _silent, lock).measure("one", 1, dict)
    assert waited == [(1.0, False)]


# -- clients ---------------------------------------------------------------------------------------------


class _Server:
    stopped = 0

    def stop(self) -> None:
        self.stopped += 1


def _ask(tmp_path: Path, script: str, timeout: float = 60.0) -> tuple[dict[str, Any], _Server]:
    client, server = tmp_path / "client.py", _Server()
    client.write_text(script, encoding="utf-8")
    request = {"metrics": ["faithfulness"]}
    return ask_client(client, Path(sys.executable), server, request, timeout), server  # type: ignore[arg-type]


def test_a_client_s_line_is_the_metric_s_result(tmp_path: Path) -> None:
    line = '{"metric": "faithfulness", "value": 0.5, "seconds": 2.0, "error": null}'
    found, server = _ask(tmp_path, f"print('noise'); print('{line}')")
    assert found["metrics"] == {"faithfulness": {"value": 0.5, "seconds": 2.0, "error": None}}
    assert (found["seconds"], found["late"], server.stopped) == (2.0, False, 0)


def test_a_client_that_breaks_down_leaves_what_it_complained_of(tmp_path: Path) -> None:
    found, _ = _ask(tmp_path, 'raise SystemExit("no such library")')
    assert found["metrics"]["faithfulness"]["value"] is None
    assert "no such library" in found["metrics"]["faithfulness"]["error"]


def test_a_client_that_takes_too_long_is_stopped_and_so_is_the_server(tmp_path: Path) -> None:
    found, server = _ask(tmp_path, "import time; time.sleep(60)", timeout=0.2)
    assert found["late"]
    assert 0.2 <= found["seconds"] < 30
    assert server.stopped == 1


@pytest.fixture
def deepeval(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Stand-ins for DeepEval and for the client of its server; `replies` is what the server says."""
    said: dict[str, Any] = {"replies": [], "asked": []}

    class Completions:
        def create(self, **body: Any) -> Any:
            said["asked"].append(body)
            text, reason = said["replies"].pop(0)
            message = types.SimpleNamespace(content=text)
            return types.SimpleNamespace(
                choices=[types.SimpleNamespace(message=message, finish_reason=reason)]
            )

    class Schema:
        @staticmethod
        def model_json_schema() -> dict[str, str]:
            return {"type": "object"}

        @staticmethod
        def model_validate_json(text: str) -> Any:
            return json.loads(text)

    class Metric:
        def __init__(self, model: Any, **options: Any) -> None:
            self.model, self.penalize_ambiguous_claims = model, False

        def measure(self, test: Any, _show_indicator: bool) -> float:
            self.verdicts = self.model.generate("Judge.", schema=Schema)["verdicts"]
            return self._calculate_score()

        def _calculate_score(self) -> float:
            passing = ("yes",) if self.penalize_ambiguous_claims else ("yes", "borderline")
            return sum(verdict in passing for verdict in self.verdicts) / len(self.verdicts)

    class Model:
        def __init__(self, name: str) -> None:
            self.name = name

    def openai(**options: Any) -> Any:
        said["client"] = options
        return types.SimpleNamespace(chat=types.SimpleNamespace(completions=Completions()))

    modules = {
        "deepeval.models": types.SimpleNamespace(DeepEvalBaseLLM=Model),
        "deepeval.metrics": types.SimpleNamespace(FaithfulnessMetric=Metric),
        "deepeval.test_case": types.SimpleNamespace(LLMTestCase=lambda **fields: fields),
        "openai": types.SimpleNamespace(OpenAI=openai),
    }
    monkeypatch.setattr(
        deepeval_client, "importlib", types.SimpleNamespace(import_module=modules.__getitem__)
    )
    return said


REQUEST = {
    "base_url": "http://127.0.0.1:1/v1",
    "case": {"question": "?", "answer": "It rains.", "contexts": ["Rain."]},
}


def test_the_strict_score_counts_what_the_context_does_not_back_as_failed(deepeval: dict[str, Any]) -> None:
    deepeval["replies"] = [('{"verdicts": ["yes", "borderline"]}', "stop")]
    line = deepeval_client.measure(REQUEST)
    assert (line["value"], line["strict"], line["error"]) == (1.0, 0.5, None)
    (asked,) = deepeval["asked"]
    assert asked["temperature"] == 0
    assert asked["response_format"] == {"type": "json_object", "schema": {"type": "object"}}
    assert deepeval["client"]["timeout"] == 600


def test_a_reply_that_was_cut_off_is_an_error_of_the_row(deepeval: dict[str, Any]) -> None:
    deepeval["replies"] = [('{"verdicts": ["yes", "y', "length")]
    line = deepeval_client.measure(REQUEST)
    assert (line["value"], line["strict"]) == (None, None)
    assert "cut off after 2048 tokens" in line["error"]
    assert len(line["calls"]) == 1


# -- rows ------------------------------------------------------------------------------------------------


def _bench(tmp_path: Path, data: Path | None, *, quick: bool = False) -> Bench:
    kept = Journal(tmp_path / "measured.jsonl", _silent)
    return Bench(tmp_path, kept, "fake", tmp_path / "model.gguf", quick, 1.0, data)


def _write_rows(folder: Path, name: str, count: int) -> None:
    rows = [
        {"id": f"{name}-{number}", "context": "Rain. " * (30 - number), "claim": "It rains.", "label": 1}
        for number in range(count)
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / f"{name}.dev.jsonl").write_text(text, encoding="utf-8")


def test_without_rows_the_benchmark_says_what_it_needs(tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match=r"--data FOLDER, a folder with qags\*.jsonl and wice_oracle"):
        peers.run(_bench(tmp_path, None))


def test_a_folder_without_a_set_is_refused(tmp_path: Path) -> None:
    _write_rows(tmp_path, "qags", 2)
    with pytest.raises(MeasurementError, match=r"has 0 files wice_oracle\*\.jsonl"):
        peers.load_rows(_bench(tmp_path, tmp_path))


def test_the_first_twenty_rows_of_each_set_are_judged(tmp_path: Path) -> None:
    _write_rows(tmp_path, "qags", 25)
    _write_rows(tmp_path, "wice_oracle", 25)
    rows = peers.load_rows(_bench(tmp_path, tmp_path))
    assert {name: [row.id for row in of_set] for name, of_set in rows.items()} == {
        name: [f"{name}-{number}" for number in range(20)] for name in ("qags", "wice_oracle")
    }
    quick = peers.load_rows(_bench(tmp_path, tmp_path, quick=True))
    assert {name: [row.id for row in of_set] for name, of_set in quick.items()} == {"qags": ["qags-19"]}


def test_all_benchmarks_without_rows_are_those_that_need_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    class Module:
        TITLE = "title"

        def __init__(self, name: str) -> None:
            self.name = name

        def run(self, bench: Bench) -> Any:
            ran.append(self.name)
            raise MeasurementError("not now")

    def load(name: str) -> Module:
        return Module(name.rpartition(".")[2])

    loading = types.SimpleNamespace(import_module=load, util=importlib.util)
    monkeypatch.setattr(command, "importlib", loading)
    monkeypatch.setattr(command, "write_table", lambda sections, bench: (tmp_path / "md", tmp_path / "json"))
    monkeypatch.setattr(command, "_bench", lambda options, out, kept: _bench(out, options.data))
    (tmp_path / "md").write_text("", encoding="utf-8")
    assert command.main(["--out", str(tmp_path)]) == 1
    assert "peers" not in ran
    assert "side_by_side" in ran
    ran.clear()
    command.main(["--out", str(tmp_path), "--data", str(tmp_path)])
    assert "peers" in ran


def test_a_calibration_that_cannot_be_read_is_told_of_before_anything_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _write_rows(tmp_path, "qags", 1)
    _write_rows(tmp_path, "wice_oracle", 1)
    monkeypatch.setattr("ragjudge.gguf.locate.existing_path", lambda judge: tmp_path / "model.gguf")
    (tmp_path / "model.gguf").touch()
    wrong = tmp_path / "calibration.json"
    assert command.main(
        ["peers", "--data", str(tmp_path), "--out", str(tmp_path / "out"), "--calibration", str(wrong)]
    )
    said = capsys.readouterr().err
    assert f"peers: {wrong}: the calibration cannot be read" in said
    assert "measuring" not in said


def test_a_calibration_is_for_one_set_or_for_all() -> None:
    options = command._parser().parse_args(["--calibration", "qags=a/b.json", "--calibration", "c.json"])
    assert dict(options.calibration) == {"qags": Path("a/b.json"), "": Path("c.json")}


# -- what is measured ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("prefixes", {"samples": 2}),
        ("long", {"tokens": 2000, "fit": None}),
        ("order", {"rows": 3, "words": 200, "exact": True}),
    ],
)
def test_what_long_contexts_cost_is_measured_with_contexts_shown_whole(
    name: str, arguments: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("gguf")  # for the tiny models of the module that opens judges
    from tests.benchmarks import loaded, long

    class ReachedError(Exception):
        """The model would be asked now."""

    class NoModel:
        def __init__(self, path: str, *, prefix_bytes: int | None, exact: bool = False) -> None:
            pass

        def count(self, text: str) -> int:
            return len(text.split())

        def run(self, cells: Any, store: Any = None) -> None:
            for cell in cells:
                for task in cell.tasks:
                    asked.extend(
                        (call, task.label, cell.sample.contexts)
                        for call in task.metric.plan(cell.sample).calls
                        if call.template.startswith("support")
                    )
            raise ReachedError

    asked: list[tuple[Check, str, tuple[str, ...]]] = []
    monkeypatch.setattr(loaded, "LoadedJudge", NoModel)
    monkeypatch.setattr(long, "keep_log", list)
    module = importlib.import_module(f"tests.benchmarks.{name}")
    with pytest.raises(ReachedError):
        module.judge("no.gguf", **arguments)
    assert {call.template for call, _, _ in asked} == {"support"}
    for call, label, contexts in asked:
        shown = tuple(call.shared[each.text : each.text_end] for each in call.segments)
        assert shown == contexts or (label == "context_precision" and shown[0] in contexts)


# -- what was said ---------------------------------------------------------------------------------------


def test_another_library_s_row_without_a_score_is_lost() -> None:
    metric = {"value": None, "seconds": 3.0, "error": "NaN"}
    found = {"metrics": {"faithfulness": metric}, "seconds": 3.0, "late": False}
    assert peers.scored(found, "value") == {"score": None, "rank": None, "seconds": 3.0, "error": "NaN"}
    late = {**found, "seconds": 900.0, "late": True}
    assert peers.scored(late, "value")["error"] == "time-out"


def test_our_score_is_the_share_of_supported_claims_and_rows_are_ranked_by_the_mean_probability() -> None:
    from ragjudge.agreement.calibration import Calibration, Card
    from ragjudge.agreement.fits import Fit, Input
    from ragjudge.prompts.template import load_template
    from ragjudge.records import Verdict

    check = load_template("support").check("It rains.", {"question": ""}, ("Rain.",))
    asked = []
    for yes, no in ((-0.105361, -2.302585), (-1.203973, -0.356675)):  # 0.9 and 0.3
        verdict = Verdict(log_probabilities={"Yes": yes, "No": no})
        asked.append([check.model_dump(mode="json"), verdict.model_dump(mode="json")])
    found = peers.said({"error": None, "seconds": 2.0, "asked": asked}, None)
    assert found["score"] == 0.5
    assert found["rank"] == pytest.approx(0.6, abs=1e-5)

    stricter = Calibration(
        judge="0" * 64,
        judge_id="fake",
        templates={
            f"support@{check.version}": Fit(
                kind="threshold", bias=-3.0, inputs=(Input(name="margin", mean=0.0, scale=1.0, weight=1.0),)
            )
        },
        card=Card(date="2026-01-01", data=(), folds={}, figures={}),
    )
    assert peers.said({"error": None, "seconds": 2.0, "asked": asked}, stricter)["score"] == 0.0


def _judged(by: str, name: str, *rows: tuple[bool, float | None], seconds: float = 10.0) -> list[Judged]:
    return [
        Judged(
            *(name, f"{name}-{number}", f"{name}-{number}", label, by, score, score, seconds),
            None if score is not None else "NaN",
        )
        for number, (label, score) in enumerate(rows)
    ]


def test_agreement_is_the_mean_of_the_sets() -> None:
    right = _judged("Ragas", "a", (True, 1.0), (False, 0.0))
    half = _judged("Ragas", "b", (True, 1.0), (False, 1.0))
    assert peers_table.agreement([*right, *half], "balanced_accuracy").value == 0.75


def test_a_lost_row_is_left_out_or_counts_as_wrong() -> None:
    rows = _judged("Ragas", "a", (True, 1.0), (True, None), (False, 0.2))
    assert peers_table.agreement(rows, "balanced_accuracy").value == 1.0
    assert peers_table.agreement(rows, "balanced_accuracy", lost_are_wrong=True).value == 0.75


def test_a_set_that_is_lost_altogether_or_has_one_label_has_no_agreement() -> None:
    kept = _judged("Ragas", "a", (True, 1.0), (False, 0.0))
    lost = _judged("Ragas", "b", (True, None), (False, None))
    assert peers_table.agreement([*kept, *lost], "balanced_accuracy").value is None
    assert peers_table.agreement(kept[:1], "balanced_accuracy").value is None


def test_the_lead_is_measured_on_the_rows_that_both_have_scored() -> None:
    labels = [True, True, False, False] * 10
    ours = _judged("ours, raw", "a", *((label, float(label)) for label in labels))
    theirs = _judged("Ragas", "a", *((label, 1.0) for label in labels[:-1]), (False, None))
    found = peers_table.lead(ours, theirs)
    assert found.value == 0.5
    assert found.interval is not None
    assert found.interval.low == found.interval.high == 0.5


def test_the_table_holds_every_set_and_all_together_and_the_figures_hold_ours_against_theirs() -> None:
    judged = [
        one
        for name in ("a", "b")
        for one in [
            *_judged("ours, raw", name, (True, 0.9), (False, 0.1), seconds=2.0),
            *_judged("Ragas", name, (True, 1.0), (False, None), (False, 1.0), seconds=20.0),
            *_judged("DeepEval", name, (True, 1.0), (False, 0.0), seconds=10.0),
        ]
    ]
    lines = list(peers_table.lines(judged))
    assert all(len(line) == len(peers.HEAD) for line in lines)
    assert [line[:4] for line in lines if line[1] == "Ragas"] == [
        ("a", "Ragas", "3", "1 lost (1 NaN)"),
        ("b", "Ragas", "3", "1 lost (1 NaN)"),
        ("mean of the sets", "Ragas", "6", "2 lost (2 NaN)"),
    ]
    found = {figure.name: figure for figure in peers_table.figures(judged)}
    assert found["balanced accuracy: Ragas"].value == 0.5
    assert found["balanced accuracy: ours, raw − DeepEval"].holds is False
    assert found["seconds a row: Ragas ÷ ours, cold"].value == 10.0
    assert found["seconds a row: DeepEval ÷ ours, cold"].holds is False
