from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from ragjudge.agreement import calibration as calibration_module
from ragjudge.agreement.calibration import (
    Calibration,
    calibration_from,
    load_calibration,
    save_calibration,
    shipped,
)
from ragjudge.agreement.evidence import EVIDENCE_VERSION
from ragjudge.agreement.fits import Fit, Input
from ragjudge.errors import ConfigError, UsageError
from ragjudge.judges.llama.hidden import Basis
from ragjudge.prompts.answers import label_mass, probability
from ragjudge.prompts.template import load_template
from ragjudge.records import Check, ChunkSpan, Verdict, WindowVerdict
from tests.agreement.calibrations import SUPPORT, calibration, shifted

JUDGE, OTHER = "a" * 64, "b" * 64
CHUNKS = ("Ann lives in Oslo.", "Bob moved to Rome in 1999.")
CHECK = load_template("support_excerpt").check("Bob moved to Rome in 1999.", {"question": ""}, CHUNKS)


def raw(chance: float, mass: float = 0.9, hidden: tuple[float, ...] | None = None) -> Verdict:
    return Verdict(
        log_probabilities={"Yes": math.log(mass * chance), "No": math.log(mass * (1 - chance))}, hidden=hidden
    )


def with_fit(fit: Fit) -> Calibration:
    return calibration(JUDGE).model_copy(update={"templates": {SUPPORT: fit}})


def slope(weight: float, bias: float) -> Fit:
    inputs = (Input(name="margin", mean=0.0, scale=1.0, weight=weight),)
    return Fit(kind="platt", bias=bias, inputs=inputs)


def evidence(**weights: float) -> Fit:
    inputs = [Input(name=name, mean=0.0, scale=1.0, weight=weight) for name, weight in weights.items()]
    return Fit(kind="evidence", bias=0.0, inputs=tuple(inputs), evidence_version=EVIDENCE_VERSION)


def test_the_threshold_becomes_one_half_and_the_label_mass_stays() -> None:
    cut = math.log(0.8 / 0.2)
    fit = Fit(kind="threshold", bias=0.0, inputs=(Input(name="margin", mean=cut, scale=1.0, weight=1.0),))
    for chance, expected in ((0.8, 0.5), (0.9, 9 / 13), (0.5, 0.2)):
        result = with_fit(fit).apply(CHECK, raw(chance))
        assert probability(result, "Yes") == pytest.approx(expected, abs=1e-6)
        assert label_mass(result) == pytest.approx(0.9, abs=1e-6)


def test_platt_is_a_slope_and_an_offset_of_the_margin() -> None:
    result = with_fit(slope(0.5, -1.0)).apply(CHECK, raw(0.9))
    assert probability(result, "Yes") == pytest.approx(1 / (1 + math.exp(1 - 0.5 * math.log(9))), abs=1e-6)


def test_calibrated_logarithms_have_six_decimals_and_are_never_certain() -> None:
    result = with_fit(slope(50.0, 0.0)).apply(CHECK, raw(0.99))
    assert probability(result, "Yes") == pytest.approx(1 - 1e-6, rel=1e-9)
    assert all(value == round(value, 6) and value <= 0 for value in result.log_probabilities.values())


def test_a_vanishing_label_mass_keeps_its_size() -> None:
    verdict = Verdict(log_probabilities={"Yes": -900.0, "No": -903.0})
    result = with_fit(slope(1.0, 0.0)).apply(CHECK, verdict)
    assert result.log_probabilities == pytest.approx(verdict.log_probabilities, abs=1e-5)


def test_the_other_labels_keep_their_proportions() -> None:
    check = CHECK.model_copy(update={"labels": ("A", "B", "C"), "positive": "A"})
    verdict = Verdict(log_probabilities={"A": math.log(0.5), "B": math.log(0.3), "C": math.log(0.1)})
    result = with_fit(slope(0.0001, math.log(1 / 3))).apply(check, verdict)
    shares = {label: math.exp(value) / 0.9 for label, value in result.log_probabilities.items()}
    assert shares == pytest.approx({"A": 0.25, "B": 0.5625, "C": 0.1875}, abs=1e-4)


