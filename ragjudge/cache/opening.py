"""Puts a judge behind a store: finds out who the judge is, even when its model is not here."""

from __future__ import annotations

from ragjudge.cache.caching_judge import CachingJudge
from ragjudge.cache.protocol import CallStore
from ragjudge.errors import ConfigError, JudgeUnavailableError
from ragjudge.judges.base import Identity, Judge


def open_caching_judge(judge: Judge, store: CallStore, *, replay: bool = False) -> CachingJudge:
    """Put a judge behind a store.

    Who the judge is, is told by the judge itself, else by what its reference meant when the store last
    met it.

    Args:
        judge: The judge.
        store: Where answers are kept.
        replay: Never ask the judge; a call that is not stored is an error.

    Raises:
        JudgeUnavailableError: Neither the judge nor the store knows who it is.
        ConfigError: The store has met two different judges under this reference.
    """
    identity = identify(judge, store)
    return CachingJudge(None if replay else judge, store, identity, id=judge.id, profile=judge.profile)


def identify(judge: Judge, store: CallStore) -> Identity:
    """Say who a judge is. See `open_caching_judge`."""
    try:
        identity = judge.identity()
    except JudgeUnavailableError:
        met = [document for document in store.identities(judge.id) if judge.recognises(document)]
        if not met:
            raise
        if len(met) > 1:
            first, second = (str(document.get("model", document)) for document in met[:2])
            raise ConfigError(
                f"judge {judge.id!r}: its file is not here, and the cache at {store.location} has met two "
                f"under this name: {first} and {second}.",
                hint="put the file back, or name the judge by another reference",
            ) from None
        return Identity(met[0])
    store.remember_judge(judge.id, identity.document)
    return identity
