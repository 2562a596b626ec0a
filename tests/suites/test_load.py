from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ragjudge.errors import ConfigError, DataError, UnknownNameError
from ragjudge.providers.base import ProviderSpec
from ragjudge.records import Sample
from ragjudge.suites.load import judge_path, load_suite
from ragjudge.suites.spec import AssertionSpec, JudgeSpec, Suite
from ragjudge.text.splitting import Splitting

ASSERT = "{type: faithfulness}"
TEST = "tests:\n- {vars: {question: Q, answer: A.}, assert: [{type: faithfulness}]}\n"


def load(folder: Path, text: str, **options: Any) -> Suite:
    path = folder / "suite.yaml"
    path.write_text(text, encoding="utf-8")
    return load_suite(path, **options)


def asserted(
    folder: Path, assertions: str, top: str = "", row: str = "question: Q"
) -> tuple[AssertionSpec, ...]:
    """Load a suite of one test with these assertions."""
    return load(folder, f"{top}\ntests:\n- {{vars: {{{row}}}, assert: [{assertions}]}}\n").cases[0].assertions


def test_a_suite_as_documented_is_loaded_whole(tmp_path: Path) -> None:
    suite = load(
        tmp_path,
        """
judge: qwen2.5-coder-1.5b
description: About the Moon
cache: answers
providers:
  - id: python:my_rag.py:answer
  - recorded
tests:
  - vars: {question: "When did Apollo 11 land?", answer: "In 1969.", context: ["a", "b"], topic: space}
    assert:
      - {type: faithfulness, threshold: 0.9, provider: {id: models/other-judge.gguf}}
      - {type: context-recall, reference: "On 20 July 1969.", threshold: 0.8}
      - {type: context-precision, reference: "On 20 July 1969.", threshold: 0.9}
      - {type: context-relevance, threshold: 0.7, mode: holistic, on_empty: skip}
""",
    )
    assert suite == Suite(
        path=tmp_path / "suite.yaml",
        description="About the Moon",
        judge=JudgeSpec(id="qwen2.5-coder-1.5b"),
        providers=(ProviderSpec(id="python:my_rag.py:answer"), ProviderSpec(id="recorded")),
        cache=tmp_path / "answers",
        cases=suite.cases,
    )
    (case,) = suite.cases
    assert case.sample == Sample(
        id="row-1",
        input="When did Apollo 11 land?",
        output="In 1969.",
        contexts=("a", "b"),
        metadata={"topic": "space"},
    )
    assert case.assertions == (
        AssertionSpec(
            metric="faithfulness",
            label="faithfulness",
            threshold=0.9,
            judge=JudgeSpec(id="models/other-judge.gguf", path=tmp_path / "models/other-judge.gguf"),
        ),
        AssertionSpec(
            metric="context_recall", label="context_recall", threshold=0.8, reference="On 20 July 1969."
        ),
        AssertionSpec(
            metric="context_precision",
            label="context_precision",
            threshold=0.9,
            by="chunks",
            reference="On 20 July 1969.",
        ),
        AssertionSpec(
            metric="context_relevance",
            label="context_relevance",
            threshold=0.7,
            mode="holistic",
            on_empty="skip",
        ),
    )


def test_a_data_file_is_relative_to_the_suite_and_gets_the_common_assertions(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"id": "a", "answer": "A."}\n{"id": "b"}\n', encoding="utf-8")
    suite = load(tmp_path, "dataset: rows.jsonl\nassert: [{type: faithfulness}, {type: context_recall}]\n")
    assert [case.sample.id for case in suite.cases] == ["a", "b"]
    assert all(
        [spec.label for spec in case.assertions] == ["faithfulness", "context_recall"] for case in suite.cases
    )


def test_common_assertions_come_before_a_test_s_own(tmp_path: Path) -> None:
    specs = asserted(
        tmp_path,
        "{type: faithfulness, threshold: 0.5}, {type: answer-relevancy}",
        top="assert: [{type: faithfulness}]",
    )
    assert [(spec.label, spec.threshold) for spec in specs] == [
        ("faithfulness", None),
        ("faithfulness#2", 0.5),
        ("answer_relevancy", None),
    ]


def test_a_label_of_ones_own_is_never_taken_by_a_given_one(tmp_path: Path) -> None:
    specs = asserted(
        tmp_path,
        "{type: faithfulness}, {type: faithfulness}, {type: faithfulness, label: strict}, "
        "{type: faithfulness, label: faithfulness#2}, {type: faithfulness, label: faithfulness}",
    )
    assert [spec.label for spec in specs] == [
        "faithfulness#3",
        "faithfulness#4",
        "strict",
        "faithfulness#2",
        "faithfulness",
    ]


