"""What a loaded suite is: everything resolved, nothing left to look up but models and caches."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, JsonValue

from ragjudge.datasets.origins import Origin
from ragjudge.providers.base import ProviderSpec
from ragjudge.records import Mode, OnEmpty, PanelBy, Record, Sample
from ragjudge.text.splitting import DEFAULT_SPLITTING, Splitting

Chat = Literal["auto", "plain"]
Strategy = Literal["auto", "logprobs", "constrained", "text"]

SERVER_SETTINGS = (
    "base_url", "model", "identity", "strategy", "extra", "api_key_env", "accept_models", "max_tokens",
    "concurrency", "timeout", "retries",
)  # fmt: skip
"""Settings of a judge behind a server."""


LLAMA_SETTINGS = (
    "window", "chat", "threads", "gpu_layers", "batch", "flash_attention", "kv", "split", "repack", "exact",
    "profile", "hidden",
)  # fmt: skip
"""Settings of a judge in this process."""


class JudgeSpec(Record):
    """A judge as a suite names it.

    What is None is left to the judge. The settings from `base_url` on are those of ``http``, see
    `judges.http.settings`; it alone has them, and it has no others.

    Attributes:
        id: The reference as written (after `judges:` has replaced it): a model's name, a path, ``fake``.
        path: The file, when the reference is a path: beside the suite, or else in the working directory
            when it is only there. None for a name, and for a bare file name that is in neither.
        window: Longest prompt in tokens; None = the judge's own default.
        chat: ``auto`` or ``plain``; None = what is known about the model, else ``auto``.
        threads: Worker threads; None = automatic.
        gpu_layers: Layers to offload, -1 for all; None = automatic.
        batch: Most tokens in one batch; None = automatic.
        flash_attention: ``auto``, ``on`` or ``off``; None = ``auto``.
        kv: How keys and values are kept, ``f16`` or ``q8_0``; None = ``f16``.
        split: How several devices share a model: ``layer``, ``row`` or ``none``; None = ``layer``.
        repack: Whether weights are laid out anew for the processor; None = they are not.
        exact: Whether answers are independent of what else is asked, to the last bit; None = they are not.
        profile: How a model that was trained to check texts is asked, or ``none``; None = as it is known.
        hidden: Whether answers keep the model's last hidden state, for calibrations that read it; None = no.
        calibration: ``shipped``, ``none`` or a file, as written; None = what the suite says for all judges.
    """

    id: str
    path: Path | None = None
    window: int | None = Field(default=None, ge=1)
    chat: Chat | None = None
    threads: int | None = Field(default=None, ge=1)
    gpu_layers: int | None = Field(default=None, ge=-1)
    batch: int | None = Field(default=None, ge=1)
    flash_attention: Literal["auto", "on", "off"] | None = None
    kv: Literal["f16", "q8_0"] | None = None
    split: Literal["layer", "row", "none"] | None = None
    repack: bool | None = None
    exact: bool | None = None
    profile: str | None = None
    hidden: bool | None = None
    calibration: str | None = None
    base_url: str | None = None
    model: str | None = None
    identity: str | None = None
    strategy: Strategy | None = None
    extra: dict[str, JsonValue] | None = None
    api_key_env: str | None = None
    accept_models: tuple[str, ...] | None = None
    max_tokens: int | None = None
    concurrency: int | None = None
    timeout: float | None = None
    retries: int | None = None


class PanelSpec(Record):
    """Several judges that decide together.

    Attributes:
        members: The judges, 2 to 9, no two of them equal.
        by: How their verdicts are put together; see `judges.voting`.
    """

    members: tuple[JudgeSpec, ...]
    by: PanelBy = "majority"


class AssertionSpec(Record):
    """A metric with its settings.

    Attributes:
        metric: Name of the metric, with underscores.
        label: Names the score in the report; unique within a case, and of one metric in the whole suite.
        threshold: Smallest passing value in [0, 1]; None = the metric's own.
        mode: How the metric asks; None = the metric's own.
        by: Variant of context precision, never None for it; None for every other metric.
        reference: Wins over the sample's expected answer.
        context: Wins over the sample's contexts.
        on_empty: What an empty case means; None = what the metric says.
        judge: A judge of its own, or several; None = the suite's.
    """

    metric: str
    label: str
    threshold: float | None = None
    mode: Mode | None = None
    by: Literal["chunks", "claims"] | None = None
    reference: str | None = None
    context: tuple[str, ...] | None = None
    on_empty: OnEmpty | None = None
    judge: JudgeSpec | PanelSpec | None = None


class Case(Record):
    """One sample with its assertions.

    Attributes:
        sample: The sample.
        assertions: What is asserted about it, the suite's own assertions first.
        origin: Where the sample comes from.
    """

    sample: Sample
    assertions: tuple[AssertionSpec, ...]
    origin: Origin


class Suite(Record):
    """A loaded suite.

    Attributes:
        path: The file it was read from; relative paths in it were relative to this file.
        description: What it is about.
        judge: The judge of every assertion without one of its own, or several; None = the default judge.
        judges: What other names for judges stand for.
        calibration: The calibration of every judge without one of its own: ``shipped``, ``none`` or a file,
            as written, relative to the suite; None = the shipped one.
        providers: Systems under test; empty when the rows carry their outputs.
        cases: At least one, with at least one assertion among them.
        dataset: The file of the rows; None when they stand in the suite.
        cache: The folder of the cache; None = the default one.
        prefix_store: What kept prefixes may take, ``off`` or a size; None = the default.
        splitting: How texts are cut; the language of a row wins over the one in it.
    """

    path: Path
    description: str | None = None
    judge: JudgeSpec | PanelSpec | None = None
    judges: dict[str, JudgeSpec] = Field(default_factory=dict)
    calibration: str | None = None
    providers: tuple[ProviderSpec, ...] = ()
    cases: tuple[Case, ...]
    dataset: Path | None = None
    cache: Path | None = None
    prefix_store: str | None = None
    splitting: Splitting = DEFAULT_SPLITTING
