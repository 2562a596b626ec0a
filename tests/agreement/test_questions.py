from __future__ import annotations

import pytest

from ragjudge.agreement.labels import LabelledRow
from ragjudge.agreement.questions import check_of, require_one_question, template_of
from ragjudge.cache.keys import key_of, request_of
from ragjudge.errors import ConfigError, UnknownNameError, UsageError
from ragjudge.metrics.registry import make_metric
from ragjudge.prompts.template import load_template
from ragjudge.records import Call, Sample
from ragjudge.text.splitting import Splitting

CHUNK = "The harbour froze in 1947. Ships waited for six weeks."
SENTENCE = "The harbour froze in 1947."


def _row(**changes: object) -> LabelledRow:
    fields: dict[str, object] = {
        "id": "1",
        "source": "tests",
        "task": "support",
        "contexts": (CHUNK,),
        "claim": "Ships waited for six weeks.",
        "label": True,
        "question": "When did the harbour freeze?",
    }
    return LabelledRow.model_validate({**fields, **changes})


def _keys(calls: tuple[Call, ...]) -> list[str]:
    return [key_of(request_of(call, "f" * 64)[0]) for call in calls]


def test_support_is_the_question_of_faithfulness() -> None:
    row = _row(contexts=(CHUNK, "It was cold."))
    sample = Sample(id="s", input=row.question, output=row.claim, contexts=row.contexts)
    assert _keys((check_of(row),)) == _keys(make_metric("faithfulness").plan(sample).calls)


def test_of_long_contexts_an_excerpt_is_shown_as_in_a_run_and_all_where_the_template_says_so() -> None:
    others = [f"Year {number} was mild." for number in range(1948, 1956)]
    row = _row(contexts=(f"{CHUNK} {' '.join(others)}", "It was cold."))
    sample = Sample(id="s", input=row.question, output=row.claim, contexts=row.contexts)
    check = check_of(row)
    shown = f"{CHUNK} {' '.join(others[:3])}"
    assert (check.template, check.version) == ("support_excerpt", 1)
    assert [check.shared[each.text : each.text_end] for each in check.segments] == [shown]
    assert check_of(row, "support_excerpt@1") == check
    assert _keys((check,)) == _keys(make_metric("faithfulness").plan(sample).calls)
    whole = check_of(row, "support@1")
    assert tuple(whole.shared[each.text : each.text_end] for each in whole.segments) == row.contexts
    in_a_run = make_metric("faithfulness", splitting=Splitting(evidence="whole")).plan(sample).calls
    assert _keys((whole,)) == _keys(in_a_run)


def test_a_passage_is_the_question_of_context_precision() -> None:
    row = _row(task="relevance", claim="")
    sample = Sample(id="s", input=row.question, contexts=row.contexts)
    assert check_of(row).template == "chunk_relevance"
    assert _keys((check_of(row),)) == _keys(make_metric("context_precision").plan(sample).calls)


def test_a_sentence_is_the_question_of_context_relevance() -> None:
    row = _row(task="relevance", claim="", contexts=(SENTENCE,))
    sample = Sample(id="s", input=row.question, contexts=row.contexts)
    assert check_of(row).template == "sentence_relevance"
    assert _keys((check_of(row),)) == _keys(make_metric("context_relevance").plan(sample).calls)


def test_the_language_of_a_row_decides_where_its_sentences_end() -> None:
    german = "Es wurde am 3. Oktober 1990 gebaut."
    told = _row(task="relevance", claim="", contexts=(german,), metadata={"lang": "de"})
    assert check_of(told).template == "sentence_relevance"
    unknown = _row(task="relevance", claim="", contexts=(SENTENCE,), metadata={"lang": "zh"})
    assert check_of(unknown).template == "sentence_relevance"


def test_a_named_template_takes_the_place_of_the_usual_one() -> None:
    check = check_of(_row(), "support@1")
    assert (check.template, check.version) == ("support", 1)
    sentence = _row(task="relevance", claim="", contexts=(SENTENCE,))
    assert check_of(sentence, "chunk_relevance").template == "chunk_relevance"
    chunk = _row(task="relevance", claim="")
    assert check_of(chunk, "sentence_relevance").claim == CHUNK
    assert template_of("support") == load_template("support")
    with_excerpt = check_of(_row(), "support_excerpt@1")
    assert (with_excerpt.template, with_excerpt.version) == ("support_excerpt", 1)


def test_a_template_that_asks_something_else_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"chunk_relevance@\d+: asks about passages .* are of support"):
        check_of(_row(), "chunk_relevance")
    with pytest.raises(ConfigError, match=r"support@\d+: asks about claims .* are of relevance"):
        check_of(_row(task="relevance", claim=""), "support")
    with pytest.raises(ConfigError, match="an open question, which has no verdict"):
        check_of(_row(), "faithfulness_holistic")


def test_a_template_that_does_not_exist_is_told() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown template 'suport'.*Did you mean 'support'"):
        template_of("suport")
    with pytest.raises(UnknownNameError, match="unknown version of template support '99'"):
        template_of("support@99")
    with pytest.raises(UsageError, match="'new' is no version; accepted: NAME or NAME@NUMBER"):
        template_of("support@new")


def test_one_template_cannot_ask_rows_of_two_tasks() -> None:
    require_one_question(["support", "support"], "support")
    with pytest.raises(ConfigError, match="two tasks, relevance and support"):
        require_one_question(["support", "relevance"], "support")
