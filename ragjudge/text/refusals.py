"""Whether a sentence declines to answer."""

from __future__ import annotations

import re

from ragjudge.text.phrases import Phrases, phrases_of

# The wording never needs more. A longer piece is taken as it is, which also bounds the patterns' time.
LONGEST_PHRASE = 600

_EDGES = "\"'“”‘’*_()[]>.!… "
_INVITATION = re.compile(r"(?:please|if you|you can (?:ask|try)|feel free|let me know)\b")


def refuses(sentence: str, language: str = "english") -> bool:
    """Tell whether a sentence says, and says only, that there is no answer.

    One that turns to something else ("I don't know the year, but it was under Napoleon") does not refuse.

    Args:
        sentence: One sentence.
        language: Its language, as `languages.language_name` returns it; English is recognised in any.
    """
    if len(sentence) > LONGEST_PHRASE:
        return False
    low = " ".join(sentence.lower().split()).strip(_EDGES)
    return any(_refuses(low, phrases) for phrases in phrases_of(language))


def _refuses(low: str, phrases: Phrases) -> bool:
    core = _without_leads(low, phrases)
    first, *others = [part for part in phrases.turn.split(core) if part] or [""]
    return _says_no(first, phrases) and all(
        _says_no(part, phrases) or _INVITATION.match(part) is not None for part in others
    )


def _without_leads(core: str, phrases: Phrases) -> str:
    # "Sorry, but based on the context, …": a few in a row, never all of the sentence.
    for _ in range(4):
        match = phrases.refusal_lead.match(core)
        if match is None or match.end() == len(core):
            break
        core = core[match.end() :]
    return core


def _says_no(part: str, phrases: Phrases) -> bool:
    part = _without_leads(part.strip(" ,"), phrases)
    if phrases.refusal_open.match(part):
        return True
    if not phrases.any_refusal.match(part):
        return False
    for pattern in phrases.refusal:
        match = pattern.match(part)
        if match is not None:
            rest = part[match.end() :].lstrip(" ,")
            if not rest or phrases.doubt.match(rest):
                return True
    return False
