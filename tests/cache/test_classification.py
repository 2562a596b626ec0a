"""Every setting that exists is either part of the key of what is judged, or is known not to matter.

A new field of one of these classes makes a test here fail until it is put into IN or OUT: whoever adds it
decides whether it can change an answer.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from ragjudge.cache.keys import key_of, request_of
from ragjudge.cli.options import JudgeOptions
from ragjudge.evaluation import evaluate
from ragjudge.judges.fake import FakeJudge
from ragjudge.judges.http.judge import HttpJudge
from ragjudge.judges.http.settings import HttpSettings
from ragjudge.judges.llama.judge import LlamaJudge, llama_identity
from ragjudge.judges.llama.settings import EngineSettings
from ragjudge.judges.registry import open_judge
from ragjudge.metrics.base import TwoModeMetric
from ragjudge.metrics.registry import make_metric
from ragjudge.prompts.template import Template
from ragjudge.providers.base import ProviderSpec
from ragjudge.records import Sample
from ragjudge.runner import Cell, Task
from ragjudge.scorers import Scorer
from ragjudge.suites.spec import AssertionSpec, Case, JudgeSpec, Suite
from ragjudge.text.splitting import Splitting

SERVER_IN = {"base_url", "model", "identity", "strategy", "extra"}
SERVER_OUT = {"api_key_env", "accept_models", "max_tokens", "concurrency", "timeout", "retries"}
ENGINE = {"threads", "gpu_layers", "batch", "flash_attention", "split", "repack", "exact"}
PREFIXES = {"prefix_store", "prefix_bytes"}
PLACES = {"cache", "replay", "bundle"}
CALIBRATION = {"calibration"}
"""Applied to answers when they come out of the cache."""
SPLITTING = {"language", "claims", "code", "abbreviations", "evidence"}

IN: dict[Any, set[str]] = {
    # What is asked: the texts of the templates, filled in, and the judge's identity.
    Template: {
        "name", "version", "definition", "definition_of", "system", "excerpt", "shared", "own", "labels",
        "grammar", "max_tokens",
    },
    Sample: {"input", "output", "contexts", "expected", "language"},
    Splitting: SPLITTING,  # through the claims that are asked about
    AssertionSpec: {"metric", "mode", "by", "reference", "context", "judge"},
    JudgeSpec: {"window", "chat", "kv", "profile", "hidden"} | SERVER_IN,
    HttpSettings: SERVER_IN,
    HttpJudge: SERVER_IN,
    # Of path and entry the content's digest.
    LlamaJudge: {"path", "entry", "chat", "window", "profile", "hidden"},
    FakeJudge: {"script", "score", "claims"},
    EngineSettings: {"kv", "hidden"},
    JudgeOptions: {"judge", "window", "kv", "profile", "hidden"},
    open_judge: {"reference", "path", "chat", "window", "kv", "profile", "hidden", "server"},
    TwoModeMetric: {"mode", "by", "splitting"},
    ProviderSpec: {"id", "options"},  # through the outputs that it produces
    Suite: {"judge", "judges", "providers", "cases", "splitting"},
    Case: {"sample", "assertions"},
    Task: {"metric", "sample", "judge"},
    Cell: {"sample", "tasks"},
    Scorer: {"llm", "mode", "by", "metric"} | SPLITTING,
    evaluate: {"agent_fn", "dataset", "scorers", "context", "contexts", "llm"} | SPLITTING,
}  # fmt: skip

OUT: dict[Any, set[str]] = {
    Template: {"reply_schema"},  # says the same as `grammar`, for judges that know none
    Sample: {"id", "provider", "error", "metadata"},
    AssertionSpec: {"label", "threshold", "on_empty"},
    JudgeSpec: {"id", "path"} | CALIBRATION | ENGINE | PREFIXES | SERVER_OUT,
    HttpSettings: SERVER_OUT,
    HttpJudge: {"id"} | SERVER_OUT,
    LlamaJudge: {"id", "settings"} | PREFIXES,
    FakeJudge: {"id"},
    EngineSettings: ENGINE | {"sequences"},
    JudgeOptions: {"no_cache"} | CALIBRATION | ENGINE | PREFIXES | PLACES,
    open_judge: ENGINE | PREFIXES,
    Splitting: set(),
    TwoModeMetric: set(),
    ProviderSpec: set(),
    # What stands in the file of `dataset` is in `cases`.
    Suite: {"path", "description", "dataset", "cache"} | CALIBRATION | PREFIXES,
    Case: {"origin"},
    Task: {"label", "threshold", "on_empty", "error"},
    Cell: {"provider", "error", "produced", "origin"},
    Scorer: {"threshold", "on_empty"} | CALIBRATION | PLACES,
    evaluate: {"progress"} | CALIBRATION | PLACES,
}


def settings_of(what: Any) -> set[str]:
    if isinstance(what, type) and issubclass(what, BaseModel):
        return set(what.model_fields)
    if dataclasses.is_dataclass(what):
        return {field.name for field in dataclasses.fields(what) if field.init and field.name[0] != "_"}
    return set(inspect.signature(what).parameters) - {"self"}


@pytest.mark.parametrize("what", IN, ids=lambda what: what.__name__)
def test_every_setting_is_in_or_out_of_the_key(what: Any) -> None:
    assert not IN[what] & OUT[what]
    new = sorted(settings_of(what) - IN[what] - OUT[what])
    assert not new, f"{what.__name__} has settings that nobody has classified"


def keys(sample: Sample, fingerprint: str, name: str = "faithfulness", **metric: Any) -> set[str]:
    calls = make_metric(name, **metric).plan(sample).calls
    return {key_of(request_of(call, fingerprint)[0]) for call in calls}


SAMPLE = Sample(
    id="one", input="When?", output="It was built in 1780.", contexts=("Built in 1780.",), expected="In 1780."
)


@pytest.mark.parametrize(
    ("metric", "changes"),
    [
        ("answer_relevancy", {"input": "Where?"}),
        ("faithfulness", {"output": "It was built in 1790."}),
        ("faithfulness", {"contexts": ("Built in 1790.",)}),
        ("context_recall", {"expected": "It was in 1790."}),
    ],
)
def test_what_a_row_says_is_in_the_key(metric: str, changes: dict[str, Any]) -> None:
    other = SAMPLE.model_copy(update=changes)
    assert not keys(SAMPLE, "f" * 64, metric) & keys(other, "f" * 64, metric)


def test_how_a_row_is_called_is_not_in_the_key() -> None:
    other = SAMPLE.model_copy(update={"id": "two", "provider": "rag", "metadata": {"a": 1}})
    assert keys(SAMPLE, "f" * 64) == keys(other, "f" * 64)


def test_how_texts_are_cut_is_in_the_key_by_what_is_asked_alone() -> None:
    compound = SAMPLE.model_copy(
        update={"output": "Paris is the capital of France, and Berlin is the capital of Germany."}
    )
    clauses = Splitting(claims="clause")
    assert keys(SAMPLE, "f" * 64, splitting=clauses) == keys(SAMPLE, "f" * 64)
    assert not keys(compound, "f" * 64, splitting=clauses) & keys(compound, "f" * 64)
    german = SAMPLE.model_copy(update={"language": "german"})
    assert (
        keys(german, "f" * 64) == keys(SAMPLE, "f" * 64, splitting=Splitting("de")) == keys(SAMPLE, "f" * 64)
    )


def test_mode_and_variant_are_in_the_key() -> None:
    assert not keys(SAMPLE, "f" * 64) & keys(SAMPLE, "f" * 64, mode="holistic")
    chunks = keys(SAMPLE, "f" * 64, "context_precision", by="chunks")
    assert not chunks & keys(SAMPLE, "f" * 64, "context_precision", by="claims")


def test_content_chat_and_window_make_a_llama_judge() -> None:
    first = llama_identity("a" * 64, chat="auto", window=None)
    others = [
        llama_identity("b" * 64, chat="auto", window=None),
        llama_identity("a" * 64, chat="plain", window=None),
        llama_identity("a" * 64, chat="auto", window=4096),
        llama_identity("a" * 64, chat="auto", window=None, lora_sha256="c" * 64),
    ]
    assert len({identity.fingerprint for identity in (first, *others)}) == 5
    assert llama_identity("a" * 64, chat="auto", window=8192) == first


def fingerprints(settings: Iterable[dict[str, Any]]) -> set[str]:
    base = {"base_url": "http://localhost:8080/v1", "model": "m"}
    return {HttpJudge(**{**base, **changes}).identity().fingerprint for changes in settings}


def test_address_model_and_ways_of_asking_make_a_servers_judge() -> None:
    changes: list[dict[str, Any]] = [
        {},
        {"base_url": "http://localhost:8081/v1"},
        {"model": "n"},
        {"identity": "ours"},
        {"strategy": "text"},
        {"extra": {"top_k": 1}},
    ]
    assert len(fingerprints(changes)) == len(changes)


def test_keys_speed_and_patience_do_not_make_another_servers_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "secret")
    changes: list[dict[str, Any]] = [
        {},
        {"api_key_env": "SOME_KEY"},
        {"accept_models": ("n",)},
        {"max_tokens": 5_000},
        {"concurrency": 7},
        {"timeout": 7.0},
        {"retries": 7},
    ]
    assert len(fingerprints(changes)) == 1


def test_how_a_model_is_run_and_where_it_lies_does_not_make_another_judge(tmp_path: Path) -> None:
    from tests.gguf.tiny import CONTENT

    for name in ("a.gguf", "b.gguf"):
        (tmp_path / name).write_bytes(CONTENT)
    judges = [
        open_judge(tmp_path / "a.gguf"),
        open_judge(tmp_path / "b.gguf", threads=1, gpu_layers=0, batch=64),
    ]
    assert len({judge.identity().fingerprint for judge in judges}) == 1
