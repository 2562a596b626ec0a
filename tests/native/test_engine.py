from __future__ import annotations

import gc
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ragjudge.errors import ConfigError, JudgeUnavailableError, ModelFileError
from ragjudge.judges.llama.native import Engine, NativeError
from ragjudge.judges.llama.settings import EngineSettings, physical_cores
from ragjudge.judges.steps import Limits
from ragjudge.judges.trie import plan
from tests.native import tiny
from tests.native.support import (
    TOLERANCE,
    count_decodes,
    log_softmax,
    nested_prompts,
    run_alone,
    run_together,
)

if TYPE_CHECKING:
    from ragjudge.judges.llama.grammar import Logits

pytestmark = pytest.mark.native

PROMPTS = nested_prompts(48)


def opened(path: Path, *, batch: int = 64, sequences: int = 8, **more: Any) -> Engine:
    return Engine(path, EngineSettings(threads=1, batch=batch, sequences=sequences, **more))


@pytest.fixture
def engine(tiny_model: Path) -> Iterator[Engine]:
    one = opened(tiny_model)
    yield one
    one.close()


# -- one trie = one prompt at a time -------------------------------------------------------------------


@pytest.mark.parametrize(("batch", "sequences"), [(512, 32), (64, 8), (16, 4), (7, 3), (5, 2)])
@pytest.mark.parametrize("model", ["tiny_model", "sliding_model"])
def test_a_shared_prefix_gives_what_one_prompt_at_a_time_gives(
    request: pytest.FixtureRequest, model: str, batch: int, sequences: int
) -> None:
    engine = opened(request.getfixturevalue(model), batch=batch, sequences=sequences)
    _, together = run_together(engine, PROMPTS)
    assert sorted(together) == list(range(len(PROMPTS)))
    for index, prompt in enumerate(PROMPTS):
        np.testing.assert_allclose(together[index], run_alone(engine, prompt), rtol=0, atol=TOLERANCE)
    engine.close()


@pytest.mark.parametrize("model", ["tiny_model", "sliding_model"])
def test_the_tolerance_tells_a_prompt_from_one_with_another_first_token(
    request: pytest.FixtureRequest, model: str
) -> None:
    engine = opened(request.getfixturevalue(model))
    for prompt in PROMPTS:
        if 12 < len(prompt) < 40:
            other = (prompt[0], 300 if prompt[1] != 300 else 301, *prompt[2:])
            assert np.abs(run_alone(engine, prompt) - run_alone(engine, other)).max() > 10 * TOLERANCE
    engine.close()


def test_the_logits_are_those_of_llama_cpp_python_s_own_class(tiny_model: Path, engine: Engine) -> None:
    import llama_cpp

    _, together = run_together(engine, PROMPTS)
    reference = llama_cpp.Llama(
        str(tiny_model), n_ctx=256, logits_all=True, n_threads=1, flash_attn=True, verbose=False
    )
    for index, prompt in list(enumerate(PROMPTS))[::6]:
        reference.reset()
        reference.eval(prompt)
        row = reference.scores[len(prompt) - 1].astype(np.float32)
        np.testing.assert_allclose(together[index], log_softmax(row), rtol=0, atol=TOLERANCE)
    reference.close()


def test_different_prompts_give_different_logits(engine: Engine) -> None:
    _, together = run_together(engine, PROMPTS)
    rows = np.stack([together[index] for index in range(len(PROMPTS))])
    assert len(np.unique(rows.round(3), axis=0)) == len(PROMPTS)
    np.testing.assert_allclose(np.exp(rows).sum(axis=1), 1.0, atol=1e-6)


def test_the_order_of_the_prompts_changes_nothing_at_all(engine: Engine) -> None:
    _, first = run_together(engine, PROMPTS)
    order = list(range(len(PROMPTS)))
    random.Random(3).shuffle(order)  # noqa: S311 - test data
    _, second = run_together(engine, [PROMPTS[index] for index in order])
    for place, index in enumerate(order):
        np.testing.assert_array_equal(second[place], first[index])


def test_running_twice_gives_the_same_bits(engine: Engine) -> None:
    _, first = run_together(engine, PROMPTS)
    _, second = run_together(engine, PROMPTS)
    for index in first:
        np.testing.assert_array_equal(first[index], second[index])


