"""From a data file, or from rows of a program, to samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ragjudge.datasets.columns import columns_of, sample_of_columns
from ragjudge.datasets.origins import Origin, origin_of_columns
from ragjudge.datasets.readers import Found, read_rows
from ragjudge.datasets.values import describe, plain_json
from ragjudge.errors import DataError
from ragjudge.records import FIELDS, Sample
from ragjudge.text.languages import language_name


class LoadedRow(NamedTuple):
    """A sample, and where it comes from."""

    sample: Sample
    origin: Origin


def load_rows(path: str | Path, *, recorded: bool = True) -> tuple[LoadedRow, ...]:
    """Read a data file: ``.jsonl``, ``.json`` or ``.csv``. The report of another run is one too.

    Args:
        path: The file.
        recorded: See `Ids`.

    Raises:
        DataError: The file cannot be read, a row cannot be a sample, or two rows have the same id.
        UnknownNameError: The splitter does not know a row's language.
    """
    ids = Ids(recorded=recorded)
    return tuple(ids.loaded(found) for found in read_columns(Path(path)))


def read_columns(path: Path) -> Iterator[Found]:
    """Read the rows of a data file with the columns under ``vars`` moved up.

    Raises:
        DataError: As for `read_rows`; or a column is given twice.
    """
    return (Found(where, columns_of(row, where)) for where, row in read_rows(path))


def rows_of_program(
    rows: Iterable[Mapping[str, Any] | Sample], *, where: str = "dataset", recorded: bool = True
) -> tuple[LoadedRow, ...]:
    """Make samples of rows that a program holds; a row that is a sample already stays as it is.

    Args:
        rows: The rows.
        where: What to call them in messages.
        recorded: See `Ids`.

    Raises:
        DataError: A row cannot be a sample, or two rows have the same id.
        UnknownNameError: The splitter does not know a row's language.
    """
    return tuple(_rows(rows, where, Ids(recorded=recorded)))


def _rows(rows: Iterable[Mapping[str, Any] | Sample], where: str, ids: Ids) -> Iterator[LoadedRow]:
    for index, row in enumerate(rows):
        place = f"{where}[{index}]"
        if isinstance(row, Sample):
            if row.language is not None:
                language_name(row.language, where=f"{place}: 'language'")
            plain_json(row.metadata, f"{place}: 'metadata'")
            given = tuple(field for field in FIELDS if getattr(row, field) is not None)
            yield LoadedRow(
                ids.checked(row, place), Origin(place, given, {field: (field,) for field in FIELDS})
            )
        elif isinstance(row, Mapping):
            yield ids.loaded(Found(place, columns_of(row, place)))
        else:
            raise DataError(f"{place}: the row is {describe(row)}; accepted: a mapping or a Sample.")


class Ids:
    """Numbers the rows of one run, and refuses a second row of the same id.

    Args:
        recorded: The rows' own outputs are graded: those of two providers to one row are then two rows. Where
            the outputs are produced anew, both would get the same one.
    """

    def __init__(self, *, recorded: bool = True) -> None:
        self._recorded = recorded
        self._places: dict[tuple[str, str | None], str] = {}

    def loaded(self, found: Found) -> LoadedRow:
        """Make a sample of the next row.

        Args:
            found: The row with the columns under ``vars`` moved up, see `columns_of`.

        Raises:
            DataError: The row cannot be a sample, or its id is taken.
            UnknownNameError: The splitter does not know the row's language.
        """
        sample = sample_of_columns(found.row, where=found.where, index=len(self._places) + 1)
        return LoadedRow(self.checked(sample, found.where), origin_of_columns(found.row, found.where))

    def checked(self, sample: Sample, where: str) -> Sample:
        """Return the sample when its id is new.

        Raises:
            DataError: The id is taken.
        """
        key = (sample.id, sample.provider if self._recorded else None)
        if key in self._places:
            name = repr(sample.id) if key[1] is None else f"{sample.id!r} of {sample.provider!r}"
            raise DataError(f"{where}: the id {name} is taken by {self._places[key]}; ids must differ.")
        self._places[key] = where
        return sample