def test_the_nearest_setting_wins(tmp_path: Path) -> None:
    top = """
defaults:
  threshold: 0.1
  mode: holistic
  on_empty: fail
  provider: general
  faithfulness: {threshold: 0.2, mode: decomposed, provider: {id: special, window: 4096}}
  context-precision: {by: claims}
"""
    specs = asserted(
        tmp_path,
        "{type: faithfulness, threshold: 0.3}, {type: faithfulness, provider: own}, {type: context-recall}, "
        "{type: context_precision}, {type: context_precision, by: chunks}",
        top=top,
    )
    special = JudgeSpec(id="special", window=4096)
    general = JudgeSpec(id="general")
    assert [(s.threshold, s.mode, s.on_empty, s.judge, s.by) for s in specs] == [
        (0.3, "decomposed", "fail", special, None),
        (0.2, "decomposed", "fail", JudgeSpec(id="own"), None),
        (0.1, "holistic", "fail", general, None),
        (0.1, "holistic", "fail", general, "claims"),
        (0.1, "holistic", "fail", general, "chunks"),
    ]


@pytest.mark.parametrize(
    ("row", "settings", "by"),
    [
        ("context: one", "reference: R", "claims"),
        ("context: [one]", "reference: R", "chunks"),
        ("context: one", "mode: holistic", "chunks"),
        ("context: one, expected: R", "mode: holistic", "chunks"),
        ("context: one", "reference: R, by: chunks", "chunks"),
        ("context: [a, b]", "by: claims", "claims"),
        ("context: [a, b]", "reference: R, context: one", "claims"),
        ("context: one", "reference: R, context: [a, b]", "chunks"),
        ("question: Q", "reference: R", "chunks"),
    ],
)
def test_precision_goes_by_claims_for_one_text_with_a_reference(
    tmp_path: Path, row: str, settings: str, by: str
) -> None:
    (spec,) = asserted(tmp_path, f"{{type: context-precision, {settings}}}", row=row)
    assert spec.by == by
    (common,) = (
        load(tmp_path, f"assert: [{{type: context-precision, {settings}}}]\ntests: [{{vars: {{{row}}}}}]\n")
        .cases[0]
        .assertions
    )
    assert common == spec


def test_the_context_of_an_assertion_is_one_chunk_or_a_list(tmp_path: Path) -> None:
    specs = asserted(
        tmp_path,
        "{type: faithfulness, context: one}, {type: faithfulness, context: [{text: a}, b]}, "
        "{type: faithfulness, context: []}, {type: faithfulness}",
    )
    assert [spec.context for spec in specs] == [("one",), ("a", "b"), (), None]


def test_a_test_s_id_and_description_belong_to_its_sample(tmp_path: Path) -> None:
    suite = load(
        tmp_path,
        "assert: [{type: faithfulness}]\n"
        "tests: [{id: first, description: easy, vars: {answer: A.}}, {vars: {id: 2, answer: A.}}]\n",
    )
    assert [(case.sample.id, case.sample.metadata) for case in suite.cases] == [
        ("first", {"description": "easy"}),
        ("2", {}),
    ]


def test_names_of_judges_are_mapped_and_settings_beside_a_name_win(tmp_path: Path) -> None:
    suite = load(
        tmp_path,
        "judge: openai:gpt-4o\njudges:\n  openai:gpt-4o: small\n"
        "  big: {id: m/big.gguf, window: 512, threads: 2}\n"
        "tests:\n- vars: {answer: A.}\n  assert:\n"
        "  - type: faithfulness\n"
        "    provider: {id: big, window: 1024, chat: plain, gpu_layers: -1, batch: 64}\n",
    )
    assert suite.judge == JudgeSpec(id="small")
    assert suite.judges["big"] == JudgeSpec(
        id="m/big.gguf", path=tmp_path / "m/big.gguf", window=512, threads=2
    )
    assert suite.cases[0].assertions[0].judge == JudgeSpec(
        id="m/big.gguf",
        path=tmp_path / "m/big.gguf",
        window=1024,
        threads=2,
        chat="plain",
        gpu_layers=-1,
        batch=64,
    )


