"""The in-process judge: renders calls for its model, plans their decoding, reads labels from logits."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ragjudge.errors import ConfigError, ModelFileError, ModelMissingError, PromptTooLongError
from ragjudge.gguf.digest import sha256_of
from ragjudge.gguf.locate import missing
from ragjudge.gguf.manifest import load_manifest
from ragjudge.judges.base import Identity, Judge
from ragjudge.judges.llama.chat import PLAIN, ChatFormat, Neutraliser, from_template
from ragjudge.judges.llama.labels import LabelTokens, probe_labels, read_labels
from ragjudge.judges.llama.settings import EngineSettings
from ragjudge.judges.trie import plan
from ragjudge.records import Call, CallFailure, Check, Outcome, Prompt, Reply, Verdict

if TYPE_CHECKING:
    from pydantic import JsonValue

    from ragjudge.gguf.manifest import ModelEntry
    from ragjudge.judges.llama.native import Engine, Logits

DEFAULT_WINDOW = 8192
"""Longest prompt in tokens, when neither the user nor a shorter training context says otherwise."""

MEMORY_STEP = 1024
"""The memory grows in steps of this many tokens, so that it is not opened anew for each longer prompt."""

Chat = Literal["auto", "plain"]


@dataclass
class _Open:
    """A loaded model and what was learnt from it."""

    engine: Engine
    chat: ChatFormat
    neutralise: Neutraliser
    add_special: bool
    window: int
    label_tokens: dict[tuple[str, ...], LabelTokens]


Answers = Generator[tuple[int, Outcome], None, None]


@dataclass(frozen=True)
class _Turn:
    """Who is being answered: the thread that asked, and what it reads the answers from."""

    thread: int
    answers: weakref.ref[Answers]


class LlamaJudge(Judge):
    """Judges with a GGUF model inside this process. The model is loaded at the first call.

    Safe to ask from several threads: they take turns, each until it has read its last answer.

    Args:
        id: The reference by which the user asked for it.
        path: The GGUF file; it need not be here as long as every call is replayed.
        entry: What the manifest knows about it; its digest stands in for a file that is not here.
        chat: ``auto`` = the file's own chat template, or plain text when it has none; ``plain``; None =
            what the manifest says of a file with this content, else ``auto``.
        window: Longest prompt in tokens; None = 8192, or the model's training context if smaller.
        settings: How to run the model; None = automatic.
    """

    def __init__(
        self,
        id: str,
        path: Path,
        *,
        entry: ModelEntry | None = None,
        chat: Chat | None = None,
        window: int | None = None,
        settings: EngineSettings | None = None,
    ) -> None:
        super().__init__(id)
        self.path = path
        self.entry = entry
        self.chat = chat
        self.window = window
        self._settings = settings or EngineSettings()
        self._open: _Open | None = None
        self._lock = threading.Lock()
        self._turn: _Turn | None = None

    def identity(self) -> Identity:
        """Name the file by its content; a file of the manifest need not be here.

        Raises:
            ModelMissingError: The file is not here, and the manifest does not know it.
            ConfigError: The file under a manifest's name is another one.
        """
        if self.path.is_file():
            digest = sha256_of(self.path)
            if self.entry is not None and self.entry.sha256 != digest:
                raise ConfigError(
                    f"judge {self.id!r}: {self.path} has sha256 {digest}, and the manifest says "
                    f"{self.entry.sha256}; one name cannot mean two models.",
                    hint=f"fetch the right file with `ragjudge models pull {self.entry.name}`, or name "
                    "this one by its path",
                )
            return self._identity_of(digest)
        if self.entry is not None:
            return self._identity_of(self.entry.sha256)
        raise self._missing()

    def recognises(self, document: Mapping[str, JsonValue]) -> bool:
        """Say whether an identity met earlier can be this judge's. See `Judge.recognises`."""
        model = document.get("model")
        return isinstance(model, str) and self._identity_of(model).document == document

    def _identity_of(self, digest: str) -> Identity:
        return llama_identity(digest, chat=self._chat_of(digest), window=self.window)

    def _chat_of(self, digest: str) -> Chat:
        if self.chat is not None:
            return self.chat
        entry = load_manifest().by_sha256(digest)
        return entry.chat if entry is not None else "auto"

    def _missing(self) -> ModelMissingError:
        return missing(self.id if self.entry is None else self.entry.name, self.entry)

    def ask(self, calls: Sequence[Call]) -> Iterator[tuple[int, Outcome]]:
        """Answer checks from one token trie, and open prompts one by one. See `Judge.ask`.

        Raises:
            RuntimeError: This thread still reads the answers of an earlier `ask`.
        """
        this: list[weakref.ref[Answers]] = []
        answers = self._ask(calls, this)
        this.append(weakref.ref(answers))
        return answers

    def _ask(self, calls: Sequence[Call], this: Sequence[weakref.ref[Answers]]) -> Answers:
        if not calls:
            return
        with self._taking_turns(this[0]):
            started = time.perf_counter()
            try:
                model = self._open or self._load()
                tokens = self._all_tokens(model, calls)
                for labels in dict.fromkeys(call.labels for call in calls if isinstance(call, Check)):
                    self._label_tokens(model, labels)
                # An answer goes out before the next batch, so the clock stops while the caller has it.
                for outcome in self._answer(model, calls, tokens):
                    self.usage.judge_seconds += time.perf_counter() - started
                    yield outcome
                    started = time.perf_counter()
            finally:
                self.usage.judge_seconds += time.perf_counter() - started

    @contextmanager
    def _taking_turns(self, answers: weakref.ref[Answers]) -> Iterator[None]:
        # The lock is held while the caller looks at an answer: waiting for oneself would be for ever.
        if self._turn is not None and self._turn.thread == threading.get_ident():
            raise RuntimeError("this judge is still answering; read or close those answers first")
        with self._lock:
            self._turn = _Turn(threading.get_ident(), answers)
            try:
                yield
            finally:
                self._turn = None

    def close(self) -> None:
        """Unload the model; a later call loads it again. Ends what this thread was still reading."""
        turn = self._turn
        if turn is not None and turn.thread == threading.get_ident():
            answers = turn.answers()
            if answers is not None:
                answers.close()
        with self._lock:
            if self._open is not None:
                self._open.engine.close()
                self._open = None

    # -- opening -----------------------------------------------------------------------------------

    def _load(self) -> _Open:
        from ragjudge.gguf.header import check_gguf
        from ragjudge.judges.llama.native import Engine

        if not self.path.is_file():
            raise self._missing()
        check_gguf(self.path)
        engine = Engine(self.path, self._settings)
        try:
            self._open = self._learn(engine)
        except BaseException:
            engine.close()
            raise
        return self._open

    def _learn(self, engine: Engine) -> _Open:
        bos, eos = engine.bos(), engine.eos()
        template = engine.chat_template() if self._chat_of(sha256_of(self.path)) == "auto" else None
        chat = PLAIN
        if template is not None:
            chat = from_template(template, bos=bos.text if bos else "", eos=eos.text if eos else "")
        prints_bos = bos is not None and bos.text != "" and chat.before.startswith(bos.text)
        frame = chat.render("", "")
        return _Open(
            engine,
            chat,
            Neutraliser(token.text for token in engine.control_tokens(frame)),
            add_special=engine.adds_bos() and not prints_bos,
            window=self.window or min(DEFAULT_WINDOW, engine.training_context or DEFAULT_WINDOW),
            label_tokens={},
        )

    # -- prompts -----------------------------------------------------------------------------------

    def _all_tokens(self, model: _Open, calls: Sequence[Call]) -> list[tuple[int, ...]]:
        """Render and tokenise; refuse what does not fit before anything is decoded."""
        prompts = []
        for index, call in enumerate(calls):
            user = model.neutralise(call.shared + call.own)
            text = model.chat.render(call.system, user)
            answer = call.max_tokens if isinstance(call, Prompt) else 0
            hopeless = len(text) > model.window and len(text) > model.window * model.engine.longest_piece
            if hopeless:
                raise PromptTooLongError(model.engine.count(text) + answer, model.window, index)
            tokens = tuple(model.engine.tokenize(text, add_special=model.add_special))
            if len(tokens) + answer > model.window:
                raise PromptTooLongError(len(tokens) + answer, model.window, index)
            prompts.append(tokens)
        return prompts

    # -- answers -----------------------------------------------------------------------------------

    def _answer(
        self, model: _Open, calls: Sequence[Call], tokens: Sequence[tuple[int, ...]]
    ) -> Iterator[tuple[int, Outcome]]:
        checks = [index for index, call in enumerate(calls) if isinstance(call, Check)]
        if checks:
            yield from self._answer_checks(model, calls, tokens, checks)
        for index, call in enumerate(calls):
            if isinstance(call, Prompt):
                yield index, self._answer_prompt(model, call, tokens[index])

    def _answer_checks(
        self,
        model: _Open,
        calls: Sequence[Call],
        tokens: Sequence[tuple[int, ...]],
        checks: Sequence[int],
    ) -> Iterator[tuple[int, Outcome]]:
        """Decode the trie of the checks' prompts and read each leaf."""
        from ragjudge.judges.llama.native import NativeError

        # Different calls can render to the same tokens (a claim that differs in a control string only).
        same: dict[tuple[int, ...], list[int]] = {}
        for index in checks:
            same.setdefault(tokens[index], []).append(index)
        waiting = dict.fromkeys(same)
        try:
            for prompt, logits_of in self._run(model, list(same), count_minimum=True):
                waiting.pop(prompt)
                for index in same[prompt]:
                    yield index, self._verdict(model, calls[index], logits_of)
        except NativeError:
            # One bad batch must not cost the others their answers: the rest is asked one by one.
            for prompt in list(waiting):
                for index in same[prompt]:
                    yield index, self._single(model, calls[index], prompt)

    def _single(self, model: _Open, call: Call, prompt: tuple[int, ...]) -> Outcome:
        from ragjudge.judges.llama.native import NativeError

        try:
            ((_, logits),) = self._run(model, [prompt], count_minimum=False)
        except NativeError as error:
            return CallFailure(reason=f"llama.cpp could not decode the prompt: {error}")
        return self._verdict(model, call, logits)

    def _run(
        self, model: _Open, prompts: Sequence[tuple[int, ...]], *, count_minimum: bool
    ) -> Iterator[tuple[tuple[int, ...], Logits]]:
        """Decode prompts along their trie; yield each with a copy of its logits."""
        engine = model.engine
        needed = max(map(len, prompts)) + engine.settings.batch
        limits = engine.limits(-(-needed // MEMORY_STEP) * MEMORY_STEP)
        steps = plan(prompts, limits)
        if count_minimum:
            self.usage.tokens_minimum += steps.nodes
        before = engine.tokens_decoded
        try:
            for index, logits in engine.run(steps, lambda row: row.copy()):
                self.usage.tokens_decoded += engine.tokens_decoded - before
                before = engine.tokens_decoded
                yield prompts[index], logits
        finally:  # also what a refused batch was preceded by
            self.usage.tokens_decoded += engine.tokens_decoded - before

    def _verdict(self, model: _Open, call: Call, logits: Logits) -> Outcome:
        labels = call.labels if isinstance(call, Check) else ()
        values = read_labels(logits, self._label_tokens(model, labels))
        if values is None:
            return CallFailure(reason="the model computes no numbers: its file or its build is damaged")
        return Verdict(log_probabilities=values)

    def _answer_prompt(self, model: _Open, call: Prompt, tokens: tuple[int, ...]) -> Outcome:
        from ragjudge.judges.llama.native import NativeError

        engine = model.engine
        engine.limits(-(-(len(tokens) + call.max_tokens) // MEMORY_STEP) * MEMORY_STEP)
        decoded, generated = engine.tokens_decoded, engine.tokens_generated
        try:
            reply = engine.generate(tokens, call.grammar, call.max_tokens)
        except NativeError as error:
            return CallFailure(reason=f"llama.cpp could not answer the prompt: {error}")
        finally:
            self.usage.tokens_decoded += engine.tokens_decoded - decoded
            self.usage.tokens_minimum += engine.tokens_decoded - decoded
            self.usage.tokens_generated += engine.tokens_generated - generated
        if not reply.complete:
            return CallFailure(reason=f"the reply was cut at {reply.tokens} tokens", raw=reply.text)
        return Reply(text=reply.text, tokens=reply.tokens)

    def _label_tokens(self, model: _Open, labels: tuple[str, ...]) -> LabelTokens:
        """Return the token ids with which an answer may begin that means a label; asked once per model."""
        if labels not in model.label_tokens:
            try:
                model.label_tokens[labels] = probe_labels(model.engine, labels)
            except ValueError as error:
                raise ModelFileError(f"{self.path}: {error}.") from error
        return model.label_tokens[labels]


def llama_identity(
    model_sha256: str, *, chat: Chat, window: int | None, lora_sha256: str | None = None
) -> Identity:
    """Say who a llama judge is, from the digest of its file; the file itself need not be here."""
    document: dict[str, JsonValue] = {
        "kind": "llama",
        "model": model_sha256,
        "lora": lora_sha256,
        "chat": chat,
        "window": window or DEFAULT_WINDOW,
        "kv": "f16",
        "hidden": False,
    }
    return Identity(document)
