from __future__ import annotations

import random
from pathlib import Path

import pytest

from ragjudge.agreement.checking import LabelSet, check_judge, limited, packaged_sets, read_sets, set_names
from ragjudge.agreement.figures import NOT_SAID, JudgedRow, figures, words_name
from ragjudge.agreement.labels import LabelledRow
from ragjudge.cache.memory import MemoryStore
from ragjudge.errors import ConfigError, DataError
from ragjudge.judges.fake import FakeJudge
from ragjudge.records import Agreement
from tests.agreement.rows import behind_a_store, scripted, support

CHANCES: dict[str, float | None] = {
    "Claim 0.": 0.9,
    "Claim 1.": 0.8,
    "Claim 2.": 0.7,
    "Claim 3.": 0.3,
    "Claim 4.": 0.95,
    "Claim 5.": 0.1,
}
LABELS = [True, True, False, False, False, True]


def _checked(**changes: float | None) -> Agreement:
    rows = [support(number, label, kind="a" if number < 3 else "b") for number, label in enumerate(LABELS)]
    judge = scripted({**CHANCES, **{f"Claim {name[1:]}.": value for name, value in changes.items()}})
    return check_judge(behind_a_store(judge), [LabelSet("six", rows)])


def _judged(number: int, label: bool, chance: float | None, name: str = "set", **more: object) -> JudgedRow:
    return JudgedRow(
        id=str(number),
        set=name,
        label=label,
        group=str(more.pop("group", number)),
        words=int(str(more.pop("words", 10))),
        probability=chance,
        decision=None if chance is None else chance >= 0.5,
        **more,  # type: ignore[arg-type]
    )


def test_the_figures_of_six_rows_are_those_worked_out_by_hand() -> None:
    result = _checked()
    measures = result.overall.measures
    # Right: 0, 1, 3. Wrong: 2 and 4 (label 0), 5 (label 1).
    assert measures.accuracy.value == 0.5
    assert measures.balanced_accuracy.value == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert measures.precision_unsupported.value == 0.5
    assert measures.recall_unsupported.value == pytest.approx(1 / 3, abs=1e-6)
    assert measures.kappa.value == pytest.approx(0.0)
    # Pairs won: 0.9 beats 2, 0.8 beats 2, 0.1 beats none: 4 of 9.
    assert measures.auc.value == pytest.approx(4 / 9, abs=1e-6)
    squares = [0.1, 0.2, 0.7, 0.3, 0.95, 0.9]
    assert measures.brier.value == pytest.approx(sum(each**2 for each in squares) / 6, abs=1e-5)
    assert (result.overall.rows, result.overall.judged, result.overall.positive) == (6, 6, 3)
    assert result.overall.label_mass == 1.0
    assert (result.threshold, result.templates) == (0.5, ("support_excerpt@1",))
    assert result.judges[0].id == "fake"


def test_the_most_confidently_wrong_rows_come_first_with_what_was_judged() -> None:
    wrong = _checked().wrong
    assert [(row.id, row.label) for row in wrong] == [("row-4", False), ("row-5", True), ("row-2", False)]
    assert (wrong[0].claim, wrong[0].kind, wrong[0].set) == ("Claim 4.", "b", "six")
    assert wrong[0].probability == pytest.approx(0.95)


def test_a_row_that_cannot_be_judged_is_counted_and_says_why() -> None:
    result = _checked(_2=None)
    assert (result.overall.rows, result.overall.judged, result.overall.unjudged) == (6, 5, 1)
    (failed,) = [row for row in result.rows if row.error is not None]
    assert (failed.id, failed.probability, failed.decision) == ("row-2", None, None)
    assert "told to fail" in str(failed.error)
    assert result.usage.calls_failed == 1
    assert {part.name: part.unjudged for part in result.by_kind} == {"a": 1, "b": 0}


