"""Many processes on one cache, and one that is killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from ragjudge.cache.store import Store
from tests.cache.helpers import check, key

ROOT = Path(__file__).parents[2]

WRITER = """
import sys
from pathlib import Path
from ragjudge.cache.store import Store
from tests.cache.helpers import JUDGE, check, put
with Store(Path(sys.argv[1])) as store:
    store.remember_judge("fake", {"process": sys.argv[2]})
    for number in range(40):
        put(store, check(f"Claim {(int(sys.argv[2]) * 20 + number) % 160}."))
    assert store.write_error is None, store.write_error
"""

ENDLESS = """
import itertools, sys
from pathlib import Path
from ragjudge.cache.store import Store
from tests.cache.helpers import check, put
store = Store(Path(sys.argv[1]))
for number in itertools.count():
    put(store, check(f"Claim {number}."))
    sys.stdout.write(f"{number}\\n")
    sys.stdout.flush()
"""


def start(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def test_eight_processes_open_and_fill_one_new_cache_at_once(tmp_path: Path) -> None:
    processes = [start(WRITER, str(tmp_path / "cache"), str(number)) for number in range(8)]
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert (process.returncode, errors) == (0, "")
    with Store(tmp_path / "cache", read_only=True) as store:
        calls = {key(check(f"Claim {number}.")) for number in range(160)}
        assert store.get_many(calls).keys() == calls
        assert store.stats().calls == 160
        assert sorted(str(identity["process"]) for identity in store.identities("fake")) == list("01234567")


def test_everything_put_before_a_kill_is_found_after_it(tmp_path: Path) -> None:
    process = start(ENDLESS, str(tmp_path / "cache"))
    assert process.stdout is not None
    assert process.stderr is not None
    last = 0
    while last < 300:
        last = int(process.stdout.readline())
    process.kill()
    rest, errors = process.communicate(timeout=60)
    assert errors == ""
    assert process.returncode == (-signal.SIGKILL if sys.platform != "win32" else 1)
    last = max([last, *(int(line) for line in rest.splitlines() if line)])
    with Store(tmp_path / "cache") as store:
        calls = [key(check(f"Claim {number}.")) for number in range(last)]
        assert len(store.get_many(calls)) == len(calls)
        assert store.damaged == 0
