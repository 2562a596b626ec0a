from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ragjudge.gguf.facts import Facts, Layer, facts_of, rope_switch
from ragjudge.gguf.header import ArrayShape, Header, Tensor, read_header
from tests.native import tiny


def header(*tensors: Tensor, **metadata: Any) -> Header:
    values = {key.replace("__", "."): value for key, value in metadata.items()}
    return Header(values, tensors, 1000)


def qwen(**changes: Any) -> Header:
    metadata = {
        "general__architecture": "qwen2",
        "general__name": "A model",
        "general__file_type": 15,
        "qwen2__block_count": 2,
        "qwen2__context_length": 32768,
        "qwen2__embedding_length": 1536,
        "qwen2__feed_forward_length": 8960,
        "qwen2__attention__head_count": 12,
        "qwen2__attention__head_count_kv": 2,
        "tokenizer__ggml__tokens": ArrayShape("string", 151936),
        "tokenizer__chat_template": "{{ messages }}",
        **changes,
    }
    return header(Tensor("a", (100, 20), 12, 1250), Tensor("b", (500,), 0, 2000), **metadata)


def test_the_facts_are_read_out_of_the_metadata() -> None:
    layer = Layer(keys=256, values=256)
    assert facts_of(qwen()) == Facts(
        architecture="qwen2",
        name="A model",
        parameters=2500,
        quantisation="Q4_K_M",
        bits_per_weight=10.4,
        context=32768,
        window=0,
        embedding=1536,
        feed_forward=8960,
        heads=12,
        vocabulary=151936,
        layers=(layer, layer),
        template="{{ messages }}",
        rope_switch=None,
    )


def test_a_file_that_says_nothing_has_no_facts() -> None:
    facts = facts_of(header())
    assert (facts.architecture, facts.parameters, facts.layers, facts.template) == ("", 0, (), None)
    assert facts.quantisation is None
    assert facts.bits_per_weight == 0.0


@pytest.mark.parametrize(
    ("changes", "layers"),
    [
        ({"qwen2__attention__head_count_kv": None}, [Layer(1536, 1536)] * 2),  # every head has its own
        ({"qwen2__attention__key_length": 64, "qwen2__attention__value_length": 32}, [Layer(128, 64)] * 2),
        (
            {"qwen2__attention__key_length": 576, "qwen2__attention__key_length_mla": 192},
            [Layer(1152, 0)] * 2,
        ),
        (
            {"qwen2__attention__head_count_kv": ArrayShape("i32", 2, (2, 4))},
            [Layer(256, 256), Layer(512, 512)],
        ),
        (
            {
                "qwen2__attention__head_count_kv": ArrayShape("i32", 2, (0, 2)),
                "qwen2__ssm__conv_kernel": 4,
                "qwen2__ssm__inner_size": 100,
                "qwen2__ssm__state_size": 16,
                "qwen2__ssm__group_count": 1,
            },
            [Layer(0, 0, 3 * 132 + 1600), Layer(256, 256)],
        ),
        ({"qwen2__full_attention_interval": 2}, [Layer(0, 0, 0), Layer(256, 256)]),
    ],
    ids=["no groups", "own widths", "compressed", "per layer", "recurrent", "every second"],
)
def test_layers_keep_what_their_kind_keeps(changes: dict[str, Any], layers: list[Layer]) -> None:
    assert list(facts_of(qwen(**changes)).layers) == layers


def test_the_rope_factors_switch_where_the_file_has_two_sets() -> None:
    long = Tensor("rope_factors_long.weight", (48,), 0, 192)
    phi = {
        "general__architecture": "phi3",
        "phi3__context_length": 131072,
        "phi3__rope__scaling__original_context_length": 4096,
    }
    assert rope_switch(header(long, **phi)) == 4096
    assert rope_switch(header(**phi)) is None
    del phi["phi3__rope__scaling__original_context_length"]
    assert rope_switch(header(long, **phi)) == 131072


def test_a_written_file_has_the_facts_that_were_written(tmp_path: Path) -> None:
    shape = tiny.Shape(rope_switch=512)
    facts = facts_of(read_header(tiny.build(tmp_path / "tiny.gguf", shape=shape)))
    size = len(tiny.vocabulary()[0])
    assert facts.architecture == "llama"
    assert facts.context == tiny.CONTEXT
    assert facts.vocabulary == size
    assert facts.layers == (Layer(64, 64), Layer(64, 64))
    assert facts.rope_switch == 512
    weights = 2 * (4 * 64 * 64 + 3 * 64 * 128)
    norms = 64 + 2 * 2 * 64
    assert facts.parameters == 2 * size * 64 + weights + norms + 2 * 8
    assert facts.bits_per_weight == pytest.approx(32, abs=0.1)
