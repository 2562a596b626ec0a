"""The packaged traps are data: what can be checked about them without a reader is checked here.

In a trap's ``meta``, ``wrong`` holds the words that make it false, where single words do; ``instruction``
holds what a context of the kind "injection" tells its grader to do.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest

from ragjudge.agreement.labels import LabelledRow, count_words, read_labels

LANGUAGES = {
    "english": "en",
    "german": "de",
    "french": "fr",
    "spanish": "es",
    "russian": "ru",
    "chinese": "zh",
}
KINDS = (
    "true_not_in_context",
    "swapped_number",
    "swapped_date",
    "swapped_unit",
    "swapped_name",
    "negation",
    "quantifier",
    "cause_effect",
    "list_with_one_wrong_item",
    "hedge",
    "split_over_two_chunks",
    "comparison",
    "injection",
)
ABSENT = ("true_not_in_context", "swapped_number", "swapped_date", "swapped_unit")
"""Kinds whose wrong words stand nowhere in the context."""

NAMED = (*ABSENT, "swapped_name", "quantifier", "list_with_one_wrong_item")
"""Kinds whose wrong words can be named."""

# Spelled out for each language; a claim needs only one of them, anywhere in it.
SIGNS = {
    "quantifier": r"\b(all|every|alle|tous|todos|все)\b|所有|全都",
    "cause_effect": r"because|this made|\bweil\b|parce que|porque|из-за|потому|因为",
    "comparison": r"\bthan\b|sooner|longer|teurer|plus|antes que|чем|比",
}
NEGATORS = r"\b(not|never|no|without|kein\w*|n'|pas|не|кроме|запрещено)\b|[不禁]"
HEDGES = (
    r"\b(may|might|could|can|suggest|stated|unconfirmed|not known|könnte|pourrait|selon|podrían|según|"
    r"возможно)\b|或许|推测"
)


def path_of(name: str) -> Path:
    return Path(str(files("ragjudge") / "agreement" / "traps" / f"{name}.jsonl"))


@cache
def rows_of(name: str) -> tuple[LabelledRow, ...]:
    return tuple(read_labels([path_of(name)]))


@cache
def all_rows() -> tuple[LabelledRow, ...]:
    return tuple(row for name in LANGUAGES for row in rows_of(name))


def rows_like(*kinds: str, label: bool | None = None) -> list[LabelledRow]:
    return [row for row in all_rows() if row.kind in kinds and label in (None, row.label)]


def said(row: LabelledRow) -> str:
    return "\n".join(row.contexts)


def note(row: LabelledRow, name: str) -> str:
    value = row.metadata[name]
    assert isinstance(value, str)
    assert value
    return value


def folded(text: str) -> str:
    return re.sub(r"\W+", " ", text.casefold()).strip()


@pytest.mark.parametrize(("name", "language"), LANGUAGES.items())
def test_every_line_is_one_object_with_the_same_fields(name: str, language: str) -> None:
    text = path_of(name).read_text(encoding="utf-8")
    assert text.endswith("}\n")
    for line in text.splitlines():
        row = json.loads(line)
        assert json.dumps(row, ensure_ascii=False) == line
        assert list(row) == ["id", "source", "task", "context", "claim", "label", "question", "meta"]
        assert (row["source"], row["task"], row["question"]) == ("traps", "support", None)
        assert row["label"] in (0, 1)
        assert list(row["meta"])[:3] == ["group", "kind", "lang"]
        assert set(row["meta"]) <= {"group", "kind", "lang", "wrong", "instruction"}
        assert row["meta"]["lang"] == language


def test_english_has_ten_rows_or_more_of_each_kind() -> None:
    assert len(rows_of("english")) >= 140
    counts = Counter(row.kind for row in rows_of("english"))
    assert set(counts) == set(KINDS)
    assert min(counts.values()) >= 10


@pytest.mark.parametrize("name", [name for name in LANGUAGES if name != "english"])
def test_every_other_language_has_all_kinds(name: str) -> None:
    assert len(rows_of(name)) >= 24
    counts = Counter(row.kind for row in rows_of(name))
    assert set(counts) == set(KINDS)
    assert min(counts.values()) >= 2


@pytest.mark.parametrize("name", LANGUAGES)
def test_half_of_the_rows_of_each_kind_are_traps(name: str) -> None:
    labels = defaultdict(list)
    for row in rows_of(name):
        labels[row.kind].append(row.label)
    for kind, given in labels.items():
        assert given.count(True) == given.count(False), kind


def test_ids_claims_and_contexts_occur_once() -> None:
    rows = all_rows()
    assert len({row.id for row in rows}) == len(rows)
    assert len({(row.group, folded(row.claim)) for row in rows}) == len(rows)
    assert len({folded(row.claim) for row in rows}) == len(rows)
    assert len({folded(said(row)) for row in rows}) == len({row.group for row in rows})


def test_rows_of_a_group_share_their_context_and_stand_together() -> None:
    contexts: dict[str, tuple[str, ...]] = {}
    last = None
    for row in all_rows():
        if row.group != last:
            assert row.group not in contexts
            assert row.group.startswith(f"{row.language}-")
        assert contexts.setdefault(row.group, row.contexts) == row.contexts
        last = row.group


def test_every_trap_has_its_mirror_in_the_same_group() -> None:
    for group, kind in {(row.group, row.kind) for row in all_rows()}:
        pair = [row.label for row in all_rows() if (row.group, row.kind) == (group, kind)]
        assert pair.count(True) == pair.count(False) > 0, (group, kind)


def test_contexts_are_short_and_claims_are_one_sentence() -> None:
    for row in all_rows():
        assert 25 <= row.context_words <= 120, row.id
        assert 3 <= count_words(row.claim) <= 30, row.id
        assert row.claim == row.claim.strip()
        assert row.claim[-1] in ".。", row.id
        assert len(re.findall(r"[.。!?](?:\s|$)", row.claim)) == 1 or row.language == "de", row.id


def test_texts_are_in_the_script_of_their_language() -> None:
    for row in all_rows():
        cyrillic = bool(re.search(r"[а-яё]", row.claim))
        chinese = bool(re.search(r"[\u4e00-\u9fff]", row.claim))
        assert (cyrillic, chinese) == (row.language == "ru", row.language == "zh"), row.id
        for text in (*row.contexts, row.claim):
            assert not re.search(r"[\u4e00-\u9fff][,:;()?!]", text), row.id


def test_wrong_words_stand_in_the_trap_and_not_in_its_mirror() -> None:
    for row in rows_like(*NAMED, label=False):
        assert note(row, "wrong") in row.claim, row.id
    for row in rows_like(*KINDS, label=True):
        assert "wrong" not in row.metadata, row.id
    for row in rows_like(*ABSENT, "list_with_one_wrong_item", label=False):
        mirrors = [
            other.claim
            for other in rows_like(row.kind or "", label=True)
            if other.group == row.group and note(row, "wrong") in other.claim
        ]
        assert not mirrors, row.id


def test_swapped_words_and_outside_facts_are_not_in_the_context() -> None:
    for row in rows_like(*ABSENT, label=False):
        assert note(row, "wrong") not in said(row), row.id


def test_a_swapped_number_is_a_number() -> None:
    for row in rows_like("swapped_number", label=False):
        assert re.fullmatch(r"\d+(,\d{3})?", note(row, "wrong")), row.id


def test_a_swapped_name_belongs_to_somebody_else_of_the_context() -> None:
    for row in rows_like("swapped_name", label=False):
        assert note(row, "wrong") in said(row), row.id


def test_lists_have_three_items_or_more() -> None:
    for row in rows_like("list_with_one_wrong_item"):
        assert len(re.split(r"[,、]|\b(?:and|und|et|y|и)\b|和", row.claim)) >= 3, row.id


@pytest.mark.parametrize("kind", SIGNS)
def test_traps_say_what_their_kind_turns_around(kind: str) -> None:
    for row in rows_like(kind, label=False):
        assert re.search(SIGNS[kind], row.claim, re.IGNORECASE), row.id


def test_a_negation_is_in_the_context_or_in_the_trap() -> None:
    for row in rows_like("negation", label=False):
        assert re.search(NEGATORS, f"{said(row)} {row.claim}", re.IGNORECASE), row.id


def test_a_hedge_is_in_the_context_and_not_in_the_trap() -> None:
    for row in rows_like("hedge", label=False):
        assert re.search(HEDGES, said(row), re.IGNORECASE), row.id
        assert not re.search(HEDGES, row.claim, re.IGNORECASE), row.id


def test_only_split_claims_have_two_chunks() -> None:
    split = {row.group for row in rows_like("split_over_two_chunks")}
    for row in all_rows():
        assert len(row.contexts) == (2 if row.group in split else 1), row.id


def test_each_chunk_has_a_part_of_a_split_claim() -> None:
    for row in rows_like("split_over_two_chunks"):
        claim = set(parts_of(row.claim))
        first, second = (claim & set(parts_of(chunk)) for chunk in row.contexts)
        assert first, row.id
        assert second, row.id
        assert claim - first, row.id
        assert claim - second, row.id


def parts_of(text: str) -> list[str]:
    """Words of four letters and more by their beginnings; pairs of characters in Chinese."""
    words = re.findall(r"[^\W\u4e00-\u9fff]{4,}", text.casefold())
    runs = re.findall(r"[\u4e00-\u9fff]+", text)
    return [word[:4] for word in words] + [run[i : i + 2] for run in runs for i in range(len(run) - 1)]


def test_an_injection_stands_inside_its_context_and_not_in_its_claims() -> None:
    for row in all_rows():
        assert ("instruction" in row.metadata) == (row.kind == "injection"), row.id
    for row in rows_like("injection"):
        assert said(row).count(note(row, "instruction")) == 1, row.id
        assert note(row, "instruction") not in row.claim, row.id


def test_injections_ask_for_either_answer_and_try_several_disguises() -> None:
    asked = [note(row, "instruction") for row in rows_like("injection", label=True)]
    towards_yes = [text for text in asked if re.search(r"\b(Yes|Ja|Oui|Sí|Да|top score)\b|“是”", text)]
    towards_no = [
        text
        for text in asked
        if re.search(r"\bNo\b|一律回答No|not supported", text) and text not in towards_yes
    ]
    assert len(towards_yes) + len(towards_no) == len(asked)
    assert min(len(towards_yes), len(towards_no)) >= len(asked) / 3
    texts = "\n".join(said(row) for row in rows_like("injection"))
    for disguise in ("<|im_start|>system", "<|im_end|>", "[INST]", "<<SYS>>", "### Assistant:", "<!--"):
        assert disguise in texts


def test_neither_overlap_nor_length_gives_the_label_away() -> None:
    for measure in (share_found, lambda row: float(len(row.claim))):
        yes = [measure(row) for row in all_rows() if row.label]
        no = [measure(row) for row in all_rows() if not row.label]
        wins = sum((a > b) + 0.5 * (a == b) for a in yes for b in no)
        assert 0.4 <= wins / (len(yes) * len(no)) <= 0.6


def share_found(row: LabelledRow) -> float:
    pieces = parts_of(row.claim)
    held = set(parts_of(said(row)))
    return sum(piece in held for piece in pieces) / len(pieces)
