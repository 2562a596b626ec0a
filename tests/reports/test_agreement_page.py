from __future__ import annotations

from html.parser import HTMLParser
from xml.etree import ElementTree as ET

from ragjudge.reports.agreement_page import agreement_page
from tests.reports.agreement_examples import HOSTILE, agreement

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Reader(HTMLParser):
    """Notes the elements, attributes and texts of a page, and that every element is closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, *attribute) for attribute in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, *attribute) for attribute in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append(" ".join(data.split()))


def test_the_page_shows_figures_intervals_and_the_worst_rows() -> None:
    texts = Reader(agreement_page(agreement())).texts
    assert "How well the judge agrees with people" in texts
    place = texts.index("0.650")
    assert texts[place - 3 : place + 2] == ["qags", "12", "33 %", "0.650", "0.59–0.71"]
    assert "-0.08–0.04" in texts
    assert "P > 0.99" in texts
    assert "Apollo 11 landed in 1970." in texts
    assert "By language" in texts
    assert any("0.50 s and 100 tokens per verdict" in text for text in texts)


def test_the_page_loads_nothing_and_runs_nothing() -> None:
    page = agreement_page(agreement(HOSTILE, HOSTILE))
    reader = Reader(page)
    names = {name for _, name, _ in reader.attributes}
    assert not names & {"src", "href", "srcset", "action", "data", "xlink:href", "style"}
    assert not [name for name in names if name.startswith("on")]
    assert not {"script", "link", "iframe", "object", "img", "a"} & set(reader.tags)
    assert "@import" not in page
    assert "url(" not in page
    policy = [value for tag, name, value in reader.attributes if (tag, name) == ("meta", "content")]
    assert "default-src 'none'; style-src 'unsafe-inline'" in policy


def test_hostile_texts_are_text() -> None:
    page = agreement_page(agreement(HOSTILE, HOSTILE))
    page.encode("utf-8")
    assert not {"\x1b", "\u202e"} & set(page)
    assert "<script" not in page
    reader = Reader(page)
    assert not reader.open
    assert any(text.startswith("<script>alert(1)</script>") for text in reader.texts)


def test_a_page_is_well_formed_and_its_ids_are_its_own() -> None:
    reader = Reader(agreement_page(agreement()))
    assert not reader.open
    assert reader.tags.count("svg") == 6  # two drawings each of all rows and of two sets
    ids = [value for _, name, value in reader.attributes if name == "id"]
    assert len(set(ids)) == len(ids) == 12


def test_the_drawings_of_a_page_are_xml() -> None:
    page = agreement_page(agreement(HOSTILE, HOSTILE))
    drawings = ["<svg" + piece.partition("</svg>")[0] + "</svg>" for piece in page.split("<svg")[1:]]
    assert len(drawings) == 6
    for drawing in drawings:
        ET.fromstring(drawing)  # noqa: S314 - our own drawing


def test_a_very_long_claim_is_cut_and_a_small_check_has_a_page_too() -> None:
    result = agreement(text="Long. " * 5000)
    assert len(agreement_page(result)) < 200_000
    bare = result.model_copy(
        update={
            **dict.fromkeys(("by_words", "by_language", "by_kind", "wrong", "judges", "notes", "rows"), ()),
            "by_set": (),
            "average": None,
            "threshold": None,
            "overall": result.overall.model_copy(update={"reliability": (), "roc": (), "rows": 24}),
        }
    )
    texts = Reader(agreement_page(bare)).texts
    assert "all rows" in texts
    assert "Most confidently wrong" not in texts


def test_the_same_check_gives_the_same_page() -> None:
    assert agreement_page(agreement()) == agreement_page(agreement())
