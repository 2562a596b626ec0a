"""The in-process judge: who it is, when its model is loaded, and whose turn it is."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ragjudge.errors import ConfigError, ModelFileError, ModelMissingError
from ragjudge.gguf.digest import sha256_of
from ragjudge.gguf.locate import missing
from ragjudge.gguf.manifest import load_manifest
from ragjudge.judges.base import Identity, Judge
from ragjudge.judges.llama.chat import chat_format
from ragjudge.judges.llama.hidden import Hidden, identity_of_hidden
from ragjudge.judges.llama.labels import LabelsAlikeError
from ragjudge.judges.llama.model import DEFAULT_WINDOW, Model
from ragjudge.judges.llama.prefix_store import PrefixStore, default_bound
from ragjudge.judges.llama.settings import EngineSettings
from ragjudge.prompts.profile import load_profile
from ragjudge.records import Call, Outcome

if TYPE_CHECKING:
    from pydantic import JsonValue

    from ragjudge.gguf.manifest import ModelEntry
    from ragjudge.gguf.memory import KvType
    from ragjudge.judges.llama.native import Engine
    from ragjudge.prompts.profile import Profile

NO_PROFILE = "none"

Chat = Literal["auto", "plain"]


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
        prefix_bytes: Bound of the prefix store in bytes, 0 = none; None = ``$RAGJUDGE_PREFIX_STORE``, else
            2 GiB.
        profile: Name of the profile it is asked by; ``none`` = in the words of our templates; None = what the
            manifest says of a file with this content.
        hidden: What verdicts keep of the model's last hidden state: nothing, all of it, or its coordinates
            along the directions of a basis.

    Raises:
        UnknownNameError: There is no such profile.
        ConfigError: A chat format is named, and the profile has one of its own.
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
        prefix_bytes: int | None = None,
        profile: str | None = None,
        hidden: Hidden = False,
    ) -> None:
        super().__init__(id)
        self.path = path
        self.entry = entry
        self.chat = chat
        self.window = window
        self._settings = replace(settings or EngineSettings(), hidden=hidden is not False)
        self._hidden = hidden
        self._prefix_bytes = prefix_bytes
        self._profile = profile
        named = None if profile is None or profile == NO_PROFILE else load_profile(profile)
        if named is not None and named.frame is not None and chat is not None:
            raise ConfigError(f"judge {id!r}: the profile {profile!r} has a chat format of its own.")
        self._model: Model | None = None
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
        profile = self._profile_of(digest)
        return llama_identity(
            digest,
            chat=self._chat_of(digest),
            window=self.window,
            kv=self._settings.kv,
            profile=profile.identity if profile is not None else None,
            hidden=self._hidden,
        )

    @property
    def profile(self) -> Profile | None:
        """See `Judge.profile`; told without a file for the models that the manifest knows."""
        if self._profile is None and self.path.is_file():
            return self._profile_of(sha256_of(self.path))
        return self._profile_of(self.entry.sha256 if self.entry is not None else None)

    def _profile_of(self, digest: str | None) -> Profile | None:
        name = self._profile
        if name is None and digest is not None:
            entry = load_manifest().by_sha256(digest)
            name = entry.profile if entry is not None else None
        return None if name is None or name == NO_PROFILE else load_profile(name)

    def _chat_of(self, digest: str) -> Chat:
        if self.chat is not None:
            return self.chat
        entry = load_manifest().by_sha256(digest)
        return entry.chat if entry is not None else "auto"

    @property
    def prompt_format(self) -> Chat:
        """Whether the file's chat template is used or plain text; the file must be here."""
        return self._chat_of(sha256_of(self.path))

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
                model = self._model or self._load()
                # An answer goes out before the next batch, so the clock stops while the caller has it.
                for outcome in model.answer(calls):
                    self.usage.judge_seconds += time.perf_counter() - started
                    yield outcome
                    started = time.perf_counter()
            except LabelsAlikeError as error:
                raise ModelFileError(f"{self.path}: {error}.") from error
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
            if self._model is not None:
                self._model.engine.close()
                self._model = None

    def _load(self) -> Model:
        from ragjudge.gguf.header import check_gguf
        from ragjudge.judges.llama.fitting import fitted, rope_switch_of
        from ragjudge.judges.llama.native import Engine

        if not self.path.is_file():
            raise self._missing()
        check_gguf(self.path)
        engine = Engine(self.path, fitted(self.path, self._settings, self.window or DEFAULT_WINDOW))
        try:
            bos, eos = engine.bos(), engine.eos()
            self._model = Model(
                engine,
                chat=chat_format(
                    engine.chat_template(),
                    bos=bos.text if bos else "",
                    eos=eos.text if eos else "",
                    plain=self.prompt_format == "plain",
                    profile=self.profile,
                ),
                window=self.window,
                rope_switch=rope_switch_of(engine, self.path),
                states=self._states(engine),
                usage=self.usage,
                hidden=self._hidden,
            )
        except BaseException:
            engine.close()
            raise
        return self._model

    def _states(self, engine: Engine) -> PrefixStore | None:
        """Return where states of prefixes are kept, valid for this model, build and setting alone."""
        bound = default_bound() if self._prefix_bytes is None else self._prefix_bytes
        if bound <= 0:
            return None
        return PrefixStore({"judge": self.identity().fingerprint, **engine.state_scope()}, bound)


def llama_identity(
    model_sha256: str,
    *,
    chat: Chat,
    window: int | None,
    kv: KvType = "f16",
    profile: str | None = None,
    lora_sha256: str | None = None,
    hidden: Hidden = False,
) -> Identity:
    """Say who a llama judge is, from the digest of its file; the file itself need not be here.

    The window also decides which rope factors are used, by models that have two sets of them.
    """
    document: dict[str, JsonValue] = {
        "kind": "llama",
        "model": model_sha256,
        "lora": lora_sha256,
        "chat": chat,
        "window": window or DEFAULT_WINDOW,
        "kv": kv,
        "hidden": identity_of_hidden(hidden),
    }
    if profile is not None:
        document["profile"] = profile
    return Identity(document)
