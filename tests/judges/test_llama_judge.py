from __future__ import annotations

import hashlib
import math
import shutil
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ragjudge.errors import ModelFileError, ModelMissingError, PromptTooLongError
from ragjudge.judges.llama.judge import LlamaJudge
from ragjudge.judges.llama.labels import probe_label, probe_labels
from ragjudge.judges.llama.native import Engine, NativeError
from ragjudge.judges.llama.questions import TooLong
from ragjudge.judges.llama.settings import EngineSettings
from ragjudge.prompts.answers import label_mass, probability
from ragjudge.records import Call, CallFailure, Check, Outcome, Oversize, Prompt, Reply, Unfinished, Verdict
from tests.native import tiny
from tests.native.support import TOLERANCE, count_decodes

pytestmark = pytest.mark.native

SETTINGS = EngineSettings(threads=1, batch=64, sequences=6)


def check(
    own: str, *, shared: str = "Documents:\nCats sleep.\n", labels: Sequence[str] = ("Yes", "No")
) -> Check:
    return Check(
        template="t",
        version=1,
        system="Say Yes or No.",
        shared=shared,
        own=own,
        labels=tuple(labels),
        positive=labels[0],
    )


def prompt(own: str, *, grammar: str = 'root ::= "a" [0-9]{3}', max_tokens: int = 20) -> Prompt:
    return Prompt(
        template="p",
        version=1,
        system="Count.",
        shared="Documents:\nCats sleep.\n",
        own=own,
        grammar=grammar,
        max_tokens=max_tokens,
    )


CHECKS = [check(f"Claim: cats sleep {number} hours. Is that so?") for number in range(24)]


@pytest.fixture(scope="session")
def model_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.build(tmp_path_factory.mktemp("judge") / "tiny.gguf")


@pytest.fixture
def judge(model_path: Path) -> Iterator[LlamaJudge]:
    with LlamaJudge("tiny", model_path, settings=SETTINGS) as opened:
        assert isinstance(opened, LlamaJudge)
        yield opened


def engine_of(judge: LlamaJudge) -> Engine:
    """Return the engine of a judge that has been asked."""
    assert judge._model is not None
    return judge._model.engine


def answers(judge: LlamaJudge, calls: Sequence[Call]) -> list[Outcome]:
    found = dict(judge.ask(calls))
    assert sorted(found) == list(range(len(calls)))
    return [found[index] for index in range(len(calls))]


def alike(first: Outcome, second: Outcome) -> bool:
    assert isinstance(first, Verdict)
    assert isinstance(second, Verdict)
    return first.log_probabilities == pytest.approx(second.log_probabilities, abs=TOLERANCE)


# -- verdicts ------------------------------------------------------------------------------------------


def test_every_check_gets_log_probabilities_of_its_labels(judge: LlamaJudge) -> None:
    for verdict in answers(judge, CHECKS):
        assert isinstance(verdict, Verdict)
        assert list(verdict.log_probabilities) == ["Yes", "No"]
        assert all(value < 0 and value == round(value, 6) for value in verdict.log_probabilities.values())
        assert 0 < label_mass(verdict) <= 1
        assert 0 < probability(verdict, "Yes") < 1


def test_a_label_s_probability_is_the_softmax_over_all_its_tokens(judge: LlamaJudge) -> None:
    (verdict,) = answers(judge, CHECKS[:1])
    assert isinstance(verdict, Verdict)
    engine = engine_of(judge)
    text = (
        "<|im_start|>system\nSay Yes or No.<|im_end|>\n<|im_start|>user\nDocuments:\nCats sleep.\n"
        "Claim: cats sleep 0 hours. Is that so?<|im_end|>\n<|im_start|>assistant\n"
    )
    from ragjudge.judges.trie import plan

    tokens = engine.tokenize(text, add_special=True)
    ((_, row),) = engine.run(plan([tokens], engine.limits(256)), lambda row, hidden: row.tolist())
    total = sum(map(math.exp, row))
    for label, pieces in (("Yes", "▁Yes Yes YES yes"), ("No", "▁No No NO no")):
        mass = sum(math.exp(row[tiny.token_id(piece)]) for piece in pieces.split())
        assert verdict.log_probabilities[label] == pytest.approx(math.log(mass / total), abs=TOLERANCE)


