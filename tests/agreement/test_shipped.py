"""The calibrations that come with ragjudge belong to its models and to the questions that it asks now."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragjudge.agreement.calibration import Calibration, load_calibration, shipped
from ragjudge.gguf.manifest import load_manifest
from ragjudge.judges.registry import open_judge
from ragjudge.prompts.template import load_template
from tests.project.imports import ROOT

FILES = sorted((ROOT / "models" / "calibrations").glob("*.json"))


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def calibration(request: pytest.FixtureRequest) -> Calibration:
    path: Path = request.param
    return load_calibration(path)


def test_the_default_model_has_one() -> None:
    assert load_manifest().default.name in [path.stem for path in FILES]


def test_it_is_for_a_model_of_the_manifest_as_that_is_asked_by_default(calibration: Calibration) -> None:
    assert calibration.judge_id in load_manifest().names
    assert open_judge(calibration.judge_id).identity().fingerprint == calibration.judge
    assert shipped(calibration.judge) == calibration


def test_it_is_for_the_questions_that_are_asked_now(calibration: Calibration) -> None:
    for reference in calibration.templates:
        name, _, version = reference.rpartition("@")
        assert load_template(name).version == int(version)


def test_its_card_says_what_it_was_fitted_on_and_how_well(calibration: Calibration) -> None:
    assert {data.template for data in calibration.card.data} == set(calibration.templates)
    for reference, fit in calibration.templates.items():
        rows = [data for data in calibration.card.data if data.template == reference]
        assert sum(data.positive for data in rows) >= 30
        assert sum(data.negative for data in rows) >= 30
        figures = calibration.card.figures[reference]
        assert {"raw", fit.kind} <= set(figures)
        # Fitted class-balanced, on sets or groups that the figures were not measured on.
        assert figures[fit.kind]["balanced_accuracy"] >= figures["raw"]["balanced_accuracy"]
        assert figures[fit.kind]["ece"] <= 0.1
    assert calibration.card.limits
