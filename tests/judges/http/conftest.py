from __future__ import annotations

import pytest

from ragjudge.judges.http import calling


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calling, "FIRST_DELAY", 0.002)
