"""Tokens in, logits out: the only module that loads llama.cpp.

It carries out the plans of `judges.trie` with llama.cpp's own functions, since llama-cpp-python's
`Llama` class writes one sequence only. It knows no prompts and no questions. llama.cpp answers many a
wrong size by ending the process, so every size is checked here first.

Struct layouts change from release to release: the version is pinned, fields are set by name, and the
tests compare a shared prefix with one prompt at a time on a tiny model for each upgrade.
"""

from __future__ import annotations

import ctypes
import os
import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ragjudge.errors import JudgeUnavailableError, ModelFileError
from ragjudge.judges.llama.batches import apart, refuse_large_plan
from ragjudge.judges.llama.grammar import Generated, GrammarChoice, Logits
from ragjudge.judges.llama.parameters import (
    context_parameters,
    free_device_bytes,
    model_parameters,
    state_scope,
)
from ragjudge.judges.llama.room import CELLS_PADDING
from ragjudge.judges.llama.settings import EngineSettings
from ragjudge.judges.llama.states import States
from ragjudge.judges.llama.vocabulary import Vocabulary
from ragjudge.judges.trie import Copy, Decode, Drop, Keep, Limits, Piece, Plan, Restore, Tokens

LLAMA_CPP_PYTHON = "0.3.36"
"""The release of llama-cpp-python whose struct layouts this module was written against."""

_ERROR_LEVEL = 4
"""llama.cpp's log level of errors; most of its functions tell their reason nowhere else."""

_last_errors: deque[str] = deque(maxlen=8)

T = TypeVar("T")


class NativeError(Exception):
    """llama.cpp refused a batch; what it held is lost."""


@cache
def _library() -> Any:
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
    library = llama_cpp.llama_cpp
    library.llama_log_set(_log_callback(llama_cpp), None)
    library.llama_backend_init()
    return library


@cache
def _log_callback(llama_cpp: Any) -> Any:
    """Return the log callback that prints nothing; cached, since llama.cpp keeps a bare pointer to it."""

    def keep_errors(level: int, text: bytes, data: Any) -> None:
        """Keep an error's line for the message of our own error; drop all others."""
        if level == _ERROR_LEVEL:
            _last_errors.append(text.decode("utf-8", "replace").strip())

    return llama_cpp.llama_log_callback(keep_errors)


def _reason() -> str:
    """Return what llama.cpp last gave as the reason of a failure, as the tail of a sentence."""
    # The first line is the most specific one: the rest repeats it on the way up.
    line = next(filter(None, _last_errors), "").rpartition("error loading model: ")[2]
    reason = re.sub(r"^\w+: ", "", line)  # the name of the function that logged it
    return f": {reason.removesuffix('.')}." if reason else "."


def _load(library: Any, path: Path, parameters: Any) -> Any:
    _last_errors.clear()
    model = library.llama_model_load_from_file(os.fsencode(path), parameters)
    if not model:
        raise ModelFileError(f"{path}: llama.cpp cannot load this file as a model{_reason()}")
    return model


@contextmanager
def open_vocabulary(path: Path) -> Iterator[Vocabulary]:
    """Open the vocabulary of a model without its weights, for as long as the context lasts.

    Raises:
        JudgeUnavailableError: llama-cpp-python is missing or of another release.
        ModelFileError: llama.cpp cannot load the file.
    """
    library = _library()
    model = _load(library, path, model_parameters(library, EngineSettings(), vocabulary_only=True))
    try:
        yield Vocabulary(library, library.llama_model_get_vocab(model))
    finally:
        library.llama_model_free(model)


def free_devices() -> list[int]:
    """Return the free bytes of each device that llama.cpp can offload layers to; empty = there is none.

    Raises:
        JudgeUnavailableError: llama-cpp-python is missing or of another release.
    """
    if not _library().llama_supports_gpu_offload():
        return []
    from llama_cpp._ggml import libggml

    return free_device_bytes(libggml)


