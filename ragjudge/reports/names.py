"""Short forms of names in a narrow column: never two names alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ragjudge.reports.printable import shorten

_ENDS_OF_WORDS = "_-./: "


def short_names(names: Iterable[str], cells: int, ellipsis: str = "…") -> dict[str, str]:
    """Return a short form of each name, such that different names have different forms.

    Of names in parts (``python:rag.py:answer``) as many parts are left out in front as do not tell them
    apart, and what is too long even so is cut. Where two names would then look alike, what all begin with
    is left out before; and where even that does not help, nothing is cut.

    Args:
        names: Texts of one line, see `printable.one_line`; parts are separated by colons.
        cells: Width of a form, at most, where that is possible.
        ellipsis: The mark of what is missing.

    >>> short_names(["python:rag.py:answer", "python:rag.py:rerank"], 12)
    {'python:rag.py:answer': 'answer', 'python:rag.py:rerank': 'rerank'}
    >>> short_names(["python:rag.py:answer_of_bm25", "python:rag.py:answer_of_both"], 8)
    {'python:rag.py:answer_of_bm25': '…bm25', 'python:rag.py:answer_of_both': '…both'}
    """
    whole = list(dict.fromkeys(names))
    forms = _last_parts(whole)
    for tried in (forms, _without_beginning(forms, ellipsis)):
        cut = {name: shorten(form, cells, ellipsis) for name, form in tried.items()}
        if len(set(cut.values())) == len(whole):
            return cut
    return forms


def _last_parts(names: list[str]) -> dict[str, str]:
    """Return of each name the fewest last parts that tell all apart."""
    most = max((name.count(":") for name in names), default=0)
    for count in range(1, most + 1):
        forms = {name: ":".join(name.split(":")[-count:]) for name in names}
        if len(set(forms.values())) == len(names):
            return forms
    return {name: name for name in names}


def _without_beginning(forms: Mapping[str, str], ellipsis: str) -> dict[str, str]:
    """Return forms without what all begin with, up to the end of a word where there is one."""
    if not forms:
        return {}
    first, last = min(forms.values()), max(forms.values())  # whatever lies between them begins so too
    same = 0
    while same < len(first) and first[same] == last[same]:
        same += 1
    word = max(first.rfind(mark, 0, same) for mark in _ENDS_OF_WORDS) + 1
    return {name: ellipsis + form[word or same :] for name, form in forms.items()}
