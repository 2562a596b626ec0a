"""``ragjudge cache why``: for each call of one score, whether it is stored, and if not, what differs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragjudge.cli.suite_calls import cache_option, judge_option, load, planned, window_option
from ragjudge.errors import UnknownNameError, UsageError
from ragjudge.reports.printable import one_line, printable, shorten

if TYPE_CHECKING:
    from ragjudge.cache.rows import RowStore
    from ragjudge.judges.base import Identity, Judge
    from ragjudge.records import Call
    from ragjudge.runner import Task

_CLAIM_WIDTH = 60


@click.command("why")
@click.argument("suite", type=click.Path(path_type=Path))
@click.argument("row")
@click.argument("metric")
@cache_option
@click.option("--bundle", type=click.Path(path_type=Path), metavar="FILE", help="Look into a bundle instead.")
@judge_option
@window_option
def why(
    suite: Path,
    row: str,
    metric: str,
    directory: Path | None,
    bundle: Path | None,
    judge: str | None,
    window: int | None,
) -> None:
    """Say for each call of METRIC on ROW of SUITE whether it is stored, and if not, why.

    ROW is the row's id, METRIC the metric's name or the assertion's label. A call that is not stored is
    compared with the stored one that is most like it: judge, template version, context, claim, mode.
    """
    from ragjudge.cache.opening import identify
    from ragjudge.sessions import Bundle, open_store

    if bundle is not None and directory is not None:
        raise UsageError("--cache and --bundle are both given; name the one to look into.")
    loaded = load(suite, directory=directory, judge=judge, window=window, row=row)
    tasks = list(planned(loaded.assembly))
    wanted = [one for one in tasks if metric in (one[1].label, one[1].metric.name)]
    wanted = wanted or [one for one in tasks if metric.replace("-", "_") == one[1].metric.name]
    if not wanted:
        known = sorted({task.label for _, task, _ in tasks})
        raise UnknownNameError("metric", metric, known, where=f"{suite}, {row}")
    store: Any = open_store(loaded.place if bundle is None else Bundle(bundle), read_only=True)
    with store:
        for provider, task, calls in wanted:
            asked = loaded.assembly.judges[task.judge]
            identity = identify(asked, store)
            place = f"{row}, {task.label}" + (f" of {provider}" if provider is not None else "")
            click.echo(
                f"{printable(place)}: judge {printable(asked.id)} ({identity.fingerprint[:12]}), mode "
                f"{task.metric.mode}"
            )
            for line in _lines(task, calls, asked, identity, store):
                click.echo(f"  {line}")


def _lines(task: Task, calls: Sequence[Call], judge: Judge, identity: Identity, store: RowStore) -> list[str]:
    from ragjudge.cache.keys import key_of, request_of
    from ragjudge.cache.nearest import explain

    if not calls:
        return ["nothing is asked: there is nothing to judge"]
    requests = [request_of(call, identity.fingerprint) for call in calls]
    keys = [key_of(document) for document, _ in requests]
    stored = store.get_many(keys)
    missing = [number for number, key in enumerate(keys) if key not in stored]
    clauses = dict(zip(missing, explain([requests[number] for number in missing], store), strict=True))
    ages = store.times([key for key in keys if key in stored])
    lines = []
    for number, (call, key) in enumerate(zip(calls, keys, strict=True)):
        about = f"{call.template}@{call.version}  {_about(call)}  {key[:12]}"
        if number in clauses:
            lines.append(f"missing  {printable(about)}: {printable(clauses[number])}")
        else:
            lines.append(f"stored   {printable(about)}{_age(ages.get(key))}")
    if missing:
        lines += _other_mode(task, judge, identity, store)
    return lines


def _other_mode(task: Task, judge: Judge, identity: Identity, store: RowStore) -> list[str]:
    """Look whether the metric's other mode was asked about the same sample."""
    from ragjudge.cache.keys import key_of, request_of
    from ragjudge.metrics.base import TwoModeMetric
    from ragjudge.metrics.registry import make_metric

    if not isinstance(task.metric, TwoModeMetric) or judge.profile is not None:
        return []
    other = make_metric(
        task.metric.name,
        mode="decomposed" if task.metric.mode == "holistic" else "holistic",
        by=task.metric.by,
        splitting=task.metric.splitting,
    )
    calls = other.plan(task.sample).calls
    found = store.get_many(key_of(request_of(call, identity.fingerprint)[0]) for call in calls)
    if not found:
        return []
    clause = f"the mode differs: {len(found)} of {len(calls)} calls of mode {other.mode} are stored"
    return [f"{clause}, mode {task.metric.mode} is asked"]


def _about(call: Call) -> str:
    text = getattr(call, "claim", "") or call.own
    return repr(shorten(one_line(text), _CLAIM_WIDTH))


def _age(stored: float | None) -> str:
    if stored is None:
        return ""
    days = max(0.0, time.time() - stored) / 86_400
    return f"  stored {days:.0f} days ago" if days >= 2 else "  stored less than 2 days ago"
