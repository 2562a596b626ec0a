"""Suites with several judges."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragjudge.errors import ConfigError
from ragjudge.suites.load import load_suite
from ragjudge.suites.spec import JudgeSpec, PanelSpec, Suite

TEST = "tests: [{vars: {answer: A., context: C.}, assert: [{type: faithfulness}]}]\n"
A, B = JudgeSpec(id="a"), JudgeSpec(id="b", window=4096)


def load(folder: Path, text: str, *, override_judge: bool = False) -> Suite:
    path = folder / "suite.yaml"
    path.write_text(text, encoding="utf-8")
    return load_suite(path, override_judge=override_judge)


@pytest.mark.parametrize(
    ("written", "judge"),
    [
        ("[a, {id: b, window: 4096}]", PanelSpec(members=(A, B))),
        ("{panel: [a, {id: b, window: 4096}]}", PanelSpec(members=(A, B), by="majority")),
        ("{panel: [{id: b, window: 4096}, a], by: mean}", PanelSpec(members=(B, A), by="mean")),
        ("[big, a]", PanelSpec(members=(JudgeSpec(id="c", kv="q8_0"), A))),
        ("a", A),
    ],
)
def test_a_judge_can_be_several(written: str, judge: JudgeSpec | PanelSpec, tmp_path: Path) -> None:
    mapped = "judges: {big: {id: c, kv: q8_0}}\n"
    assert load(tmp_path, f"judge: {written}\n{mapped}{TEST}").judge == judge
    own = load(tmp_path, f"{mapped}{TEST}".replace("faithfulness", f"faithfulness, provider: {written}"))
    assert own.cases[0].assertions[0].judge == judge
    general = load(tmp_path, f"{mapped}defaults: {{provider: {written}}}\n{TEST}")
    assert general.cases[0].assertions[0].judge == judge


def test_relative_paths_in_a_panel_are_relative_to_the_suite(tmp_path: Path) -> None:
    suite = load(tmp_path, f"judge: [a, models/b.gguf]\n{TEST}")
    assert isinstance(suite.judge, PanelSpec)
    assert [member.path for member in suite.judge.members] == [None, tmp_path / "models/b.gguf"]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("[]", "judge: found an empty list; accepted: one judge without a list, or a list of 2 to 9 judges."),
        ("[a]", "judge: found 1 judge; accepted: one judge without a list, or a list of 2 to 9 judges."),
        ("{panel: [a]}", "judge.panel: found 1 judge; accepted: one judge without a list"),
        ("[a, b, c, d, e, f, g, h, i, j]", "judge: found 10 judges; accepted: one judge without a list"),
        ("[a, b, a]", "judge[2]: the judge 'a' is that of judge[0]; a panel has each judge once."),
        ("[a, x]", "judge[1]: the judge 'x' is that of judge[0]; a panel has each judge once."),
        ("{panel: [b, a, a]}", "judge.panel[2]: the judge 'a' is that of judge.panel[1]; a panel has"),
        ("[a, 'openai:gpt-4o']", "judge[1]: the judge 'openai:gpt-4o' is a model behind a service"),
        ("[a, [b, c]]", "judge[1]: found a list; accepted: a text, or a mapping with the key 'id'."),
        ("[a, {panel: [b, c]}]", "judge[1]: unknown key 'panel'."),
        ("[a, {window: 3}]", "judge[1]: the key 'id' is missing."),
        ("[a, {id: b, windo: 3}]", "judge[1]: unknown key 'windo'. Did you mean 'window'?"),
        ("{panel: a}", "judge.panel: found the text 'a'; accepted: a list."),
        ("{panel: [a, b], by: vote}", "judge.by: found the text 'vote'; accepted: majority, mean."),
        ("{panel: [a, b], window: 3}", "judge: unknown key 'window'. Accepted: by, panel."),
        ("{by: mean}", "judge: unknown key 'by'."),
        ("3", "judge: found the number 3; accepted: a text, or a mapping with the key 'id'."),
    ],
)
def test_what_is_no_panel_is_refused_with_its_place(written: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, f"judge: {written}\njudges: {{x: a}}\n{TEST}")
    assert f"suite.yaml: {message}" in caught.value.message


def test_the_place_of_an_assertion_s_own_panel_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"tests\[0\].assert\[0\].provider\[1\]: the judge 'a' is that of"):
        load(tmp_path, TEST.replace("faithfulness", "faithfulness, provider: [a, a]"))
    with pytest.raises(ConfigError, match=r"judges.x: found a list; accepted: a text, or a mapping"):
        load(tmp_path, f"judges: {{x: [a, b]}}\n{TEST}")


def test_names_behind_a_service_do_not_matter_when_all_judges_are_replaced(tmp_path: Path) -> None:
    suite = load(tmp_path, f"judge: ['openai:gpt-4o', a]\n{TEST}", override_judge=True)
    assert suite.judge == PanelSpec(members=(JudgeSpec(id="openai:gpt-4o"), A))
