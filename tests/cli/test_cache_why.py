"""``cache why`` names the cause of a miss."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ragjudge.cache.store import Store
from ragjudge.cli.main import run
from ragjudge.judges.fake import FakeJudge
from ragjudge.records import Check
from tests.cache.helpers import database

CONTEXT = "The old bridge over the river was built of stone in 1780 and rebuilt after the flood of 1893. "
ROW = {
    "id": "bridge",
    "question": "When?",
    "answer": "The old bridge was built in 1780.",
    "contexts": [CONTEXT * 4],
}


class Workplace:
    """A suite with one row that was judged once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.suite = folder / "suite.yaml"
        self.write()
        assert run(["run", str(self.suite), "-q"]) in (0, 1)

    def write(self, assertion: str = "{type: faithfulness}", **changes: Any) -> None:
        (self.folder / "rows.jsonl").write_text(json.dumps({**ROW, **changes}) + "\n", encoding="utf-8")
        self.suite.write_text(
            f"judge: fake\ncache: cache\ndataset: rows.jsonl\nassert: [{assertion}]\n", encoding="utf-8"
        )

    def why(self, capsys: pytest.CaptureFixture[str], *more: str) -> list[str]:
        capsys.readouterr()
        assert run(["cache", "why", str(self.suite), "bridge", "faithfulness", *more]) == 0
        return capsys.readouterr().out.splitlines()


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path)


def test_a_stored_call_is_said_to_be_stored(place: Workplace, capsys: pytest.CaptureFixture[str]) -> None:
    head, line = place.why(capsys)
    assert head.startswith("bridge, faithfulness: judge fake (")
    assert line.startswith("  stored   support_excerpt@1  'The old bridge was built in 1780.'")
    assert line.endswith("stored less than 2 days ago")


def test_each_of_several_calls_is_told_apart_though_the_other_mode_asks_fewer(
    place: Workplace, capsys: pytest.CaptureFixture[str]
) -> None:
    place.write(answer="The old bridge was built in 1780. It was rebuilt after the flood of 1893.")
    head, first, second = place.why(capsys)
    assert head.endswith("mode decomposed")
    assert first.startswith("  stored   support_excerpt@1  'The old bridge was built in 1780.'")
    assert second.startswith("  missing  support_excerpt@1  'It was rebuilt after the flood of 1893.'")


def test_another_model_is_named(
    place: Workplace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "ragjudge.judges.registry.open_judge", lambda *_, **__: FakeJudge(score=0.25, id="another")
    )
    with Store(place.folder / "cache") as store:
        store.remember_judge("another", FakeJudge(score=0.25).identity().document)
    head, line = place.why(capsys, "--judge", "another")
    assert "judge another" in head
    assert line.endswith("the judge differs: score 0.5 is stored, 0.25 is asked")


def test_another_template_version_is_named(
    place: Workplace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from ragjudge.prompts.template import Template

    check = Template.check

    def newer(self: Template, *args: Any, **slots: Any) -> Check:
        return check(self, *args, **slots).model_copy(update={"version": 9})

    monkeypatch.setattr(Template, "check", newer)
    _, line = place.why(capsys)
    assert line.startswith("  missing  support_excerpt@9")
    assert line.endswith("the template's version differs: 1 is stored, 9 is asked")


def test_a_changed_chunk_is_named_with_the_place_of_the_difference(
    place: Workplace, capsys: pytest.CaptureFixture[str]
) -> None:
    place.write(contexts=[CONTEXT * 3 + CONTEXT.replace("flood", "fire")])
    _, line = place.why(capsys)
    assert "the context or question differs from character" in line
    assert "rebuilt after the flood of 1893" in line
    assert "rebuilt after the fire of 1893" in line


def test_a_changed_claim_is_named(place: Workplace, capsys: pytest.CaptureFixture[str]) -> None:
    place.write(answer="The old bridge was built in 1790.")
    _, line = place.why(capsys)
    assert "the claim differs from character" in line
    assert "was built in 1780" in line
    assert "was built in 1790" in line


def test_a_changed_mode_is_named(place: Workplace, capsys: pytest.CaptureFixture[str]) -> None:
    place.write("{type: faithfulness, mode: holistic}")
    lines = place.why(capsys)
    assert lines[1].startswith("  missing  faithfulness_holistic@")
    assert (
        lines[2] == "  the mode differs: 1 of 1 calls of mode decomposed are stored, mode holistic is asked"
    )


def test_a_bundle_can_be_asked_too(place: Workplace, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = str(place.folder / "b.rjz")
    assert run(["cache", "export", "-o", bundle, "--for", str(place.suite)]) == 0
    place.write(answer="The old bridge was built in 1790.")
    assert "the claim differs" in place.why(capsys, "--bundle", bundle)[1]
    assert (
        run(["cache", "why", str(place.suite), "bridge", "faithfulness", "--bundle", bundle, "--cache", "x"])
        == 2
    )


def test_an_assertion_is_found_by_its_label_and_by_its_metric(
    place: Workplace, capsys: pytest.CaptureFixture[str]
) -> None:
    place.write("{type: faithfulness, label: grounded}, {type: answer-relevancy}")
    for name in ("grounded", "faithfulness", "answer-relevancy"):
        assert run(["cache", "why", str(place.suite), "bridge", name]) == 0
    capsys.readouterr()
    assert run(["cache", "why", str(place.suite), "bridge", "faithfullness"]) == 2
    assert "unknown metric 'faithfullness'" in capsys.readouterr().err
    assert run(["cache", "why", str(place.suite), "brigde", "faithfulness"]) == 2
    assert "Did you mean 'bridge'?" in capsys.readouterr().err


def test_nothing_to_judge_is_said_to_be_so(place: Workplace, capsys: pytest.CaptureFixture[str]) -> None:
    place.write(answer="")
    assert place.why(capsys)[1] == "  nothing is asked: there is nothing to judge"


def test_foreign_text_cannot_speak_to_the_terminal(
    place: Workplace, capsys: pytest.CaptureFixture[str]
) -> None:
    place.write(answer="The old \x1b[31mbridge was built in 1780.")
    assert "\x1b" not in "\n".join(place.why(capsys))


def test_looking_changes_nothing(place: Workplace, capsys: pytest.CaptureFixture[str]) -> None:
    before = database(place.folder / "cache").read_bytes()
    place.write(answer="The old bridge was built in 1790.")
    place.why(capsys)
    assert database(place.folder / "cache").read_bytes() == before
