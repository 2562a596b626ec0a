"""Which words a text is about, and which chunk shares most of them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

# Function words only: anything that can be the point of a claim ("not", "first", "all") stays.
_STOP_WORDS_TEXT = """
    a an the this that these those it its he him his she her hers they them their theirs we us our ours you
    your yours i me my mine who whom whose which what there here of in on at by for from with to into onto
    as about and or but nor so if then than because while when where how also is are was were be been being
    am do does did has have had having will would can could shall should may might must s t d ll ve re m
"""
_STOP_WORDS = frozenset(_STOP_WORDS_TEXT.split())
_SHARED_WORDS_TEXT = "a an am as at do has he her i in me on or so us was will also s t d m ll ve re"
# Those that German, French, Spanish and others do not write, too.
_ENGLISH = _STOP_WORDS.difference(_SHARED_WORDS_TEXT.split())
# A figure with its separators, or a word: letters, digits, and the vowel signs of Indic and Thai script.
_TOKEN = re.compile(
    r"\d+(?:[.,]\d+)*(?![\w])|[^\W_](?:[^\W_]|[\u0300-\u036f\u0610-\u065f\u0900-\u0dff\u0e30-\u0eff]|"
    r"['’](?=[^\W_]))*"
)
# The same for lower-case ASCII, where it is several times as fast.
_ASCII_TOKEN = re.compile(r"\d+(?:[.,]\d+)*(?![\w])|[a-z0-9]+(?:'[a-z0-9]+)*", re.ASCII)
_LETTERS, _ASCII_LETTERS = re.compile(r"[^\W\d_]+"), re.compile("[a-z]+")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_ACCENTS = dict.fromkeys(range(768, 880))


def content_words(text: str) -> list[str]:
    """List the words of a text that carry content, in order and with repeats.

    Words are compared as people mean them: compatibility forms, capitals, accents, possessives and plain
    English plurals are folded, figures keep their value (``1,000`` is ``1000``), and text without spaces
    between words (Chinese, Japanese, Thai …) counts by pairs of characters.

    Args:
        text: Any text.

    Returns:
        Folded words without the stop words.
    """
    if text.isascii():
        return [word for word in map(_kept, _ASCII_TOKEN.findall(text.lower())) if word]
    decomposed = unicodedata.normalize("NFKD", text).translate(_ACCENTS)
    plain = unicodedata.normalize("NFC", decomposed).casefold().replace("’", "'")
    words: list[str] = []
    for match in _TOKEN.finditer(plain):
        token = match.group()
        if token.isascii():
            if word := _kept(token):
                words.append(word)
        else:
            words.extend(_parts(token))
    return words


def function_words(text: str) -> tuple[int, int]:
    """Count a text's words without digits, and those of them that are function words of English alone.

    Args:
        text: Any text.

    Returns:
        ``(function words of English, all words)``.
    """
    words = (_ASCII_LETTERS if text.isascii() else _LETTERS).findall(text.lower())
    return sum(map(_ENGLISH.__contains__, words)), len(words)


@lru_cache(maxsize=1024)
def word_set(text: str) -> frozenset[str]:
    """Return the content words of a text; remembered: all claims of a row meet its chunks."""
    return frozenset(content_words(text))


def best_chunk(claim: str, chunks: Sequence[str]) -> int | None:
    """Find the chunk that holds most of a claim's content words.

    Args:
        claim: The claim.
        chunks: The chunks in rank order.

    Returns:
        The index of the chunk, the first one on ties; None when no chunk shares a word with the claim.
    """
    wanted = word_set(claim)
    best: int | None = None
    most = 0
    for index, chunk in enumerate(chunks):
        shared = len(wanted & word_set(chunk))
        if shared > most:
            best, most = index, shared
    return best


def _parts(token: str) -> list[str]:
    """Split a word that holds unspaced script into pairs of characters; any other word is one part."""
    parts: list[str] = []
    done = 0
    for match in _UNSPACED.finditer(token):
        if token[done : match.start()]:
            parts.append(_folded(token[done : match.start()]))
        run = match.group()
        parts += [run[at : at + 2] for at in range(len(run) - 1)] or [run]
        done = match.end()
    if token[done:]:
        parts.append(_folded(token[done:]))
    return parts


@lru_cache(maxsize=1 << 15)
def _kept(token: str) -> str:
    """Fold a word; a stop word is folded away."""
    word = _folded(token)
    return "" if token in _STOP_WORDS or word in _STOP_WORDS else word


@lru_cache(maxsize=1 << 15)
def _folded(word: str) -> str:
    if word[0].isdigit():
        return word.replace(",", "") if _THOUSANDS.fullmatch(word) else word
    word = word.removesuffix("'s").replace("'", "")
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is", "os")):
        return word[:-1]
    return word
