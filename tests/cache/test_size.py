"""What a cache takes on disk: texts once, a call about a kilobyte, in a bundle a fifth of it."""

from __future__ import annotations

from pathlib import Path

from ragjudge import evaluate
from ragjudge.cache.bundle import write_bundle
from ragjudge.cache.store import Store
from ragjudge.sessions import close_shared

ROWS = 40
METRICS = ["faithfulness", "answer_relevancy", "context_precision", "context_recall", "context_relevance"]


def rows() -> list[dict[str, object]]:
    def chunk(row: int, number: int) -> str:
        return " ".join(
            f"Sentence {part} of chunk {number} tells something about bridge {row}, which nobody knew."
            for part in range(4)
        )

    return [
        {
            "input": f"What is known about bridge {number}?",
            "output": f"Bridge {number} is known. It has sentences. Nobody knew bridge {number} before.",
            "contexts": [chunk(number, place) for place in range(4)],
            "expected": f"Bridge {number} is known. Nobody knew it before.",
        }
        for number in range(ROWS)
    ]


def test_forty_rows_of_five_metrics_take_a_kilobyte_a_call(tmp_path: Path) -> None:
    done = evaluate(dataset=rows(), scorers=METRICS, llm="fake", cache=tmp_path / "cache")
    close_shared()
    with Store(tmp_path / "cache", read_only=True) as store:
        stats = store.stats()
        write_bundle(tmp_path / "all.rjz", store.rows())
    assert stats.calls == done.report.usage.calls_judged > 15 * ROWS
    assert stats.bytes / stats.calls < 1_500
    assert stats.texts / ROWS < 10
    assert (tmp_path / "all.rjz").stat().st_size / stats.calls < 300
