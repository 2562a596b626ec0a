from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ragjudge.cache.caching_judge import CachingJudge
from ragjudge.cache.store import Store
from ragjudge.judges.llama.hidden import Basis, identity_of_hidden, kept_state
from ragjudge.judges.llama.judge import LlamaJudge
from ragjudge.judges.llama.settings import EngineSettings
from ragjudge.records import Check, Verdict
from tests.native import tiny
from tests.native.support import TOLERANCE

BASIS = Basis(mean=(1.0, 0.0, -1.0), components=((1.0, 0.0, 0.0), (0.0, 0.5, 2.0)))


def test_a_state_is_kept_whole_to_four_digits() -> None:
    state = np.array([1.23456, -0.000123456, 4567.8], dtype=np.float32)
    assert kept_state(state, True) == (1.235, -0.0001235, 4568.0)


def test_a_state_is_kept_as_its_coordinates_from_the_mean() -> None:
    assert kept_state(np.array([3.0, 4.0, 0.0], dtype=np.float32), BASIS) == (2.0, 4.0)


def test_nothing_is_kept_unless_asked_for() -> None:
    assert kept_state(np.array([3.0], dtype=np.float32), False) is None
    assert kept_state(None, True) is None


def test_a_state_of_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match="a hidden state of 2 dimensions, and the basis has 3"):
        BASIS.project(np.zeros(2, dtype=np.float32))


def test_the_digest_of_a_basis_follows_from_each_of_its_numbers() -> None:
    assert BASIS.digest == Basis(BASIS.mean, BASIS.components).digest
    assert BASIS.digest != Basis((1.0, 0.0, -1.1), BASIS.components).digest
    assert BASIS.digest != Basis(BASIS.mean, BASIS.components[:1]).digest
    assert identity_of_hidden(BASIS) == BASIS.digest
    assert identity_of_hidden(False) is False


# -- with a tiny model -----------------------------------------------------------------------------------

SETTINGS = EngineSettings(threads=1, batch=64, sequences=6)
WIDTH = tiny.Shape().width
PLANE = Basis(
    mean=(0.0,) * WIDTH,
    components=tuple(tuple(float(row == column) for column in range(WIDTH)) for row in range(2)),
)
CHECKS = [
    Check(
        template="t",
        version=1,
        system="Say Yes or No.",
        shared="Documents:\nCats sleep.\n",
        own=f"Claim: cats sleep {number} hours. Is that so?",
        labels=("Yes", "No"),
        positive="Yes",
    )
    for number in range(9)
]


@pytest.fixture(scope="module")
def model_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.build(tmp_path_factory.mktemp("hidden") / "tiny.gguf")


def opened(path: Path, hidden: bool | Basis) -> LlamaJudge:
    return LlamaJudge("tiny", path, settings=SETTINGS, prefix_bytes=0, hidden=hidden)


def verdicts(judge: LlamaJudge) -> list[Verdict]:
    found = dict(judge.ask(CHECKS))
    said = [found[index] for index in range(len(CHECKS))]
    assert all(isinstance(verdict, Verdict) for verdict in said)
    return said  # type: ignore[return-value]


@pytest.fixture(scope="module")
def whole(model_path: Path) -> Iterator[list[Verdict]]:
    with opened(model_path, True) as judge:
        yield verdicts(judge)  # type: ignore[arg-type]


@pytest.mark.native
def test_verdicts_carry_the_state_and_the_same_probabilities(model_path: Path, whole: list[Verdict]) -> None:
    with opened(model_path, False) as judge:
        plain = verdicts(judge)  # type: ignore[arg-type]
    for with_state, without in zip(whole, plain, strict=True):
        assert without.hidden is None
        assert with_state.hidden is not None
        assert len(with_state.hidden) == WIDTH
        assert with_state.log_probabilities == pytest.approx(without.log_probabilities, abs=TOLERANCE)
    assert len({verdict.hidden for verdict in whole}) == len(CHECKS)


@pytest.mark.native
def test_a_basis_keeps_its_coordinates_alone(model_path: Path, whole: list[Verdict]) -> None:
    with opened(model_path, PLANE) as judge:
        projected = verdicts(judge)  # type: ignore[arg-type]
    for few, all_of_them in zip(projected, whole, strict=True):
        assert few.hidden is not None
        assert all_of_them.hidden is not None
        assert few.hidden == pytest.approx(all_of_them.hidden[:2], abs=TOLERANCE)


@pytest.mark.native
def test_what_is_kept_of_hidden_states_is_part_of_a_judge_s_identity(model_path: Path) -> None:
    kept: list[bool | Basis] = [False, True, PLANE]
    documents = [opened(model_path, hidden).identity().document for hidden in kept]
    assert [document["hidden"] for document in documents] == [False, True, PLANE.digest]


@pytest.mark.native
def test_hidden_states_come_back_from_the_cache_as_they_were(model_path: Path, tmp_path: Path) -> None:
    judge = opened(model_path, True)
    store = Store(tmp_path / "cache")
    with judge:
        asked = dict(CachingJudge(judge, store, judge.identity(), id="tiny").ask(CHECKS))
    replayed = dict(CachingJudge(None, store, judge.identity(), id="tiny").ask(CHECKS))
    store.close()
    assert replayed == asked
    assert isinstance(replayed[0], Verdict)
    assert replayed[0].hidden is not None
