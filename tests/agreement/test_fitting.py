from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
import pytest

from ragjudge.agreement.candidates import PLAIN_INPUTS, fit_candidate, predict
from ragjudge.agreement.crossval import Lag, Rows, figures, folds, lags, sets_stand_alone, simplest, weights
from ragjudge.agreement.evidence import FEATURES
from ragjudge.agreement.fits import Kind
from ragjudge.agreement.fitting import calibrate, fit_template
from ragjudge.agreement.judged import Judged, rows_of
from ragjudge.errors import DataError, UsageError
from ragjudge.prompts.answers import probability
from ragjudge.prompts.template import load_template
from ragjudge.records import Verdict

SUPPORT = load_template("support", 1)
CHUNK = "The bridge at Lund was built in 1907 by Olaf Berg and repaired twice."


def verdict(margin: float, hidden: tuple[float, ...] | None = None) -> Verdict:
    shares = {"Yes": -np.log1p(np.exp(-margin)), "No": -np.log1p(np.exp(margin))}
    return Verdict(
        log_probabilities={label: round(float(value), 6) for label, value in shares.items()}, hidden=hidden
    )


def simulated(
    count: int = 600,
    *,
    slope: float = 1.0,
    offset: float = 0.0,
    sets: int = 1,
    seed: int = 0,
    noise: float = 1.0,
    claims: bool = False,
    hidden: int = 0,
) -> list[Judged]:
    """Return the answers of a judge whose margin is known to be off.

    P(label) = sigmoid(slope * margin + offset) for noise 1. With claims, a false one names another year.
    """
    draw = np.random.default_rng(seed)
    found = []
    for number in range(count):
        z = draw.normal(0, 1.5)
        label = bool(draw.random() < 1 / (1 + np.exp(-z)))
        margin = (z * noise + draw.normal(0, 1) * (1 - noise) - offset) / slope
        year = 1907 if label or not claims else 1850 + number % 50
        state = draw.normal(0, 1, hidden)
        state[: min(hidden, 2)] += 2.5 * (label - 0.5)
        kept = tuple(float(f"{value:.4g}") for value in state) if hidden else None
        check = SUPPORT.check(f"The bridge was built in {year}.", {"question": ""}, (CHUNK,))
        data, group = number % sets, number // (3 * sets)
        found.append(Judged(check, verdict(float(margin), kept), label, f"set{data}", f"group{data}.{group}"))
    return found


def test_the_bias_of_a_simulated_judge_is_recovered() -> None:
    judged = simulated(3000, slope=0.4, offset=-1.0)
    fit = fit_template(judged, kinds=("threshold", "platt"))
    assert fit.fit.kind == "platt"
    assert fit.fit.inputs[0].weight == pytest.approx(0.4, abs=0.03)
    assert fit.fit.bias == pytest.approx(-1.0, abs=0.1)
    raw, platt = fit.candidates["raw"].figures, fit.candidates["platt"].figures
    assert raw.ece > 0.15
    assert platt.ece < 0.03
    assert platt.auc == pytest.approx(raw.auc, abs=0.01)
    assert platt.balanced_accuracy > raw.balanced_accuracy + 0.05


def test_a_judge_that_only_leans_gets_a_threshold() -> None:
    fit = fit_template(simulated(1000, offset=-2.0))
    assert fit.fit.kind == "threshold"
    assert fit.fit.inputs[0].mean == pytest.approx(2.0, abs=0.05)
    assert fit.candidates["threshold"].figures.balanced_accuracy > 0.7


def test_evidence_is_taken_when_it_sees_what_the_judge_overlooks() -> None:
    fit = fit_template(simulated(600, noise=0.3, claims=True))
    assert fit.fit.kind == "evidence"
    assert {each.name: each.weight for each in fit.fit.inputs}["numbers_missing"] < -0.5
    assert fit.candidates["evidence"].figures.auc > fit.candidates["platt"].figures.auc + 0.1


def test_a_head_is_taken_when_the_hidden_state_knows_more() -> None:
    judged = simulated(400, noise=0.3, hidden=24)
    fit = fit_template(judged)
    assert fit.fit.kind == "head"
    assert fit.fit.basis is not None
    assert fit.candidates["head"].figures.auc > 0.9
    directions = np.asarray(fit.fit.basis.components)
    assert directions @ directions.T == pytest.approx(np.eye(len(directions)), abs=1e-3)
    assert fit_template(simulated(400)).left_out == {"head": "the judge keeps no hidden state"}


@pytest.mark.parametrize("kind", ["threshold", "platt", "evidence", "head"])
def test_the_file_says_of_each_row_what_was_predicted_of_it(kind: Kind) -> None:
    judged = simulated(200, noise=0.5, claims=True, hidden=12)
    calibration, fits = calibrate(judged, judge="a" * 64, judge_id="sim", date="2026-01-01", kinds=(kind,))
    assert fits[0].fit.kind == kind
    expected = predict(fits[0].fit, rows_of(judged))
    applied = [probability(calibration.apply(each.check, each.verdict), "Yes") for each in judged]
    assert applied == pytest.approx(list(expected), abs=2e-3 if kind == "head" else 2e-6)


