"""Greedy choice under a grammar: which token comes next, when only some continuations are allowed."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Logits = npt.NDArray[np.float32]

_FEW = 64
"""The grammar is asked for this many of the likeliest tokens first: walking the whole vocabulary through it
costs more than decoding a token."""


class Generated(NamedTuple):
    """What a prompt was continued with."""

    text: str
    tokens: int
    complete: bool


class GrammarChoice:
    """The state of a grammar while a text is written.

    Args:
        library: llama.cpp's functions.
        vocabulary: The vocabulary's handle.
        grammar: GBNF with a rule ``root``.

    Raises:
        ValueError: The grammar is not valid.
    """

    def __init__(self, library: Any, vocabulary: Any, grammar: str) -> None:
        if not grammar.strip() or "\0" in grammar:
            # llama.cpp takes an empty grammar for none at all, and reads no further than a NUL.
            raise ValueError("the grammar is empty or has a NUL character")
        self._c = library
        self._sampler = library.llama_sampler_init_grammar(vocabulary, grammar.encode("utf-8"), b"root")
        if not self._sampler:
            raise ValueError("llama.cpp does not accept the grammar")

    def close(self) -> None:
        """Free the grammar."""
        self._c.llama_sampler_free(self._sampler)

    def accept(self, token: int) -> None:
        """Go on behind a token, which the grammar must allow here."""
        self._c.llama_sampler_accept(self._sampler, token)

    def likeliest(self, logits: Logits) -> int | None:
        """Return the likeliest token that the grammar allows here, or None when it allows none."""
        few = min(_FEW, len(logits))
        for candidates in (np.argpartition(logits, -few)[-few:], np.arange(len(logits))):
            token = self._allowed(candidates.astype(np.int32), logits)
            if token is not None:
                return token
        return None

    def _allowed(self, tokens: npt.NDArray[np.int32], logits: Logits) -> int | None:
        order = tokens[np.lexsort((tokens, -logits[tokens]))]  # likeliest first, lower id first on ties
        data = (self._c.llama_token_data * len(order))()
        view = np.ctypeslib.as_array(data)
        view["id"], view["logit"] = order, logits[order]
        array = self._c.llama_token_data_array(data=data, size=len(order), selected=-1, sorted=False)
        self._c.llama_sampler_apply(self._sampler, ctypes.byref(array))
        for slot in range(int(array.size)):
            if array.data[slot].logit != -np.inf:
                return int(array.data[slot].id)
        return None