class Engine(Vocabulary):
    """One open model with one memory. Not safe for two threads at a time.

    Args:
        path: The GGUF file.
        settings: How to run it.

    Raises:
        JudgeUnavailableError: llama-cpp-python is missing or of another release.
        ModelFileError: llama.cpp cannot load the file.
    """

    def __init__(self, path: Path, settings: EngineSettings) -> None:
        self._c = _library()
        self.settings = settings
        self.tokens_decoded = 0
        self.tokens_generated = 0
        self.tokens_not_restored = 0
        self._seconds = 0.0
        self._timed_tokens = 0
        parameters = model_parameters(self._c, settings)
        self.gpu_layers = int(parameters.n_gpu_layers)
        self._context: Any = None
        self._memory: Any = None
        self._batch: Any = None
        self._cells = 0
        self._model: Any = _load(self._c, path, parameters)
        super().__init__(self._c, self._c.llama_model_get_vocab(self._model))
        self.training_context = int(self._c.llama_model_n_ctx_train(self._model))
        if not self.vocabulary_size or self._c.llama_model_has_encoder(self._model):
            self.close()
            raise ModelFileError(f"{path}: this model does not continue a text, so it cannot judge.")

    def __del__(self) -> None:
        # An engine that nobody closed must not keep gigabytes until the process ends.
        if getattr(self, "_model", None):
            self.close()

    def chat_template(self) -> str | None:
        """Return the chat template that the file carries, or None."""
        template = self._c.llama_model_chat_template(self._model, None)
        return template.decode("utf-8", "replace") if template else None

    def metadata(self, key: str) -> str | None:
        """Return an entry of the file's metadata as text, or None when it has none such."""
        buffer = ctypes.create_string_buffer(256)
        size = self._c.llama_model_meta_val_str(self._model, key.encode("utf-8"), buffer, len(buffer))
        return buffer.value.decode("utf-8", "replace") if size >= 0 else None

    def state_scope(self) -> dict[str, Any]:
        """Return what a kept state depends on besides the model: the build, the machine, the memory."""
        build = f"{LLAMA_CPP_PYTHON} {self._c.llama_print_system_info().decode('utf-8', 'replace')}"
        return {"build": build, **state_scope(self._c, self.settings, self.gpu_layers)}

    # -- memory ----------------------------------------------------------------------------------

    def limits(self, cells: int) -> Limits:
        """Make room for `cells` tokens, and return what plans may use."""
        if cells > self._cells:
            self._open_context(cells)
        return Limits(self._cells, self.settings.batch, self.settings.sequences)

    def _open_context(self, cells: int) -> None:
        self._close_context()
        padded = -(-cells // CELLS_PADDING) * CELLS_PADDING
        _last_errors.clear()
        parameters = context_parameters(self._c, self.settings, padded)
        self._context = self._c.llama_init_from_model(self._model, parameters)
        self._memory = self._c.llama_get_memory(self._context) if self._context else None
        if not self._memory:
            if self._context:  # a model without a memory embeds texts; it does not continue them
                self._c.llama_free(self._context)
            self._context = None
            raise JudgeUnavailableError(
                f"llama.cpp cannot make room for {padded} tokens{_reason()}",
                hint="lower the judge's `window:` setting",
            )
        self._batch = self._c.llama_batch_init(self.settings.batch, 0, 1)
        self._cells = int(self._c.llama_n_ctx(self._context))

    def _close_context(self) -> None:
        if self._context:
            self._c.llama_batch_free(self._batch)
            self._c.llama_free(self._context)
        self._context = self._memory = self._batch = None
        self._cells = 0

    def close(self) -> None:
        """Free the memory and the model. The engine cannot be used afterwards."""
        self._close_context()
        if self._model:
            self._c.llama_model_free(self._model)
        self._model = None

    # -- decoding --------------------------------------------------------------------------------

    def run(
        self, plan: Plan, read: Callable[[Logits, Logits | None], T], states: States | None = None
    ) -> Iterator[tuple[int, T]]:
        """Carry out a plan made under `limits`.

        Args:
            plan: The plan.
            read: Turns one row of logits (float32, one per vocabulary entry), and the hidden state above it
                (float32, one per dimension; None unless the settings ask for it), into what is wanted. The
                rows are llama.cpp's own memory: valid during the call only.
            states: Where the plan's marked states are kept and taken from. A state that is not there after
                all, or that llama.cpp does not take, is decoded instead.

        Yields:
            ``(prompt index, read(logits, hidden))`` after the batch that holds the prompt's last token.

        Raises:
            ValueError: The plan was made under larger limits than this engine's.
            NativeError: llama.cpp refused a batch.
        """
        refuse_large_plan(plan, Limits(self._cells, self.settings.batch, self.settings.sequences))
        self._c.llama_memory_clear(self._memory, False)
        for step in plan.steps:
            if isinstance(step, Decode):
                outputs = self._decode(step.pieces)
                yield from [
                    (prompt, read(self._logits(slot), self._hidden(slot))) for prompt, slot in outputs
                ]
            elif isinstance(step, Copy):
                self._c.llama_memory_seq_cp(self._memory, step.source, step.target, -1, -1)
            elif isinstance(step, Drop):
                self._c.llama_memory_seq_rm(self._memory, step.sequence, -1, -1)
            elif isinstance(step, Keep):
                self._keep(step, states)
            else:
                self._restore(step, states)

    def _keep(self, step: Keep, states: States | None) -> None:
        """Hand a sequence's state over to be kept, if it is wanted."""
        seconds = len(step.tokens) * self._seconds / max(1, self._timed_tokens)
        if states is None or not states.wants(step.tokens, seconds):
            return
        size = int(self._c.llama_state_seq_get_size(self._context, step.sequence))
        buffer = (ctypes.c_uint8 * size)()
        written = int(self._c.llama_state_seq_get_data(self._context, buffer, size, step.sequence))
        if written == size > 0:
            states.save(step.tokens, bytes(buffer))

    def _restore(self, step: Restore, states: States | None) -> None:
        """Fill an empty sequence from a kept state, or decode it."""
        state = states.load(step.tokens) if states is not None else None
        if state is not None:
            buffer = (ctypes.c_uint8 * len(state)).from_buffer(state)
            read = int(self._c.llama_state_seq_set_data(self._context, buffer, len(state), step.sequence))
            last = int(self._c.llama_memory_seq_pos_max(self._memory, step.sequence))
            if read == len(state) and last == len(step.tokens) - 1:
                return
            self._c.llama_memory_seq_rm(self._memory, step.sequence, -1, -1)
        self.tokens_not_restored += len(step.tokens)
        self._extend(step.sequence, step.tokens, None)

    def _extend(self, sequence: int, tokens: Tokens, prompt: int | None) -> list[tuple[int, int]]:
        """Decode tokens into an empty sequence, in as many batches as it takes."""
        outputs: list[tuple[int, int]] = []
        step = self.settings.batch
        for offset in range(0, len(tokens), step):
            last = offset + step >= len(tokens)
            piece = Piece(sequence, offset, tokens[offset : offset + step], prompt if last else None)
            outputs = self._decode((piece,))
        return outputs

    def _decode(self, pieces: Sequence[Piece]) -> list[tuple[int, int]]:
        """Decode pieces; return ``(prompt, slot in the last batch)`` of their outputs."""
        if not self.settings.hidden:
            return self._decode_batch(pieces)
        # While hidden states are read, every token of a batch is an output, and the room for outputs is
        # limited: so the last tokens of the prompts go into a batch of their own.
        before, last = apart(pieces)
        if before:
            self._decode_batch(before)
        if not last:
            return []
        self._c.llama_set_embeddings(self._context, True)
        try:
            return self._decode_batch(last)
        finally:
            self._c.llama_set_embeddings(self._context, False)

    def _decode_batch(self, pieces: Sequence[Piece]) -> list[tuple[int, int]]:
        """Decode one batch; return ``(prompt, slot in the batch)`` of its outputs."""
        batch = self._batch
        outputs = []
        slot = 0
        for piece in pieces:
            for offset, token in enumerate(piece.tokens):
                batch.token[slot] = token
                batch.pos[slot] = piece.start + offset
                batch.n_seq_id[slot] = 1
                batch.seq_id[slot][0] = piece.sequence
                batch.logits[slot] = 0
                slot += 1
            if piece.prompt is not None:
                batch.logits[slot - 1] = 1
                outputs.append((piece.prompt, slot - 1))
        batch.n_tokens = slot
        started = time.perf_counter()
        status = self._c.llama_decode(self._context, batch)
        self._seconds += time.perf_counter() - started
        self._timed_tokens += slot
        if status != 0:
            raise NativeError(f"llama_decode returned {status} for a batch of {slot} tokens")
        self.tokens_decoded += slot
        return outputs

    def _logits(self, slot: int) -> Logits:
        pointer = self._c.llama_get_logits_ith(self._context, slot)
        if not pointer:
            raise NativeError(f"llama.cpp has no logits for slot {slot}")
        return np.ctypeslib.as_array(pointer, (self.vocabulary_size,))

    def _hidden(self, slot: int) -> Logits | None:
        if not self.settings.hidden:
            return None
        pointer = self._c.llama_get_embeddings_ith(self._context, slot)
        if not pointer:
            raise NativeError(f"llama.cpp has no hidden state for slot {slot}")
        return np.ctypeslib.as_array(pointer, (int(self._c.llama_model_n_embd(self._model)),))

    # -- generation ------------------------------------------------------------------------------

    def generate(self, tokens: Sequence[int], grammar: str, most: int) -> Generated:
        """Continue a prompt greedily with a text that the grammar accepts.

        Args:
            tokens: The prompt.
            grammar: GBNF with a rule ``root``.
            most: Most tokens to generate; room for them must have been made with `limits`.

        Raises:
            ValueError: The prompt is empty, or room for it was not made.
            NativeError: The grammar is not valid, or llama.cpp refused a batch.
        """
        if not tokens or not self._context or len(tokens) + most > self._cells:
            raise ValueError(f"a prompt of {len(tokens)} tokens and {most} more, in {self._cells} cells")
        try:
            choice = GrammarChoice(self._c, self._vocabulary, grammar)
        except ValueError as error:
            raise NativeError(str(error)) from error
        try:
            return self._generate(tuple(tokens), choice, most)
        finally:
            choice.close()

    def _generate(self, tokens: Tokens, choice: GrammarChoice, most: int) -> Generated:
        self._c.llama_memory_clear(self._memory, False)
        outputs = self._extend(0, tokens, 0)
        written = bytearray()
        count = 0
        while True:
            token = choice.likeliest(self._logits(outputs[0][1]))
            complete = token is not None and self._c.llama_vocab_is_eog(self._vocabulary, token)
            if token is None or complete or count == most:
                break
            choice.accept(token)
            written += self.piece(token)
            outputs = self._decode((Piece(0, len(tokens) + count, (token,), 0),))
            count += 1
            self.tokens_decoded -= 1  # a generated token is counted as such
            self.tokens_generated += 1
        return Generated(written.decode("utf-8", "replace"), count, bool(complete))
