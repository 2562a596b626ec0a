"""``cache export``, ``import`` and ``merge``, and replays with ``--bundle``."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from ragjudge import Faithfulness, evaluate
from ragjudge.cache.bundle import read_bundle
from ragjudge.cache.entries import read_call, read_judge
from ragjudge.cache.store import Store
from ragjudge.cli.main import run
from ragjudge.errors import ReplayMissError, UsageError
from ragjudge.judges.base import Identity
from ragjudge.judges.fake import FakeJudge
from ragjudge.judges.llama.judge import LlamaJudge
from ragjudge.records import Verdict
from tests.cache.helpers import check, database, key, put

ROOT = Path(__file__).parents[2]
CONTEXT = "Guido van Rossum began working on Python in the late 1980s and first released it in 1991." * 3
GOOD = "Guido van Rossum released Python in 1991."
ROWS = [
    {"id": "good", "question": "Who released Python?", "answer": GOOD, "contexts": [CONTEXT]},
    {"id": "bad", "question": "Who?", "answer": f"{GOOD} Bananas grow in Honduras.", "contexts": [CONTEXT]},
]


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS), encoding="utf-8")
    path = tmp_path / "suite.yaml"
    path.write_text(
        "judge: fake\ncache: cache\ndataset: rows.jsonl\n"
        "assert: [{type: faithfulness}, {type: answer-relevancy, mode: holistic}]\n",
        encoding="utf-8",
    )
    return path


@pytest.fixture
def bundle(suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert run(["run", str(suite), "-q", "-o", str(tmp_path / "first.jsonl")]) == 1
    with Store(tmp_path / "cache") as store:
        put(store, check("of no suite"))
        store.remember_judge("somebody else", {"kind": "other"})
    assert run(["cache", "export", "-o", str(tmp_path / "suite.rjz"), "--for", str(suite)]) == 0
    assert "4 calls, 1 judge, 3 texts, " in capsys.readouterr().out
    return tmp_path / "suite.rjz"


def test_a_bundle_for_a_suite_holds_exactly_its_calls_and_its_judge(bundle: Path) -> None:
    rows = read_bundle(bundle)
    calls = [call for name, text in rows.items() if (call := read_call(name, text))]
    judges = [judge for name, text in rows.items() if (judge := read_judge(name, text))]
    assert len(calls) == 4
    assert [judge.reference for judge in judges] == ["fake"]
    assert judges[0].identities == [dict(FakeJudge().identity().document)]


def test_a_plain_export_leaves_out_judges_without_calls(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = Identity({"kind": "asked"})
    with Store(tmp_path / "cache") as store:
        store.remember_judge("judge", asked.document)
        store.remember_judge("judge", {"kind": "asked", "window": 64})
        store.remember_judge("somebody else", {"kind": "other"})
        put(store, check("a question"), judge=asked)
    target = tmp_path / "all.rjz"
    assert run(["cache", "export", "-o", str(target), "--cache", str(tmp_path / "cache")]) == 0
    assert "1 call, 1 judge, " in capsys.readouterr().out
    (judge,) = [found for name, text in read_bundle(target).items() if (found := read_judge(name, text))]
    assert (judge.reference, judge.identities) == ("judge", [{"kind": "asked"}])


def test_two_exports_are_the_same_bytes(suite: Path, bundle: Path, tmp_path: Path) -> None:
    assert run(["cache", "export", "-o", str(tmp_path / "again.rjz"), "--for", str(suite)]) == 0
    assert (tmp_path / "again.rjz").read_bytes() == bundle.read_bytes()


def test_a_suite_replays_from_a_bundle_with_the_same_rows_and_leaves_no_cache(
    suite: Path, bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(tmp_path / "cache")
    second = tmp_path / "second.jsonl"
    assert run(["run", str(suite), "--bundle", str(bundle), "-o", str(second)]) == 1
    assert "0 calls judged, 4 replayed" in capsys.readouterr().out
    assert second.read_bytes() == (tmp_path / "first.jsonl").read_bytes()
    assert not (tmp_path / "cache").exists()


def test_grade_and_score_replay_from_a_bundle_too(bundle: Path, tmp_path: Path) -> None:
    data = str(tmp_path / "rows.jsonl")
    assert run(["grade", data, "-m", "faithfulness", "--judge", "fake", "--bundle", str(bundle), "-q"]) == 1
    score = ["score", "faithfulness", "--judge", "fake", "--context", CONTEXT, "--bundle", str(bundle)]
    assert run([*score, "--output", GOOD]) == 0
    assert run([*score, "--output", "Never judged."]) == 4


def test_the_api_replays_from_a_bundle(bundle: Path) -> None:
    result = Faithfulness("fake", bundle=bundle).score(output=GOOD, context=CONTEXT)
    assert result.value == 1.0
    with pytest.raises(ReplayMissError):
        Faithfulness("fake", bundle=str(bundle)).score(output="Never judged.", context=CONTEXT)
    done = evaluate(dataset=ROWS, scorers=["faithfulness"], llm="fake", bundle=bundle)
    assert [row.scores["faithfulness"].value for row in done.rows] == [1.0, 0.5]
    with pytest.raises(UsageError, match="bundle= are both given"):
        Faithfulness("fake", cache="x", bundle=bundle)
    with pytest.raises(UsageError, match="bundle= are both given"):
        evaluate(dataset=ROWS, scorers=["faithfulness"], llm="fake", cache="x", bundle=bundle)


def test_the_example_suite_replays_where_there_is_no_model_and_no_llama(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["init", str(tmp_path / "demo")]) == 0
    suite = tmp_path / "demo" / "suite.yaml"
    # The judge that the suite names, with verdicts that need no model.
    monkeypatch.setattr(LlamaJudge, "ask", lambda self, calls: FakeJudge().ask(calls))
    cache, rows = tmp_path / "cache", tmp_path / "rows.jsonl"
    code = run(["run", str(suite), "--cache", str(cache), "-q", "-o", str(rows)])
    assert code in (0, 1)
    bundle = tmp_path / "suite.rjz"
    assert run(["cache", "export", "-o", str(bundle), "--for", str(suite), "--cache", str(cache)]) == 0
    again = tmp_path / "again.jsonl"
    program = (
        "import sys, socket\n"
        "for name in ('llama_cpp', 'numpy', 'diskcache', 'huggingface_hub'): sys.modules[name] = None\n"
        "def refuse(*_): raise AssertionError('no network')\n"
        "socket.socket.connect = socket.getaddrinfo = refuse\n"
        "from ragjudge.cli.main import run\n"
        "sys.exit(run(sys.argv[1:]))\n"
    )
    nowhere = str(tmp_path / "empty")
    home = {"RAGJUDGE_HOME": nowhere, "RAGJUDGE_CACHE": "", "RAGJUDGE_MODELS": nowhere}
    arguments = ["run", str(suite), "--bundle", str(bundle), "-q", "-o", str(again)]
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=ROOT,
        env={**os.environ, **home},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (code, b"")
    assert again.read_bytes() == rows.read_bytes()
    assert not (tmp_path / "empty").exists()


def test_an_export_that_lacks_calls_is_exit_code_4_and_writes_nothing(
    suite: Path, bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rows.jsonl").write_text(
        json.dumps({**ROWS[0], "id": "new", "answer": "Something new."}) + "\n", encoding="utf-8"
    )
    target = tmp_path / "new.rjz"
    assert run(["cache", "export", "-o", str(target), "--for", str(suite)]) == 4
    error = capsys.readouterr().err
    assert "2 of the 2 calls of the suite are not in the cache" in error
    assert "new, faithfulness" in error
    assert not target.exists()


def test_an_export_without_a_suite_takes_everything(bundle: Path, tmp_path: Path) -> None:
    target = tmp_path / "all.rjz"
    assert run(["cache", "export", "-o", str(target), "--cache", str(tmp_path / "cache")]) == 0
    assert sum(name.startswith("call/") for name in read_bundle(target)) == 5
    assert run(["cache", "export", "-o", str(target), "--judge", "fake"]) == 2


def test_an_import_fills_a_cache_and_tells_what_it_did(
    suite: Path, bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = str(tmp_path / "other")
    assert run(["cache", "import", str(bundle), "--cache", other]) == 0
    assert capsys.readouterr().out.splitlines() == ["added     4", "known     0", "differing 0"]
    assert run(["run", str(suite), "--cache", other, "--replay", "-q"]) == 1
    capsys.readouterr()
    assert run(["cache", "import", str(bundle), "--cache", other]) == 0
    assert capsys.readouterr().out.splitlines() == ["added     0", "known     4", "differing 0"]


def test_a_contradiction_is_shown_and_the_cache_keeps_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    no = Verdict(log_probabilities={"yes": -3.0, "no": -0.05})
    with Store(tmp_path / "one") as one, Store(tmp_path / "two") as two:
        put(one, check())
        put(two, check(), no)
    assert run(["cache", "export", "-o", str(tmp_path / "two.rjz"), "--cache", str(tmp_path / "two")]) == 0
    capsys.readouterr()
    assert run(["cache", "import", str(tmp_path / "two.rjz"), "--cache", str(tmp_path / "one")]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "added     0",
        "known     0",
        "differing 1",
        f"  {key(check())}  support@1",
        "    stays    no -2.302585, yes -0.105361",
        "    refused  no -0.050000, yes -3.000000",
    ]


def test_a_bundle_with_one_altered_verdict_is_refused_with_its_key(
    suite: Path, bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = gzip.decompress(bundle.read_bytes()).splitlines(keepends=True)
    number = next(n for n, line in enumerate(lines) if b'"log_probabilities":{"No":' in line)
    name = json.loads(lines[number])["name"]
    lines[number] = lines[number].replace(b'{"No":-', b'{"No":-1')
    bundle.write_bytes(gzip.compress(b"".join(lines)))
    for command in (["cache", "import", str(bundle)], ["run", str(suite), "--bundle", str(bundle), "-q"]):
        assert run(command) == 2
        error = capsys.readouterr().err
        assert name in error
        assert "refused" in error


def test_a_merge_takes_the_calls_of_another_cache(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other, cache = str(tmp_path / "other"), str(tmp_path / "cache")
    capsys.readouterr()
    assert run(["cache", "merge", cache, "--cache", other]) == 0
    assert "added     5" in capsys.readouterr().out
    assert run(["cache", "merge", cache, "--cache", cache]) == 2
    assert run(["cache", "merge", str(tmp_path / "none"), "--cache", other]) == 2


@pytest.mark.parametrize("what", ["trigger", "pickle", "garbage"])
def test_a_merge_takes_what_verifies_from_a_cache_that_is_refused_or_damaged(
    what: str, bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cache = tmp_path / "cache"
    if what == "garbage":
        data = database(cache).read_bytes()
        database(cache).write_bytes(b"\xff" * 4096 + data[4096:])
    else:
        statement = {
            "trigger": "CREATE TRIGGER evil AFTER INSERT ON Cache BEGIN DELETE FROM Cache; END",
            "pickle": "INSERT INTO Cache (key, raw, mode, value) VALUES ('call/x', 1, 4, x'80')",
        }[what]
        with closing(sqlite3.connect(database(cache))) as connection:
            connection.execute(statement)
            connection.commit()
    before = database(cache).read_bytes()
    capsys.readouterr()
    assert run(["cache", "merge", str(cache), "--cache", str(tmp_path / "other")]) == 0
    captured = capsys.readouterr()
    assert "added     5" in captured.out
    assert "Warning: the" in captured.err
    assert database(cache).read_bytes() == before


@pytest.mark.parametrize(
    "more", [["--cache", "x"], ["--no-cache"], ["--cache", "x", "--replay"]], ids=" ".join
)
def test_a_bundle_stands_in_the_place_of_a_cache(
    suite: Path, bundle: Path, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", str(suite), "--bundle", str(bundle), *more]) == 2
    assert "leave --cache and --no-cache out" in capsys.readouterr().err
    assert run(["run", str(suite), "--bundle", str(bundle), "--replay", "-q"]) == 1