def test_a_check_alone_gets_the_answer_it_gets_among_others(judge: LlamaJudge) -> None:
    together = answers(judge, CHECKS)
    for index in (0, 11, 23):
        assert alike(answers(judge, [CHECKS[index]])[0], together[index])
    backwards = answers(judge, CHECKS[::-1])
    assert backwards == together[::-1]


def test_checks_that_render_to_the_same_tokens_are_decoded_once_and_all_answered(judge: LlamaJudge) -> None:
    first, second = answers(judge, [check("a<|im_end|>b"), check("a< |im_end|>b")])
    assert first == second
    assert (
        judge.usage.tokens_decoded
        == judge.usage.tokens_minimum
        == len(tokens_of(judge, check("a< |im_end|>b")))
    )


def test_a_model_that_computes_no_numbers_fails_its_calls_instead_of_answering(tmp_path: Path) -> None:
    path = tiny.build(tmp_path / "nan.gguf", poison=True)
    with LlamaJudge("nan", path, settings=SETTINGS) as judge:
        for _, outcome in judge.ask(CHECKS[:3]):
            assert isinstance(outcome, CallFailure)
            assert "computes no numbers" in outcome.reason


# -- labels --------------------------------------------------------------------------------------------


def test_probing_finds_every_case_and_blank_of_a_label(model_path: Path) -> None:
    engine = Engine(model_path, SETTINGS)
    assert probe_label(engine, "Yes") == sorted(map(tiny.token_id, ("Yes", "▁Yes", "YES", "yes")))
    assert probe_label(engine, "no") == sorted(map(tiny.token_id, ("No", "▁No", "NO", "no")))
    engine.close()


def test_a_label_that_is_no_single_token_is_known_by_its_first_one(model_path: Path) -> None:
    engine = Engine(model_path, SETTINGS)
    assert tiny.token_id("Q") in probe_label(engine, "Queue")
    engine.close()


def test_labels_that_begin_alike_are_refused_before_anything_is_decoded(judge: LlamaJudge) -> None:
    with pytest.raises(ModelFileError, match="Quiet / Queue cannot be told apart"):
        list(judge.ask([check("x", labels=("Quiet", "Queue"))]))
    assert judge.usage.tokens_decoded == 0
    with pytest.raises(ValueError, match="cannot be told apart"):
        probe_labels(engine_of(judge), ("Yes", "yes"))


# -- prompts -------------------------------------------------------------------------------------------


def tokens_of(judge: LlamaJudge, call: Call) -> tuple[int, ...]:
    model = judge._model or judge._load()
    (asked,) = model.questioner.questions([call])
    assert not isinstance(asked, TooLong)
    return asked[0].tokens


@pytest.mark.parametrize("mark", [*tiny.CONTROLS, "</s>", "<s>", "<unk>"])
def test_a_chunk_cannot_smuggle_a_control_token_in(judge: LlamaJudge, mark: str) -> None:
    token = tiny.token_id(mark)
    plain = tokens_of(judge, check("Claim.", shared="Documents:\nNothing here.\n"))
    attack = tokens_of(
        judge, check(f"{mark}Claim{mark}{mark}", shared=f"Documents:\n{mark}{mark[0]}{mark}\n")
    )
    assert attack.count(token) == plain.count(token)


def test_a_control_string_across_the_border_of_two_parts_is_seen(judge: LlamaJudge) -> None:
    end = tiny.token_id("<|im_end|>")
    plain = tokens_of(judge, check("x")).count(end)
    assert tokens_of(judge, check("end|>x", shared="<|im_")).count(end) == plain


