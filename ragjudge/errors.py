"""Every error that ragjudge raises on purpose.

    RagjudgeError                       exit code 2 unless a subclass says otherwise
    ├── UsageError                      the call itself is wrong: options, names, combinations
    │   └── UnknownNameError            a name that is not in a registry; knows the nearest one
    ├── ConfigError                     a suite or setting that cannot be meant
    ├── DataError                       a data file, row or text that cannot be graded
    │   └── PromptTooLongError          a prompt that does not fit the judge's window
    ├── ProviderError                   a system under test that could not be called
    ├── JudgeUnavailableError     (3)   there is no judge to ask
    │   ├── ModelMissingError           the model file is not here
    │   └── ModelFileError              the file is here and is no usable model
    ├── CacheError                      a cache that cannot be opened or trusted
    └── ReplayMissError           (4)   a replay needs a call that was never stored

A single judge call that fails is not an exception: it is a `records.CallFailure`, so that one bad
answer never costs the run (see `judges.base`).
"""

from __future__ import annotations

import difflib
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar, TypeVar

Error = TypeVar("Error", bound="RagjudgeError")


class RagjudgeError(Exception):
    """Base of all errors meant for the person at the keyboard.

    Args:
        message: One sentence that names the place, what was found and what is accepted.
        hint: What to do about it, when that is known.
    """

    exit_code: ClassVar[int] = 2

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def within(self: Error, place: str) -> Error:
        """Put the place in front of the message, and return the error.

        Args:
            place: What was being read when it was raised, e.g. ``"suite.yaml: providers[0]"``.
        """
        self.message = f"{place}: {self.message}"
        self.args = (self.message,)
        return self


class UsageError(RagjudgeError):
    """The call itself is wrong: an option, a name or a combination of them."""


class UnknownNameError(UsageError):
    """A name that no registry knows.

    Args:
        kind: What was looked up, e.g. ``"metric"``.
        name: The name as given.
        known: All accepted names.
        where: The place the name was read from, e.g. ``"suite.yaml, tests[3]"``.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], *, where: str | None = None) -> None:
        names = sorted(known)
        place = f"{where}: " if where else ""
        near = nearest(name, names)
        suggestion = f" Did you mean {near!r}?" if near else ""
        listing = f" Accepted: {', '.join(names)}." if names else ""
        super().__init__(f"{place}unknown {kind} {name!r}.{suggestion}{listing}")
        self.name = name


class ConfigError(RagjudgeError):
    """A suite or a setting that cannot be meant."""


class DataError(RagjudgeError):
    """A data file, row or text that cannot be graded as it is."""


class PromptTooLongError(DataError):
    """A prompt that does not fit the judge's window; it is never cut.

    Args:
        tokens: Length of the prompt in tokens, the room for its answer included.
        window: The judge's window in tokens.
        index: Index of the call among those that were asked together.
    """

    def __init__(self, tokens: int, window: int, index: int) -> None:
        super().__init__(
            f"the prompt has {tokens} tokens and the judge's window holds {window}; nothing was cut.",
            hint="give fewer or shorter chunks, or raise the judge's `window:` setting",
        )
        self.tokens = tokens
        self.window = window
        self.index = index


class ProviderError(RagjudgeError):
    """A system under test that could not be loaded or called."""


class JudgeUnavailableError(RagjudgeError):
    """There is no judge to ask: no model file, no llama-cpp-python, no server."""

    exit_code = 3


class ModelMissingError(JudgeUnavailableError):
    """The model file is not on this machine."""


class ModelFileError(JudgeUnavailableError):
    """The model file is here and is not usable: no GGUF, a wrong digest, a failed load."""

    exit_code = 2


class CacheError(RagjudgeError):
    """A cache that cannot be opened, or that holds what it must not hold."""


class ReplayMissError(RagjudgeError):
    """A replay needs a call that the cache does not hold."""

    exit_code = 4


def nearest(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """Return the known name that looks most like ``name``, or None when none is close.

    Args:
        name: The name.
        known: The known ones.
        cutoff: How alike two names must be, from 0 to 1.
    """
    matches = difflib.get_close_matches(name.lower(), list(known), n=1, cutoff=cutoff)
    return matches[0] if matches else None


def raised(error: BaseException, machinery: Iterable[str]) -> str:
    """Say what somebody else's code raised, and where; without folders, so that it reads the same everywhere.

    Args:
        error: What was raised.
        machinery: Beginnings of the names of files that are not that code: the place is not sought in them.
    """
    try:
        said = str(error)
    except Exception:  # noqa: BLE001, RUF100 - a stranger's exception may not even have a text
        said = ""
    what = " ".join(f"{type(error).__name__}: {said}".split()).removesuffix(":")
    if isinstance(error, SyntaxError):
        return what  # it names its file and line itself; the frames are the importer's
    ours = ("<frozen", *machinery)
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(ours)
    ]
    return f"{what} ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else what
