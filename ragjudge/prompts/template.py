"""Templates: the wording of every question, as versioned YAML files. No prompt text lives in Python."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from pydantic import Field, JsonValue, model_validator

from ragjudge.errors import UnknownNameError
from ragjudge.records import Check, Prompt, Record, Segment

if TYPE_CHECKING:
    from jinja2 import Template as JinjaTemplate

_FILE = re.compile(r"(?P<name>[a-z_]+)\.(?P<version>\d+)\.yaml")


class SharedPart(Record):
    """The part of a question that many calls have in common.

    Attributes:
        head: What comes before the chunks.
        chunk: One chunk: slots ``chunk``, ``number`` (from 1) and ``total``. Empty = no chunks are shown.
        tail: What comes after the chunks.
    """

    head: str = ""
    chunk: str = ""
    tail: str = ""


class ExcerptSize(Record):
    """How much of the contexts a question shows; see `text.excerpt.Excerpt`.

    Attributes:
        sentences: Most sentences of an excerpt.
        whole: Contexts of at most so many sentences are shown whole.
    """

    sentences: int = Field(gt=0)
    whole: int = Field(ge=0)


class Template(Record):
    """One question's wording, and how it is answered.

    Slots are filled by Jinja: ``question``, ``claim``, ``expected``, ``output`` and ``definition``, and for
    each chunk those of `SharedPart`.

    Attributes:
        name: What refers to it.
        version: Raised with every change of wording; old versions stay, so that old caches stay good.
        definition: What counts, in one phrase; the holistic template of the same metric repeats it.
        definition_of: Name of the template whose current definition this one repeats.
        system: Standing instruction, the same everywhere so that it is decoded once.
        excerpt: How much of the contexts is shown with a claim; None = all.
        shared: What many calls have in common, the widest-shared part first.
        own: What is one call's alone.
        labels: Answers and what they mean: 1 = it holds, 0 = it does not. None for an open prompt.
        grammar: GBNF of an open prompt's answer. None for a check.
        reply_schema: The same as JSON Schema. None when the answer is no JSON.
        max_tokens: Most tokens of an open prompt's answer.
    """

    name: str
    version: int
    definition: str = ""
    definition_of: str | None = None
    system: str
    excerpt: ExcerptSize | None = None
    shared: SharedPart
    own: str
    labels: dict[str, int] | None = None
    grammar: str | None = None
    reply_schema: dict[str, JsonValue] | None = None
    max_tokens: int = Field(default=256, gt=0)

    @model_validator(mode="after")
    def _is_one_kind(self) -> Template:
        if (self.labels is None) == (self.grammar is None):
            raise ValueError("a template has either labels or a grammar")
        if self.labels is not None and sorted(self.labels.values()) != [0, 1]:
            raise ValueError("labels are two answers, one of value 1 and one of value 0")
        return self

    def check(self, claim: str, slots: Mapping[str, str], chunks: Sequence[str] = ()) -> Check:
        """Fill the template in for one closed question.

        Args:
            claim: The text under judgement; fills the slot ``claim``.
            slots: The other slots.
            chunks: The chunks, in rank order.
        """
        labels = self.labels or {}
        given = tuple(sorted(slots.items()))
        filled = (*given, ("definition", self._definition))
        shared, segments = _render_shared(self.shared, filled, tuple(chunks))
        return Check(
            template=self.name,
            version=self.version,
            system=self.system,
            shared=shared,
            own=_own(self.own, filled, claim),
            labels=tuple(labels),
            positive=next(label for label, value in labels.items() if value == 1),
            claim=claim,
            segments=segments,
            slots=given,
        )

    def prompt(self, slots: Mapping[str, str | None], chunks: Sequence[str] = ()) -> Prompt:
        """Fill the template in for one open question.

        Args:
            slots: The slots.
            chunks: The chunks, in rank order.
        """
        filled = (*sorted(slots.items()), ("definition", self._definition))
        shared, _ = _render_shared(self.shared, filled, tuple(chunks))
        return Prompt(
            template=self.name,
            version=self.version,
            system=self.system,
            shared=shared,
            own=_compiled(self.own).render(slots, definition=self._definition),
            grammar=self.grammar or "",
            max_tokens=self.max_tokens,
            reply_schema="" if self.reply_schema is None else json.dumps(self.reply_schema),
        )

    @cached_property
    def _definition(self) -> str:
        return self.definition if self.definition_of is None else load_template(self.definition_of).definition


@lru_cache(maxsize=256)
def _render_shared(
    part: SharedPart, slots: tuple[tuple[str, str | None], ...], chunks: tuple[str, ...]
) -> tuple[str, tuple[Segment, ...]]:
    """Render a shared part once for all the calls that have it in common."""
    text = _rendered(part.head, slots)
    segments = []
    for number, chunk in enumerate(chunks if part.chunk else (), start=1):
        before, after = _around_chunk(part.chunk, slots, number, len(chunks))
        start = len(text)
        text += before + chunk + after
        segments.append(Segment(start, start + len(before), start + len(before) + len(chunk), len(text)))
    return text + _rendered(part.tail, slots), tuple(segments)


@lru_cache(maxsize=256)
def _rendered(source: str, slots: tuple[tuple[str, str | None], ...]) -> str:
    """Fill in what does not change from one excerpt to the next."""
    return _compiled(source).render(dict(slots)) if source else ""


def _own(source: str, slots: tuple[tuple[str, str | None], ...], claim: str) -> str:
    """Fill in an own part; what stands around the claim is rendered once for all claims of a sample."""
    if any("\0" in (value or "") for _, value in slots):
        return _compiled(source).render(dict(slots), claim=claim)
    return _around_claim(source, slots).replace("\0", claim)


@lru_cache(maxsize=256)
def _around_claim(source: str, slots: tuple[tuple[str, str | None], ...]) -> str:
    """Return an own part with a stand-in for the claim."""
    return _compiled(source).render(dict(slots), claim="\0")


@lru_cache(maxsize=256)
def _around_chunk(
    source: str, slots: tuple[tuple[str, str | None], ...], number: int, total: int
) -> tuple[str, str]:
    """Return what stands before and after a chunk in its line."""
    # The chunk's place is found with a stand-in, since a chunk may hold anything.
    line = _compiled(source).render(dict(slots), chunk="\0", number=number, total=total)
    before, after = line.split("\0")
    return before, after


@cache
def _compiled(source: str) -> JinjaTemplate:
    from jinja2 import Environment, StrictUndefined

    # The files are ours; data only ever fills slots and is never a template itself.
    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)  # noqa: S701
    return environment.from_string(source)


@cache
def template_versions() -> Mapping[str, tuple[int, ...]]:
    """Return the versions of every template, in rising order."""
    versions: dict[str, list[int]] = {}
    for entry in files("ragjudge.prompts").joinpath("templates").iterdir():
        match = _FILE.fullmatch(entry.name)
        if match:
            versions.setdefault(match["name"], []).append(int(match["version"]))
    return {name: tuple(sorted(numbers)) for name, numbers in sorted(versions.items())}


@cache
def load_template(name: str, version: int | None = None) -> Template:
    """Load a template.

    Args:
        name: Its name.
        version: Its version; None = the newest.

    Raises:
        UnknownNameError: There is no such template or version.
    """
    import yaml

    known = template_versions()
    if name not in known:
        raise UnknownNameError("template", name, known)
    if version is None:
        version = known[name][-1]
    if version not in known[name]:
        raise UnknownNameError(f"version of template {name}", str(version), map(str, known[name]))
    path = files("ragjudge.prompts").joinpath("templates").joinpath(f"{name}.{version}.yaml")
    data: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    return Template.model_validate(data)
