"""What the tests of the engine have in common."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ragjudge.judges.steps import Plan
from ragjudge.judges.trie import plan
from tests.native import tiny

if TYPE_CHECKING:
    from ragjudge.judges.llama.grammar import Logits
    from ragjudge.judges.llama.native import Engine

TOLERANCE = 1e-2
"""Largest difference of a log-probability between two batch shapes on the tiny models.

Measured: 1.2e-3 over 48 prompts of up to 120 tokens, 6.5e-3 for 750 tokens in batches of 32 and of 1024
(the memory holds 16-bit numbers, and so does part of the attention). Random weights are far more sensitive
than trained ones. A wrong position or neighbour makes more than 0.1.
"""

Tokens = tuple[int, ...]


def nested_prompts(count: int, *, longest: int = 120, seed: int = 7) -> list[Tokens]:
    """Return distinct prompts that share prefixes at many depths, some of them prefixes of others."""
    chooser = random.Random(seed)  # noqa: S311 - test data
    ordinary = range(len(tiny.CONTROLS) + 260, len(tiny.vocabulary()[0]))
    prompts: list[Tokens] = [(1, *(chooser.choice(ordinary) for _ in range(longest // 3)))]
    while len(prompts) < count:
        parent = chooser.choice(prompts)
        kept = parent[: chooser.randrange(1, len(parent) + 1)]
        added = tuple(chooser.choice(ordinary) for _ in range(chooser.randrange(0, longest // 4)))
        prompt = (kept + added)[:longest]
        if prompt not in prompts:
            prompts.append(prompt)
    return prompts


def log_softmax(row: Logits, hidden: Logits | None = None) -> Any:
    values = row.astype(np.float64)
    values -= values.max()
    return values - np.log(np.exp(values).sum())


def run_together(engine: Engine, prompts: Sequence[Tokens]) -> tuple[Plan, dict[int, Any]]:
    """Return the plan of all prompts, and for each prompt its log-probabilities."""
    steps = plan(prompts, engine.limits(max(map(len, prompts))))
    return steps, dict(engine.run(steps, log_softmax))


def run_alone(engine: Engine, prompt: Tokens) -> Any:
    """Return the log-probabilities after one prompt, decoded with nothing beside it."""
    _, found = run_together(engine, [prompt])
    return found[0]


class CountingLibrary:
    """llama.cpp's functions, with the tokens that reach `llama_decode` counted and its sizes kept."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self.decoded = 0
        self.batches: list[int] = []
        self.refuse_batches: set[int] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, name)

    def llama_decode(self, context: Any, batch: Any) -> int:
        self.batches.append(int(batch.n_tokens))
        if len(self.batches) in self.refuse_batches:
            return -1
        status = int(self._library.llama_decode(context, batch))
        self.decoded += int(batch.n_tokens) if status == 0 else 0
        return status


def count_decodes(engine: Engine) -> CountingLibrary:
    """Put a counting library under an engine."""
    library = CountingLibrary(engine._c)
    engine._c = library
    return library
