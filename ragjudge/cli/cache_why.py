"""``ragjudge cache why``: for each call of one score, whether it is stored, and if not, what differs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragjudge.cli.command import Command
from ragjudge.cli.suite_calls import (
    Asked,
    Planned,
    cache_option,
    judge_option,
    load,
    planned,
    tasks_of,
    window_option,
)
from ragjudge.errors import UnknownNameError, UsageError
from ragjudge.reports.printable import one_line, printable, shorten

if TYPE_CHECKING:
    from ragjudge.cache.rows import RowStore
    from ragjudge.planning import Task
    from ragjudge.records import Call

_CLAIM_WIDTH = 60


@click.command("why", cls=Command)
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
    judges: tuple[str, ...],
    window: int | None,
) -> None:
    """Say for each call of METRIC on ROW of SUITE whether it is stored, and if not, why.

    ROW is the row's id, METRIC the metric's name or the assertion's label. A call that is not stored is
    compared with the stored one that is most like it: judge, template version, context, claim, mode.
    """
    from ragjudge.cache.opening import identify
    from ragjudge.cli.grading import say_notices
    from ragjudge.sessions import Bundle, open_store

    if bundle is not None and directory is not None:
        raise UsageError("--cache and --bundle are both given; name the one to look into.")
    loaded = load(suite, directory=directory, judges=judges, window=window, row=row)
    tasks = list(tasks_of(loaded.assembly))
    wanted = [one for one in tasks if metric in (one[1].label, one[1].metric.name)]
    wanted = wanted or [one for one in tasks if metric.replace("-", "_") == one[1].metric.name]
    if not wanted:
        known = sorted({task.label for _, task in tasks})
        raise UnknownNameError("metric", metric, known, where=f"{suite}, {row}")
    store: Any = open_store(loaded.place if bundle is None else Bundle(bundle), read_only=True)
    with store:
        say_notices(store)
        for provider, task in wanted:
            found = (loaded.assembly.judges[key] for key in loaded.assembly.seated(task.judge))
            asked = [Asked(judge, identify(judge, store)) for judge in found]
            place = f"{row}, {task.label}" + (f" of {provider}" if provider is not None else "")
            for number, plan in enumerate(planned(task, asked, store)):
                judge, identity = asked[number]
                click.echo(
                    f"{printable(place)}: judge {printable(judge.id)} ({identity.fingerprint[:12]}), mode "
                    f"{task.metric.mode}"
                )
                for line in _lines(plan, number, task, asked, store):
                    click.echo(f"  {line}")


def _lines(plan: Planned, number: int, task: Task, asked: Sequence[Asked], store: RowStore) -> list[str]:
    unknown = plan.checks is None
    lines = [] if unknown and not plan.calls else _lines_of(plan.calls, number, task, asked, store)
    if unknown:
        lines.append("its checks depend on how its sentences are cut, which is not known yet")
    return lines


def _lines_of(
    calls: Sequence[Call], number: int, task: Task, asked: Sequence[Asked], store: RowStore
) -> list[str]:
    from ragjudge.cache.keys import key_of, request_of
    from ragjudge.cache.nearest import explain

    if not calls:
        return ["nothing is asked: there is nothing to judge"]
    fingerprint = asked[number].identity.fingerprint
    requests = [request_of(call, fingerprint) for call in calls]
    keys = [key_of(document) for document, _ in requests]
    stored = store.get_many(keys)
    missing = [place for place, key in enumerate(keys) if key not in stored]
    clauses = dict(zip(missing, explain([requests[place] for place in missing], store), strict=True))
    ages = store.times([key for key in keys if key in stored])
    lines = []
    for place, (call, key) in enumerate(zip(calls, keys, strict=True)):
        about = f"{call.template}@{call.version}  {_about(call)}  {key[:12]}"
        if place in clauses:
            lines.append(f"missing  {printable(about)}: {printable(clauses[place])}")
        else:
            lines.append(f"stored   {printable(about)}{_age(ages.get(key))}")
    if missing:
        lines += _other_mode(number, task, asked, store)
    return lines


def _other_mode(number: int, task: Task, asked: Sequence[Asked], store: RowStore) -> list[str]:
    """Look whether the metric's other mode was asked about the same sample."""
    from ragjudge.cache.keys import key_of, request_of
    from ragjudge.metrics.base import TwoModeMetric
    from ragjudge.metrics.registry import make_metric

    if not isinstance(task.metric, TwoModeMetric) or any(each.judge.profile for each in asked):
        return []
    other = make_metric(
        task.metric.name,
        mode="decomposed" if task.metric.mode == "holistic" else "holistic",
        by=task.metric.by,
        splitting=task.metric.splitting,
    )
    calls = planned(replace(task, metric=other), asked, store)[number].calls
    fingerprint = asked[number].identity.fingerprint
    found = store.get_many(key_of(request_of(call, fingerprint)[0]) for call in calls)
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
