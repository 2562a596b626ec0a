"""A decoding plan in which no answer depends on what else is asked. Pure.

llama.cpp sums in another order for a batch of another shape, and for tokens that stand elsewhere in the
memory; quantised weights make a visible difference of that. So here each prompt is decoded in one way,
whatever stands beside it: its beginning up to its mark alone, from an empty memory, and the rest of it alone
behind that. Prompts with the same beginning share its state, and nothing else is shared.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from ragjudge.judges.steps import Copy, Decode, Drop, Keep, Limits, Piece, Plan, Restore, Step, Tokens
from ragjudge.judges.trie import plan

_BEGINNING, _PROMPT = 0, 1
"""The two sequences."""


def plan_alone(
    prompts: Sequence[Sequence[int]],
    limits: Limits,
    *,
    marks: Sequence[int],
    kept: Collection[Tokens] = (),
) -> Plan:
    """Plan the decoding of distinct prompts, each by itself.

    Args:
        prompts: Distinct, non-empty token lists.
        limits: See `Limits`; at least two sequences.
        marks: For each prompt the length of the beginning that is decoded apart from the rest, less than its
            own length. It must follow from the prompt alone.
        kept: Beginnings whose state can be restored. A state that such a plan has kept is the same to the
            last bit; one of another plan is not.

    Returns:
        A plan that decodes every beginning once, and the rest of every prompt.

    Raises:
        ValueError: See `trie.plan`.
    """
    fewest = plan(prompts, limits, marks=marks)
    whole = [tuple(prompt) for prompt in prompts]
    groups: dict[Tokens, list[int]] = {}
    for index, (tokens, mark) in enumerate(zip(whole, marks, strict=True)):
        groups.setdefault(tokens[:mark], []).append(index)
    steps: list[Step] = []
    for beginning in sorted(groups):
        if beginning and beginning in kept:
            steps.append(Restore(_BEGINNING, beginning))
        elif beginning:
            steps += _decoded(_BEGINNING, beginning, 0, None, limits.batch)
            steps.append(Keep(_BEGINNING, beginning))
        for index in sorted(groups[beginning], key=whole.__getitem__):
            if beginning:
                steps.append(Copy(_BEGINNING, _PROMPT))
            steps += _decoded(_PROMPT, whole[index], len(beginning), index, limits.batch)
            steps.append(Drop(_PROMPT))
        if beginning:
            steps.append(Drop(_BEGINNING))
    return Plan(
        tuple(steps),
        nodes=fewest.nodes,
        decoded=sum(len(piece.tokens) for step in steps if isinstance(step, Decode) for piece in step.pieces),
        restored=sum(len(beginning) for beginning in groups if beginning in kept),
        cells=max(map(len, whole), default=0),
    )


def _decoded(sequence: int, tokens: Tokens, start: int, prompt: int | None, batch: int) -> Iterator[Decode]:
    """Decode tokens from `start` on, in as many batches as it takes."""
    for offset in range(start, len(tokens), batch):
        end = min(offset + batch, len(tokens))
        last = prompt if end == len(tokens) else None
        yield Decode((Piece(sequence, offset, tokens[offset:end], last),))