def test_a_prompt_longer_than_the_batch_and_a_memory_opened_larger_change_no_answer(tiny_model: Path) -> None:
    long = [prompt + tuple(range(262, 362)) * 6 + prompt for prompt in PROMPTS[:6]]
    engine = opened(tiny_model, batch=32, sequences=4)
    _, small = run_together(engine, PROMPTS)
    assert engine.limits(1).cells == 256
    _, large = run_together(engine, long)
    assert engine.limits(1).cells > 256
    _, again = run_together(engine, PROMPTS)
    whole = opened(tiny_model, batch=1024, sequences=4)
    for index, prompt in enumerate(long):
        np.testing.assert_allclose(large[index], run_alone(whole, prompt), rtol=0, atol=TOLERANCE)
    for index in small:
        np.testing.assert_allclose(again[index], small[index], rtol=0, atol=TOLERANCE)
    engine.close()
    whole.close()


# -- what it costs -------------------------------------------------------------------------------------


@pytest.mark.parametrize("sequences", [2, 3, 8, 32])
def test_the_tokens_counted_are_those_that_reach_llama_decode(tiny_model: Path, sequences: int) -> None:
    engine = opened(tiny_model, batch=48, sequences=sequences)
    library = count_decodes(engine)
    steps, _ = run_together(engine, PROMPTS)
    assert library.decoded == engine.tokens_decoded == steps.decoded
    assert max(library.batches) <= 48
    engine.close()


def test_with_enough_sequences_no_token_of_the_trie_is_decoded_twice(engine: Engine) -> None:
    steps, _ = run_together(engine, PROMPTS)
    assert engine.tokens_decoded == steps.nodes < sum(map(len, PROMPTS)) / 2


def test_a_run_left_half_way_leaves_a_clean_memory(engine: Engine) -> None:
    _, expected = run_together(engine, PROMPTS)
    half = engine.run(plan(PROMPTS, engine.limits(256)), log_softmax)
    for _ in range(10):
        next(half)
    half.close()  # type: ignore[attr-defined]
    _, found = run_together(engine, PROMPTS)
    for index in expected:
        np.testing.assert_array_equal(found[index], expected[index])


# -- sizes that would end the process ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "what"),
    [
        (Limits(4096, 16, 4), "the plan holds 1005 tokens, and there is room for 256"),
        (Limits(256, 17, 4), "a batch of 17 tokens, and at most 16 fit"),
        (Limits(256, 16, 9), "sequence 4, and there are 4"),
    ],
)
def test_a_plan_for_a_larger_engine_is_refused_before_llama_cpp_sees_it(
    tiny_model: Path, limits: Limits, what: str
) -> None:
    engine = opened(tiny_model, batch=16, sequences=4)
    engine.limits(256)
    library = count_decodes(engine)
    stem = tuple(range(262, 267)) * (201 if limits.cells > 256 else 4)
    steps = plan([(*stem, 300 + number) for number in range(8)][: 1 if limits.cells > 256 else 8], limits)
    if limits.cells > 256:
        steps = plan([stem], limits)
    with pytest.raises(ValueError, match=what):
        list(engine.run(steps, log_softmax))
    assert library.batches == []
    engine.close()


def test_a_plan_before_any_room_was_made_is_refused(engine: Engine) -> None:
    with pytest.raises(ValueError, match="there is room for 0"):
        list(engine.run(plan([(1, 300)], Limits(256, 64, 8)), log_softmax))


def test_a_batch_that_llama_cpp_refuses_is_an_error_and_the_engine_stays_usable(engine: Engine) -> None:
    steps = plan([(1, 999_999)], engine.limits(256))
    with pytest.raises(NativeError, match="llama_decode returned -1 for a batch of 2 tokens"):
        list(engine.run(steps, log_softmax))
    assert engine.tokens_decoded == 0
    assert run_alone(engine, (1, 300)).shape == (engine.vocabulary_size,)


