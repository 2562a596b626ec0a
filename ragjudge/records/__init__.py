"""The records that travel between the layers: samples in, calls and answers between, a report out.

All are frozen pydantic models that refuse unknown fields, so a misspelt key is an error and never a
silently ignored one. Only what is stored or reported lives here; working state lives with its layer.
"""

from __future__ import annotations

from ragjudge.records.base import SCHEMA_VERSION, Mode, OnEmpty, Record, Status
from ragjudge.records.calls import (
    Answer,
    Call,
    CallFailure,
    Check,
    ChunkSpan,
    Outcome,
    Oversize,
    Prompt,
    Reply,
    Segment,
    Verdict,
    WindowVerdict,
)
from ragjudge.records.report import JudgeInfo, MetricSummary, Report, Row, Usage
from ragjudge.records.sample import Sample
from ragjudge.records.scores import Item, Score

__all__ = [
    "SCHEMA_VERSION",
    "Answer",
    "Call",
    "CallFailure",
    "Check",
    "ChunkSpan",
    "Item",
    "JudgeInfo",
    "MetricSummary",
    "Mode",
    "OnEmpty",
    "Outcome",
    "Oversize",
    "Prompt",
    "Record",
    "Reply",
    "Report",
    "Row",
    "Sample",
    "Score",
    "Segment",
    "Status",
    "Usage",
    "Verdict",
    "WindowVerdict",
]
