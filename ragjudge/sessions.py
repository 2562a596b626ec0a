"""Judges and stores as a process shares them: one open model, one open store, however many scorers."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ragjudge.judges.base import Judge

if TYPE_CHECKING:
    from ragjudge.cache.caching_judge import CachingJudge
    from ragjudge.cache.protocol import CallStore

CachePlace = str | os.PathLike[str] | Literal[False] | None
"""A cache folder; None = the default one; False = answers are kept in memory only."""

_lock = threading.RLock()
_judges: dict[str, Judge] = {}
_stores: dict[tuple[str, bool], CallStore] = {}


def open_store(cache: CachePlace, *, read_only: bool = False) -> CallStore:
    """Open a store that the caller closes.

    Args:
        cache: Where it is; see `CachePlace`.
        read_only: Nothing is written, and a folder that is not there is an error.

    Raises:
        CacheError: It cannot be opened, or holds what a cache must not hold.
    """
    from ragjudge.cache.memory import MemoryStore
    from ragjudge.cache.store import Store

    if cache is False:
        return MemoryStore()
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
    """Return the store of a folder; equal folders mean one store, opened once."""
    from ragjudge.cache.store import default_directory

    directory = "memory" if cache is False else str(Path(cache or default_directory()).expanduser().resolve())
    with _lock:
        if (directory, read_only) not in _stores:
            _stores[directory, read_only] = open_store(cache, read_only=read_only)
        return _stores[directory, read_only]


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

    return open_caching_judge(shared_judge(llm), shared_store(cache, read_only=replay), replay=replay)


def close_shared() -> None:
    """Unload all shared models and close all shared stores; they open again when they are needed."""
    with _lock:
        for judge in _judges.values():
            judge.close()
        for store in _stores.values():
            store.close()
        _judges.clear()
        _stores.clear()
