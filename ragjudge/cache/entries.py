"""The rows of a cache, each taken apart and verified by itself. Pure.

    call/<sha256 of the request>     {"answer": …, "digest": …, "request": …}
    text/<sha256 of the text>        a long text of a request, once
    judge/<sha256 of the reference>  {"identities": […], "reference": "…"}
    meta/schema                      the version of all this

All JSON is canonical ASCII, so every text that Python can hold survives, lone surrogates and NUL included.
A row may come from anywhere, so nothing in it is believed that does not fit: the name must follow from the
content, the digest must cover request and answer, and the answer must be one to that request.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import Field, TypeAdapter, ValidationError

from ragjudge.cache.keys import is_request, key_of, sha256_of, text_digest
from ragjudge.judges.base import canonical_json, digest
from ragjudge.records import Answer, Verdict

if TYPE_CHECKING:
    from pydantic import JsonValue

CALL, JUDGE, TEXT, META = "call/", "judge/", "text/", "meta/"
SCHEMA_ROW = "meta/schema"

MOST_LOG_PROBABILITY = 0.001
"""Largest log-probability of a label; above 0 by what rounding can add."""

_ANSWER_MARK, _DIGEST_MARK, _REQUEST_MARK = '{"answer":', ',"digest":"', '","request":'
"""What stands between the parts of a call's row; `canonical_json` sorts them so."""

_ANSWER: TypeAdapter[Answer] = TypeAdapter(Annotated[Answer, Field(discriminator="kind")])
_NO_ROW = (KeyError, TypeError, ValueError, AttributeError, RecursionError, ValidationError)


class CallEntry(NamedTuple):
    """A stored call.

    Attributes:
        request: What was asked of whom, see `keys.request_of`.
        answer: The answer.
    """

    request: dict[str, Any]
    answer: Answer


class JudgeEntry(NamedTuple):
    """What a reference to a judge has meant.

    Attributes:
        reference: The reference as a user wrote it.
        identities: The identity documents, oldest first.
    """

    reference: str
    identities: list[dict[str, JsonValue]]


def call_row(document: JsonValue, answer: Answer) -> tuple[str, str]:
    """Return name and text of a call's row."""
    key = key_of(document)
    # What is None was not said: a field that a later version adds leaves the digests alone. Not in the
    # mode `json`, which replaces lone surrogates.
    plain = answer.model_dump(exclude_none=True)
    entry = {"request": document, "answer": plain, "digest": entry_digest(key, plain)}
    return f"{CALL}{key}", canonical_json(entry)


def read_call(name: str, text: str, *, asked: bool = False) -> CallEntry | None:
    """Take a call's row apart; None when anything about it does not fit.

    Args:
        name: The row's name.
        text: The row's text.
        asked: Whether the name comes from a request of `keys.request_of`. Then a row that goes by that name
            holds that request, whose shape need not be looked at.
    """
    try:
        entry = json.loads(text)
        request, plain = entry["request"], entry["answer"]
        if not _is_as_written(name, text):
            key = key_of(request)
            if name != f"{CALL}{key}" or entry["digest"] != entry_digest(key, plain):
                return None
        if not asked and not is_request(request):
            return None
        answer = _ANSWER.validate_python(plain)
        return CallEntry(request, answer) if fits(request, answer) else None
    except _NO_ROW:
        return None


def _is_as_written(name: str, text: str) -> bool:
    """Say whether a row is, letter for letter, what `call_row` writes under its name.

    Then the digests are those of the very letters, and nothing has to be written out again to be hashed. A
    row that is not may still be whole, and is looked at thoroughly.
    """
    answer, mark, rest = text.removeprefix(_ANSWER_MARK).rpartition(_DIGEST_MARK)
    stated, _, request = rest.removesuffix("}").partition(_REQUEST_MARK)
    key = name.removeprefix(CALL)
    return (
        text.isascii()
        and text == f"{_ANSWER_MARK}{answer}{mark}{stated}{_REQUEST_MARK}{request}}}"
        and name == f"{CALL}{sha256_of(request)}"
        and stated == sha256_of(f'{_ANSWER_MARK}{answer},"request":"{key}"}}')
    )


def fits(request: Mapping[str, Any], answer: Answer) -> bool:
    """Say whether an answer is one to a request: of its kind, for its labels, with possible numbers."""
    if not isinstance(answer, Verdict):
        return bool(request["kind"] == "prompt")
    labels = set(request["labels"]) if request["kind"] == "check" else None
    parts = [answer.log_probabilities, *(window.log_probabilities for window in answer.windows or ())]
    return all(set(values) == labels and are_possible(values.values()) for values in parts)


def are_possible(log_probabilities: Iterable[float]) -> bool:
    """Say whether numbers can be log-probabilities: finite, and not above 0."""
    return all(math.isfinite(value) and value <= MOST_LOG_PROBABILITY for value in log_probabilities)


def text_row(text: str) -> tuple[str, str]:
    """Return name and text of a long text's row."""
    return f"{TEXT}{text_digest(text)}", canonical_json(text)


def read_text(name: str, text: str) -> str | None:
    """Return the long text of a row; None when it is not the one that the name says."""
    try:
        found = json.loads(text)
    except _NO_ROW:
        return None
    return found if isinstance(found, str) and name == f"{TEXT}{text_digest(found)}" else None


def judge_row(reference: str, identities: Sequence[Mapping[str, JsonValue]]) -> tuple[str, str]:
    """Return name and text of a judge's row."""
    documents: list[JsonValue] = [dict(document) for document in identities]
    return judge_name(reference), canonical_json({"reference": reference, "identities": documents})


def read_judge(name: str, text: str) -> JudgeEntry | None:
    """Take a judge's row apart; None when it does not fit."""
    try:
        entry = json.loads(text)
        reference, documents = entry["reference"], entry["identities"]
        if name != judge_name(reference) or not all(isinstance(document, dict) for document in documents):
            return None
        canonical_json(documents)  # no NaN, and no deeper than it can be written
        return JudgeEntry(reference, list(documents))
    except _NO_ROW:
        return None


def judge_name(reference: str) -> str:
    """Return the name of a reference's row."""
    return f"{JUDGE}{text_digest(reference)}"


READERS: dict[str, Callable[[str, str], object | None]] = {
    CALL: read_call,
    JUDGE: read_judge,
    TEXT: read_text,
}
"""How each kind of row is verified: what a bundle carries, a merge takes and a salvage keeps."""


def is_whole(name: str, text: str) -> bool:
    """Say whether a row is of a known kind and verifies."""
    reader = READERS.get(name[: name.find("/") + 1])
    return reader is not None and reader(name, text) is not None


def template_label(request: Mapping[str, Any]) -> str:
    """Return ``name@version`` of a request's template."""
    return f"{request['template']['name']}@{request['template']['version']}"


def entry_digest(key: str, answer: JsonValue) -> str:
    """Return the digest of a call's row.

    The key is the digest of the request, so this covers both without hashing the request twice.
    """
    return digest({"request": key, "answer": answer})
