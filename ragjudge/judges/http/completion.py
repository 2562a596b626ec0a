"""A server's answer, taken apart without believing any of it, and whether it read the whole prompt. Pure."""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass
from typing import Any, NoReturn

from ragjudge.judges.http.failures import CallFailedError, words

LEAST_WINDOW = 256
"""Tokens below which a count cannot be that of a prompt cut to a window: no server has one this small.

Some servers count only the tokens that they did not find in their prefix cache. Such a count is a few
tokens for all calls but the first over the same chunks, and says nothing about the prompt.
"""

_WORD = re.compile(r"\S+")
_LETTER = re.compile(r"[^\W_]")
# Scripts that put no blanks between words: the longest tokens of these are words of a few characters.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_UNSPACED_PER_TOKEN = 4


@dataclass(frozen=True)
class Token:
    """One token with its log-probability."""

    text: str
    logprob: float


@dataclass(frozen=True)
class Completion:
    """A chat completion.

    Attributes:
        text: The answer.
        reasoning: What the model thought, where the server reports that apart.
        cut: Whether the answer ended because its budget was used up.
        served: The model that answered, by the server's own account.
        first: The first token of the answer; None when log-probabilities are not given.
        top: The likeliest first tokens.
        prompt_tokens: Tokens of the prompt; None when they are not counted.
        cached_tokens: Those of them that were in the server's cache.
        tokens: Tokens of the answer, reasoning included; None when they are not counted.
    """

    text: str
    reasoning: str
    cut: bool
    served: str | None
    first: Token | None
    top: tuple[Token, ...]
    prompt_tokens: int | None
    cached_tokens: int
    tokens: int | None


def read_completion(body: str) -> Completion:
    """Take the body of an answer apart.

    Raises:
        CallFailedError: It is no chat completion.
    """

    def refuse(name: str) -> NoReturn:
        raise CallFailedError(f"the server's answer holds {name}, which is no number", body)

    try:
        data: Any = json.loads(body, parse_constant=refuse)
    except (ValueError, RecursionError):
        raise CallFailedError(f"the server's answer is no JSON: {words(body)}", body) from None
    choice = _first(_get(data, "choices"))
    message = _get(choice, "message")
    if not isinstance(message, dict):
        error = _get(data, "error")
        said = f"reports an error: {words(body)}" if error else "sent JSON that is no chat completion"
        raise CallFailedError(f"the server {said}", body)
    usage = _get(data, "usage")
    entry = _first(_get(_get(choice, "logprobs"), "content"))
    served = _get(data, "model")
    return Completion(
        text=_text(message.get("content")),
        reasoning=_text(message.get("reasoning_content")) or _text(message.get("reasoning")),
        cut=_get(choice, "finish_reason") in ("length", "max_tokens"),
        served=served if isinstance(served, str) and served else None,
        first=_token(entry),
        top=_tokens(_get(entry, "top_logprobs")),
        prompt_tokens=_count(_get(usage, "prompt_tokens")),
        cached_tokens=_count(_get(_get(usage, "prompt_tokens_details"), "cached_tokens")) or 0,
        tokens=_count(_get(usage, "completion_tokens")),
    )


def least_tokens(text: str) -> int:
    """Return how many tokens a text has at the very least, whatever the tokenizer.

    No common tokenizer joins words across a blank, and each keeps the punctuation that closes a word apart
    from it: one token for each word, one for a mark at its end. English text has about 1.2 times as many.
    Scripts without blanks count by four characters a token.
    """
    count = len(_UNSPACED.findall(text)) // _UNSPACED_PER_TOKEN
    for match in _WORD.finditer(_UNSPACED.sub(" ", text)):
        word = match[0]
        if _LETTER.search(word):
            count += 2 if unicodedata.category(word[-1]).startswith("P") else 1
    return count


def was_cut(completion: Completion, prompt: str) -> bool:
    """Say whether the server counts fewer tokens than the prompt can have.

    A prompt that was cut by less than about a sixth is not noticed.
    """
    counted = completion.prompt_tokens
    return counted is not None and LEAST_WINDOW <= counted < least_tokens(prompt)


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else None


def _text(content: Any) -> str:
    """Return a message's text, which may come in parts."""
    parts = [_get(part, "text") for part in content] if isinstance(content, list) else [content]
    return "".join(part for part in parts if isinstance(part, str))


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 40 else None


def _tokens(value: Any) -> tuple[Token, ...]:
    found = [_token(entry) for entry in value] if isinstance(value, list) else []
    return tuple(token for token in found if token is not None)


def _token(entry: Any) -> Token | None:
    text, logprob = _get(entry, "token"), _get(entry, "logprob")
    if not isinstance(text, str) or isinstance(logprob, bool) or not isinstance(logprob, (int, float)):
        return None
    # A whole number may be larger than any float. Rounding may give a little more than certainty.
    return Token(text, min(0.0, float(logprob))) if -1e300 < logprob < 0.001 else None
