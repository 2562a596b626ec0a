"""A server on loopback that plays whatever a test scripts, misbehaviour included."""

from __future__ import annotations

import contextlib
import json
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ragjudge.records import Check, Prompt

MODEL = "some-model"


@dataclass(frozen=True)
class Request:
    """What arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    begun: float

    @property
    def form(self) -> str:
        """How it asks, by the fields that only one form has."""
        fields = {"logprobs": "logprobs", "response_format": "schema", "grammar": "grammar"}
        return next((form for name, form in fields.items() if name in self.body), "text")

    @property
    def user(self) -> str:
        text: str = self.body["messages"][1]["content"]
        return text


@dataclass(frozen=True)
class Answer:
    """What is sent back.

    `announced` is another Content-Length than the true one; `trickle` seconds pass before each byte.
    """

    body: str
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    announced: int | None = None
    trickle: float = 0.0
    hang_up: bool = False


Script = Callable[[Request], Answer]


class Server:
    """Runs a script and remembers what it was asked."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.requests: list[Request] = []
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def forms(self) -> list[str]:
        return [request.form for request in self.requests]

    def answer(self, request: Request) -> Answer:
        with self._lock:
            self.requests.append(request)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            return self.script(request)
        finally:
            with self._lock:
                self._at_once -= 1

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            begun = time.monotonic()
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            answer = server.answer(Request(self.path, dict(self.headers), json.loads(raw), begun))
            with contextlib.suppress(OSError):  # the client may have gone
                self._send(answer)

        def _send(self, answer: Answer) -> None:
            if answer.hang_up:
                self.close_connection = True
                return
            body = answer.body.encode("utf-8")
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header(
                "Content-Length", str(len(body) if answer.announced is None else answer.announced)
            )
            self.end_headers()
            if not answer.trickle:
                self.wfile.write(body)
                return
            for byte in body:
                time.sleep(answer.trickle)
                self.wfile.write(bytes([byte]))

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    return Handler


@contextmanager
def serving(script: Script) -> Iterator[Server]:
    """Run a server for the length of a block."""
    server = Server(script)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def completion(
    text: str | None = "Yes",
    *,
    top: dict[str, float] | None = None,
    finish: str = "stop",
    model: str | None = MODEL,
    usage: dict[str, Any] | None = None,
    **message: Any,
) -> Answer:
    """Return a chat completion; `top` are the probabilities of its first tokens, the answer's own first."""
    choice: dict[str, Any] = {
        "index": 0,
        "message": {"role": "assistant", "content": text, **message},
        "finish_reason": finish,
    }
    if top is not None:
        entries = [{"token": token, "logprob": math.log(chance)} for token, chance in top.items()]
        choice["logprobs"] = {"content": [{**entries[0], "top_logprobs": entries}]}
    body: dict[str, Any] = {"object": "chat.completion", "choices": [choice]}
    if model is not None:
        body["model"] = model
    if usage is not None:
        body["usage"] = usage
    return Answer(json.dumps(body))


def error(status: int, message: str, **headers: str) -> Answer:
    body = json.dumps({"error": {"message": message}})
    return Answer(
        body, status=status, headers={name.replace("_", "-"): value for name, value in headers.items()}
    )


def no_logprobs(text: str, **options: Any) -> Script:
    """A server that takes `logprobs` and does not give any."""
    return lambda request: completion(text, **options)


def in_turn(answers: Sequence[Answer]) -> Script:
    """Answer one request after another."""
    left = list(answers)
    return lambda request: left.pop(0)


def check(own: str = "Claim: it rains.", shared: str = "Documents: rain.\n", **changes: Any) -> Check:
    fields: dict[str, Any] = {
        "template": "support",
        "version": 1,
        "system": "Answer with one word.",
        "shared": shared,
        "own": own,
        "labels": ("Yes", "No"),
        "positive": "Yes",
        "claim": own,
    }
    return Check(**{**fields, **changes})


SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "number", "minimum": 0, "maximum": 1}, "reason": {"type": "string"}},
    "required": ["score", "reason"],
    "additionalProperties": False,
}


def prompt(**changes: Any) -> Prompt:
    fields: dict[str, Any] = {
        "template": "faithfulness_holistic",
        "version": 1,
        "system": "Reply with one JSON object.",
        "shared": "Documents: rain.\n",
        "own": "Score the answer.",
        "grammar": 'root ::= "{}"',
        "max_tokens": 400,
        "reply_schema": json.dumps(SCHEMA),
    }
    return Prompt(**{**fields, **changes})
