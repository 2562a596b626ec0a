"""Labelled questions with a judge's raw answers, and the same as columns to fit on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ragjudge.agreement.calibration import CardData
from ragjudge.agreement.candidates import PLAIN_INPUTS
from ragjudge.agreement.crossval import Rows
from ragjudge.agreement.fits import plain_values
from ragjudge.errors import DataError
from ragjudge.records import Check, ChunkSpan, Verdict

if TYPE_CHECKING:
    from ragjudge.agreement.asking import Answered
    from ragjudge.agreement.checking import LabelSet

FEWEST_LABELS = 30
"""Rows of each label that a template needs: below that the figures say next to nothing."""


class Judged(NamedTuple):
    """A labelled question with the judge's raw answer.

    Attributes:
        check: What was asked.
        verdict: The raw answer.
        label: What people answered.
        data: The set of rows that it is of.
        group: The article or question that it shares with others.
    """

    check: Check
    verdict: Verdict
    label: bool
    data: str
    group: str


FEWEST_OF_SOURCE = 20
"""Rows of each label that every source of a lone file needs for its sources to count as sets."""


def judged_rows(sets: Sequence[LabelSet], answers: Sequence[Answered]) -> tuple[list[Judged], int]:
    """Put labelled rows and a judge's answers together.

    Each file is a set. Of a lone file the sources are the sets, when each of them has enough rows.

    Args:
        sets: The rows by file.
        answers: One for each row, in their order.

    Returns:
        ``(judged rows, number of rows without a verdict)``.
    """
    rows = [row for each in sets for row in each.rows]
    counts = Counter((row.source, row.label) for row in rows)
    sources = {source for source, _ in counts}
    by_source = len(sets) == 1 and all(
        counts[source, label] >= FEWEST_OF_SOURCE for source in sources for label in (False, True)
    )
    names = [each.name for each in sets for _ in each.rows]
    found = [
        Judged(answer.check, answer.outcome, row.label, row.source if by_source else name, row.group)
        for row, name, answer in zip(rows, names, answers, strict=True)
        if isinstance(answer.outcome, Verdict)
    ]
    return found, len(rows) - len(found)


def template_of(judged: Judged) -> str:
    """Return ``name@version`` of a question's template."""
    return f"{judged.check.template}@{judged.check.version}"


def check_counts(judged: Sequence[Judged]) -> None:
    """Make sure that one template has enough labels of either kind.

    Raises:
        DataError: It has not.
    """
    require_labels([each.label for each in judged], f"a calibration of {template_of(judged[0])}")


def require_labels(labels: Sequence[bool], what: str = "a calibration") -> None:
    """Make sure that there are enough labels of either kind, which can be told before anything is asked.

    Args:
        labels: The labels.
        what: What they are for.

    Raises:
        DataError: There are too few.
    """
    positive = sum(labels)
    negative = len(labels) - positive
    if min(positive, negative) < FEWEST_LABELS:
        raise DataError(
            f"{what} needs at least {FEWEST_LABELS} rows of each label, "
            f"and there are {positive} with label 1 and {negative} with label 0."
        )


def rows_of(judged: Sequence[Judged]) -> Rows:
    """Return judged questions as columns.

    Raises:
        DataError: Hidden states are of different sizes.
    """
    plain, states = [], []
    for each in judged:
        values = plain_values(each.check, each.verdict.log_probabilities, shown(each.verdict))
        plain.append([values[name] for name in PLAIN_INPUTS])
        states.append(each.verdict.hidden)
    hidden = None
    if all(state is not None for state in states):
        if len({len(state or ()) for state in states}) > 1:
            raise DataError(
                "the judge's hidden states are of different sizes; they cannot be fitted together."
            )
        hidden = np.array(states, np.float64)
    return Rows(
        labels=np.array([each.label for each in judged], np.bool_),
        sets=np.array([each.data for each in judged]),
        groups=np.array([each.group for each in judged]),
        plain=np.array(plain, np.float64),
        hidden=hidden,
    )


def shown(verdict: Verdict) -> tuple[ChunkSpan, ...] | None:
    """Return what the window showed whose answer counts; None when everything was shown at once."""
    for window in verdict.windows or ():
        if window.log_probabilities == verdict.log_probabilities:
            return window.spans
    return None


def data_of(judged: Sequence[Judged]) -> tuple[CardData, ...]:
    """Count the rows of one template by set, for the card."""
    counts: dict[str, list[int]] = {}
    for each in judged:
        counts.setdefault(each.data, [0, 0])[each.label] += 1
    template = template_of(judged[0])
    return tuple(
        CardData(name=name, template=template, positive=counts[name][1], negative=counts[name][0])
        for name in sorted(counts)
    )
