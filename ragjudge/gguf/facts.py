"""What the head of a GGUF file says about its model: sizes, context, quantisation. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from ragjudge.gguf.header import ArrayShape, Header

_FILE_TYPES = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S",
    12: "Q3_K_M", 13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K",
    19: "IQ2_XXS", 20: "IQ2_XS", 21: "Q2_K_S", 22: "IQ3_XS", 23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL",
    26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S", 29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16", 36: "TQ1_0",
    37: "TQ2_0", 38: "MXFP4", 39: "NVFP4", 40: "Q1_0", 41: "Q2_0",
}  # fmt: skip
"""The numbers under which ``general.file_type`` names a quantisation."""

_LONG_FACTORS = "rope_factors_long.weight"


@dataclass(frozen=True)
class Layer:
    """What one layer of a model keeps of the tokens it has read.

    Attributes:
        keys: Numbers kept per token as keys.
        values: Numbers kept per token as values.
        state: Numbers kept per sequence, by layers that are recurrent.
    """

    keys: int
    values: int
    state: int = 0


@dataclass(frozen=True)
class Facts:
    """A model, as far as the head of its file describes it.

    Attributes:
        architecture: Name of the architecture; empty when the file names none.
        name: The name its makers gave it, or None.
        parameters: Number of weights.
        quantisation: How most weights are stored, e.g. ``Q4_K_M``; None when the file does not say.
        bits_per_weight: Mean over all weights.
        context: Training context in tokens; 0 when the file does not say.
        window: Width of its sliding attention in tokens; 0 = none.
        embedding: Width of a token's vector.
        feed_forward: Width of the feed-forward part.
        heads: Attention heads per layer.
        vocabulary: Number of tokens.
        layers: What each layer keeps.
        template: Its chat template, or None.
        rope_switch: See the function of that name.
    """

    architecture: str
    name: str | None
    parameters: int
    quantisation: str | None
    bits_per_weight: float
    context: int
    window: int
    embedding: int
    feed_forward: int
    heads: int
    vocabulary: int
    layers: tuple[Layer, ...]
    template: str | None
    rope_switch: int | None


def facts_of(header: Header) -> Facts:
    """Read the facts out of a file's head. What is not there is 0 or None."""
    metadata = _Metadata(header)
    parameters = sum(tensor.elements for tensor in header.tensors)
    size = sum(tensor.size for tensor in header.tensors)
    tokens = header.metadata.get("tokenizer.ggml.tokens")
    file_type = header.metadata.get("general.file_type")
    return Facts(
        architecture=metadata.architecture,
        name=metadata.text("general.name"),
        parameters=parameters,
        quantisation=_FILE_TYPES.get(file_type) if isinstance(file_type, int) else None,
        bits_per_weight=round(8 * size / parameters, 2) if parameters else 0.0,
        context=metadata.number("context_length"),
        window=metadata.number("attention.sliding_window"),
        embedding=metadata.number("embedding_length"),
        feed_forward=max(metadata.per_layer("feed_forward_length", 0), default=0),
        heads=max(metadata.per_layer("attention.head_count", 0), default=0),
        vocabulary=tokens.length if isinstance(tokens, ArrayShape) else 0,
        layers=_layers(metadata),
        template=metadata.text("tokenizer.chat_template"),
        rope_switch=rope_switch(header),
    )


def rope_switch(header: Header) -> int | None:
    """Return the context length from which a model uses its second set of rope factors.

    Such a file has factors for short and for long contexts; llama.cpp takes the long ones when the memory
    is opened with more tokens per sequence than the model was trained with at first.

    Returns:
        The largest context length, in tokens, with the short factors; None for all other models.
    """
    if not any(tensor.name == _LONG_FACTORS for tensor in header.tensors):
        return None
    metadata = _Metadata(header)
    return (
        metadata.number("rope.scaling.original_context_length") or metadata.number("context_length") or None
    )


def _layers(metadata: _Metadata) -> tuple[Layer, ...]:
    heads = metadata.per_layer("attention.head_count", 0)
    groups = metadata.per_layer("attention.head_count_kv", None) or heads
    width = metadata.number("embedding_length")
    state = _state(metadata)
    interval = metadata.number("full_attention_interval")
    layers = []
    for index, (head, group) in enumerate(zip(heads, groups, strict=True)):
        size = width // head if head else 0
        key = metadata.number("attention.key_length") or size
        value = metadata.number("attention.value_length") or size
        if metadata.number("attention.key_length_mla"):
            value = 0  # the keys hold the values too
        attends = (index + 1) % interval == 0 if interval else group > 0
        layers.append(Layer(group * key, group * value) if attends else Layer(0, 0, state))
    return tuple(layers)


def _state(metadata: _Metadata) -> int:
    """Return the numbers that a recurrent layer keeps of one sequence.

    Convolution: (kernel - 1) x (inner + 2 x groups x state); recurrence: inner x state.
    """
    kernel, inner = metadata.number("ssm.conv_kernel"), metadata.number("ssm.inner_size")
    state, groups = metadata.number("ssm.state_size"), metadata.number("ssm.group_count")
    return max(0, kernel - 1) * (inner + 2 * groups * state) + inner * state


class _Metadata:
    """Looks keys up under the architecture's name."""

    def __init__(self, header: Header) -> None:
        self._values = header.metadata
        self.architecture = self.text("general.architecture") or ""

    def text(self, key: str) -> str | None:
        """Return a text, by its whole key."""
        value = self._values.get(key)
        return value if isinstance(value, str) else None

    def number(self, key: str) -> int:
        """Return a whole number of the architecture's, 0 when it has none."""
        value = self._values.get(f"{self.architecture}.{key}")
        return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0

    def per_layer(self, key: str, default: int | None) -> tuple[int, ...]:
        """Return one number for each layer; a file may give one for all."""
        layers = self.number("block_count")
        value = self._values.get(f"{self.architecture}.{key}")
        if isinstance(value, ArrayShape):
            numbers = [max(0, int(number)) for number in value.numbers[:layers]]
            return (*numbers, *[0] * (layers - len(numbers)))
        if not isinstance(value, int):
            return () if default is None else (default,) * layers
        return (max(0, int(value)),) * layers
