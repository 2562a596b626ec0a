from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ragjudge.cli.main import run

if TYPE_CHECKING:
    import pytest


def test_the_list_of_metrics_fits_a_terminal_of_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["metrics"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == "faithfulness                needs output, contexts     threshold 0.7"
    assert lines[1].startswith("    Share of the output's claims that the contexts support;")


def test_each_variant_of_a_metric_has_a_description_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["metrics", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    by_variant = {row["by"]: row["summary"] for row in rows if row["name"] == "context_precision"}
    assert by_variant["chunks"].startswith("Average precision of the ranked chunks")
    assert by_variant["claims"].startswith("Share of the output's claims")
    summaries = [row["summary"] for row in rows]
    assert len(set(summaries)) == len(summaries) == 6
