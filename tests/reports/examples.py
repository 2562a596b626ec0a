"""Small reports to print and write, and consoles to print them on."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from ragjudge.records import Item, JudgeInfo, MetricSummary, Report, Row, Score, Usage

APOLLO = "When did Apollo 11 land on the Moon, and who were the two astronauts that walked on it?"


def item(text: str, probability: float | None, **fields: Any) -> Item:
    verdict = None if probability is None else probability >= 0.5
    mass = None if probability is None else 0.99
    values = {
        "start": 0,
        "end": len(text),
        "verdict": verdict,
        "probability": probability,
        "label_mass": mass,
    }
    return Item(text=text, **{**values, **fields})


def score(value: float | None, metric: str = "faithfulness", **fields: Any) -> Score:
    threshold = fields.pop("threshold", 0.7)
    passed = None if value is None or threshold is None else value >= threshold
    values = {
        "metric": metric,
        "value": value,
        "status": "scored" if value is not None else "not_applicable",
        "passed": passed,
        "threshold": threshold,
        "mode": "decomposed",
        "reason": "All claims are supported.",
    }
    return Score(**{**values, **fields})


def report(*rows: Row, **fields: Any) -> Report:
    values: dict[str, Any] = {"ragjudge_version": "1.0", "summary": {}, "passed": True, "rows": rows}
    return Report(**{**values, **fields})


def full_report() -> Report:
    """Return a report with one row of each kind."""
    wrong_date = score(
        0.5,
        threshold=0.9,
        reason="2 of 4 claims are supported.",
        errors=1,
        items=(
            item("Apollo 11 landed on 20 July 1969.", 0.9996, chunk=0, chunk_by="lexical"),
            item(
                "Neil Armstrong and Buzz Aldrin stayed on the surface of the Moon for three days.",
                0.0312,
                chunk=1,
                chunk_by="lexical",
            ),
            item("They raised a flag.", 0.4996, chunk=0, chunk_by="lexical", marginal=True),
            item("It was the first landing.", None, error="the answer was cut after 8 tokens"),
        ),
    )
    many = score(
        0.125,
        "context_precision",
        by="claims",
        threshold=0.5,
        reason="1 of 8 claims of the answer is supported by the given contexts, taken as one text.",
        items=(
            item("A claim that holds.", 0.97),
            *(item(f"Claim number {n}.", 0.01 * n) for n in range(1, 8)),
        ),
    )
    return report(
        Row(
            id="apollo",
            input=APOLLO,
            passed=False,
            scores={
                "faithfulness": wrong_date,
                "context_precision": many,
                "tone": score(1.0, "answer_relevancy", mode="holistic"),
            },
        ),
        Row(id="python", input="Who created Python?", passed=True, scores={"faithfulness": score(1.0)}),
        Row(
            id="empty",
            provider="python:rag.py:answer",
            input="What is the melting point of tungsten?",
            passed=None,
            scores={
                "faithfulness": score(None, reason="The answer makes no claim."),
                "context_precision": score(
                    None,
                    "context_precision",
                    by="claims",
                    status="judge_error",
                    reason="All 2 calls failed: the server closed the connection.",
                    errors=2,
                ),
            },
        ),
        Row(id="lost", input=None, passed=None, error="the provider raised ValueError: no index", scores={}),
        summary={
            "faithfulness": MetricSummary(mean=0.75, scored=2, total=3, passed=1, failed=1),
            "context_precision": MetricSummary(mean=0.125, scored=1, total=2, passed=0, failed=1, errors=1),
            "tone": MetricSummary(mean=1.0, scored=1, total=1, passed=1),
        },
        passed=False,
        judges=(
            JudgeInfo(id="qwen2.5-coder-1.5b", fingerprint="3fd0a1b2c3d4e5f6" * 4),
            JudgeInfo(id="models/other.gguf", fingerprint="0123456789abcdef" * 4, calibration="fe" * 32),
        ),
        usage=Usage(
            calls_judged=1234,
            calls_replayed=2,
            calls_failed=3,
            tokens_decoded=61700,
            tokens_minimum=61000,
            tokens_generated=40,
            judge_seconds=62.0,
            wall_seconds=63.5,
        ),
    )


def console(width: int = 80, encoding: str | None = None, *, terminal: bool = False) -> Console:
    """Return a console that keeps what it prints; read it with `printed`."""
    file = io.StringIO() if encoding is None else io.TextIOWrapper(io.BytesIO(), encoding, newline="\n")
    return Console(
        file=file,
        width=width,
        force_terminal=terminal,
        legacy_windows=False,
        color_system="standard" if terminal else None,
        _environ={},
    )


def printed(screen: Console) -> str:
    file = screen.file
    if isinstance(file, io.StringIO):
        return file.getvalue()
    assert isinstance(file, io.TextIOWrapper)
    file.flush()
    buffer = file.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode(file.encoding)
