"""The vocabulary of an open model: texts to tokens, tokens to bytes, and which tokens steer."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

_UNKNOWN = 1 << 0
_MATCHED_IN_TEXT = _UNKNOWN | 1 << 4
"""Attributes of tokens that a text can spell although they are no control tokens: unknown, user-defined."""


class Token(NamedTuple):
    """One entry of a vocabulary."""

    id: int
    text: str


class Vocabulary:
    """Asks llama.cpp about the vocabulary of a model.

    Args:
        library: llama-cpp-python's functions.
        handle: The vocabulary, valid as long as its model.
    """

    def __init__(self, library: Any, handle: Any) -> None:
        self._c = library
        self._vocabulary = handle
        self.vocabulary_size = int(library.llama_vocab_n_tokens(handle))

    def tokenize(self, text: str, *, add_special: bool) -> list[int]:
        """Turn a whole prompt into tokens; control strings in it become control tokens.

        Args:
            text: The rendered prompt. Lone surrogates become replacement characters.
            add_special: Whether the vocabulary's own first token (BOS) is put in front.
        """
        data = text.encode("utf-8", "replace")
        room = len(data) + 8
        while True:
            buffer = (self._c.llama_token * room)()
            count = self._c.llama_tokenize(self._vocabulary, data, len(data), buffer, room, add_special, True)
            if count >= 0:
                tokens = list(buffer[:count])
                # Some vocabularies also put their last token behind; an answer could not follow that.
                if add_special and self._c.llama_vocab_get_add_eos(self._vocabulary):
                    tokens.pop()
                return tokens
            room = -count

    def longest_piece(self) -> int:
        """Return the most bytes that one token stands for."""
        return max(len(self.piece(token, special=True)) for token in range(self.vocabulary_size))

    def piece(self, token: int, *, special: bool = False) -> bytes:
        """Return the bytes a token stands for; control tokens are empty unless `special`."""
        room = 64
        while True:
            buffer = ctypes.create_string_buffer(room)
            count = self._c.llama_token_to_piece(self._vocabulary, token, buffer, room, 0, special)
            if count >= 0:
                return buffer.raw[:count]
            room = -count

    def control_tokens(self, frame: str = "") -> list[Token]:
        """Return the tokens that steer the model: turn marks, BOS, EOS and the like.

        Args:
            frame: Text that stands around data. Some files mark their turn marks as tokens of the
                user's, like words that must not be cut: those that occur in the frame steer as well.
        """
        c, vocabulary = self._c, self._vocabulary
        tokens = []
        for token in range(self.vocabulary_size):
            attributes = c.llama_vocab_get_attr(vocabulary, token)
            steers = c.llama_vocab_is_control(vocabulary, token) or c.llama_vocab_is_eog(vocabulary, token)
            if steers or attributes & _MATCHED_IN_TEXT:
                text = self.piece(token, special=True).decode("utf-8", "replace")
                if text.strip() and (steers or attributes & _UNKNOWN or text in frame):
                    tokens.append(Token(token, text))
        return tokens

    def bos(self) -> Token | None:
        """Return the vocabulary's first token, or None when it has none."""
        return self._special(self._c.llama_vocab_bos(self._vocabulary))

    def eos(self) -> Token | None:
        """Return the vocabulary's last token, or None when it has none."""
        return self._special(self._c.llama_vocab_eos(self._vocabulary))

    def adds_bos(self) -> bool:
        """Say whether the model was trained with the first token in front of every text."""
        return bool(self._c.llama_vocab_get_add_bos(self._vocabulary))

    def _special(self, token: int) -> Token | None:
        if token < 0:
            return None
        return Token(token, self.piece(token, special=True).decode("utf-8", "replace"))
