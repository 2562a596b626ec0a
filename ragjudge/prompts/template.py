"""Templates: the wording of every question, as versioned YAML files. No prompt text lives in Python."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, Field, model_validator

from ragjudge.errors import UnknownNameError
from ragjudge.records import Check, Prompt, Record

if TYPE_CHECKING:
    from jinja2 import Template as JinjaTemplate

_FILE = re.compile(r"(?P<name>[a-z_]+)\.(?P<version>\d+)\.yaml")


class Template(Record):
    """One question's wording, and how it is answered.

    Slots are filled by Jinja: ``chunks`` (a list of texts), ``question``, ``claim``, ``expected``,
    ``output``, and ``definition``.

    Attributes:
        name: What refers to it.
        version: Raised with every change of wording; old versions stay, so that old caches stay good.
        definition: What counts, in one phrase; the holistic template of the same metric repeats it.
        definition_of: Name of the template whose current definition this one repeats.
        system: Standing instruction, the same everywhere so that it is decoded once.
        shared: What many calls have in common, the widest-shared part first.
        own: What is one call's alone.
        labels: Answers and what they mean: 1 = it holds, 0 = it does not. None for an open prompt.
        grammar: GBNF of an open prompt's answer. None for a check.
        max_tokens: Most tokens of an open prompt's answer.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    version: int
    definition: str = ""
    definition_of: str | None = None
    system: str
    shared: str
    own: str
    labels: dict[str, int] | None = None
    grammar: str | None = None
    max_tokens: int = Field(default=256, gt=0)

    @model_validator(mode="after")
    def _is_one_kind(self) -> Template:
        if (self.labels is None) == (self.grammar is None):
            raise ValueError("a template has either labels or a grammar")
        if self.labels is not None and sorted(self.labels.values()) != [0, 1]:
            raise ValueError("labels are two answers, one of value 1 and one of value 0")
        return self

    def check(self, claim: str, slots: Mapping[str, object]) -> Check:
        """Fill the template in for one closed question.

        Args:
            claim: The text under judgement; fills the slot ``claim``.
            slots: The other slots.
        """
        labels = self.labels or {}
        return Check(
            template=self.name,
            version=self.version,
            system=self.system,
            shared=self._shared(slots),
            own=_compiled(self.own).render(slots, claim=claim, definition=self._definition()),
            labels=tuple(labels),
            positive=next(label for label, value in labels.items() if value == 1),
            claim=claim,
        )

    def prompt(self, slots: Mapping[str, object]) -> Prompt:
        """Fill the template in for one open question."""
        return Prompt(
            template=self.name,
            version=self.version,
            system=self.system,
            shared=self._shared(slots),
            own=_compiled(self.own).render(slots, definition=self._definition()),
            grammar=self.grammar or "",
            max_tokens=self.max_tokens,
        )

    def _definition(self) -> str:
        return self.definition if self.definition_of is None else load_template(self.definition_of).definition

    def _shared(self, slots: Mapping[str, object]) -> str:
        chunks = slots.get("chunks") or ()
        question = slots.get("question")
        others = {key: value for key, value in slots.items() if key not in ("chunks", "question")}
        if others:
            return _compiled(self.shared).render(slots, definition=self._definition())
        return _render_shared(self.shared, self._definition(), tuple(_texts(chunks)), _text(question))


def _texts(chunks: object) -> Sequence[str]:
    return chunks if isinstance(chunks, (list, tuple)) else ()


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


@lru_cache(maxsize=256)
def _render_shared(source: str, definition: str, chunks: tuple[str, ...], question: str | None) -> str:
    """Render a shared part once for all the checks that have it in common."""
    rendered: str = _compiled(source).render(chunks=chunks, question=question, definition=definition)
    return rendered


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
