"""The options that all grading commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ragjudge.errors import UsageError

if TYPE_CHECKING:
    from ragjudge.agreement.choosing import Choice
    from ragjudge.gguf.memory import KvType
    from ragjudge.judges.base import Judge
    from ragjudge.judges.llama.settings import FlashAttention, Split
    from ragjudge.sessions import CachePlace
    from ragjudge.text.claims import ClaimMode
    from ragjudge.text.splitting import EvidenceMode, Splitting

F = TypeVar("F", bound=Callable[..., Any])

_SETTINGS = (
    "window",
    "threads",
    "gpu_layers",
    "flash_attention",
    "kv",
    "split",
    "repack",
    "exact",
    "profile",
    "hidden",
)
"""Options that are settings of a judge."""

_SWITCHES = ("repack", "exact", "hidden")
"""Those that can be given as ``--no-…`` too."""


calibration_option = click.option(
    "--calibration",
    metavar="FILE|none|shipped",
    help="What corrects the judge's probabilities. [run: the suite's; --bundle: the bundle's; else shipped]",
)


@dataclass(frozen=True)
class JudgeOptions:
    """Which judge to ask, how to run it, and where its answers are kept.

    Attributes:
        judge: Name, path or ``fake``; several decide together; empty = the default.
        window: Longest prompt in tokens.
        threads: Worker threads.
        gpu_layers: Layers to offload, -1 = all.
        flash_attention: ``auto``, ``on`` or ``off``.
        kv: How keys and values are kept.
        split: How several devices share a model.
        repack: True = weights are laid out anew for the processor.
        exact: True = answers are independent of what else is asked, to the last bit.
        profile: How a model that was trained to check texts is asked.
        hidden: Whether answers keep the model's last hidden state.
        calibration: ``shipped``, ``none`` or a file; None = a bundle's, else what the suite says, else the
            shipped one.
        cache: The cache folder; None = the default one.
        no_cache: Keep answers in memory only.
        replay: Ask no judge; always so with a bundle.
        bundle: The bundle to answer from, in the place of a cache.
    """

    judge: tuple[str, ...]
    window: int | None
    threads: int | None
    gpu_layers: int | None
    flash_attention: FlashAttention | None
    kv: KvType | None
    split: Split | None
    repack: bool | None
    exact: bool | None
    profile: str | None
    hidden: bool | None
    calibration: str | None
    cache: Path | None
    no_cache: bool
    replay: bool
    bundle: Path | None

    @property
    def place(self) -> CachePlace:
        """The cache to open."""
        from ragjudge.sessions import Bundle

        if self.bundle is not None:
            return Bundle(self.bundle)
        return False if self.no_cache else self.cache

    @property
    def choice(self) -> Choice | None:
        """The calibration that is named, if one is."""
        from ragjudge.agreement.choosing import choice_of

        return choice_of(self.calibration, named=True)

    @property
    def given(self) -> list[str]:
        """The options that are given, as the user wrote them."""
        found = [
            name
            for name, value in vars(self).items()
            if value is not None and value is not False and value != ()
        ]
        if self.bundle is not None:
            found.remove("replay")  # it follows from the bundle
        refused = [f"--no-{name}" for name in _SWITCHES if getattr(self, name) is False]
        return [f"--{name.replace('_', '-')}" for name in found] + refused

    @property
    def has_settings(self) -> bool:
        """Whether any setting of the judge is given."""
        return any(getattr(self, name) is not None for name in _SETTINGS)

    def open_judge(self) -> Judge:
        """Make the one judge that the options name.

        Raises:
            UsageError: They name several.
            UnknownNameError: There is no such judge.
            ConfigError: A setting is out of its range.
        """
        if len(self.judge) > 1:
            raise UsageError(f"--judge is given {len(self.judge)} times; accepted here: one judge.")
        return self._open(self.judge[0] if self.judge else None)

    def open_judges(self) -> list[Judge]:
        """Make the judges that the options name, each with the settings that are given; at least one.

        Raises:
            UsageError: There are too many, or one is named twice.
            UnknownNameError: There is no such judge.
            ConfigError: A setting is out of its range.
        """
        check_named_once(self.judge)
        return [self._open(name) for name in self.judge or (None,)]

    def _open(self, name: str | None) -> Judge:
        from ragjudge.judges.registry import open_judge

        settings = {setting: getattr(self, setting) for setting in _SETTINGS}
        return open_judge(name, **settings)


def check_named_once(judges: Sequence[str]) -> None:
    """Refuse a ``--judge`` that is given too often.

    Raises:
        UsageError: A judge is named twice, or there are more than a panel has.
    """
    if len(judges) > 1:
        from ragjudge.cache.panel import check_size

        check_size(len(judges), "--judge")
        twice = next((name for place, name in enumerate(judges) if name in judges[:place]), None)
        if twice is not None:
            raise UsageError(f"--judge {twice} is given twice; a panel has each judge once.")


def judge_options(command: F) -> F:
    """Add the options of `JudgeOptions` to a command; they arrive as its argument ``options``."""

    def collected(**values: Any) -> Any:
        options = JudgeOptions(**{name: values.pop(name) for name in JudgeOptions.__dataclass_fields__})
        if options.bundle is not None:
            if options.no_cache or options.cache is not None:
                raise UsageError(
                    "--bundle answers from a file, without any cache; leave --cache and --no-cache out."
                )
            options = replace(options, replay=True)
        if options.no_cache and options.replay:
            raise UsageError("--replay answers from the cache, and --no-cache has none; give one of them.")
        if options.no_cache and options.cache is not None:
            raise UsageError("--cache and --no-cache contradict each other; give one of them.")
        return command(options=options, **values)

    collected.__name__, collected.__doc__ = command.__name__, command.__doc__
    for option in reversed(
        (
            click.option(
                "--judge",
                multiple=True,
                metavar="ID",
                help="Model name, path of a .gguf file, or fake; several judges grade by majority. "
                "[run: the suite's; else $RAGJUDGE_JUDGE]",
            ),
            click.option("--window", type=click.IntRange(min=64), help="Longest prompt in tokens. [8192]"),
            click.option("--threads", type=click.IntRange(min=1), help="Threads. [one per physical core]"),
            click.option(
                "--gpu-layers",
                type=click.IntRange(min=-1),
                help="Layers on the GPU, -1 for all. [as many as fit, when llama.cpp was built for one]",
            ),
            click.option("--flash-attention", type=click.Choice(["auto", "on", "off"]), help="[auto]"),
            click.option(
                "--kv", type=click.Choice(["f16", "q8_0"]), help="How the memory of tokens is kept. [f16]"
            ),
            click.option(
                "--split",
                type=click.Choice(["layer", "row", "none"]),
                help="How several GPUs share the model. [layer]",
            ),
            click.option(
                "--repack/--no-repack",
                default=None,
                help="Lay weights out anew for the processor: more memory, and on some faster. [no-repack]",
            ),
            click.option(
                "--exact/--no-exact",
                default=None,
                help="Answers independent of what else is asked, to the last bit; slower. [no-exact]",
            ),
            click.option(
                "--profile", metavar="NAME", help="How a trained checker is asked, or none. [as known]"
            ),
            click.option(
                "--hidden/--no-hidden",
                default=None,
                help="Keep the model's last hidden state with each answer, for a calibration that reads it.",
            ),
            calibration_option,
            click.option(
                "--cache",
                type=click.Path(path_type=Path, file_okay=False),
                metavar="DIR",
                help="Cache folder. [$RAGJUDGE_CACHE, else a folder among your data]",
            ),
            click.option("--no-cache", is_flag=True, help="Neither read nor write a cache."),
            click.option("--replay", is_flag=True, help="Ask no judge: answer from the cache alone."),
            click.option(
                "--bundle",
                type=click.Path(path_type=Path),
                metavar="FILE",
                help="Ask no judge: answer from a bundle alone (see `cache export`).",
            ),
        )
    ):
        collected = option(collected)
    # click has put the options on the wrapper; those of the command itself stay in front.
    collected.__click_params__ = [  # type: ignore[attr-defined]
        *collected.__click_params__,  # type: ignore[attr-defined]
        *getattr(command, "__click_params__", []),
    ]
    return collected  # type: ignore[return-value]


def format_option(command: F) -> F:
    """Add ``--format text|json``; it arrives as the argument ``form``."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="For people, or for programs.",
    )(command)


