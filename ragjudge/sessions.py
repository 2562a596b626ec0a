"""Judges and stores as a process shares them: one open model, one open store, however many scorers."""

from __future__ import annotations

import atexit
import os
import threading
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from ragjudge.errors import UsageError
from ragjudge.judges.base import Judge
from ragjudge.records import PanelBy

if TYPE_CHECKING:
    from ragjudge.cache.protocol import CallStore, CountedJudge


@dataclass(frozen=True)
class Bundle:
    """A bundle in the place of a cache: it is replayed, and nothing is added to it.

    Attributes:
        path: The file.
    """

    path: Path


CachePlace = str | os.PathLike[str] | Bundle | Literal[False] | None
"""A cache folder; None = the default one; a `Bundle`; False = answers are kept in memory only."""

OneJudge = str | os.PathLike[str] | Judge
Llm = OneJudge | Sequence[OneJudge] | Mapping[str, Any] | None
"""A judge, None for the default one; or several: a list, or ``{"panel": […], "by": "mean"}``."""

_ONE_JUDGE = (str, os.PathLike, Judge)

_lock = threading.RLock()
_judges: dict[str, Judge] = {}
_stores: dict[tuple[str, bool], CallStore] = {}


def cache_place(cache: CachePlace, bundle: str | os.PathLike[str] | None) -> CachePlace:
    """Return the one place that two arguments name.

    Raises:
        UsageError: Both are given, or one of them names no place.
    """
    if not (cache is None or cache is False or isinstance(cache, (str, os.PathLike, Bundle))):
        raise UsageError(
            f"cache is {cache!r}; accepted: a folder, None for the default one, False for none at all."
        )
    if not (bundle is None or isinstance(bundle, (str, os.PathLike))):
        raise UsageError(f"bundle is {bundle!r}; accepted: the path of a .rjz file.")
    for name, place in (("cache", cache), ("bundle", bundle)):
        if place == "":
            raise UsageError(f"{name} is an empty text; accepted: a path, or None.")
    if bundle is None:
        return cache
    if cache is not None:
        raise UsageError("cache= and bundle= are both given; a bundle is replayed without a cache.")
    return Bundle(Path(bundle).expanduser())


def check_judge(llm: object, calibration: object = None) -> None:
    """Make sure that a program named a judge or several, and a calibration, or none.

    Raises:
        UsageError: One of them is something else, or a judge is named twice.
    """
    if isinstance(llm, (list, tuple, Mapping)):
        _check_panel(llm)
    elif not (llm is None or isinstance(llm, _ONE_JUDGE)):
        raise UsageError(
            f"llm is {llm!r}; accepted: a model's name, the path of a .gguf file, a Judge, None, or a list "
            f"of judges."
        )
    if not (calibration is None or isinstance(calibration, (str, os.PathLike))):
        raise UsageError(
            f"calibration is {calibration!r}; accepted: the path of a file, 'none' or 'shipped'."
        )


def _check_panel(llm: list[object] | tuple[object, ...] | Mapping[Any, Any]) -> None:
    from ragjudge.cache.panel import check_size

    judges: Any = llm
    if isinstance(llm, Mapping):
        judges = llm.get("panel")
        if not isinstance(judges, (list, tuple)) or set(llm) - {"panel", "by"}:
            raise UsageError(f"llm is {llm!r}; accepted: a mapping with the keys 'panel' (a list) and 'by'.")
        if llm.get("by", "majority") not in get_args(PanelBy):
            raise UsageError(f"llm: by is {llm['by']!r}; accepted: {', '.join(get_args(PanelBy))}.")
    check_size(len(judges), "llm")
    named: list[object] = []
    for place, judge in enumerate(judges):
        if not isinstance(judge, _ONE_JUDGE):
            raise UsageError(
                f"llm[{place}] is {judge!r}; accepted: a model's name, the path of a .gguf file, or a Judge."
            )
        name = judge if isinstance(judge, Judge) else os.fspath(judge)
        if name in named:
            raise UsageError(f"llm[{place}]: {judge!r} is there twice; a panel has each judge once.")
        named.append(name)


