"""Runs inside the virtual environment of Ragas, as a script: one case from standard input, a line per metric.

Input: ``{"base_url", "metrics", "case", "max_tokens"}``. Output: a line of JSON as soon as a metric is done,
``{"metric", "value", "seconds", "calls", "error"}``; ``calls`` holds every reply that Ragas accepted.
"""

from __future__ import annotations

import asyncio
import importlib
import ipaddress
import json
import math
import os
import sys
import time
from typing import Any

METRICS: dict[str, tuple[str, tuple[str, ...]]] = {
    "faithfulness": ("Faithfulness", ("user_input", "response", "retrieved_contexts")),
    "context_precision": (
        "ContextPrecisionWithReference",
        ("user_input", "reference", "retrieved_contexts"),
    ),
    "context_recall": ("ContextRecall", ("user_input", "retrieved_contexts", "reference")),
    "context_relevance": ("ContextRelevance", ("user_input", "retrieved_contexts")),
}
"""Our names, the classes of Ragas, and what they are given."""

FIELDS = {
    "user_input": "question",
    "response": "answer",
    "retrieved_contexts": "contexts",
    "reference": "reference",
}


def refuse_to_leave(event: str, arguments: tuple[Any, ...]) -> None:
    """Let connections reach this machine only."""
    if event == "socket.connect" and isinstance(arguments[1], tuple):
        host = str(arguments[1][0])
        if not ipaddress.ip_address(host).is_loopback:
            raise ConnectionRefusedError(f"this measurement stays on this machine, and {host} is elsewhere")


async def measure(request: dict[str, Any]) -> None:
    """Score one case, metric after metric."""
    llm_factory = importlib.import_module("ragas.llms").llm_factory
    collections = importlib.import_module("ragas.metrics.collections")
    client = importlib.import_module("openai").AsyncOpenAI(
        base_url=request["base_url"], api_key="none", timeout=3600.0, max_retries=0
    )
    llm = llm_factory("judge", client=client)
    replies: list[Any] = []
    ask = llm.agenerate

    async def remembering(prompt: str, response_model: type[Any]) -> Any:
        reply = await ask(prompt, response_model)
        replies.append(reply.model_dump())
        return reply

    llm.agenerate = remembering
    for name in request["metrics"]:
        kind, fields = METRICS[name]
        metric = getattr(collections, kind)(llm=llm)
        given = {field: request["case"][FIELDS[field]] for field in fields}
        replies.clear()
        value: float | None = None
        error: str | None = None
        started = time.perf_counter()
        try:
            value = float((await metric.ascore(**given)).value)
            if not math.isfinite(value):
                value, error = None, "NaN"
        except Exception as problem:
            error = f"{type(problem).__name__}: {problem}"[:500]
        seconds = time.perf_counter() - started
        line = {"metric": name, "value": value, "seconds": seconds, "error": error, "calls": list(replies)}
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


def main() -> None:
    """Read the case and measure it."""
    os.environ["RAGAS_DO_NOT_TRACK"] = "true"
    sys.addaudithook(refuse_to_leave)
    asyncio.run(measure(json.load(sys.stdin)))


if __name__ == "__main__":
    main()