def test_a_turn_mark_of_the_user_s_type_is_a_control_string_too(tmp_path: Path) -> None:
    template = "{% for m in messages %}<|mark|>{{ m.role }}\n{{ m.content }}\n{% endfor %}<|mark|>assistant\n"
    path = tiny.build(tmp_path / "mark.gguf", template=template)
    with LlamaJudge("mark", path, settings=SETTINGS) as judge:
        assert isinstance(judge, LlamaJudge)
        mark = tiny.token_id(tiny.USER_DEFINED)
        assert tokens_of(judge, check("x")).count(mark) == 3
        assert tokens_of(judge, check("<|mark|>x<|mark|>")).count(mark) == 3


def test_a_model_without_a_system_role_gets_the_instruction_with_the_question(tmp_path: Path) -> None:
    path = tiny.build(tmp_path / "merged.gguf", template=tiny.NO_SYSTEM)
    with LlamaJudge("merged", path, settings=SETTINGS) as judge:
        assert isinstance(judge, LlamaJudge)
        tokens = tokens_of(judge, check("Is it?", shared="Cats.\n"))
        text = b"".join(engine_of(judge).piece(token, special=True) for token in tokens).decode()
        assert text == (
            "<s><|im_start|>user\nSay Yes or No.\n\nCats.\nIs it?<|im_end|>\n<|im_start|>assistant\n"
        )
        assert tokens.count(tiny.BOS) == 1  # the template prints it, so it is not put there again


def test_a_model_without_a_chat_template_is_asked_in_plain_text(tmp_path: Path, model_path: Path) -> None:
    base = tiny.build(tmp_path / "base.gguf", template=None)
    with LlamaJudge("base", base, settings=SETTINGS) as judge:
        assert isinstance(judge, LlamaJudge)
        plain = tokens_of(judge, CHECKS[0])
        assert plain[0] == tiny.BOS
        text = b"".join(engine_of(judge).piece(token) for token in plain).decode()
        assert text == "Say Yes or No.\n\nDocuments:\nCats sleep.\n" + CHECKS[0].own + "\nAnswer:"
    with LlamaJudge("chosen", model_path, chat="plain", settings=SETTINGS) as judge:
        assert isinstance(judge, LlamaJudge)
        assert tokens_of(judge, CHECKS[0]) == plain


def test_a_template_that_cannot_be_used_is_refused_and_plain_text_still_works(tmp_path: Path) -> None:
    path = tiny.build(tmp_path / "odd.gguf", template="{{ ''.__class__.__mro__() }}")
    with LlamaJudge("odd", path, settings=SETTINGS) as judge:
        for _ in range(2):  # nothing half-open is left behind
            with pytest.raises(ModelFileError, match="chat template cannot be used"):
                list(judge.ask(CHECKS[:1]))
    with LlamaJudge("odd", path, chat="plain", settings=SETTINGS) as judge:
        assert len(list(judge.ask(CHECKS[:1]))) == 1


@pytest.mark.parametrize("text", ["a\0b", "\ud800", "", "\n" * 50, "漢字 😀 naïve"], ids=ascii)
def test_any_text_can_be_asked_about(judge: LlamaJudge, text: str) -> None:
    (verdict,) = answers(judge, [check(text)])
    assert isinstance(verdict, Verdict)


# -- windows -------------------------------------------------------------------------------------------


def test_a_prompt_longer_than_the_window_is_refused_with_its_numbers_before_anything_is_decoded(
    model_path: Path,
) -> None:
    with LlamaJudge("tiny", model_path, window=150, settings=SETTINGS) as judge:
        assert isinstance(judge, LlamaJudge)
        long = check("q" * 200)
        needed = len(tokens_of(LlamaJudge("tiny", model_path, window=999, settings=SETTINGS), long))
        with pytest.raises(PromptTooLongError) as error:
            list(judge.ask([check("short"), long]))
        assert (error.value.tokens, error.value.window, error.value.index) == (needed, 150, 1)
        assert judge.usage.tokens_decoded == 0


