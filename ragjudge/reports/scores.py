"""One score on a terminal page: its line, its reason, and the pieces that were judged."""

from __future__ import annotations

from collections.abc import Sequence

from ragjudge.records import Item, Score
from ragjudge.reports import numbers
from ragjudge.reports.page import ERROR, FAILED, NO_THRESHOLD, NOT_APPLICABLE, PASSED, STEP, Mark, Page
from ragjudge.reports.totals import UNDECIDED

MOST_LINES = 4
"""Lines of one piece of text shown in full: a chunk can be a page long."""

_MOST_ITEMS = 5
_NARROWEST_TEXT = 8
_STATUS = {"judge_error": "judge error", "not_applicable": "not applicable"}


def score_mark(score: Score) -> Mark:
    """Return the sign of a score."""
    if score.status == "judge_error":
        return ERROR
    if score.passed is not None:
        return PASSED if score.passed else FAILED
    return NO_THRESHOLD if score.status == "scored" else NOT_APPLICABLE


def score_result(page: Page, score: Score) -> str:
    """Return the value of a score with its interval, against its threshold, or why there is no value."""
    if score.value is None:
        word = _STATUS.get(score.status, score.status)
        return f"{word}, counts as failed" if score.passed is False else word
    value, relation, threshold = numbers.comparison(score.value, score.threshold)
    if score.interval not in (None, (score.value, score.value), (0.0, 1.0)):  # those say nothing more
        value += f" ({numbers.interval(*score.interval, score.threshold)})"
    parts = [page.own(f"{value} {relation} {threshold}".strip())]
    if score.undecided:
        parts.append(UNDECIDED)
    if score.errors:
        parts.append(f"{numbers.counted(score.errors, 'call')} failed")
    return ", ".join(parts)


def print_row_score(page: Page, name: str, score: Score, name_width: int, *, verbose: bool) -> None:
    """Print a score below the line of its row.

    Args:
        page: Where to.
        name: What to call the score, safe to print.
        score: The score.
        name_width: Columns for the name.
        verbose: Show the reason of a passed score too, and every item in full.
    """
    line = f" {page.pad(name, name_width)}  {score_result(page, score)}"
    inner = STEP + page.mark_width + 1
    reason = page.data(score.reason) if verbose or score.passed is not True else ""
    room = page.width - inner - page.cells(line) - 1
    on_line = len(reason) <= room and page.cells(reason) <= room
    tail = f"  {reason}" if on_line else ""
    page.line(page.mark(score_mark(score)), line, (tail, "dim"), indent=STEP)
    if not on_line:
        page.wrapped((reason, "dim"), indent=inner)
    if verbose:
        print_items(page, score.items, indent=inner, most_lines=MOST_LINES)
    elif score.passed is False or score.errors:
        failed = [item for item in score.items if item.verdict is not True]
        print_items(page, failed[:_MOST_ITEMS], indent=inner, most_lines=1)
        if len(failed) > _MOST_ITEMS:
            more = page.own(f"… and {numbers.count(len(failed) - _MOST_ITEMS)} more")
            page.line((more, "dim"), indent=inner)


def print_items(page: Page, items: Sequence[Item], *, indent: int, most_lines: int) -> None:
    """Print judged pieces with their probability and chunk.

    Args:
        page: Where to.
        items: The pieces.
        indent: Columns before them.
        most_lines: Lines that the text of one may take.
    """
    facts = _facts(page, items)
    inner = indent + page.mark_width + 1
    room = max(page.width - inner - 2 - max(map(len, facts), default=0), _NARROWEST_TEXT)
    for item, fact in zip(items, facts, strict=True):
        first, *rest = page.wrap(page.data(item.claim or item.text), room, most_lines)
        page.line(page.mark(_item_mark(item)), " ", page.pad(first, room), "  ", (fact, "dim"), indent=indent)
        for line in rest:
            page.line(line, indent=inner)
        if item.error is not None:
            page.wrapped((page.data(item.error), "yellow"), indent=inner)


def _item_mark(item: Item) -> Mark:
    if item.verdict is None:
        return ERROR
    return PASSED if item.verdict else FAILED


def _odds(item: Item) -> str:
    if item.verdict is None:
        return "no answer"
    return "" if item.probability is None else numbers.equation(item.probability)


def _votes(item: Item) -> str:
    """Say how many judges of a panel that differs are on the side of the piece, e.g. ``2 of 3 judges``."""
    if not item.disagreement:
        return ""
    votes = [vote.verdict for vote in item.panel or () if vote.verdict is not None]
    return f"{sum(vote is item.verdict for vote in votes)} of {numbers.counted(len(votes), 'judge')}"


def _facts(page: Page, items: Sequence[Item]) -> list[str]:
    """Return what stands beside each text.

    That is ``~`` when marginal, the probability, how many judges say the same where not all do, and the
    chunk from 1 on.
    """
    odds = [_odds(item) for item in items]
    if any(item.marginal for item in items):
        odds = [f"{'~' if item.marginal else ' '} {odd}" for item, odd in zip(items, odds, strict=True)]
    if any(item.disagreement for item in items):
        width = max(map(len, odds))
        votes = map(_votes, items)
        odds = [f"{odd.ljust(width)}  {vote}".rstrip() for odd, vote in zip(odds, votes, strict=True)]
    width = max(map(len, odds), default=0)
    return [
        page.own(odd if item.chunk is None else f"{odd.ljust(width)}  chunk {item.chunk + 1}")
        for item, odd in zip(items, odds, strict=True)
    ]
