"""Which column of a row is which field of a sample. The only place that knows their foreign names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ragjudge.datasets.chunks import read_contexts
from ragjudge.datasets.values import describe, plain_json, quoting_hint, text_of
from ragjudge.datasets.written_lists import list_or_text
from ragjudge.errors import DataError
from ragjudge.records import FIELDS, Sample
from ragjudge.text.languages import language_name

if TYPE_CHECKING:
    from pydantic import JsonValue


class Dialect(NamedTuple):
    """The column names of one tool.

    Attributes:
        tool: Whose names they are.
        input: Names of the question.
        output: Names of the answer.
        contexts: Names of the retrieved chunks.
        expected: Names of the reference answer.
        other_context: Names that mean retrieved chunks elsewhere but something else here. In a row with
            one of this dialect's own `contexts` they are metadata.
    """

    tool: str
    input: tuple[str, ...] = ()
    output: tuple[str, ...] = ()
    contexts: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()
    other_context: tuple[str, ...] = ()


DIALECTS = (
    Dialect(
        "ragjudge",
        input=("input", "question", "query"),
        output=("output", "answer", "response"),
        contexts=("contexts", "context"),
        expected=("expected", "reference", "ground_truth"),
    ),
    Dialect(
        "Ragas",
        input=("user_input",),
        output=("response",),
        contexts=("retrieved_contexts",),
        expected=("reference",),
    ),
    Dialect(
        "Ragas 0.1",
        input=("question",),
        output=("answer",),
        contexts=("contexts",),
        expected=("ground_truth", "ground_truths"),
    ),
    Dialect(
        "DeepEval",
        input=("input",),
        output=("actual_output", "actualOutput"),
        contexts=("retrieval_context", "retrievalContext"),
        expected=("expected_output", "expectedOutput"),
        # There `context` is what an ideal retriever would have found.
        other_context=("context",),
    ),
    Dialect("promptfoo", input=("query",), output=("providerOutput",), contexts=("context",)),
    Dialect("autoevals", input=("input",), output=("output",), contexts=("context",), expected=("expected",)),
    Dialect(
        "RAGChecker",
        input=("query",),
        output=("response",),
        contexts=("retrieved_context",),
        expected=("gt_answer",),
    ),
    Dialect("TruLens", input=("query",), contexts=("context",), expected=("expected_response",)),
)

ID_NAMES = ("id", "query_id")
LANGUAGE_NAME = "language"
RESULT_NAMES = ("provider", "passed", "error", "scores")
"""What a row of a report has beside its texts. A row with all of them is one; elsewhere they are metadata."""

ACCEPTED: dict[str, tuple[str, ...]] = {
    field: tuple(dict.fromkeys(name for dialect in DIALECTS for name in getattr(dialect, field)))
    for field in FIELDS
}
"""For each field of a sample the column names it may have, ragjudge's own first."""

LIST_COLUMNS = frozenset({*ACCEPTED["contexts"], "ground_truths"})
"""Columns that may hold lists, and so also texts that spell one out."""

_WITH_ASIDES = tuple(dialect for dialect in DIALECTS if dialect.other_context)
FIELD_OF = {name: field for field, names in ACCEPTED.items() for name in names}
"""The field of a sample that each column name means."""


class Given(NamedTuple):
    """One field as a row gave it."""

    name: str
    value: Any


def sample_of_columns(columns: Mapping[str, Any], *, where: str, index: int) -> Sample:
    """Make a sample of a row.

    A value of null is not given, nor is a blank language. What is no field goes to the metadata, when JSON
    has a word for it; of the row of a report the results go nowhere.

    Args:
        columns: The row's columns, see `columns_of`.
        where: The place for messages, e.g. ``rows.jsonl, line 3``.
        index: Number of the row, from 1; a row without an id is called ``row-<index>``.

    Raises:
        DataError: A column has a value of a wrong type, or two names of one field differ.
        UnknownNameError: The splitter does not know the row's language.
    """
    fields = read_fields(columns, where=where)
    id_name = next((name for name in ID_NAMES if columns.get(name) is not None), None)
    results = _results(columns)
    read = {LANGUAGE_NAME, id_name, *results}
    used = {name for name in columns if name in FIELD_OF} - asides_of(columns) | read
    metadata = _metadata({name: value for name, value in columns.items() if name not in used}, where)
    return Sample(
        id=f"row-{index}" if id_name is None else _id(columns[id_name], f"{where}: {id_name!r}"),
        language=_language(columns.get(LANGUAGE_NAME), f"{where}: {LANGUAGE_NAME!r}"),
        provider=_text_or_none(results.get("provider"), f"{where}: 'provider'"),
        error=_text_or_none(results.get("error"), f"{where}: 'error'"),
        metadata=metadata,
        **fields,
    )


