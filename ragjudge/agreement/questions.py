"""From a labelled row to the question that a graded run would ask about it, key and all."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from ragjudge.agreement.labels import LabelledRow, Task
from ragjudge.errors import ConfigError, UnknownNameError, UsageError
from ragjudge.metrics.support import asked_with, support_check
from ragjudge.prompts.template import Template, load_template
from ragjudge.records import Check
from ragjudge.text.claims import claims
from ragjudge.text.languages import language_name
from ragjudge.text.splitting import Splitting

_WHERE = "--template"
_DEFAULT_LANGUAGE = "english"


def check_of(row: LabelledRow, template: str | None = None) -> Check:
    """Return the question about a labelled row.

    A claim is asked about as it stands. A passage is asked about as a chunk, or where it is one sentence, as
    context relevance asks about sentences.

    Args:
        row: The row.
        template: ``name`` or ``name@version``; None = the newest of the template that the metrics use.

    Raises:
        UnknownNameError: There is no such template or version.
        UsageError: The version is no number.
        ConfigError: The template asks no question about such a row.
    """
    slots = {"question": row.question or ""}
    splitting = Splitting(_splitter_language(row.language))
    named = None if template is None else template_of(template)
    if named is not None:
        _require_fit(named, row.task)
    if row.task == "support":
        if named is None:
            return support_check(row.claim, row.contexts, row.question, splitting)
        return asked_with(named, row.claim, row.contexts, row.question, splitting)
    passage = "\n\n".join(row.contexts)
    sentence = _only_sentence(passage, row.language)
    if named is None:
        named = load_template("chunk_relevance" if sentence is None else "sentence_relevance")
    if named.shared.chunk:
        return named.check(passage, slots, row.contexts)
    return named.check(sentence or passage, slots)


def template_of(reference: str) -> Template:
    """Return the template that ``name`` or ``name@version`` means.

    Raises:
        UnknownNameError: There is no such template or version.
        UsageError: The version is no number.
    """
    name, at, version = reference.partition("@")
    if at and not (version.isascii() and version.isdigit()):
        raise UsageError(f"{_WHERE} {reference!r}: {version!r} is no version; accepted: NAME or NAME@NUMBER.")
    return load_template(name, int(version) if at else None)


def require_one_question(tasks: Sequence[Task], template: str) -> None:
    """Refuse one template for rows of two tasks.

    Raises:
        ConfigError: The rows are of both tasks.
    """
    if len(set(tasks)) > 1:
        raise ConfigError(
            f"{_WHERE} {template}: the rows are of two tasks, {' and '.join(sorted(set(tasks)))}, and one "
            f"template asks one question; check them one at a time."
        )


def _require_fit(template: Template, task: Task) -> None:
    name = f"{template.name}@{template.version}"
    if template.labels is None:
        raise ConfigError(
            f"{_WHERE} {name}: an open question, which has no verdict; accepted: a template with labels, "
            f"e.g. {'support' if task == 'support' else 'chunk_relevance'}."
        )
    slots = _slots(template)
    both = {"claim", "chunk"} <= slots
    if both != (task == "support"):
        meant = "claims against documents" if both else "passages or sentences against a question"
        raise ConfigError(f"{_WHERE} {name}: asks about {meant}, and the rows are of {task}.")


@cache
def _slots_of(text: str) -> frozenset[str]:
    from jinja2 import Environment, meta

    return frozenset(meta.find_undeclared_variables(Environment(autoescape=True).parse(text)))


def _slots(template: Template) -> frozenset[str]:
    parts = (template.shared.head, template.shared.chunk, template.shared.tail, template.own)
    return frozenset().union(*map(_slots_of, parts))


def _only_sentence(passage: str, language: str | None) -> str | None:
    """Return a passage of one sentence as context relevance asks about it; None for more than one."""
    found = claims(passage, _splitter_language(language))
    return (found[0].judge_text or found[0].text) if len(found) == 1 else None


def _splitter_language(language: str | None) -> str:
    """Return the splitter's name of a language; one that it has no parameters for needs none."""
    try:
        return _DEFAULT_LANGUAGE if language is None else language_name(language)
    except UnknownNameError:
        return _DEFAULT_LANGUAGE
