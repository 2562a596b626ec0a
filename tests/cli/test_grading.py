"""``score``, ``grade`` and ``run`` from the outside: what they print, write and return."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ragjudge.cli.main import run

CONTEXT = "Guido van Rossum began working on Python in the late 1980s and first released it in 1991."
GOOD = "Guido van Rossum released Python in 1991."
BAD = "Bananas grow in Honduras."
ROWS = [
    {"id": "good", "question": "Who released Python?", "answer": GOOD, "contexts": [CONTEXT]},
    {"id": "bad", "question": "Who released Python?", "answer": f"{GOOD} {BAD}", "contexts": [CONTEXT]},
]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in ROWS), encoding="utf-8")
    return path


@pytest.fixture
def suite(tmp_path: Path, rows: Path) -> Path:
    path = tmp_path / "suite.yaml"
    path.write_text("judge: fake\ndataset: rows.jsonl\nassert: [{type: faithfulness}]\n", encoding="utf-8")
    return path


def test_score_prints_the_claims_and_returns_1_when_it_fails(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        "score",
        "faithfulness",
        "--judge",
        "fake",
        "--context",
        CONTEXT,
        "--output",
        f"{GOOD} {BAD}",
    ]
    assert run(arguments) == 1
    printed = capsys.readouterr().out
    assert "0.500 < 0.700" in printed
    assert GOOD in printed
    assert BAD in printed
    assert run([*arguments, "--threshold", "0.5"]) == 0


def test_score_writes_json_with_the_names_of_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--judge", "fake", "--context", CONTEXT, "--output", GOOD, "--format", "json"]
    assert run(["score", "faithfulness", *arguments]) == 0
    score = json.loads(capsys.readouterr().out)
    assert (score["value"], score["status"], score["passed"], score["threshold"]) == (
        1.0,
        "scored",
        True,
        0.7,
    )
    assert set(score["items"][0]) >= {
        "text", "start", "end", "verdict", "probability", "label_mass", "chunk", "chunk_by",
    }  # fmt: skip


def test_score_cuts_texts_as_it_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    def pieces(output: str, *options: str) -> list[str]:
        arguments = ["--judge", "fake", "--context", CONTEXT, "--output", output, "--format", "json"]
        run(["score", "faithfulness", *arguments, *options])
        return [item["text"] for item in json.loads(capsys.readouterr().out)["items"]]

    german = "Es wurde am 3. Oktober 1990 gebaut."
    assert pieces(german) == ["Es wurde am 3.", "Oktober 1990 gebaut."]
    assert pieces(german, "--language", "de") == [german]
    compound = "Paris is the capital of France, and Berlin is the capital of Germany."
    assert len(pieces(compound, "--claims", "clause")) == 2


def test_grade_cuts_each_row_in_its_language(rows: Path, tmp_path: Path) -> None:
    german = {"answer": "Es wurde am 3. Oktober 1990 gebaut.", "contexts": [CONTEXT]}
    lines = [german, {**german, "language": "english"}]
    rows.write_text("".join(f"{json.dumps(row)}\n" for row in lines), encoding="utf-8")
    report = tmp_path / "report.json"
    arguments = ["grade", str(rows), "-m", "faithfulness", "--judge", "fake", "-o", str(report)]
    assert run([*arguments, "--language", "german", "--claims", "clause"]) == 1
    graded = json.loads(report.read_text(encoding="utf-8"))["rows"]
    assert [len(row["scores"]["faithfulness"]["items"]) for row in graded] == [1, 2]


def test_a_row_in_an_unknown_language_is_exit_code_2_before_anything_is_judged(
    suite: Path, rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [*ROWS, {**ROWS[0], "id": "odd", "language": "germn"}]
    rows.write_text("".join(f"{json.dumps(row)}\n" for row in lines), encoding="utf-8")
    assert run(["run", str(suite), "--cache", str(tmp_path / "cache")]) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert "rows.jsonl, line 3: 'language': unknown language 'germn'. Did you mean 'german'?" in error
    assert not (tmp_path / "cache").exists()


def test_score_reads_texts_from_files(tmp_path: Path) -> None:
    (tmp_path / "context.txt").write_text(CONTEXT, encoding="utf-8")
    context = f"@{tmp_path / 'context.txt'}"
    arguments = ["--judge", "fake", "--context", context, "--output", GOOD]
    assert run(["score", "faithfulness", *arguments]) == 0


def test_grade_writes_report_and_rows(rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report, lines = tmp_path / "report.json", tmp_path / "rows-out.jsonl"
    arguments = ["grade", str(rows), "--metric", "faithfulness", "--judge", "fake"]
    assert run([*arguments, "-o", str(report), "-o", str(lines)]) == 1
    data = json.loads(report.read_text(encoding="utf-8"))
    assert [row["passed"] for row in data["rows"]] == [True, False]
    assert data["summary"]["faithfulness"]["mean"] == 0.75
    assert data["passed"] is False
    assert data["usage"]["calls_judged"] == 2  # the good claim stands in both rows, over equal contexts
    assert [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()] == data["rows"]
    capsys.readouterr()


def test_grade_takes_a_threshold_for_all_or_one_metric(rows: Path) -> None:
    arguments = ["grade", str(rows), "-m", "faithfulness", "--judge", "fake"]
    assert run([*arguments, "-t", "0.5"]) == 0
    assert run([*arguments, "-t", "0.9", "-t", "faithfulness=0.5"]) == 0
    assert run([*arguments, "-t", "faithfulness=0.9"]) == 1


def test_a_second_run_judges_nothing_and_writes_the_same_rows(
    suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    assert run(["run", str(suite), "-o", str(first)]) == 1
    assert "2 calls judged, 0 replayed" in capsys.readouterr().out
    assert run(["run", str(suite), "--replay", "-o", str(second)]) == 1
    assert "0 calls judged, 2 replayed" in capsys.readouterr().out
    assert first.read_bytes() == second.read_bytes()


def test_a_replay_with_a_changed_context_is_exit_code_4_and_names_row_and_metric(
    suite: Path, rows: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", str(suite), "--quiet"]) == 1
    rows.write_text(rows.read_text(encoding="utf-8").replace('1991."]', '1992."]', 1), encoding="utf-8")
    capsys.readouterr()
    assert run(["run", str(suite), "--replay"]) == 4
    error = capsys.readouterr().err
    assert "good, faithfulness (support_excerpt@1)" in error
    assert "1992" in error


def test_quiet_prints_one_line(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", str(suite), "-q"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "FAILED  rows: 1 passed, 1 failed; scores: 1 passed, 1 failed"
    ]


def test_the_suites_own_cache_is_used_unless_another_is_named(suite: Path, tmp_path: Path) -> None:
    suite.write_text(f"cache: mine\n{suite.read_text(encoding='utf-8')}", encoding="utf-8")
    assert run(["run", str(suite), "-q"]) == 1
    assert (tmp_path / "mine").is_dir()
    assert run(["run", str(suite), "-q", "--cache", str(tmp_path / "other"), "--replay"]) == 2
    assert run(["run", str(suite), "-q", "--no-cache"]) == 1


def test_too_little_graded_is_exit_code_3_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from ragjudge.judges.fake import FakeJudge

    monkeypatch.setattr("ragjudge.judges.registry.open_judge", lambda *_, **__: FakeJudge({BAD: None}))
    arguments = ["--judge", "fake", "--output", BAD, "--context", CONTEXT]
    assert run(["score", "faithfulness", *arguments]) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(
        "Error: 1 of 1 score could not be graded, and at least 90 % must be. "
        "The first, sample, faithfulness: no call could be answered: "
    )
    rows = tmp_path / "rows.csv"
    rows.write_text(f"id,answer,context\na,{BAD},{CONTEXT}\nb,{CONTEXT},{CONTEXT}\n", encoding="utf-8")
    assert run(["grade", str(rows), "--judge", "fake", "-q", "-m", "faithfulness"]) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("Error: 1 of 2 scores could not be graded, ")
    assert " The first, a, faithfulness: " in line


def test_a_run_in_which_nothing_applies_says_that_nothing_was_scored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "refusals.jsonl"
    row = {"answer": "I don't know.", "contexts": ["Paris is the capital of France."]}
    file.write_text("".join(json.dumps({"id": f"r{n}", **row}) + "\n" for n in range(2)), encoding="utf-8")
    assert run(["grade", str(file), "-m", "faithfulness", "--judge", "fake"]) == 0
    assert "Warning: nothing was scored: all 2 scores are not applicable." in capsys.readouterr().err


def test_a_run_that_could_be_graded_says_nothing_about_it(
    rows: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["grade", str(rows), "--judge", "fake", "-q", "-m", "faithfulness"]) == 1
    assert capsys.readouterr().err == ""


def test_ctrl_c_is_exit_code_130_and_says_how_to_go_on(
    suite: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ragjudge.judges.fake.FakeJudge.ask", interrupt)
    assert run(["run", str(suite)]) == 130
    assert "run the same command again to go on" in capsys.readouterr().err


LACKING = [
    {"id": "good", "question": "Q?", "answer": GOOD, "contexts": [CONTEXT]},
    {"id": "bad", "question": "Q?", "answer": GOOD, "retrieved_context s": [CONTEXT]},
]


@pytest.mark.parametrize("command", ["run", "grade"])
def test_a_row_that_lacks_a_column_is_named_with_its_file_its_columns_and_the_accepted_names(
    command: str, suite: Path, rows: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows.write_text("".join(f"{json.dumps(row)}\n\n" for row in LACKING), encoding="utf-8")
    arguments = (
        [str(suite)] if command == "run" else [str(rows), "--metric", "faithfulness", "--judge", "fake"]
    )
    assert run([command, *arguments]) == 2
    assert (
        f"{rows}, line 3: faithfulness needs contexts; given: id, question, answer, retrieved_context s. "
        "Is 'retrieved_context s' meant to be 'retrieved_contexts'? Accepted as contexts: contexts, context, "
    ) in " ".join(capsys.readouterr().err.split())


def test_a_test_of_a_suite_that_lacks_a_var_is_named(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite.write_text(
        "judge: fake\ntests:\n- {vars: {answr: A., context: C}, assert: [{type: faithfulness, label: my}]}\n",
        encoding="utf-8",
    )
    assert run(["run", str(suite)]) == 2
    assert (
        f"{suite}: tests[0].vars: faithfulness (my) needs output; given: answr, context. "
        "Is 'answr' meant to be 'answer'? Accepted as output: output, "
    ) in " ".join(capsys.readouterr().err.split())


SCORE = ["score", "faithfulness", "--judge", "fake", "--output", "x"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["score", "faithfullness"], "unknown metric 'faithfullness'. Did you mean 'faithfulness'?"),
        (
            SCORE,
            "ragjudge score: faithfulness needs contexts; given: --output. Accepted as contexts: --context.",
        ),
        ([*SCORE, "--context", "@none.txt"], "none.txt: there is no such file."),
        ([*SCORE, "--context", "x", "--threshold", "2"], "threshold is 2.0; accepted: a number from 0 to 1."),
        ([*SCORE, "--context", "x", "--by", "claims"], "by is 'claims'; it has no variants."),
        (
            [*SCORE, "--context", "x", "--language", "germn"],
            "--language: unknown language 'germn'. Did you mean",
        ),
        (
            ["score", "answer-relevancy", "--judge", "fake", "--claims", "clause"],
            "--claims belongs to the metrics that count claims: faithfulness, context_precision",
        ),
        (
            ["grade", "none.jsonl", "-m", "context-relevance", "--claims", "clause"],
            "--claims belongs to the metrics that count claims",
        ),
        ([*SCORE, "--replay", "--no-cache"], "--replay answers from the cache"),
        (["score", "faithfulness", "--judge", "qwen2.5-coder-15b"], "unknown judge 'qwen2.5-coder-15b'."),
        (["grade", "none.jsonl", "-m", "faithfulness"], "none.jsonl"),
        (["grade", "none.jsonl", "-m", "faithfulness", "-t", "x=1"], "unknown metric 'x'"),
        (["grade", "none.jsonl", "-m", "faithfulness", "-t", "high"], "'high' is no number from 0 to 1"),
        (["grade", "none.jsonl", "-m", "faithfulness", "-o", "x.pdf"], "'.pdf' names no report format"),
        (["run", "none.yaml"], "none.yaml"),
        (["run", "none.yaml", "--threads", "2"], "describe the judge of --judge, which is not given"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""


def test_a_missing_model_is_exit_code_3_and_says_how_to_get_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["score", "faithfulness", "--output", GOOD, "--context", CONTEXT]) == 3
    error = capsys.readouterr().err
    assert "ragjudge models pull qwen2.5-coder-1.5b" in error


def test_a_file_that_is_no_gguf_is_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "no.gguf"
    path.write_text("hello", encoding="utf-8")
    arguments = ["--judge", str(path), "--output", GOOD, "--context", CONTEXT]
    assert run(["score", "faithfulness", *arguments]) == 2
    assert "is not a GGUF file" in capsys.readouterr().err


def test_data_cannot_speak_to_the_terminal(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = {"id": "evil\x1b[2J", "answer": "Bananas \x1b[31m grow.", "contexts": [CONTEXT]}
    rows.write_text(json.dumps(row), encoding="utf-8")
    assert run(["grade", str(rows), "-m", "faithfulness", "--judge", "fake"]) == 1
    assert "\x1b" not in capsys.readouterr().out


def test_no_command_prints_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    assert "Grade a suite." in capsys.readouterr().out
    assert run(["--version"]) == 0
    assert run([]) == 2


@pytest.mark.parametrize("target", ["rows.jsonl", "suite.yaml", "link.jsonl"])
def test_a_report_never_takes_the_place_of_what_is_graded(
    suite: Path, rows: Path, tmp_path: Path, target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "link.jsonl").symlink_to(rows)
    before = rows.read_bytes(), suite.read_bytes()
    output = tmp_path / target
    if target != "suite.yaml":
        assert run(["grade", str(rows), "-m", "faithfulness", "--judge", "fake", "-o", str(output)]) == 2
        assert run(["run", str(suite), "-o", str(output)]) == 2
        assert "is read by this command; a report needs a file of its own." in capsys.readouterr().err
    else:
        assert run(["run", str(suite), "-o", str(output)]) == 2
    assert (rows.read_bytes(), suite.read_bytes()) == before


def test_a_report_never_takes_the_place_of_the_calibration_in_use(
    suite: Path, rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calibration = tmp_path / "mine.json"
    calibration.write_text("{}", encoding="utf-8")
    named = ["--judge", "fake", "--calibration", str(calibration), "-o", str(calibration)]
    suite.write_text(f"calibration: mine.json\n{suite.read_text('utf-8')}", encoding="utf-8")
    for command in (
        ["grade", str(rows), "-m", "faithfulness", *named],
        ["run", str(suite), "-o", str(calibration)],
        ["judge", "check", *named],
    ):
        assert run(command) == 2
        assert "mine.json: is read by this command; a report needs" in capsys.readouterr().err
        assert calibration.read_text(encoding="utf-8") == "{}"


def test_standard_input_can_be_given_to_one_text_alone(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["score", "faithfulness", "--judge", "fake", "--output", "-", "--context", "-"]
    assert run(arguments) == 2
    assert "standard input can be read once" in capsys.readouterr().err


def test_a_bundle_has_a_name_of_its_own_kind(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = suite.read_bytes()
    assert run(["run", str(suite), "-q"]) == 1
    assert run(["cache", "export", "-o", str(suite)]) == 2
    assert "a bundle's name ends in .rjz" in capsys.readouterr().err
    assert suite.read_bytes() == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize(("redirect", "code"), [(">/dev/full", 2), (">&-", 0)])
def test_an_output_that_cannot_be_written_is_no_traceback(redirect: str, code: int) -> None:
    command = f"exec {sys.executable} -m ragjudge metrics {redirect}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert ("the output cannot be written" in done.stderr) == (code == 2)


def test_a_provider_that_moves_to_another_folder_moves_no_path_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    Path("data/answer.txt").write_text(GOOD, encoding="utf-8")
    Path("system.py").write_text(
        "import os, pathlib, tempfile\n"
        "os.chdir('data')\n"
        "def answer(question):\n"
        f"    return {{'output': pathlib.Path('answer.txt').read_text(), 'contexts': [{CONTEXT!r}]}}\n"
        "def leaves(question):\n"
        "    with tempfile.TemporaryDirectory() as folder:\n"
        "        os.chdir(folder)\n"
        f"    return {{'output': {GOOD!r}, 'contexts': [{CONTEXT!r}]}}\n",
        encoding="utf-8",
    )
    Path("suite.yaml").write_text(
        "judge: fake\nproviders: ['python:system.py:answer', 'python:system.py:leaves']\n"
        "tests: [{vars: {question: a}}]\nassert: [{type: faithfulness}]\n",
        encoding="utf-8",
    )
    outputs = ["-o", "report.json", "-o", "rows.jsonl", "--cache", "cache"]
    assert run(["run", "suite.yaml", *outputs]) == 0
    assert Path.cwd() == tmp_path
    assert {path.name for path in tmp_path.iterdir()} == {
        "data", "system.py", "suite.yaml", "report.json", "rows.jsonl", "cache",
    } | ({"__pycache__"} if Path("__pycache__").exists() else set())  # fmt: skip
    assert [path.name for path in Path("data").iterdir()] == ["answer.txt"]
    assert capsys.readouterr().err == ""
