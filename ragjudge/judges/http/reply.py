"""Answers in free text: reasoning taken out, the object or the word found that was asked for. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn

from ragjudge.judges.http.failures import CallFailedError

MOST_CHARACTERS = 200_000
"""Longest text that is searched; each brace in it may cost a look at all that follows."""

MOST_BRACES = 500
"""Braces at which an object is looked for."""

ANSWER_KEYS = ("answer", "verdict")
"""Keys under which the label may stand when the answer is an object."""

_NAMES = "think|thinking|thought|reasoning|reflection|seed:think"
_OPEN = (
    rf"<(?:{_NAMES})(?:\s[^<>]{{0,100}})?>|\[THINK\]|◁think▷|<\|begin_of_thought\|>"
    r"|<\|channel\|>(?:analysis|commentary)<\|message\|>"
)
_CLOSE = (
    rf"</(?:{_NAMES})\s?>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>"
    r"|<\|channel\|>final[^<>]{0,40}<\|message\|>"
)
_TAG = re.compile(f"(?P<open>{_OPEN})|{_CLOSE}", re.IGNORECASE)

_PREFIX = r"(?:(?:the\s+|my\s+)?(?:final\s+)?(?:answer|verdict)(?:\s+is)?\s*:?\s*)?"
_EDGE = r"[\s*_`\"'“”‘’(\[{>#-]{0,20}"
# What makes a word a part of a phrase ("No contradiction", "No-one"), and not an answer.
_GOES_ON = r"(?:[-'’]\w|[^\S\n]+\w)"
# What another answer can follow; elsewhere the same word is one of the explanation ("there is no …").
_ANEW = r"(?:[,.!?…:;\n/|]|\b(?:wait|actually|rather|sorry|or|and|but)\b,?)"
_FULL = re.IGNORECASE | re.DOTALL


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


_DECODER = json.JSONDecoder(parse_constant=_refuse, object_pairs_hook=_once)


def without_reasoning(text: str) -> str:
    """Take out what a model thought before it answered.

    A closing tag without an opening one ends reasoning that began with the text. An opening tag that is
    never closed begins reasoning that was cut off.
    """
    kept: list[str] = []
    position = 0
    thinking = False
    for tag in _TAG.finditer(text):
        if tag["open"] is not None:
            if not thinking:
                kept.append(text[position : tag.start()])
            thinking = True
            continue
        if not thinking:
            kept.clear()
        thinking = False
        position = tag.end()
    if not thinking:
        kept.append(text[position:])
    return "".join(kept).strip()


def find_object(text: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON object in a text that fits a schema, be it in prose or in a code fence.

    What a model thought before it answered does not count.

    Raises:
        CallFailedError: There is none, or there are several that say different things.
    """
    with suppress(ValueError, RecursionError):
        # Nothing but the object: a tag in one of its texts is a text.
        whole = _DECODER.decode(text)
        if fits(whole, schema):
            return whole  # type: ignore[no-any-return]
    fitting = [found for found in _objects(without_reasoning(text)) if fits(found, schema)]
    if not fitting:
        raise CallFailedError("the reply holds no JSON object that fits the schema", text)
    if any(found != fitting[0] for found in fitting[1:]):
        raise CallFailedError("the reply holds JSON objects that contradict each other", text)
    return fitting[0]


def find_label(text: str, labels: Sequence[str]) -> str:
    """Return the label that a text gives as its answer.

    It may be an object with the label; a text whose last line is the label alone; or one that begins with
    the label and a mark or a line's end behind it ("Yes.", "yes - because …"), and does not answer anew with
    another label. Nothing else is guessed at: "No... wait, yes" is no answer, nor is "No contradiction",
    whose first word is a part of what is said.

    Raises:
        CallFailedError: It is none of these, or it names two labels.
    """
    answer = without_reasoning(text)
    found = set(_labels_in_objects(answer, labels)) or _labels_in_words(answer, labels)
    if len(found) == 1:
        return found.pop()
    listed = " / ".join(labels)
    if found:
        raise CallFailedError(f"the answer names more than one of {listed}", text)
    raise CallFailedError(f"the answer is not one of {listed}", text)


def fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Say whether a value fits a JSON Schema of the few words that templates use.

    Known: type, enum, properties, required, items, minimum, maximum. An object has no keys beside its
    properties.
    """
    if "enum" in schema and value not in schema["enum"]:
        return False
    kind = schema.get("type")
    if kind == "object":
        properties = schema.get("properties", {})
        return (
            isinstance(value, dict)
            and set(schema.get("required", ())) <= set(value) <= set(properties)
            and all(fits(inner, properties[key]) for key, inner in value.items())
        )
    if kind == "array":
        items = schema.get("items", {})
        return isinstance(value, list) and all(fits(inner, items) for inner in value)
    if kind in ("number", "integer"):
        whole = kind == "integer"
        return (
            isinstance(value, int if whole else (int, float))
            and not isinstance(value, bool)
            and abs(value) != math.inf
            and schema.get("minimum", value) <= value <= schema.get("maximum", value)
        )
    return kind is None or isinstance(value, {"string": str, "boolean": bool}[kind])


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a text in order; one inside another is yielded too."""
    text = text[:MOST_CHARACTERS]
    position = -1
    for _ in range(MOST_BRACES):
        position = text.find("{", position + 1)
        if position < 0:
            return
        try:
            found, _ = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            continue
        yield found


def _labels_in_objects(text: str, labels: Sequence[str]) -> Iterator[str]:
    for found in _objects(text):
        for key, value in found.items():
            if key.casefold() in ANSWER_KEYS and isinstance(value, str):
                yield from _labels_in_words(value, labels)


def _labels_in_words(text: str, labels: Sequence[str]) -> set[str]:
    """Return the labels that a text gives as its answer: none, the one, or all that it names."""
    known = {label.casefold(): label for label in labels}
    # The longest first, so that a label is not taken for another one that it begins with.
    one = "|".join(map(re.escape, sorted(labels, key=len, reverse=True)))
    begins = re.match(rf"{_EDGE}{_PREFIX}{_EDGE}({one})(?!\w)", text, _FULL)
    first = set() if begins is None else {known[begins[1].casefold()]}
    rest = "" if begins is None else text[begins.end() :]
    is_answer = re.match(_GOES_ON, rest) is None
    last = re.fullmatch(rf"{_EDGE}{_PREFIX}{_EDGE}({one})\W*", text.strip().rpartition("\n")[2], _FULL)
    if last is not None:
        return {known[last[1].casefold()], *(first if is_answer else ())}
    anew = re.findall(rf"{_ANEW}{_EDGE}({one})(?!\w|{_GOES_ON})", rest, _FULL)
    others = {known[name.casefold()] for name in anew} - first
    return first | others if is_answer or others else set()