def read_fields(row: Mapping[str, Any], *, where: str) -> dict[str, Any]:
    """Return the fields of a sample that a row gives, each under its own name.

    Raises:
        DataError: A column has a value of a wrong type, or two names of one field differ.
    """
    fields: dict[str, Any] = {}
    for field, given in _given(row).items():
        first, *others = given
        fields[field] = _read(field, first, where)
        for other in others:
            if _read(field, other, where) != fields[field]:
                raise DataError(
                    f"{where}: {first.name!r} and {other.name!r} both mean the sample's {field} and differ; "
                    f"give one of them."
                )
    return fields


def contexts_are_one_text(columns: Mapping[str, Any]) -> bool:
    """Return whether a row gives its contexts as one text rather than as a list of chunks."""
    given = _given(columns).get("contexts", ())
    return bool(given) and all(isinstance(_value(column, ""), str) for column in given)


def _expected(value: Any, what: str) -> str:
    """Return the reference answer; a list of one is accepted because older files have lists."""
    if isinstance(value, (list, tuple)):
        if len(value) != 1:
            raise DataError(
                f"{what} is a list of {len(value)}; accepted: text, or a list of exactly one text."
            )
        return text_of(value[0], f"{what}[0]")
    return text_of(value, what)


_READERS: dict[str, Callable[[Any, str], Any]] = {"contexts": read_contexts, "expected": _expected}


def _read(field: str, column: Given, where: str) -> Any:
    read = _READERS.get(field, text_of)
    return read(_value(column, where), f"{where}: {column.name!r}")


def _value(column: Given, where: str) -> Any:
    if column.name in LIST_COLUMNS and isinstance(column.value, str):
        return list_or_text(column.value, f"{where}: {column.name!r}")
    return column.value


def columns_of(row: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the row's columns, with those under ``vars`` moved up.

    Raises:
        DataError: A name is no text, or is given twice.
    """
    inner = row.get("vars")
    if not isinstance(inner, Mapping):
        inner = {}
    outer = {key: value for key, value in row.items() if key != "vars" or not inner}
    for key in (*outer, *inner):
        if not isinstance(key, str):
            raise DataError(
                f"{where}: the key {key!r} is {describe(key)}; accepted: text.", hint=quoting_hint(key)
            )
        if key in outer and key in inner:
            raise DataError(f"{where}: {key!r} is given twice, in the row and in its 'vars'.")
    return {**outer, **inner}


def asides_of(row: Mapping[str, Any]) -> set[str]:
    """Return the names that in this row's dialect are no retrieved chunks."""
    return {
        name
        for dialect in _WITH_ASIDES
        if any(own in row for own in dialect.contexts)
        for name in dialect.other_context
    }


def _given(row: Mapping[str, Any]) -> dict[str, list[Given]]:
    asides = asides_of(row)
    given: dict[str, list[Given]] = {}
    for name, value in row.items():
        field = FIELD_OF.get(name)
        if field is not None and value is not None and name not in asides:
            given.setdefault(field, []).append(Given(name, value))
    return given


def _id(value: Any, what: str) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{what} is {describe(value)}; accepted: text that is not blank, or a whole number.")
    return text_of(value, what)


def _language(value: Any, what: str) -> str | None:
    name = "" if value is None else text_of(value, what)
    return language_name(name, where=what) if name.strip() else None


def _results(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a row of a report says beside its sample; nothing for any other row."""
    of_report = isinstance(columns.get("scores"), Mapping) and all(name in columns for name in RESULT_NAMES)
    return {name: columns[name] for name in RESULT_NAMES} if of_report else {}


def _text_or_none(value: Any, what: str) -> str | None:
    return None if value is None else text_of(value, what)


def _metadata(rest: Mapping[str, Any], where: str) -> dict[str, JsonValue]:
    kept: dict[str, JsonValue] = {}
    inner = rest.get("metadata")
    columns = [*rest.items()]
    if isinstance(inner, Mapping):
        columns = [*inner.items(), *((name, value) for name, value in rest.items() if name != "metadata")]
    for name, value in columns:
        if name in kept:
            raise DataError(f"{where}: {name!r} is given twice, in the row and in its 'metadata'.")
        try:
            kept[text_of(name, f"{where}: a key")] = plain_json(value, f"{where}: {name!r}")
        except TypeError:
            # Rows of a Python program may carry objects; no judge and no report would ever show them.
            continue
    return kept
