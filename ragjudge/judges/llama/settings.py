"""How a model is run. Loads nothing, so that settings can be checked without llama.cpp."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EngineSettings:
    """How a model is run; nothing here changes an answer beyond floating-point noise.

    Attributes:
        threads: Worker threads; None = one per physical core.
        gpu_layers: Layers to offload, -1 = all; None = all when llama.cpp was built for a GPU, else none.
        batch: Most tokens in one batch.
        sequences: Most sequences held at one time.
    """

    threads: int | None = None
    gpu_layers: int | None = None
    batch: int = 512
    sequences: int = 32
