"""A suite with a server for a judge: graded, stored, replayed; from the command line and from Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ragjudge import Faithfulness, evaluate
from ragjudge.cli.main import run
from ragjudge.judges.http import HttpJudge
from tests.judges.http.server import MODEL, Answer, Request, completion, error, serving
from tests.judges.http.test_client import closed_port

CONTEXT = "Guido van Rossum first released Python in 1991."
GOOD = "Guido van Rossum released Python in 1991."
BAD = "Bananas grow in Honduras."


def judging(request: Request) -> Answer:
    """Answer like a judge that gives log-probabilities."""
    if "JSON" in request.body["messages"][0]["content"]:
        return completion('Sure!\n```json\n{"score": 0.25, "reason": "one of four"}\n```')
    good = f"Claim: {GOOD}" in request.user
    return completion("x", top={"Yes": 0.9, "No": 0.08} if good else {"No": 0.95, "Yes": 0.04})


def write_suite(folder: Path, url: str, *, asserts: str = "[{type: faithfulness}]", **settings: Any) -> Path:
    judge = {"id": "http", "base_url": url, "model": MODEL, "retries": 0, **settings}
    row = {"id": "row", "question": "Who?", "answer": f"{GOOD} {BAD}", "contexts": [CONTEXT]}
    (folder / "rows.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    path = folder / "suite.yaml"
    path.write_text(f"judge: {json.dumps(judge)}\ndataset: rows.jsonl\nassert: {asserts}\n", encoding="utf-8")
    return path


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_suite_is_graded_and_replayed_without_its_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_KEY", "s3cret")
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    with serving(judging) as server:
        suite = write_suite(
            tmp_path,
            server.url,
            asserts="[{type: faithfulness}, {type: faithfulness, mode: holistic, label: whole}]",
            api_key_env="SOME_KEY",
        )
        assert run(["run", str(suite), "-o", str(first)]) == 1
        assert sorted(server.forms) == ["logprobs", "logprobs", "schema"]
        assert {request.headers["Authorization"] for request in server.requests} == {"Bearer s3cret"}
    capsys.readouterr()
    monkeypatch.delenv("SOME_KEY")
    assert run(["run", str(suite), "--replay", "-o", str(second)]) == 1
    printed = capsys.readouterr()
    assert "0 calls judged, 3 replayed" in printed.out
    assert first.read_bytes() == second.read_bytes()
    (row,) = rows_of(first)
    score = row["scores"]["faithfulness"]
    assert (score["value"], score["errors"]) == (0.5, 0)
    assert [item["verdict"] for item in score["items"]] == [True, False]
    assert [item["label_mass"] for item in score["items"]] == pytest.approx([0.98, 0.99], abs=1e-4)
    assert (row["scores"]["whole"]["value"], row["scores"]["whole"]["reason"]) == (0.25, "one of four")


def test_a_key_enters_no_file_and_no_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_KEY", "s3cret")
    cache = tmp_path / "cache"
    with serving(lambda request: completion("the key is s3cret")) as server:
        suite = write_suite(tmp_path, server.url, api_key_env="SOME_KEY")
        assert run(["run", str(suite), "--cache", str(cache), "-o", str(tmp_path / "out.json")]) == 3
    with serving(lambda request: error(401, "no such key: s3cret")) as server:
        suite = write_suite(tmp_path, server.url, api_key_env="SOME_KEY")
        assert run(["run", str(suite), "--cache", str(cache)]) == 3
    printed = capsys.readouterr()
    assert "no such key: (key)" in printed.err
    assert "s3cret" not in printed.out + printed.err
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) >= 4
    assert [path for path in written if b"s3cret" in path.read_bytes()] == []


def test_a_server_that_is_not_there_is_exit_code_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"http://127.0.0.1:{closed_port()}/v1"
    assert run(["run", str(write_suite(tmp_path, url))]) == 3
    assert f"the server at {url} cannot be reached: connection refused." in capsys.readouterr().err


def test_one_failed_call_costs_its_claim_alone_and_is_asked_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = True

    def script(request: Request) -> Answer:
        if broken and BAD in request.user:
            return Answer("<html>", status=500)
        return judging(request)

    out = tmp_path / "out.jsonl"
    with serving(script) as server:
        suite = write_suite(tmp_path, server.url)
        assert run(["run", str(suite), "-o", str(out)]) == 1
        score = rows_of(out)[0]["scores"]["faithfulness"]
        assert (score["value"], score["errors"], score["status"]) == (0.5, 1, "scored")
        assert score["items"][1]["error"] == "the server answers 500: (nothing)"
        capsys.readouterr()
        broken = False
        assert run(["run", str(suite), "-o", str(out)]) == 1
        assert "1 call judged, 1 replayed" in capsys.readouterr().out
    assert rows_of(out)[0]["scores"]["faithfulness"]["errors"] == 0


def test_another_model_behind_the_same_name_is_judged_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = "first"

    def script(request: Request) -> Answer:
        answer = json.loads(judging(request).body)
        return Answer(json.dumps({**answer, "model": model}))

    with serving(script) as server:
        suite = write_suite(tmp_path, server.url, accept_models=["first", "second"])
        assert run(["run", str(suite)]) == 1
        model = "second"
        # Nothing is missing, so nobody is asked.
        assert run(["run", str(suite)]) == 1
        assert "0 calls judged, 2 replayed" in capsys.readouterr().out.split("2 calls judged")[1]
        more = "Python has a snake in its logo."
        rows = tmp_path / "rows.jsonl"
        row = json.loads(rows.read_text(encoding="utf-8"))
        rows.write_text(json.dumps({**row, "answer": f"{row['answer']} {more}"}) + "\n", encoding="utf-8")
        assert run(["run", str(suite)]) == 1
        assert "3 calls judged, 0 replayed" in capsys.readouterr().out
        assert len(server.requests) == 5
        assert run(["run", str(suite), "--replay"]) == 1
        assert "0 calls judged, 3 replayed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"api_key": "s3cret"}, "judge: unknown key 'api_key'. Did you mean 'api_key_env'?"),
        ({"api_key_env": "s3cret"}, "api_key_env is not the name of an environment variable"),
        ({"base_url": "http://me:s3cret@h/v1"}, "base_url cannot be used"),
        ({"base_url": None}, "the setting 'base_url' is missing"),
        ({"model": ""}, "judge.model: found an empty text"),
        ({"timeout": 0}, "timeout is 0"),
        ({"timeout": "5s"}, "judge.timeout: found the text '5s'; accepted: a number."),
        ({"retries": -1}, "judge.retries: found the number -1; accepted: a whole number of at least 0."),
        ({"accept_models": "m"}, "judge.accept_models: found the text 'm'; accepted: a list."),
        (
            {"strategy": "best"},
            "judge.strategy: found the text 'best'; accepted: auto, logprobs, constrained, text.",
        ),
        ({"window": 512}, "judge 'http' has no setting 'window'"),
    ],
)
def test_a_setting_that_cannot_be_meant_is_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], settings: dict[str, Any], message: str
) -> None:
    suite = write_suite(tmp_path, **{"url": "http://127.0.0.1:9/v1", **settings})
    if "base_url" in settings:
        text = suite.read_text(encoding="utf-8")
        suite.write_text(
            text.replace('"http://127.0.0.1:9/v1"', json.dumps(settings["base_url"])), encoding="utf-8"
        )
    assert run(["run", str(suite)]) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert "s3cret" not in printed


def test_a_mapped_name_and_a_judge_of_one_assertion_may_be_servers(tmp_path: Path) -> None:
    with serving(judging) as server:
        judge = {"id": "http", "base_url": server.url, "model": MODEL}
        asserts = [
            {"type": "faithfulness"},
            {"type": "faithfulness", "provider": {**judge, "strategy": "text"}},
        ]
        case = {"vars": {"question": "Who?", "answer": GOOD, "context": [CONTEXT]}, "assert": asserts}
        data = {"judge": "openai:gpt-4o", "judges": {"openai:gpt-4o": judge}, "tests": [case]}
        suite = tmp_path / "suite.yaml"
        suite.write_text(json.dumps(data), encoding="utf-8")  # every JSON text is YAML
        out = tmp_path / "out.jsonl"
        # The script's text is no answer, so the second assertion has none.
        assert run(["run", str(suite), "--no-cache", "-o", str(out)]) == 3
        scores = rows_of(out)[0]["scores"]
        assert [scores[label]["status"] for label in ("faithfulness", "faithfulness#2")] == [
            "scored",
            "judge_error",
        ]
        assert sorted(server.forms) == ["logprobs", "text"]


def test_a_scorer_and_evaluate_take_the_judge_itself() -> None:
    with serving(judging) as server:
        judge = HttpJudge(base_url=server.url, model=MODEL)
        score = Faithfulness(llm=judge, cache=False).score(output=GOOD, context=CONTEXT)
        assert (score.value, score.passed) == (1.0, True)
        rows = [{"input": "Who?", "output": f"{GOOD} {BAD}", "contexts": [CONTEXT]}]
        results = evaluate(dataset=rows, scorers=["faithfulness"], llm=judge, cache=False)
        assert results.rows[0].scores["faithfulness"].value == 0.5
        assert results.report.judges[0].id == f"{MODEL} at {server.url}"
