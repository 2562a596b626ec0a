"""Runs inside the virtual environment of DeepEval, as a script: faithfulness of one case from standard input.

Input: ``{"base_url", "metrics": ["faithfulness"], "case"}``. Output: a line of JSON, ``{"metric", "value",
"strict", "seconds", "calls", "error"}``. ``strict`` is the score of the same verdicts with
``penalize_ambiguous_claims``: a claim that the context does not back ("borderline") then fails. ``calls``
holds every reply.
"""

from __future__ import annotations

import importlib
import json
import runpy
import sys
import time
from pathlib import Path
from typing import Any

SECONDS_PER_REPLY = 600.0
MAX_TOKENS = 2048
"""Longest reply: several times what a complete one needs. Without it a list that a small model repeats for
ever goes on until the window is full, and is cut off all the same."""


def make_model(base_url: str, replies: list[dict[str, Any]]) -> Any:
    """Return a model of the kind that DeepEval's guide describes for local ones: held to the wanted schema.

    Its own class for local servers parses whatever text comes; here every reply obeys the schema, so that
    fewer rows are lost.

    Args:
        base_url: The server.
        replies: Where every reply is kept.
    """
    models = importlib.import_module("deepeval.models")
    client = importlib.import_module("openai").OpenAI(
        base_url=base_url, api_key="none", timeout=SECONDS_PER_REPLY, max_retries=0
    )

    class Served(models.DeepEvalBaseLLM):  # type: ignore[misc, name-defined]
        """The server's model."""

        def load_model(self) -> Any:
            return client

        def get_model_name(self) -> str:
            return "judge"

        def generate(self, prompt: str, schema: Any = None) -> Any:
            wanted = {} if schema is None else {"schema": schema.model_json_schema()}
            reply = client.chat.completions.create(
                model="judge",
                messages=[{"role": "user", "content": prompt}],
                temperature=0.0,
                max_tokens=MAX_TOKENS,
                response_format={"type": "json_object", **wanted},
            )
            choice = reply.choices[0]
            text = choice.message.content or ""
            replies.append({"schema": getattr(schema, "__name__", None), "text": text})
            if choice.finish_reason == "length":
                raise ValueError(f"a reply was cut off after {MAX_TOKENS} tokens")
            return text if schema is None else schema.model_validate_json(text)

        async def a_generate(self, prompt: str, schema: Any = None) -> Any:
            return self.generate(prompt, schema)

    return Served("judge")


def measure(request: dict[str, Any]) -> dict[str, Any]:
    """Score one case; return the line."""
    metrics = importlib.import_module("deepeval.metrics")
    case = request["case"]
    replies: list[dict[str, Any]] = []
    metric = metrics.FaithfulnessMetric(
        model=make_model(request["base_url"], replies),
        include_reason=False,  # a further call that does not touch the score
        async_mode=False,  # the server answers one call at a time
    )
    test = importlib.import_module("deepeval.test_case").LLMTestCase(
        input=case["question"], actual_output=case["answer"], retrieval_context=case["contexts"]
    )
    value: float | None = None
    strict: float | None = None
    error: str | None = None
    started = time.perf_counter()
    try:
        value = float(metric.measure(test, _show_indicator=False))
    except Exception as problem:
        error = f"{type(problem).__name__}: {problem}"[:500]
    seconds = time.perf_counter() - started
    if value is not None:
        metric.penalize_ambiguous_claims = True
        strict = float(metric._calculate_score())
    line = {"metric": "faithfulness", "value": value, "strict": strict, "seconds": seconds}
    return {**line, "calls": replies, "error": error}


def main() -> None:
    """Read the case and measure it."""
    sys.addaudithook(runpy.run_path(str(Path(__file__).with_name("ragas_client.py")))["refuse_to_leave"])
    line = measure(json.load(sys.stdin))
    sys.stdout.write("\n" + json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
