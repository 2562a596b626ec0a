"""Profiles: the published prompt of a model that was trained for the job, as data.

A profile takes the place of the templates that a metric asks with, and where the model needs one, of its chat
template. What it says is part of every cache key: its templates by their messages, its frame by the judge's
identity.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import Field, JsonValue

from ragjudge.errors import UnknownNameError
from ragjudge.records import Record

_FILE = re.compile(r"(?P<name>[a-z0-9][a-z0-9._-]*?)\.(?P<version>\d+)\.yaml")


class Frame(Record):
    """What stands around the text of a question, for models whose own chat template cannot print it.

    Attributes:
        before: Text before it.
        after: Text after it; the reply comes next.
    """

    before: str
    after: str


class Profile(Record):
    """One way of asking.

    Attributes:
        name: What refers to it.
        version: Raised with every change; old versions stay, so that old caches stay good.
        about: The models it is for.
        source: The publication that the prompts were taken from.
        frame: Takes the place of the chat template; None = the file's own is used.
        reply: What every reply begins with; the verdict is read behind it.
        delimiters: Texts with which the prompts mark the borders of data. In data they are broken up.
        questions: For each template of ours that it can take the place of, by name: ``system``, ``shared``,
            ``own`` and ``labels`` as in a template file.
    """

    name: str
    version: int = Field(ge=1)
    about: str
    source: str
    frame: Frame | None = None
    reply: str = ""
    delimiters: tuple[str, ...] = ()
    questions: dict[str, dict[str, JsonValue]]

    @property
    def identity(self) -> str:
        """What stands for it in a judge's identity."""
        return f"{self.name}@{self.version}"

    def harmless(self, text: str) -> str:
        """Return a text of data in which no delimiter is left: a blank comes after its first character."""
        for delimiter in self.delimiters:
            text = text.replace(delimiter, f"{delimiter[0]} {delimiter[1:]}")
        return text


@cache
def profile_versions() -> Mapping[str, tuple[int, ...]]:
    """Return the versions of every profile, in rising order."""
    versions: dict[str, list[int]] = {}
    for entry in files("ragjudge.prompts").joinpath("profiles").iterdir():
        match = _FILE.fullmatch(entry.name)
        if match:
            versions.setdefault(match["name"], []).append(int(match["version"]))
    return {name: tuple(sorted(numbers)) for name, numbers in sorted(versions.items())}


@cache
def load_profile(name: str) -> Profile:
    """Load a profile.

    Args:
        name: Its name, which means its newest version, or ``name@version``.

    Raises:
        UnknownNameError: There is no such profile or version.
    """
    import yaml

    known = profile_versions()
    base, _, version = name.partition("@")
    if base not in known:
        raise UnknownNameError("profile", base, known)
    if version and version not in map(str, known[base]):
        raise UnknownNameError(f"version of profile {base}", version, map(str, known[base]))
    file = f"{base}.{version or known[base][-1]}.yaml"
    path = files("ragjudge.prompts").joinpath("profiles").joinpath(file)
    data: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    return Profile.model_validate(data)
