from __future__ import annotations

import errno
import hashlib
from pathlib import Path

import pytest

from ragjudge.errors import ModelFileError, UsageError
from ragjudge.gguf.add import Added, add
from tests.gguf import tiny

OWN = tiny.gguf_bytes(note="my own model")


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "My Model.gguf"
    path.write_bytes(OWN)
    return path


@pytest.fixture
def known(tmp_path: Path) -> Path:
    path = tmp_path / "download(1).bin"
    path.write_bytes(tiny.CONTENT)
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_keeps_its_own_name(models_folder: Path, own: Path) -> None:
    added = add(own)
    assert added == Added(models_folder / "My Model.gguf", None, hashlib.sha256(OWN).hexdigest(), False)
    assert added.path.samefile(own)
    assert names(models_folder) == ["My Model.gguf"]


def test_a_file_can_be_given_a_name(models_folder: Path, own: Path) -> None:
    assert add(own, "mine").path == models_folder / "mine.gguf"
    assert add(own, "mine2.gguf").path == models_folder / "mine2.gguf"


def test_a_known_model_is_recognised_by_its_digest(models_folder: Path, known: Path) -> None:
    added = add(known)
    assert (added.path, added.entry) == (models_folder / "tiny.gguf", tiny.entry())
    assert add(known, "tiny").was_there
    assert add(known, "copy").path == models_folder / "copy.gguf"


@pytest.mark.parametrize("code", [errno.EXDEV, errno.EPERM])
def test_where_no_link_is_possible_the_file_is_copied(
    models_folder: Path, own: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def no_link(*_: object) -> None:
        raise OSError(code, "no link")

    monkeypatch.setattr("os.link", no_link)
    path = add(own).path
    assert path.read_bytes() == OWN
    assert not path.samefile(own)
    assert names(models_folder) == ["My Model.gguf"]


def test_a_disk_that_fills_up_leaves_nothing(
    models_folder: Path, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.link", full)
    with pytest.raises(ModelFileError, match="No space left on device"):
        add(own)
    assert names(models_folder) == []


def test_a_file_that_changes_while_it_is_copied_is_not_added(
    models_folder: Path, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_link(*_: object) -> None:
        own.write_bytes(tiny.gguf_bytes(note="another"))
        raise OSError(errno.EXDEV, "no link")

    monkeypatch.setattr("os.link", no_link)
    with pytest.raises(ModelFileError, match="changed while it was copied"):
        add(own)
    assert names(models_folder) == []


def test_adding_twice_changes_nothing(own: Path, models_folder: Path) -> None:
    first = add(own)
    assert add(own) == first._replace(was_there=True)
    assert add(first.path).was_there
    assert names(models_folder) == ["My Model.gguf"]


def test_another_file_of_the_same_name_is_never_overwritten(own: Path, models_folder: Path) -> None:
    path = add(own, "mine").path
    own.unlink()
    own.write_bytes(tiny.gguf_bytes(note="another"))
    with pytest.raises(UsageError, match="is there already with other contents"):
        add(own, "mine")
    assert path.read_bytes() == OWN


@pytest.mark.usefixtures("models_folder")
@pytest.mark.parametrize("name", ["../mine", "", ".mine", "a b", "a\n"])
def test_a_name_that_is_none_is_refused(own: Path, name: str) -> None:
    with pytest.raises(UsageError, match="are accepted"):
        add(own, name)


@pytest.mark.parametrize("name", ["tiny", "tiny.gguf"])
def test_another_file_cannot_take_a_known_models_name(own: Path, models_folder: Path, name: str) -> None:
    with pytest.raises(UsageError, match="known model"):
        add(own, name)
    assert not models_folder.exists()


def test_a_damaged_copy_of_a_known_model_is_not_taken_for_it(models_folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(OWN)
    with pytest.raises(UsageError, match=r"the file name 'tiny.gguf' belongs to the known model 'tiny'"):
        add(path)
    assert not models_folder.exists()


@pytest.mark.usefixtures("models_folder")
def test_a_file_that_is_no_gguf_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "page.gguf"
    path.write_bytes(b"<html>")
    with pytest.raises(ModelFileError, match="is not a GGUF file"):
        add(path)
    with pytest.raises(UsageError, match="there is no such file"):
        add(tmp_path / "none.gguf")
