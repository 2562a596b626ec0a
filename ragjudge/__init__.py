"""ragjudge: grade retrieval-augmented generation offline.

A local judge model answers closed questions about each claim, sentence and chunk; a
content-addressed cache replays every answer. Importing this package does nothing else: names are
loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "AnswerRelevancy": "ragjudge.scorers",
    "ContextPrecision": "ragjudge.scorers",
    "ContextRecall": "ragjudge.scorers",
    "ContextRelevance": "ragjudge.scorers",
    "FakeJudge": "ragjudge.judges.fake",
    "Faithfulness": "ragjudge.scorers",
    "Judge": "ragjudge.judges.base",
    "Metric": "ragjudge.metrics.base",
    "RagjudgeError": "ragjudge.errors",
    "Report": "ragjudge.records",
    "Sample": "ragjudge.records",
    "Score": "ragjudge.records",
    "Scorer": "ragjudge.scorers",
    "evaluate": "ragjudge.evaluation",
    "open_judge": "ragjudge.judges.registry",
}

__all__ = [
    "AnswerRelevancy",
    "ContextPrecision",
    "ContextRecall",
    "ContextRelevance",
    "Faithfulness",
    "FakeJudge",
    "Judge",
    "Metric",
    "RagjudgeError",
    "Report",
    "Sample",
    "Score",
    "Scorer",
    "__version__",
    "evaluate",
    "open_judge",
]

if TYPE_CHECKING:
    from ragjudge.errors import RagjudgeError
    from ragjudge.evaluation import evaluate
    from ragjudge.judges.base import Judge
    from ragjudge.judges.fake import FakeJudge
    from ragjudge.judges.registry import open_judge
    from ragjudge.metrics.base import Metric
    from ragjudge.records import Report, Sample, Score
    from ragjudge.scorers import (
        AnswerRelevancy,
        ContextPrecision,
        ContextRecall,
        ContextRelevance,
        Faithfulness,
        Scorer,
    )


def __getattr__(name: str) -> Any:
    """Load a public name from its module at its first use."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
