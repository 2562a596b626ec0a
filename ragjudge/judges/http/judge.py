"""The judge behind an OpenAI-compatible server."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING

from ragjudge.errors import JudgeUnavailableError
from ragjudge.judges.base import Identity, Judge
from ragjudge.judges.http.asking import Form, body_of, budgets_of, forms_of, messages_of, read_text
from ragjudge.judges.http.calling import Refusal, call
from ragjudge.judges.http.client import Client
from ragjudge.judges.http.completion import Completion, read_completion, was_cut
from ragjudge.judges.http.failures import CallFailedError
from ragjudge.judges.http.logprobs import read_first_token
from ragjudge.judges.http.schedule import Schedule
from ragjudge.judges.http.settings import HttpSettings, Strategy
from ragjudge.records import Answer, Call, CallFailure, Check, Outcome, Verdict

if TYPE_CHECKING:
    from pydantic import JsonValue

GIVE_UP_AFTER = 10
"""Requests in a row, each with its repetitions, that the server may leave unanswered before the run ends."""


@dataclass
class _Learnt:
    """What the answers so far have told about the server. Facts of the server, never of a single call."""

    met: bool = False
    served: str | None = None
    unable: dict[Form, str] = field(default_factory=dict)
    able: set[Form] = field(default_factory=set)
    failed_in_a_row: int = 0


class HttpJudge(Judge):
    """Asks a server that speaks OpenAI's chat completions: llama-server, Ollama, vLLM, LM Studio.

    A check is asked for one token with log-probabilities; where the server gives none, or the model begins
    with something else, for a constrained answer, and last for text. An answer read from text has P(label)
    0.99 and label mass 0.01, both fixed: nothing was measured. Only the named server is contacted, and only
    when it is asked; a replay needs neither server nor key. Safe to ask from several threads.

    Args:
        base_url: The address before ``/chat/completions``, e.g. ``http://localhost:8080/v1``.
        model: The model to ask for.
        id: The reference by which it appears in reports; None = the model and the address.
        identity: Names the server in cache keys, so that two addresses of one server share answers; None =
            scheme, host, port and path.
        strategy: ``auto``, or ``logprobs``, ``constrained`` or ``text`` alone.
        extra: More fields of each request.
        api_key_env: Name of the environment variable with the server's key.
        accept_models: Other names under which the server may say that it answered.
        max_tokens: Most tokens of an answer in text, reasoning included.
        concurrency: Most requests at a time.
        timeout: Seconds that a request may take from the moment it is sent.
        retries: How often a request is repeated after the connection or the server failed.

    Raises:
        ConfigError: A setting cannot be meant.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        id: str | None = None,
        identity: str | None = None,
        strategy: Strategy = "auto",
        extra: Mapping[str, JsonValue] | None = None,
        api_key_env: str | None = None,
        accept_models: Sequence[str] = (),
        max_tokens: int = HttpSettings.max_tokens,
        concurrency: int = HttpSettings.concurrency,
        timeout: float = HttpSettings.timeout,
        retries: int = HttpSettings.retries,
    ) -> None:
        self.settings = HttpSettings(
            base_url=base_url,
            model=model,
            identity=identity,
            strategy=strategy,
            extra=dict(extra or {}),
            api_key_env=api_key_env,
            accept_models=tuple(accept_models),
            max_tokens=max_tokens,
            concurrency=concurrency,
            timeout=timeout,
            retries=retries,
        )
        super().__init__(id or f"{model} at {self.settings.address}")
        self._lock = threading.Lock()
        self._learnt = _Learnt()

    def identity(self) -> Identity:
        """Name server, model and what can change an answer; the server is not asked."""
        return self.settings.who()

    def confirms(self, answer: Answer) -> bool:
        """Say whether a stored answer came from the model that answers now. See `Judge.confirms`."""
        with self._lock:
            now = self._learnt.served
        if not self.settings.accepts(answer.served):
            return False
        return now is None or answer.served is None or answer.served == now

    def ask(self, calls: Sequence[Call]) -> Iterator[tuple[int, Outcome]]:
        """Answer calls, several at a time. See `Judge.ask`.

        Calls that have not been sent when the answers are no longer read are never sent.
        """
        if not calls:
            return
        started = time.perf_counter()
        settings = self.settings
        client = Client(settings.address, timeout=settings.timeout, key=settings.key())
        schedule = Schedule(calls, probe=not self._learnt.met)
        outcomes: SimpleQueue[tuple[int, Outcome | BaseException]] = SimpleQueue()

        def work(index: int) -> None:
            try:
                outcomes.put((index, self._outcome(client, calls[index])))
            except BaseException as error:  # noqa: BLE001 - the thread that reads the answers raises it
                outcomes.put((index, error))

        try:
            with ThreadPoolExecutor(settings.concurrency, thread_name_prefix="ragjudge-http") as pool:
                try:
                    sent = 0
                    while True:
                        while sent < settings.concurrency and (index := schedule.next()) is not None:
                            pool.submit(work, index)
                            sent += 1
                        if not sent:
                            return
                        done, outcome = outcomes.get()
                        sent -= 1
                        schedule.done(done)
                        if isinstance(outcome, BaseException):
                            raise outcome
                        self.usage.judge_seconds += time.perf_counter() - started
                        yield done, outcome
                        started = time.perf_counter()
                finally:
                    client.abort()
        finally:
            self.usage.judge_seconds += time.perf_counter() - started

    # -- one call ----------------------------------------------------------------------------------

    def _outcome(self, client: Client, question: Call) -> Outcome:
        try:
            return self._answer(client, question)
        except CallFailedError as error:
            return CallFailure(reason=error.reason, raw=error.raw)

    def _answer(self, client: Client, question: Call) -> Answer:
        """Ask in one form after another.

        Raises:
            CallFailedError: No form led to an answer.
        """
        forms = forms_of(question, self.settings.strategy)
        refused: dict[Form, str] = {}
        for form in forms:
            with self._lock:
                unable = self._learnt.unable.get(form)
            found: Answer | Refusal | str = unable or (
                self._from_first_token(client, question)
                if form == "logprobs" and isinstance(question, Check)
                else self._from_text(client, question, form)
            )
            if isinstance(found, str):  # no reason to think that another form is refused as well
                refused.setdefault(form, found)
            elif isinstance(found, Refusal):
                refused[form] = found.reason
                continue
            else:
                self._learn(form, {name: why for name, why in refused.items() if name != "logprobs"})
                return found
        raise CallFailedError(refused[forms[-1]])
