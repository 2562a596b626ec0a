"""Judges and stores as a process shares them: one open model, one open store, however many scorers."""

from __future__ import annotations

import atexit
import os
import threading
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ragjudge.errors import UsageError
from ragjudge.judges.base import Judge

if TYPE_CHECKING:
    from ragjudge.cache.caching_judge import CachingJudge
    from ragjudge.cache.protocol import CallStore


@dataclass(frozen=True)
class Bundle:
    """A bundle in the place of a cache: it is replayed, and nothing is added to it.

    Attributes:
        path: The file.
    """

    path: Path


CachePlace = str | os.PathLike[str] | Bundle | Literal[False] | None
"""A cache folder; None = the default one; a `Bundle`; False = answers are kept in memory only."""

_lock = threading.RLock()
_judges: dict[str, Judge] = {}
_stores: dict[tuple[str, bool], CallStore] = {}


def cache_place(cache: CachePlace, bundle: str | os.PathLike[str] | None) -> CachePlace:
    """Return the one place that two arguments name.

    Raises:
        UsageError: Both are given.
    """
    if bundle is None:
        return cache
    if cache is not None:
        raise UsageError("cache= and bundle= are both given; a bundle is replayed without a cache.")
    return Bundle(Path(bundle).expanduser())


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
    llm: str | os.PathLike[str] | Judge | None, cache: CachePlace, *, replay: bool
) -> CachingJudge:
    """Put the judge of a reference behind the store of a folder.

    Raises:
        UnknownNameError: There is no such judge.
        JudgeUnavailableError: Neither the judge nor the store knows who it is.
        CacheError: The store cannot be opened.
    """
    from ragjudge.cache.opening import open_caching_judge

    replay = replay or isinstance(cache, Bundle)
    return open_caching_judge(shared_judge(llm), shared_store(cache, read_only=replay), replay=replay)


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
