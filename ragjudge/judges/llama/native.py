"""Tokens in, logits out.

It carries out the plans of `judges.trie` with llama.cpp's own functions, since llama-cpp-python's
`Llama` class writes one sequence only. It knows no prompts and no questions. llama.cpp answers many a
wrong size by ending the process, so every size is checked here first.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ragjudge.errors import JudgeUnavailableError, ModelFileError
from ragjudge.judges.llama.batches import apart, refuse_large_plan
from ragjudge.judges.llama.grammar import Generated, GrammarChoice, Logits
from ragjudge.judges.llama.library import LLAMA_CPP_PYTHON, forget_errors, library, load_model, reason
from ragjudge.judges.llama.parameters import (
    context_parameters,
    model_parameters,
    state_scope,
)
from ragjudge.judges.llama.room import CELLS_PADDING
from ragjudge.judges.llama.settings import EngineSettings
from ragjudge.judges.llama.states import States
from ragjudge.judges.llama.vocabulary import Vocabulary
from ragjudge.judges.steps import Copy, Decode, Drop, Keep, Limits, Piece, Plan, Restore, Tokens

T = TypeVar("T")

_STEM, _WRITTEN = 0, 1
"""The sequences of a text that is written: what the next prompt may begin with, and the whole."""


class NativeError(Exception):
    """llama.cpp refused a batch; what it held is lost."""


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
        self._c = library()
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
        self._stem: Tokens = ()
        self._model: Any = load_model(self._c, path, parameters)
        super().__init__(self._c, self._c.llama_model_get_vocab(self._model))
        # Hidden states are read in a batch of their own, after whatever else a prompt's branch decodes.
        self._coupled = not (
            settings.hidden
            or self._c.llama_model_is_recurrent(self._model)
            or self._c.llama_model_is_hybrid(self._model)
        )
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
        return self._limits()

    def _limits(self) -> Limits:
        return Limits(self._cells, self.settings.batch, self.settings.sequences, self._coupled)

    def _open_context(self, cells: int) -> None:
        self._close_context()
        padded = -(-cells // CELLS_PADDING) * CELLS_PADDING
        forget_errors()
        parameters = context_parameters(self._c, self.settings, padded)
        self._context = self._c.llama_init_from_model(self._model, parameters)
        self._memory = self._c.llama_get_memory(self._context) if self._context else None
        if not self._memory:
            if self._context:  # a model without a memory embeds texts; it does not continue them
                self._c.llama_free(self._context)
            self._context = None
            raise JudgeUnavailableError(
                f"llama.cpp cannot make room for {padded} tokens{reason()}",
                hint="lower the judge's `window:` setting",
            )
        self._batch = self._c.llama_batch_init(self.settings.batch, 0, self.settings.sequences)
        self._cells = int(self._c.llama_n_ctx(self._context))

    def _close_context(self) -> None:
        if self._context:
            self._c.llama_batch_free(self._batch)
            self._c.llama_free(self._context)
        self._context = self._memory = self._batch = None
        self._cells = 0
        self._stem = ()

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
        refuse_large_plan(plan, self._limits())
        self._clear()
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
        self._extend(step.sequence, 0, step.tokens, None)

    def _extend(self, sequence: int, start: int, tokens: Tokens, prompt: int | None) -> list[tuple[int, int]]:
        """Decode tokens into a sequence that holds `start` already, in as many batches as it takes."""
        outputs: list[tuple[int, int]] = []
        step = self.settings.batch
        for offset in range(0, len(tokens), step):
            last = offset + step >= len(tokens)
            part = tokens[offset : offset + step]
            piece = Piece(sequence, start + offset, part, prompt if last else None)
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
            sequences = (piece.sequence, *piece.also)
            for offset, token in enumerate(piece.tokens):
                batch.token[slot] = token
                batch.pos[slot] = piece.start + offset
                batch.n_seq_id[slot] = len(sequences)
                for place, sequence in enumerate(sequences):
                    batch.seq_id[slot][place] = sequence
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
            self._stem = ()  # what the memory holds now is not known
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

    def generate(self, tokens: Sequence[int], grammar: str, most: int, *, shared: int = 0) -> Generated:
        """Continue a prompt greedily with a text that the grammar accepts.

        Args:
            tokens: The prompt.
            grammar: GBNF with a rule ``root``.
            most: Most tokens to generate; room for them must have been made with `limits`.
            shared: Length of the prompt's beginning that the next prompts may begin with too. It stays in
                the memory until another one comes, or a plan.

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
            return self._generate(tuple(tokens), choice, most, shared)
        finally:
            choice.close()

    def _generate(self, tokens: Tokens, choice: GrammarChoice, most: int, shared: int) -> Generated:
        outputs = self._begin(tokens, min(shared, len(tokens) - 1))
        written = bytearray()
        count = 0
        while True:
            token = choice.likeliest(self._logits(outputs[0][1]))
            complete = token is not None and self._c.llama_vocab_is_eog(self._vocabulary, token)
            if token is None or complete or count == most:
                break
            choice.accept(token)
            written += self.piece(token)
            outputs = self._decode((Piece(_WRITTEN, len(tokens) + count, (token,), 0),))
            count += 1
            self.tokens_decoded -= 1  # a generated token is counted as such
            self.tokens_generated += 1
        return Generated(written.decode("utf-8", "replace"), count, bool(complete))

    def _begin(self, tokens: Tokens, shared: int) -> list[tuple[int, int]]:
        """Decode a prompt to be continued, but for a stem that the memory holds from the one before."""
        stem = tokens[:shared]
        if stem and stem == self._stem:
            self._c.llama_memory_seq_rm(self._memory, _WRITTEN, -1, -1)
        else:
            self._clear()
            self._extend(_STEM, 0, stem, None)
            self._stem = stem
        if stem:
            self._c.llama_memory_seq_cp(self._memory, _STEM, _WRITTEN, -1, -1)
        return self._extend(_WRITTEN, len(stem), tokens[len(stem) :], 0)

    def _clear(self) -> None:
        self._stem = ()
        self._c.llama_memory_clear(self._memory, False)
