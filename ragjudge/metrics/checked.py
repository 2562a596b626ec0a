"""What a metric does, checked. It may be anybody's: whatever breaks in it costs one score, and is told.

What it raises on purpose (a `RagjudgeError`) is an error of the run, as from everybody else.
"""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar, cast, get_args

import pydantic
from pydantic import ValidationError

from ragjudge.errors import RagjudgeError, UsageError, raised
from ragjudge.metrics.base import Metric, Plan, PreparingMetric
from ragjudge.records import FIELDS, Mode, Outcome, Sample, Score

_MACHINERY = ("<string>", str(Path(__file__).parents[1]), str(Path(pydantic.__file__).parent))
"""Files in which the place of an error is not sought; a data class writes methods of its own."""

Made = TypeVar("Made")


def check_metric(metric: object, place: str) -> Metric:
    """Return an object that is a metric, by all that can be seen before it is used.

    Args:
        metric: The object.
        place: Where it was given, for the message.

    Raises:
        UsageError: It is none, or one of its attributes cannot be meant.
    """
    if inspect.isclass(metric):
        raise UsageError(f"{place} is the class {metric.__name__}; accepted: an object of it.")
    if not isinstance(metric, Metric):
        raise UsageError(f"{place} is {metric!r}; accepted: an object with the methods of a Metric.")
    requires: object = metric.requires
    modes = get_args(Mode)
    for name, is_meant, accepted in (
        ("name", isinstance(metric.name, str) and metric.name.strip() != "", "text that is not blank"),
        ("by", metric.by is None or isinstance(metric.by, str), "None, or text"),
        ("mode", metric.mode in modes, ", ".join(modes)),
        (
            "requires",
            isinstance(requires, (tuple, list)) and all(each in FIELDS for each in requires),
            f"a tuple with some of {', '.join(FIELDS)}",
        ),
    ):
        if not is_meant:
            raise UsageError(f"{place}: {name} is {getattr(metric, name)!r}; accepted: {accepted}.")
    return metric


def prepared_by(metric: Metric, sample: Sample) -> Plan:
    """Return what a metric must know before it can plan, as a plan of those calls alone."""
    if not hasattr(metric, "prepare"):  # cheaper than `isinstance` with a protocol
        return Plan()
    preparing = cast("PreparingMetric", metric)
    return _plan_of(metric, "prepare", lambda: Plan.of_calls(preparing.prepare(sample)))


def planned_by(metric: Metric, sample: Sample, prepared: Sequence[Outcome] = ()) -> Plan:
    """Return a metric's plan for a sample.

    Args:
        metric: The metric.
        sample: The sample.
        prepared: One outcome for each call of `prepared_by`.
    """
    if not hasattr(metric, "prepare"):
        return _plan_of(metric, "plan", lambda: metric.plan(sample))
    preparing = cast("PreparingMetric", metric)
    return _plan_of(metric, "plan", lambda: preparing.plan(sample, prepared))


def scored_by(metric: Metric, sample: Sample, plan: Plan, outcomes: Sequence[Outcome]) -> Score:
    """Return a metric's score of a sample: what the metric says, or that it broke."""
    made: Score | str
    if plan.broken is None:
        made = _made(metric, "score", lambda: metric.score(sample, plan, outcomes), Score)
    else:
        made = plan.broken
    if isinstance(made, Score):
        return made
    return Score(
        metric=metric.name, by=metric.by, value=None, status="judge_error", mode=metric.mode, reason=made
    )


def _plan_of(metric: Metric, method: str, make: Callable[[], Plan]) -> Plan:
    made = _made(metric, method, make, Plan)
    return Plan(broken=made) if isinstance(made, str) else made


def _made(metric: Metric, method: str, make: Callable[[], Made], kind: type[Made]) -> Made | str:
    """Return what a method gives, or a sentence on why that is none of its kind."""
    called = f"{metric.name}.{method}"
    try:
        made: object = make()
    except RagjudgeError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001, RUF100 - whatever a stranger's code raises
        return f"{called} raised {raised(_in_a_line(error), _MACHINERY)}."
    if isinstance(made, kind):
        return made
    what = "None" if made is None else f"a {type(made).__name__}"
    return f"{called} returned {what}; accepted: a {kind.__name__}."


def _in_a_line(error: BaseException) -> BaseException:
    """Return what pydantic says in many lines as an error that says its first finding in one."""
    if not isinstance(error, ValidationError):
        return error
    first = error.errors(include_url=False)[0]
    place = ".".join(map(str, first["loc"]))
    found = f"{error.title}: {place} is {reprlib.repr(first['input'])}" if place else error.title
    said = first["msg"].removeprefix("Value error, ")
    return ValueError(f"{found}: {said}").with_traceback(error.__traceback__)
