"""Answers that name the model that gave them: which of the stored ones still hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ragjudge.cache.caching_judge import CachingJudge
from ragjudge.cache.memory import MemoryStore
from ragjudge.judges.base import Identity, Judge
from ragjudge.records import Answer, Call, Outcome, Verdict
from tests.cache.helpers import JUDGE, check, put

OLD = Verdict(log_probabilities={"yes": -0.2, "no": -2.0}, served="old")
NEW = Verdict(log_probabilities={"yes": -0.1, "no": -3.0}, served="new")
SILENT = Verdict(log_probabilities={"yes": -0.3, "no": -1.5})


class Server(Judge):
    """Answers as `new`, and knows so once it was asked."""

    def __init__(self) -> None:
        super().__init__("server")
        self.asked: list[str] = []

    def identity(self) -> Identity:
        return JUDGE

    def confirms(self, answer: Answer) -> bool:
        return not self.asked or answer.served in (None, "new")

    def ask(self, calls: Sequence[Call]) -> Iterator[tuple[int, Outcome]]:
        for index, call in enumerate(calls):
            self.asked.append(call.own)
            yield index, NEW


def test_when_nothing_is_missing_stored_answers_hold_and_nobody_is_asked() -> None:
    server, store = Server(), MemoryStore()
    put(store, check("a"), OLD)
    judge = CachingJudge(server, store, JUDGE, id="server")
    assert dict(judge.ask([check("a")])) == {0: OLD}
    assert server.asked == []


def test_what_is_missing_comes_first_and_tells_which_stored_answers_hold() -> None:
    server, store = Server(), MemoryStore()
    for own, answer in (("a", OLD), ("b", NEW), ("c", SILENT)):
        put(store, check(own), answer)
    judge = CachingJudge(server, store, JUDGE, id="server")
    answers = list(judge.ask([check(own) for own in "abcd"]))
    assert answers == [(3, NEW), (1, NEW), (2, SILENT), (0, NEW)]
    assert server.asked == ["d", "a"]
    assert (judge.calls_judged, judge.calls_replayed) == (2, 2)
    assert dict(CachingJudge(None, store, JUDGE, id="server").ask([check("a")])) == {0: NEW}


def test_a_replay_takes_what_is_stored_whoever_gave_it() -> None:
    store = MemoryStore()
    put(store, check("a"), OLD)
    put(store, check("b"), NEW)
    judge = CachingJudge(None, store, JUDGE, id="server")
    assert dict(judge.ask([check("a"), check("b")])) == {0: OLD, 1: NEW}
