from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragjudge.prompts.template import load_template
from ragjudge.text.claims import claims
from ragjudge.text.excerpt import Excerpt, excerpt
from ragjudge.text.overlap import content_words

SIZE = Excerpt(sentences=5, whole=8)
FILLER = [f"Nothing happened in week {number}." for number in range(1, 10)]
HARBOUR = "The harbour froze in 1947."
SHIPS = "Ships waited for six weeks."


def among(*sentences: str, before: int = 5, after: int = 4) -> str:
    """Return sentences with so many about something else around them."""
    return " ".join([*FILLER[:before], *sentences, *FILLER[before : before + after]])


def test_the_shipped_template_shows_five_sentences_of_more_than_eight() -> None:
    shown = load_template("support_excerpt").excerpt
    assert shown is not None
    assert (shown.sentences, shown.whole) == SIZE
    assert load_template("support").excerpt is None


@pytest.mark.parametrize("chunks", [(" ".join(FILLER[:8]),), (" ".join(FILLER[:3]), " ".join(FILLER[3:8]))])
def test_eight_sentences_in_all_chunks_together_are_shown_as_they_are(chunks: tuple[str, ...]) -> None:
    assert excerpt("What happened in week 7?", chunks, SIZE) == chunks
    assert excerpt("What happened in week 7?", (*chunks, FILLER[8]), SIZE) != (*chunks, FILLER[8])


def test_contexts_that_are_shown_whole_keep_every_character() -> None:
    chunks = ["  # Harbour\n\n- froze in *1947*  ", "", "\n"]
    assert excerpt("The harbour froze.", chunks, SIZE) == tuple(chunks)


def test_the_sentences_that_share_most_words_are_shown_in_their_own_order() -> None:
    text = among("Ice lay there in 1947.", SHIPS, HARBOUR)
    assert excerpt("In 1947 the harbour froze and ships waited.", [text], Excerpt(3, 8)) == (
        f"Ice lay there in 1947. {SHIPS} {HARBOUR}",
    )
    assert excerpt("In 1947 the harbour froze and ships waited.", [text], Excerpt(2, 8)) == (
        f"{SHIPS} {HARBOUR}",
    )
    assert excerpt("In 1947 the harbour froze and ships waited.", [text], Excerpt(1, 8)) == (HARBOUR,)


def test_of_sentences_that_share_as_much_the_earlier_is_shown() -> None:
    chunks = [" ".join(FILLER[:5]), " ".join(FILLER[5:])]
    assert excerpt("Something happened.", chunks, SIZE) == (chunks[0],)
    assert excerpt("Something happened.", chunks[::-1], SIZE) == (chunks[1], FILLER[0])


def test_a_word_counts_once_however_often_it_stands_in_a_sentence() -> None:
    text = among("Ships, ships, ships.", "The ships froze.")
    assert excerpt("Ships froze in the ships' harbour.", [text], Excerpt(1, 8)) == ("The ships froze.",)


def test_words_are_compared_as_people_mean_them() -> None:
    text = among("The café's takings were 1,000 francs.", HARBOUR)
    assert excerpt("A CAFE took 1000 francs.", [text], Excerpt(1, 8)) == (
        "The café's takings were 1,000 francs.",
    )


def test_at_most_five_sentences_of_all_chunks_together_are_shown() -> None:
    chunks = [f"Ship {n} sank. Nobody knew. Ship {n} was old." for n in range(1, 7)]
    shown = excerpt("A ship sank.", chunks, SIZE)
    assert shown == tuple(f"Ship {n} sank." for n in range(1, 6))


def test_places_that_no_other_sentence_wants_go_to_the_first_sentences() -> None:
    text = among(HARBOUR)
    assert excerpt("The harbour froze.", [text], SIZE) == (" ".join([*FILLER[:4], HARBOUR]),)


def test_chunks_without_a_chosen_sentence_are_left_out_and_the_others_stay_apart() -> None:
    chunks = [f"{HARBOUR} It was cold.", " ".join(FILLER[:4]), f"Rain fell. {SHIPS}", " ".join(FILLER[4:])]
    claim = "The harbour froze and ships waited for weeks."
    assert excerpt(claim, chunks, Excerpt(2, 8)) == (HARBOUR, SHIPS)
    assert excerpt(claim, chunks[::-1], Excerpt(2, 8)) == (SHIPS, HARBOUR)


@pytest.mark.parametrize("claim", ["Der Hafen ist zugefroren.", "港口结冰了。", "It was so.", "!", ""])
def test_a_claim_that_shares_no_word_is_shown_everything(claim: str) -> None:
    chunks = (among(HARBOUR, before=3, after=0), among(SHIPS, before=5, after=0))
    assert len([piece for chunk in chunks for piece in claims(chunk)]) > SIZE.whole
    assert excerpt(claim, chunks, SIZE) == chunks


