"""Contexts longer than the judge's window, and prefixes kept from run to run, on tiny models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from ragjudge.errors import PromptTooLongError
from ragjudge.judges.llama.judge import LlamaJudge
from ragjudge.judges.llama.model import combined
from ragjudge.judges.llama.prefix_store import LEAST_TOKENS
from ragjudge.judges.llama.questions import Question, shared_of
from ragjudge.judges.llama.settings import EngineSettings
from ragjudge.prompts.answers import probability
from ragjudge.prompts.template import load_template
from ragjudge.records import CallFailure, Check, ChunkSpan, Outcome, Verdict
from tests.native import tiny
from tests.native.support import TOLERANCE

pytestmark = pytest.mark.native

SETTINGS = EngineSettings(threads=1, batch=64, sequences=8)
CHUNKS = tuple(f"Chunk {n} says this. " + " ".join(f"Fact {n}{k} is so." for k in range(6)) for n in range(6))


@pytest.fixture(scope="module", params=[0, 16], ids=["full attention", "sliding window"])
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    shape = tiny.Shape(layers=7, window=16) if request.param else tiny.Shape()
    return tiny.build(tmp_path_factory.mktemp("long") / "tiny.gguf", shape=shape)


@pytest.fixture(autouse=True)
def _every_prefix_is_worth_keeping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragjudge.judges.llama.prefix_store.LEAST_SECONDS", 0.0)


def checks(*claims: str, chunks: Sequence[str] = CHUNKS) -> list[Check]:
    template = load_template("support")
    return [template.check(claim, {}, chunks) for claim in claims]


def ask(
    path: Path,
    calls: Sequence[Check],
    *,
    window: int | None = None,
    prefix_bytes: int = 0,
    settings: EngineSettings = SETTINGS,
) -> tuple[list[Verdict], LlamaJudge]:
    judge = LlamaJudge("tiny", path, window=window, settings=settings, prefix_bytes=prefix_bytes)
    outcomes: dict[int, Outcome] = dict(judge.ask(calls))
    judge.close()
    verdicts = [outcomes[index] for index in range(len(calls))]
    assert all(isinstance(verdict, Verdict) for verdict in verdicts)
    return verdicts, judge  # type: ignore[return-value]


# -- windows -------------------------------------------------------------------------------------------


def test_contexts_that_fit_are_shown_whole(path: Path) -> None:
    verdicts, _ = ask(path, checks("A claim."))
    assert verdicts[0].windows is None


def test_contexts_that_do_not_fit_are_shown_in_windows_without_a_gap(path: Path) -> None:
    calls = checks("A claim.", "Another claim, which is a good deal longer than the first.")
    verdicts, _ = ask(path, calls, window=600)
    windows = verdicts[0].windows
    assert windows is not None
    assert len(windows) >= 3
    # The same windows for every claim: they do not depend on the claim's length.
    assert [window.spans for window in verdicts[1].windows or ()] == [window.spans for window in windows]
    shown = {
        (span.chunk, at) for window in windows for span in window.spans for at in range(span.start, span.end)
    }
    for number, chunk in enumerate(CHUNKS):
        assert all((number, at) in shown or chunk[at].isspace() for at in range(len(chunk)))


def test_the_window_that_supports_most_decides(path: Path) -> None:
    (verdict,), _ = ask(path, checks("A claim."), window=600)
    windows = verdict.windows or ()
    chances = [probability(Verdict(log_probabilities=window.log_probabilities), "Yes") for window in windows]
    assert probability(verdict, "Yes") == max(chances)


def test_a_window_is_judged_as_if_there_were_nothing_else(path: Path) -> None:
    (call,) = checks("A claim.")
    (verdict,), _ = ask(path, [call], window=600)
    for window in verdict.windows or ():
        part = call.model_copy(
            update={"shared": shared_of(call.shared, call.segments, window.spans), "segments": ()}
        )
        (alone,), _ = ask(path, [part], window=600)
        for label, value in alone.log_probabilities.items():
            assert value == pytest.approx(window.log_probabilities[label], abs=TOLERANCE)


def test_a_chunk_longer_than_a_window_is_cut_at_sentence_ends(path: Path) -> None:
    (verdict,), _ = ask(path, checks("A claim.", chunks=(" ".join(CHUNKS),)), window=600)
    text = " ".join(CHUNKS)
    spans = [span for window in verdict.windows or () for span in window.spans]
    assert len(spans) >= 3
    assert all(text[: span.end].endswith((".", ". ")) for span in spans)
    assert all(later.start < earlier.end for earlier, later in pairwise(spans))


def test_tokens_shared_by_windows_and_claims_are_decoded_once(path: Path) -> None:
    _, judge = ask(path, checks("A claim.", "B claim.", "C claim."), window=600)
    assert judge.usage.tokens_decoded == judge.usage.tokens_minimum


def test_a_claim_longer_than_a_window_is_refused(path: Path) -> None:
    with pytest.raises(PromptTooLongError):
        ask(path, checks("word " * 400), window=600)


def test_a_window_that_fails_fails_the_check(path: Path) -> None:
    (call,) = checks("A claim.")
    asked = [Question((1,), 0, (ChunkSpan(0, 0, 1),)), Question((2,), 0, (ChunkSpan(1, 0, 1),))]
    failure = CallFailure(reason="no room")
    fine = Verdict(log_probabilities={"Yes": -0.1, "No": -3.0})
    assert combined(call, asked, {0: fine, 1: failure}) is failure


# -- prefixes ------------------------------------------------------------------------------------------


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("RAGJUDGE_HOME", str(tmp_path))
    return tmp_path / "prefixes"


@pytest.mark.parametrize("batch", [SETTINGS.batch, 4096], ids=["many batches", "all in one batch"])
def test_a_rerun_with_other_claims_decodes_the_claims_alone(path: Path, store: Path, batch: int) -> None:
    settings = replace(SETTINGS, batch=batch, sequences=8)
    _, cold = ask(path, checks("First.", "Second one."), prefix_bytes=1 << 30, settings=settings)
    assert cold.usage.tokens_restored == 0
    assert len(list(store.glob("*.state"))) == 1
    calls = checks("Third claim.", "A fourth.")
    warm, judge = ask(path, calls, prefix_bytes=1 << 30, settings=settings)
    assert judge.usage.tokens_restored > LEAST_TOKENS
    assert judge.usage.tokens_decoded == judge.usage.tokens_minimum - judge.usage.tokens_restored
    assert judge.usage.tokens_decoded < judge.usage.tokens_minimum / 3
    cold_again, _ = ask(path, calls, settings=settings)
    for one, other in zip(warm, cold_again, strict=True):
        for label, value in one.log_probabilities.items():
            assert value == pytest.approx(other.log_probabilities[label], abs=TOLERANCE)


def test_a_single_claim_finds_the_contexts_of_another_single_claim(path: Path, store: Path) -> None:
    ask(path, checks("Only this."), prefix_bytes=1 << 30)
    _, judge = ask(path, checks("Only that."), prefix_bytes=1 << 30)
    assert judge.usage.tokens_restored > LEAST_TOKENS


def test_a_damaged_state_is_decoded_instead(path: Path, store: Path) -> None:
    calls = checks("First.", "Second one.")
    first, _ = ask(path, calls, prefix_bytes=1 << 30)
    for file in store.glob("*.state"):
        data = bytearray(file.read_bytes())
        data[-10] ^= 0xFF
        file.write_bytes(data)
    second, judge = ask(path, calls, prefix_bytes=1 << 30)
    assert judge.usage.tokens_restored == 0
    assert judge.usage.tokens_decoded == judge.usage.tokens_minimum
    for one, other in zip(first, second, strict=True):
        for label, value in one.log_probabilities.items():
            assert value == pytest.approx(other.log_probabilities[label], abs=TOLERANCE)


def test_a_state_that_llama_cpp_does_not_take_is_decoded_instead(
    path: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(path, checks("First."), prefix_bytes=1 << 30)
    from ragjudge.judges.llama.prefix_store import PrefixStore

    monkeypatch.setattr(PrefixStore, "load", lambda self, tokens: memoryview(bytearray(64)))
    _, judge = ask(path, checks("Second."), prefix_bytes=1 << 30)
    assert judge.usage.tokens_restored == 0


def test_states_of_another_model_are_not_used(path: Path, store: Path, tmp_path: Path) -> None:
    ask(path, checks("First."), prefix_bytes=1 << 30)
    other = tiny.build(tmp_path / "other.gguf", seed=99)
    _, judge = ask(other, checks("Second."), prefix_bytes=1 << 30)
    assert judge.usage.tokens_restored == 0


def test_without_a_store_nothing_is_written(path: Path, store: Path) -> None:
    ask(path, checks("First."))
    assert not store.exists()
