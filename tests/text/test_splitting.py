from __future__ import annotations

from typing import Any

import pytest

from ragjudge.errors import UnknownNameError, UsageError
from ragjudge.text.splitting import DEFAULT_SPLITTING, Splitting, given_options


def test_equal_options_are_equal_however_they_are_written() -> None:
    written = Splitting("DE", "clause", "whole", ["Rdnr."])  # type: ignore[arg-type]  # as YAML gives it
    assert written == Splitting("german", "clause", "whole", ("Rdnr.",))
    assert hash(written) == hash(Splitting("german", "clause", "whole", ("Rdnr.",)))
    assert written.language == "german"


def test_the_default_is_that_of_the_splitter_itself() -> None:
    import inspect

    from ragjudge.text.claims import claims

    own = {name: value.default for name, value in inspect.signature(claims).parameters.items()}
    assert Splitting(own["language"], own["mode"], own["code"], own["abbreviations"]) == DEFAULT_SPLITTING
    assert DEFAULT_SPLITTING.evidence == "excerpt"


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"language": "germn"}, UnknownNameError, "unknown language 'germn'. Did you mean 'german'?"),
        ({"claims": "clauses"}, UnknownNameError, "unknown claims mode 'clauses'. Did you mean 'clause'?"),
        ({"code": "judge"}, UnknownNameError, "unknown code mode 'judge'. Accepted: skip, whole."),
        (
            {"evidence": "excerpts"},
            UnknownNameError,
            "unknown evidence mode 'excerpts'. Did you mean 'excerpt'?",
        ),
        ({"abbreviations": "Rdnr."}, UsageError, "abbreviations is 'Rdnr.'; accepted: a list of texts."),
        ({"abbreviations": [5]}, UsageError, "abbreviations is [5]; accepted: a list of texts."),
    ],
)
def test_what_cannot_be_meant_is_refused(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        Splitting(**options)
    assert str(caught.value).startswith(message)


def test_another_language_keeps_the_other_options() -> None:
    clauses = Splitting(claims="clause", abbreviations=("Rdnr.",), evidence="whole")
    assert clauses.in_language("de") == Splitting("german", "clause", "skip", ("Rdnr.",), "whole")
    assert clauses.in_language(None) is clauses
    assert clauses.in_sentences() == Splitting(abbreviations=("Rdnr.",), evidence="whole")


def test_only_what_is_named_is_an_option() -> None:
    assert given_options(language=None, claims="clause", abbreviations=()) == {
        "claims": "clause",
        "abbreviations": (),
    }