def test_evidence_lowers_what_the_judge_overlooked() -> None:
    fit = evidence(margin=1.0, numbers_missing=-3.0)
    wrong = load_template("support_excerpt").check("Bob moved to Rome in 1998.", {"question": ""}, CHUNKS)
    assert probability(with_fit(fit).apply(CHECK, raw(0.7)), "Yes") == pytest.approx(0.7, abs=1e-6)
    lowered = probability(with_fit(fit).apply(wrong, raw(0.7)), "Yes")
    assert lowered == pytest.approx(1 / (1 + math.exp(3 - math.log(7 / 3))), abs=1e-6)


def test_the_label_mass_is_an_input_by_its_logarithm() -> None:
    result = with_fit(evidence(margin=1.0, label_mass=2.0)).apply(CHECK, raw(0.5, mass=0.5))
    assert probability(result, "Yes") == pytest.approx(0.2, abs=1e-6)


def test_far_out_values_count_no_more_than_at_the_edge_of_what_was_fitted() -> None:
    narrow = Input(name="words_found", mean=0.0, scale=0.01, weight=0.5)
    fit = evidence(margin=1.0)
    fit = fit.model_copy(update={"inputs": (*fit.inputs, narrow)})
    assert probability(with_fit(fit).apply(CHECK, raw(0.5)), "Yes") == pytest.approx(
        1 / (1 + math.exp(-2)), abs=1e-6
    )


def test_each_window_is_calibrated_on_what_it_showed_and_the_likeliest_counts() -> None:
    windows = tuple(
        WindowVerdict(spans=(span,), log_probabilities=raw(chance).log_probabilities)
        for span, chance in (
            (ChunkSpan(0, 0, len(CHUNKS[0])), 0.8),
            (ChunkSpan(1, 0, len(CHUNKS[1])), 0.7),
        )
    )
    verdict = Verdict(log_probabilities=windows[0].log_probabilities, windows=windows)
    result = with_fit(evidence(margin=1.0, numbers_missing=-3.0)).apply(CHECK, verdict)
    assert result.windows is not None
    chances = [
        probability(Verdict(log_probabilities=window.log_probabilities), "Yes") for window in result.windows
    ]
    assert chances == pytest.approx([1 / (1 + math.exp(3 - math.log(4))), 0.7], abs=1e-6)
    assert result.log_probabilities == result.windows[1].log_probabilities
    assert [window.spans for window in result.windows] == [window.spans for window in windows]


BASIS = Basis(mean=(1.0, 0.0, 0.0), components=((0.0, 1.0, 0.0), (0.0, 0.0, 1.0)))
HEAD = Fit(
    kind="head",
    bias=0.0,
    inputs=(
        Input(name="margin", mean=0.0, scale=1.0, weight=1.0),
        Input(name="hidden.2", mean=0.0, scale=2.0, weight=1.0),
    ),
    evidence_version=EVIDENCE_VERSION,
    basis=BASIS,
)


@pytest.mark.parametrize("hidden", [(9.0, 7.0, 3.0), (7.0, 3.0)], ids=["whole", "projected"])
def test_a_head_reads_a_whole_state_and_its_coordinates_alike(hidden: tuple[float, ...]) -> None:
    result = with_fit(HEAD).apply(CHECK, raw(0.5, hidden=hidden))
    assert probability(result, "Yes") == pytest.approx(1 / (1 + math.exp(-1.5)), abs=1e-6)


@pytest.mark.parametrize(("hidden", "found"), [(None, "none"), ((1.0,), "one of 1 numbers")])
def test_a_head_without_its_state_says_so(hidden: tuple[float, ...] | None, found: str) -> None:
    with pytest.raises(ConfigError, match=rf"3 numbers, or 2 coordinates\), and a verdict carries {found}"):
        with_fit(HEAD).apply(CHECK, raw(0.5, hidden=hidden))


def test_a_template_that_is_not_calibrated_keeps_its_verdict() -> None:
    check = load_template("sentence_relevance").check("Ann came.", {"question": "Who?"})
    verdict = raw(0.9)
    assert calibration(JUDGE).apply(check, verdict) is verdict


def test_another_judge_is_refused() -> None:
    calibration(JUDGE).check_judge(JUDGE)
    with pytest.raises(ConfigError, match=r"^x.json: the calibration is for the judge 'the-judge' with the"):
        calibration(JUDGE).check_judge(OTHER, "mine", "x.json")
    with pytest.raises(ConfigError) as caught:
        calibration(JUDGE).check_judge(OTHER)
    assert "--hidden makes another judge" in str(caught.value.hint)