@pytest.mark.parametrize("name", ["openai:gpt-4o", "anthropic:claude", "ollama:chat:llama3", "Azure:x"])
def test_a_service_s_model_needs_a_mapping_or_another_judge(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, f"judge: {name}\n{TEST}")
    assert caught.value.message == (
        f"{tmp_path / 'suite.yaml'}: judge: the judge '{name}' is a model behind a service, "
        f"and ragjudge calls none."
    )
    assert caught.value.hint == (
        f'map it to a local model, e.g. `judges: {{"{name}": qwen2.5-coder-1.5b}}`, or pass --judge'
    )
    assert load(tmp_path, f"judge: {name}\n{TEST}", override_judge=True).judge == JudgeSpec(id=name)


@pytest.mark.parametrize(
    ("top", "assertion", "place"),
    [
        ("", "{type: faithfulness, provider: {id: openai:x}}", "tests[0].assert[0].provider"),
        ("defaults: {provider: openai:x}", ASSERT, "defaults.provider"),
        ("defaults: {faithfulness: {provider: openai:x}}", ASSERT, "defaults.faithfulness.provider"),
        ("judges: {a: openai:x}", ASSERT, "judges['a']"),
    ],
)
def test_a_service_s_model_is_found_wherever_it_stands(
    tmp_path: Path, top: str, assertion: str, place: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        asserted(tmp_path, assertion, top=top)
    assert caught.value.message.startswith(f"{tmp_path / 'suite.yaml'}: {place}: the judge 'openai:x' is")


def test_a_judge_s_file_is_looked_for_beside_the_suite_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite, elsewhere = tmp_path / "suite", tmp_path / "elsewhere"
    for folder in (suite, elsewhere):
        (folder / "m").mkdir(parents=True)
    monkeypatch.chdir(elsewhere)
    assert judge_path("qwen2.5-coder-1.5b", suite) is None
    assert judge_path("a.gguf", suite) is None
    assert judge_path("m/a.gguf", suite) == suite / "m/a.gguf"
    (elsewhere / "m/a.gguf").touch()
    (elsewhere / "a.gguf").touch()
    assert judge_path("m/a.gguf", suite) == Path("m/a.gguf")
    assert judge_path("a.gguf", suite) == Path("a.gguf")
    (suite / "m/a.gguf").touch()
    (suite / "a.gguf").touch()
    assert judge_path("m/a.gguf", suite) == suite / "m/a.gguf"
    assert judge_path("a.gguf", suite) == suite / "a.gguf"
    assert judge_path(str(elsewhere / "a.gguf"), suite) == elsewhere / "a.gguf"


ACCEPTED_IN_ASSERT = "by, context, label, mode, on_empty, provider, reference, threshold, type"
ACCEPTED_AT_TOP = (
    "abbreviations, assert, cache, calibration, claims, code, dataset, defaults, description, evidence, "
    "judge, judges, language, prefix_store, providers, tests"
)
METRICS = "answer_relevancy, context_precision, context_recall, context_relevance, faithfulness"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (TEST + "jugde: x\n", f": unknown key 'jugde'. Did you mean 'judge'? Accepted: {ACCEPTED_AT_TOP}."),
        (TEST + "prompts: [a]\n", f": unknown key 'prompts'. Accepted: {ACCEPTED_AT_TOP}."),
        (TEST + "5: a\n", f": unknown key 5. Accepted: {ACCEPTED_AT_TOP}."),
        (
            TEST + "judge: 5\n",
            ": judge: found the number 5; accepted: a text, or a mapping with the key 'id'.",
        ),
        (TEST + "judge: ''\n", ": judge.id: found an empty text; accepted: a text that is not empty."),
        (TEST + "judge: {window: 5}\n", ": judge: the key 'id' is missing."),
        (
            TEST + "judge: {id: x, windw: 5}\n",
            (
                ": judge: unknown key 'windw'. Did you mean 'window'? "
                "Accepted: accept_models, api_key_env, base_url, batch, calibration, chat, concurrency, "
                "exact, extra, flash_attention, gpu_layers, hidden, id, identity, kv, max_tokens, model, "
                "profile, repack, retries, split, strategy, threads, timeout, window."
            ),
        ),
        (
            TEST + "judge: {id: x, window: 0}\n",
            ": judge.window: found the number 0; accepted: a whole number of at least 1.",
        ),
        (
            TEST + "judge: {id: x, window: '8k'}\n",
            ": judge.window: found the text '8k'; accepted: a whole number.",
        ),
        (
            TEST + "judge: {id: x, threads: 1.5}\n",
            ": judge.threads: found the number 1.5; accepted: a whole number.",
        ),
        (TEST + "judge: {id: x, chat: on}\n", ": judge.chat: found true; accepted: auto, plain."),
        (TEST + "judges: [a]\n", ": judges: found a list; accepted: a mapping."),
        (TEST + "judges: {5: a}\n", ": judges[5]: found the number 5; accepted: text."),
        (TEST + "cache: 5\n", ": cache: found the number 5; accepted: text."),
        (TEST + "language: no\n", ": language: found false; accepted: text."),
        (
            TEST + "claims: clauses\n",
            ": claims: found the text 'clauses'; accepted: sentence, clause, judge.",
        ),
        (TEST + "code: true\n", ": code: found true; accepted: skip, whole."),
        (TEST + "evidence: all\n", ": evidence: found the text 'all'; accepted: excerpt, whole."),
        (TEST + "evidence: no\n", ": evidence: found false; accepted: excerpt, whole."),
        (TEST + "abbreviations: Rdnr.\n", ": abbreviations: found the text 'Rdnr.'; accepted: a list."),
        (TEST + "abbreviations: [No]\n", ": abbreviations[0]: found false; accepted: text."),
        (TEST + "providers: recorded\n", ": providers: found the text 'recorded'; accepted: a list."),
        (
            TEST + "providers: [5]\n",
            ": providers[0]: found the number 5; accepted: a text, or a mapping with the key 'id'.",
        ),
        (TEST + "providers: [{label: a}]\n", ": providers[0]: the key 'id' is missing."),
        (
            TEST + "providers: [recorded, {id: recorded}]\n",
            ": providers[1]: the provider 'recorded' is listed twice.",
        ),
        (
            TEST + "providers: [{id: recorded, raw: !!binary aGk=}]\n",
            ": providers[0]: 'raw' is a bytes; accepted: texts, numbers, lists, mappings.",
        ),
        (
            TEST + "dataset: a.jsonl\n",
            (": the suite has both `tests:` and `dataset:`; accepted: either `tests:` or `dataset:`."),
        ),
        ("judge: x\n", ": the suite has no rows; accepted: either `tests:` or `dataset:`."),
        ("tests: []\n", ": tests: found an empty list; accepted: at least one test."),
        ("tests: rows.jsonl\n", ": tests: found the text 'rows.jsonl'; accepted: a list."),
        (
            "tests: [{vars: {answer: A.}}]\n",
            ": the suite asserts nothing; accepted: an `assert:` list at the top, or in a test.",
        ),
        ("tests: [5]\n", ": tests[0]: found the number 5; accepted: a mapping."),
        (
            f"tests: [{{asserts: [{ASSERT}]}}]\n",
            (
                ": tests[0]: unknown key 'asserts'. Did you mean 'assert'? "
                "Accepted: assert, description, id, vars."
            ),
        ),
        (f"tests: [{{assert: [{ASSERT}]}}]\n", ": tests[0]: the key 'vars' is missing."),
        (
            f"tests: [{{vars: [a], assert: [{ASSERT}]}}]\n",
            ": tests[0].vars: found a list; accepted: a mapping.",
        ),
        (
            f"tests: [{{id: a, vars: {{id: b}}, assert: [{ASSERT}]}}]\n",
            ": tests[0]: 'id' is given twice, in the test and in its vars.",
        ),
        (
            f"tests: [{{id: 5, vars: {{}}, assert: [{ASSERT}]}}]\n",
            (": tests[0].id: found the number 5; accepted: text."),
        ),
        ("assert: {type: faithfulness}\n" + TEST, ": assert: found an object; accepted: a list."),
        (
            "assert: [faithfulness]\n" + TEST,
            ": assert[0]: found the text 'faithfulness'; accepted: a mapping.",
        ),
        (
            "defaults: {treshold: 0.5}\n" + TEST,
            (
                ": defaults: unknown key 'treshold'. "
                f"Did you mean 'threshold'? Accepted: {METRICS}, mode, on_empty, provider, threshold."
            ),
        ),
        (
            "defaults: {threshold: 2}\n" + TEST,
            (": defaults.threshold: found the number 2; accepted: a number from 0 to 1."),
        ),
        (
            "defaults: {by: claims}\n" + TEST,
            f": defaults: unknown key 'by'. Accepted: {METRICS}, mode, on_empty, provider, threshold.",
        ),
        (
            "defaults: {context-recall: {}, context_recall: {}}\n" + TEST,
            ": defaults: the metric 'context_recall' is given twice, in two spellings.",
        ),
        (
            "defaults: {faithfulness: {reference: a}}\n" + TEST,
            (
                ": defaults.faithfulness: unknown key 'reference'. "
                "Accepted: by, mode, on_empty, provider, threshold."
            ),
        ),
        (
            "defaults: {faithfulness: 0.5}\n" + TEST,
            (": defaults.faithfulness: found the number 0.5; accepted: a mapping."),
        ),
        (
            "defaults: {faithfulness: {by: claims}}\n" + TEST,
            ": defaults.faithfulness.by: faithfulness has no variants; accepted: context_precision only.",
        ),
    ],
)
def test_what_cannot_be_meant_is_said_in_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    assert caught.value.message == f"{tmp_path / 'suite.yaml'}{sentence}"


