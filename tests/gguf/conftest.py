from __future__ import annotations

from pathlib import Path

import pytest

from ragjudge.gguf import manifest as manifest_module
from tests.gguf import tiny


@pytest.fixture
def models_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty models folder, with a manifest of one tiny model and a home of the test's own."""
    folder = tmp_path / "models"
    monkeypatch.setenv("RAGJUDGE_MODELS", str(folder))
    monkeypatch.setenv("RAGJUDGE_HOME", str(tmp_path / "home"))
    use_manifest(monkeypatch, tmp_path)
    return folder


def use_manifest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    known = tiny.manifest(
        tiny.entry(),
        tiny.entry(
            tiny.gguf_bytes(note="other"), name="other", file="other.gguf", default=False, chat="plain"
        ),
    )
    for module in ("ragjudge.gguf.locate", "ragjudge.gguf.add", "ragjudge.gguf.manifest"):
        monkeypatch.setattr(f"{module}.load_manifest", lambda: known, raising=True)
    assert manifest_module.load_manifest() is known
