"""Where the answer of a model begins that would think first. Pure.

A verdict is read from one position, so that position must be the answer's and not that of a reasoning
block. It is found from what the model's own chat template prints, in this order:

1. the template has a switch (``enable_thinking``, ``thinking``): it is turned off;
2. a past answer stands behind more than what an answer is asked with (a final channel, a block that is
   left empty): that is put in front of the answer as well;
3. the template prints past reasoning: an empty block in exactly that form comes before the answer;
4. a reasoning block is still open: it is closed.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Word = Literal["none", "off", "final", "empty", "closed"]


class Thinking(NamedTuple):
    """How a model is kept from thinking before it answers.

    Attributes:
        word: ``none`` (it does not think), ``off`` (the template's switch), ``final`` (the answer begins
            where past answers do), ``empty`` (an empty reasoning block), ``closed`` (an open one was closed).
        done: What was done, in one phrase.
    """

    word: Word
    done: str


NO_THINKING = Thinking("none", "the format knows no reasoning")


class Past(NamedTuple):
    """How a template prints an answer that was given before.

    Attributes:
        plain: What stands between the question and an answer without reasoning; None = it does not say.
        opening: What stands between the question and the reasoning of an answer; None = it prints none.
        closing: What stands between the reasoning and the answer.
    """

    plain: str | None = None
    opening: str | None = None
    closing: str | None = None


_OPEN = re.compile(r"([<\[◁][^\s<>\[\]◁▷]*think[^\s<>\[\]◁▷]*[>\]▷])(\s*)\Z", re.IGNORECASE)
"""A mark that opens a reasoning block, at the end of a text."""


def answer_start(asked: str, *, switched: bool, past: Past) -> tuple[str, Thinking]:
    """Return the text between a question and its answer, and how it was found.

    Args:
        asked: What the template prints behind the question when an answer is wanted, thinking turned off.
        switched: Whether it prints something else when thinking is turned on.
        past: How it prints past answers.
    """
    plain = past.plain
    if plain is not None and plain.startswith(asked) and plain[len(asked) :].strip():
        more = plain[len(asked) :]
        return _closed(plain) or (
            plain,
            Thinking("final", f"the answer begins where the template puts past ones, behind {more!r}"),
        )
    if not switched and past.opening is not None and past.closing is not None:
        begun = max(asked, past.opening, key=len)
        fits = asked.startswith(past.opening) or past.opening.startswith(asked)
        if fits and past.closing.strip() and past.closing.strip() not in asked:
            text = begun + past.closing
            return text, Thinking("empty", f"an empty reasoning block comes first: {text[len(asked) :]!r}")
    closed = _closed(asked)
    if closed is not None:
        return closed
    if switched:
        return asked, Thinking("off", "the template's own switch is turned off")
    if past.closing is not None and past.closing.strip() and past.closing.strip() in asked:
        return asked, Thinking("off", "the template itself leaves the reasoning block empty")
    return asked, NO_THINKING


def _closed(text: str) -> tuple[str, Thinking] | None:
    """Close the reasoning block that a text ends within; None when it ends within none."""
    match = _OPEN.search(text)
    if match is None or match[1][1] == "/" or "END" in match[1]:
        return None
    mark = match[1]
    end = mark.replace("START", "END") if "START" in mark else f"{mark[0]}/{mark[1:]}"
    added = f"\n{end}\n\n" if "\n" in match[2] else end
    return text + added, Thinking(
        "closed", f"the reasoning block that the template opens is closed: {added!r}"
    )
