"""Which question gets the most out of a judge: wordings compared on human-labelled rows.

    python -m tests.benchmarks.questions WORDINGS.yaml LABELS.jsonl … [--rows N] [--only NAME …]

Every call is kept in a cache, so that a wording more costs only its own calls, and a run again costs none.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from ragjudge.agreement.labels import LabelledRow, read_labels
from ragjudge.agreement.questions import check_of
from ragjudge.agreement.statistics import auc, balanced_accuracy, best_threshold
from ragjudge.cache.caching_judge import CachingJudge
from ragjudge.cache.opening import open_caching_judge
from ragjudge.cache.store import Store
from ragjudge.judges.registry import open_judge
from ragjudge.prompts.answers import margin
from ragjudge.prompts.template import Template
from ragjudge.records import Check, Verdict
from ragjudge.text.overlap import content_words
from ragjudge.text.sentences import sentences

SYSTEM = "You check texts carefully and answer each question with Yes or No."
MOST_WORDS = 400
"""Rows with longer contexts are left out: the sets are compared at one price."""

AT_ONCE = 8
"""Rows that are asked together; the machine's lock is free between."""


@dataclass(frozen=True)
class Wording:
    """A way to ask.

    Attributes:
        name: Its name in the table.
        about: What is different about it.
        template: The words; None = the shipped template of that name.
        windows: Sentences per window; None = the whole context at once.
        selected: So many sentences, those that have most of the claim's content words; None = all.
        quoted: So many sentences stand in the slot ``quote``; None = there is no such slot.
        sentences: Whether the context is the piece under judgement, and the question stands before it.
    """

    name: str
    about: str
    template: Template | None
    windows: int | None = None
    selected: int | None = None
    quoted: int | None = None
    sentences: bool = False

    def checks(self, row: LabelledRow) -> list[Check]:
        """Return the questions about a row; the best answer counts."""
        if self.template is None:
            return [check_of(row, self.name)]
        slots = {"question": row.question or ""}
        if self.quoted is not None:
            slots["quote"] = _selected(row, self.quoted)
        if self.sentences:
            return [self.template.check(row.contexts[0], slots)]
        if self.selected is not None:
            return [self.template.check(row.claim, slots, (_selected(row, self.selected),))]
        if self.windows is None:
            return [self.template.check(row.claim, slots, row.contexts)]
        return [self.template.check(row.claim, slots, (part,)) for part in _parts(row, self.windows)]


def _parts(row: LabelledRow, size: int) -> list[str]:
    """Return the context in windows of so many sentences, each beginning with the last of the one before."""
    parts = []
    for context in row.contexts:
        found = sentences(context)
        step = size - 1
        for first in range(0, max(1, len(found) - 1), step):
            window = found[first : first + size]
            if window:
                parts.append(context[window[0].start : window[-1].end])
    return parts or list(row.contexts)


