"""How texts are cut: the options of the splitter as one value, so that they travel together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from ragjudge.errors import UnknownNameError, UsageError
from ragjudge.text.claims import ClaimMode, CodeMode
from ragjudge.text.languages import language_name

EvidenceMode = Literal["excerpt", "whole"]


@dataclass(frozen=True, slots=True)
class Splitting:
    """The options of `claims.claims`, and how much of the contexts is shown beside a claim.

    They decide which questions are asked, and are themselves in no question: texts that come out the same
    under two settings share their answers.

    Args:
        language: Name or ISO 639-1 code of one of `languages.LANGUAGES`; kept as its name.
        claims: ``sentence``; ``clause`` to cut compound sentences whose parts stand on their own; ``judge``
            to have the judge cut them.
        code: ``skip`` fenced code, or take each block of it as one claim (``whole``).
        abbreviations: Further abbreviations behind which no sentence ends, with or without the full stop.
        evidence: ``excerpt`` to show the judge the sentences of the contexts that come closest to a claim;
            ``whole`` to show it all of them.

    Raises:
        UnknownNameError: The language, the kind of claims or of evidence, or the way with code is not known.
        UsageError: The abbreviations are no texts.
    """

    language: str = "english"
    claims: ClaimMode = "sentence"
    code: CodeMode = "skip"
    abbreviations: tuple[str, ...] = ()
    evidence: EvidenceMode = "excerpt"

    def __post_init__(self) -> None:
        for kind, name, known in (
            ("claims mode", self.claims, ClaimMode),
            ("code mode", self.code, CodeMode),
            ("evidence mode", self.evidence, EvidenceMode),
        ):
            if name not in get_args(known):
                raise UnknownNameError(kind, str(name), get_args(known))
        words = self.abbreviations
        if not isinstance(words, (list, tuple)) or not all(isinstance(word, str) for word in words):
            raise UsageError(f"abbreviations is {words!r}; accepted: a list of texts.")
        object.__setattr__(self, "language", language_name(str(self.language)))
        object.__setattr__(self, "abbreviations", tuple(words))

    def in_language(self, language: str | None) -> Splitting:
        """Return the same options for texts in another language; None = this one.

        Raises:
            UnknownNameError: The splitter has no parameters for the language.
        """
        return self if language in (None, self.language) else replace(self, language=language)

    def in_sentences(self) -> Splitting:
        """Return the same options for what is counted by sentences."""
        return self if self.claims == "sentence" else replace(self, claims="sentence")


DEFAULT_SPLITTING = Splitting()
"""English prose by sentences."""


def given_options(**options: Any) -> dict[str, Any]:
    """Return those options of `Splitting` that somebody has named: the others are None."""
    return {name: value for name, value in options.items() if value is not None}
