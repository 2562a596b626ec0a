from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.native import tiny

pytestmark = pytest.mark.native


def test_a_tiny_model_is_small_quick_to_build_and_the_same_each_time(tmp_path: Path) -> None:
    first = tiny.build(tmp_path / "a.gguf")
    started = time.perf_counter()
    second = tiny.build(tmp_path / "b.gguf")
    assert time.perf_counter() - started < 5  # some hundredths; a busy machine is given its time
    assert first.stat().st_size < 2_000_000
    assert first.read_bytes() == second.read_bytes()
    assert first.read_bytes() != tiny.build(tmp_path / "c.gguf", seed=1).read_bytes()
