"""One tiny model for all tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.native import tiny


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.build(tmp_path_factory.mktemp("tiny") / "tiny.gguf")


@pytest.fixture(scope="session")
def sliding_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    shape = tiny.Shape(layers=7, window=16)  # six layers see 16 tokens, the seventh sees all
    return tiny.build(tmp_path_factory.mktemp("tiny") / "sliding.gguf", shape=shape)
