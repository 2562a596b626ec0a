"""Sentences with offsets: Markdown blocks, then rules around NLTK's Punkt."""

from __future__ import annotations

from dataclasses import dataclass

from ragjudge.text.boundaries import sentence_ends
from ragjudge.text.markdown import BlockKind, layout
from ragjudge.text.spans import Span, trimmed

__all__ = ["Piece", "Span", "pieces", "sentences"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A sentence, or a block that is never cut, and the kind of block it stands in.

    Attributes:
        span: The characters and where they are.
        kind: See `markdown.Block`.
    """

    span: Span
    kind: BlockKind


def sentences(text: str) -> tuple[Span, ...]:
    """Cut a text into sentences.

    A list item, a table row, a heading and a code block are one piece each; running prose is cut where
    sentences end, whether or not its lines are wrapped. What is left out is white space and markup: list,
    heading, quote and fence marks, table rules. A last sentence without a full stop is kept.

    Args:
        text: Any text; plain prose and Markdown alike.

    Returns:
        The pieces in order, disjoint, never empty; ``span.text == text[span.start:span.end]``.
    """
    return tuple(piece.span for piece in pieces(text))


def pieces(text: str) -> tuple[Piece, ...]:
    """Cut a text as `sentences` does and say what kind of block each piece stands in."""
    found = layout(text)
    result: list[Piece] = []
    for block in found.blocks:
        cuts = [block.end]
        if block.kind == "prose":
            cuts = [*sentence_ends(found.view, block.start, block.end), block.end]
        start = block.start
        for cut in cuts:
            # The view has quote marks blanked, so that a piece begins behind them.
            left, right = trimmed(found.view, start, cut)
            if left < right:
                result.append(Piece(Span(text[left:right], left, right), block.kind))
            start = cut
    return tuple(result)
