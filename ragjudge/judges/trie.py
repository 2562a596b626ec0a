"""From prompts as token lists to a decoding plan that decodes no shared prefix twice. Pure.

The prompts form a token trie. The plan walks it depth first. A branch node's state is kept by a
sequence; a branch is a copy of that sequence (which in a unified memory marks cells and copies
nothing), and a finished leaf's sequence is dropped whole. States are never rolled back: models with
sliding-window or recurrent memory cannot do it, so they take the very same plans.

The heaviest branch of a node comes last and takes the node's own sequence over, since nobody needs
the node's state any more. So the walk never holds more than ``1 + log2(prompts)`` branch nodes, and
a handful of sequences is enough for any trie. With fewer than that, light branches are decoded leaf by
leaf; `Plan.decoded` then exceeds `Plan.nodes`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Limits(NamedTuple):
    """What the memory and the decoder can hold.

    Attributes:
        cells: Tokens held at one time, all sequences together (a shared token counts once).
        batch: Tokens in one batch.
        sequences: Sequences held at one time.
    """

    cells: int
    batch: int
    sequences: int


class Piece(NamedTuple):
    """Consecutive tokens of one sequence inside a batch.

    Attributes:
        sequence: The sequence they extend.
        start: Position of the first token; the sequence holds exactly that many tokens before.
        tokens: The tokens.
        prompt: Index of the prompt that ends with the last token and wants its logits, or None.
    """

    sequence: int
    start: int
    tokens: tuple[int, ...]
    prompt: int | None


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


Step = Decode | Copy | Drop


class Plan(NamedTuple):
    """A decoding plan.

    Attributes:
        steps: To be carried out in order, from an empty memory; they leave it empty.
        nodes: Nodes of the trie: the fewest tokens that any plan can decode.
        decoded: Tokens that this plan decodes.
        cells: Most tokens held at one time.
    """

    steps: tuple[Step, ...]
    nodes: int
    decoded: int
    cells: int


@dataclass(slots=True)
class _Node:
    """An edge of the compressed trie together with the node it leads to."""

    tokens: tuple[int, ...]
    prompt: int | None = None
    children: list[_Node] = field(default_factory=list)
    leaves: int = 1


def plan(prompts: Sequence[Sequence[int]], limits: Limits) -> Plan:
    """Plan the decoding of distinct prompts.

    The steps do not depend on the order of the prompts, only the indexes in them do.

    Args:
        prompts: Distinct, non-empty token lists.
        limits: See `Limits`; at least two sequences.

    Returns:
        A plan in which every node of the token trie is decoded once, given
        ``2 + log2(prompts)`` sequences.

    Raises:
        ValueError: A prompt is empty, stands there twice, or is longer than the memory.
    """
    if limits.sequences < 2 or limits.batch < 1:
        raise ValueError(f"a plan needs two sequences and a batch of one token, not {limits}")
    ordered = sorted((tuple(tokens), index) for index, tokens in enumerate(prompts))
    for position, (tokens, _) in enumerate(ordered):
        if not tokens:
            raise ValueError("a prompt has no tokens")
        if len(tokens) > limits.cells:
            raise ValueError(f"a prompt of {len(tokens)} tokens does not fit into {limits.cells} cells")
        if position and ordered[position - 1][0] == tokens:
            raise ValueError("a prompt stands there twice")
    if not ordered:
        return Plan((), 0, 0, 0)
    planner = _Planner(limits)
    steps = tuple(planner.walk(_build(ordered)))
    return Plan(steps, _count_nodes([tokens for tokens, _ in ordered]), planner.decoded, planner.most_cells)


def _count_nodes(ordered: Sequence[tuple[int, ...]]) -> int:
    """Count the nodes of the trie of sorted prompts: each adds what its predecessor does not share."""
    total = 0
    previous: tuple[int, ...] = ()
    for tokens in ordered:
        common = 0
        while common < min(len(previous), len(tokens)) and previous[common] == tokens[common]:
            common += 1
        total += len(tokens) - common
        previous = tokens
    return total


def _build(ordered: Sequence[tuple[tuple[int, ...], int]]) -> _Node:
    """Build the compressed trie of sorted prompts; its root has no tokens."""
    root = _Node(())
    # Each entry: a node whose subtree is still open, its depth, and its slice of the sorted prompts.
    open_nodes = [(root, 0, 0, len(ordered))]
    while open_nodes:
        node, depth, low, high = open_nodes.pop()
        node.leaves = high - low
        if len(ordered[low][0]) == depth:
            node.prompt = ordered[low][1]
            low += 1
        while low < high:
            first = ordered[low][0]
            end = low + 1
            while end < high and ordered[end][0][depth] == first[depth]:
                end += 1
            # Sorted: what the first and the last have in common, all between them have in common.
            last = ordered[end - 1][0]
            common = depth + 1
            while common < min(len(first), len(last)) and first[common] == last[common]:
                common += 1
            child = _Node(first[depth:common])
            node.children.append(child)
            open_nodes.append((child, common, low, end))
            low = end
    return root


def _flatten(node: _Node) -> list[_Node]:
    """Return a subtree as leaves that each carry the whole way from its top."""
    leaves = []
    waiting = [(node, node.tokens)]
    while waiting:
        top, tokens = waiting.pop()
        if top.prompt is not None:
            leaves.append(_Node(tokens, top.prompt))
        waiting.extend((child, tokens + child.tokens) for child in reversed(top.children))
    return leaves


class _Planner:
    """Walks the trie; holds what the memory would hold."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.decoded = 0
        self.most_cells = 0
        self._cells = 0
        self._free = list(range(limits.sequences - 1, -1, -1))

    def walk(self, root: _Node) -> Iterator[Step]:
        sequence = self._free.pop()
        yield from self._branch(root, sequence, 0)

    def _branch(self, node: _Node, sequence: int, depth: int) -> Iterator[Step]:
        """Decode a subtree into a sequence that holds `depth` tokens, and drop the sequence."""
        held = 0
        while True:
            yield from self._extend(sequence, depth, node)
            held += len(node.tokens)
            depth += len(node.tokens)
            leaves = [child for child in node.children if not child.children]
            branches = sorted(
                (child for child in node.children if child.children),
                key=lambda child: (child.leaves, child.tokens),
            )
            if len(self._free) < 2:
                # No room for a branch beside its leaves: the light branches are decoded leaf by leaf.
                leaves += [leaf for child in branches[:-1] for leaf in _flatten(child)]
                branches = branches[-1:]
            yield from self._leaves(leaves, sequence, depth)
            if not branches:
                break
            for child in branches[:-1]:
                target = self._take()
                if depth:
                    yield Copy(sequence, target)
                yield from self._branch(child, target, depth)
            node = branches[-1]
        if held or depth:
            yield self._release(sequence, held)
        else:
            self._free.append(sequence)  # prompts without a common start: the root never held anything

    def _extend(self, sequence: int, depth: int, node: _Node) -> Iterator[Decode]:
        """Decode an edge into a sequence, in as many batches as it takes."""
        step = self.limits.batch
        for offset in range(0, len(node.tokens), step):
            part = node.tokens[offset : offset + step]
            last = offset + step >= len(node.tokens)
            yield self._decode((Piece(sequence, depth + offset, part, node.prompt if last else None),))

    def _leaves(self, leaves: list[_Node], sequence: int, depth: int) -> Iterator[Step]:
        """Decode leaves of one node in groups, each group one batch."""
        waiting = list(reversed(leaves))
        while waiting:
            group = [waiting.pop()]
            tokens = len(group[0].tokens)
            while (
                waiting
                and len(group) < len(self._free)
                and tokens + len(waiting[-1].tokens) <= self.limits.batch
                and self._cells + tokens + len(waiting[-1].tokens) <= self.limits.cells
            ):
                group.append(waiting.pop())
                tokens += len(group[-1].tokens)
            targets = [self._take() for _ in group]
            if depth:
                yield from (Copy(sequence, target) for target in targets)
            if len(group) == 1:
                yield from self._extend(targets[0], depth, group[0])
            else:
                yield self._decode(
                    tuple(
                        Piece(target, depth, leaf.tokens, leaf.prompt)
                        for leaf, target in zip(group, targets, strict=True)
                    )
                )
            for leaf, target in zip(reversed(group), reversed(targets), strict=True):
                yield self._release(target, len(leaf.tokens))

    def _decode(self, pieces: tuple[Piece, ...]) -> Decode:
        tokens = sum(len(piece.tokens) for piece in pieces)
        self.decoded += tokens
        self._cells += tokens
        self.most_cells = max(self.most_cells, self._cells)
        return Decode(pieces)

    def _take(self) -> int:
        return self._free.pop()

    def _release(self, sequence: int, tokens: int) -> Drop:
        self._cells -= tokens
        self._free.append(sequence)
        return Drop(sequence)