def test_rows_of_a_table_keep_the_names_of_their_columns() -> None:
    rows = "".join(f"| Port {name} | {1900 + number} |\n" for number, name in enumerate("ABCDEFGHI"))
    table = f"| Name | Opened |\n|---|---|\n{rows}"
    assert excerpt("Port G dates from 1906.", [table], Excerpt(1, 8)) == ("Name: Port G; Opened: 1906",)


def test_items_of_a_list_keep_the_sentence_that_leads_into_it() -> None:
    text = "These ports froze in 1947:\n\n" + "".join(f"- Port {name}\n" for name in "ABCDEFGHI")
    (shown,) = excerpt("Port G froze.", [text], Excerpt(1, 8))
    assert shown == "These ports froze in 1947: Port G"


def test_sentences_are_read_without_markup() -> None:
    text = among("The **harbour** of [Skerry](https://example.org) froze.[3]")
    assert excerpt("The harbour of Skerry froze.", [text], Excerpt(1, 8)) == ("The harbour of Skerry froze.",)


def test_chinese_is_compared_by_pairs_of_characters() -> None:
    sentences = [
        *("长城建于公元前七世纪。", "黄河长五千多公里。", "熊猫吃竹子。", "西安是古都。", "茶叶来自中国。"),
        *("泰山在山东。", "丝绸很柔软。", "广州在南方。", "故宫位于北京市中心。", "北京市有很多大学。"),
    ]
    text = "".join(sentences)
    assert excerpt("故宫在北京市。", [text], Excerpt(2, 8)) == ("故宫位于北京市中心。 北京市有很多大学。",)
    assert excerpt("故宫在北京市。", [text], Excerpt(1, 8)) == ("故宫位于北京市中心。",)


def test_the_language_says_where_sentences_end() -> None:
    german = "Der Hafen fror am 3. Oktober 1947 zu."
    others = [f"An Tag {name} geschah nichts." for name in "ABCDEFGH"]
    text = " ".join([*others[:4], german, *others[4:]])
    claim = "Am 3. Oktober 1947 fror der Hafen zu."
    assert excerpt(claim, [text], Excerpt(1, 8), "german") == (german,)
    assert excerpt(claim, [text], Excerpt(1, 8)) == ("Der Hafen fror am 3.",)


def test_text_without_words_takes_no_place() -> None:
    chunks = ["", " \n", among(HARBOUR), "---"]
    assert excerpt("The harbour froze.", chunks, Excerpt(1, 8)) == (HARBOUR,)
    assert excerpt("The harbour froze.", [], SIZE) == ()


words = st.sampled_from(["ships", "harbour", "froze", "waited", "1947", "ice", "weeks", "the"])
sentences = st.lists(words, min_size=1, max_size=5).map(lambda found: f"{' '.join(found).capitalize()}.")
contexts = st.lists(st.lists(sentences, min_size=1, max_size=7).map(" ".join), min_size=1, max_size=4)


@given(sentences, contexts)
def test_an_excerpt_is_a_choice_of_the_sentences_and_the_same_every_time(
    claim: str, chunks: list[str]
) -> None:
    shown = excerpt(claim, chunks, SIZE)
    assert excerpt(claim, list(chunks), SIZE) == shown
    cut = [[piece.judge_text or piece.text for piece in claims(chunk)] for chunk in chunks]
    if shown == tuple(chunks):
        shared = {word for chunk in chunks for word in content_words(chunk)} & set(content_words(claim))
        assert not shared or sum(map(len, cut)) <= SIZE.whole
        return
    assert sum(map(len, cut)) > SIZE.whole
    left = iter(cut)
    chosen = 0
    for text in shown:
        # Each shown text is made of sentences of one chunk, in their order, and of no chunk before the last.
        rest = next(each for each in left if _picked(text, each))
        chosen += _picked(text, rest)
    assert chosen == SIZE.sentences


def _picked(text: str, sentences: list[str]) -> int:
    """Return how many of the sentences make up a text, in their order; 0 when they do not."""
    reached = {"": 0}
    for sentence in sentences:
        more = {f"{done} {sentence}".strip(): count + 1 for done, count in reached.items()}
        reached = {**more, **reached}
    return reached.get(text, 0)


@given(st.text(max_size=40), st.lists(st.text(max_size=200), max_size=4))
def test_any_text_has_an_excerpt(claim: str, chunks: list[str]) -> None:
    shown = excerpt(claim, chunks, Excerpt(1, 0))
    assert shown == tuple(chunks) or len(shown) == 1