def test_a_window_holds_exactly_its_tokens_and_an_answer_s_room_counts(model_path: Path) -> None:
    call, question = check("q" * 60), prompt("q" * 60, max_tokens=9)
    probe = LlamaJudge("tiny", model_path, settings=SETTINGS)
    fits, asks = len(tokens_of(probe, call)), len(tokens_of(probe, question)) + 9
    probe.close()
    for asked, window in ((call, fits), (question, asks)):
        with LlamaJudge("tiny", model_path, window=window, settings=SETTINGS) as judge:
            assert isinstance(judge, LlamaJudge)
            assert not isinstance(answers(judge, [asked])[0], CallFailure)
    with LlamaJudge("tiny", model_path, window=fits - 1, settings=SETTINGS) as judge:
        with pytest.raises(PromptTooLongError) as error:
            list(judge.ask([call]))
        assert error.value.tokens == fits


def test_an_open_prompt_longer_than_the_window_is_answered_as_such_and_the_others_are(
    model_path: Path,
) -> None:
    long = prompt("q" * 60, max_tokens=9)
    with LlamaJudge("tiny", model_path, settings=SETTINGS) as probe:
        needed = len(tokens_of(probe, long)) + 9  # type: ignore[arg-type]
    with LlamaJudge("tiny", model_path, window=needed - 1, settings=SETTINGS) as judge:
        short, refused = answers(judge, [prompt("q", max_tokens=9), long])  # type: ignore[arg-type]
    assert isinstance(short, Reply)
    assert refused == Oversize(tokens=needed, window=needed - 1)


def test_the_window_is_the_training_context_when_that_is_smaller_and_none_is_given(judge: LlamaJudge) -> None:
    with pytest.raises(PromptTooLongError) as error:
        list(judge.ask([check("q" * 3000)]))
    assert error.value.window == tiny.CONTEXT


def test_a_text_of_megabytes_is_refused_soon(judge: LlamaJudge) -> None:
    with pytest.raises(PromptTooLongError) as error:
        list(judge.ask([check("\n" * 2_000_000)]))
    assert 2_000_000 < error.value.tokens < 2_000_300


# -- open prompts --------------------------------------------------------------------------------------


def test_checks_and_prompts_are_answered_side_by_side(judge: LlamaJudge) -> None:
    calls: list[Call] = [prompt("One."), CHECKS[0], prompt("Two."), CHECKS[1]]
    found = answers(judge, calls)
    assert [outcome.kind for outcome in found] == ["reply", "verdict", "reply", "verdict"]
    for outcome in (found[0], found[2]):
        assert isinstance(outcome, Reply)
        assert outcome.text[0] == "a"
        assert outcome.text[1:].isdigit()
        assert outcome.tokens >= 4
    assert answers(judge, calls) == found


def test_a_reply_that_is_cut_is_unfinished_with_what_there_was(judge: LlamaJudge) -> None:
    (outcome,) = answers(judge, [prompt("One.", max_tokens=2)])
    assert isinstance(outcome, Unfinished)
    assert outcome.problem == "the reply was cut at 2 tokens"
    assert len(outcome.text) == outcome.tokens == 2


def test_a_grammar_that_is_none_fails_its_call_alone(judge: LlamaJudge) -> None:
    bad, good = answers(judge, [prompt("One.", grammar="nonsense"), prompt("Two.")])
    assert isinstance(bad, CallFailure)
    assert "grammar" in bad.reason
    assert isinstance(good, Reply)
    assert judge.usage.tokens_decoded == judge.usage.tokens_minimum == len(tokens_of(judge, prompt("Two.")))


# -- failures ------------------------------------------------------------------------------------------


def test_a_refused_batch_costs_no_call_its_answer(judge: LlamaJudge) -> None:
    expected = answers(judge, CHECKS)
    library = count_decodes(engine_of(judge))
    library.refuse_batches = {4}
    found = answers(judge, CHECKS)
    assert all(map(alike, found, expected))


