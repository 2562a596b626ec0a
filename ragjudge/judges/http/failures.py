"""A request without an answer, and what a server says about it."""

from __future__ import annotations

import json
import re
from typing import Any

_MOST_WORDS = 300


class CallFailedError(Exception):
    """This request has no answer; another one may have.

    Args:
        reason: Why, as one sentence without its full stop.
        raw: What came instead.
    """

    def __init__(self, reason: str, raw: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.raw = raw


def words(text: str) -> str:
    """Return what a server says in a body, in one line."""
    try:
        found: Any = json.loads(text)
        while isinstance(found, dict):
            found = next((found[key] for key in ("error", "message", "detail") if found.get(key)), "")
        said = found if isinstance(found, str) else json.dumps(found)
    except (ValueError, RecursionError):
        said = re.sub("<[^<>]*>", " ", text[:20_000])
    line = " ".join(said.split()).rstrip(".")
    return (line if len(line) <= _MOST_WORDS else f"{line[:_MOST_WORDS]}…") or "(nothing)"
