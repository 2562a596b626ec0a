"""From calls to prompts as tokens: rendered, tokenised whole, and asked window by window where too long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragjudge.errors import PromptTooLongError
from ragjudge.judges.llama.chat import ChatFormat, Neutraliser
from ragjudge.judges.steps import Tokens
from ragjudge.judges.windows import split_into_windows
from ragjudge.records import Call, Check, ChunkSpan, Prompt, Segment

if TYPE_CHECKING:
    from ragjudge.judges.llama.vocabulary import Vocabulary

OWN_TOKENS = 512
"""Tokens of a window that are kept for the part that is a check's own, when the contexts are divided.

Every check over the same contexts then has the same windows, however long its own part is."""

_SPARE = 16
"""Tokens left free, since parts that are counted apart can come out a little longer together."""

Window = tuple[ChunkSpan, ...]


@dataclass(frozen=True)
class Question:
    """One prompt of a call.

    Attributes:
        tokens: The prompt.
        mark: How many of them come from the shared part; see `judges.trie`.
        window: What of the chunks it shows; empty = all of them.
    """

    tokens: Tokens
    mark: int
    window: Window = ()


@dataclass(frozen=True)
class TooLong:
    """A prompt that does not fit and cannot be divided.

    Attributes:
        tokens: Its length, the room for its answer included.
    """

    tokens: int


class Questioner:
    """Renders calls for one model.

    Args:
        vocabulary: The model's vocabulary.
        chat: The model's prompt frame.
        neutralise: Takes the power from control strings in data.
        add_special: Whether the vocabulary's own first token is put in front.
        window: Longest prompt in tokens.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        chat: ChatFormat,
        neutralise: Neutraliser,
        *,
        add_special: bool,
        window: int,
    ) -> None:
        self._vocabulary = vocabulary
        self._chat = chat
        self._neutralise = neutralise
        self._add_special = add_special
        self.window = window
        # Of the calls at hand only: contexts of earlier ones are not kept alive.
        self._prefixes: dict[tuple[str, str], Tokens] = {}
        self._windows: dict[tuple[str, str], list[Window]] = {}

    def questions(self, calls: Sequence[Call]) -> list[list[Question] | TooLong]:
        """Return the prompts of each call: one, or one for each window of its chunks.

        Raises:
            PromptTooLongError: A check does not fit and its chunks cannot be divided, or its own part is
                longer than a window has room for.
        """
        self._prefixes.clear()
        self._windows.clear()
        found: list[list[Question] | TooLong] = []
        for index, call in enumerate(calls):
            questions = self._of_call(call)
            if isinstance(questions, TooLong) and isinstance(call, Check):
                raise PromptTooLongError(questions.tokens, self.window, index)
            found.append(questions)
        return found

    def _of_call(self, call: Call) -> list[Question] | TooLong:
        whole = self._question(call, call.shared)
        if isinstance(whole, Question):
            return [whole]
        if not isinstance(call, Check) or not call.segments:
            return whole
        questions = []
        for window in self._windows_of(call):
            shown = self._question(call, shared_of(call.shared, call.segments, window), window)
            if isinstance(shown, TooLong):
                return shown
            questions.append(shown)
        return questions

    def _question(self, call: Call, shared: str, window: Window = ()) -> Question | TooLong:
        """Tokenise one prompt whole: pieces that are tokenised apart can come out differently."""
        text = self._chat.render(call.system, self._neutralise(shared + call.own))
        answer = call.max_tokens if isinstance(call, Prompt) else 0
        # The first comparison spares short prompts the second one, which reads the whole vocabulary.
        if len(text) > self.window and len(text) > self.window * self._vocabulary.longest_piece:
            return TooLong(self._vocabulary.count(text) + answer)
        tokens = self._tokenize(text)
        if len(tokens) + answer > self.window:
            return TooLong(len(tokens) + answer)
        return Question(tokens, self._mark(call.system, shared, tokens), window)

    def _tokenize(self, text: str) -> Tokens:
        return tuple(self._vocabulary.tokenize(text, add_special=self._add_special))

    def _mark(self, system: str, shared: str, tokens: Tokens) -> int:
        """Return how far a prompt is what its shared part alone would be."""
        if (system, shared) not in self._prefixes:
            head = self._chat.head(system)
            self._prefixes[system, shared] = self._tokenize(head + self._neutralise(shared))
        prefix = self._prefixes[system, shared]
        most = min(len(prefix), len(tokens) - 1)
        # Only what stands right at the border can be tokenised differently: look there first.
        for length in range(most, max(most - 8, 0), -1):
            if prefix[:length] == tokens[:length]:
                return length
        return 0

    def _windows_of(self, check: Check) -> list[Window]:
        key = (check.system, check.shared)
        if key not in self._windows:
            chunks = [check.shared[segment.text : segment.text_end] for segment in check.segments]
            # A line's number before the text, and its end.
            lines = [self._count(check.shared[each.start : each.text]) + 1 for each in check.segments]
            self._windows[key] = split_into_windows(
                chunks, self._room(check), self._count, sentences_of, lines
            )
        return self._windows[key]

    def _room(self, check: Check) -> int:
        """Return how many tokens of chunk text fit into a window beside everything else."""
        empty = shared_of(check.shared, check.segments, ())
        frame = self._count(self._chat.render(check.system, self._neutralise(empty)))
        return max(1, self.window - min(OWN_TOKENS, self.window // 4) - frame - _SPARE)

    def _count(self, text: str) -> int:
        return self._vocabulary.count(self._neutralise(text))


def shared_of(shared: str, segments: Sequence[Segment], window: Window) -> str:
    """Return a shared part with only a window's stretches of its chunks.

    A chunk keeps its number, so that it is called the same in every window.
    """
    if not segments:
        return shared
    parts = [shared[: segments[0].start]]
    for span in window:
        segment = segments[span.chunk]
        parts.append(shared[segment.start : segment.text])
        parts.append(shared[segment.text + span.start : segment.text + span.end])
        parts.append(shared[segment.text_end : segment.end])
    parts.append(shared[segments[-1].end :])
    return "".join(parts)


def sentences_of(text: str) -> list[tuple[int, int]]:
    """Return the sentences of a chunk as ``(start, end)``."""
    from ragjudge.text.sentences import sentences

    return [(span.start, span.end) for span in sentences(text)]
