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
from ragjudge.judges.http.completion import Completion, least_tokens, read_completion, was_cut
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
    unable: dict[Form, Refusal] = field(default_factory=dict)
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
            except BaseException as error:  # the thread that reads the answers raises it
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
                        self._spend(started)
                        yield done, outcome
                        started = time.perf_counter()
                finally:
                    client.abort()
        finally:
            self._spend(started)

    def _spend(self, started: float) -> None:
        with self._lock:
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
            CallFailedError: There is no answer, or none in the forms that are left.
        """
        refusals: dict[Form, Refusal] = {}
        for form in forms_of(question, self.settings.strategy):
            with self._lock:
                known = self._learnt.unable.get(form)
            found = known or self._in_form(client, question, form)
            if not isinstance(found, Refusal):
                self._learn(form, refusals)
                return found
            refusals[form] = found
        refusal = list(refusals.values())[-1]
        failure = CallFailedError(refusal.reason)
        if refusal.lasting and not self._learnt.able:
            self._count_failure(failure)
        raise failure

    def _in_form(self, client: Client, question: Call, form: Form) -> Answer | Refusal:
        if form == "logprobs" and isinstance(question, Check):
            return self._from_first_token(client, question)
        return self._from_text(client, question, form)

    def _from_first_token(self, client: Client, check: Check) -> Verdict | Refusal:
        completion = self._complete(client, check, "logprobs", 1)
        if isinstance(completion, Refusal):
            return completion
        found = read_first_token(completion, check.labels)
        if isinstance(found, str):
            return Refusal(f"no verdict can be read from the first token: {found}", completion.first is None)
        return Verdict(log_probabilities=found, served=completion.served)

    def _from_text(self, client: Client, question: Call, form: Form) -> Answer | Refusal:
        cut: CallFailedError | None = None
        for budget in budgets_of(question, self.settings):
            completion = self._complete(client, question, form, budget)
            if isinstance(completion, Refusal):
                if cut is None:
                    return completion
                raise CallFailedError(f"{cut.reason}, and with more room {completion.reason}", cut.raw)
            if not completion.cut:
                return read_text(question, completion)
            raw = completion.text or completion.reasoning
            cut = CallFailedError(f"the reply was cut at {completion.tokens or budget} tokens", raw)
        raise cut or AssertionError("a call has a budget")

    def _complete(self, client: Client, question: Call, form: Form, budget: int) -> Completion | Refusal:
        """Get a completion that is one: whole prompt, right model.

        Raises:
            CallFailedError: There is none.
            JudgeUnavailableError: There is no server, or none that answers.
        """
        try:
            answered = call(client, body_of(question, form, budget, self.settings), self.settings.retries)
            self._learnt.met = True
            if isinstance(answered, Refusal):
                return answered
            completion = read_completion(answered)
            self._check_model(completion)
        except CallFailedError as error:
            self._count_failure(error)
            raise
        with self._lock:
            self._learnt.failed_in_a_row = 0
            self._learnt.served = completion.served or self._learnt.served
            self.usage.tokens_decoded += max(0, (completion.prompt_tokens or 0) - completion.cached_tokens)
            self.usage.tokens_restored += completion.cached_tokens
            self.usage.tokens_generated += completion.tokens or 0
        prompt = "\n".join(text for _, text in messages_of(question))
        if was_cut(completion, prompt):
            raise CallFailedError(
                f"the server seems to have cut the prompt: it counts {completion.prompt_tokens} tokens, and "
                f"the prompt has {least_tokens(prompt)} at least"
            )
        return completion

    def _check_model(self, completion: Completion) -> None:
        if not self.settings.accepts(completion.served):
            raise CallFailedError(
                f"the server answered with the model {completion.served!r}, and {self.settings.model!r} was "
                "asked for; list it under `accept_models` if that is meant",
                completion.text,
            )

    # -- what the server has shown so far ----------------------------------------------------------

    def _learn(self, form: Form, refusals: Mapping[Form, Refusal]) -> None:
        """Remember what the server cannot do, once it has answered the same call in another form."""
        with self._lock:
            self._learnt.able.add(form)
            for name, refusal in refusals.items():
                if refusal.lasting and name not in self._learnt.able:
                    self._learnt.unable[name] = refusal

    def _count_failure(self, error: CallFailedError) -> None:
        with self._lock:
            self._learnt.met = True
            self._learnt.failed_in_a_row += 1
            many = self._learnt.failed_in_a_row
        if many >= GIVE_UP_AFTER:
            raise JudgeUnavailableError(
                f"judge 'http': the server at {self.settings.address} left {many} requests in a row without "
                f"an answer; the last: {error.reason}."
            ) from error
