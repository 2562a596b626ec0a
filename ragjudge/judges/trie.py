"""From prompts as token lists to a decoding plan that decodes no shared prefix twice. Pure.

The prompts form a token trie. The plan walks it depth first. A branch node's state is kept by a
sequence; a branch is a copy of that sequence (which in a unified memory marks cells and copies
nothing), and a finished leaf's sequence is dropped whole. States are never rolled back: models with
sliding-window or recurrent memory cannot do it, so they take the very same plans.

The heaviest branch of a node comes last and takes the node's own sequence over, since nobody needs
the node's state any more. So the walk never holds more than ``1 + log2(prompts)`` branch nodes, and
a handful of sequences is enough for any trie. With fewer than that, light branches are decoded leaf by
leaf; `Plan.decoded` then exceeds what it must be.

A batch of a few tokens costs hardly less than one of a few dozen, since all weights are read for it. So
where a token may belong to several sequences at once, whole subtrees that fit into a batch are decoded in
one: a claim's first words, shared with its neighbour, then need no batch of their own.

A prompt may carry a mark: a length at which its state is worth keeping beyond this plan (the end of the
contexts). The walk stops at each mark to let the state be kept; inside a subtree that is decoded in one
batch, a sequence of its own holds what is to be kept and nothing more. A walk starts from a kept state
instead of decoding, but only whole and exactly at its mark.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ragjudge.judges.steps import Copy, Decode, Drop, Keep, Limits, Piece, Plan, Restore, Step, Tokens


def plan(
    prompts: Sequence[Sequence[int]],
    limits: Limits,
    *,
    marks: Sequence[int] | None = None,
    kept: Collection[Tokens] = (),
) -> Plan:
    """Plan the decoding of distinct prompts.

    The steps do not depend on the order of the prompts, only the indexes in them do.

    Args:
        prompts: Distinct, non-empty token lists.
        limits: See `Limits`; at least two sequences.
        marks: For each prompt the length of its prefix whose state is worth keeping, less than its own
            length; 0 = none. None = no prompt has one.
        kept: Prefixes whose state can be restored.

    Returns:
        A plan in which every node of the token trie is decoded or restored once, given
        ``2 + log2(prompts)`` sequences.

    Raises:
        ValueError: A prompt is empty, stands there twice, or is longer than the memory; or a mark is out
            of its range.
    """
    if limits.sequences < 2 or limits.batch < 1:
        raise ValueError(f"a plan needs two sequences and a batch of one token, not {limits}")
    lengths = marks or [0] * len(prompts)
    ordered = sorted(
        _Prompt(tuple(tokens), index, mark)
        for index, (tokens, mark) in enumerate(zip(prompts, lengths, strict=True))
    )
    for position, prompt in enumerate(ordered):
        if not prompt.tokens:
            raise ValueError("a prompt has no tokens")
        if len(prompt.tokens) > limits.cells:
            raise ValueError(
                f"a prompt of {len(prompt.tokens)} tokens does not fit into {limits.cells} cells"
            )
        if not 0 <= prompt.mark < len(prompt.tokens):
            raise ValueError(f"a mark at {prompt.mark} is outside its prompt of {len(prompt.tokens)} tokens")
        if position and ordered[position - 1].tokens == prompt.tokens:
            raise ValueError("a prompt stands there twice")
    nodes = _build(ordered)
    total = sum(len(node.tokens) for node in nodes)
    roots = _detach_kept(nodes, frozenset(kept))
    remaining = sum(len(node.tokens) for root in roots for node in _below(root))
    _measure(nodes)
    planner = _Planner(limits)
    steps = tuple(step for root in roots for step in planner.walk(root))
    return Plan(steps, total, planner.decoded, total - remaining, planner.most_cells)


class _Prompt(NamedTuple):
    """A prompt; sorted by its tokens."""

    tokens: Tokens
    number: int
    mark: int


@dataclass(slots=True, eq=False)
class _Node:
    """An edge of the compressed trie together with the node it leads to.

    Attributes:
        tokens: The tokens of the edge.
        path: For a marked node, all tokens from the top; else empty.
        prompt: The prompt that ends here.
        children: The edges that go on from here.
        leaves: Prompts that end here or below.
        sequences: Sequences that it takes to decode all of it in one batch: one for each leaf, and one for
            each state to be kept.
        restored: Whether the walk starts here, from a kept state.
        total: Tokens of this edge and of all edges below.
    """

    tokens: Tokens
    path: Tokens = ()
    prompt: int | None = None
    children: list[_Node] = field(default_factory=list)
    leaves: int = 1
    sequences: int = 1
    restored: bool = False
    total: int = 0

    @property
    def is_leaf(self) -> bool:
        return not self.children


def _build(ordered: Sequence[_Prompt]) -> list[_Node]:
    """Build the compressed trie of sorted prompts; return its nodes, the root (without tokens) first."""
    nodes = [_Node(())]
    # Each entry: a node whose subtree is still open, its depth, and its slice of the sorted prompts.
    open_nodes = [(nodes[0], 0, 0, len(ordered))]
    while open_nodes:
        node, depth, low, high = open_nodes.pop()
        node.leaves = high - low
        if low < high and len(ordered[low].tokens) == depth:
            node.prompt = ordered[low].number
            low += 1
        while low < high:
            end, common = _group(ordered, low, high, depth)
            first = ordered[low].tokens
            cut = min(
                (prompt.mark for prompt in ordered[low:end] if depth < prompt.mark <= common), default=0
            )
            child = _Node(first[depth : cut or common], path=first[:cut])
            node.children.append(child)
            nodes.append(child)
            open_nodes.append((child, cut or common, low, end))
            low = end
    return nodes


def _group(ordered: Sequence[_Prompt], low: int, high: int, depth: int) -> tuple[int, int]:
    """Return where the prompts end that go on alike after `depth`, and how far they all agree."""
    first = ordered[low].tokens
    end = low + 1
    while end < high and ordered[end].tokens[depth] == first[depth]:
        end += 1
    # Sorted: what the first and the last have in common, all between them have in common.
    last = ordered[end - 1].tokens
    common = depth + 1
    shorter = min(len(first), len(last))
    while common < shorter and first[common] == last[common]:
        common += 1
    return end, common


def _detach_kept(nodes: Sequence[_Node], kept: frozenset[Tokens]) -> list[_Node]:
    """Cut the trie at kept states; return the tops of what has to be walked.

    A kept state stands for everything above it, so it starts a walk of its own: no state above it has to
    be held at the same time. What only led to kept states falls away.
    """
    roots = []
    for node in reversed(nodes):  # children come after their parents
        node.children = [
            child
            for child in node.children
            if not child.restored and (child.children or child.prompt is not None)
        ]
        # A prompt that ends exactly here wants logits, and those are not part of a state.
        if node.path in kept and node.path and node.prompt is None and node.children:
            node.restored = True
            roots.append(node)
    roots.sort(key=lambda node: node.path)
    top = nodes[0]
    return [*roots, top] if top.children else roots


def _below(root: _Node) -> Iterator[_Node]:
    """Yield the nodes that a walk from `root` decodes."""
    waiting = list(root.children) if root.restored else [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(node.children)


def _measure(nodes: Sequence[_Node]) -> None:
    """Fill in what is known of a subtree from its parts."""
    for node in reversed(nodes):  # children come after their parents
        node.total = len(node.tokens) + sum(child.total for child in node.children)
        if node.children:
            node.sequences = bool(node.path) + sum(child.sequences for child in node.children)


def _flatten(node: _Node) -> list[_Node]:
    """Return a subtree as leaves that each carry the whole way from its top."""
    leaves = []
    waiting = [(node, node.tokens)]
    while waiting:
        top, tokens = waiting.pop()
        if top.prompt is not None:
            leaves.append(_Node(tokens, prompt=top.prompt, total=len(tokens)))
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
        """Walk from the top of the trie, or from a kept state."""
        sequence = self._free.pop()
        if root.restored:
            self._hold(len(root.path))
            yield Restore(sequence, root.path)
            yield from self._below(root, sequence, len(root.path), len(root.path))
        else:
            yield from self._below(root, sequence, 0, 0)

    def _below(self, node: _Node, sequence: int, depth: int, held: int) -> Iterator[Step]:
        """Decode everything below a node whose state a sequence holds, and drop the sequence.

        Args:
            node: The node.
            sequence: Its sequence.
            depth: Tokens from the top to the node.
            held: Those of them that no other sequence holds.
        """
        while True:
            leaves = [child for child in node.children if child.is_leaf or self._fits_a_batch(child)]
            branches = sorted(
                (child for child in node.children if not (child.is_leaf or self._fits_a_batch(child))),
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
                target = self._free.pop()
                if depth:
                    yield Copy(sequence, target)
                yield from self._extend(child, target, depth)
                yield from self._below(child, target, depth + len(child.tokens), len(child.tokens))
            node = branches[-1]
            yield from self._extend(node, sequence, depth)
            depth += len(node.tokens)
            held += len(node.tokens)
        if held:
            yield self._release(sequence, held)
        else:
            self._free.append(sequence)  # prompts without a common start: the top never held anything

    def _extend(self, node: _Node, sequence: int, depth: int) -> Iterator[Step]:
        """Decode an edge into a sequence, in as many batches as it takes."""
        step = self.limits.batch
        for offset in range(0, len(node.tokens), step):
            part = node.tokens[offset : offset + step]
            last = offset + step >= len(node.tokens)
            yield self._decode((Piece(sequence, depth + offset, part, node.prompt if last else None),))
        if node.path:
            yield Keep(sequence, node.path)

    def _fits_a_batch(self, node: _Node) -> bool:
        """Say whether a whole subtree can be decoded in one batch."""
        return (
            self.limits.coupled
            and node.total <= self.limits.batch
            and node.sequences <= len(self._free)
            and self._cells + node.total <= self.limits.cells
        )

    def _leaves(self, leaves: Sequence[_Node], sequence: int, depth: int) -> Iterator[Step]:
        """Decode leaves and small subtrees of one node in groups, each group one batch."""
        waiting = list(reversed(leaves))
        while waiting:
            group = [waiting.pop()]
            tokens, sequences = group[0].total, group[0].sequences
            while (
                waiting
                and sequences + waiting[-1].sequences <= len(self._free)
                and tokens + waiting[-1].total <= self.limits.batch
                and self._cells + tokens + waiting[-1].total <= self.limits.cells
            ):
                group.append(waiting.pop())
                tokens += group[-1].total
                sequences += group[-1].sequences
            yield from self._group(group, sequence, depth)

    def _group(self, group: Sequence[_Node], sequence: int, depth: int) -> Iterator[Step]:
        pieces: list[Piece] = []
        held: list[tuple[int, int]] = []  # a sequence, and the tokens that it is the first to hold
        keeps: list[Keep] = []
        for node in group:
            self._collect(node, depth, pieces, held, keeps)
        if depth:
            yield from (Copy(sequence, target) for target, _ in held)
        if len(group) == 1 and group[0].is_leaf:
            yield from self._extend(group[0], held[0][0], depth)
        else:
            yield self._decode(tuple(pieces))
            yield from keeps
        # What the first of several sequences holds is free when the last of them is: it is dropped last.
        for target, tokens in reversed(held):
            yield self._release(target, tokens)

    def _collect(
        self,
        top: _Node,
        depth: int,
        pieces: list[Piece],
        held: list[tuple[int, int]],
        keeps: list[Keep],
    ) -> None:
        """Add the pieces of a subtree, parents before children, and a new sequence for each end of a path.

        A path ends at a leaf, and at a node whose state is to be kept.
        """
        opened: list[tuple[int, int]] = []  # of inner nodes: where their piece and first sequence stand
        waiting: list[tuple[_Node, int, bool]] = [(top, depth, False)]
        while waiting:
            node, start, done = waiting.pop()
            if done:
                place, first = opened.pop()
                others = tuple(target for target, _ in held[first + 1 :])
                pieces[place] = pieces[place]._replace(sequence=held[first][0], also=others)
                held[first] = (held[first][0], held[first][1] + len(node.tokens))
            elif node.is_leaf:
                held.append((self._free.pop(), len(node.tokens)))
                pieces.append(Piece(held[-1][0], start, node.tokens, node.prompt))
            else:
                opened.append((len(pieces), len(held)))
                if node.path:
                    held.append((self._free.pop(), 0))
                pieces.append(Piece(-1, start, node.tokens, node.prompt))  # its sequences are not known yet
                waiting.append((node, start, True))
                waiting.extend((child, start + len(node.tokens), False) for child in reversed(node.children))
            if node.path and not done:
                keeps.append(Keep(held[-1][0], node.path))

    def _decode(self, pieces: tuple[Piece, ...]) -> Decode:
        tokens = sum(len(piece.tokens) for piece in pieces)
        self.decoded += tokens
        self._hold(tokens)
        return Decode(pieces)

    def _hold(self, tokens: int) -> None:
        self._cells += tokens
        self.most_cells = max(self.most_cells, self._cells)

    def _release(self, sequence: int, tokens: int) -> Drop:
        self._cells -= tokens
        self._free.append(sequence)
        return Drop(sequence)
