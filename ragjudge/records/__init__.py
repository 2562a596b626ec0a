"""The records that travel between the layers: samples in, calls and answers between, a report out.

All are frozen pydantic models that refuse unknown fields, so a misspelt key is an error and never a
silently ignored one. Only what is stored or reported lives here; working state lives with its layer.
"""

from __future__ import annotations

from ragjudge.records.agreement import (
    Agreement,
    AgreementPart,
    CheckedRow,
    CheckUsage,
    Estimate,
    Measures,
    ReliabilityBin,
    RocPoint,
    WrongRow,
)
from ragjudge.records.base import (
    LEAST_JUDGES,
    MOST_JUDGES,
    SCHEMA_VERSION,
    Mode,
    OnEmpty,
    PanelBy,
    Record,
    Status,
)
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
    Unfinished,
    Verdict,
    WindowVerdict,
)
from ragjudge.records.panel import PanelOutcome, PanelReply, PanelVerdict, Vote
from ragjudge.records.report import (
    LEAST_COVERAGE,
    JudgeInfo,
    MetricSummary,
    Report,
    Row,
    Usage,
    have_passed,
    is_enough,
)
from ragjudge.records.sample import FIELDS, Sample
from ragjudge.records.scores import Item, Score

__all__ = [
    "FIELDS",
    "LEAST_COVERAGE",
    "LEAST_JUDGES",
    "MOST_JUDGES",
    "SCHEMA_VERSION",
    "Agreement",
    "AgreementPart",
    "Answer",
    "Call",
    "CallFailure",
    "Check",
    "CheckUsage",
    "CheckedRow",
    "ChunkSpan",
    "Estimate",
    "Item",
    "JudgeInfo",
    "Measures",
    "MetricSummary",
    "Mode",
    "OnEmpty",
    "Outcome",
    "Oversize",
    "PanelBy",
    "PanelOutcome",
    "PanelReply",
    "PanelVerdict",
    "Prompt",
    "Record",
    "ReliabilityBin",
    "Reply",
    "Report",
    "RocPoint",
    "Row",
    "Sample",
    "Score",
    "Segment",
    "Status",
    "Unfinished",
    "Usage",
    "Verdict",
    "Vote",
    "WindowVerdict",
    "WrongRow",
    "have_passed",
    "is_enough",
]
