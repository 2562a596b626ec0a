from __future__ import annotations

import hashlib
from importlib import resources

import pytest

from ragjudge.text.languages import LANGUAGES, rules
from ragjudge.text.punkt import parameters, unpacked
from ragjudge.text.sentences import sentences
from tests.text.punkt_packing import pack


def _packed(language: str) -> bytes:
    return (resources.files("ragjudge.text") / "data" / "punkt" / f"{language}.bz2").read_bytes()


@pytest.mark.parametrize("language", LANGUAGES)
def test_packing_what_is_packed_gives_the_same_bytes(language: str) -> None:
    assert pack(unpacked(_packed(language))) == _packed(language)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_readme_names_the_digest_of_every_file(language: str) -> None:
    readme = (resources.files("ragjudge.text") / "data" / "punkt" / "README.md").read_text(encoding="utf-8")
    assert f"| `{language}.bz2` | `{hashlib.sha256(_packed(language)).hexdigest()}` |" in readme


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_parameters_and_words(language: str) -> None:
    known = rules(language)
    assert len(parameters(language).abbreviations) > 25
    assert known.never_last
    assert known.language == language


def test_the_english_model_decides_as_punkt_does() -> None:
    model = rules().model
    assert model.is_abbreviation("u.s")
    assert model.is_word("coverage")
    assert not model.is_word("zzyzx")
    assert model.breaks("dog.", "The")
    assert not model.breaks("Inc.", "government")


def test_unknown_words_do_not_pile_up_in_the_model() -> None:
    model = rules().model
    before = len(model.ortho)
    sentences("The qwxyz. Qwxyzzy began. Inc. Wqqqxyz went on.")
    assert len(model.ortho) == before


def test_rules_are_made_once() -> None:
    assert rules("de", ("Zif", "abc.")) is rules("German", ("abc", "zif.", ""))
    assert rules("german") is not rules("german", ("abc",))
