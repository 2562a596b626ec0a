"""Several judges behind one store that answer together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import get_args

import pytest

from ragjudge.cache.caching_judge import CachingJudge, CallsMissingError
from ragjudge.cache.memory import MemoryStore
from ragjudge.cache.panel import Panel, Seating, check_size, unique_names, with_panels
from ragjudge.cache.protocol import CallStore, CountedJudge
from ragjudge.errors import ConfigError, PromptTooLongError, UsageError
from ragjudge.judges.base import Identity, Judge
from ragjudge.judges.fake import FakeJudge
from ragjudge.prompts.answers import probability
from ragjudge.prompts.profile import Profile, load_profile
from ragjudge.prompts.template import load_template
from ragjudge.records import Call, CallFailure, Outcome, PanelBy, PanelReply, PanelVerdict, Verdict
from tests.cache.helpers import check, prompt

CLAIM = "The Danube ends in the Black Sea."


class Trained(FakeJudge):
    """A fake judge that follows a profile in which yes speaks against a claim."""

    @property
    def profile(self) -> Profile:
        return load_profile("granite-guardian")


def behind(judge: Judge, store: CallStore, *, replay: bool = False) -> CachingJudge:
    below = None if replay else judge
    return CachingJudge(below, store, judge.identity(), id=judge.id, profile=judge.profile)


def judges(*chances: float | None) -> list[FakeJudge]:
    return [FakeJudge({CLAIM: chance}, score=n / 10, id=f"j{n}") for n, chance in enumerate(chances, 1)]


def panel(members: Sequence[Judge], store: CallStore | None = None, *, replay: bool = False) -> Panel:
    store = MemoryStore() if store is None else store
    return Panel([behind(judge, store, replay=replay) for judge in members])


def test_each_judge_is_asked_everything_and_they_answer_together() -> None:
    members = judges(0.9, 0.7, 0.1)
    asked = panel(members)
    outcomes = dict(asked.ask([check(), prompt()]))
    assert isinstance(outcomes[0], PanelVerdict)
    assert probability(outcomes[0], "yes") == pytest.approx(0.7, abs=1e-6)
    assert isinstance(outcomes[1], PanelReply)
    assert [len(judge.asked) for judge in members] == [2, 2, 2]
    assert (asked.calls_judged, asked.calls_replayed, asked.calls_failed) == (6, 0, 0)
    assert asked.id == "j1, j2, j3"


def test_only_what_each_judge_said_is_stored() -> None:
    store, members = MemoryStore(), judges(0.9, 0.7, 0.1)
    list(panel(members, store).ask([check()]))
    fingerprints = {request["judge"] for _, request in store.requests()}
    assert fingerprints == {judge.identity().fingerprint for judge in members}
    assert store.stats().calls == 3


def test_another_way_of_deciding_and_another_panel_ask_nothing_anew() -> None:
    store, members = MemoryStore(), judges(0.9, 0.7, 0.1)
    list(panel(members, store).ask([check()]))
    smaller = Panel([behind(judge, store) for judge in members[1:]], "mean")
    ((_, outcome),) = smaller.ask([check()])
    assert isinstance(outcome, PanelVerdict)
    assert probability(outcome, "yes") == pytest.approx(0.4, abs=1e-6)
    assert (smaller.calls_judged, smaller.calls_replayed) == (0, 2)
    assert [len(judge.asked) for judge in members] == [1, 1, 1]


def test_a_judge_that_answered_is_closed_before_the_next_is_asked() -> None:
    order: list[str] = []

    class Watched(FakeJudge):
        def ask(self, calls: Sequence[Call]) -> Iterator[tuple[int, Outcome]]:
            order.append(f"{self.id} asked")
            return super().ask(calls)

        def close(self) -> None:
            order.append(f"{self.id} closed")

    asked = panel([Watched({CLAIM: 0.9}, id="a"), Watched({CLAIM: 0.1}, id="b")])
    list(asked.ask([check()]))
    assert order == ["a asked", "a closed", "b asked", "b closed"]
    list(asked.ask([check()]))
    assert len(order) == 4  # all stored: nobody was opened


def test_what_a_judge_could_not_answer_is_not_asked_again() -> None:
    members = judges(0.9, None, 0.8)
    asked = panel(members)
    first = dict(asked.ask([check(), check("Bananas are blue.")]))
    assert dict(asked.ask([check("Bananas are blue."), check()])) == {0: first[1], 1: first[0]}
    assert [len(judge.asked) for judge in members] == [2, 2, 2]
    assert isinstance(first[0], PanelVerdict)
    assert [vote.error is None for vote in first[0].votes] == [True, False, True]
    assert asked.calls_failed == 1


def test_a_judge_that_answers_with_a_number_that_is_none_has_no_vote() -> None:
    class Broken(FakeJudge):
        def ask(self, calls: Sequence[Call]) -> Iterator[tuple[int, Outcome]]:
            labels = {"yes": math.nan, "no": math.nan}
            yield from ((index, Verdict(log_probabilities=labels)) for index in range(len(calls)))

    for by in get_args(PanelBy):
        members = [*judges(0.9, 0.7), Broken(id="broken")]
        ((_, outcome),) = Panel([behind(judge, MemoryStore()) for judge in members], by).ask([check()])
        assert isinstance(outcome, PanelVerdict)
        assert probability(outcome, "yes") == pytest.approx(0.8, abs=1e-6)
        assert [vote.probability for vote in outcome.votes] == [0.9, 0.7, None]


def test_a_judge_with_a_profile_is_asked_in_its_own_words() -> None:
    plain, trained = FakeJudge({CLAIM: 0.9}, id="plain"), Trained({CLAIM: 0.8}, id="trained")
    call = load_template("support").check(CLAIM, {"question": "Where?"}, ["The Danube is a river."])
    ((_, outcome),) = panel([plain, trained]).ask([call])
    assert plain.asked == [call]
    assert trained.asked[0].template == "granite-guardian.support"
    assert isinstance(outcome, PanelVerdict)
    assert set(outcome.log_probabilities) == set(call.labels)
    assert [vote.probability for vote in outcome.votes] == [0.9, 0.8]


def test_a_question_that_a_judge_was_not_trained_for_names_the_judge() -> None:
    with pytest.raises(
        ConfigError, match=r"^judge 'trained': the judge follows the profile 'granite-guardian'"
    ):
        list(panel([FakeJudge(), Trained({CLAIM: 0.8}, id="trained")]).ask([prompt()]))


def test_a_replay_that_misses_a_call_names_it() -> None:
    store, members = MemoryStore(), judges(0.9, 0.1)
    list(panel(members[:1] + judges(0.3), store).ask([check()]))
    asked = panel(members, store, replay=True)
    assert len(dict(asked.seats[0].ask([check()]))) == 1
    with pytest.raises(CallsMissingError) as caught:
        list(asked.seats[1].ask([check()]))
    assert [missing.index for missing in caught.value.missing] == [0]
    assert "judge" in caught.value.missing[0].nearest


def test_a_prompt_too_long_names_the_judge_and_the_right_call() -> None:
    class Narrow(FakeJudge):
        def ask(self, calls: Sequence[Call]) -> Iterator[tuple[int, Outcome]]:
            for index, call in enumerate(calls):
                if call.own == "lost":
                    yield index, CallFailure(reason="lost")
                elif call.own == "long":
                    raise PromptTooLongError(900, 512, index)

    asked = panel([FakeJudge(), Narrow({"x": 1.0}, id="narrow")])
    list(asked.seats[1].ask([check("lost")]))
    with pytest.raises(PromptTooLongError) as caught:
        list(asked.ask([check("lost"), check("long")]))
    assert caught.value.index == 1
    assert caught.value.message.startswith("judge 'narrow': the prompt has 900 tokens")


def test_two_of_a_kind_have_names_of_their_own() -> None:
    assert unique_names(["fake", "x", "fake", "fake#2", "fake"]) == [
        "fake",
        "x",
        "fake#2",
        "fake#2#2",
        "fake#3",
    ]
    asked = panel([FakeJudge({CLAIM: 0.9}), FakeJudge({CLAIM: 0.1})])
    assert [seat.id for seat in asked.seats] == ["fake", "fake#2"]
    assert [seat.info().id for seat in asked.seats] == ["fake", "fake"]


def test_the_same_judge_twice_is_refused_whatever_it_is_called() -> None:
    with pytest.raises(ConfigError, match="'one' and 'two' are the same judge; a panel has each judge once"):
        panel([FakeJudge(id="one"), FakeJudge(id="two")])


@pytest.mark.parametrize(("number", "found"), [(0, "an empty list"), (1, "1 judge"), (10, "10 judges")])
def test_a_panel_has_two_to_nine_judges(number: int, found: str) -> None:
    with pytest.raises(UsageError, match=f"^llm: found {found}; accepted: a list of 2 to 9 judges.$"):
        check_size(number, "llm")
    for enough in (2, 9):
        check_size(enough, "llm")


def test_who_a_panel_is_follows_from_its_judges_and_how_they_decide() -> None:
    store, members = MemoryStore(), judges(0.9, 0.1)
    counted = [behind(judge, store) for judge in members]
    identities: list[Identity] = [
        Panel(counted).identity(),
        Panel(counted, "mean").identity(),
        Panel(counted[::-1]).identity(),
    ]
    assert len({identity.fingerprint for identity in identities}) == 3


def test_judges_and_their_panels_are_found_by_their_keys() -> None:
    store, members = MemoryStore(), judges(0.9, 0.1)
    counted: dict[str, CountedJudge] = {judge.id: behind(judge, store) for judge in members}
    found = with_panels(counted, {"both": Seating(("j2", "j1"), "mean")})
    assert list(found) == ["j1", "j2", "both"]
    assert found["both"].members == (counted["j2"], counted["j1"])
    assert found["j1"].members == (counted["j1"],)
    assert found["j1"].seats == ()


def test_closing_a_panel_closes_its_judges_and_its_usage_is_the_sum_of_theirs() -> None:
    closed: list[str] = []

    class Costly(FakeJudge):
        def ask(self, calls: Sequence[Call]) -> Iterator[tuple[int, Outcome]]:
            self.usage.tokens_decoded += 10
            self.usage.judge_seconds += 0.5
            return super().ask(calls)

        def close(self) -> None:
            closed.append(self.id)

    asked = panel([Costly({CLAIM: 0.9}, id="a"), Costly({CLAIM: 0.1}, id="b")])
    list(asked.ask([check()]))
    assert (asked.usage.tokens_decoded, asked.usage.judge_seconds) == (20, 1.0)
    closed.clear()
    asked.close()
    assert closed == ["a", "b"]
