"""``ragjudge metrics``: what can be scored, and what each metric needs."""

from __future__ import annotations

import json
import textwrap

import click

from ragjudge.cli.command import Command
from ragjudge.cli.options import format_option

_WIDTH = 80
_INDENT = " " * 4


@click.command("metrics", cls=Command)
@format_option
def metrics(form: str) -> None:
    """List the metrics: what they mean, the fields they need and the threshold they have."""
    from ragjudge.metrics.registry import make_metric, metric_class, metric_names

    rows = []
    for name in metric_names():
        for by in metric_class(name).variants or (None,):
            metric = make_metric(name, by=by)
            rows.append(
                {
                    "name": name,
                    "by": by,
                    "needs": list(metric.requires),
                    "threshold": metric.default_threshold,
                    "modes": ["decomposed", "holistic"],
                    "summary": metric.summary,
                }
            )
    if form == "json":
        click.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        title = f"{row['name']}[{row['by']}]" if row["by"] else str(row["name"])
        needs = ", ".join(row["needs"])  # type: ignore[arg-type]
        click.echo(f"{title:<27} needs {needs:<20} threshold {row['threshold']}")
        click.echo(
            textwrap.fill(str(row["summary"]), _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)
        )
