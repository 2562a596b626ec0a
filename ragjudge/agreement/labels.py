"""Labelled rows: what people said about claims and passages, read from files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, JsonValue

from ragjudge.datasets.values import describe, plain_json, quoting_hint, text_of
from ragjudge.datasets.written_lists import list_or_text
from ragjudge.errors import DataError
from ragjudge.records import Record

if TYPE_CHECKING:
    from ragjudge.datasets.readers import Found

Task = Literal["support", "relevance"]
TASKS: tuple[Task, ...] = ("support", "relevance")

LABELS_HELP = (
    "accepted: rows with `context` (or `contexts`), `label` (0 or 1), `claim` for a question of support, "
    "`question` for one of relevance, and optionally `id`, `source`, `task`, `meta`"
)

_FIELDS = ("id", "source", "task", "context", "contexts", "claim", "label", "question", "meta", "metadata")
_LABELS = {
    "1": True,
    "0": False,
    "1.0": True,
    "0.0": False,
    "true": True,
    "false": False,
    "yes": True,
    "no": False,
}
# Chinese, Japanese, Thai and the like: two characters count as a word.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u2e80-\u9fff\uf900-\ufaff]")


class LabelledRow(Record):
    """One question with the answer that people gave.

    Attributes:
        id: Name of the row, unlike all others of its file.
        source: Where it is from; the name of its file when it does not say.
        task: ``support``: do the contexts support the claim? ``relevance``: does the context answer, or
            bear on, the question?
        contexts: The chunks, at least one; exactly one for relevance.
        claim: The claim; empty for relevance.
        label: What people answered.
        question: The question, where there is one; always for relevance.
        metadata: Everything else that the row holds. ``group``, ``lang`` and ``kind`` mean something here.
    """

    id: str
    source: str
    task: Task
    contexts: tuple[str, ...]
    claim: str = ""
    label: bool
    question: str | None = None
    metadata: dict[str, JsonValue] = Field(default_factory=dict)

    @property
    def group(self) -> str:
        """The article or question that rows have in common; rows of one group are not independent."""
        return _text(self.metadata.get("group")) or self.id

    @property
    def language(self) -> str | None:
        """Language of the texts, as the row writes it."""
        return _text(self.metadata.get("lang"))

    @property
    def kind(self) -> str | None:
        """What kind of row it is, e.g. which trap."""
        return _text(self.metadata.get("kind"))

    @property
    def context_words(self) -> int:
        """Words of all chunks together."""
        return sum(map(count_words, self.contexts))


def count_words(text: str) -> int:
    """Count words: what white space parts, and pairs of characters where a script has no white space."""
    spaced, characters = _UNSPACED.subn(" ", text)
    return len(spaced.split()) + (characters + 1) // 2


def read_labels(paths: Sequence[Path]) -> list[LabelledRow]:
    """Read labelled rows from ``.jsonl``, ``.json`` or ``.csv`` files, in order.

    Raises:
        DataError: A file cannot be read, a row is no labelled row, or two rows of a file have the same id.
    """
    return [row for path in paths for row in read_label_file(path)]


def read_label_file(path: Path) -> list[LabelledRow]:
    """Read the labelled rows of one file. See `read_labels`."""
    from ragjudge.datasets.readers import read_rows

    rows: list[LabelledRow] = []
    places: dict[str, str] = {}
    for found in read_rows(path):
        row = labelled_row(found, source=path.stem, index=len(rows) + 1)
        if row.id in places:
            raise DataError(
                f"{found.where}: the id {row.id!r} is taken by {places[row.id]}; ids must differ."
            )
        places[row.id] = found.where
        rows.append(row)
    return rows


def labelled_row(found: Found, *, source: str, index: int) -> LabelledRow:
    """Make a labelled row of a row of a file. What is no field of it goes to the metadata.

    Args:
        found: The row and its place.
        source: The source of a row that names none.
        index: Number of the row, from 1; a row without an id is called ``row-<index>``.

    Raises:
        DataError: A field is missing or is something else than it must be.
    """
    where = found.where
    given = {name: value for name, value in found.row.items() if value is not None}
    claim = _field(given, "claim", where) or ""
    question = _field(given, "question", where)
    task = _task(given.get("task"), claim, f"{where}: 'task'")
    contexts = _contexts(given, where)
    if task == "support" and not claim.strip():
        raise DataError(f"{where}: a row of support without a `claim`; {LABELS_HELP}.")
    if task == "relevance" and not (question or "").strip():
        raise DataError(f"{where}: a row of relevance without a `question`; {LABELS_HELP}.")
    if task == "relevance" and len(contexts) != 1:
        raise DataError(
            f"{where}: a row of relevance with {len(contexts)} chunks; accepted: one chunk, since each has a "
            f"label of its own."
        )
    if "label" not in given:
        raise DataError(f"{where}: the row has no `label`; {LABELS_HELP}.")
    return LabelledRow(
        id=read_id(given.get("id", f"row-{index}"), f"{where}: 'id'"),
        source=_field(given, "source", where) or source,
        task=task,
        contexts=contexts,
        claim=claim,
        label=read_label(given["label"], f"{where}: 'label'"),
        question=question,
        metadata=_metadata(given, where),
    )


def read_label(value: object, what: str) -> bool:
    """Return a label.

    Args:
        value: 1, 0, true, false, or one of these or ``yes`` and ``no`` as text.
        what: The place and name for the message.

    Raises:
        DataError: It is something else.
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)) and value in (0, 1):
        return bool(value)
    if isinstance(value, str) and value.strip().lower() in _LABELS:
        return _LABELS[value.strip().lower()]
    raise DataError(f"{what} is {describe(value)}; accepted: 1, 0, true, false, yes or no.")


