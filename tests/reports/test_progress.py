from __future__ import annotations

import io
import time
from collections.abc import Callable

import pytest
from rich.console import Console

from ragjudge.reports.progress import Progress


class Screen(io.StringIO):
    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        if self.closed:
            raise ValueError("I/O operation on closed file")
        return self._terminal


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def watched(*, terminal: bool = True, forced: bool | None = None) -> tuple[Screen, Console]:
    screen = Screen(terminal=terminal)
    environment = {"TERM": "xterm"}
    return screen, Console(
        file=screen, width=120, force_terminal=forced, legacy_windows=False, _environ=environment
    )


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10.0
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_long_work_shows_a_bar_with_counts_and_wipes_it() -> None:
    screen, console = watched()
    with Progress(120, console, delay=0.0) as progress:
        wait_until(lambda: "0/120 calls" in screen.getvalue())
        progress.advance(replayed=30)
        progress.advance(judged=3, failed=1)
        progress.row_done()
        wait_until(lambda: "34/120 calls, 30 replayed, 1 failed, 1 row done" in screen.getvalue())
    assert screen.getvalue().endswith("\x1b[2K")


def test_short_work_shows_nothing() -> None:
    screen, console = watched()
    with Progress(5, console, delay=60.0) as progress:
        progress.advance(replayed=5)
    assert screen.getvalue() == ""


@pytest.mark.parametrize("forced", [None, True])
def test_nothing_is_shown_where_nobody_watches(forced: bool | None) -> None:
    screen, console = watched(terminal=False, forced=forced)
    with Progress(5, console, delay=0.0) as progress:
        time.sleep(0.05)
        progress.advance(judged=1)
    assert screen.getvalue() == ""


def test_nothing_is_shown_when_quiet() -> None:
    screen, console = watched()
    with Progress(5, console, quiet=True, delay=0.0) as progress:
        time.sleep(0.05)
        progress.advance(judged=1)
    assert screen.getvalue() == ""


def test_a_closed_output_is_no_terminal() -> None:
    screen, console = watched(forced=True)
    screen.close()
    with Progress(5, console, delay=0.0) as progress:
        time.sleep(0.05)
        progress.advance(judged=1)
    assert progress.done == 1


def test_a_failing_run_takes_its_bar_away() -> None:
    screen, console = watched()

    def fail() -> None:
        with Progress(5, console, delay=0.0):
            wait_until(lambda: "0/5 calls" in screen.getvalue())
            raise KeyError("broken")

    with pytest.raises(KeyError):
        fail()
    assert screen.getvalue().endswith("\x1b[2K")


def test_a_timer_that_fires_after_the_end_draws_nothing() -> None:
    screen, console = watched()
    with Progress(5, console, delay=60.0) as progress:
        pass
    progress._show()
    assert screen.getvalue() == ""


def test_what_the_users_program_prints_stays_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    screen, console = watched()
    with Progress(5, console, delay=0.0):
        wait_until(lambda: "0/5 calls" in screen.getvalue())
        print("from the program")
    assert capsys.readouterr().out == "from the program\n"
    assert "from the program" not in screen.getvalue()


def test_the_estimate_leaves_out_the_loading_and_the_cache() -> None:
    clock = Clock()
    progress = Progress(100, watched()[1], clock=clock)
    progress.advance(replayed=20)
    assert progress.remaining() is None
    clock.now = 30.0
    progress.advance(judged=10)
    assert progress.remaining() is None
    clock.now = 50.0
    progress.advance(judged=9, failed=1)
    assert progress.remaining() == pytest.approx(120.0)
    assert progress.status() == "40/100 calls, 20 replayed, 1 failed, about 2 min 00 s left"


def test_the_total_may_grow() -> None:
    clock = Clock()
    progress = Progress(2, watched()[1], clock=clock)
    progress.advance(judged=1)
    clock.now = 3.0
    progress.advance(judged=1)
    assert progress.status() == "2/2 calls"
    progress.set_total(4)
    assert progress.status() == "2/4 calls, about 6 s left"


def test_more_calls_than_expected_are_no_error() -> None:
    progress = Progress(0, watched()[1])
    progress.advance(judged=3)
    assert progress.status() == "3/3 calls"
    assert progress.done == 3
