"""A loaded model that answers: calls to questions, questions along their trie, logits to verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ragjudge.judges.alone import plan_alone
from ragjudge.judges.llama.chat import ChatFormat, Neutraliser
from ragjudge.judges.llama.hidden import Hidden, kept_state
from ragjudge.judges.llama.labels import LabelTokens, probe_labels, read_labels
from ragjudge.judges.llama.questions import Question, Questioner, TooLong
from ragjudge.judges.llama.room import Room
from ragjudge.judges.steps import Tokens
from ragjudge.judges.trie import plan
from ragjudge.prompts.answers import probability
from ragjudge.records import (
    Call,
    CallFailure,
    Check,
    Outcome,
    Oversize,
    Prompt,
    Reply,
    Unfinished,
    Verdict,
    WindowVerdict,
)

if TYPE_CHECKING:
    from ragjudge.judges.base import JudgeUsage
    from ragjudge.judges.llama.grammar import Logits
    from ragjudge.judges.llama.native import Engine
    from ragjudge.judges.llama.prefix_store import PrefixStore
    from ragjudge.judges.llama.vocabulary import Vocabulary

DEFAULT_WINDOW = 8192
"""Longest prompt in tokens, when neither the user nor a shorter training context says otherwise."""


class Model:
    """A loaded model and what was learnt from it.

    Args:
        engine: The model; owned from now on.
        chat: The model's prompt frame.
        window: Longest prompt in tokens; None = 8192, or the training context if that is smaller.
        rope_switch: See `Room`.
        states: Where states of prefixes are kept beyond this process; None = nowhere.
        usage: Counters to be kept.
        hidden: What verdicts keep of hidden states; the engine must then read them.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        chat: ChatFormat,
        window: int | None,
        rope_switch: int | None,
        states: PrefixStore | None,
        usage: JudgeUsage,
        hidden: Hidden = False,
    ) -> None:
        self.engine = engine
        self.usage = usage
        self._states = states
        self._hidden = hidden
        self._labels: dict[tuple[str, ...], LabelTokens] = {}
        self.chat = chat
        self.questioner = Questioner(
            engine,
            chat,
            neutraliser_of(engine, chat),
            add_special=adds_first_token(engine, chat),
            window=window or min(DEFAULT_WINDOW, engine.training_context or DEFAULT_WINDOW),
        )
        self._room = Room(self.questioner.window, rope_switch)

    def answer(self, calls: Sequence[Call]) -> Iterator[tuple[int, Outcome]]:
        """Answer checks from one token trie, then open prompts one by one. See `Judge.ask`.

        Raises:
            PromptTooLongError: A check does not fit and cannot be divided; nothing was decoded.
            LabelsAlikeError: Labels cannot be told apart by their first token.
        """
        questions = self.questioner.questions(calls)
        for labels in dict.fromkeys(call.labels for call in calls if isinstance(call, Check)):
            self._label_tokens(labels)
        checks = {
            index: asked
            for index, (call, asked) in enumerate(zip(calls, questions, strict=True))
            if isinstance(call, Check) and not isinstance(asked, TooLong)
        }
        if checks:
            yield from self._answer_checks(calls, checks)
        for index, (call, asked) in enumerate(zip(calls, questions, strict=True)):
            if isinstance(asked, TooLong):
                yield index, Oversize(tokens=asked.tokens, window=self.questioner.window)
            elif isinstance(call, Prompt):
                yield index, self._answer_prompt(call, asked[0])

    # -- checks ------------------------------------------------------------------------------------

    def _answer_checks(
        self, calls: Sequence[Call], checks: dict[int, list[Question]]
    ) -> Iterator[tuple[int, Outcome]]:
        """Decode the trie of all prompts; a check is answered when its last prompt is."""
        # Different checks can render to the same tokens (a claim that differs in a control string only).
        same: dict[Tokens, list[tuple[int, int]]] = {}
        marks: dict[Tokens, int] = {}
        for index, asked in checks.items():
            for place, question in enumerate(asked):
                same.setdefault(question.tokens, []).append((index, place))
                marks[question.tokens] = question.mark
        said: dict[int, dict[int, Outcome]] = {index: {} for index in checks}
        for tokens, outcome_of in self._outcomes(marks):
            for index, place in same[tokens]:
                call = calls[index]
                said[index][place] = outcome_of(call.labels if isinstance(call, Check) else ())
                if len(said[index]) == len(checks[index]):
                    yield index, combined(call, checks[index], said.pop(index))

    def _outcomes(self, marks: dict[Tokens, int]) -> Iterator[tuple[Tokens, _Read]]:
        from ragjudge.judges.llama.native import NativeError

        waiting = dict(marks)
        try:
            for tokens, output in self._run(waiting, count_minimum=True):
                waiting.pop(tokens)
                yield tokens, _Read(self, output)
        except NativeError:
            # One bad batch must not cost the others their answers: the rest is asked one by one.
            for tokens, mark in waiting.items():
                yield tokens, self._single(tokens, mark)

    def _single(self, tokens: Tokens, mark: int) -> _Read:
        from ragjudge.judges.llama.native import NativeError

        try:
            ((_, output),) = self._run({tokens: mark}, count_minimum=False)
        except NativeError as error:
            return _Read(self, None, f"llama.cpp could not decode the prompt: {error}")
        return _Read(self, output)

    def _run(self, marks: dict[Tokens, int], *, count_minimum: bool) -> Iterator[tuple[Tokens, _Output]]:
        """Decode prompts along their trie; yield each with a copy of what came out."""
        engine = self.engine
        prompts = list(marks)
        limits = engine.limits(self._room.cells(max(map(len, prompts)), engine.settings.batch))
        lengths = [self._useful_mark(marks[prompt]) for prompt in prompts]
        kept = {
            prompt[:length]
            for prompt, length in zip(prompts, lengths, strict=True)
            if length and self._states is not None and self._states.holds(prompt[:length])
        }
        planned = plan_alone if engine.settings.exact else plan
        steps = planned(prompts, limits, marks=lengths, kept=kept)
        if count_minimum:
            self.usage.tokens_minimum += steps.nodes
        decoded, lost = engine.tokens_decoded, engine.tokens_not_restored
        restored = steps.restored
        try:
            for index, output in engine.run(steps, self._output, self._states):
                self.usage.tokens_decoded += engine.tokens_decoded - decoded
                decoded = engine.tokens_decoded
                yield prompts[index], output
        finally:  # also what a refused batch was preceded by
            self.usage.tokens_decoded += engine.tokens_decoded - decoded
            self.usage.tokens_restored += max(0, restored - (engine.tokens_not_restored - lost))

    def _useful_mark(self, mark: int) -> int:
        """Return a mark if the plan is to stop there: to keep the state, or because exact answers need it."""
        from ragjudge.judges.llama.prefix_store import LEAST_TOKENS

        if self.engine.settings.exact:
            return mark
        return mark if self._states is not None and mark >= LEAST_TOKENS else 0

    def _output(self, logits: Logits, state: Logits | None) -> _Output:
        return _Output(logits.copy(), kept_state(state, self._hidden))

    def read(self, output: _Output | None, error: str, labels: tuple[str, ...]) -> Outcome:
        """Turn what came out of one prompt into a verdict."""
        if output is None:
            return CallFailure(reason=error)
        values = read_labels(output.logits, self._label_tokens(labels))
        if values is None:
            return CallFailure(reason="the model computes no numbers: its file or its build is damaged")
        return Verdict(log_probabilities=values, hidden=output.hidden)

    def _label_tokens(self, labels: tuple[str, ...]) -> LabelTokens:
        """Return the token ids with which an answer may begin that means a label; asked once."""
        if labels not in self._labels:
            self._labels[labels] = probe_labels(self.engine, labels)
        return self._labels[labels]

    # -- open prompts ------------------------------------------------------------------------------

    def _answer_prompt(self, call: Prompt, question: Question) -> Outcome:
        from ragjudge.judges.llama.native import NativeError

        engine, tokens = self.engine, question.tokens
        engine.limits(self._room.cells(len(tokens) + call.max_tokens))
        decoded, generated = engine.tokens_decoded, engine.tokens_generated
        try:
            reply = engine.generate(tokens, call.grammar, call.max_tokens, shared=question.mark)
        except NativeError as error:
            return CallFailure(reason=f"llama.cpp could not answer the prompt: {error}")
        finally:
            self.usage.tokens_decoded += engine.tokens_decoded - decoded
            self.usage.tokens_minimum += engine.tokens_decoded - decoded
            self.usage.tokens_generated += engine.tokens_generated - generated
        if not reply.complete:
            return Unfinished(text=reply.text, tokens=reply.tokens)
        return Reply(text=reply.text, tokens=reply.tokens)


