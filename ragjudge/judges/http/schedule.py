"""In which order calls are sent, so that a server finds their common beginnings in its cache. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import groupby

from ragjudge.records import Call


class Schedule:
    """Hands out calls: those over the same shared part one after another, and the first of them alone.

    The first one puts the shared part into the server's cache; the others wait for it, so that they find
    it there. Calls over another shared part need not wait.

    Args:
        calls: The calls.
        probe: Hand out nothing but the very first call until that is done: a server that is not there, or
            that refuses a form, is then found out with one request.
    """

    def __init__(self, calls: Sequence[Call], *, probe: bool) -> None:
        def place(index: int) -> tuple[str, str]:
            return calls[index].system, calls[index].shared

        order = sorted(range(len(calls)), key=lambda index: (*place(index), calls[index].own, index))
        groups = [list(group) for _, group in groupby(order, key=place)]
        self._leaders = deque(group[0] for group in groups)
        self._followers = {group[0]: group[1:] for group in groups}
        self._ready: deque[int] = deque()
        self._probe = probe
        self._probing = False

    def next(self) -> int | None:
        """Return the index of a call that may be sent now, or None when none may before another is done."""
        if self._probing:
            return None
        self._probing, self._probe = self._probe, False
        if self._ready:
            return self._ready.popleft()
        return self._leaders.popleft() if self._leaders else None

    def done(self, index: int) -> None:
        """Take note that a call has its outcome."""
        self._probing = False
        self._ready.extend(self._followers.pop(index, ()))
