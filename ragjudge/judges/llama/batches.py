"""What is checked and arranged before llama.cpp sees a batch. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ragjudge.judges.steps import Copy, Decode, Limits, Piece, Plan


def refuse_large_plan(plan: Plan, limits: Limits) -> None:
    """Hold a plan against the limits before llama.cpp can end the process over it.

    Raises:
        ValueError: The plan was made under larger limits.
    """
    if plan.cells > limits.cells or not limits.cells:
        raise ValueError(f"the plan holds {plan.cells} tokens, and there is room for {limits.cells}")
    for step in plan.steps:
        if isinstance(step, Decode):
            used = [number for piece in step.pieces for number in (piece.sequence, *piece.also)]
            tokens = sum(len(piece.tokens) for piece in step.pieces)
            if tokens > limits.batch:
                raise ValueError(f"a batch of {tokens} tokens, and at most {limits.batch} fit")
        else:
            used = [step.source, step.target] if isinstance(step, Copy) else [step.sequence]
        if max(used) >= limits.sequences:
            raise ValueError(f"sequence {max(used)}, and there are {limits.sequences}")


def apart(pieces: Sequence[Piece]) -> tuple[list[Piece], list[Piece]]:
    """Part the last tokens of prompts from what comes before them.

    Returns:
        The pieces without those tokens, and those tokens as pieces of one token each.
    """
    before, last = [], []
    for piece in pieces:
        if piece.prompt is None:
            before.append(piece)
            continue
        head = piece.tokens[:-1]
        if head:
            before.append(piece._replace(tokens=head, prompt=None))
        last.append(piece._replace(start=piece.start + len(head), tokens=piece.tokens[-1:]))
    return before, last
