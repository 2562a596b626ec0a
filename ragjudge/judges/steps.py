"""What a decoding plan is made of, and the limits it keeps. Pure."""

from __future__ import annotations

from typing import NamedTuple

Tokens = tuple[int, ...]


class Limits(NamedTuple):
    """What the memory and the decoder can hold.

    Attributes:
        cells: Tokens held at one time, all sequences together (a shared token counts once).
        batch: Tokens in one batch.
        sequences: Sequences held at one time.
        coupled: Whether a token may be decoded for several sequences at once, which then share its cell.
            Attention alone can do that; a recurrent state belongs to one sequence.
    """

    cells: int
    batch: int
    sequences: int
    coupled: bool = False


class Piece(NamedTuple):
    """Consecutive tokens of one sequence, or of several that hold the same, inside a batch.

    Attributes:
        sequence: The sequence they extend.
        start: Position of the first token; the sequence holds exactly that many tokens before.
        tokens: The tokens.
        prompt: Index of the prompt that ends with the last token and wants its logits, or None.
        also: Further sequences that the tokens extend at the same time.
    """

    sequence: int
    start: int
    tokens: Tokens
    prompt: int | None
    also: tuple[int, ...] = ()


class Decode(NamedTuple):
    """Decode one batch."""

    pieces: tuple[Piece, ...]


class Copy(NamedTuple):
    """Make `target`, which is empty, hold what `source` holds."""

    source: int
    target: int


class Drop(NamedTuple):
    """Empty a sequence."""

    sequence: int


class Keep(NamedTuple):
    """Keep the state of a sequence, which holds exactly these tokens, beyond this plan."""

    sequence: int
    tokens: Tokens


class Restore(NamedTuple):
    """Make an empty sequence hold these tokens, whose state was kept."""

    sequence: int
    tokens: Tokens


Step = Decode | Copy | Drop | Keep | Restore


class Plan(NamedTuple):
    """A decoding plan.

    Attributes:
        steps: To be carried out in order, from an empty memory; they leave it empty.
        nodes: Nodes of the trie: the fewest tokens that any plan can decode that has no kept states.
        decoded: Tokens that this plan decodes.
        restored: Nodes that need no decoding because of kept states.
        cells: Most tokens held at one time.
    """

    steps: tuple[Step, ...]
    nodes: int
    decoded: int
    restored: int
    cells: int
