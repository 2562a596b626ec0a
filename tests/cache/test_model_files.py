"""Verdicts belong to the content of a model file, whatever its name."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from ragjudge.cache.opening import open_caching_judge
from ragjudge.cache.store import Store
from ragjudge.errors import ConfigError
from ragjudge.gguf import digest as digest_module
from ragjudge.judges.fake import FakeJudge
from ragjudge.judges.llama.judge import LlamaJudge
from ragjudge.records import Call, Outcome
from tests.cache.helpers import check
from tests.gguf.tiny import gguf_bytes

CALLS = [check(f"Claim {number}.") for number in range(5)]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """The calls that reach a model; their verdicts need none."""
    reached: list[Call] = []

    def ask(self: LlamaJudge, calls: Sequence[Call]) -> Iterator[tuple[int, Outcome]]:
        reached.extend(calls)
        return FakeJudge().ask(calls)

    monkeypatch.setattr(LlamaJudge, "ask", ask)
    return reached


def grade(path: Path, store: Store, *, replay: bool = False) -> None:
    judge = open_caching_judge(LlamaJudge(str(path), path), store, replay=replay)
    assert len(list(judge.ask(CALLS))) == len(CALLS)


def test_two_files_of_one_name_and_different_content_share_nothing(tmp_path: Path, asked: list[Call]) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "judge.gguf").write_bytes(gguf_bytes(name=folder))
    with Store(tmp_path / "cache") as store:
        grade(tmp_path / "one" / "judge.gguf", store)
        grade(tmp_path / "two" / "judge.gguf", store)
        assert len(asked) == 10
        assert store.stats().calls == 10


def test_a_renamed_copy_shares_everything(tmp_path: Path, asked: list[Call]) -> None:
    (tmp_path / "judge.gguf").write_bytes(gguf_bytes(name="same"))
    (tmp_path / "copy.gguf").write_bytes(gguf_bytes(name="same"))
    with Store(tmp_path / "cache") as store:
        grade(tmp_path / "judge.gguf", store)
        grade(tmp_path / "copy.gguf", store)
        assert len(asked) == 5
        assert store.stats().calls == 5


def test_a_file_that_was_replaced_is_another_judge(tmp_path: Path, asked: list[Call]) -> None:
    path = tmp_path / "judge.gguf"
    with Store(tmp_path / "cache") as store:
        for content in (gguf_bytes(name="aaa"), gguf_bytes(name="bbb")):  # of equal size
            path.write_bytes(content)
            grade(path, store)
        assert len(asked) == 10


def test_a_file_is_hashed_once_and_again_when_it_has_changed(
    tmp_path: Path, asked: list[Call], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "judge.gguf"
    path.write_bytes(gguf_bytes(name="aaa"))
    os.utime(path, (1_000_000_000, 1_000_000_000))
    hashed: list[Path] = []
    compute = digest_module.compute_sha256

    def counted(file: Path) -> str:
        hashed.append(file)
        return compute(file)

    monkeypatch.setattr(digest_module, "compute_sha256", counted)
    with Store(tmp_path / "cache") as store:
        for _ in range(3):
            grade(path, store)
        assert hashed == [path]
        path.write_bytes(gguf_bytes(name="bbb"))
        os.utime(path, (1_000_000_001, 1_000_000_001))
        grade(path, store)
        assert hashed == [path, path]
        assert len(asked) == 10


def test_a_name_that_has_meant_two_files_is_not_guessed_when_neither_is_there(
    tmp_path: Path, asked: list[Call]
) -> None:
    path = tmp_path / "judge.gguf"
    with Store(tmp_path / "cache") as store:
        for name in ("aaa", "bbb"):
            path.write_bytes(gguf_bytes(name=name))
            grade(path, store)
            if name == "aaa":
                path.unlink()
                grade(path, store, replay=True)
        path.unlink()
        with pytest.raises(ConfigError, match="has met two under this name"):
            grade(path, store, replay=True)
