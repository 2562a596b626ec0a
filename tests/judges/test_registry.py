from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ragjudge.assembly import assemble
from ragjudge.cli.options import JudgeOptions
from ragjudge.errors import ConfigError, UnknownNameError
from ragjudge.judges.llama.judge import LlamaJudge
from ragjudge.judges.llama.settings import EngineSettings
from ragjudge.judges.registry import open_judge
from ragjudge.suites.load import load_suite
from ragjudge.suites.spec import JudgeSpec

ENGINE: dict[str, Any] = {
    "threads": 3,
    "gpu_layers": 2,
    "batch": 64,
    "flash_attention": "on",
    "kv": "q8_0",
    "split": "none",
    "repack": True,
    "exact": True,
    "hidden": True,
}


def settings_of(judge: Any) -> EngineSettings:
    assert isinstance(judge, LlamaJudge)
    return judge._settings


def test_every_engine_setting_reaches_the_engine() -> None:
    assert settings_of(open_judge("a.gguf", **ENGINE)) == EngineSettings(**ENGINE)
    assert settings_of(open_judge("a.gguf")) == EngineSettings()


@pytest.mark.parametrize(
    "settings",
    [
        {"kv": "f16"},
        {"repack": True},
        {"exact": True},
        {"profile": "lynx"},
        {"chat": "plain"},
        {"window": 100},
        {"hidden": True},
    ],
)
@pytest.mark.parametrize("name", ["fake", "http"])
def test_a_judge_without_a_model_has_no_settings_of_models(name: str, settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=f"judge '{name}' has no setting '{next(iter(settings))}'"):
        open_judge(name, **settings)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"kv": "q4_0"}, "kv is 'q4_0'; accepted: f16, q8_0"),
        ({"kv": "q8_0", "flash_attention": "off"}, "needs flash attention"),
        ({"profile": "granite-guardian", "chat": "auto"}, "has a chat format of its own"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        open_judge("a.gguf", **settings)


def test_a_profile_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="lynks"):
        open_judge("a.gguf", profile="lynks")
    assert open_judge("a.gguf", profile="none").profile is None
    assert open_judge("a.gguf", profile="lynx", chat="plain").profile is not None


def test_a_suite_names_every_setting(tmp_path: Path) -> None:
    suite = tmp_path / "suite.yaml"
    suite.write_text(
        "judge: {id: m/a.gguf, threads: 3, gpu_layers: 2, batch: 64, flash_attention: on, kv: q8_0,\n"
        "  split: none, repack: true, exact: true, profile: lynx, window: 512, hidden: true}\n"
        "assert: [{type: faithfulness}]\n"
        "tests: [{vars: {answer: A., context: C.}}]\n",
        encoding="utf-8",
    )
    (judge,) = assemble(load_suite(suite)).judges.values()
    assert settings_of(judge) == EngineSettings(**ENGINE)
    assert judge.profile is not None
    assert judge.profile.name == "lynx"


@pytest.mark.parametrize(
    ("word", "means"), [("off", "off"), ("on", "on"), ("auto", "auto"), ("'off'", "off")]
)
def test_flash_attention_may_be_written_as_yaml_reads_it(tmp_path: Path, word: str, means: str) -> None:
    suite = tmp_path / "suite.yaml"
    suite.write_text(
        f"judge: {{id: a.gguf, flash_attention: {word}}}\nassert: [{{type: faithfulness}}]\n"
        "tests: [{vars: {answer: A.}}]\n",
        encoding="utf-8",
    )
    judge = load_suite(suite).judge
    assert isinstance(judge, JudgeSpec)
    assert judge.flash_attention == means


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("flash_attention: 5", "found the number 5; accepted: auto, on, off."),
        ("kv: q4", "found the text 'q4'; accepted: f16, q8_0."),
        ("split: rows", "found the text 'rows'; accepted: layer, row, none."),
        ("repack: 1", "found the number 1; accepted: true, false."),
    ],
)
def test_a_suite_s_wrong_setting_is_one_sentence(tmp_path: Path, setting: str, says: str) -> None:
    suite = tmp_path / "suite.yaml"
    suite.write_text(
        f"judge: {{id: a.gguf, {setting}}}\nassert: [{{type: faithfulness}}]\n"
        "tests: [{vars: {answer: A.}}]\n",
        encoding="utf-8",
    )
    with pytest.raises(ConfigError) as error:
        load_suite(suite)
    assert error.value.message.endswith(f"judge.{setting.partition(':')[0]}: {says}")


def test_the_command_line_names_every_setting_but_the_batch() -> None:
    places: dict[str, Any] = {
        "cache": None,
        "no_cache": True,
        "replay": False,
        "bundle": None,
        "calibration": None,
    }
    values = {name: value for name, value in ENGINE.items() if name != "batch"}
    options = JudgeOptions(judge=("a.gguf",), window=512, profile="lynx", **values, **places)
    judge = options.open_judge()
    assert settings_of(judge) == EngineSettings(**values)
    assert judge.profile is not None
    assert options.has_settings
    nothing: dict[str, Any] = dict.fromkeys(values)
    assert not JudgeOptions(judge=(), window=None, profile=None, **nothing, **places).has_settings