def _selected(row: LabelledRow, count: int) -> str:
    """Return the sentences that share most content words with the claim, in their order."""
    wanted = set(content_words(row.claim))
    found = [span.text for context in row.contexts for span in sentences(context)]
    ranked = sorted(range(len(found)), key=lambda at: (-len(wanted & set(content_words(found[at]))), at))
    return " ".join(found[at] for at in sorted(ranked[:count])) or " ".join(row.contexts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask and print the table."""
    options = _parser().parse_args(arguments)
    document = yaml.safe_load(options.wordings.read_text(encoding="utf-8"))
    wordings = [_wording(entry, sentences=document.get("sentences", False)) for entry in document["wordings"]]
    if options.only:
        wordings = [wording for wording in wordings if wording.name in options.only]
    sets: dict[str, list[LabelledRow]] = {}
    for path in options.labels:
        rows = read_labels([path])
        sets[path.name.split(".")[0]] = [row for row in rows if row.context_words <= MOST_WORDS][
            : options.rows
        ]
    judge = open_judge(options.judge, chat=options.chat, hidden=options.hidden)
    store = Store(options.cache)
    asked = open_caching_judge(judge, store)
    margins = {name: _ask(asked, rows, wordings, options.lock) for name, rows in sets.items()}
    store.close()
    judge.close()
    labels = {name: np.array([row.label for row in rows]) for name, rows in sets.items()}
    about = {wording.name: wording.about for wording in wordings}
    for entry in document.get("derived", ()):
        parts = entry.get("sum") or entry["difference"]
        if all(part in about for part in parts):
            sign = 1 if "sum" in entry else -1
            for found in margins.values():
                found[entry["name"]] = found[parts[0]] + sign * found[parts[1]]
            about[entry["name"]] = entry["about"]
    sys.stdout.write(_table(labels, margins, about))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.questions", description=__doc__)
    parser.add_argument("wordings", type=Path)
    parser.add_argument("labels", type=Path, nargs="+")
    parser.add_argument("--rows", type=int, default=60, help="of each file [60]")
    parser.add_argument("--only", action="append", help="a wording; repeat it")
    parser.add_argument("--judge", help="[the default model]")
    parser.add_argument("--chat", choices=("auto", "plain"), help="the model's chat format, or plain text")
    parser.add_argument("--hidden", action="store_true", help="keep hidden states, for later fits")
    parser.add_argument("--cache", type=Path, default=Path(".cache/questions"))
    parser.add_argument("--lock", type=Path, help="hold a lock on this file while the judge works")
    return parser


def _wording(entry: Mapping[str, Any], *, sentences: bool) -> Wording:
    if "template" in entry:
        return Wording(entry["template"], "the shipped template", None)
    template = Template.model_validate(
        {
            "name": f"trial_{entry['name']}",
            "version": 1,
            "system": entry.get("system", SYSTEM),
            "shared": entry["shared"],
            "own": entry["own"],
            "labels": entry.get("labels", {"Yes": 1, "No": 0}),
        }
    )
    return Wording(
        entry["name"],
        entry["about"],
        template,
        windows=entry.get("windows"),
        selected=entry.get("selected"),
        quoted=entry.get("quoted"),
        sentences=sentences,
    )


def _ask(
    judge: CachingJudge, rows: Sequence[LabelledRow], wordings: Sequence[Wording], lock: Path | None
) -> dict[str, Any]:
    """Return each wording's margin of each row."""
    found = {wording.name: np.full(len(rows), -np.inf) for wording in wordings}
    for start in range(0, len(rows), AT_ONCE):
        calls, places = [], []
        for number, row in enumerate(rows[start : start + AT_ONCE], start):
            for wording in wordings:
                for check in wording.checks(row):
                    calls.append(check)
                    places.append((wording.name, number, check.positive))
        with _locked(lock):
            for index, outcome in judge.ask(calls):
                if not isinstance(outcome, Verdict):
                    raise SystemExit(f"{outcome}")
                name, number, positive = places[index]
                found[name][number] = max(found[name][number], margin(outcome, positive))
    return found


@contextlib.contextmanager
def _locked(path: Path | None) -> Iterator[None]:
    if path is None:
        yield
        return
    time.sleep(0.5)
    with path.open("a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _table(
    labels: Mapping[str, Any], margins: Mapping[str, Mapping[str, Any]], about: Mapping[str, str]
) -> str:
    lines = [
        f"| wording | {' | '.join(labels)} | mean AUC | at P = 0.5 | best | elsewhere's best | about |",
        f"|---|{'---|' * len(labels)}---|---|---|---|---|",
    ]
    for name, what in about.items():
        areas = {key: auc(labels[key], margins[key][name]) or 0.0 for key in labels}
        raw = [balanced_accuracy(labels[key], margins[key][name] >= 0) or 0.0 for key in labels]
        best = [_best(labels[key], margins[key][name]) for key in labels]
        other = (
            [_elsewhere(key, labels, margins, name) for key in labels] if len(labels) > 1 else [float("nan")]
        )
        cells = [f"{value:.3f}" for value in areas.values()]
        means = [f"{np.mean(list(values)):.3f}" for values in (areas.values(), raw, best, other)]
        lines.append(f"| {name} | {' | '.join([*cells, *means])} | {what} |")
    counts = ", ".join(f"{len(values)} {key}" for key, values in labels.items())
    return "\n".join([*lines, "", f"AUC by set; means of balanced accuracy. Rows: {counts}.", ""])


def _best(labels: Any, values: Any) -> float:
    found = best_threshold(labels, values)
    return found.balanced_accuracy if found is not None else 0.0


def _elsewhere(
    key: str, labels: Mapping[str, Any], margins: Mapping[str, Mapping[str, Any]], name: str
) -> float:
    """Return the balanced accuracy at the threshold that is best on the other sets, all weighing the same."""
    others = [other for other in labels if other != key]
    candidates = np.unique(np.concatenate([margins[other][name] for other in others]))
    scores = [
        np.mean([balanced_accuracy(labels[other], margins[other][name] >= at) or 0.0 for other in others])
        for at in candidates
    ]
    at = candidates[int(np.argmax(scores))]
    return balanced_accuracy(labels[key], margins[key][name] >= at) or 0.0


if __name__ == "__main__":
    raise SystemExit(main())
