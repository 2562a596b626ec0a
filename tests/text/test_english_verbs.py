from __future__ import annotations

import pytest

from ragjudge.text.clause_words import Form, words_of
from ragjudge.text.english_verbs import english_verbs, with_forms


@pytest.mark.parametrize(
    ("low", "form"),
    [
        ("is", Form.AUXILIARY),
        ("went", Form.SURE),
        ("includes", Form.SURE),
        ("carries", Form.SURE),
        ("opened", Form.PAST),
        ("built", Form.PAST),
        ("stopped", Form.PAST),
        ("works", Form.SINGULAR),
        ("work", Form.PLURAL),
        ("gone", Form.NONE),
        ("garden", Form.NONE),
        ("fly", Form.PLURAL),
        ("flew", Form.SURE),
    ],
)
def test_a_form_tells_what_a_word_may_be(low: str, form: Form) -> None:
    assert english_verbs().form(low) == form


def test_kinds_hold_forms_that_are_derived() -> None:
    verbs = english_verbs()
    assert {"move", "moves", "moved", "went", "stopped"} <= verbs.intransitive
    assert {"said", "says", "believes"} <= verbs.reporting
    assert {"named", "made"} <= verbs.naming
    assert verbs.plural["work"]
    assert not verbs.plural["include"]


def test_a_contraction_is_two_words_with_true_offsets() -> None:
    text = "It’s late, and Bob's dog isn't."
    found = with_forms(words_of(text))
    assert [(text[word.start : word.end], word.form) for word in found[:3]] == [
        ("It", Form.NONE),
        ("’s", Form.AUXILIARY),
        ("late", Form.NONE),
    ]
    assert found[-1].form == Form.AUXILIARY
    assert "bob's" in [word.low for word in found]


def test_every_list_is_of_verbs_that_have_forms() -> None:
    verbs = english_verbs()
    lists = verbs.intransitive | verbs.reporting | verbs.naming | verbs.finite_past
    assert [low for low in sorted(lists) if verbs.form(low) == Form.NONE] == []
