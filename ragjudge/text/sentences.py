"""Sentences with offsets: Markdown blocks, then rules around NLTK's Punkt."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from ragjudge.text.boundaries import sentence_ends
from ragjudge.text.inline_lists import inline_marks
from ragjudge.text.languages import Rules, rules
from ragjudge.text.markdown import Block, BlockKind, layout
from ragjudge.text.normal import normalised
from ragjudge.text.spans import Span, trimmed

__all__ = ["Piece", "Span", "pieces", "sentences"]

# "- **Speed.** It is fast.": what an item is about, not a sentence of its own.
_RUN_IN_TITLE = re.compile(r"(\*\*|__)(?=\S)[^*_.!?]{1,60}[.!?:]?\1[.:]?")


class Piece(NamedTuple):
    """A sentence, or a block that is never cut, and the block it stands in.

    Attributes:
        span: The characters and where they are.
        kind: See `markdown.Block`.
        block: A number for its block; the pieces of one paragraph or item share it.
        indent: How far its block is indented, in columns.
    """

    span: Span
    kind: BlockKind
    block: int = 0
    indent: int = 0


def sentences(text: str, language: str = "english", abbreviations: tuple[str, ...] = ()) -> tuple[Span, ...]:
    """Cut a text into sentences.

    A table row, a heading and a code block are one piece each; prose and list items are cut where sentences
    end, whether or not their lines are wrapped. What is left out is white space and markup: list, heading,
    quote and fence marks, table rules, HTML tags between blocks. A last sentence without a full stop is kept.

    Args:
        text: Any text; plain prose and Markdown alike.
        language: Name or ISO 639-1 code of one of `languages.LANGUAGES`.
        abbreviations: Further abbreviations behind which no sentence ends.

    Returns:
        The pieces in order, disjoint, never empty; ``span.text == text[span.start:span.end]``.

    Raises:
        UnknownNameError: The splitter does not know the language.
    """
    return tuple(piece.span for piece in pieces(text, language, abbreviations))


def pieces(text: str, language: str = "english", abbreviations: tuple[str, ...] = ()) -> tuple[Piece, ...]:
    """Cut a text as `sentences` does and say what kind of block each piece stands in."""
    known = rules(language, abbreviations)
    source = normalised(text)
    found = layout(source.text, ordinals=known.ordinals)
    result: list[Piece] = []
    number = 0
    for block in found.blocks:
        for kind, cuts in _parts(found.view, block, known):
            for start, cut in pairwise(cuts):
                # The view has quote marks blanked, so that a piece begins behind them.
                left, right = trimmed(found.view, start, cut)
                if left < right:
                    result.append(Piece(source.span(left, right), kind, number, block.indent))
            number += 1
    return tuple(result)


def _parts(view: str, block: Block, known: Rules) -> Iterator[tuple[BlockKind, list[int]]]:
    """Yield the parts of a block, more than one where a list runs through it, and where to cut each."""
    if block.kind not in {"prose", "item"}:
        yield block.kind, [block.start, block.end]
        return
    kind: BlockKind = block.kind
    start = block.start
    for mark, behind in [*inline_marks(view, block.start, block.end, block.number), (block.end, block.end)]:
        yield kind, [start, *sentence_ends(view, _behind_title(view, kind, start, mark), mark, known), mark]
        kind, start = "item", behind


def _behind_title(view: str, kind: BlockKind, start: int, end: int) -> int:
    title = _RUN_IN_TITLE.match(view, start, end) if kind == "item" else None
    return title.end() if title else start
