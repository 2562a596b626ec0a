from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from ragjudge.errors import ModelFileError, ModelMissingError
from ragjudge.gguf import digest
from ragjudge.gguf.digest import data_home, sha256_of


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RAGJUDGE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"content")
    age(path)
    return path


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were really hashed."""
    done: list[Path] = []
    real = digest.compute_sha256

    def counted(path: Path) -> str:
        done.append(path)
        return real(path)

    monkeypatch.setattr(digest, "compute_sha256", counted)
    return done


def age(path: Path, seconds: float = 60) -> None:
    when = time.time() - seconds
    os.utime(path, (when, when))


def test_a_file_is_hashed_once(home: Path, file: Path, reads: list[Path]) -> None:
    assert sha256_of(file) == sha256_of(file) == sha(b"content")
    assert reads == [file]
    assert json.loads((home / "digests.json").read_text(encoding="utf-8"))[str(file)]["sha256"] == sha(
        b"content"
    )


@pytest.mark.usefixtures("home")
def test_a_changed_file_is_hashed_again(file: Path, reads: list[Path]) -> None:
    sha256_of(file)
    file.write_bytes(b"CONTENT")
    age(file, 50)
    assert sha256_of(file) == sha(b"CONTENT")
    assert len(reads) == 2


@pytest.mark.usefixtures("home")
def test_another_file_of_the_same_size_and_time_is_hashed_again(file: Path, reads: list[Path]) -> None:
    sha256_of(file)
    other = file.with_name("other")
    other.write_bytes(b"CONTENT")
    stat = file.stat()
    os.utime(other, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    other.replace(file)
    assert sha256_of(file) == sha(b"CONTENT")
    assert len(reads) == 2


def test_a_file_written_a_moment_ago_is_not_remembered(home: Path, file: Path, reads: list[Path]) -> None:
    file.write_bytes(b"fresh")
    assert sha256_of(file) == sha256_of(file) == sha(b"fresh")
    assert len(reads) == 2
    assert not (home / "digests.json").exists()


def test_a_file_that_changes_while_it_is_read_is_not_remembered(
    home: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = digest.compute_sha256

    def meddled(path: Path) -> str:
        result = real(path)
        age(path, 30)
        return result

    monkeypatch.setattr(digest, "compute_sha256", meddled)
    assert sha256_of(file) == sha(b"content")
    assert not (home / "digests.json").exists()


@pytest.mark.parametrize(
    "damage",
    ["", "{", "[]", "null", "\x00\x01", '{"a": {"state": [1,', "[" * 100_000],
)
def test_a_damaged_memory_is_replaced(home: Path, file: Path, reads: list[Path], damage: str) -> None:
    home.mkdir()
    (home / "digests.json").write_text(damage, encoding="utf-8")
    assert sha256_of(file) == sha256_of(file) == sha(b"content")
    assert reads == [file]


@pytest.mark.parametrize(
    "value", [None, 7, "x", {}, {"state": "here"}, {"sha256": "f" * 63}, {"sha256": "F" * 64}]
)
def test_a_memory_that_holds_no_digest_is_not_believed(home: Path, file: Path, value: Any) -> None:
    sha256_of(file)
    memory = home / "digests.json"
    entries = json.loads(memory.read_text(encoding="utf-8"))
    entries[str(file)] = entries[str(file)] | value if isinstance(value, dict) and value else value
    memory.write_text(json.dumps(entries), encoding="utf-8")
    assert sha256_of(file) == sha(b"content")


@pytest.mark.usefixtures("home")
def test_a_home_that_cannot_be_written_costs_only_time(
    tmp_path: Path, file: Path, reads: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "blocked").write_text("a file, not a folder", encoding="utf-8")
    monkeypatch.setenv("RAGJUDGE_HOME", str(tmp_path / "blocked" / "home"))
    assert sha256_of(file) == sha256_of(file) == sha(b"content")
    assert len(reads) == 2


def test_a_failed_write_leaves_the_old_memory_and_no_litter(
    home: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sha256_of(file)
    before = (home / "digests.json").read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    file.write_bytes(b"more")
    age(file)
    assert sha256_of(file) == sha(b"more")
    assert (home / "digests.json").read_bytes() == before
    assert [path.name for path in home.iterdir()] == ["digests.json"]


def test_only_the_newest_digests_are_kept(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digest, "_KEPT", 2)
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text(name, encoding="utf-8")
        age(tmp_path / name)
        sha256_of(tmp_path / name)
    memory = json.loads((home / "digests.json").read_text(encoding="utf-8"))
    assert [Path(path).name for path in memory] == ["b", "c"]


@pytest.mark.usefixtures("home")
def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelMissingError, match=r"none\.gguf: there is no such file"):
        sha256_of(tmp_path / "none.gguf")


@pytest.mark.usefixtures("home")
def test_a_folder_cannot_be_hashed(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="cannot be read"):
        sha256_of(tmp_path)


def test_without_a_chosen_home_the_users_data_folder_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAGJUDGE_HOME", raising=False)
    assert data_home().is_absolute()
    assert data_home().name == "ragjudge"
