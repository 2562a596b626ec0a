"""``ragjudge models info``: what a model file holds, and what would be asked of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragjudge.cli.command import Command
from ragjudge.cli.options import format_option

if TYPE_CHECKING:
    from ragjudge.gguf.facts import Facts
    from ragjudge.gguf.manifest import ModelEntry
    from ragjudge.gguf.memory import KvType, Memory
    from ragjudge.judges.llama.inspection import Inspection
    from ragjudge.prompts.profile import Profile
    from ragjudge.records import Check

_QUESTION = "Who created Python?"
_CHUNK = "Guido van Rossum began working on Python in the late 1980s."
_CLAIM = "Python was created by Guido van Rossum."


@click.command("info", cls=Command)
@click.argument("name")
@click.option("--window", type=click.IntRange(min=64), help="Longest prompt in tokens. [8192]")
@click.option(
    "--kv", type=click.Choice(["f16", "q8_0"]), default="f16", show_default=True, help="Memory of tokens."
)
@click.option("--profile", metavar="NAME", help="How a trained checker is asked, or none. [as known]")
@format_option
def model_info(name: str, window: int | None, kv: KvType, profile: str | None, form: str) -> None:
    """Show what the model NAME is, what it is asked and how, and the memory it takes.

    No weights are loaded. Exit code 3 when the file is missing.
    """
    info = _gather(name, window, kv, profile)
    if form == "json":
        click.echo(json.dumps(info, indent=2, ensure_ascii=False))
        return
    lines = _lines(info)
    width = max(len(label) for label, _ in lines)
    for label, text in lines:
        click.echo(f"{label.ljust(width)}  {text}".rstrip())


def _gather(name: str, window: int | None, kv: KvType, profile_name: str | None) -> dict[str, Any]:
    from ragjudge.errors import ModelFileError
    from ragjudge.gguf.facts import facts_of
    from ragjudge.gguf.header import read_header
    from ragjudge.gguf.locate import existing_path, locate
    from ragjudge.gguf.memory import memory_needed
    from ragjudge.judges.llama.inspection import inspect_model
    from ragjudge.judges.llama.judge import LlamaJudge
    from ragjudge.judges.llama.labels import LabelsAlikeError
    from ragjudge.judges.llama.model import DEFAULT_WINDOW
    from ragjudge.judges.llama.room import Room
    from ragjudge.judges.llama.settings import EngineSettings

    path = existing_path(name)
    judge = LlamaJudge(name, path, entry=locate(name).entry, profile=profile_name)
    header = read_header(path)
    facts = facts_of(header)
    asked = window or min(DEFAULT_WINDOW, facts.context or DEFAULT_WINDOW)
    settings = EngineSettings()
    memory = memory_needed(
        header, facts, asked + settings.batch, batch=settings.batch, sequences=settings.sequences, kv=kv
    )
    check = _check(judge.profile)
    found: Inspection | None = None
    unusable = None
    try:
        found = inspect_model(
            path,
            check,
            template=facts.template,
            plain=judge.prompt_format == "plain",
            profile=judge.profile,
            window=asked,
        )
    except (ModelFileError, LabelsAlikeError) as error:
        unusable = str(error)
    return {
        "name": name,
        **_of_file(path, locate(name).entry),
        **_of_facts(facts, asked, Room(asked, facts.rope_switch).long_factors),
        "memory": _of_memory(memory, asked, kv),
        "profile": None if judge.profile is None else judge.profile.identity,
        "chat": None if found is None else _of_chat(found, judge.profile),
        "asks": None if found is None else _of_question(found, check),
        "unusable": unusable,
        "missing": None if found is None else found.missing,
    }


def _check(profile: Profile | None) -> Check:
    from ragjudge.prompts.profiled import in_profile
    from ragjudge.prompts.template import load_template

    check = load_template("support").check(_CLAIM, {"question": _QUESTION}, (_CHUNK,))
    return check if profile is None else in_profile(check, profile)


def _of_file(path: Path, entry: ModelEntry | None) -> dict[str, Any]:
    from ragjudge.gguf.digest import sha256_of

    digest = sha256_of(path)
    known = entry is not None and entry.sha256 == digest
    return {
        "path": str(path),
        "size": path.stat().st_size,
        "sha256": digest,
        "known_as": entry.name if entry is not None and known else None,
        "licence": entry.licence if entry is not None and known else None,
    }


def _of_facts(facts: Facts, window: int, long_factors: bool) -> dict[str, Any]:
    return {
        "architecture": facts.architecture,
        "title": facts.name,
        "parameters": facts.parameters,
        "quantisation": facts.quantisation,
        "bits_per_weight": facts.bits_per_weight,
        "layers": len(facts.layers),
        "training_context": facts.context,
        "sliding_window": facts.window or None,
        "window": window,
        "rope_factors": None if facts.rope_switch is None else "long" if long_factors else "short",
    }


def _of_memory(memory: Memory, window: int, kv: KvType) -> dict[str, Any]:
    return {"total": memory.total, **vars(memory), "window": window, "kv": kv}


def _of_chat(found: Inspection, profile: Profile | None) -> dict[str, Any]:
    chat = found.chat
    plain, framed = chat.family == "plain", profile is not None and profile.frame is not None
    return {
        "family": chat.family,
        "source": "profile" if framed else "ours" if plain else "file",
        "system": "head of the user's turn" if chat.merged else "a turn of its own",
        "before": chat.before,
        "between": chat.between,
        "after": chat.after,
        "thinking": chat.thinking.word,
        "thinking_handled": chat.thinking.done,
    }


def _of_question(found: Inspection, check: Check) -> dict[str, Any]:
    labels = {label: list((found.labels or {}).get(label, ())) or None for label in check.labels}
    return {"prompt": found.prompt, "tokens": found.tokens, "labels": labels, "positive": check.positive}


def _lines(info: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the text form as labels and texts."""
    from ragjudge.reports.printable import printable

    title = info["title"]
    lines = [
        ("model", info["known_as"] or info["name"]),
        ("file", f"{printable(info['path'])} ({_megabytes(info['size'])})"),
        ("sha256", info["sha256"]),
        ("licence", info["licence"] or "not known: no model of the manifest"),
        ("architecture", printable(info["architecture"] + (f" ({title})" if title else ""))),
        (
            "weights",
            (
                f"{info['parameters'] / 1e6:,.0f} million in {info['layers']} layers, "
                f"{info['quantisation'] or 'mixed'}, {info['bits_per_weight']} bits each"
            ),
        ),
        (
            "context",
            f"{info['training_context']} tokens in training; asked with a window of {info['window']}",
        ),
    ]
    if info["sliding_window"]:
        lines.append(("attention", f"slides over {info['sliding_window']} tokens in some layers"))
    if info["rope_factors"]:
        lines.append(("rope factors", f"those for {info['rope_factors']} contexts, by the window"))
    lines.append(("memory", _line_of_memory(info["memory"])))
    lines.append(("profile", info["profile"] or "none: asked in our own words"))
    if info["unusable"] is not None:
        lines.append(("chat format", printable(info["unusable"])))
    else:
        lines += _lines_of_chat(info["chat"], info["asks"])
    if info["missing"] is not None:
        lines.append(("not shown", f"label tokens and first token: {info['missing']}"))
    return lines