def judges_of(llm: Llm) -> tuple[tuple[OneJudge | None, ...], PanelBy | None]:
    """Return the judges that somebody named, checked already, and how they decide together.

    Returns:
        The judges; and None for a single one.
    """
    if isinstance(llm, Mapping):
        return tuple(llm["panel"]), llm.get("by", "majority")
    if llm is None or isinstance(llm, _ONE_JUDGE):
        return (llm,), None
    return tuple(llm), "majority"


def open_store(cache: CachePlace, *, read_only: bool = False) -> CallStore:
    """Open a store that the caller closes.

    Args:
        cache: Where it is; see `CachePlace`.
        read_only: Nothing is written, and a folder that is not there is an error.

    Raises:
        CacheError: It cannot be opened, or holds what a cache must not hold.
    """
    from ragjudge.cache.bundle import BundleStore
    from ragjudge.cache.memory import MemoryStore
    from ragjudge.cache.store import Store

    if cache is False:
        return MemoryStore()
    if isinstance(cache, Bundle):
        return BundleStore(cache.path)
    return Store(None if cache is None else Path(cache).expanduser(), read_only=read_only)


def shared_judge(llm: str | os.PathLike[str] | Judge | None) -> Judge:
    """Return the judge that a reference means; equal references mean one judge, loaded once."""
    if isinstance(llm, Judge):
        return llm
    from ragjudge.judges.registry import default_reference, open_judge

    reference = os.fspath(llm) if llm is not None else default_reference()
    with _lock:
        if reference not in _judges:
            _judges[reference] = open_judge(reference)
        return _judges[reference]


def shared_store(cache: CachePlace, *, read_only: bool) -> CallStore:
    """Return the store of a folder or bundle; equal ones mean one store, opened once."""
    place = _name_of(cache)
    with _lock:
        if (place, read_only) not in _stores:
            if not _stores:
                atexit.register(_close_stores)
            store = open_store(cache, read_only=read_only)
            for notice in store.notices:
                warnings.warn(notice, RuntimeWarning, stacklevel=2)
            _stores[place, read_only] = store
        return _stores[place, read_only]


def _name_of(cache: CachePlace) -> str:
    from ragjudge.cache.store import default_directory

    if cache is False:
        return "memory"
    path = cache.path if isinstance(cache, Bundle) else Path(cache or default_directory())
    return str(path.expanduser().resolve())


def shared_caching_judge(
    llm: Llm,
    cache: CachePlace,
    *,
    replay: bool,
    calibration: str | os.PathLike[str] | None = None,
) -> CountedJudge:
    """Put the judge of a reference, or each of several, behind the store of a folder, with its calibration.

    Raises:
        UnknownNameError: There is no such judge.
        JudgeUnavailableError: Neither the judge nor the store knows who it is.
        CacheError: The store cannot be opened.
        ConfigError: The calibration cannot be read, or is another judge's; or two judges are the same.
    """
    from ragjudge.agreement.choosing import choice_of, open_calibrated_judge
    from ragjudge.cache.panel import Panel

    replay = replay or isinstance(cache, Bundle)
    store = shared_store(cache, read_only=replay)
    choice = choice_of(calibration, named=True)
    judges, by = judges_of(llm)
    opened = [open_calibrated_judge(shared_judge(each), store, choice, replay=replay) for each in judges]
    return opened[0] if by is None else Panel(opened, by)


def close_shared() -> None:
    """Unload all shared models and close all shared stores; they open again when they are needed."""
    with _lock:
        for judge in _judges.values():
            judge.close()
        _judges.clear()
        _close_stores()


def _close_stores() -> None:
    """Close the stores, at the end of the program at the latest: what could not be written is written now."""
    atexit.unregister(_close_stores)
    with _lock:
        stores = list(_stores.values())
        _stores.clear()
        for store in stores:
            store.close()
            if store.write_error is not None:
                warnings.warn(store.write_error, RuntimeWarning, stacklevel=2)
