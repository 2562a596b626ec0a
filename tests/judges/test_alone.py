"""No answer depends on what else is asked: by the plan, and to the last bit by llama.cpp itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragjudge.judges.alone import plan_alone
from ragjudge.judges.llama.judge import LlamaJudge
from ragjudge.judges.llama.settings import EngineSettings
from ragjudge.judges.steps import Copy, Decode, Drop, Keep, Limits, Piece, Plan, Restore, Tokens
from ragjudge.records import Check, Outcome, Verdict
from tests.judges.test_trie import carry_out, nodes_of, prompt_sets
from tests.native import tiny
from tests.native.support import count_decodes

Batches = tuple[Tokens, ...]


def batches_behind(plan: Plan, kept: Mapping[Tokens, Batches]) -> dict[int, Batches]:
    """Return for each prompt the batches that its answer comes from; those behind a kept state are given."""
    held: dict[int, Batches] = {}
    found: dict[int, Batches] = {}
    for step in plan.steps:
        if isinstance(step, Copy):
            held[step.target] = held[step.source]
        elif isinstance(step, Drop):
            del held[step.sequence]
        elif isinstance(step, Restore):
            held[step.sequence] = kept[step.tokens]
        elif isinstance(step, Decode):
            (piece,) = step.pieces
            held[piece.sequence] = (*held.get(piece.sequence, ()), piece.tokens)
            if piece.prompt is not None:
                found[piece.prompt] = held[piece.sequence]
    return found


@given(prompt_sets, st.data(), st.integers(1, 12))
@settings(max_examples=300, deadline=None)
def test_a_prompt_is_decoded_in_the_same_batches_whatever_stands_beside_it(
    prompts: list[list[int]], data: st.DataObject, batch: int
) -> None:
    limits = Limits(max(map(len, prompts)), batch, 2)
    marks = [data.draw(st.integers(0, len(prompt) - 1)) for prompt in prompts]
    kept: set[Tokens] = set()
    together = plan_alone(prompts, limits, marks=marks)
    assert carry_out(together, prompts, limits, kept) == dict.fromkeys(range(len(prompts)), 1)
    assert together.nodes == nodes_of(prompts)
    assert kept == {tuple(prompt[:mark]) for prompt, mark in zip(prompts, marks, strict=True) if mark}
    found = batches_behind(together, {})
    beginnings: dict[Tokens, Batches] = {}
    for index, (prompt, mark) in enumerate(zip(prompts, marks, strict=True)):
        alone = batches_behind(plan_alone([prompt], limits, marks=[mark]), {})[0]
        assert found[index] == alone
        assert sum(alone, ()) == tuple(prompt)
        beginnings[tuple(prompt[:mark])] = alone[: -(-mark // batch)]
    some = {tokens for tokens in sorted(kept) if data.draw(st.booleans())}
    warm = plan_alone(prompts, limits, marks=marks, kept=some)
    assert carry_out(warm, prompts, limits, set(kept)) == dict.fromkeys(range(len(prompts)), 1)
    assert batches_behind(warm, beginnings) == found
    assert warm.decoded == together.decoded - warm.restored


def test_the_plan_in_full() -> None:
    prompts = [[1, 2, 3, 4, 5], [1, 2, 3, 4, 6], [7]]
    result = plan_alone(prompts, Limits(8, 3, 2), marks=[4, 4, 0])
    assert result == Plan(
        (
            Decode((Piece(1, 0, (7,), 2),)),
            Drop(1),
            Decode((Piece(0, 0, (1, 2, 3), None),)),
            Decode((Piece(0, 3, (4,), None),)),
            Keep(0, (1, 2, 3, 4)),
            Copy(0, 1),
            Decode((Piece(1, 4, (5,), 0),)),
            Drop(1),
            Copy(0, 1),
            Decode((Piece(1, 4, (6,), 1),)),
            Drop(1),
            Drop(0),
        ),
        nodes=7,
        decoded=7,
        restored=0,
        cells=5,
    )


@pytest.mark.parametrize(
    ("prompts", "marks", "says"),
    [
        ([[]], [0], "no tokens"),
        ([[1], [1]], [0, 0], "twice"),
        ([[1] * 9], [0], "does not fit"),
        ([[1, 2]], [2], "outside its prompt"),
    ],
)
def test_what_no_plan_can_hold_is_refused(prompts: list[list[int]], marks: list[int], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        plan_alone(prompts, Limits(8, 3, 2), marks=marks)


# -- llama.cpp -------------------------------------------------------------------------------------------

SENTENCES = [
    f"The {animal} sleeps {hours} hours a day. " for hours, animal in enumerate(["cat", "ox", "bat"])
]
CHECKS = [
    Check(
        template="t",
        version=1,
        system="Say Yes or No.",
        shared="Documents:\n" + context,
        own=f"Claim: it sleeps {number} hours{' or so' * (number % 3)}. Is that so?",
        labels=("Yes", "No"),
        positive="Yes",
    )
    for context in ("".join(SENTENCES), "".join(SENTENCES[::-1]) * 3)
    for number in range(6)
]
SETTINGS = EngineSettings(threads=1, batch=64, sequences=8)


def asked(
    path: Path, engine: EngineSettings, groups: Sequence[Sequence[Check]], *, kept: int = 0
) -> list[Outcome]:
    """Return the answers to `CHECKS`, asked in groups one after the other, by judges that keep prefixes."""
    found: dict[int, Outcome] = {}
    for group in groups:
        with LlamaJudge("tiny", path, settings=engine, prefix_bytes=kept) as judge:
            found |= {CHECKS.index(group[index]): outcome for index, outcome in judge.ask(group)}
    assert all(isinstance(outcome, Verdict) for outcome in found.values())
    return [found[index] for index in range(len(CHECKS))]


@pytest.mark.native
@pytest.mark.parametrize("shape", [tiny.Shape(), tiny.Shape(layers=7, window=16)], ids=["full", "sliding"])
def test_exact_answers_are_the_same_whatever_is_asked_and_cached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: tiny.Shape
) -> None:
    monkeypatch.setattr("ragjudge.judges.llama.prefix_store.LEAST_SECONDS", 0.0)
    path = tiny.build(tmp_path / "tiny.gguf", shape=shape)
    exact = replace(SETTINGS, exact=True)
    ways = [[CHECKS], [CHECKS[::-1]], [CHECKS[::2], CHECKS[1::2]], [[check] for check in CHECKS]]
    expected, *others = [asked(path, exact, way) for way in ways]
    assert all(found == expected for found in others)
    usual = [asked(path, SETTINGS, way) for way in ways]
    assert any(found != usual[0] for found in usual), "nothing was to be seen on this model"
    # What the default way has kept is not mixed in; what exact runs have kept changes nothing.
    asked(path, SETTINGS, [CHECKS], kept=1 << 30)
    assert asked(path, exact, [CHECKS[::3], CHECKS[1::3], CHECKS[2::3]], kept=1 << 30) == expected
    assert asked(path, exact, [CHECKS], kept=1 << 30) == expected


@pytest.mark.native
def test_a_batch_that_is_refused_changes_no_exact_answer(tmp_path: Path) -> None:
    path = tiny.build(tmp_path / "tiny.gguf")
    with LlamaJudge("tiny", path, settings=replace(SETTINGS, exact=True), prefix_bytes=0) as judge:
        expected = dict(judge.ask(CHECKS))
        assert isinstance(judge, LlamaJudge)
        assert judge._model is not None
        library = count_decodes(judge._model.engine)
        library.refuse_batches = {4}
        assert dict(judge.ask(CHECKS)) == expected
