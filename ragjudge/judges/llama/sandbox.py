"""Runs the chat template of a model file: a stranger's program, in Jinja's immutable sandbox."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

RENDER_DATE = "2025-01-01"
"""The date that templates see. Some print today's, which would change every prompt every day."""

MOST_STEPS = 500_000
"""Most lines of Python that a template may run; real ones need a few thousand."""

_MOST_REPEATS = 10_000
"""Largest factor or exponent that a template may compute with."""

Message = Mapping[str, Any]


def render_template(
    template: str, messages: Sequence[Message], *, bos: str, eos: str, thinking: bool, generate: bool
) -> str:
    """Render a chat template.

    Args:
        template: Jinja source.
        messages: The messages; contents are texts, or lists of parts as templates of models that see take.
        bos: Text of the vocabulary's first token.
        eos: Text of the vocabulary's last token.
        thinking: Whether the model shall think first, for templates that ask.
        generate: Whether the beginning of an answer is printed behind the messages.

    Raises:
        Exception: Whatever the template comes to: it is a stranger's program.
    """
    environment = _environment()
    compiled = environment.from_string(template)
    with _bounded(MOST_STEPS):
        rendered: str = compiled.render(
            messages=messages,
            add_generation_prompt=generate,
            bos_token=bos,
            eos_token=eos,
            enable_thinking=thinking,
            thinking=thinking,
        )
    return rendered


def _environment() -> Any:
    from datetime import datetime, timezone

    from jinja2.ext import Extension
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Generation(Extension):
        """The tag with which trainers mark what a model says. It prints its contents."""

        tags = {"generation"}  # noqa: RUF012 - so the base class declares it

        def parse(self, parser: Any) -> Any:
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

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

    extensions: list[Any] = ["jinja2.ext.loopcontrols", Generation]
    environment: Any = Sandbox(trim_blocks=True, lstrip_blocks=True, extensions=extensions)
    environment.globals["raise_exception"] = refuse
    environment.globals["strftime_now"] = fixed_date
    return environment


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
