"""Calibrations made by hand, for tests of what is done with them."""

from __future__ import annotations

from pathlib import Path

from ragjudge.agreement.calibration import Calibration, Card, save_calibration
from ragjudge.agreement.fits import Fit, Input
from ragjudge.judges.base import Identity
from ragjudge.prompts.template import load_template

OTHER_JUDGE = "0" * 64
SUPPORT = f"support_excerpt@{load_template('support_excerpt').version}"
"""What a run asks about claims when nobody says otherwise."""


def shifted(bias: float) -> Fit:
    """Return a fit that adds ``bias`` to the margin: 0 changes nothing, -5 turns a P of 0.95 to 0.11."""
    return Fit(kind="threshold", bias=bias, inputs=(Input(name="margin", mean=0.0, scale=1.0, weight=1.0),))


def calibration(
    judge: Identity | str, bias: float = -5.0, *, templates: tuple[str, ...] = (SUPPORT,)
) -> Calibration:
    """Return a calibration of a judge that shifts the margins of some templates."""
    fingerprint = judge if isinstance(judge, str) else judge.fingerprint
    return Calibration(
        judge=fingerprint,
        judge_id="the-judge",
        templates=dict.fromkeys(templates, shifted(bias)),
        card=Card(date="2026-01-01", data=(), folds={}, figures={}),
    )


def saved(path: Path, what: Calibration) -> Path:
    """Write a calibration and return its path."""
    save_calibration(what, path)
    return path
