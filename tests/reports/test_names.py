from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragjudge.reports.names import short_names


@pytest.mark.parametrize(
    ("names", "forms"),
    [
        (["python:rag.py:answer"], ["answer"]),
        (["python:rag.py:answer", "python:rag.py:rerank"], ["answer", "rerank"]),
        (["python:a.py:answer", "python:b.py:answer"], ["a.py:answer", "b.py:answer"]),
        (["answer"], ["answer"]),
        (
            ["python:rag.py:answer_with_reranking_v1", "python:rag.py:answer_with_reranking_v2"],
            ["…v1", "…v2"],
        ),
        (["python:rag.py:a_function_of_a_long_name"], ["a_function_of_a…"]),
        (
            ["python:rag.py:x_answer_of_a_long_name_1", "python:rag.py:y_answer", "python:rag.py:yes"],
            ["x_answer_of_a_l…", "y_answer", "yes"],
        ),
        ([], []),
    ],
)
def test_short_names_keep_what_tells_them_apart(names: list[str], forms: list[str]) -> None:
    assert list(short_names(names, 16).values()) == forms


def test_names_that_differ_only_where_they_would_be_cut_are_shown_whole() -> None:
    names = ["zero", "answer_with_reranking_v1", "answer_with_reranking_v2"]
    assert list(short_names(names, 12).values()) == names


@given(st.lists(st.text("ab:_", max_size=12), unique=True, max_size=6), st.integers(1, 8))
def test_no_two_names_ever_look_alike(names: list[str], cells: int) -> None:
    forms = short_names(names, cells)
    assert len(set(forms.values())) == len(names) == len(forms)
