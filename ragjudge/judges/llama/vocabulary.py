"""The vocabulary of an open model: texts to tokens, tokens to bytes, and which tokens steer."""

from __future__ import annotations

import ctypes
import re
from functools import cached_property
from typing import Any, NamedTuple

_UNKNOWN, _CONTROL, _USER_DEFINED = 1 << 0, 1 << 3, 1 << 4
"""Attributes of the tokens that are found in a text before it is cut into pieces."""

_SLICE = 16_384

_MARK = re.compile(r"<\|[^<>|\s]+\|>")


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

    def count(self, text: str) -> int:
        """Return about how many tokens a text has: exactly, but for tokens across the borders of slices.

        For texts far beyond any window: on some texts the time of `tokenize` grows with the square of
        their length.
        """
        slices = (text[start : start + _SLICE] for start in range(0, len(text), _SLICE))
        return sum(len(self.tokenize(part, add_special=False)) for part in slices)

    @cached_property
    def longest_piece(self) -> int:
        """The most bytes that one token stands for."""
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
                user's, like words that must not be cut, and so does llama.cpp itself for some models. Those
                that occur in the frame steer as well, and those that are written like ``<|this|>``.
        """
        tokens = []
        for token in range(self.vocabulary_size):
            attributes = self._c.llama_vocab_get_attr(self._vocabulary, token)
            steers = attributes & (_UNKNOWN | _CONTROL) or self._c.llama_vocab_is_eog(self._vocabulary, token)
            if steers or attributes & _USER_DEFINED:
                text = self.piece(token, special=True).decode("utf-8", "replace")
                if text.strip() and (steers or text in frame or _MARK.fullmatch(text)):
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