def test_nothing_that_changes_from_run_to_run_stands_outside_of_usage() -> None:
    store = MemoryStore()
    rows = [support(number, number % 3 > 0, group=number // 2, lang="en") for number in range(30)]
    sets = [LabelSet("first", rows[:20]), LabelSet("second", rows[20:])]
    first = check_judge(behind_a_store(FakeJudge(), store), sets)
    second = check_judge(behind_a_store(FakeJudge(), store), sets)
    assert (first.usage.calls_judged, second.usage.calls_judged, second.usage.calls_replayed) == (30, 0, 30)
    assert first.usage.seconds_per_verdict is not None
    assert second.usage.seconds_per_verdict is None
    assert first.model_dump(exclude={"usage"}) == second.model_dump(exclude={"usage"})


def test_figures_are_told_by_set_length_language_and_kind() -> None:
    rows = [
        *(_judged(number, number % 2 == 0, 0.6, "b", words=20, language="fr") for number in range(4)),
        *(_judged(number, number % 2 == 0, 0.4, "a", words=500, kind="date") for number in range(6)),
    ]
    found = figures(rows)
    assert [(part.name, part.rows) for part in found.by_set] == [("b", 4), ("a", 6)]
    assert [(part.name, part.rows) for part in found.by_words] == [
        ("under 50 words", 4),
        ("400 to 999 words", 6),
    ]
    assert [(part.name, part.rows) for part in found.by_language] == [("fr", 4), (NOT_SAID, 6)]
    assert [(part.name, part.rows) for part in found.by_kind] == [("date", 6), (NOT_SAID, 4)]
    assert found.by_set[0].reliability
    assert found.by_set[0].roc
    assert not found.by_kind[0].roc
    assert figures(rows[:4]).by_kind == ()


def test_the_average_of_sets_counts_each_set_the_same() -> None:
    good = [_judged(number, number % 2 == 0, 0.9 - 0.8 * (number % 2), "good") for number in range(4)]
    bad = [_judged(number, number % 2 == 0, 0.1 + 0.8 * (number % 2), "bad") for number in range(40)]
    found = figures([*good, *bad])
    assert found.average is not None
    assert found.average.auc.value == 0.5
    assert found.average.balanced_accuracy.value == 0.5
    assert found.average.auc.low is not None
    assert figures(good).average is None


def test_sets_are_resampled_independently_of_each_other() -> None:
    chance = random.Random(3)  # noqa: S311 - a test's numbers
    rows = [_judged(number, chance.random() < 0.5, chance.random(), "a") for number in range(60)]
    twin = [_judged(number, row.label, row.probability, "twin of a") for number, row in enumerate(rows)]
    alone = figures(rows).by_set[0].measures.auc
    both = figures([*rows, *twin]).average
    assert both is not None
    assert alone.low is not None
    assert alone.high is not None
    assert both.auc.low is not None
    assert both.auc.high is not None
    assert both.auc.value == alone.value
    # The mean of two independent sets varies less, by the square root of two.
    assert both.auc.high - both.auc.low < 0.85 * (alone.high - alone.low)


def test_one_label_only_leaves_figures_open_and_says_so() -> None:
    part = figures([_judged(number, False, 0.2 + 0.1 * number) for number in range(6)]).overall
    for name in ("balanced_accuracy", "best_balanced_accuracy", "auc", "kappa"):
        estimate = getattr(part.measures, name)
        assert (estimate.value, estimate.low, estimate.reason) == (None, None, "all rows have the label 0")
    assert part.measures.recall_unsupported.value == 0.5
    assert part.measures.accuracy.value == 0.5
    assert (part.best_threshold, part.roc) == (None, ())
    positive = figures([_judged(1, True, 0.9), _judged(2, True, 0.8)]).overall.measures
    assert positive.recall_unsupported.reason == "all rows have the label 1"
    assert positive.precision_unsupported.reason == "nothing was decided negative"


def test_a_single_group_has_figures_without_intervals() -> None:
    rows = [_judged(number, number % 2 == 0, 0.1 * number, group="one") for number in range(8)]
    auc = figures(rows).overall.measures.auc
    assert auc.value is not None
    assert (auc.low, auc.high, auc.reason) == (None, None, "one group only")
    one = figures([_judged(1, True, 0.9)]).overall
    assert (one.measures.accuracy.value, one.measures.accuracy.low, one.groups) == (1.0, None, 1)


def test_nothing_judged_has_no_figures_at_all() -> None:
    part = figures([_judged(1, True, None, error="no"), _judged(2, False, None, error="no")]).overall
    assert (part.rows, part.judged, part.groups) == (2, 0, 0)
    assert {getattr(part.measures, name).reason for name in type(part.measures).model_fields} == {
        "no row was judged"
    }
    assert part.label_mass is None


def test_equal_probabilities_everywhere_give_a_coin() -> None:
    part = figures([_judged(number, number % 2 == 0, 0.5) for number in range(8)]).overall
    assert part.measures.auc.value == 0.5
    assert (part.measures.auc.low, part.measures.auc.high) == (0.5, 0.5)
    assert part.measures.best_balanced_accuracy.value == 0.5
    assert part.best_threshold == 0.5


def test_a_judge_with_a_known_bias_is_recovered() -> None:
    """P is drawn so that it is right in odds shifted by a known bias: the best threshold undoes it."""
    chance = random.Random(5)  # noqa: S311 - a test's numbers
    rows = []
    for number in range(3000):
        truth = chance.random()
        label = chance.random() < truth
        odds = truth / (1 - truth) * 9  # leans to yes by a factor of nine
        rows.append(_judged(number, label, odds / (1 + odds)))
    part = figures(rows).overall
    assert part.best_threshold == pytest.approx(0.9, abs=0.03)
    assert part.measures.best_balanced_accuracy.value == pytest.approx(0.75, abs=0.02)
    assert part.measures.auc.value == pytest.approx(5 / 6, abs=0.02)
    now = part.measures.balanced_accuracy.value
    assert now is not None
    assert now < 0.65


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (0, "under 50 words"),
        (49, "under 50 words"),
        (50, "50 to 149 words"),
        (399, "150 to 399 words"),
        (1000, "1000 words or more"),
    ],
)
def test_lengths_have_fixed_names(words: int, name: str) -> None:
    assert words_name(words) == name


