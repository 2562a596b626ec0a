from __future__ import annotations

import os
from pathlib import Path

import pytest

from ragjudge.errors import ModelFileError, ModelMissingError, UnknownNameError
from ragjudge.gguf import locate as module
from ragjudge.gguf.locate import Located, existing_path, locate, models_dir
from tests.gguf import tiny


def put(folder: Path, name: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_bytes(tiny.CONTENT)
    return path


def test_the_models_folder_is_the_chosen_one(models_folder: Path) -> None:
    assert models_dir() == models_folder


def test_the_models_folder_of_a_checkout_is_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAGJUDGE_MODELS", raising=False)
    assert models_dir() == Path(__file__).resolve().parents[2] / "models"


def test_the_models_folder_of_an_installed_package_is_in_the_data_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("RAGJUDGE_MODELS", raising=False)
    monkeypatch.setenv("RAGJUDGE_HOME", str(tmp_path))
    monkeypatch.setattr(module, "checkout_root", lambda: None)
    assert models_dir() == tmp_path / "models"


@pytest.mark.parametrize("reference", ["tiny", "tiny.gguf"])
def test_a_known_model_is_found_by_name_and_file_name(models_folder: Path, reference: str) -> None:
    assert locate(reference) == Located(None, tiny.entry())
    path = put(models_folder, "tiny.gguf")
    assert locate(reference) == Located(path, tiny.entry())


@pytest.mark.parametrize("reference", ["mine", "mine.gguf"])
def test_an_added_file_is_found_by_stem_and_file_name(models_folder: Path, reference: str) -> None:
    path = put(models_folder, "mine.gguf")
    assert locate(reference) == Located(path, None)


@pytest.mark.usefixtures("models_folder")
def test_any_path_works_wherever_a_name_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path / "elsewhere", "mine.gguf")
    assert locate(str(path)) == Located(path, None)
    assert locate(path) == Located(path, None)
    monkeypatch.chdir(path.parent)
    assert locate("mine.gguf") == Located(Path("mine.gguf"), None)
    assert locate("./mine.gguf").path is not None
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert locate("~/elsewhere/mine.gguf") == Located(path, None)


def test_the_path_of_a_known_models_own_place_is_that_model(models_folder: Path) -> None:
    path = put(models_folder, "tiny.gguf")
    assert locate(str(path)) == Located(path, tiny.entry())


def test_a_file_elsewhere_with_a_known_name_is_not_that_model(models_folder: Path, tmp_path: Path) -> None:
    put(models_folder, "tiny.gguf")
    path = put(tmp_path / "elsewhere", "tiny.gguf")
    assert locate(path) == Located(path, None)


@pytest.mark.usefixtures("models_folder")
@pytest.mark.parametrize("reference", ["none.gguf", "models/none", "./none", Path("none")])
def test_a_path_that_does_not_exist_leads_nowhere(reference: str | Path) -> None:
    assert locate(reference) == Located(None, None)
    with pytest.raises(ModelMissingError, match=f"{os.fspath(reference)!r}: there is no such file"):
        existing_path(reference)


def test_an_unknown_name_is_told_the_nearest_one(models_folder: Path) -> None:
    put(models_folder, "my-model.gguf")
    with pytest.raises(
        UnknownNameError, match=r"unknown model 'my-modle'\. Did you mean 'my-model'"
    ) as caught:
        locate("my-modle")
    assert "Accepted: my-model, other, tiny." in caught.value.message


def test_a_folder_is_no_model(models_folder: Path) -> None:
    models_folder.mkdir()
    with pytest.raises(ModelFileError, match="is a folder"):
        locate(models_folder)


@pytest.mark.usefixtures("models_folder")
def test_a_known_model_that_is_missing_names_the_command_that_gets_it() -> None:
    with pytest.raises(ModelMissingError, match="'tiny' is not on this machine") as caught:
        existing_path("tiny")
    assert caught.value.exit_code == 3
    assert caught.value.hint == "get it with `ragjudge models pull tiny`"
