"""English words that tell how the parts of a sentence hang together. All in lower case."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


AUXILIARIES = _words(
    """
    is are was were has have had does do did can could will would may might must should isn't aren't wasn't
    weren't hasn't haven't hadn't doesn't don't didn't can't cannot couldn't won't wouldn't
    """
)

# Finite in any place: forms that differ from the participle, verbs that have no passive, and third persons
# that are no nouns.
FINITE_ONLY = _words(
    """
    became went grew began wrote took gave saw knew ran came fell rose sang drank flew drove chose broke spoke
    stole froze wore tore swore woke rode ate forgot died lived arrived remained resigned retired emigrated
    graduated returned appeared disappeared continued happened existed belonged stayed lay
    includes contains provides belongs consists becomes remains gives takes goes comes knows sees lives dies
    offers produces requires allows describes owns holds brings grows begins keeps lies weighs serves sells
    """
)

# Past forms that are also participles.
_PAST = _words(
    """
    built made held won lost led found founded sold told left brought bought taught thought caught kept spent
    sent met paid said set cut put read got had became stood understood fought sought heard fed bred struck
    """
)

SUBORDINATORS = _words(
    """
    that if whether because although though since unless until while whereas when whenever where wherever who
    whom whose which than as once so before after between either neither both
    """
)

PREPOSITIONS = _words(
    """
    in on at by from with without for to of during under over after before since despite among between through
    throughout and or but following according due as today yesterday later then however therefore thus
    """
)

ADVERBS = _words(
    """
    also then later first soon still never often once now finally subsequently eventually even already
    originally initially currently usually generally mostly mainly officially formally quickly recently
    """
)


def is_past(word: str) -> bool:
    """Tell whether a word may be a past form: "opened", "built"."""
    return word in _PAST or (len(word) > 4 and word.endswith("ed") and not word.endswith("eed"))
