from __future__ import annotations

from typing import Any

import pytest

from ragjudge.datasets.columns import ACCEPTED, columns_of
from ragjudge.datasets.origins import Origin, origin_of_columns

CONTEXTS = ", ".join(ACCEPTED["contexts"])


@pytest.mark.parametrize(
    ("row", "sentences"),
    [
        (
            {"question": "Q?", "answer": "A.", "contexts": None},
            f"given: question, answer. Accepted as contexts: {CONTEXTS}.",
        ),
        ({}, f"given: nothing. Accepted as contexts: {CONTEXTS}."),
        (
            {"vars": {"query": "Q?"}, "retrieved_context s": ["a"]},
            (
                "given: retrieved_context s, query. Is 'retrieved_context s' meant to be 'retrieved_contexts'"
                f"? Accepted as contexts: {CONTEXTS}."
            ),
        ),
        (
            {"Contexts": ["a"], "answr": "A."},
            (
                "given: Contexts, answr. Is 'Contexts' meant to be 'contexts'? "
                f"Accepted as contexts: {CONTEXTS}."
            ),
        ),
        # What a test set should retrieve is not what was retrieved.
        (
            {"reference_contexts": ["a"]},
            f"given: reference_contexts. Accepted as contexts: {CONTEXTS}.",
        ),
        (
            {"actual_output": "A.", "retrieval_context": None, "context": ["a"]},
            (
                "given: actual_output, context (what an ideal retriever finds). "
                f"Accepted as contexts: {CONTEXTS.replace(' context,', '')}."
            ),
        ),
    ],
)
def test_an_origin_says_what_was_given_in_the_place_of_a_field(row: dict[str, Any], sentences: str) -> None:
    origin = origin_of_columns(columns_of(row, "x"), "rows.jsonl, line 3")
    assert origin.where == "rows.jsonl, line 3"
    assert origin.without(["contexts"]) == sentences


def test_each_field_has_its_own_names() -> None:
    origin = Origin("score()", ("context",), {"output": ("output",), "expected": ("expected",)})
    assert origin.without(["output", "expected"]) == (
        "given: context. Accepted as output: output; as expected: expected."
    )
