"""What the judge is shown beside a claim, in each metric that asks whether contexts support claims."""

from __future__ import annotations

import pytest

from ragjudge.cache.keys import key_of, request_of
from ragjudge.metrics.profiled import plan_in_profile
from ragjudge.metrics.registry import make_metric
from ragjudge.metrics.support import asked_with, support_check
from ragjudge.prompts.profile import load_profile
from ragjudge.prompts.template import load_template
from ragjudge.records import Check, Sample
from ragjudge.text.splitting import EvidenceMode, Splitting

KEEPERS = ("Ann", "Bob", "Cleo", "Dan", "Eve", "Finn")
KEPT = [f"{name} kept the lighthouse of Skerry in {1900 + n}." for n, name in enumerate(KEEPERS)]
SOLD = [f"In {1906 + n} {name} sold lamp oil to fishermen." for n, name in enumerate(KEEPERS)]
CHUNKS = (" ".join(KEPT), " ".join(SOLD))
DAN, FINN = "Dan kept the lighthouse in 1903.", "Finn sold oil in 1911."
SAMPLE = Sample(
    id="light",
    input="Who kept the lighthouse?",
    output=f"{DAN} {FINN}",
    contexts=CHUNKS,
    expected=f"{DAN} {FINN}",
)
SHOWN = {
    # All of the first chunk share "kept" and "lighthouse"; of what ties behind Dan's the earliest are shown.
    DAN: (" ".join(KEPT[:5]),),
    # What Finn did otherwise shares his name alone, what others sold "sold" and "oil".
    FINN: (" ".join([*SOLD[:4], SOLD[5]]),),
}
HEAD = (
    "A claim is supported when every detail of it is stated in the documents or follows directly from them.\n"
    "Documents:\n"
)


def checks(
    name: str, sample: Sample = SAMPLE, evidence: EvidenceMode = "excerpt", by: str | None = None
) -> list[Check]:
    plan = make_metric(name, by=by, splitting=Splitting(evidence=evidence)).plan(sample)
    assert all(isinstance(call, Check) for call in plan.calls)
    return [call for call in plan.calls if isinstance(call, Check)]


def shown(check: Check) -> tuple[str, ...]:
    """Return the chunks that a check shows."""
    return tuple(check.shared[each.text : each.text_end] for each in check.segments)


BY_CLAIMS = [("faithfulness", None), ("context_recall", None), ("context_precision", "claims")]


@pytest.mark.parametrize(("name", "by"), BY_CLAIMS)
def test_each_claim_is_asked_about_with_the_sentences_closest_to_it(name: str, by: str | None) -> None:
    asked = checks(name, by=by)
    assert [(check.template, check.version, check.claim) for check in asked] == [
        ("support_excerpt", 1, DAN),
        ("support_excerpt", 1, FINN),
    ]
    assert [shown(check) for check in asked] == [SHOWN[DAN], SHOWN[FINN]]
    assert asked[0].shared == f"{HEAD}{SHOWN[DAN][0]}\n"
    assert asked[0].own == f"Claim: {DAN}\nIs the claim supported? Answer Yes or No."
    assert asked == [support_check(claim, CHUNKS, SAMPLE.input) for claim in (DAN, FINN)]


def test_an_excerpt_of_several_chunks_numbers_those_that_are_shown() -> None:
    mixed = (KEPT[0], " ".join(KEPT[1:]), SOLD[1], SOLD[3], " ".join(SOLD[4:]))
    claim = "In 1909 Dan sold what Ann kept in 1900."
    (check,) = checks("faithfulness", SAMPLE.model_copy(update={"output": claim, "contexts": mixed}))
    kept = " ".join(KEPT[1:4])
    assert shown(check) == (KEPT[0], kept, SOLD[3])
    assert check.shared == f"{HEAD}[1] {KEPT[0]}\n[2] {kept}\n[3] {SOLD[3]}\n"


def test_each_chunk_is_asked_about_with_its_own_sentences_closest_to_a_claim() -> None:
    long = (" ".join([*KEPT, *SOLD]), SOLD[0])
    asked = checks("context_precision", SAMPLE.model_copy(update={"contexts": long}))
    assert [(check.template, check.claim, shown(check)) for check in asked] == [
        ("support_excerpt", DAN, SHOWN[DAN]),
        ("support_excerpt", FINN, SHOWN[FINN]),
        ("support_excerpt", DAN, (SOLD[0],)),
        ("support_excerpt", FINN, (SOLD[0],)),
    ]


def test_a_chunk_that_is_judged_by_the_question_is_always_shown_whole() -> None:
    long = " ".join([*KEPT, *SOLD])
    sample = SAMPLE.model_copy(update={"contexts": (long,), "expected": None})
    (check,) = checks("context_precision", sample)
    assert (check.template, shown(check)) == ("chunk_relevance", (long,))
    assert checks("context_precision", sample, "whole") == [check]


