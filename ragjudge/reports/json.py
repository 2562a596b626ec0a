"""The report as JSON, and its rows as JSON lines. The same report always gives the same bytes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ragjudge.errors import DataError
from ragjudge.records import SCHEMA_VERSION, Report, Row

# JSON allows these raw inside strings, but many readers of lines take them for the end of one.
_LINE_BREAKS = {"\u0085": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def render(report: Report) -> str:
    """Return the whole report as one JSON document: indented, but each row in a line of its own.

    A row in one line is what people search and compare by line; and Python's encoder writes it ten times
    as fast as an indented one.
    """
    data = report.to_json()
    rows, coverage, calibrations = data.pop("rows"), data.pop("coverage"), data.pop("calibrations")

    def written(ascii_only: bool) -> str:
        head = _dumps(data, ascii_only, indent=2).removesuffix("\n}")
        lines = ",\n".join(f"    {_dumps(row, ascii_only)}" for row in rows)
        listed = f"[\n{lines}\n  ]" if rows else "[]"
        tail = f'"coverage": {_dumps(coverage, ascii_only)}'
        if calibrations:  # hundreds of numbers each, so behind the rows and in one line
            tail = f'"calibrations": {_dumps(calibrations, ascii_only)},\n  {tail}'
        return f'{head},\n  "rows": {listed},\n  {tail}\n}}'

    return _document(written)


def render_rows(report: Report) -> str:
    """Return the rows of the report, one JSON document a line, in input order."""
    return "".join(map(render_row, report.rows))


def render_row(row: Row) -> str:
    """Return one row as one JSON document with its line end."""
    data = row.to_json()
    return _document(lambda ascii_only: _dumps(data, ascii_only))


def read_report(path: Path) -> Report:
    """Read a report that was written as ``.json``.

    Args:
        path: The file.

    Returns:
        The report, equal to the one that was written.

    Raises:
        DataError: The file is missing, is no JSON, or holds no report of this schema version.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8: {error.reason} at byte {error.start}.") from error
    except OSError as error:
        raise DataError(f"{path}: the report cannot be read: {error.strerror or error}.") from error
    try:
        data = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}: broken JSON at line {error.lineno}: {error.msg}.") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: no JSON that a report could be: {error}.") from error
    return _report_from(data, path)


def _report_from(data: object, path: Path) -> Report:
    if not isinstance(data, dict) or "schema_version" not in data:
        raise DataError(f"{path}: no report: expected a JSON object with `schema_version`.")
    if data["schema_version"] != SCHEMA_VERSION:
        raise DataError(
            f"{path}: a report of schema version {data['schema_version']!r}; "
            f"this ragjudge reads version {SCHEMA_VERSION}."
        )
    fields = {name: value for name, value in data.items() if name != "coverage"}  # derived, so not read
    try:
        return Report.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the report"
        raise DataError(f"{path}: no report: {place}: {first['msg']}.") from error


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _document(written: Callable[[bool], str]) -> str:
    """Return one JSON document with its line end, readable where UTF-8 can hold it.

    Args:
        written: Writes the document, in ASCII alone when it is told to.
    """
    text = written(False)
    if not _is_utf8(text):  # a lone surrogate: JSON can name it, UTF-8 cannot hold it
        text = written(True)
    for character, escape in _LINE_BREAKS.items():
        text = text.replace(character, escape)
    return text + "\n"


def _dumps(data: Any, ascii_only: bool, indent: int | None = None) -> str:
    return json.dumps(data, ensure_ascii=ascii_only, indent=indent, allow_nan=False)


def _is_utf8(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