def read_id(value: object, what: str) -> str:
    """Return the name of a row.

    Raises:
        DataError: It is neither text nor a whole number.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{what} is {describe(value)}; accepted: text that is not blank, or a whole number.")
    return text_of(value, what)


def _field(given: Mapping[str, Any], name: str, where: str) -> str | None:
    return text_of(given[name], f"{where}: {name!r}") if name in given else None


def _task(value: object, claim: str, what: str) -> Task:
    if value is None:
        return "support" if claim.strip() else "relevance"
    for task in TASKS:
        if value == task:
            return task
    raise DataError(f"{what} is {describe(value)}; accepted: {', '.join(TASKS)}.")


def _contexts(given: Mapping[str, Any], where: str) -> tuple[str, ...]:
    names = [name for name in ("context", "contexts") if name in given]
    if not names:
        raise DataError(f"{where}: the row has no `context`; {LABELS_HELP}.")
    if len(names) == 2:
        raise DataError(f"{where}: 'context' and 'contexts' are both given; give one of them.")
    value, what = given[names[0]], f"{where}: {names[0]!r}"
    if isinstance(value, str):
        value = list_or_text(value, what)
    if isinstance(value, (list, tuple)):
        chunks = tuple(text_of(chunk, f"{what}[{rank}]") for rank, chunk in enumerate(value))
    elif isinstance(value, str):
        chunks = (text_of(value, what),)
    else:
        raise DataError(
            f"{what} is {describe(value)}; accepted: a text (one chunk) or a list of texts.",
            hint=quoting_hint(value),
        )
    shown = tuple(chunk for chunk in chunks if chunk.strip())
    if not shown:
        raise DataError(f"{what} is blank; accepted: at least one chunk with text.")
    return shown


def _metadata(given: Mapping[str, Any], where: str) -> dict[str, JsonValue]:
    kept: dict[str, JsonValue] = {}
    for name in ("meta", "metadata"):
        inner = given.get(name, {})
        if not isinstance(inner, Mapping):
            raise DataError(f"{where}: {name!r} is {describe(inner)}; accepted: an object.")
        for key, value in inner.items():
            kept[key] = plain_json(value, f"{where}: {name}.{key}")
    for name, value in given.items():
        if name in _FIELDS:
            continue
        if name in kept:
            raise DataError(f"{where}: {name!r} is given twice, in the row and in its 'meta'.")
        kept[name] = plain_json(value, f"{where}: {name!r}")
    return kept


def _text(value: JsonValue) -> str | None:
    """Return a word of the metadata; a number is one too."""
    if value is None or isinstance(value, (bool, list, dict)):
        return None
    return str(value).strip() or None