@pytest.mark.parametrize(
    ("assertions", "sentence"),
    [
        ("{threshold: 0.5}", "tests[0].assert[0]: the key 'type' is missing."),
        (
            "{type: faithfulness}, {type: faithfulness, treshold: 0.5}",
            (
                "tests[0].assert[1]: unknown key 'treshold'. Did you mean 'threshold'? "
                f"Accepted: {ACCEPTED_IN_ASSERT}."
            ),
        ),
        (
            "{type: faithfulness, threshold: 1.5}",
            "tests[0].assert[0].threshold: found the number 1.5; accepted: a number from 0 to 1.",
        ),
        (
            "{type: faithfulness, threshold: -0.1}",
            "tests[0].assert[0].threshold: found the number -0.1; accepted: a number from 0 to 1.",
        ),
        (
            "{type: faithfulness, threshold: .nan}",
            "tests[0].assert[0].threshold: found NaN; accepted: a number from 0 to 1.",
        ),
        (
            "{type: faithfulness, threshold: yes}",
            "tests[0].assert[0].threshold: found true; accepted: a number from 0 to 1.",
        ),
        (
            "{type: faithfulness, threshold: '0.9'}",
            "tests[0].assert[0].threshold: found the text '0.9'; accepted: a number from 0 to 1.",
        ),
        (
            "{type: faithfulness, mode: claims}",
            "tests[0].assert[0].mode: found the text 'claims'; accepted: decomposed, holistic.",
        ),
        (
            "{type: context-precision, by: chunk}",
            "tests[0].assert[0].by: found the text 'chunk'; accepted: chunks, claims.",
        ),
        (
            "{type: faithfulness, by: claims}",
            "tests[0].assert[0].by: faithfulness has no variants; accepted: context_precision only.",
        ),
        (
            "{type: faithfulness, on_empty: pass}",
            "tests[0].assert[0].on_empty: found the text 'pass'; accepted: skip, fail.",
        ),
        (
            "{type: context-recall, reference: 1969}",
            "tests[0].assert[0].reference: found the number 1969; accepted: text.",
        ),
        (
            "{type: faithfulness, context: {text: a}}",
            "tests[0].assert[0].context: found an object; accepted: a text (one chunk) or a list of chunks.",
        ),
        (
            "{type: faithfulness, context: [a, 5]}",
            "tests[0].assert[0].context: found a list; accepted: a text (one chunk) or a list of chunks.",
        ),
        (
            "{type: faithfulness, context: \"['a' 'b']\"}",
            (
                "tests[0].assert[0].context: it is the text \"['a' 'b']\", which looks like a list and "
                "cannot be read as one; accepted: a text, or a list of texts as JSON or Python writes it."
            ),
        ),
        (
            "{type: faithfulness, label: a}, {type: context-recall, label: a}",
            "tests[0].assert[1]: the label 'a' is taken by tests[0].assert[0].",
        ),
        (
            "{type: faithfulness, label: context_recall}, {type: context-recall}",
            (
                "tests[0].assert[0].label: 'context_recall' is the name of another metric; "
                "accepted: any other text."
            ),
        ),
    ],
)
def test_an_assertion_that_cannot_be_meant_is_named_by_its_place(
    tmp_path: Path, assertions: str, sentence: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        asserted(tmp_path, assertions)
    assert caught.value.message == f"{tmp_path / 'suite.yaml'}: {sentence}"


def test_a_label_names_one_metric_in_the_whole_suite(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(
            tmp_path,
            "tests:\n- {vars: {}, assert: [{type: faithfulness, label: a}]}\n"
            "- {vars: {}, assert: [{type: context-recall, label: a}]}\n",
        )
    assert caught.value.message == (
        f"{tmp_path / 'suite.yaml'}: tests[1].assert[0]: "
        f"the label 'a' means context_recall here and faithfulness in tests[0].assert[0]."
    )


def test_an_unknown_metric_is_named_with_the_nearest_one(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError) as caught:
        asserted(tmp_path, "{type: faithfullness}")
    assert caught.value.message == (
        f"{tmp_path / 'suite.yaml'}: tests[0].assert[0].type: unknown metric 'faithfullness'. "
        f"Did you mean 'faithfulness'? Accepted: {METRICS}."
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "tests: [{vars: {answer: 1969}, assert: [{type: faithfulness}]}]\n",
            "{path}: tests[0].vars: 'answer' is the number 1969; accepted: text.",
        ),
        (
            "tests: [{vars: {answer: No}, assert: [{type: faithfulness}]}]\n",
            "{path}: tests[0].vars: 'answer' is false; accepted: text.",
        ),
        (
            "tests: [{vars: {5: a}, assert: [{type: faithfulness}]}]\n",
            "{path}: tests[0].vars: the key 5 is the number 5; accepted: text.",
        ),
        (
            "assert: [{type: faithfulness}]\ntests: [{id: a, vars: {}}, {id: a, vars: {}}]\n",
            "{path}: tests[1].vars: the id 'a' is taken by {path}: tests[0].vars; ids must differ.",
        ),
        (
            "assert: [{type: faithfulness}]\ndataset: none.jsonl\n",
            "{path}: dataset: {folder}/none.jsonl: there is no such file.",
        ),
        (
            "assert: [{type: faithfulness}]\ndataset: a.jsonl\n",
            "{path}: dataset: {folder}/a.jsonl, line 2: 'answer' is the number 1; accepted: text.",
        ),
    ],
)
def test_a_bad_row_is_named_by_its_place(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "a.jsonl").write_text('{"answer": "A."}\n{"answer": 1}\n', encoding="utf-8")
    with pytest.raises(DataError) as caught:
        load(tmp_path, text)
    expected = sentence.replace("{path}", str(tmp_path / "suite.yaml"))
    assert caught.value.message == expected.replace("{folder}/", str(tmp_path / "x")[:-1])