def neutraliser_of(vocabulary: Vocabulary, chat: ChatFormat) -> Neutraliser:
    """Return what takes the power from everything that steers a model or closes a turn of its frame."""
    controls = vocabulary.control_tokens(chat.render("", "") + chat.before + chat.between)
    return Neutraliser((*(token.text for token in controls), *chat.marks))


def adds_first_token(vocabulary: Vocabulary, chat: ChatFormat) -> bool:
    """Say whether the vocabulary's first token stands in front of a prompt, and not in the frame already."""
    bos = vocabulary.bos()
    prints_bos = bos is not None and bos.text != "" and chat.before.startswith(bos.text)
    return vocabulary.adds_bos() and not prints_bos


class _Output(NamedTuple):
    """What came out after one prompt: its logits, and what is kept of its hidden state."""

    logits: Logits
    hidden: tuple[float, ...] | None


class _Read:
    """The output of one prompt, read once for each set of labels that asked it."""

    def __init__(self, model: Model, output: _Output | None, error: str = "") -> None:
        self._model = model
        self._output = output
        self._error = error

    def __call__(self, labels: tuple[str, ...]) -> Outcome:
        return self._model.read(self._output, self._error, labels)


def combined(call: Call, asked: Sequence[Question], said: dict[int, Outcome]) -> Outcome:
    """Combine what was said of each window: what one window supports is supported.

    A window that could not be judged might have been the one, so its failure is the check's.
    """
    if len(asked) == 1 or not isinstance(call, Check):
        return said[0]
    windows = []
    for place, question in enumerate(asked):
        outcome = said[place]
        if not isinstance(outcome, Verdict):
            return outcome
        windows.append(
            WindowVerdict(
                spans=question.window,
                log_probabilities=outcome.log_probabilities,
                hidden=outcome.hidden,
            )
        )
    best = max(
        windows,
        key=lambda window: probability(Verdict(log_probabilities=window.log_probabilities), call.positive),
    )
    return Verdict(log_probabilities=best.log_probabilities, windows=tuple(windows), hidden=best.hidden)
