"""Loads llama.cpp and opens its models: the only module that imports llama_cpp.

Struct layouts change from release to release: the version is pinned, fields are set by name, and the
tests compare a shared prefix with one prompt at a time on a tiny model for each upgrade.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from ragjudge.errors import JudgeUnavailableError, ModelFileError
from ragjudge.judges.llama.parameters import free_device_bytes, model_parameters
from ragjudge.judges.llama.settings import EngineSettings
from ragjudge.judges.llama.vocabulary import Vocabulary

LLAMA_CPP_PYTHON = "0.3.36"
"""The release of llama-cpp-python whose struct layouts this module was written against."""

_ERROR_LEVEL = 4
"""llama.cpp's log level of errors; most of its functions tell their reason nowhere else."""

_last_errors: deque[str] = deque(maxlen=8)


@cache
def library() -> Any:
    """Load llama.cpp once, and silence it."""
    try:
        import llama_cpp
    except ImportError as error:
        raise JudgeUnavailableError(
            "this judge needs llama-cpp-python, which is not installed here.",
            hint="pip install 'ragjudge-offline[llama]', or replay from a cache with --replay",
        ) from error
    except (OSError, RuntimeError) as error:
        raise JudgeUnavailableError(f"llama-cpp-python cannot be loaded: {error}") from error
    if llama_cpp.__version__ != LLAMA_CPP_PYTHON:
        raise JudgeUnavailableError(
            f"llama-cpp-python {llama_cpp.__version__} is installed; ragjudge needs exactly "
            f"{LLAMA_CPP_PYTHON}.",
            hint=f"pip install llama-cpp-python=={LLAMA_CPP_PYTHON}",
        )
    functions = llama_cpp.llama_cpp
    functions.llama_log_set(_log_callback(llama_cpp), None)
    functions.llama_backend_init()
    return functions


@cache
def _log_callback(llama_cpp: Any) -> Any:
    """Return the log callback that prints nothing; cached, since llama.cpp keeps a bare pointer to it."""

    def keep_errors(level: int, text: bytes, data: Any) -> None:
        """Keep an error's line for the message of our own error; drop all others."""
        if level == _ERROR_LEVEL:
            _last_errors.append(text.decode("utf-8", "replace").strip())

    return llama_cpp.llama_log_callback(keep_errors)


def reason() -> str:
    """Return what llama.cpp last gave as the reason of a failure, as the tail of a sentence."""
    # The first line is the most specific one: the rest repeats it on the way up.
    line = next(filter(None, _last_errors), "").rpartition("error loading model: ")[2]
    said = re.sub(r"^\w+: ", "", line)  # the name of the function that logged it
    return f": {said.removesuffix('.')}." if said else "."


def forget_errors() -> None:
    """Begin anew with the reasons of failures."""
    _last_errors.clear()


def load_model(functions: Any, path: Path, parameters: Any) -> Any:
    """Load a model.

    Raises:
        ModelFileError: llama.cpp cannot load the file.
    """
    forget_errors()
    model = functions.llama_model_load_from_file(os.fsencode(path), parameters)
    if not model:
        raise ModelFileError(f"{path}: llama.cpp cannot load this file as a model{reason()}")
    return model


@contextmanager
def open_vocabulary(path: Path) -> Iterator[Vocabulary]:
    """Open the vocabulary of a model without its weights, for as long as the context lasts.

    Raises:
        JudgeUnavailableError: llama-cpp-python is missing or of another release.
        ModelFileError: llama.cpp cannot load the file.
    """
    functions = library()
    model = load_model(functions, path, model_parameters(functions, EngineSettings(), vocabulary_only=True))
    try:
        yield Vocabulary(functions, functions.llama_model_get_vocab(model))
    finally:
        functions.llama_model_free(model)


def free_devices() -> list[int]:
    """Return the free bytes of each device that llama.cpp can offload layers to; empty = there is none.

    Raises:
        JudgeUnavailableError: llama-cpp-python is missing or of another release.
    """
    if not library().llama_supports_gpu_offload():
        return []
    from llama_cpp._ggml import libggml

    return free_device_bytes(libggml)