def test_another_version_of_a_template_keeps_its_verdict() -> None:
    known = with_fit(evidence(margin=2.0))
    newer = CHECK.model_copy(update={"version": CHECK.version + 1})
    assert known.apply(newer, raw(0.7)) == raw(0.7)
    assert known.apply(CHECK, raw(0.7)) != raw(0.7)


def test_a_file_is_read_back_as_it_was_and_its_digest_is_of_the_content(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    save_calibration(with_fit(HEAD), path)
    read = load_calibration(path)
    assert read == with_fit(HEAD)
    assert read.sha256 == with_fit(HEAD).sha256
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8"))), encoding="utf-8")
    assert load_calibration(path).sha256 == read.sha256
    assert calibration(JUDGE, 1.0).sha256 != calibration(JUDGE, 2.0).sha256
    assert list(tmp_path.iterdir()) == [path]


def test_the_file_has_each_list_of_numbers_on_one_line(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    save_calibration(with_fit(HEAD), path)
    assert "[0.0, 1.0, 0.0]" in path.read_text(encoding="utf-8")


def test_a_file_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        save_calibration(calibration(JUDGE), tmp_path / "nowhere" / "c.json")


def _changed(**fit: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(calibration(JUDGE).document))
    document["templates"][SUPPORT] |= fit
    return document


MARGIN = {"name": "margin", "mean": 0, "scale": 1, "weight": 1}


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ([], "schema_version is None"),
        ({**calibration(JUDGE).document, "schema_version": 2}, "schema_version is 2; .* reads has 1"),
        ({**calibration(JUDGE).document, "judge": "short"}, "judge: "),
        ({**calibration(JUDGE).document, "templates": {"support": {}}}, "templates.support"),
        ({**calibration(JUDGE).document, "more": 1}, "more: "),
        (_changed(kind="magic"), "kind: "),
        (_changed(bias=float("nan")), "bias: "),
        (_changed(inputs=[]), "inputs: "),
        (_changed(inputs=[{**MARGIN, "scale": 0}]), "scale: "),
        (_changed(inputs=[MARGIN, MARGIN]), "the first input is the margin, and each stands there once"),
        (_changed(inputs=[{**MARGIN, "name": "luck"}]), "'luck' is unknown to the kind threshold: margin"),
        (_changed(kind="evidence"), "evidence_version is None; this release counts version 1"),
        (_changed(kind="head", evidence_version=1), "a basis belongs to the kind head"),
        (
            _changed(kind="head", evidence_version=1, basis={"mean": [0, 0], "components": [[1]]}),
            "every component of the basis has as many numbers as its mean",
        ),
        (
            _changed(kind="head", evidence_version=1, basis={"mean": [0], "components": [[1]]}),
            "a basis has fewer components than dimensions",
        ),
    ],
)
def test_a_file_that_is_no_calibration_is_refused_in_one_sentence(
    tmp_path: Path, document: Any, said: str
) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        calibration_from(document, "c.json")
    assert caught.value.message.startswith("c.json: ")
    assert "\n" not in caught.value.message


def test_text_that_is_no_json_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    with pytest.raises(ConfigError, match="cannot be read"):
        load_calibration(path)
    path.write_text("{", encoding="utf-8")
    with pytest.raises(ConfigError, match="is no JSON text"):
        load_calibration(path)


def test_what_ships_is_found_by_the_judge_s_fingerprint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "models" / "calibrations"
    folder.mkdir(parents=True)
    save_calibration(calibration(JUDGE), folder / "one.json")
    monkeypatch.setattr(calibration_module, "checkout_root", lambda: tmp_path)
    calibration_module._shipped.cache_clear()
    try:
        assert shipped(JUDGE) == calibration(JUDGE)
        assert shipped(OTHER) is None
    finally:
        calibration_module._shipped.cache_clear()


def test_every_calibration_that_ships_is_valid_and_for_a_judge_of_its_own() -> None:
    calibration_module._shipped.cache_clear()
    found = calibration_module._shipped()
    assert all(each.judge == judge for judge, each in found.items())


def test_a_shift_of_nothing_changes_nothing() -> None:
    verdict = raw(0.83)
    check: Check = CHECK
    result = with_fit(shifted(0.0)).apply(check, verdict)
    assert result.log_probabilities == pytest.approx(verdict.log_probabilities, abs=1e-6)
