"""Tiny models with random weights, built on the spot: everything of a real GGUF but its size and sense.

The vocabulary is SentencePiece-like. Every text tokenises: unknown characters fall back to byte tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

CHATML = (
    "{% for message in messages %}"
    "<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
NO_SYSTEM = (
    "{{ bos_token }}{% for message in messages %}"
    "{% if message.role == 'system' %}{{ raise_exception('no system role here') }}{% endif %}"
    "<|im_start|>{{ message.role }}\n{{ message.content | trim }}<|im_end|>\n{% endfor %}"
    "{{ '<|im_start|>assistant\n' }}"
)

CONTEXT = 2048
BOS, EOS = 1, 2
CONTROLS = ("<|im_start|>", "<|im_end|>")
USER_DEFINED = "<|mark|>"

# From the likeliest merge to the least likely one: every word here can be reached by merging pairs.
_WORDS = ("Ye", "Yes", "▁Yes", "No", "▁No", "YE", "YES", "ye", "yes", "no", "NO", "th", "the", "▁the")
_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _BYTE = 1, 2, 3, 4, 6


@dataclass(frozen=True)
class Shape:
    """Sizes of a tiny model."""

    layers: int = 2
    width: int = 64
    heads: int = 4
    feed_forward: int = 128
    window: int = 0
    """Width of the sliding attention window in tokens; 0 = none (the llama architecture)."""
    rope_switch: int = 0
    """Context length from which other rope factors are used; 0 = one set of factors for all lengths."""

    @property
    def architecture(self) -> str:
        """The name of the architecture in the file."""
        return "gemma3" if self.window else "llama"


def vocabulary() -> tuple[list[str], list[float], list[int]]:
    """Return the texts, scores and types of all tokens."""
    tokens = ["<unk>", "<s>", "</s>"]
    types = [_UNKNOWN, _CONTROL, _CONTROL]
    tokens += [f"<0x{byte:02X}>" for byte in range(256)]
    types += [_BYTE] * 256
    tokens += [*CONTROLS, USER_DEFINED]
    types += [_CONTROL, _CONTROL, _USER_DEFINED]
    scores = [0.0] * len(tokens)
    single = ["▁", *(chr(code) for code in range(33, 127))]
    tokens += [*single, *_WORDS]
    types += [_NORMAL] * (len(single) + len(_WORDS))
    scores += [-100.0] * len(single)
    scores += [-float(rank) for rank in range(1, len(_WORDS) + 1)]
    return tokens, scores, types


def token_id(text: str) -> int:
    """Return the id of the token with exactly this text."""
    return vocabulary()[0].index(text)


def build(
    path: Path,
    *,
    seed: int = 0,
    template: str | None = CHATML,
    shape: Shape = Shape(),
    add_bos: bool = True,
    add_eos: bool = False,
    poison: bool = False,
    controls: Sequence[str] = (),
    user_defined: Sequence[str] = (),
) -> Path:
    """Write a tiny model.

    Args:
        path: Where to.
        seed: Of the random weights.
        template: The chat template, or None for a file without one.
        shape: Its sizes.
        add_bos: Whether the vocabulary says that BOS stands in front of a text.
        add_eos: Whether the vocabulary says that EOS stands after a text.
        poison: Make every logit NaN.
        controls: Further control tokens; their ids come after those of `vocabulary`.
        user_defined: Further tokens of the user's type, after those.
    """
    import gguf

    tokens, scores, types = vocabulary()
    assert not {*controls, *user_defined} & set(tokens), (
        "llama.cpp ends the process over tokens that come twice"
    )
    tokens += [*controls, *user_defined]
    scores += [0.0] * (len(controls) + len(user_defined))
    types += [_CONTROL] * len(controls) + [_USER_DEFINED] * len(user_defined)
    writer = gguf.GGUFWriter(path, shape.architecture)
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.feed_forward)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.heads)
    writer.add_key_length(shape.width // shape.heads)
    writer.add_value_length(shape.width // shape.heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(shape.width // shape.heads)
    if shape.window:
        writer.add_sliding_window(shape.window)
    if shape.rope_switch:
        writer.add_rope_scaling_type(gguf.RopeScalingType.LONGROPE)
        writer.add_rope_scaling_orig_ctx_len(shape.rope_switch)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores(scores)
    writer.add_token_types(types)
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(BOS)
    writer.add_eos_token_id(EOS)
    writer.add_add_bos_token(add_bos)
    writer.add_add_eos_token(add_eos)
    writer.add_add_space_prefix(False)
    if template is not None:
        writer.add_chat_template(template)
    _add_tensors(writer, len(tokens), np.random.default_rng(seed), shape, poison=poison)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add_tensors(writer: Any, size: int, random: np.random.Generator, shape: Shape, *, poison: bool) -> None:
    def matrix(name: str, rows: int, columns: int, scale: float) -> None:
        values = random.standard_normal((rows, columns)) * scale
        writer.add_tensor(f"{name}.weight", values.astype(np.float32))

    def ones(name: str, length: int) -> None:
        writer.add_tensor(f"{name}.weight", np.ones(length, dtype=np.float32))

    width, wide = shape.width, shape.feed_forward
    head = width // shape.heads
    if shape.rope_switch:
        for name, factor in (("short", 1.0), ("long", 4.0)):
            factors = np.full(head // 2, factor, dtype=np.float32)
            writer.add_tensor(f"rope_factors_{name}.weight", factors)
    matrix("token_embd", size, width, 1.0)
    matrix("output", size, width, float("nan") if poison else 0.3)
    ones("output_norm", width)
    for layer in range(shape.layers):
        block = f"blk.{layer}"
        ones(f"{block}.attn_norm", width)
        ones(f"{block}.ffn_norm", width)
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            matrix(f"{block}.{name}", width, width, width**-0.5)
        matrix(f"{block}.ffn_gate", wide, width, width**-0.5)
        matrix(f"{block}.ffn_up", wide, width, width**-0.5)
        matrix(f"{block}.ffn_down", width, wide, wide**-0.5)
        if shape.window:
            ones(f"{block}.attn_q_norm", head)
            ones(f"{block}.attn_k_norm", head)
            ones(f"{block}.post_attention_norm", width)
            ones(f"{block}.post_ffw_norm", width)
