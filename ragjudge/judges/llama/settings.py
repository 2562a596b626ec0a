"""How a model is run. Loads nothing, so that settings can be checked without llama.cpp."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from ragjudge.errors import ConfigError
from ragjudge.gguf.memory import KvType

MOST_LAYERS = 10_000
"""More layers than any model has."""

MOST_TOKENS = 100_000_000
"""More tokens than any window or batch holds, and few enough for llama.cpp's numbers."""

MOST_THREADS = 512
MOST_SEQUENCES = 256
"""What llama.cpp is built for."""

FlashAttention = Literal["auto", "on", "off"]
Split = Literal["layer", "row", "none"]


@dataclass(frozen=True)
class EngineSettings:
    """How a model is run. But for `kv` and `hidden`, nothing here changes an answer beyond noise.

    Attributes:
        threads: Worker threads, 1 to 512; None = one per physical core.
        gpu_layers: Layers to offload, -1 = all; None = as many as fit into the free memory of the devices
            that llama.cpp was built for, none without such a device.
        batch: Most tokens in one batch, at least 1.
        sequences: Most sequences held at one time, 2 to 256.
        flash_attention: Whether attention is computed without a table of all its weights; ``auto`` = where
            llama.cpp can.
        kv: How keys and values are kept: ``f16``, or ``q8_0`` in about half the memory. Part of a judge's
            identity.
        split: How several devices share a model: whole layers, rows of each matrix, or one device for all.
        repack: Whether weights are laid out anew for the processor. That takes memory, and what it does to
            speed depends on the processor and the quantisation. Measured on two cores of an AMD EPYC with
            AVX-512 (VNNI, BF16): prompts of the default model 150 tokens/s without it and 105 with it,
            qwen2.5-coder-0.5b 266 and 255, gemma-3-270m 747 and 739; generation 19.7 and 22.1, 38.6 and
            39.7, 60.0 and 62.3. Verdicts are prompts, so it is off.
        exact: Whether a prompt is decoded apart from all others but for its beginning, so that its answer is
            the same to the last bit whatever else is asked and whatever is cached; see `judges.alone`. It
            takes longer. The same holds for one machine, build and `batch` only.
        hidden: Whether the last hidden state is read beside the logits, which takes a batch of its own for
            the last tokens of prompts.

    Raises:
        ConfigError: A setting is out of its range, or two do not go together.
    """

    threads: int | None = None
    gpu_layers: int | None = None
    batch: int = 512
    sequences: int = 32
    flash_attention: FlashAttention = "auto"
    kv: KvType = "f16"
    split: Split = "layer"
    repack: bool = False
    exact: bool = False
    hidden: bool = False

    def __post_init__(self) -> None:
        """Check the ranges: llama.cpp answers many a wrong size by ending the process."""
        for name, value, least, most in (
            ("threads", self.threads, 1, MOST_THREADS),
            ("gpu_layers", self.gpu_layers, -1, MOST_LAYERS),
            ("batch", self.batch, 1, MOST_TOKENS),
            ("sequences", self.sequences, 2, MOST_SEQUENCES),
        ):
            if value is not None and not least <= value <= most:
                raise ConfigError(f"the judge's {name} is {value}; accepted: {least} to {most}.")
        for name, word, known in (
            ("flash_attention", self.flash_attention, FlashAttention),
            ("kv", self.kv, KvType),
            ("split", self.split, Split),
        ):
            if word not in get_args(known):
                accepted = ", ".join(get_args(known))
                raise ConfigError(f"the judge's {name} is {word!r}; accepted: {accepted}.")
        if self.kv != "f16" and self.flash_attention == "off":
            raise ConfigError(f"the judge's kv {self.kv!r} needs flash attention, and that is off.")


def physical_cores() -> int:
    """Return the number of physical cores this process may run on, at least 1."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
    cores = set()
    for cpu in allowed:
        siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        try:
            cores.add(siblings.read_text(encoding="ascii"))
        except OSError:
            cores.add(str(cpu))
    return max(1, len(cores))
