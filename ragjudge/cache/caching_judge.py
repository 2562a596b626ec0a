"""A judge that looks into a store first and keeps whatever the judge below it answers."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast, final

from ragjudge.cache.entries import are_possible, fits
from ragjudge.cache.keys import key_of, request_of
from ragjudge.cache.nearest import explain
from ragjudge.cache.protocol import CallStore, CountedJudge
from ragjudge.errors import JudgeUnavailableError, PromptTooLongError, RagjudgeError, ReplayMissError, raised
from ragjudge.judges.base import Identity, Judge
from ragjudge.records import Answer, Call, CallFailure, Check, Outcome, Verdict

if TYPE_CHECKING:
    from pydantic import JsonValue

    from ragjudge.prompts.profile import Profile

_EXPLAINED = _NAMED = 5
_NOT_EXPLAINED = "not compared with what is stored"


@final
@dataclass(frozen=True)
class Missing:
    """A call that a replay needs and the store does not hold.

    Attributes:
        index: The call's index among those asked.
        call: The call.
        key: Its key.
        nearest: How the stored call that is most like it differs; found for the first few only.
    """

    index: int
    call: Call
    key: str
    nearest: str


class CallsMissingError(ReplayMissError):
    """A replay needs calls that were never stored.

    Args:
        missing: All of them, at least one, each once.
        location: Where they were looked for.
    """

    def __init__(self, missing: Sequence[Missing], location: str) -> None:
        first = missing[0]
        count = "1 call" if len(missing) == 1 else f"{len(missing)} calls"
        super().__init__(
            f"the replay needs {count} that the cache at {location} does not hold; the first is "
            f"{first.call.template}@{first.call.version} for {_about(first.call)}: {first.nearest}.",
            hint="run once without --replay to judge and store them",
        )
        self.missing = tuple(missing)


def replay_miss(missing: Sequence[str], judge: str) -> ReplayMissError:
    """Return the error of a replay that lacks calls.

    Args:
        missing: A line for each of them; the first few are shown.
        judge: The reference of the judge.
    """
    named = "\n".join(f"  {line}" for line in missing[:_NAMED])
    more = f"\n  … and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    count = "1 call is" if len(missing) == 1 else f"{len(missing)} calls are"
    return ReplayMissError(
        f"judge {judge!r}: {count} not in the cache.\n{named}{more}",
        hint="run once without --replay or --bundle, on a machine that has the model",
    )


@final
@dataclass
class _Question:
    """A distinct call, with every place at which it was asked."""

    key: str
    call: Call
    document: JsonValue
    texts: dict[str, str]
    indices: list[int]


class CachingJudge(CountedJudge):
    """Replays what a store holds, asks a judge for the rest and stores each answer as it comes.

    The counters count distinct calls over the life of this object; a call that is asked again counts
    once, under what happened to it first, unless it failed first.

    Args:
        judge: The judge below; None means replay, where a missing call is an error.
        store: Where answers are; the caller closes it.
        identity: Who answers, or would.
        id: The reference by which the user asked for the judge.
        profile: How the judge wants to be asked; see `Judge`.
    """

    def __init__(
        self,
        judge: Judge | None,
        store: CallStore,
        identity: Identity,
        *,
        id: str,
        profile: Profile | None = None,
    ) -> None:
        super().__init__(id)
        self._judge = judge
        self._profile = profile
        self._store = store
        self._identity = identity
        self._fingerprint = identity.fingerprint
        # 64 bits of a key tell calls apart well enough to count them.
        self._judged: set[int] = set()
        self._replayed: set[int] = set()
        self._failed: set[int] = set()
        if judge is not None:
            self.usage = judge.usage

    @property
    def calls_judged(self) -> int:
        """Distinct calls that the judge below answered."""
        return len(self._judged)

    @property
    def calls_replayed(self) -> int:
        """Distinct calls that the store answered."""
        return len(self._replayed)

    @property
    def calls_failed(self) -> int:
        """Distinct calls that nobody could answer."""
        return len(self._failed)

    @property
    def profile(self) -> Profile | None:
        """How the judge below wants to be asked."""
        return self._profile

    def identity(self) -> Identity:
        """Return who answers, or would."""
        return self._identity

    def ask(self, calls: Sequence[Call]) -> Iterator[tuple[int, Outcome]]:
        """Answer calls: the stored ones first, then the rest as they are judged.

        Where stored answers name the model that a server said to be, those that are missing come first: the
        judge then knows which model that is now, and an answer of another one is missing too. When nothing
        is missing, nobody is asked and all stored answers hold.

        Args:
            calls: The calls; equal ones are asked once and answered at each of their indices.

        Yields:
            ``(index into calls, outcome)``. An answer is stored before it is yielded; a failure never is.

        Raises:
            CallsMissingError: There is no judge below and a call is not stored; nothing was yielded.
            CacheError: The store can not be read.
            JudgeUnavailableError: There is no judge to ask, or the judge below broke.
            PromptTooLongError: As the judge below raises it.
        """
        questions = self._distinct(calls)
        stored = self._store.get_many(question.key for question in questions)
        missing = [question for question in questions if question.key not in stored]
        if missing and self._judge is None:
            raise CallsMissingError(self._explained(missing), self._store.location)
        if (
            missing
            and self._judge is not None
            and any(answer.served is not None for answer in stored.values())
        ):
            yield from self._ask_judge(self._judge, missing)
            missing = []
        for question in questions:
            answer = stored.pop(question.key, None)
            if answer is not None and self._judge is not None and not self._judge.confirms(answer):
                missing.append(question)
            elif answer is not None:
                number = _number(question.key)
                if number not in self._judged:
                    self._replayed.add(number)
                for index in question.indices:
                    yield index, answer
        if missing and self._judge is not None:
            yield from self._ask_judge(self._judge, missing)

    def _ask_judge(self, judge: Judge, missing: Sequence[_Question]) -> Iterator[tuple[int, Outcome]]:
        waiting = dict(enumerate(missing))
        answers = self._answers(judge, [question.call for question in missing])
        try:
            for index, answer in answers:
                question = waiting.pop(index, None)
                if question is not None:
                    outcome = _checked(question, answer)
                    self._keep(question, outcome)
                    for place in question.indices:
                        yield place, outcome
            for question in waiting.values():  # a judge that breaks its promise costs these calls alone
                failure = CallFailure(reason="the judge gave no answer to this call")
                self._keep(question, failure)
                for place in question.indices:
                    yield place, failure
        except PromptTooLongError as error:
            # The judge below counts among the missing calls, the caller among all.
            raise PromptTooLongError(error.tokens, error.window, missing[error.index].indices[0]) from None
        finally:
            answers.close()
            self.usage = judge.usage

    def _answers(self, judge: Judge, calls: Sequence[Call]) -> Generator[tuple[int, Outcome], None, None]:
        """Yield what a judge answers; the judge may be anybody's, and what breaks in it ends the run."""
        try:
            for answer in judge.ask(calls):
                index, outcome = answer
                yield int(index), outcome
        except RagjudgeError:
            raise
        except Exception as error:
            raise JudgeUnavailableError(f"judge {self.id!r} raised {raised(error, [__file__])}.") from error

    def _keep(self, question: _Question, outcome: Outcome) -> None:
        number = _number(question.key)
        if isinstance(outcome, CallFailure):
            self._failed.add(number)
            return
        self._store.put(question.document, question.texts, outcome)
        self._failed.discard(number)
        if number not in self._replayed:
            self._judged.add(number)

    def _distinct(self, calls: Sequence[Call]) -> list[_Question]:
        questions: dict[str, _Question] = {}
        for index, call in enumerate(calls):
            document, texts = request_of(call, self._fingerprint)
            key = key_of(document)
            known = questions.get(key)
            if known is None:
                questions[key] = _Question(key, call, document, texts, [index])
            else:
                known.indices.append(index)
        return list(questions.values())

    def _explained(self, missing: Sequence[_Question]) -> list[Missing]:
        requests = [(question.document, question.texts) for question in missing[:_EXPLAINED]]
        clauses = explain(requests, self._store)
        clauses += [_NOT_EXPLAINED] * (len(missing) - len(clauses))
        return [
            Missing(question.indices[0], question.call, question.key, clause)
            for question, clause in zip(missing, clauses, strict=True)
        ]

    def close(self) -> None:
        """Free what the judge below holds."""
        if self._judge is not None:
            self._judge.close()


def _checked(question: _Question, outcome: object) -> Outcome:
    """Return the outcome, or a failure when it is no answer to the question: it may be anybody's."""
    if isinstance(outcome, CallFailure):
        return outcome
    if isinstance(outcome, Answer) and fits(cast("Mapping[str, Any]", question.document), outcome):
        return outcome
    if isinstance(outcome, Verdict) and not are_possible(outcome.log_probabilities.values()):
        reason = "the judge answered with a log-probability that is no finite number, or is above 0"
    elif isinstance(outcome, Verdict) and isinstance(question.call, Check):
        said, labels = list(outcome.log_probabilities), list(question.call.labels)
        reason = f"the judge answered for the labels {said} where {labels} were asked"
    else:
        wanted = "a Verdict" if isinstance(question.call, Check) else "a Reply"
        reason = f"the judge answered with a {type(outcome).__name__} where {wanted} is wanted"
    return CallFailure(reason=reason)


def _number(key: str) -> int:
    return int(key[:16], 16)


def _about(call: Call) -> str:
    """Return the beginning of what a call asks, fit for a terminal."""
    text = (call.claim if isinstance(call, Check) else "") or call.own or call.shared
    return repr(text if len(text) <= 60 else f"{text[:60]}…")
