"""What the head of a file decides before its model is used: layers on devices, and its rope factors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ragjudge.gguf.facts import facts_of, rope_switch
from ragjudge.gguf.header import read_header
from ragjudge.gguf.memory import DEVICE_MARGIN, compute_memory, layers_that_fit, offload_costs

if TYPE_CHECKING:
    from ragjudge.judges.llama.native import Engine
    from ragjudge.judges.llama.settings import EngineSettings


def fitted(path: Path, settings: EngineSettings, window: int) -> EngineSettings:
    """Return settings with as many layers on the devices as fit there, unless they name a number.

    llama.cpp itself loads what it is told to, and fails where that is too much.

    Args:
        path: The model's file.
        settings: How the model is to be run.
        window: Longest prompt in tokens.
    """
    from ragjudge.judges.llama.library import free_devices

    free = free_devices() if settings.gpu_layers is None else []
    if not free:
        return settings
    if settings.split == "none":
        free = free[:1]
    header = read_header(path)
    facts = facts_of(header)
    cells = window + settings.batch
    compute = compute_memory(
        facts,
        cells,
        batch=settings.batch,
        sequences=settings.sequences,
        flash_attention=settings.flash_attention != "off",
    )
    costs = offload_costs(header, facts, cells, sequences=settings.sequences, kv=settings.kv)
    return replace(settings, gpu_layers=layers_that_fit(free, costs, reserve=DEVICE_MARGIN + compute))


def rope_switch_of(engine: Engine, path: Path) -> int | None:
    """Return `gguf.facts.rope_switch` of an open model, reading its file's head only where it may be one."""
    architecture = engine.metadata("general.architecture")
    if engine.metadata(f"{architecture}.rope.scaling.original_context_length") is None:
        return None
    return rope_switch(read_header(path))
