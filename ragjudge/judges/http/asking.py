"""What is sent to a server for a call, form by form, and how an answer in text is read. Pure."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, Literal

from ragjudge.judges.base import canonical_json
from ragjudge.judges.http.completion import Completion
from ragjudge.judges.http.logprobs import TOP
from ragjudge.judges.http.reply import find_label, find_object, without_reasoning
from ragjudge.judges.http.settings import HttpSettings, Strategy
from ragjudge.records import Call, Check, Prompt, Reply, Verdict

if TYPE_CHECKING:
    from pydantic import JsonValue

Form = Literal["logprobs", "schema", "grammar", "text"]
"""A way of asking: for one token with its rivals; for JSON of a schema, as most servers take it; for an
answer under a grammar, as older ones take it; for anything."""

TEXT_PROBABILITY = 0.99
"""P(label) of an answer that was read from text. It was not measured: the server gave none."""

TEXT_MASS = 0.01
"""Label mass of such an answer. Nothing of the distribution was seen; so low a mass, always the same one,
says so in every report."""

FIRST_BUDGET = 64
"""Tokens of a check's answer in text at the first try: room for a sentence. Reasoning needs the second."""

_FORMS: dict[Strategy, tuple[Form, ...]] = {
    "auto": ("logprobs", "schema", "grammar", "text"),
    "logprobs": ("logprobs",),
    "constrained": ("schema", "grammar"),
    "text": ("text",),
}

_CONTROL = re.compile(
    r"<(?=\|[^<>|\s]{1,40}\|>|｜[^<>｜]{1,40}｜>|/?s>|(?:start|end)_of_turn>|bos>|eos>|unused\d{1,3}>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_RESULTS|TOOL_CALLS|THINK)\])"
)


def forms_of(call: Call, strategy: Strategy) -> tuple[Form, ...]:
    """Return the forms in which a call may be asked, the best one first."""
    if isinstance(call, Check):
        return _FORMS[strategy]
    forms = _FORMS["auto" if strategy == "logprobs" else strategy]
    return tuple(form for form in forms if form != "logprobs" and (form != "schema" or call.reply_schema))


def budgets_of(call: Call, settings: HttpSettings) -> tuple[int, ...]:
    """Return how many tokens an answer in text may have, and how many when that cuts it."""
    first = FIRST_BUDGET if isinstance(call, Check) else call.max_tokens
    return tuple(sorted({min(first, settings.max_tokens), settings.max_tokens}))


def messages_of(call: Call) -> tuple[tuple[str, str], ...]:
    """Return role and text of a call's messages. Nothing in the data can end a turn of a chat format."""
    return ("system", call.system), ("user", neutralise(call.shared + call.own))


def neutralise(text: str) -> str:
    """Put a blank into whatever chat formats use to end a turn, and replace what is no Unicode text.

    The server's vocabulary is not known here, so this goes by the shapes that such strings have.
    """
    return _CONTROL.sub(lambda match: f"{match[0]} ", text).encode("utf-8", "replace").decode("utf-8")


def body_of(call: Call, form: Form, budget: int, settings: HttpSettings) -> JsonValue:
    """Return the request for a call.

    Args:
        call: The call.
        form: How to ask.
        budget: Most tokens of the answer, where the form leaves that open.
        settings: The judge's settings.
    """
    body: dict[str, Any] = {
        **settings.extra,
        "model": settings.model,
        "messages": [{"role": role, "content": text} for role, text in messages_of(call)],
        "temperature": 0,
        "max_tokens": 1 if form == "logprobs" else budget,
        "stream": False,
    }
    if form == "logprobs":
        body |= {"logprobs": True, "top_logprobs": TOP}
    elif form == "schema":
        schema = {"name": "answer", "strict": True, "schema": _schema_of(call)}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif form == "grammar" and isinstance(call, Check):
        choices = " | ".join(json.dumps(label) for label in call.labels)
        body |= {"guided_choice": list(call.labels), "grammar": f"root ::= {choices}"}
    elif form == "grammar" and isinstance(call, Prompt):
        body["grammar"] = call.grammar
        if call.reply_schema:
            body["guided_json"] = _schema_of(call)
    return body


def read_text(call: Call, completion: Completion) -> Verdict | Reply:
    """Return the answer that a text is.

    Raises:
        CallFailedError: It is no answer to the call.
    """
    if isinstance(call, Check):
        return text_verdict(find_label(completion.text, call.labels), call.labels, completion.served)
    if call.reply_schema:
        text = canonical_json(find_object(completion.text, _schema_of(call)))
    else:
        text = without_reasoning(completion.text)
    return Reply(text=text, tokens=completion.tokens or 0, served=completion.served)


def text_verdict(label: str, labels: tuple[str, ...], served: str | None) -> Verdict:
    """Return the verdict of an answer whose probability is not known."""
    other = (1 - TEXT_PROBABILITY) / (len(labels) - 1)
    return Verdict(
        log_probabilities={
            name: round(math.log(TEXT_MASS * (TEXT_PROBABILITY if name == label else other)), 6)
            for name in labels
        },
        served=served,
    )


def _schema_of(call: Call) -> dict[str, Any]:
    if isinstance(call, Prompt):
        schema: dict[str, Any] = json.loads(call.reply_schema)
        return schema
    return {
        "type": "object",
        "properties": {"answer": {"type": "string", "enum": list(call.labels)}},
        "required": ["answer"],
        "additionalProperties": False,
    }
