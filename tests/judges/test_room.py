from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragjudge.judges.llama.judge import LlamaJudge
from ragjudge.judges.llama.room import CELLS_PADDING, Room
from ragjudge.judges.llama.settings import EngineSettings
from ragjudge.records import Check, Verdict
from tests.native import tiny
from tests.native.support import TOLERANCE


@pytest.mark.parametrize(
    ("window", "switch", "longest", "batch", "cells"),
    [
        (8192, None, 1, 0, 1024),
        (8192, None, 1024, 0, 1024),
        (8192, None, 600, 425, 2048),
        (8192, None, 8018, 512, 8704),  # a step would be 9216, and no prompt can fill that
        (600, None, 600, 512, 1280),  # llama.cpp rounds 1112 up
        (4096, 4096, 88, 512, 1024),  # short factors: never more than 4096
        (4096, 4096, 4096, 512, 4096),
        (1024, 4096, 988, 512, 1536),
        (8192, 4096, 88, 512, 4352),  # long factors: never 4096 or less
        (4097, 4096, 88, 512, 4352),
        (8192, 4096, 8192, 512, 8704),
        (3840, 4000, 3488, 512, 3840),  # llama.cpp rounds up, so 3841 to 4000 would be 4096
        (3841, 4000, 88, 512, 4096),
    ],
)
def test_the_memory_has_the_size_that_the_window_s_factors_need(
    window: int, switch: int | None, longest: int, batch: int, cells: int
) -> None:
    assert Room(window, switch).cells(longest, batch) == cells


@given(
    window=st.integers(64, 200_000),
    switch=st.none() | st.integers(256, 150_000),
    prompts=st.lists(st.floats(0, 1), min_size=1, max_size=8),
    batch=st.integers(0, 2048),
)
def test_the_factors_follow_from_the_window_alone_and_every_prompt_fits(
    window: int, switch: int | None, prompts: list[float], batch: int
) -> None:
    room = Room(window, switch)
    for share in prompts:
        longest = max(1, int(share * window))
        cells = room.cells(longest, batch)
        opened = -(-cells // CELLS_PADDING) * CELLS_PADDING  # as llama.cpp does
        assert opened >= longest
        if switch is None:
            assert longest + batch <= opened < window + batch + CELLS_PADDING
        else:
            assert (opened > switch) == room.long_factors


# -- a model with two sets of factors ----------------------------------------------------------------

SWITCH = 512
LONG = "The cat sat on the mat. " * 90


@pytest.fixture(scope="session")
def long_rope_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    shape = tiny.Shape(rope_switch=SWITCH)
    return tiny.build(tmp_path_factory.mktemp("rope") / "rope.gguf", shape=shape)


def check(shared: str) -> Check:
    return Check(
        template="t", version=1, system="S.", shared=shared, own="Is it so?", labels=("Yes", "No"),
        positive="Yes",
    )  # fmt: skip


def verdicts(path: Path, window: int, checks: list[Check]) -> list[dict[str, float]]:
    settings = EngineSettings(threads=1, batch=64, sequences=4)
    with LlamaJudge("rope", path, settings=settings, window=window, prefix_bytes=0) as judge:
        found = dict(judge.ask(checks))
    assert all(isinstance(verdict, Verdict) for verdict in found.values())
    return [found[index].log_probabilities for index in range(len(checks))]  # type: ignore[union-attr]


@pytest.mark.native
def test_a_prompt_has_the_same_answer_alone_and_beside_a_long_one(long_rope_model: Path) -> None:
    short = check("Documents:\nThe cat sat.\n" * 12)
    long = check(f"Documents:\n{LONG[:1500]}\n")
    (alone,) = verdicts(long_rope_model, 2048, [short])
    beside, _ = verdicts(long_rope_model, 2048, [short, long])
    assert alone == pytest.approx(beside, abs=TOLERANCE)


@pytest.mark.native
def test_windows_on_both_sides_of_the_switch_are_different_judges(long_rope_model: Path) -> None:
    short = check("Documents:\nThe cat sat.\n" * 12)
    (few,) = verdicts(long_rope_model, SWITCH, [short])
    (fewer,) = verdicts(long_rope_model, 480, [short])
    (many,) = verdicts(long_rope_model, 2048, [short])
    assert few == pytest.approx(fewer, abs=TOLERANCE)
    assert max(abs(few[label] - many[label]) for label in few) > 3 * TOLERANCE
    fingerprints = {
        LlamaJudge("rope", long_rope_model, window=window).identity().fingerprint for window in (512, 2048)
    }
    assert len(fingerprints) == 2
