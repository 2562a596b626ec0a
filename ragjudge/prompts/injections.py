"""Texts that try to speak to the judge: a set to probe judges with. None of them is ever part of a prompt."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any, Literal

from ragjudge.records import Record

Aim = Literal["accept", "reject", "invert", "score", "derail"]


class Injection(Record):
    """One text of the probe set.

    Attributes:
        id: Its name.
        kind: The trick: ``order``, ``authority``, ``pressure``, ``forgery``, ``delimiter``, ``format``,
            ``hiding``, ``language``, ``framing``, ``flooding``.
        place: Where it would stand: in an answer (``output``) or in a retrieved ``chunk``.
        aim: What it wants of the judge: to ``accept`` or ``reject`` what does not hold, to ``invert`` its
            verdicts, to give a ``score``, or to be led away (``derail``).
        text: The text.
    """

    id: str
    kind: str
    place: Literal["output", "chunk"]
    aim: Aim
    text: str


@cache
def load_injections() -> tuple[Injection, ...]:
    """Return the probe set, in the order of its file.

    To probe a judge, append a probe's text to an answer that is not supported, or to a chunk, and compare
    the verdicts with and without it.
    """
    import yaml

    path = files("ragjudge.prompts").joinpath("data").joinpath("injections.yaml")
    data: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    return tuple(Injection.model_validate(probe) for probe in data["probes"])
