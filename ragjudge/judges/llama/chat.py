"""From a system and a user text to the prompt of a model: its own chat template, or plain text.

The template is rendered a few times on placeholder texts, never on data. The frame that it writes around
them is then filled by plain replacement.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ragjudge.errors import ModelFileError
from ragjudge.judges.llama.sandbox import Message, render_template
from ragjudge.judges.llama.thinking import NO_THINKING, Past, Thinking, answer_start

if TYPE_CHECKING:
    from ragjudge.prompts.profile import Profile

_SYSTEM = "RAGJUDGE-SYSTEM-TEXT"
_USER = "RAGJUDGE-USER-TEXT"
_THOUGHT = "RAGJUDGE-THOUGHT-TEXT"
_ANSWER = "RAGJUDGE-ANSWER-TEXT"

_MARK = re.compile(r"<+[^\s<>]{1,60}>+|\[/?[A-Z][A-Z_]*\]|◁[^\s◁▷]{1,60}▷")
"""What turns are marked with: ``<|im_end|>``, ``[/INST]``, ``<<SYS>>``."""

_FAMILIES = (
    ("<|im_start|>", "ChatML"),
    ("<|start_header_id|>", "Llama 3"),
    ("<start_of_turn>", "Gemma"),
    ("<|turn>", "Gemma 4"),
    ("[INST]", "Mistral"),
    ("<|message|>", "Harmony"),
    ("<|start_of_role|>", "Granite"),
    ("<｜Assistant｜>", "DeepSeek"),
    ("<|assistant|>", "Phi or GLM"),
    ("<|START_OF_TURN_TOKEN|>", "Command"),
)


@dataclass(frozen=True)
class ChatFormat:
    """A prompt frame: what stands before, between and after the texts.

    Attributes:
        before: Text before the system text.
        between: Text between the system text and the user text.
        after: Text after the user text; the answer's first token comes next.
        alone: Text before the user text where there is no system text; None = as around an empty one.
        merged: Whether the system text is the head of the user's turn, for want of a turn of its own.
        thinking: How the model is kept from thinking before it answers.
    """

    before: str
    between: str
    after: str
    alone: str | None = None
    merged: bool = False
    thinking: Thinking = field(default=NO_THINKING)

    def head(self, system: str) -> str:
        """Return everything before the user text."""
        if not system and self.alone is not None:
            return self.alone
        return f"{self.before}{system}{self.between}"

    def render(self, system: str, user: str) -> str:
        """Return the whole prompt."""
        return f"{self.head(system)}{user}{self.after}"

    @property
    def family(self) -> str:
        """The name of the format, by its marks: ``ChatML``, ``Llama 3`` …; ``plain``; or ``other``."""
        if self == PLAIN:
            return "plain"
        marks = self.marks
        return next((name for mark, name in _FAMILIES if mark in marks), "other")

    @property
    def marks(self) -> frozenset[str]:
        """The turn marks in the frame, whether the vocabulary calls them control tokens or not."""
        texts = (self.before, self.between, self.after, self.alone or "")
        return frozenset(mark for text in texts for mark in _MARK.findall(text))


PLAIN = ChatFormat("", "\n\n", "\nAnswer:", alone="")
"""For base models, which have no chat template."""


def from_template(template: str, *, bos: str, eos: str) -> ChatFormat:
    """Read the frame out of a chat template.

    A template without a system role gets the system text as the head of the user text. The answer begins
    behind an empty or closed reasoning block, see `judges.llama.thinking`.

    Args:
        template: Jinja source, as the GGUF carries it.
        bos: Text of the vocabulary's first token.
        eos: Text of the vocabulary's last token.

    Raises:
        ModelFileError: The template fails, or does not print the texts it is given.
    """
    printer = _Printer(template, bos, eos)
    failures = []
    for parts in (False, True):
        for merged in (False, True):
            try:
                return printer.frame(merged=merged, parts=parts)
            except Exception as error:  # noqa: PERF203 - each try renders a template
                failures.append(str(error) if isinstance(error, _NotPrintedError) else _told(error))
    raise ModelFileError(
        f"the model's chat template cannot be used ({'; '.join(dict.fromkeys(failures))}).",
        hint="choose the plain format with `chat: plain`",
    )


def chat_format(
    template: str | None, *, bos: str, eos: str, plain: bool = False, profile: Profile | None = None
) -> ChatFormat:
    """Return the prompt frame of a model.

    Args:
        template: The chat template of its file, or None.
        bos: Text of the vocabulary's first token.
        eos: Text of the vocabulary's last token.
        plain: Ask in plain text, whatever chat template there is.
        profile: How the model wants to be asked.

    Raises:
        ModelFileError: The chat template cannot be used.
    """
    if profile is not None and profile.frame is not None:
        frame = profile.frame
        chat = ChatFormat(frame.before, "\n\n", frame.after, alone=frame.before, merged=True)
    elif plain or template is None:
        chat = PLAIN
    else:
        chat = from_template(template, bos=bos, eos=eos)
    return replace(chat, after=chat.after + profile.reply) if profile is not None else chat


class _NotPrintedError(ValueError):
    """A template does not print what it is given."""


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


class _Printer:
    """Renders one template on placeholder texts."""

    def __init__(self, template: str, bos: str, eos: str) -> None:
        self._template = template
        self._bos = bos
        self._eos = eos

    def frame(self, *, merged: bool, parts: bool) -> ChatFormat:
        """Return the frame.

        Args:
            merged: Give the template no system message, but the system text as the head of the user's.
            parts: Give contents as lists of parts.

        Raises:
            Exception: What the template came to.
        """

        def said(role: str, text: str, **more: str) -> Message:
            content: Any = [{"type": "text", "text": text}] if parts else text
            return {"role": role, "content": content, **more}

        if merged:
            asked = [said("user", f"{_SYSTEM}\n\n{_USER}")]
        else:
            asked = [said("system", _SYSTEM), said("user", _USER)]
        text = self._render(asked)
        if text.count(_SYSTEM) != 1 or text.count(_USER) != 1 or text.index(_SYSTEM) > text.index(_USER):
            raise _NotPrintedError("it does not print the texts it is given, in order")
        before, rest = text.split(_SYSTEM)
        between, after = rest.split(_USER)
        switched = self._tried(asked, thinking=True) not in (None, text)
        answer = said("assistant", _ANSWER)
        thought = said("assistant", _ANSWER, reasoning_content=_THOUGHT, thinking=_THOUGHT)
        past = self._past([*asked, answer], [*asked, thought])
        after, thinking = answer_start(after, switched=switched, past=past)
        return ChatFormat(
            before,
            "\n\n" if merged else between,
            after,
            alone=self._alone(said("user", _USER)),
            merged=merged,
            thinking=thinking,
        )

    def _alone(self, question: Message) -> str | None:
        text = self._tried([question])
        return text.split(_USER)[0] if text is not None and text.count(_USER) == 1 else None

    def _past(self, plain: Sequence[Message], thought: Sequence[Message]) -> Past:
        """See how past answers are printed, with and without reasoning."""
        found = self._pieces(self._tried(plain, generate=False), _USER, _ANSWER)
        between = self._pieces(self._tried(thought, thinking=True, generate=False), _USER, _THOUGHT, _ANSWER)
        return Past(found[0] if found else None, *(between or (None, None)))

    @staticmethod
    def _pieces(text: str | None, *marks: str) -> list[str] | None:
        """Return what stands between placeholders; None unless each comes once, in order."""
        if text is None or any(text.count(mark) != 1 for mark in marks):
            return None
        places = [text.index(mark) for mark in marks]
        if places != sorted(places) or _SYSTEM in text[places[0] :]:
            return None
        return [
            text[place + len(mark) : after]
            for place, mark, after in zip(places[:-1], marks, places[1:], strict=False)
        ]

    def _tried(
        self, messages: Sequence[Message], *, thinking: bool = False, generate: bool = True
    ) -> str | None:
        """Render what a template need not know; None when it fails."""
        try:
            return self._render(messages, thinking=thinking, generate=generate)
        except Exception:  # a stranger's program may raise anything
            return None

    def _render(self, messages: Sequence[Message], *, thinking: bool = False, generate: bool = True) -> str:
        return render_template(
            self._template, messages, bos=self._bos, eos=self._eos, thinking=thinking, generate=generate
        )


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