def test_fits_are_the_same_every_time() -> None:
    def once() -> str:
        judged = simulated(200, sets=3, noise=0.5, claims=True, hidden=12)
        return calibrate(judged, judge="a" * 64, judge_id="sim", date="2026-01-01")[0].sha256

    assert once() == once()


def test_numbers_in_the_file_have_six_digits_at_most() -> None:
    fit = fit_template(simulated(200, claims=True), kinds=("evidence",)).fit
    numbers = [fit.bias, *(value for each in fit.inputs for value in (each.mean, each.scale, each.weight))]
    assert all(value == float(f"{value:.6g}") for value in numbers)


def test_a_margin_that_falls_with_the_label_gets_no_slope() -> None:
    judged = [each._replace(label=not each.label) for each in simulated(300)]
    fit = fit_template(judged, kinds=("threshold", "platt"))
    assert fit.left_out == {"platt": "the margin does not rise with the label"}
    with pytest.raises(DataError, match=r"no candidate can be fitted for support@1 \(platt: the margin"):
        fit_template(judged, kinds=("platt",))


def test_too_few_labels_are_refused_with_both_counts() -> None:
    judged = [each for each in simulated(400) if each.label][:80] + [
        each for each in simulated(400) if not each.label
    ][:29]
    with pytest.raises(
        DataError, match="at least 30 rows of each label, and there are 80 with label 1 and 29"
    ):
        fit_template(judged)
    with pytest.raises(DataError, match="there are no labelled rows to fit on"):
        calibrate([], judge="a" * 64, judge_id="sim", date="2026-01-01")


def test_too_few_groups_are_refused() -> None:
    judged = [each._replace(group=f"g{number % 3}") for number, each in enumerate(simulated(200))]
    with pytest.raises(DataError, match=r"are of 3 groups .* at least 5 are needed"):
        fit_template(judged)


def test_as_many_groups_as_asked_for_are_enough_for_every_candidate() -> None:
    judged = [each._replace(group=f"g{number % 5}") for number, each in enumerate(simulated(200))]
    assert set(fit_template(judged).candidates) == {"raw", "threshold", "platt", "evidence"}


def test_many_tiny_sets_of_the_same_articles_are_cut_by_group() -> None:
    judged = [
        each._replace(data=f"s{number // 6}", group=f"g{number % 6}")
        for number, each in enumerate(simulated(180))
    ]
    fit = fit_template(judged, kinds=("threshold", "platt"))
    assert fit.folds.startswith("5 folds of the 6 groups")


def test_a_template_with_too_few_labels_is_left_out_and_named() -> None:
    check = load_template("chunk_relevance", 1).check("A text.", {"question": "Q?"}, ("A text.",))
    judged = [*simulated(200), simulated(1)[0]._replace(check=check)]
    calibration, _ = calibrate(
        judged, judge="a" * 64, judge_id="sim", date="2026-01-01", kinds=("platt",), limits=("Mind this.",)
    )
    assert list(calibration.templates) == ["support@1"]
    limits = calibration.card.limits
    assert any(limit.startswith("chunk_relevance@1 is not calibrated: ") for limit in limits)
    assert limits[-1] == "Mind this."


def test_the_card_says_what_was_fitted_on_and_how_it_was_tested() -> None:
    card = calibrate(simulated(300, sets=3), judge="a" * 64, judge_id="sim", date="2026-01-01")[0].card
    assert card.date == "2026-01-01"
    assert [data.name for data in card.data] == ["set0", "set1", "set2"]
    assert sum(data.positive + data.negative for data in card.data) == 300
    assert card.folds["support@1"].startswith("each of the 3 sets is tested by fits on the others")
    assert set(card.figures["support@1"]) == {"raw", "threshold", "platt", "evidence"}
    narrow = calibrate(simulated(300), judge="a" * 64, judge_id="sim", date="2026-01-01")[0].card
    assert narrow.folds["support@1"] == "5 folds of the 100 groups: each is tested by fits on the others"
    assert any("not tested on texts of another source" in limit for limit in narrow.limits)


def test_fitting_without_scikit_learn_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(UsageError, match="needs scikit-learn") as caught:
        fit_template(simulated(100))
    assert caught.value.hint == "pip install 'ragjudge-offline[calibrate]'"


def columns(labels: Sequence[int], sets: Sequence[str], groups: Sequence[str]) -> Rows:
    plain = np.zeros((len(labels), 2 + len(FEATURES)))
    return Rows(np.array(labels, np.bool_), np.array(sets), np.array(groups), plain)


@pytest.mark.parametrize(("rows_of_each_label", "is_used"), [(29, False), (30, True)])
def test_little_in_another_language_teaches_nothing_of_it(rows_of_each_label: int, is_used: bool) -> None:
    count = 400
    labels = [number % 2 for number in range(count)]
    rows = columns(labels, ["a"] * count, list(map(str, range(count))))
    noise = np.random.default_rng(5).normal(size=count)
    rows.plain[:, PLAIN_INPUTS.index("margin")] = np.array(labels) + noise
    rows.plain[: 2 * rows_of_each_label, PLAIN_INPUTS.index("other_language")] = 1.0
    fit = fit_candidate("evidence", rows, np.arange(count))
    assert fit is not None
    assert ("other_language" in [each.name for each in fit.inputs]) is is_used