def metric_options(command: F) -> F:
    """Add ``--mode`` and ``--by``."""
    modes = click.Choice(["decomposed", "holistic"])
    for option in (
        click.option(
            "--by", type=click.Choice(["chunks", "claims"]), help="Variant of context-precision. [chunks]"
        ),
        click.option("--mode", type=modes, default="decomposed", show_default=True, help="How to ask."),
    ):
        command = option(command)
    return command


def splitting_options(command: F) -> F:
    """Add ``--language``, ``--claims`` and ``--evidence``; see `splitting_from`."""
    for option in (
        click.option(
            "--evidence",
            type=click.Choice(["excerpt", "whole"]),
            help="Show the judge the sentences closest to a claim, or the whole contexts. [excerpt]",
        ),
        click.option(
            "--claims",
            type=click.Choice(["sentence", "clause", "judge"]),
            help="Judge sentences, their clauses that stand on their own, or what the judge finds in them. "
            "[sentence]",
        ),
        click.option(
            "--language", metavar="NAME", help="Language of the texts: its English name or code. [english]"
        ),
    ):
        command = option(command)
    return command


def splitting_from(
    language: str | None, claims: ClaimMode | None, evidence: EvidenceMode | None, metrics: Sequence[str]
) -> Splitting:
    """Return how texts are cut, from the options of `splitting_options`.

    Args:
        language: As given; None = not given.
        claims: As given.
        evidence: As given.
        metrics: Names of the metrics that will be asked for.

    Raises:
        UnknownNameError: The splitter does not know the language, or a metric does not exist.
        ConfigError: ``--claims`` or ``--evidence`` is given and no metric counts claims.
    """
    from ragjudge.metrics.registry import canonical_name, check_counts_claims
    from ragjudge.text.languages import language_name
    from ragjudge.text.splitting import Splitting, given_options

    if language is not None:
        language_name(language, where="--language")
    if claims is not None:
        check_counts_claims(map(canonical_name, metrics), "--claims")
    if evidence is not None:
        check_counts_claims(map(canonical_name, metrics), "--evidence")
    return Splitting(**given_options(language=language, claims=claims, evidence=evidence))


def report_options(command: F) -> F:
    """Add ``-o``, ``--quiet`` and ``--verbose``."""
    for option in (
        click.option("-v", "--verbose", is_flag=True, help="Show every failed claim."),
        click.option("-q", "--quiet", is_flag=True, help="Print the totals only."),
        click.option(
            "-o",
            "--output",
            "outputs",
            multiple=True,
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help="Write the report (.json) or its rows (.jsonl); may be repeated.",
        ),
    ):
        command = option(command)
    return command
