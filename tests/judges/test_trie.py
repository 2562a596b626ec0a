"""The plan is carried out on a simulated memory that refuses whatever llama.cpp would refuse."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragjudge.judges.trie import Copy, Decode, Drop, Keep, Limits, Piece, Plan, Restore, plan


def carry_out(
    result: Plan, prompts: list[list[int]], limits: Limits, kept: set[tuple[int, ...]] | None = None
) -> dict[int, int]:
    """Run a plan; return how often each prompt's logits were read after exactly its own tokens.

    `kept` holds the states that can be restored; what the plan keeps is added to it.
    """
    kept = set() if kept is None else kept
    memory: dict[int, tuple[int, ...]] = {}
    read: dict[int, int] = {}
    decoded = most = 0
    for step in result.steps:
        if isinstance(step, Copy):
            assert step.target not in memory
            memory[step.target] = memory[step.source]
        elif isinstance(step, Drop):
            del memory[step.sequence]
        elif isinstance(step, Keep):
            assert memory[step.sequence] == step.tokens
            kept.add(step.tokens)
        elif isinstance(step, Restore):
            assert step.sequence not in memory
            assert step.tokens in kept
            memory[step.sequence] = step.tokens
        else:
            assert 0 < sum(len(piece.tokens) for piece in step.pieces) <= limits.batch
            assert len({piece.sequence for piece in step.pieces}) == len(step.pieces)
            for piece in step.pieces:
                assert 0 <= piece.sequence < limits.sequences
                held = memory.get(piece.sequence, ())
                assert len(held) == piece.start
                memory[piece.sequence] = held + piece.tokens
                decoded += len(piece.tokens)
                if piece.prompt is not None:
                    assert memory[piece.sequence] == tuple(prompts[piece.prompt])
                    read[piece.prompt] = read.get(piece.prompt, 0) + 1
        # What sequences share is held once: count the nodes of what is held.
        nodes = {tokens[: i + 1] for tokens in memory.values() for i in range(len(tokens))}
        most = max(most, len(nodes))
        assert len(nodes) <= limits.cells
    assert memory == {}
    assert decoded == result.decoded
    assert most <= result.cells <= limits.cells
    return read


def nodes_of(prompts: list[list[int]]) -> int:
    return len({tuple(prompt[: i + 1]) for prompt in prompts for i in range(len(prompt))})


prompt_sets = st.lists(
    st.lists(st.integers(0, 2), min_size=1, max_size=9), min_size=1, max_size=25, unique_by=tuple
)


@given(prompt_sets, st.integers(1, 12), st.integers(0, 20))
@settings(max_examples=300, deadline=None)
def test_every_prompt_is_read_once_and_no_token_is_decoded_twice(
    prompts: list[list[int]], batch: int, spare: int
) -> None:
    sequences = 2 + math.ceil(math.log2(len(prompts) + 1))
    limits = Limits(max(map(len, prompts)) + spare, batch, sequences)
    result = plan(prompts, limits)
    assert carry_out(result, prompts, limits) == dict.fromkeys(range(len(prompts)), 1)
    assert result.decoded == result.nodes == nodes_of(prompts)


@given(prompt_sets, st.integers(1, 12), st.integers(2, 4))
@settings(max_examples=300, deadline=None)
def test_with_too_few_sequences_nothing_is_lost(prompts: list[list[int]], batch: int, sequences: int) -> None:
    limits = Limits(max(map(len, prompts)), batch, sequences)
    result = plan(prompts, limits)
    assert carry_out(result, prompts, limits) == dict.fromkeys(range(len(prompts)), 1)
    assert result.decoded >= result.nodes == nodes_of(prompts)


@given(prompt_sets, st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_the_order_of_the_prompts_does_not_change_the_plan(
    prompts: list[list[int]], source: random.Random
) -> None:
    limits = Limits(40, 8, 8)
    shuffled = list(prompts)
    source.shuffle(shuffled)

    def by_tokens(ordered: list[list[int]]) -> list[object]:
        return [
            tuple((p.sequence, p.start, p.tokens, p.prompt if p.prompt is None else tuple(ordered[p.prompt]))
                  for p in step.pieces) if isinstance(step, Decode) else step
            for step in plan(ordered, limits).steps
        ]  # fmt: skip

    assert by_tokens(prompts) == by_tokens(shuffled)


@given(prompt_sets, st.data(), st.integers(1, 12), st.integers(2, 7), st.integers(0, 20))
@settings(max_examples=300, deadline=None)
def test_kept_states_are_used_exactly_at_their_marks(
    prompts: list[list[int]], data: st.DataObject, batch: int, sequences: int, spare: int
) -> None:
    limits = Limits(max(map(len, prompts)) + spare, batch, sequences)
    marks = [data.draw(st.integers(0, len(prompt) - 1)) for prompt in prompts]
    every = dict.fromkeys(range(len(prompts)), 1)
    kept: set[tuple[int, ...]] = set()
    cold = plan(prompts, limits, marks=marks)
    assert carry_out(cold, prompts, limits, kept) == every
    assert cold.restored == 0
    # With few sequences a light branch is decoded leaf by leaf, and what it would have kept is not.
    if sequences >= 2 + math.ceil(math.log2(len(prompts) + 1)):
        assert kept == {tuple(prompt[:mark]) for prompt, mark in zip(prompts, marks, strict=True) if mark}
    some = {tokens for tokens in sorted(kept) if data.draw(st.booleans())}
    warm = plan(prompts, limits, marks=marks, kept=some)
    assert carry_out(warm, prompts, limits, set(kept)) == every
    assert warm.nodes == cold.nodes
    assert warm.decoded >= warm.nodes - warm.restored
    if sequences >= 2 + math.ceil(math.log2(len(prompts) + 1)):
        assert warm.decoded == warm.nodes - warm.restored


def test_a_rerun_with_other_claims_decodes_only_the_claims() -> None:
    context, marks = [1, 2, 3, 4], [4, 4]
    limits = Limits(16, 8, 4)
    kept: set[tuple[int, ...]] = set()
    first = [[*context, 5, 6], [*context, 7]]
    carry_out(plan(first, limits, marks=marks), first, limits, kept)
    assert kept == {(1, 2, 3, 4)}
    second = [[*context, 8], [*context, 8, 9]]
    result = plan(second, limits, marks=marks, kept=kept)
    assert carry_out(result, second, limits, kept) == {0: 1, 1: 1}
    assert (result.nodes, result.decoded, result.restored) == (6, 2, 4)


def test_states_of_other_prompts_are_not_restored() -> None:
    result = plan([[1, 2, 3]], Limits(16, 8, 4), marks=[2], kept={(1,), (1, 2, 3), (2,)})
    assert not any(isinstance(step, Restore) for step in result.steps)
    assert result.decoded == 3


def test_two_claims_over_one_context_share_it() -> None:
    result = plan([[1, 2, 3, 4], [1, 2, 3, 5, 6]], Limits(16, 8, 4))
    assert result.steps == (
        Decode((Piece(0, 0, (1, 2, 3), None),)),
        Copy(0, 1),
        Copy(0, 2),
        Decode((Piece(1, 3, (4,), 0), Piece(2, 3, (5, 6), 1))),
        Drop(2),
        Drop(1),
        Drop(0),
    )
    assert (result.nodes, result.decoded, result.restored, result.cells) == (6, 6, 0, 6)


def test_a_prompt_that_begins_another_is_read_on_the_way() -> None:
    result = plan([[1, 2], [1, 2, 3]], Limits(16, 8, 4))
    assert carry_out(result, [[1, 2], [1, 2, 3]], Limits(16, 8, 4)) == {0: 1, 1: 1}
    assert result.decoded == 3


def test_a_deep_chain_of_branches_needs_few_sequences_and_no_recursion() -> None:
    prompts = [[0] * depth + [1] for depth in range(3000)]
    limits = Limits(3001, 512, 3)
    result = plan(prompts, limits)
    assert result.decoded == result.nodes == nodes_of_chain(3000)


def nodes_of_chain(depth: int) -> int:
    return (depth - 1) + depth


@pytest.mark.parametrize(
    ("prompts", "message"),
    [([[]], "no tokens"), ([[1], [1]], "twice"), ([[1] * 17], "17 tokens does not fit into 16 cells")],
)
def test_bad_prompts_are_refused(prompts: list[list[int]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plan(prompts, Limits(16, 8, 4))


def test_no_prompts_need_no_steps() -> None:
    assert plan([], Limits(16, 8, 4)) == Plan((), 0, 0, 0, 0)
