"""From a system and a user text to the prompt of a model: its own chat template, or plain text.

The template of a GGUF is a stranger's program: it runs in Jinja's immutable sandbox, once, on two
placeholder texts. The rendered frame is then filled by plain replacement, so no data ever passes
through the template.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, NoReturn

from ragjudge.errors import ModelFileError

RENDER_DATE = "2025-01-01"
"""The date that templates see. Some print today's, which would change every prompt every day."""

MOST_STEPS = 500_000
"""Most lines of Python that a template may run; real ones need a few thousand."""

_MOST_REPEATS = 10_000
"""Largest factor or exponent that a template may compute with."""

_SYSTEM = "RAGJUDGE-SYSTEM-TEXT"
_USER = "RAGJUDGE-USER-TEXT"


@dataclass(frozen=True)
class ChatFormat:
    """A prompt frame: what stands before, between and after the texts.

    Attributes:
        before: Text before the system text.
        between: Text between the system text and the user text.
        after: Text after the user text; the answer's first token comes next.
    """

    before: str
    between: str
    after: str

    def render(self, system: str, user: str) -> str:
        """Return the whole prompt."""
        return f"{self.before}{system}{self.between}{user}{self.after}"


PLAIN = ChatFormat("", "\n\n", "\nAnswer:")
"""For base models, which have no chat template."""


def from_template(template: str, *, bos: str, eos: str) -> ChatFormat:
    """Read the frame out of a chat template.

    A template without a system role gets the system text as the head of the user text.

    Args:
        template: Jinja source, as the GGUF carries it.
        bos: Text of the vocabulary's first token.
        eos: Text of the vocabulary's last token.

    Raises:
        ModelFileError: The template fails, or does not print the texts it is given.
    """
    failures = []
    for messages, glue in (
        ([{"role": "system", "content": _SYSTEM}, {"role": "user", "content": _USER}], None),
        ([{"role": "user", "content": f"{_SYSTEM}\n\n{_USER}"}], "\n\n"),
    ):
        try:
            text = _render(template, messages, bos=bos, eos=eos)
        except Exception as error:
            failures.append(f"{type(error).__name__}: {error}")
            continue
        if text.count(_SYSTEM) == 1 and text.count(_USER) == 1 and text.index(_SYSTEM) < text.index(_USER):
            before, rest = text.split(_SYSTEM)
            between, after = rest.split(_USER)
            return ChatFormat(before, glue or between, after)
        failures.append("it does not print the texts it is given, in order")
    raise ModelFileError(
        f"the model's chat template cannot be used ({'; '.join(failures)}).",
        hint="choose the plain format with `chat: plain`",
    )


def _render(template: str, messages: list[dict[str, str]], *, bos: str, eos: str) -> str:
    from datetime import datetime, timezone

    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Sandbox(ImmutableSandboxedEnvironment):
        """Also refuses the operators that make much out of little."""

        intercepted_binops = frozenset(("*", "**", "%"))

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            if operator == "%" and isinstance(left, str):
                raise ValueError("it formats a text with %")
            if operator != "%" and any(
                not isinstance(value, (int, float)) or abs(value) > _MOST_REPEATS for value in (left, right)
            ):
                raise ValueError(f"it computes with {operator} beyond small numbers")
            return super().call_binop(context, operator, left, right)

    def refuse(message: str) -> NoReturn:
        raise ValueError(message)

    def fixed_date(pattern: str) -> str:
        return datetime.fromisoformat(RENDER_DATE).replace(tzinfo=timezone.utc).strftime(pattern)

    environment: Any = Sandbox(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
    environment.globals["raise_exception"] = refuse
    environment.globals["strftime_now"] = fixed_date
    compiled = environment.from_string(template)
    with _bounded(MOST_STEPS):
        rendered: str = compiled.render(
            messages=messages, add_generation_prompt=True, bos_token=bos, eos_token=eos, enable_thinking=False
        )
    return rendered


@contextmanager
def _bounded(steps: int) -> Iterator[None]:
    """Let code run for so many lines of Python: the sandbox bounds what is touched, not how long it takes.

    Lines are counted and not seconds, so that a template is refused on every machine or on none.
    """
    left = steps

    def count(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise TimeoutError(f"it runs for more than {steps} steps")
        return count

    previous = sys.gettrace()
    sys.settrace(count)
    try:
        yield
    finally:
        sys.settrace(previous)


class Neutraliser:
    """Takes the power from control strings inside data, so that a chunk cannot close its turn.

    A blank after the first character is enough: ``<|im_end|>`` becomes ``< |im_end|>``, which reads the
    same and is no control token. Where a control string has a blank itself, a mark that none of them has
    takes its place, so that what is inserted can never complete another one.

    Args:
        controls: The control strings of a vocabulary.
    """

    def __init__(self, controls: Iterable[str]) -> None:
        strings = sorted({text for text in controls if len(text) > 1}, key=lambda text: (-len(text), text))
        self._pattern = re.compile("|".join(map(re.escape, strings))) if strings else None
        used = set().union(*strings)
        self._mark = next(mark for mark in (" ", *map(chr, range(0xB7, 0xD800))) if mark not in used)

    def __call__(self, text: str) -> str:
        """Return the text without any control string."""
        if self._pattern is None:
            return text
        while True:
            text, found = self._pattern.subn(lambda match: f"{match[0][0]}{self._mark}{match[0][1:]}", text)
            if not found:
                return text