def test_labels_and_sets_weigh_the_same() -> None:
    rows = columns([1, 1, 1, 0, 1, 0, 0], ["a"] * 4 + ["b"] * 3, list("1234567"))
    weight = weights(rows, np.arange(7))
    assert weight == pytest.approx([1 / 12] * 3 + [1 / 4, 1 / 4, 1 / 8, 1 / 8])
    assert weights(rows, np.arange(5)).sum() == pytest.approx(1.0)


def test_a_group_is_never_on_both_sides_even_across_sets() -> None:
    shared = [f"g{number % 6}" if number < 12 else f"h{number}" for number in range(60)]
    rows = columns([0, 1] * 30, ["a", "b", "c"] * 20, shared)
    cut = folds(rows, np.arange(60))
    assert len(cut) == 3
    for fold in cut:
        assert set(rows.sets[fold.test]) & set(rows.sets[fold.train]) == set()
        assert set(rows.groups[fold.test]) & set(rows.groups[fold.train]) == set()


def test_sets_of_the_same_articles_are_cut_by_group() -> None:
    rows = columns([0, 1] * 30, ["en", "de", "fr"] * 20, [f"g{number // 3}" for number in range(60)])
    assert not sets_stand_alone(rows, np.arange(60))
    cut = folds(rows, np.arange(60))
    assert len(cut) == 5
    for fold in cut:
        assert len(fold.train) + len(fold.test) == 60
        assert set(rows.groups[fold.test]) & set(rows.groups[fold.train]) == set()


def test_few_sets_are_cut_by_group_and_every_row_is_tested_once() -> None:
    rows = columns([0, 1] * 30, ["a"] * 60, [f"g{number // 4}" for number in range(60)])
    cut = folds(rows, np.arange(60))
    assert len(cut) == 5
    assert sorted(np.concatenate([fold.test for fold in cut])) == list(range(60))
    for fold in cut:
        assert set(rows.groups[fold.test]) & set(rows.groups[fold.train]) == set()


def test_figures_of_known_probabilities() -> None:
    rows = columns([1, 1, 0, 0], ["a"] * 4, list("1234"))
    found = figures(rows, np.array([0.9, 0.4, 0.2, 0.2]))
    assert found.balanced_accuracy == 0.75
    assert found.auc == 1.0
    assert found.ece == pytest.approx(0.25 * 0.1 + 0.25 * 0.6 + 0.5 * 0.2)
    assert found.brier == pytest.approx((0.01 + 0.36 + 0.04 + 0.04) / 4)
    assert found.log_loss == pytest.approx(-(np.log(0.9) + np.log(0.4) + 2 * np.log(0.8)) / 4)


def test_the_simplest_within_one_standard_error_is_chosen() -> None:
    rows = columns([1, 0] * 20, ["a"] * 40, [str(number) for number in range(40)])
    good = np.where(rows.labels, 0.8, 0.2)
    # As good on average, and no better row by row than chance would have it.
    wobbly = np.where(np.arange(40) % 4 < 2, np.where(rows.labels, 0.9, 0.1), np.where(rows.labels, 0.7, 0.3))
    found = lags(rows, {"threshold": np.full(40, 0.5), "platt": wobbly, "evidence": good})
    assert found["evidence"] == Lag(0.0, 0.0)
    assert found["threshold"].difference == pytest.approx(np.log(0.8 / 0.5))
    assert 0 < found["platt"].difference < found["platt"].error
    assert simplest(found, ("threshold", "platt", "evidence", "head")) == "platt"


def test_rows_of_a_group_do_not_count_as_independent() -> None:
    labels, values = [1, 0] * 20, np.tile([0.8, 0.6, 0.9, 0.1], 10)
    one = columns(labels, ["a"] * 40, [str(number) for number in range(40)])
    tied = columns(labels, ["a"] * 40, [str(number % 4) for number in range(40)])
    half = np.full(40, 0.5)
    errors = [lags(rows, {"threshold": half, "platt": values})["threshold"].error for rows in (one, tied)]
    assert errors[1] > 2 * errors[0]


def test_a_person_may_take_another_candidate_and_the_card_says_so() -> None:
    judged = simulated(300, offset=1.0)
    advised = fit_template(judged, kinds=("threshold", "platt"))
    assert advised.fit.kind == advised.advised == "threshold"
    calibration, (fit,) = calibrate(
        judged, judge="a" * 64, judge_id="sim", date="2026-01-01", kinds=("threshold", "platt"), taken="platt"
    )
    assert (fit.fit.kind, fit.advised) == ("platt", "threshold")
    template = fit.template
    assert f"{template}: platt was asked for; the rule would have taken threshold." in calibration.card.limits
    with pytest.raises(DataError, match=r"head cannot be fitted for .*: the judge keeps no hidden state"):
        fit_template(judged, taken="head")
