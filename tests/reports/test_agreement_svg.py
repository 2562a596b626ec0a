from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from ragjudge.records import RocPoint
from ragjudge.reports.agreement_svg import reliability_svg, roc_svg
from tests.reports.agreement_examples import BINS, CURVE, HOSTILE

SVG = "{http://www.w3.org/2000/svg}"


def parsed(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314 - our own drawing


def of_class(root: ET.Element, css: str) -> list[dict[str, str]]:
    return [dict(found.attrib) for found in root.iter() if found.get("class") == css]


def test_the_path_of_a_known_curve() -> None:
    # The plot is 240 wide and high, its lower left corner at (52, 270).
    (curve,) = of_class(parsed(roc_svg(CURVE, name="qags", key="1")), "curve")
    assert curve["d"] == "M52 270L52 150L112 150L172 30L292 30"


def test_corners_on_an_upright_or_level_line_are_left_out() -> None:
    steps = [(0.0, 0.0), (0.0, 0.2), (0.0, 0.5), (0.5, 0.5), (0.75, 0.5), (0.75, 1.0), (1.0, 1.0)]
    points = [
        RocPoint(threshold=1 - index / 10, false_positive_share=x, true_positive_share=y)
        for index, (x, y) in enumerate(steps)
    ]
    (curve,) = of_class(parsed(roc_svg(points, name="qags", key="1")), "curve")
    assert curve["d"] == "M52 270L52 150L232 150L232 30L292 30"


def test_the_thresholds_stand_on_the_curve() -> None:
    drawing = roc_svg(CURVE, name="qags", key="1", auc=0.8125, threshold=0.5, best_threshold=0.4)
    root = parsed(drawing)
    (dot,), (ring,) = of_class(root, "dot"), of_class(root, "best")
    assert (dot["cx"], dot["cy"]) == ("112", "150")  # P of at least 0.5: the rows from 0.6 on
    assert (ring["cx"], ring["cy"]) == ("172", "30")
    description = root.findtext(f"{SVG}desc")
    assert description == (
        "Area below the curve 0.812. At the present threshold 0.500: 0.50 of the positive and 0.25 of the "
        "negative rows are decided positive. At the best threshold 0.400: 1.00 of the positive and 0.50 of "
        "the negative rows are decided positive."
    )


def test_a_threshold_above_all_rows_stands_at_the_corner() -> None:
    (dot,) = of_class(parsed(roc_svg(CURVE, name="qags", key="1", threshold=0.95)), "dot")
    assert (dot["cx"], dot["cy"]) == ("52", "270")


def test_a_bin_stands_at_its_place() -> None:
    root = parsed(reliability_svg(BINS, name="qags", key="1"))
    bars, dots, rows = of_class(root, "bar"), of_class(root, "dot"), of_class(root, "rows")
    assert len(bars) == len(dots) == len(rows) == 2  # empty bins are not drawn
    assert bars[1] == {"class": "bar", "x": "221", "y": "150", "width": "22", "height": "120"}
    assert (dots[1]["cx"], dots[1]["cy"]) == ("232", "150")  # mean P 0.75, half of the rows positive
    assert [row["height"] for row in rows] == ["14", "28"]
    titles = [group.findtext(f"{SVG}title") for group in root.iter(f"{SVG}g")]
    assert titles[1] == "P 0.7 to 0.8: 8 rows, mean P 0.75, share of positive rows 0.50"


@pytest.mark.parametrize("name", ["qags", HOSTILE, "", "x" * 5000])
def test_drawings_are_well_formed_whatever_they_are_called(name: str) -> None:
    for drawing in (reliability_svg(BINS, name=name, key="1"), roc_svg(CURVE, name=name, key="1")):
        drawing.encode("utf-8")
        assert "\x1b" not in drawing
        assert "\u202e" not in drawing
        root = parsed(drawing)
        assert root.tag == f"{SVG}svg"
        assert {found.tag.removeprefix(SVG) for found in root.iter()} <= {
            *("svg", "title", "desc", "style", "text", "path", "rect", "circle", "g"),
        }


def test_a_drawing_speaks_to_those_who_do_not_see_it() -> None:
    for drawing in (reliability_svg(BINS, name="qags", key="3"), roc_svg(CURVE, name="qags", key="3")):
        root = parsed(drawing)
        ids = [
            found.get("id")
            for found in (root.find(f"{SVG}title"), root.find(f"{SVG}desc"))
            if found is not None
        ]
        assert root.get("role") == "img"
        assert (root.get("aria-labelledby") or "").split() == ids
        assert all(found.text for found in root.iter(f"{SVG}title"))


def test_a_drawing_needs_nothing_from_elsewhere_and_knows_light_and_dark() -> None:
    for drawing in (reliability_svg(BINS, name="qags", key="1"), roc_svg(CURVE, name="qags", key="1")):
        without_namespace = drawing.replace('xmlns="http://www.w3.org/2000/svg"', "")
        assert not re.search(r"https?:|href|url\(|@import|<script|\bon\w+=", without_namespace)
        assert "prefers-color-scheme:dark" in drawing
        assert drawing == (
            reliability_svg(BINS, name="qags", key="1")
            if "reliability-1" in drawing
            else roc_svg(CURVE, name="qags", key="1")
        )


def test_nothing_to_draw_is_an_empty_frame() -> None:
    assert not of_class(parsed(reliability_svg((), name="qags", key="1")), "bar")
    assert not of_class(parsed(roc_svg((), name="qags", key="1", threshold=0.5)), "curve")
