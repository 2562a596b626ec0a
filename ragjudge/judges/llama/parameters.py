"""From settings to llama.cpp's parameters, and from its devices to how much they can take."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from ragjudge.judges.llama.room import CELLS_PADDING
from ragjudge.judges.llama.settings import MOST_LAYERS, EngineSettings, physical_cores

if TYPE_CHECKING:
    from ragjudge.gguf.memory import KvType

_GPU, _INTEGRATED_GPU = 1, 2
"""Types of ggml's devices."""


def model_parameters(library: Any, settings: EngineSettings, *, vocabulary_only: bool = False) -> Any:
    """Return the parameters with which a model is loaded.

    Args:
        library: llama.cpp's functions.
        settings: How the model is run.
        vocabulary_only: Load no weights.
    """
    parameters = library.llama_model_default_params()
    layers = settings.gpu_layers
    if layers is None:
        layers = -1 if library.llama_supports_gpu_offload() else 0
    parameters.n_gpu_layers = layers if layers >= 0 else MOST_LAYERS
    parameters.split_mode = {
        "none": library.LLAMA_SPLIT_MODE_NONE,
        "layer": library.LLAMA_SPLIT_MODE_LAYER,
        "row": library.LLAMA_SPLIT_MODE_ROW,
    }[settings.split]
    parameters.use_extra_bufts = settings.repack
    parameters.vocab_only = vocabulary_only
    return parameters


def context_parameters(library: Any, settings: EngineSettings, cells: int) -> Any:
    """Return the parameters of a memory.

    Args:
        library: llama.cpp's functions.
        settings: How the model is run.
        cells: Tokens that it holds.
    """
    parameters = library.llama_context_default_params()
    parameters.n_ctx = cells
    parameters.n_batch = settings.batch
    parameters.n_ubatch = settings.batch
    parameters.n_seq_max = settings.sequences
    # Without this, each sequence gets its own share of the cells, and a copy moves buffers.
    parameters.kv_unified = True
    # At 0 the output buffer is batch x vocabulary: hundreds of megabytes that are never read.
    parameters.n_outputs_max = settings.sequences
    parameters.n_threads = parameters.n_threads_batch = settings.threads or physical_cores()
    parameters.flash_attn_type = {
        "auto": library.LLAMA_FLASH_ATTN_TYPE_AUTO,
        "on": library.LLAMA_FLASH_ATTN_TYPE_ENABLED,
        "off": library.LLAMA_FLASH_ATTN_TYPE_DISABLED,
    }[settings.flash_attention]
    parameters.type_k = parameters.type_v = _kv_type(library, settings.kv)
    return parameters


def state_scope(library: Any, settings: EngineSettings, gpu_layers: int) -> dict[str, Any]:
    """Return the settings on which the bits of a kept state depend."""
    parameters = context_parameters(library, settings, CELLS_PADDING)
    # Exact states are never mixed with others, nor with those that were decoded in batches of another size.
    exact = {"exact": settings.batch} if settings.exact else {}
    return {
        **exact,
        "gpu_layers": gpu_layers,
        "split": settings.split,
        "repack": settings.repack,
        "types": [int(parameters.type_k), int(parameters.type_v)],
        "flash_attention": int(parameters.flash_attn_type),
        "kv_unified": bool(parameters.kv_unified),
        "swa_full": bool(parameters.swa_full),
    }


def _kv_type(library: Any, kv: KvType) -> int:
    return int({"f16": library.GGML_TYPE_F16, "q8_0": library.GGML_TYPE_Q8_0}[kv])


def free_device_bytes(ggml: Any) -> list[int]:
    """Return the free memory of each device that layers can be offloaded to.

    Integrated devices share the processor's memory and are used only where there are no others.

    Args:
        ggml: The functions of llama.cpp's library for devices.
    """
    ggml.ggml_backend_dev_count.restype = ctypes.c_size_t
    ggml.ggml_backend_dev_get.argtypes = [ctypes.c_size_t]
    ggml.ggml_backend_dev_get.restype = ctypes.c_void_p
    ggml.ggml_backend_dev_type.argtypes = [ctypes.c_void_p]
    ggml.ggml_backend_dev_type.restype = ctypes.c_int
    size = ctypes.POINTER(ctypes.c_size_t)
    ggml.ggml_backend_dev_memory.argtypes = [ctypes.c_void_p, size, size]
    ggml.ggml_backend_dev_memory.restype = None
    found: dict[int, list[int]] = {_GPU: [], _INTEGRATED_GPU: []}
    for index in range(ggml.ggml_backend_dev_count()):
        device = ggml.ggml_backend_dev_get(index)
        kind = ggml.ggml_backend_dev_type(device)
        if kind in found:
            free, total = ctypes.c_size_t(), ctypes.c_size_t()
            ggml.ggml_backend_dev_memory(device, ctypes.byref(free), ctypes.byref(total))
            found[kind].append(free.value)
    return found[_GPU] or found[_INTEGRATED_GPU]
