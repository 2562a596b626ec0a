"""A judge's check as one HTML file: nothing in it is loaded from elsewhere, and nothing in it runs."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ragjudge.records import Agreement
from ragjudge.reports import numbers
from ragjudge.reports.agreement_figures import (
    ACCURACY,
    FIGURES,
    PART_FIGURES,
    Line,
    breakdowns,
    drawn,
    facts,
    interval,
    positive,
    reasons,
    sets,
    usage_facts,
    value,
)
from ragjudge.reports.agreement_svg import reliability_svg, roc_svg
from ragjudge.reports.printable import one_line
from ragjudge.reports.totals import usage_line

if TYPE_CHECKING:
    from jinja2 import Environment, Template
    from markupsafe import Markup

_MOST_CHARACTERS = 2_000


class _Plots(NamedTuple):
    reliability: Markup
    roc: Markup


def agreement_page(result: Agreement) -> str:
    """Return a check as an HTML page. The same check always gives the same text.

    Texts from data are escaped, on one line, with controls and bidirectional overrides made visible.

    Args:
        result: The check.
    """
    return _template().render(
        result=result,
        facts=facts(result),
        sets=sets(result),
        breakdowns=breakdowns(result),
        plots=[
            _plots(line, str(number), result.threshold) for number, line in enumerate(drawn(result), start=1)
        ],
        usage="; ".join([usage_line(result.usage), *usage_facts(result)]),
    )


def _plots(line: Line, key: str, threshold: float | None) -> _Plots:
    from markupsafe import Markup

    part = line.part
    if part is None:
        return _Plots(Markup(""), Markup(""))
    reliability = roc = ""
    if part.reliability:
        reliability = reliability_svg(part.reliability, name=line.name, key=key)
    if part.roc:
        roc = roc_svg(
            part.roc,
            name=line.name,
            key=key,
            auc=part.measures.auc.value,
            threshold=threshold,
            best_threshold=part.best_threshold,
        )
    # The drawings escape every text themselves.
    return _Plots(Markup(reliability), Markup(roc))  # noqa: S704


@lru_cache(maxsize=1)
def _template() -> Template:
    environment = _environment()
    environment.globals.update(
        {
            "set_figures": FIGURES,
            "part_figures": PART_FIGURES,
            "meanings": (*FIGURES, ACCURACY),
            "value": value,
            "interval": interval,
            "positive": positive,
            "reasons": reasons,
            "count": numbers.count,
            "score": numbers.score,
            "equation": numbers.equation,
            "cut": _cut,
        }
    )
    return environment.get_template("agreement.html")


def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("ragjudge.reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_harmless,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _harmless(shown: object) -> object:
    """Return what a template shows with nothing in it that is obeyed by whoever displays the page."""
    return one_line(shown) if type(shown) is str else shown


def _cut(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _MOST_CHARACTERS else f"{line[:_MOST_CHARACTERS].rstrip()}…"
