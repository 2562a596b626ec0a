"""Labelled rows for tests, and judges whose probabilities are known."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ragjudge.agreement.labels import LabelledRow
from ragjudge.cache.caching_judge import CachingJudge
from ragjudge.cache.memory import MemoryStore
from ragjudge.cache.opening import open_caching_judge
from ragjudge.judges.base import Judge
from ragjudge.judges.fake import FakeJudge

CONTEXT = "Guido van Rossum began working on Python in the late 1980s and first released it in 1991."


def support(number: int, label: bool, *, claim: str | None = None, **metadata: Any) -> LabelledRow:
    return LabelledRow(
        id=f"row-{number}",
        source="tests",
        task="support",
        contexts=(CONTEXT,),
        claim=claim or f"Claim {number}.",
        label=label,
        metadata=metadata,
    )


def scripted(chances: Mapping[str, float | None]) -> FakeJudge:
    return FakeJudge(chances)


def behind_a_store(judge: Judge, store: MemoryStore | None = None, *, replay: bool = False) -> CachingJudge:
    return open_caching_judge(judge, store or MemoryStore(), replay=replay)


def write_jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path
