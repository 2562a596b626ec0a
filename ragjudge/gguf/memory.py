"""How much memory a model takes, and how much of it fits on a device. Pure, from the head of its file."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ragjudge.gguf.facts import Facts, Layer
from ragjudge.gguf.header import Header

KvType = Literal["f16", "q8_0"]

_BYTES = {"f16": 2.0, "q8_0": 34 / 32}
"""Bytes per number in the memory of tokens; q8_0 keeps 32 numbers and their scale in 34 bytes."""

_FLOAT = 4

_REPACKED_KINDS = frozenset((2, 12, 20))
"""Types of weights that llama.cpp lays out anew for most processors: Q4_0, Q4_K, IQ4_NL."""

DEVICE_MARGIN = 512 << 20
"""Bytes of a device's free memory that are left alone: its driver and other programs need some."""

_BLOCK = re.compile(r"blk\.(\d+)\.")
_OUTPUT = re.compile(r"output(_norm)?\.")


@dataclass(frozen=True)
class Memory:
    """What a model takes, in bytes.

    Attributes:
        file: The weights; mapped from the file.
        tokens: The memory of tokens (keys and values), when it holds one whole window.
        compute: Working space, an estimate: measured ones were within a tenth of it.
        repack: At most this besides, where weights are laid out anew for the processor.
    """

    file: int
    tokens: int
    compute: int
    repack: int

    @property
    def total(self) -> int:
        """All of it, the weights as they are in the file."""
        return self.file + self.tokens + self.compute


def memory_needed(
    header: Header,
    facts: Facts,
    cells: int,
    *,
    batch: int,
    sequences: int,
    kv: KvType,
    flash_attention: bool = True,
) -> Memory:
    """Estimate what a model takes on a processor.

    Args:
        header: The head of its file.
        facts: What was read out of it.
        cells: Tokens that the memory holds.
        batch: Most tokens in one batch.
        sequences: Most sequences held at one time; as many outputs are read at most.
        kv: How keys and values are kept.
        flash_attention: Whether attention is computed without a table of all its weights.
    """
    repackable = (
        tensor.size
        for tensor in header.tensors
        if tensor.kind in _REPACKED_KINDS and len(tensor.shape) > 1 and _BLOCK.match(tensor.name)
    )
    return Memory(
        file=header.file_size,
        tokens=sum(layer_memory(layer, cells, sequences=sequences, kv=kv) for layer in facts.layers),
        compute=compute_memory(
            facts, cells, batch=batch, sequences=sequences, flash_attention=flash_attention
        ),
        repack=sum(repackable),
    )


def layer_memory(layer: Layer, cells: int, *, sequences: int, kv: KvType) -> int:
    """Return the bytes in which one layer keeps tokens."""
    return math.ceil(cells * (layer.keys + layer.values) * _BYTES[kv]) + sequences * layer.state * _FLOAT


def compute_memory(facts: Facts, cells: int, *, batch: int, sequences: int, flash_attention: bool) -> int:
    """Estimate the working space of a batch and of its outputs.

    Three feed-forward rows and four token vectors per token of a batch, or all logits if those are more; a
    mask of 16 bits per token of the batch and of the memory; without flash attention also all attention
    weights.
    """
    outputs = sequences * facts.vocabulary * _FLOAT
    rows = batch * (3 * facts.feed_forward + 4 * facts.embedding) * _FLOAT
    weights = 0 if flash_attention else facts.heads * cells * batch * _FLOAT
    return max(rows + weights, outputs) + 2 * cells * batch + outputs


def offload_costs(header: Header, facts: Facts, cells: int, *, sequences: int, kv: KvType) -> list[int]:
    """Return what each layer takes on a device, in the order in which llama.cpp puts them there.

    That is the output first, then the layers from the last to the first. A model whose output is its
    embedding takes a copy of that.
    """
    blocks = [0] * len(facts.layers)
    output = embedding = 0
    for tensor in header.tensors:
        block = _BLOCK.match(tensor.name)
        if block and int(block[1]) < len(blocks):
            blocks[int(block[1])] += tensor.size
        elif _OUTPUT.match(tensor.name):
            output += tensor.size
        elif tensor.name == "token_embd.weight":
            embedding = tensor.size
    if not any(tensor.name == "output.weight" for tensor in header.tensors):
        output += embedding
    layers = [
        size + layer_memory(layer, cells, sequences=sequences, kv=kv)
        for size, layer in zip(blocks, facts.layers, strict=True)
    ]
    return [output, *reversed(layers)]


def layers_that_fit(free: Sequence[int], costs: Sequence[int], *, reserve: int) -> int:
    """Say how many layers fit on devices.

    Args:
        free: Free bytes of each device.
        costs: See `offload_costs`.
        reserve: Bytes that each device needs beside the layers.

    Returns:
        How many of the costs are met, from the first on.
    """
    left = sum(max(0, device - reserve) for device in free)
    count = 0
    for cost in costs:
        left -= cost
        if left < 0:
            break
        count += 1
    return count