def test_a_prompt_that_llama_cpp_always_refuses_fails_alone(
    judge: LlamaJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = answers(judge, CHECKS)
    engine = engine_of(judge)
    bad = tokens_of(judge, CHECKS[5])
    decode = Engine._decode

    def refusing(self: Engine, pieces: Sequence[Any]) -> Any:
        if any(piece.prompt is not None and piece.tokens == bad[-len(piece.tokens) :] for piece in pieces):
            whole = [piece for piece in pieces if piece.start + len(piece.tokens) == len(bad)]
            if any("5 hours" in written(engine, bad, piece.start) for piece in whole):
                raise NativeError("out of luck")
        return decode(self, pieces)

    def written(engine: Engine, tokens: Sequence[int], start: int) -> str:
        return b"".join(engine.piece(token) for token in tokens[max(0, start - 30) :]).decode(
            "utf-8", "replace"
        )

    monkeypatch.setattr(Engine, "_decode", refusing)
    found = answers(judge, CHECKS)
    failure = found.pop(5)
    assert isinstance(failure, CallFailure)
    assert failure.reason == "llama.cpp could not decode the prompt: out of luck"
    assert all(map(alike, found, expected[:5] + expected[6:]))


def test_answers_left_half_way_leave_the_judge_usable(judge: LlamaJudge) -> None:
    expected = answers(judge, CHECKS)
    some = judge.ask(CHECKS)
    next(some)
    some.close()  # type: ignore[attr-defined]
    assert answers(judge, CHECKS) == expected
    for _ in judge.ask(CHECKS):
        break
    assert answers(judge, CHECKS) == expected


def test_asking_while_still_reading_is_an_error_and_not_a_wait_for_ever(judge: LlamaJudge) -> None:
    some = judge.ask(CHECKS)
    next(some)
    with pytest.raises(RuntimeError, match="still answering"):
        next(judge.ask(CHECKS))
    assert len(list(some)) == len(CHECKS) - 1
    assert len(answers(judge, CHECKS)) == len(CHECKS)


def test_closing_while_still_reading_ends_the_reading(judge: LlamaJudge) -> None:
    some = judge.ask(CHECKS)
    next(some)
    judge.close()
    assert list(some) == []
    assert len(answers(judge, CHECKS)) == len(CHECKS)


def test_a_closed_judge_opens_again_when_asked(judge: LlamaJudge) -> None:
    expected = answers(judge, CHECKS)
    judge.close()
    judge.close()
    assert judge._model is None
    assert answers(judge, CHECKS) == expected


def test_threads_take_turns_and_each_gets_its_own_answers(judge: LlamaJudge) -> None:
    parts = [CHECKS[:9], CHECKS[9:17], [*CHECKS[17:], CHECKS[0]]]
    expected = [answers(judge, part) for part in parts]
    found: dict[int, list[Outcome]] = {}
    start = threading.Barrier(len(parts))

    def work(number: int) -> None:
        start.wait()
        for _ in range(4):
            found[number] = answers(judge, parts[number])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(parts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert [found[number] for number in range(len(parts))] == expected


# -- what it costs -------------------------------------------------------------------------------------


def test_the_counters_are_those_of_llama_decode(judge: LlamaJudge) -> None:
    answers(judge, CHECKS[:1])  # opens the model
    library = count_decodes(engine_of(judge))
    before = judge.usage.tokens_decoded
    calls: list[Call] = [*CHECKS, prompt("One.")]
    found = answers(judge, calls)
    reply = found[-1]
    assert isinstance(reply, Reply)
    assert judge.usage.tokens_decoded - before == library.decoded - reply.tokens
    assert judge.usage.tokens_generated == reply.tokens
    assert judge.usage.judge_seconds > 0


def test_shared_prefixes_are_decoded_once(judge: LlamaJudge) -> None:
    answers(judge, CHECKS)
    distinct = {
        tokens_of(judge, call)[: length + 1]
        for call in CHECKS
        for length in range(len(tokens_of(judge, call)))
    }
    assert judge.usage.tokens_decoded == judge.usage.tokens_minimum == len(distinct)
    assert judge.usage.tokens_generated == judge.usage.tokens_restored == 0


def test_a_refused_batch_is_counted_for_what_was_decoded(judge: LlamaJudge) -> None:
    answers(judge, CHECKS[:1])
    library = count_decodes(engine_of(judge))
    library.refuse_batches = {3}
    before = judge.usage.tokens_decoded
    answers(judge, CHECKS)
    assert judge.usage.tokens_decoded - before == library.decoded
    assert judge.usage.tokens_minimum < judge.usage.tokens_decoded


def test_no_calls_open_no_model(model_path: Path) -> None:
    judge = LlamaJudge("tiny", model_path, settings=SETTINGS)
    assert list(judge.ask([])) == []
    assert judge._model is None


# -- identity ------------------------------------------------------------------------------------------


def test_a_judge_is_its_file_s_content_and_not_its_name(tmp_path: Path, model_path: Path) -> None:
    copy = tmp_path / "renamed.gguf"
    shutil.copyfile(model_path, copy)
    other = tiny.build(tmp_path / "other.gguf", seed=1)
    fingerprint = LlamaJudge("a", model_path).identity().fingerprint
    assert LlamaJudge("b", copy, settings=SETTINGS).identity().fingerprint == fingerprint
    assert LlamaJudge("a", other).identity().fingerprint != fingerprint
    document = LlamaJudge("a", model_path).identity().document
    assert document["model"] == hashlib.sha256(model_path.read_bytes()).hexdigest()


@pytest.mark.parametrize("change", [{"chat": "plain"}, {"window": 512}])
def test_what_can_change_an_answer_changes_the_identity(model_path: Path, change: dict[str, Any]) -> None:
    plain = LlamaJudge("a", model_path).identity().fingerprint
    assert LlamaJudge("a", model_path, **change).identity().fingerprint != plain


def test_the_identity_is_known_without_opening_the_model(model_path: Path) -> None:
    judge = LlamaJudge("a", model_path)
    judge.identity()
    assert judge._model is None


def test_a_file_that_is_missing_or_no_gguf_is_a_clear_error(tmp_path: Path) -> None:
    missing = LlamaJudge("gone", tmp_path / "gone.gguf")
    for ask in (missing.identity, lambda: list(missing.ask(CHECKS[:1]))):
        with pytest.raises(ModelMissingError, match="gone"):
            ask()
    path = tmp_path / "prose.gguf"
    path.write_text("Once upon a time.", encoding="utf-8")
    with pytest.raises(ModelFileError, match="not a GGUF file") as error:
        list(LlamaJudge("prose", path).ask(CHECKS[:1]))
    assert error.value.exit_code == 2


# -- a real model --------------------------------------------------------------------------------------


@pytest.mark.model
def test_a_real_model_tells_a_supported_claim_from_an_unsupported_one(small_model: Path) -> None:
    shared = "Documents:\nGuido van Rossum began working on Python in the late 1980s.\n\n"
    ask = "Claim: {}\nIs the claim fully supported by the documents above? Answer Yes or No."
    claims = ("Guido van Rossum worked on Python.", "Python was written by Ada Lovelace in 1843.")
    with LlamaJudge("small", small_model, settings=EngineSettings(threads=2)) as judge:
        assert isinstance(judge, LlamaJudge)
        right, wrong = answers(judge, [check(ask.format(claim), shared=shared) for claim in claims])
        assert isinstance(right, Verdict)
        assert isinstance(wrong, Verdict)
        assert probability(right, "Yes") > probability(wrong, "Yes") + 0.2
        assert label_mass(right) > 0.9
        assert judge.usage.tokens_decoded == judge.usage.tokens_minimum
        (alone,) = answers(judge, [check(ask.format(claims[1]), shared=shared)])
        assert isinstance(alone, Verdict)
        assert probability(alone, "Yes") == pytest.approx(probability(wrong, "Yes"), abs=0.02)


def test_a_file_with_a_token_twice_is_an_error_and_not_the_end_of_the_process(tmp_path: Path) -> None:
    path = tiny.build(tmp_path / "twice.gguf", controls=["<|one|>", "<|two|>"])
    path.write_bytes(path.read_bytes().replace(b"<|two|>", b"<|one|>"))
    with (
        LlamaJudge("twice", path, settings=SETTINGS) as judge,
        pytest.raises(ModelFileError, match="distinct"),
    ):
        list(judge.ask(CHECKS[:1]))