def _line_of_memory(memory: dict[str, Any]) -> str:
    parts = [
        f"file {_megabytes(memory['file'])}",
        f"tokens {_megabytes(memory['tokens'])} ({memory['kv']})",
        f"working space about {_megabytes(memory['compute'])}",
    ]
    line = f"{_megabytes(memory['total'])}: {', '.join(parts)}"
    if memory["repack"]:
        line += f"; with repack up to {_megabytes(memory['repack'])} more"
    return line


def _lines_of_chat(chat: dict[str, Any], asks: dict[str, Any]) -> list[tuple[str, str]]:
    source = {
        "file": "the file's chat template",
        "profile": "the profile's own",
        "ours": "for models without a chat template",
    }[chat["source"]]
    lines = [
        ("chat format", f"{chat['family']} ({source}); the system text is {chat['system']}"),
        ("frame", f"{chat['before']!r} SYSTEM {chat['between']!r} USER {chat['after']!r}"),
        ("thinking", f"{chat['thinking']}: {chat['thinking_handled']}"),
    ]
    for label, texts in asks["labels"].items():
        means = "it holds" if label == asks["positive"] else "it does not hold"
        written = f", written {' '.join(map(repr, texts))}" if texts else ""
        lines.append((f"answer {label}", means + written))
    length = "" if asks["tokens"] is None else f" ({asks['tokens']} tokens)"
    prompt = asks["prompt"].split("\n")
    return [*lines, (f"asks{length}", repr(prompt[0])), *(("", repr(line)) for line in prompt[1:])]


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
