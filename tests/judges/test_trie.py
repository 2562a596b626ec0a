"""The plan is carried out on a simulated memory that refuses whatever llama.cpp would refuse."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragjudge.judges.steps import Copy, Decode, Drop, Keep, Limits, Piece, Plan, Restore
from ragjudge.judges.trie import plan


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
            if not limits.coupled:
                assert len({piece.sequence for piece in step.pieces}) == len(step.pieces)
                assert not any(piece.also for piece in step.pieces)
            for piece in step.pieces:
                extended = (piece.sequence, *piece.also)
                assert len(set(extended)) == len(extended)
                # llama.cpp refuses to couple sequences that do not hold the same.
                (held,) = {memory.get(sequence, ()) for sequence in extended}
                assert len(held) == piece.start
                for sequence in extended:
                    assert 0 <= sequence < limits.sequences
                    memory[sequence] = held + piece.tokens
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


@given(prompt_sets, st.integers(1, 12), st.integers(0, 20), st.integers(0, 9), st.booleans())
@settings(max_examples=500, deadline=None)
def test_every_prompt_is_read_once_and_no_token_is_decoded_twice(
    prompts: list[list[int]], batch: int, spare: int, more: int, coupled: bool
) -> None:
    sequences = 2 + math.ceil(math.log2(len(prompts) + 1)) + more
    limits = Limits(max(map(len, prompts)) + spare, batch, sequences, coupled)
    result = plan(prompts, limits)
    assert carry_out(result, prompts, limits) == dict.fromkeys(range(len(prompts)), 1)
    assert result.decoded == result.nodes == nodes_of(prompts)


@given(prompt_sets, st.integers(1, 12), st.integers(2, 4), st.booleans())
@settings(max_examples=300, deadline=None)
def test_with_too_few_sequences_nothing_is_lost(
    prompts: list[list[int]], batch: int, sequences: int, coupled: bool
) -> None:
    limits = Limits(max(map(len, prompts)), batch, sequences, coupled)
    result = plan(prompts, limits)
    assert carry_out(result, prompts, limits) == dict.fromkeys(range(len(prompts)), 1)
    assert result.decoded >= result.nodes == nodes_of(prompts)


@given(prompt_sets, st.randoms(use_true_random=False), st.booleans())
@settings(max_examples=100, deadline=None)
def test_the_order_of_the_prompts_does_not_change_the_plan(
    prompts: list[list[int]], source: random.Random, coupled: bool
) -> None:
    limits = Limits(40, 8, 8, coupled)
    shuffled = list(prompts)
    source.shuffle(shuffled)

    def piece_by_tokens(piece: Piece, ordered: list[list[int]]) -> object:
        prompt = None if piece.prompt is None else tuple(ordered[piece.prompt])
        return (*piece._replace(prompt=None), prompt)

    def by_tokens(ordered: list[list[int]]) -> list[object]:
        return [
            [piece_by_tokens(piece, ordered) for piece in step.pieces] if isinstance(step, Decode) else step
            for step in plan(ordered, limits).steps
        ]

    assert by_tokens(prompts) == by_tokens(shuffled)


@given(prompt_sets, st.data(), st.integers(1, 12), st.integers(2, 7), st.integers(0, 20), st.booleans())
@settings(max_examples=300, deadline=None)
def test_kept_states_are_used_exactly_at_their_marks(
    prompts: list[list[int]], data: st.DataObject, batch: int, sequences: int, spare: int, coupled: bool
) -> None:
    limits = Limits(max(map(len, prompts)) + spare, batch, sequences, coupled)
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


def test_what_is_kept_inside_a_batch_is_held_by_a_sequence_of_its_own() -> None:
    prompts, limits = [[1, 2, 3, 4], [1, 2, 5], [6, 7, 8]], Limits(16, 8, 8, coupled=True)
    result = plan(prompts, limits, marks=[2, 2, 1])
    assert result.steps == (
        Decode(
            (
                Piece(1, 0, (1, 2), None, also=(2, 3)),
                Piece(2, 2, (3, 4), 0),
                Piece(3, 2, (5,), 1),
                Piece(4, 0, (6,), None, also=(5,)),
                Piece(5, 1, (7, 8), 2),
            )
        ),
        Keep(1, (1, 2)),
        Keep(4, (6,)),
        Drop(5),
        Drop(4),
        Drop(3),
        Drop(2),
        Drop(1),
    )
    assert carry_out(result, prompts, limits) == {0: 1, 1: 1, 2: 1}


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


def test_claims_that_begin_alike_are_decoded_in_one_batch_where_sequences_can_be_coupled() -> None:
    prompts = [[1, 2, 3, 4, 5], [1, 2, 3, 4, 6, 7], [1, 2, 8]]
    result = plan(prompts, Limits(16, 7, 5, coupled=True))
    assert result.steps == (
        Decode((Piece(0, 0, (1, 2), None),)),
        Copy(0, 1),
        Copy(0, 2),
        Copy(0, 3),
        Decode(
            (
                Piece(1, 2, (3, 4), None, also=(2,)),
                Piece(1, 4, (5,), 0),
                Piece(2, 4, (6, 7), 1),
                Piece(3, 2, (8,), 2),
            )
        ),
        Drop(3),
        Drop(2),
        Drop(1),
        Drop(0),
    )
    assert (result.nodes, result.decoded, result.cells) == (8, 8, 8)


def test_a_subtree_larger_than_a_batch_or_than_the_free_sequences_is_decoded_in_parts() -> None:
    prompts = [[1, 2, *range(10 * number, 10 * number + 3)] for number in range(1, 7)]
    for limits in (Limits(64, 12, 20, coupled=True), Limits(64, 64, 4, coupled=True)):
        result = plan(prompts, limits)
        assert carry_out(result, prompts, limits) == dict.fromkeys(range(6), 1)
        assert result.decoded == result.nodes == 20


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