def test_room_that_cannot_be_made_is_said_and_smaller_room_still_works(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = count_decodes(engine)
    monkeypatch.setattr(library, "llama_init_from_model", lambda model, parameters: None, raising=False)
    with pytest.raises(JudgeUnavailableError, match=r"cannot make room for 1048576 tokens\."):
        engine.limits(2**20)
    monkeypatch.undo()
    assert engine.limits(256).cells == 256
    assert run_alone(engine, (1, 300)).shape == (engine.vocabulary_size,)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"threads": 0}, "threads is 0; accepted: 1 to 512"),
        ({"threads": 513}, "threads is 513; accepted: 1 to 512"),
        ({"batch": 0}, "batch is 0; accepted: 1 to 100000000"),
        ({"sequences": 1}, "sequences is 1; accepted: 2 to 256"),
        ({"sequences": 257}, "sequences is 257; accepted: 2 to 256"),
        ({"gpu_layers": -2}, "gpu_layers is -2; accepted: -1 to 10000"),
        ({"flash_attention": "maybe"}, "flash_attention is 'maybe'; accepted: auto, on, off"),
        ({"kv": "q4_0"}, "kv is 'q4_0'; accepted: f16, q8_0"),
        ({"split": "rows"}, "split is 'rows'; accepted: layer, row, none"),
        ({"kv": "q8_0", "flash_attention": "off"}, "kv 'q8_0' needs flash attention, and that is off"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        EngineSettings(**settings)


@pytest.mark.parametrize(("batch", "sequences"), [(1, 2), (1, 256), (8, 32), (4096, 2)])
def test_the_extremes_of_the_settings_work(tiny_model: Path, batch: int, sequences: int) -> None:
    engine = opened(tiny_model, batch=batch, sequences=sequences)
    _, found = run_together(engine, PROMPTS[:12])
    assert len(found) == 12
    engine.close()


@pytest.mark.parametrize(
    ("settings", "tolerance"),
    [
        ({"flash_attention": "off"}, 5 * TOLERANCE),
        ({"flash_attention": "on"}, TOLERANCE),
        ({"repack": True}, TOLERANCE),
        ({"split": "none"}, TOLERANCE),
        ({"split": "row"}, TOLERANCE),
        ({"kv": "q8_0"}, 0.3),  # answers do change a little: it is part of the judge's identity
    ],
    ids=str,
)
def test_every_way_to_run_a_model_gives_its_answers(
    tmp_path: Path, settings: dict[str, Any], tolerance: float
) -> None:
    shape = tiny.Shape(width=128)  # heads of 32, since q8_0 keeps 32 numbers together
    path = tiny.build(tmp_path / "wide.gguf", shape=shape)
    plain, other = opened(path), opened(path, **settings)
    _, expected = run_together(plain, PROMPTS[:8])
    _, found = run_together(other, PROMPTS[:8])
    for index, row in expected.items():
        assert abs(found[index] - row).max() < tolerance
    assert other.state_scope() != plain.state_scope()
    if settings == {"kv": "q8_0"}:
        assert max(abs(found[index] - expected[index]).max() for index in expected) > 1e-6
    plain.close()
    other.close()


def test_there_is_at_least_one_core() -> None:
    assert physical_cores() >= 1


# -- files ---------------------------------------------------------------------------------------------


def test_a_truncated_file_is_a_clear_error_wherever_it_was_cut(tmp_path: Path, tiny_model: Path) -> None:
    data = tiny_model.read_bytes()
    for size in (0, 3, 8, 24, 100, 3000, 9000, len(data) // 2, len(data) - 1):
        path = tmp_path / "cut.gguf"
        path.write_bytes(data[:size])
        with pytest.raises(
            ModelFileError, match=r"cut\.gguf: llama\.cpp cannot load this file as a model: "
        ) as error:
            Engine(path, EngineSettings())
        assert error.value.exit_code == 2


def test_a_file_that_is_no_model_and_one_that_is_missing_are_clear_errors(tmp_path: Path) -> None:
    path = tmp_path / "prose.gguf"
    path.write_text("GGUF is what this file is not." * 50, encoding="utf-8")
    for wrong in (path, tmp_path, tmp_path / "none.gguf"):
        with pytest.raises(ModelFileError, match="cannot load this file as a model: "):
            Engine(wrong, EngineSettings())


def test_damaged_bytes_in_the_head_never_crash_the_process(tmp_path: Path, tiny_model: Path) -> None:
    script = """
import random, sys
from pathlib import Path
from ragjudge.errors import ModelFileError
from ragjudge.judges.llama.native import Engine
from ragjudge.judges.llama.settings import EngineSettings
data, path = Path(sys.argv[1]).read_bytes(), Path(sys.argv[2])
chooser = random.Random(5)
refused = 0
for _ in range(60):
    damaged = bytearray(data)
    for _ in range(4):
        damaged[chooser.randrange(600)] = chooser.randrange(256)
    path.write_bytes(damaged)
    try:
        Engine(path, EngineSettings(threads=1)).close()
    except ModelFileError:
        refused += 1
print("refused", refused > 0)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tiny_model), str(tmp_path / "damaged.gguf")],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "refused True", "")


def test_llama_cpp_prints_nothing(
    tmp_path: Path, tiny_model: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    engine = opened(tiny_model)
    run_together(engine, PROMPTS[:3])
    engine.close()
    with pytest.raises(ModelFileError):
        Engine(tmp_path / "none.gguf", EngineSettings())
    assert capfd.readouterr() == ("", "")


# -- life ----------------------------------------------------------------------------------------------


def test_closing_twice_is_harmless_and_an_engine_nobody_closed_frees_its_model(tiny_model: Path) -> None:
    engine = opened(tiny_model)
    library = engine._c
    freed: list[object] = []

    class Recording:
        def __getattr__(self, name: str) -> object:
            return getattr(library, name)

        def llama_model_free(self, model: object) -> None:
            freed.append(model)
            library.llama_model_free(model)

    engine.limits(256)
    engine.close()
    engine.close()
    forgotten = opened(tiny_model)
    forgotten._c = Recording()
    forgotten.limits(256)
    del forgotten
    gc.collect()
    assert len(freed) == 1


def test_sixty_engines_one_after_the_other_leak_no_memory(tiny_model: Path) -> None:
    def resident() -> int:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * 4096

    if not Path("/proc/self/statm").exists():
        pytest.skip("only Linux tells the resident size here")
    sizes = []
    for number in range(60):
        engine = opened(tiny_model)
        run_together(engine, PROMPTS[:2])
        engine.close()
        if number in (20, 59):
            gc.collect()
            sizes.append(resident())
    # One memory of this engine is half a megabyte; leaking any of its parts shows as tens of them.
    assert sizes[1] - sizes[0] < 20_000_000


def test_a_file_without_a_chat_template_has_none(tmp_path: Path, engine: Engine) -> None:
    assert engine.chat_template() == tiny.CHATML
    plain = Engine(tiny.build(tmp_path / "plain.gguf", template=None), EngineSettings())
    assert plain.chat_template() is None
    plain.close()


# -- hidden states -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("batch", "sequences"), [(512, 32), (16, 4), (7, 3)])
def test_the_hidden_state_of_each_prompt_is_what_its_logits_are_made_from(
    tiny_model: Path, batch: int, sequences: int
) -> None:
    import gguf

    tensors = {tensor.name: tensor for tensor in gguf.GGUFReader(tiny_model).tensors}
    output = np.asarray(tensors["output.weight"].data, dtype=np.float64)
    engine = opened(tiny_model, batch=batch, sequences=sequences, hidden=True)
    library = count_decodes(engine)
    steps = plan(PROMPTS, engine.limits(max(map(len, PROMPTS))))

    def both(row: Logits, hidden: Logits | None) -> tuple[Logits, Any]:
        assert hidden is not None
        return row.copy(), output @ hidden

    found = dict(engine.run(steps, both))
    assert library.decoded == engine.tokens_decoded == steps.decoded
    engine.close()
    plain = opened(tiny_model, batch=batch, sequences=sequences)
    _, expected = run_together(plain, PROMPTS)
    plain.close()
    assert sorted(found) == list(range(len(PROMPTS)))
    for index, (row, product) in found.items():
        np.testing.assert_allclose(row, product, rtol=0, atol=1e-3)
        np.testing.assert_allclose(log_softmax(row), expected[index], rtol=0, atol=TOLERANCE)


def test_without_being_asked_for_no_hidden_state_is_read(engine: Engine) -> None:
    steps = plan([(1, 300)], engine.limits(256))
    assert [hidden for _, hidden in engine.run(steps, lambda row, hidden: hidden)] == [None]
