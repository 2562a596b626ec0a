"""From the suffix of a file to the format in which a judge's check is written into it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from ragjudge.records import Agreement
from ragjudge.reports.agreement_markdown import agreement_markdown
from ragjudge.reports.agreement_page import agreement_page
from ragjudge.reports.registry import write_text


def agreement_json(result: Agreement) -> str:
    """Return a check as one JSON document, indented, but each row in a line of its own."""
    data = result.model_dump(mode="json")
    rows = data.pop("rows")

    def written(ascii_only: bool) -> str:
        head = json.dumps(data, ensure_ascii=ascii_only, indent=2, allow_nan=False).removesuffix("\n}")
        lines = ",\n".join(f"    {json.dumps(row, ensure_ascii=ascii_only, allow_nan=False)}" for row in rows)
        return f'{head},\n  "rows": [\n{lines}\n  ]\n}}\n'

    text = written(False)
    # JSON can name half of a surrogate pair, UTF-8 cannot hold it.
    return text if _is_utf8(text) else written(True)


def _is_utf8(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


AGREEMENT_FORMATS: dict[str, Callable[[Agreement], str]] = {
    ".html": agreement_page,
    ".json": agreement_json,
    ".md": agreement_markdown,
}
"""Suffix, in lower case → the function that renders a check for it."""


def write_agreement(result: Agreement, path: Path) -> None:
    """Write a check in the format that the suffix names, which has been checked.

    Raises:
        UsageError: The file cannot be written.
    """
    write_text(AGREEMENT_FORMATS[path.suffix.lower()](result), path)
