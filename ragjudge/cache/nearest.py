"""Why a call is not in the cache: the stored request that is most like it, and how the two differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, final

from ragjudge.cache.protocol import CallStore
from ragjudge.judges.base import digest

if TYPE_CHECKING:
    from pydantic import JsonValue

NOTHING = "nothing like it is stored"

_MOST_REQUESTS = 100_000  # stored requests that are looked at: about two seconds
_MOST_TIES = 1_000  # equally good ones among which the texts decide
_AROUND = 20  # characters shown before and after the first difference

_WEIGHTS = {
    "own": 4,
    "shared": 4,
    "template": 3,
    "version": 2,
    "judge": 2,
    "labels": 1,
    "grammar": 1,
    "max_tokens": 1,
    "system": 1,
    "render_version": 1,
}
_TEXTS = {
    "system": "the standing instruction",
    "shared": "the context or question",
    "own": "the claim",
    "grammar": "the grammar",
}
_PLAIN = {
    "template": "the template",
    "version": "the template's version",
    "labels": "the set of labels",
    "max_tokens": "the answer's length",
    "render_version": "the rendering version",
}


@final
@dataclass
class _Search:
    """One missing call and the best that was found for it so far."""

    asked: dict[str, Any]
    texts: Mapping[str, str]
    score: int = 0
    likeness: float = -1.0
    ties: int = 0
    best: dict[str, Any] = field(default_factory=dict)


def explain(misses: Sequence[tuple[JsonValue, Mapping[str, str]]], store: CallStore) -> list[str]:
    """Say for each missing call, in one clause, what is stored instead.

    Args:
        misses: Requests with their long texts, as `keys.request_of` gives them.
        store: Where they were looked for.

    Returns:
        A clause for each, e.g. ``the judge differs: window 4096 is stored, 8192 is asked``.

    Raises:
        CacheError: The store can not be read.
    """
    searches = [_Search(_fields(document) or {}, texts) for document, texts in misses]
    for _, request in islice(store.requests(), _MOST_REQUESTS):
        stored = _fields(request)
        if stored is not None:
            for search in searches:
                _consider(search, stored, store)
    return [_clause(search, store) for search in searches]


def _fields(document: Any) -> dict[str, Any] | None:
    """Lay a request out flat; None when it has not the shape of one."""
    try:
        system, user = document["messages"]
        (shared, own), (standing,) = user["content"], system["content"]
        template = document["template"]
        flat = {"template": template["name"], "version": template["version"]}
        flat |= {"system": standing, "shared": shared, "own": own}
        names = ("judge", "render_version", "labels", "grammar", "max_tokens")
        return flat | {name: document[name] for name in names if name in document}
    except (KeyError, TypeError, ValueError):
        return None


def _consider(search: _Search, stored: dict[str, Any], store: CallStore) -> None:
    asked = search.asked
    if asked.keys() != stored.keys():  # a check is never like a prompt
        return
    same = {name for name in asked if asked[name] == stored[name]}
    if len(same & {"template", "shared", "own"}) < 2:
        return
    score = sum(_WEIGHTS[name] for name in same)
    if score < search.score or (score == search.score and search.ties >= _MOST_TIES):
        return
    if score > search.score:
        search.score, search.likeness, search.ties = score, -1.0, 0
    search.ties += 1
    likeness = sum(
        _likeness(_text(asked[name], search.texts, store), _text(stored[name], {}, store))
        for name in ("shared", "own")
        if name not in same
    )
    if likeness > search.likeness:
        search.likeness, search.best = likeness, stored


def _clause(search: _Search, store: CallStore) -> str:
    asked, stored = search.asked, search.best
    if not stored:
        return NOTHING
    clauses: list[str] = []
    for name in asked:
        if asked[name] == stored[name]:
            continue
        if name == "judge":
            clauses.append(_judge_clause(stored[name], asked[name], store))
        elif name in _PLAIN:
            found, wanted = _shown(stored[name]), _shown(asked[name])
            clauses.append(f"{_PLAIN[name]} differs: {found} is stored, {wanted} is asked")
        else:
            clauses.append(_text_clause(name, search, store))
    return "; ".join(clauses) or NOTHING


def _text_clause(name: str, search: _Search, store: CallStore) -> str:
    wanted = _text(search.asked[name], search.texts, store)
    found = _text(search.best[name], {}, store)
    if wanted is None or found is None:
        return f"{_TEXTS[name]} differs"
    at = _common_prefix(found, wanted)
    begin = max(0, at - _AROUND)
    return (
        f"{_TEXTS[name]} differs from character {at + 1} on: {_excerpt(found, begin, at)} is stored, "
        f"{_excerpt(wanted, begin, at)} is asked"
    )


def _excerpt(text: str, begin: int, at: int) -> str:
    # repr() keeps control characters of foreign texts away from the terminal.
    end = at + _AROUND
    return f"{'…' if begin else ''}{text[begin:end]!r}{'…' if end < len(text) else ''}"


def _judge_clause(stored: Any, asked: Any, store: CallStore) -> str:
    known = {digest(dict(document)): document for group in store.judges().values() for document in group}
    found, wanted = known.get(str(stored)), known.get(str(asked))
    if found is None or wanted is None:
        return f"the judge differs: {str(stored)[:12]!r} is stored, {str(asked)[:12]!r} is asked"
    names = [name for name in sorted({*found, *wanted}) if found.get(name) != wanted.get(name)]
    details = [_stored_and_asked(name, found.get(name), wanted.get(name)) for name in names]
    return f"the judge differs: {', '.join(details)}"


def _stored_and_asked(name: str, stored: Any, asked: Any) -> str:
    return f"{name} {_shown(stored)} is stored, {_shown(asked)} is asked"


def _text(part: Any, texts: Mapping[str, str], store: CallStore) -> str | None:
    if isinstance(part, str):
        return part
    name = part.get("sha256") if isinstance(part, dict) else None
    if not isinstance(name, str):
        return None
    return texts.get(name) or store.text(name)


def _likeness(one: str | None, other: str | None) -> float:
    """Return which share of two texts is common from either end, in [0, 1]."""
    if one is None or other is None:
        return 0.0
    longest = max(len(one), len(other))
    if not longest:
        return 1.0
    head = _common_prefix(one, other)
    tail = _common_prefix(one[head:][::-1], other[head:][::-1])
    return (head + tail) / longest


def _common_prefix(one: str, other: str) -> int:
    """Return how many characters two texts begin with in common, by halving."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