def test_long_curves_are_thinned_and_keep_their_ends() -> None:
    chance = random.Random(9)  # noqa: S311 - a test's numbers
    rows = [_judged(number, chance.random() < 0.5, chance.random()) for number in range(3000)]
    points = figures(rows).overall.roc
    assert 100 < len(points) <= 200
    assert (points[0].threshold, points[0].false_positive_share, points[0].true_positive_share) == (
        None,
        0,
        0,
    )
    assert (points[-1].false_positive_share, points[-1].true_positive_share) == (1, 1)


def test_sets_are_limited_and_say_what_was_left_out() -> None:
    def row(number: int, words: int) -> LabelledRow:
        return support(number, True).model_copy(update={"contexts": ("word " * words,)})

    sets = [LabelSet("a", [row(0, 9), row(1, 5), row(2, 5), row(3, 5)]), LabelSet("b", [row(4, 9)])]
    kept, notes = limited(sets, limit=2, max_words=6)
    assert [(each.name, [row.id for row in each.rows]) for each in kept] == [("a", ["row-1", "row-2"])]
    assert notes == [
        "2 rows with more than 6 words of context left out.",
        "1 row left out: each set gives its first 2.",
    ]
    assert limited(sets) == (sets, [])
    with pytest.raises(DataError, match="no row is left: all 5 have more than 2 words of context"):
        limited(sets, max_words=2)


def test_sets_are_named_by_their_files() -> None:
    assert set_names([Path("x/a.jsonl"), Path("b.csv")]) == ["a", "b"]
    assert set_names([Path("x/a.jsonl"), Path("y/a.jsonl")]) == [
        str(Path("x/a.jsonl")),
        str(Path("y/a.jsonl")),
    ]
    with pytest.raises(DataError, match="named twice; its rows would count twice"):
        set_names([Path("a.jsonl"), Path("a.jsonl")])


def test_one_template_cannot_be_asked_about_both_tasks() -> None:
    passage = LabelledRow(
        id="p", source="t", task="relevance", contexts=("It rains.",), label=True, question="?"
    )
    with pytest.raises(ConfigError, match="two tasks"):
        check_judge(
            behind_a_store(FakeJudge()), [LabelSet("x", [support(1, True), passage])], template="support"
        )


def test_the_packaged_sets_can_be_asked() -> None:
    sets = read_sets(packaged_sets())
    assert sum(len(each.rows) for each in sets) > 200
    result = check_judge(behind_a_store(FakeJudge()), sets)
    assert result.overall.judged == result.overall.rows
    assert len(result.by_language) >= 6
    assert len(result.by_kind) >= 11
