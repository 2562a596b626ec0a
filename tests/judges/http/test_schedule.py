from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ragjudge.judges.http.schedule import Schedule
from ragjudge.records import Call
from tests.judges.http.server import check

CALLS: list[Call] = [
    check("b", "second"),
    check("c", "first"),
    check("a", "second"),
    check("a", "first"),
    check("b", "first"),
]


def test_the_first_call_over_a_shared_part_goes_alone_and_the_others_follow() -> None:
    schedule = Schedule(CALLS, probe=False)
    assert [schedule.next(), schedule.next(), schedule.next()] == [3, 2, None]
    schedule.done(3)
    assert [schedule.next(), schedule.next(), schedule.next()] == [4, 1, None]
    schedule.done(4)
    assert schedule.next() is None
    schedule.done(2)
    assert [schedule.next(), schedule.next()] == [0, None]


def test_a_probe_holds_everything_else_back() -> None:
    schedule = Schedule(CALLS, probe=True)
    assert [schedule.next(), schedule.next()] == [3, None]
    schedule.done(3)
    assert [schedule.next(), schedule.next(), schedule.next(), schedule.next()] == [4, 1, 2, None]


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), max_size=12),
    st.integers(1, 4),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_every_call_is_handed_out_once(
    pairs: list[tuple[str, str]], width: int, probe: bool, random: object
) -> None:
    calls: list[Call] = [check(own, shared) for shared, own in pairs]
    schedule = Schedule(calls, probe=probe)
    out: list[int] = []
    running: list[int] = []
    while True:
        while len(running) < width and (index := schedule.next()) is not None:
            running.append(index)
            out.append(index)
        if not running:
            break
        done = running.pop(random.randrange(len(running)))  # type: ignore[attr-defined]
        schedule.done(done)
    assert sorted(out) == list(range(len(calls)))
