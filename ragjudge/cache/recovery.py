"""What is done about a damaged database: it is set aside, and what verifies of it is kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ragjudge.cache.database import FILE_NAME, SIDE_FILES
from ragjudge.cache.entries import CALL, JUDGE, is_whole, judge_row, read_call, read_judge
from ragjudge.cache.salvage import read_rows
from ragjudge.judges.base import digest

if TYPE_CHECKING:
    from ragjudge.cache.disk import TextCache

_BATCH = 500
_UNFINISHED = "unfinished"


def set_aside(directory: Path) -> Path:
    """Move the files of a database into a new folder beside them; return that folder.

    Raises:
        OSError: They cannot be moved.
    """
    number = 1
    while True:
        folder = directory / f"damaged-{number}"
        try:
            folder.mkdir(mode=0o700)
            break
        except FileExistsError:
            number += 1
    (folder / _UNFINISHED).touch()
    # The database goes last: a log without its database would be taken for that of the fresh one.
    for name in (*SIDE_FILES, FILE_NAME):
        if (directory / name).exists():
            (directory / name).rename(folder / name)
    return folder


def verified_rows(directory: Path) -> Iterator[tuple[str, str]]:
    """Yield the rows of a damaged database that verify, calls and texts first, then judges.

    Calls and texts are covered by digests. Of the judges, those identities are kept whose fingerprint
    stands in one of the calls: nothing else could tell a whole one from a damaged one.

    Raises:
        OSError: The files cannot be read.
    """
    fingerprints: set[str] = set()
    judges: dict[str, str] = {}
    for name, text in read_rows(directory):
        if name.startswith(JUDGE):
            judges[name] = text
        elif name.startswith(CALL):
            call = read_call(name, text)
            if call is not None:
                fingerprints.add(call.request["judge"])
                yield name, text
        elif is_whole(name, text):
            yield name, text
    for name, text in judges.items():
        judge = read_judge(name, text)
        if judge is not None:
            known = [document for document in judge.identities if digest(document) in fingerprints]
            if known:
                yield judge_row(judge.reference, known)


def rescued_rows(directory: Path) -> dict[str, str]:
    """Return the rows of a damaged database that verify, by name."""
    return dict(verified_rows(directory))


def unfinished(directory: Path) -> list[Path]:
    """Return the folders of databases that were set aside by a process that was killed before it was done."""
    return sorted(path.parent for path in directory.glob(f"damaged-*/{_UNFINISHED}"))


def refill(cache: TextCache, broken: Path) -> int:
    """Write what verifies of a damaged database into a fresh one; return how many answers that were.

    Raises:
        sqlite3.Error, diskcache.Timeout, OSError: It can not be written, or the old files not be read.
    """
    kept: set[str] = set()
    batch: dict[str, str] = {}
    present = set(cache.names())
    for name, text in verified_rows(broken):
        if name in present:
            continue
        batch[name] = text
        if name.startswith(CALL):
            kept.add(name)
        if len(batch) >= _BATCH:
            cache.write(batch)
            batch = {}
    cache.write(batch)
    (broken / _UNFINISHED).unlink(missing_ok=True)
    return len(kept)
