from __future__ import annotations

import pytest

from ragjudge.errors import UnknownNameError
from ragjudge.text.languages import language_name
from ragjudge.text.sentences import sentences


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("German", "german"),
        ("de", "german"),
        ("de-AT", "german"),
        ("pt_BR", "portuguese"),
        (" EN-us ", "english"),
        ("zh", "english"),
        ("zh-Hans-CN", "english"),
        ("Japanese", "english"),
    ],
)
def test_a_language_is_known_by_name_and_code_with_and_without_its_region(name: str, meant: str) -> None:
    assert language_name(name) == meant


@pytest.mark.parametrize("name", ["xx", "de.AT", "ger-DE", "-de", ""])
def test_what_is_no_language_is_refused(name: str) -> None:
    with pytest.raises(UnknownNameError):
        language_name(name)


def test_a_language_with_marks_of_its_own_is_cut_at_them() -> None:
    text = "北京是中国的首都。上海更大。"
    assert [span.text for span in sentences(text, "zh")] == ["北京是中国的首都。", "上海更大。"]
    assert sentences(text, "zh") == sentences(text)
