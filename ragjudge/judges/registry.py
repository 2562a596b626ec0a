"""From a judge's name to the judge. A new kind of judge is one line here."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragjudge.errors import ConfigError, UnknownNameError
from ragjudge.judges.base import Judge
from ragjudge.judges.llama.settings import (
    MOST_LAYERS,
    MOST_THREADS,
    MOST_TOKENS,
    EngineSettings,
    FlashAttention,
    Split,
)

if TYPE_CHECKING:
    from ragjudge.gguf.memory import KvType
    from ragjudge.judges.llama.judge import Chat

ENVIRONMENT_VARIABLE = "RAGJUDGE_JUDGE"
"""Names the judge of calls that name none."""

FAKE = "fake"
HTTP = "http"


def default_reference() -> str:
    """Return the judge that is meant when none is named: ``$RAGJUDGE_JUDGE``, else the manifest's default."""
    from ragjudge.gguf.manifest import load_manifest

    return os.environ.get(ENVIRONMENT_VARIABLE) or load_manifest().default.name


def open_judge(
    reference: str | Path | None = None,
    *,
    path: Path | None = None,
    chat: Chat | None = None,
    window: int | None = None,
    threads: int | None = None,
    gpu_layers: int | None = None,
    batch: int | None = None,
    flash_attention: FlashAttention | None = None,
    kv: KvType | None = None,
    split: Split | None = None,
    repack: bool | None = None,
    exact: bool | None = None,
    profile: str | None = None,
    prefix_bytes: int | None = None,
    hidden: bool | None = None,
    **server: Any,
) -> Judge:
    """Make a judge. A model is loaded when the judge is first asked, not here.

    Args:
        reference: A name of the models manifest, the name of an added model, the path of a ``.gguf``
            file, ``fake``, or ``http`` for a server. None = `default_reference`.
        path: Where the file of `reference` lies, when that is known already.
        chat: See `LlamaJudge`.
        window: Longest prompt in tokens, at least 64; see `LlamaJudge`.
        threads: Worker threads, at least 1; None = one per physical core.
        gpu_layers: Layers to offload, -1 = all; None = as many as fit, see `EngineSettings`.
        batch: Most tokens per batch, at least 32; None = 512.
        flash_attention: See `EngineSettings`, as for the next three; None = automatic.
        kv: How keys and values are kept; part of the judge's identity.
        split: How several devices share a model.
        repack: Whether weights are laid out anew for the processor.
        exact: Whether answers are independent of what else is asked, to the last bit.
        profile: See `LlamaJudge`.
        prefix_bytes: See `LlamaJudge`; no matter for other judges.
        hidden: Whether verdicts keep the model's last hidden state, see `LlamaJudge`.
        server: Settings of ``http``: ``base_url``, ``model`` and whatever else `HttpJudge` takes.

    Raises:
        UnknownNameError: There is no such judge.
        ConfigError: A setting is out of its range, or the judge has no such setting.
    """
    name = os.fspath(reference) if reference is not None else default_reference()
    settings: dict[str, Any] = {
        "window": (window, 64, MOST_TOKENS),
        "threads": (threads, 1, MOST_THREADS),
        "gpu_layers": (gpu_layers, -1, MOST_LAYERS),
        "batch": (batch, 32, MOST_TOKENS),
    }
    for setting, (value, least, most) in settings.items():
        if value is not None and not least <= value <= most:
            raise ConfigError(f"judge {name!r}: {setting} is {value}; accepted: {least} to {most}.")
    engine: dict[str, Any] = {
        "threads": threads,
        "gpu_layers": gpu_layers,
        "batch": batch,
        "flash_attention": flash_attention,
        "kv": kv,
        "split": split,
        "repack": repack,
        "exact": exact,
    }
    engine = {setting: value for setting, value in engine.items() if value is not None}
    others = {"window": window, "chat": chat, "profile": profile, "hidden": hidden}
    given = [*(setting for setting, value in others.items() if value is not None), *engine]
    if name in (FAKE, HTTP) and given:
        raise ConfigError(f"judge {name!r} has no setting {given[0]!r}.")
    if name == HTTP:
        return _open_http(server)
    if server:
        raise ConfigError(
            f"judge {name!r} has no setting {min(server)!r}.", hint="a server's judge has the id `http`"
        )
    if name == FAKE:
        from ragjudge.judges.fake import FakeJudge

        return FakeJudge()
    judge = {
        "chat": chat,
        "window": window,
        "prefix_bytes": prefix_bytes,
        "profile": profile,
        "hidden": bool(hidden),
    }
    return _open_llama(name, path, settings=EngineSettings(**engine), **judge)


def _open_http(settings: dict[str, Any]) -> Judge:
    from inspect import signature

    from ragjudge.judges.http import HttpJudge

    accepted = list(signature(HttpJudge).parameters)
    for setting in settings:
        if setting not in accepted:
            raise ConfigError(f"judge 'http' has no setting {setting!r}; accepted: {', '.join(accepted)}.")
    for setting in ("base_url", "model"):
        if settings.get(setting) is None:
            raise ConfigError(
                f"judge 'http': the setting {setting!r} is missing.",
                hint="e.g. `{id: http, base_url: http://localhost:8080/v1, model: qwen2.5-7b-instruct}`",
            )
    return HttpJudge(**settings)


def _open_llama(name: str, path: Path | None, *, settings: EngineSettings, **judge: Any) -> Judge:
    from ragjudge.gguf.locate import added_files, locate, models_dir
    from ragjudge.judges.llama.judge import LlamaJudge

    try:
        located = locate(path or name)
    except UnknownNameError as error:
        from ragjudge.gguf.manifest import load_manifest

        known = [FAKE, HTTP, *load_manifest().names, *(file.stem for file in added_files())]
        raise UnknownNameError("judge", name, known) from error
    file = located.path
    if file is None:
        file = models_dir() / located.entry.file if located.entry else Path(path or name).expanduser()
    return LlamaJudge(name, file, entry=located.entry, settings=settings, **judge)
