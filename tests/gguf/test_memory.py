from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragjudge.gguf.facts import Facts, Layer
from ragjudge.gguf.header import Header, Tensor
from ragjudge.gguf.memory import (
    KvType,
    Memory,
    compute_memory,
    layer_memory,
    layers_that_fit,
    memory_needed,
    offload_costs,
)

MIB = 1 << 20


def facts(embedding: int, feed_forward: int, heads: int, vocabulary: int, layers: int, width: int) -> Facts:
    return Facts(
        architecture="x", name=None, parameters=1, quantisation=None, bits_per_weight=0.0, context=0,
        window=0, embedding=embedding, feed_forward=feed_forward, heads=heads, vocabulary=vocabulary,
        layers=(Layer(width, width),) * layers, template=None, rope_switch=None,
    )  # fmt: skip


QWEN_05 = facts(896, 4864, 14, 151936, 24, 128)
QWEN_15 = facts(1536, 8960, 12, 151936, 28, 256)
GEMMA = facts(640, 2048, 4, 262144, 18, 256)


@pytest.mark.parametrize(
    ("model", "cells", "kv", "mebibytes"),
    [
        (QWEN_05, 8192, "f16", 96.0),
        (QWEN_05, 8192, "q8_0", 51.0),
        (QWEN_15, 1024, "f16", 28.0),
        (QWEN_15, 8192, "f16", 224.0),
        (QWEN_15, 8192, "q8_0", 119.0),
        (GEMMA, 8192, "f16", 144.0),
    ],
)
def test_the_memory_of_tokens_is_what_llama_cpp_allocates(
    model: Facts, cells: int, kv: KvType, mebibytes: float
) -> None:
    size = sum(layer_memory(layer, cells, sequences=32, kv=kv) for layer in model.layers)
    assert size == mebibytes * MIB


@pytest.mark.parametrize(
    ("model", "cells", "flash", "mebibytes"),
    [
        # What llama.cpp reports as compute and output buffers, batch 512 and 32 outputs.
        (QWEN_05, 1024, True, 36.51 + 18.55),
        (QWEN_05, 8192, True, 43.51 + 18.55),
        (QWEN_15, 1024, True, 65.51 + 18.55),
        (QWEN_15, 8192, True, 72.51 + 18.55),
        (QWEN_15, 8192, False, 224.01 + 18.55),
        (QWEN_05, 8192, False, 249.26 + 18.55),
        (GEMMA, 8192, True, 34.16 + 32.0),
    ],
)
def test_the_working_space_is_estimated_close_to_what_llama_cpp_takes(
    model: Facts, cells: int, flash: bool, mebibytes: float
) -> None:
    size = compute_memory(model, cells, batch=512, sequences=32, flash_attention=flash)
    assert mebibytes * 0.99 <= size / MIB <= mebibytes * 1.25
    if flash and model is not GEMMA:
        assert size / MIB == pytest.approx(mebibytes, rel=0.001)


def test_recurrent_layers_keep_a_state_for_each_sequence() -> None:
    assert layer_memory(Layer(0, 0, 1000), 8192, sequences=32, kv="f16") == 32 * 4000


HEADER = Header(
    {},
    (
        Tensor("token_embd.weight", (10, 10), 12, 1000),
        Tensor("output.weight", (10, 10), 14, 900),
        Tensor("output_norm.weight", (10,), 0, 40),
        Tensor("blk.0.attn_q.weight", (10, 10), 12, 300),
        Tensor("blk.0.attn_norm.weight", (10,), 0, 40),
        Tensor("blk.0.ffn_down.weight", (10, 10), 14, 200),
        Tensor("blk.1.attn_q.weight", (10, 10), 2, 500),
        Tensor("rope_factors_long.weight", (10,), 0, 40),
    ),
    5000,
)
SMALL = facts(10, 20, 1, 100, 2, 8)


def test_what_a_model_takes_is_the_sum_of_its_parts() -> None:
    found = memory_needed(HEADER, SMALL, 100, batch=10, sequences=2, kv="f16")
    compute = 10 * (3 * 20 + 4 * 10) * 4 + 2 * 100 * 10 + 2 * 100 * 4
    assert found == Memory(file=5000, tokens=2 * 100 * 16 * 2, compute=compute, repack=800)
    assert found.total == 5000 + 6400 + compute


def test_the_output_is_offloaded_first_and_then_the_layers_from_the_last_one_on() -> None:
    tokens = 100 * 16 * 2
    assert offload_costs(HEADER, SMALL, 100, sequences=2, kv="f16") == [940, 500 + tokens, 540 + tokens]


def test_a_model_whose_output_is_its_embedding_takes_a_copy_of_it() -> None:
    tied = HEADER._replace(tensors=tuple(one for one in HEADER.tensors if one.name != "output.weight"))
    assert offload_costs(tied, SMALL, 100, sequences=2, kv="f16")[0] == 40 + 1000


@pytest.mark.parametrize(
    ("free", "costs", "reserve", "count"),
    [
        ([], [10, 10], 0, 0),
        ([100], [10, 20, 30], 0, 3),
        ([100], [10, 20, 30], 40, 3),
        ([100], [10, 20, 30], 41, 2),
        ([100], [10, 20, 30], 95, 0),
        ([50, 50], [10, 20, 30], 20, 3),
        ([50, 10], [10, 20, 30], 20, 2),
        ([100], [200, 1], 0, 0),  # never a later layer without an earlier one
    ],
)
def test_as_many_layers_fit_as_the_free_memory_holds(
    free: list[int], costs: list[int], reserve: int, count: int
) -> None:
    assert layers_that_fit(free, costs, reserve=reserve) == count


@given(
    free=st.lists(st.integers(0, 10**11), max_size=4),
    costs=st.lists(st.integers(1, 10**10), max_size=90),
    reserve=st.integers(0, 10**10),
)
def test_what_fits_is_within_the_free_memory_and_one_more_is_not(
    free: list[int], costs: list[int], reserve: int
) -> None:
    count = layers_that_fit(free, costs, reserve=reserve)
    usable = sum(max(0, device - reserve) for device in free)
    assert sum(costs[:count]) <= usable
    assert count == len(costs) or sum(costs[: count + 1]) > usable