def test_a_suite_says_how_its_texts_are_cut(tmp_path: Path) -> None:
    assert load(tmp_path, TEST).splitting == Splitting()
    options = "language: DE\nclaims: clause\ncode: whole\nabbreviations: [Rdnr., Bem.]\nevidence: whole\n"
    assert load(tmp_path, options + TEST).splitting == Splitting(
        "german", "clause", "whole", ("Rdnr.", "Bem."), "whole"
    )


def test_a_row_says_its_language(tmp_path: Path) -> None:
    suite = load(
        tmp_path,
        "assert: [{type: faithfulness}]\ntests: [{vars: {answer: A., language: fr}}, {vars: {answer: A.}}]\n",
    )
    assert [case.sample.language for case in suite.cases] == ["french", None]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (f"language: germn\n{TEST}", "{path}: language"),
        (
            "tests: [{vars: {answer: A., language: germn}, assert: [{type: faithfulness}]}]\n",
            "{path}: tests[0].vars: 'language'",
        ),
        (
            "assert: [{type: faithfulness}]\ndataset: rows.jsonl\n",
            "{path}: dataset: {folder}rows.jsonl, line 2: 'language'",
        ),
    ],
)
def test_an_unknown_language_is_named_by_its_place(tmp_path: Path, text: str, place: str) -> None:
    (tmp_path / "rows.jsonl").write_text('{"answer": "A."}\n{"language": "germn"}\n', encoding="utf-8")
    with pytest.raises(UnknownNameError) as caught:
        load(tmp_path, text)
    place = place.replace("{path}", str(tmp_path / "suite.yaml"))
    place = place.replace("{folder}", str(tmp_path / "x")[:-1])
    assert caught.value.message.startswith(f"{place}: unknown language 'germn'. Did you mean 'german'?")


def test_a_row_may_hold_its_one_text_under_vars(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"vars": {"context": "c", "answer": "a"}}\n')
    path = tmp_path / "suite.yaml"
    path.write_text("dataset: rows.jsonl\nassert: [{type: context-precision, reference: r}]\n")
    assert load_suite(path).cases[0].assertions[0].by == "claims"