def test_short_contexts_are_shown_as_they_are_under_either_setting() -> None:
    short = SAMPLE.model_copy(update={"contexts": (" ".join(KEPT[:4]), " ".join(SOLD[:4]))})
    excerpts, whole = checks("faithfulness", short), checks("faithfulness", short, "whole")
    assert [check.shared for check in excerpts] == [check.shared for check in whole]
    assert {(check.template, check.version) for check in excerpts} == {("support_excerpt", 1)}
    assert {(check.template, check.version) for check in whole} == {("support", 1)}


def test_the_chunk_of_a_claim_is_the_one_in_the_sample() -> None:
    plan = make_metric("faithfulness").plan(SAMPLE.model_copy(update={"contexts": ("  ", *CHUNKS)}))
    assert [(draft.chunk, draft.chunk_by) for draft in plan.drafts] == [(1, "lexical"), (2, "lexical")]
    assert [shown(check) for check in plan.calls if isinstance(check, Check)] == [SHOWN[DAN], SHOWN[FINN]]


def test_a_row_s_language_says_where_the_sentences_of_its_contexts_end() -> None:
    german = "Der Hafen fror am 3. Oktober 1947 zu."
    claim = "Am 3. Oktober 1947 fror der Hafen zu."
    others = [f"An Tag {name} geschah nichts." for name in "ABCDEFGH"]
    text = " ".join([*others, german])
    sample = Sample(id="de", output=claim, contexts=(text,), language="german")
    (check,) = checks("faithfulness", sample)
    assert shown(check) == (" ".join([*others[:4], german]),)
    assert check == support_check(claim, [text], None, Splitting("german"))
    assert check != support_check(claim, [text])  # which takes the date's point for a full stop


# -- whole ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "by"), BY_CLAIMS)
def test_whole_contexts_are_asked_about_as_before_there_were_excerpts(name: str, by: str | None) -> None:
    asked = checks(name, evidence="whole", by=by)
    template = load_template("support", 1)
    assert asked == [template.check(claim, {"question": SAMPLE.input or ""}, CHUNKS) for claim in (DAN, FINN)]
    assert asked[0].shared == f"{HEAD}[1] {CHUNKS[0]}\n[2] {CHUNKS[1]}\n"
    assert asked[0].shared == asked[1].shared


def keys(asked: list[Check]) -> list[str]:
    return [key_of(request_of(check, "f" * 64)[0]) for check in asked]


@pytest.mark.parametrize(
    ("name", "by", "expected"),
    [
        *(
            (name, by, ["35cf0d06fe75a83879c73b162ac15cbbfb05ba51d976bee8117049a4f7cc7b6e"])
            for name, by in BY_CLAIMS
        ),
        (
            "context_precision",
            "chunks",
            [
                "21b0a01a05695827b3e68e6a75f6c986c725c6df4621952547f23d98fc85cd5e",
                "32a098719ff30fe272614fc45745cc286e34427dfee9e7cbd70b7d98c20594d0",
            ],
        ),
    ],
)
def test_caches_from_before_there_were_excerpts_answer_questions_about_whole_contexts(
    name: str, by: str | None, expected: list[str]
) -> None:
    sample = SAMPLE.model_copy(update={"output": DAN, "expected": DAN})
    assert keys(checks(name, sample, "whole", by)) == expected
    assert not set(keys(checks(name, sample, by=by))) & set(expected)


def test_a_template_shows_as_much_as_it_says_itself() -> None:
    whole = asked_with(load_template("support"), DAN, CHUNKS, None, Splitting())
    assert (shown(whole), dict(whole.slots)) == (CHUNKS, {"question": ""})
    closest = asked_with(load_template("support_excerpt"), DAN, CHUNKS, None, Splitting())
    assert shown(closest) == SHOWN[DAN]


# -- judges with words of their own --------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["bespoke-minicheck", "granite-guardian", "lynx"])
@pytest.mark.parametrize(("evidence", "chunks"), [("excerpt", SHOWN[DAN]), ("whole", CHUNKS)])
def test_a_judge_with_a_profile_is_shown_the_same_in_its_own_words(
    profile: str, evidence: EvidenceMode, chunks: tuple[str, ...]
) -> None:
    plan = make_metric("faithfulness", splitting=Splitting(evidence=evidence)).plan(SAMPLE)
    asked = plan_in_profile(plan, load_profile(profile)).calls[0]
    assert isinstance(asked, Check)
    assert (asked.template, asked.claim) == (f"{profile}.support", DAN)
    assert shown(asked) == chunks
    assert DAN in asked.own
    assert "[1]" not in asked.shared
    if profile == "lynx":
        assert f"\n{SAMPLE.input}\n" in asked.shared
