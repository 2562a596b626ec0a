"""Commands over a suite with ``claims: judge``, whose checks depend on stored replies."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from ragjudge import Faithfulness, evaluate
from ragjudge.cache.bundle import read_bundle
from ragjudge.cache.entries import read_call
from ragjudge.cli.main import run

CONTEXT = "The old bridge was built in 1780. It was rebuilt in 1893."
ANSWER = "The old bridge was built in 1780, and it was painted in 1902."
ROW = {"id": "bridge", "question": "When?", "answer": ANSWER, "contexts": [CONTEXT], "expected": ANSWER}


class Workplace:
    """A suite with one row that was judged once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.suite = folder / "suite.yaml"
        self.cache = folder / "cache"
        self.write()
        self.suite.write_text(
            "judge: fake\ncache: cache\nclaims: judge\ndataset: rows.jsonl\n"
            "assert: [{type: faithfulness}, {type: context-recall}, {type: answer-relevancy}]\n",
            encoding="utf-8",
        )
        assert run(["run", str(self.suite), "-q", "-o", str(folder / "first.jsonl")]) == 1

    def write(self, **changes: Any) -> None:
        (self.folder / "rows.jsonl").write_text(json.dumps({**ROW, **changes}) + "\n", encoding="utf-8")

    def why(self, capsys: pytest.CaptureFixture[str], metric: str = "faithfulness") -> list[str]:
        capsys.readouterr()
        assert run(["cache", "why", str(self.suite), "bridge", metric]) == 0
        return capsys.readouterr().out.splitlines()

    def export(self) -> tuple[int, Path]:
        bundle = self.folder / "suite.rjz"
        return run(["cache", "export", "-o", str(bundle), "--for", str(self.suite)]), bundle


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path)


def test_the_report_ties_each_claim_to_its_sentence(place: Workplace) -> None:
    (row,) = [json.loads(line) for line in (place.folder / "first.jsonl").read_text("utf-8").splitlines()]
    items = row["scores"]["faithfulness"]["items"]
    assert [(item["text"], item["claim"], item["start"], item["end"]) for item in items] == [
        (ANSWER, "The old bridge was built in 1780.", 0, len(ANSWER)),
        (ANSWER, "it was painted in 1902.", 0, len(ANSWER)),
    ]
    assert "Not supported: “it was painted in 1902.”." in row["scores"]["faithfulness"]["reason"]
    assert [item["claim"] for item in row["scores"]["answer_relevancy"]["items"]] == [None]


def test_a_failed_claim_is_shown_and_not_its_sentence(
    place: Workplace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", str(place.suite), "--replay"]) == 1
    shown = [line for line in capsys.readouterr().out.splitlines() if "P = " in line]
    assert any("it was painted in 1902." in line for line in shown)


def test_a_bundle_holds_the_cuts_and_the_checks_that_follow_from_them(place: Workplace) -> None:
    code, bundle = place.export()
    assert code == 0
    calls = [call for name, text in read_bundle(bundle).items() if (call := read_call(name, text))]
    templates = sorted(call.request["template"]["name"] for call in calls)
    assert templates == ["answer_relevance", "claims", "support_excerpt", "support_excerpt"]
    shutil.rmtree(place.cache)
    second = place.folder / "second.jsonl"
    assert run(["run", str(place.suite), "--bundle", str(bundle), "-q", "-o", str(second)]) == 1
    assert second.read_bytes() == (place.folder / "first.jsonl").read_bytes()


def test_a_bundle_without_a_cut_is_not_written(place: Workplace, capsys: pytest.CaptureFixture[str]) -> None:
    place.write(answer=ANSWER.replace("1902", "1903"))
    code, bundle = place.export()
    assert code == 4
    assert not bundle.exists()
    error = capsys.readouterr().err
    assert "the first belongs to bridge, faithfulness" in error
    assert run(["run", str(place.suite), "--replay", "-q"]) == 4
    assert "bridge, faithfulness (claims@1)" in capsys.readouterr().err


def test_why_lists_the_cuts_and_the_checks(place: Workplace, capsys: pytest.CaptureFixture[str]) -> None:
    head, cut, first, second = place.why(capsys)
    assert head.startswith("bridge, faithfulness: judge fake (")
    assert cut.startswith("  stored   claims@1  'Sentence: The old bridge was built")
    assert first.startswith("  stored   support_excerpt@1  'The old bridge was built in 1780.'")
    assert second.startswith("  stored   support_excerpt@1  'it was painted in 1902.'")


def test_why_says_that_checks_wait_for_a_cut(place: Workplace, capsys: pytest.CaptureFixture[str]) -> None:
    place.write(answer=ANSWER.replace("1902", "1903"))
    _, cut, *rest = place.why(capsys)
    assert cut.startswith("  missing  claims@1")
    assert "1902" in cut
    assert "1903" in cut
    assert rest[-1] == "  its checks depend on how its sentences are cut, which is not known yet"


def test_score_and_grade_take_claims_by_the_judge(
    place: Workplace, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ["--claims", "judge", "--judge", "fake", "--cache", str(place.cache), "--replay"]
    capsys.readouterr()
    assert run(["score", "faithfulness", "--output", ANSWER, "--context", CONTEXT, *more]) == 1
    assert "1 of 2 claims" in capsys.readouterr().out
    assert run(["grade", str(place.folder / "rows.jsonl"), "-m", "faithfulness", "-q", *more]) == 1
    assert run(["grade", str(place.folder / "rows.jsonl"), "-m", "answer-relevancy", *more]) == 2
    assert "belongs to the metrics that count claims" in capsys.readouterr().err


def test_the_api_takes_claims_by_the_judge(place: Workplace) -> None:
    scorer = Faithfulness("fake", claims="judge", cache=place.cache, replay=True)
    result = scorer.score(output=ANSWER, context=CONTEXT)
    assert [item.claim for item in result.items] == [
        "The old bridge was built in 1780.",
        "it was painted in 1902.",
    ]
    done = evaluate(
        dataset=[ROW], scorers=["faithfulness"], llm="fake", claims="judge", cache=place.cache, replay=True
    )
    assert len(done.rows[0].scores["faithfulness"].items) == 2
