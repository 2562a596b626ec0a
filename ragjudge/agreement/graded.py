"""Graded reports held against labels that people gave to their rows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from ragjudge.agreement.figures import JudgedRow
from ragjudge.agreement.labels import count_words, read_id, read_label
from ragjudge.datasets.readers import Found, read_rows
from ragjudge.datasets.values import text_of
from ragjudge.errors import DataError, UnknownNameError, UsageError
from ragjudge.records import JudgeInfo, Row, Score

_LABEL = "label"


@dataclass(frozen=True)
class Graded:
    """The rows of graded reports that have a label.

    Attributes:
        rows: The rows, each with its score as P and with passed as the decision.
        judges: The judges that the reports name; rows alone (``.jsonl``) name none.
        threshold: The threshold of all rows; None when they have different ones.
        notes: What was left out, in sentences.
    """

    rows: tuple[JudgedRow, ...]
    judges: tuple[JudgeInfo, ...]
    threshold: float | None
    notes: tuple[str, ...] = ()


class _Label(NamedTuple):
    where: str
    value: bool


@dataclass
class _Labels:
    """Labels by id, or by id and provider where a file names one."""

    path: Path | None = None
    found: dict[tuple[str, str | None], _Label] = field(default_factory=dict)
    used: set[tuple[str, str | None]] = field(default_factory=set)


def is_graded(path: Path) -> bool:
    """Say whether a file holds rows of a graded report.

    Raises:
        DataError: The file cannot be read.
    """
    return "scores" in next(iter(read_rows(path))).row


def read_graded(
    paths: Sequence[Path],
    names: Sequence[str],
    *,
    labels: Path | None = None,
    score: str | None = None,
    limit: int | None = None,
    max_words: int | None = None,
) -> Graded:
    """Read graded reports (``.json``) or rows of them (``.jsonl``), and the labels of their rows.

    A row's label stands in a file of its own, or in the row itself under ``label``. Without such a file it is
    also found in the metadata, where the column of a graded data file is; but not for an output that a
    provider produced, since it was not there when the label was given.

    Args:
        paths: The reports.
        names: A name for each.
        labels: A file of rows with ``id`` and ``label``, and ``provider`` where ids alone are not unique.
        score: The score that the labels are about; None = the only one there is.
        limit: Most labelled rows of each report.
        max_words: Most words that the contexts of a row may have.

    Raises:
        DataError: A file cannot be read, is no report, or a label belongs to no row.
        UnknownNameError: There is no such score.
        UsageError: The score is not named and there are several.
    """
    given = _read_labels(labels)
    rows: list[JudgedRow] = []
    judges: dict[str, JudgeInfo] = {}
    thresholds: set[float] = set()
    unlabelled = long = late = 0
    for path, name in zip(paths, names, strict=True):
        found = [_row(each, with_metadata=labels is None) for each in read_rows(path)]
        judges |= {judge.fingerprint: judge for judge in _judges(path)}
        wanted = _score_name([row for _, row, _ in found], score, path)
        kept = 0
        ids = Counter(row.id for _, row, _ in found)
        for where, row, own in found:
            label = _label_of(row, ids, given, where)
            if label is not None and own is not None:
                raise DataError(f"{where}: the row {row.id!r} has a label of its own and one in {labels}.")
            label = own if label is None else label
            result = row.scores.get(wanted)
            if label is None or result is None:
                unlabelled += 1
                continue
            judged = _judged(row, result, label, name)
            if max_words is not None and judged.words > max_words:
                long += 1
            elif limit is not None and kept >= limit:
                late += 1
            else:
                kept += 1
                rows.append(judged)
                if result.threshold is not None:
                    thresholds.add(result.threshold)
    _require_used(given, paths)
    if not rows:
        raise DataError(
            f"{', '.join(map(str, paths))}: no row has a label; accepted: `label` (0 or 1) in the rows "
            f"themselves, or a file of `id` and `label` named by --labels."
        )
    notes = [
        f"{_rows(number)} left out: {why}."
        for number, why in (
            (unlabelled, "without a label or without the score"),
            (long, f"more than {max_words} words of context"),
            (late, f"each report gives its first {limit}"),
        )
        if number
    ]
    return Graded(
        tuple(rows),
        tuple(judges.values()),
        thresholds.pop() if len(thresholds) == 1 else None,
        tuple(notes),
    )


def _rows(number: int) -> str:
    return "1 row" if number == 1 else f"{number} rows"


def _row(found: Found, *, with_metadata: bool) -> tuple[str, Row, bool | None]:
    """Return the place, the row and its own label, if it has one; see `read_graded`."""
    data = dict(found.row)
    own, name = data.pop(_LABEL, None), _LABEL
    try:
        row = Row.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the row"
        raise DataError(f"{found.where}: no row of a graded report: {place}: {first['msg']}.") from error
    if own is None and with_metadata and row.provider is None:
        own, name = row.metadata.get(_LABEL), f"metadata.{_LABEL}"
    return found.where, row, None if own is None else read_label(own, f"{found.where}: {name!r}")


def _judges(path: Path) -> list[JudgeInfo]:
    if path.suffix.lower() != ".json":
        return []
    data: Any = json.loads(path.read_text(encoding="utf-8-sig"))
    named = data.get("judges", []) if isinstance(data, dict) else []
    try:
        return [JudgeInfo.model_validate(judge) for judge in named]
    except (ValidationError, TypeError) as error:
        raise DataError(f"{path}: no report: its `judges` are no judges.") from error


def _score_name(rows: Sequence[Row], score: str | None, path: Path) -> str:
    known = sorted({name for row in rows for name in row.scores})
    if score is None:
        if len(known) != 1:
            raise UsageError(
                f"{path}: the report has {len(known)} scores, {', '.join(known) or 'none'}; say with --score "
                f"which of them the labels are about."
            )
        return known[0]
    named = score if score in known else score.replace("-", "_")
    if named not in known:
        raise UnknownNameError("score", score, known, where=str(path))
    return named


def _read_labels(path: Path | None) -> _Labels:
    labels = _Labels(path)
    if path is None:
        return labels
    for found in read_rows(path):
        for name in ("id", _LABEL):
            if found.row.get(name) is None:
                raise DataError(
                    f"{found.where}: the row has no `{name}`; accepted: rows with `id` and `label` (0 or 1), "
                    f"and `provider` where the report has one id several times."
                )
        provider = found.row.get("provider")
        key = (
            read_id(found.row["id"], f"{found.where}: 'id'"),
            None if provider is None else text_of(provider, f"{found.where}: 'provider'"),
        )
        if key in labels.found:
            raise DataError(
                f"{found.where}: the id {key[0]!r} has a label already, at {labels.found[key].where}."
            )
        labels.found[key] = _Label(found.where, read_label(found.row[_LABEL], f"{found.where}: {_LABEL!r}"))
    return labels


def _label_of(row: Row, ids: Mapping[str, int], labels: _Labels, where: str) -> bool | None:
    for key in ((row.id, row.provider), (row.id, None)):
        if key not in labels.found:
            continue
        if key[1] is None and ids[row.id] > 1:
            raise DataError(
                f"{labels.found[key].where}: the report has {ids[row.id]} rows {row.id!r} (one is "
                f"at {where}); give a `provider` in each row of labels."
            )
        labels.used.add(key)
        return labels.found[key].value
    return None


def _require_used(labels: _Labels, paths: Sequence[Path]) -> None:
    for key, label in labels.found.items():
        if key not in labels.used:
            provider = f" from provider {key[1]!r}" if key[1] is not None else ""
            raise DataError(
                f"{label.where}: there is no row {key[0]!r}{provider} in {', '.join(map(str, paths))}."
            )


def _judged(row: Row, score: Score, label: bool, name: str) -> JudgedRow:
    threshold = 0.5 if score.threshold is None else score.threshold
    judged = JudgedRow(
        id=row.id if row.provider is None else f"{row.id} [{row.provider}]",
        set=name,
        label=label,
        group=row.id,
        words=sum(map(count_words, row.contexts or ())),
        probability=score.value,
        decision=None if score.value is None else score.value >= threshold,
        claim=row.output or "",
        question=row.input,
    )
    return judged if score.value is not None else replace(judged, error=f"{score.status}: {score.reason}")
