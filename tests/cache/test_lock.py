from __future__ import annotations

import errno
import sys
from pathlib import Path

import pytest

from ragjudge.cache.lock import opening_lock
from ragjudge.errors import CacheError


def test_one_holder_at_a_time(tmp_path: Path) -> None:
    with (
        opening_lock(tmp_path, 1.0),
        pytest.raises(CacheError, match="being opened by another process"),
        opening_lock(tmp_path, 0.05),
    ):
        raise AssertionError("two holders")
    with opening_lock(tmp_path, 0.0):
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="the locks of POSIX")
@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_used_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    import fcntl

    def fail(handle: int, operation: int) -> None:
        raise OSError(number, "not here")

    monkeypatch.setattr(fcntl, "flock", fail)
    with opening_lock(tmp_path, 0.0):
        assert (tmp_path / ".lock").exists()
