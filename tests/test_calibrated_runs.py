"""Calibrations from the outside: the Python API and suites."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragjudge import Faithfulness, FakeJudge, evaluate, sessions
from ragjudge.agreement import calibration as calibration_module
from ragjudge.assembly import assemble
from ragjudge.cli.main import run
from ragjudge.errors import ConfigError, ModelMissingError
from ragjudge.judges.base import Identity
from ragjudge.prompts.profile import Profile, load_profile
from ragjudge.reports.json import read_report
from ragjudge.suites.load import load_suite
from tests.agreement.calibrations import OTHER_JUDGE, SUPPORT, calibration, saved

CONTEXT = "Guido van Rossum began working on Python in the late 1980s and first released it in 1991."
OUTPUT = "Python was created by Guido van Rossum. It was first released in 1985."
SCRIPT = {"Python was created by Guido van Rossum.": 0.95, "It was first released in 1985.": 0.05}
ROWS = [{"id": "python", "question": "What is Python?", "answer": OUTPUT, "contexts": [CONTEXT]}]


@pytest.fixture(autouse=True)
def _fresh_sessions() -> Iterator[None]:
    yield
    sessions.close_shared()


@pytest.fixture
def strict(tmp_path: Path) -> Path:
    """A calibration of the scripted judge that holds nothing for supported."""
    return saved(tmp_path / "strict.json", calibration(FakeJudge(SCRIPT).identity(), -5.0))


@pytest.fixture
def lenient(tmp_path: Path) -> Path:
    """A calibration of the scripted judge that holds everything for supported."""
    return saved(tmp_path / "lenient.json", calibration(FakeJudge(SCRIPT).identity(), 5.0))


# -- the Python API ------------------------------------------------------------------------------------


def test_a_scorer_s_verdicts_are_calibrated_and_nothing_is_judged_anew(
    strict: Path, lenient: Path, tmp_path: Path
) -> None:
    judge = FakeJudge(SCRIPT)

    def value(calibration: Path | str | None) -> float | None:
        scorer = Faithfulness(judge, cache=tmp_path / "cache", calibration=calibration)
        return scorer.score(output=OUTPUT, context=CONTEXT).value

    assert [value(which) for which in (None, strict, lenient, str(lenient), "none", "shipped")] == [
        0.5, 0.0, 1.0, 1.0, 0.5, 0.5,
    ]  # fmt: skip
    assert len(judge.asked) == 2


def test_an_item_s_probability_is_the_calibrated_one_and_its_label_mass_the_judge_s(strict: Path) -> None:
    score = Faithfulness(FakeJudge(SCRIPT), cache=False, calibration=strict).score(
        output=OUTPUT, context=CONTEXT
    )
    first = score.items[0]
    assert first.verdict is False
    assert first.probability == pytest.approx(0.1135, abs=1e-3)  # the log-odds of 0.95 less 5
    assert first.label_mass == pytest.approx(1.0, abs=1e-4)


def test_the_shipped_calibration_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    made = calibration(FakeJudge(SCRIPT).identity())
    monkeypatch.setattr(calibration_module, "_shipped", lambda: {made.judge: made})
    scorer = Faithfulness(FakeJudge(SCRIPT), cache=False)
    assert scorer.score(output=OUTPUT, context=CONTEXT).value == 0.0
    raw = Faithfulness(FakeJudge(SCRIPT), cache=False, calibration="none")
    assert raw.score(output=OUTPUT, context=CONTEXT).value == 0.5


def test_evaluate_calibrates_scorers_that_do_not_say(strict: Path, lenient: Path) -> None:
    judge = FakeJudge(SCRIPT)
    done = evaluate(
        dataset=ROWS,
        scorers=["faithfulness", Faithfulness(calibration=lenient), Faithfulness(calibration="none")],
        llm=judge,
        cache=False,
        calibration=strict,
    )
    assert [score.value for score in done.rows[0].scores.values()] == [0.0, 1.0, 0.5]
    assert len(judge.asked) == 2
    names = [info.calibration for info in done.report.judges]
    assert names == [
        calibration_module.load_calibration(strict).sha256,
        calibration_module.load_calibration(lenient).sha256,
        None,
    ]
    assert set(done.report.calibrations) == {name for name in names if name is not None}


def test_what_one_model_cost_is_counted_once_however_many_calibrations_it_has(strict: Path) -> None:
    class Counting(FakeJudge):
        def ask(self, calls):  # type: ignore[no-untyped-def]
            self.usage.tokens_decoded += 10 * len(calls)
            return super().ask(calls)

    done = evaluate(
        dataset=ROWS,
        scorers=["faithfulness", Faithfulness(calibration=strict)],
        llm=Counting(SCRIPT),
        cache=False,
    )
    usage = done.report.usage
    assert (usage.tokens_decoded, usage.calls_judged, usage.calls_replayed) == (20, 2, 2)


def test_a_replay_needs_no_model_to_be_calibrated(strict: Path, tmp_path: Path) -> None:
    class Gone(FakeJudge):
        def identity(self) -> Identity:
            raise ModelMissingError("the model is not here.")

    Faithfulness(FakeJudge(SCRIPT), cache=tmp_path / "cache").score(output=OUTPUT, context=CONTEXT)
    sessions.close_shared()
    replay = Faithfulness(Gone(), cache=tmp_path / "cache", replay=True, calibration=strict)
    assert replay.score(output=OUTPUT, context=CONTEXT).value == 0.0


def test_the_calibration_of_another_judge_is_refused(tmp_path: Path) -> None:
    other = saved(tmp_path / "other.json", calibration(OTHER_JUDGE))
    with pytest.raises(ConfigError, match="the calibration is for the judge 'the-judge'"):
        Faithfulness(FakeJudge(), cache=False, calibration=other).score(output=OUTPUT, context=CONTEXT)
    with pytest.raises(ConfigError, match="the calibration is for the judge 'the-judge'"):
        evaluate(dataset=ROWS, scorers=["faithfulness"], llm="fake", cache=False, calibration=other)


def test_a_judge_that_follows_a_profile_is_calibrated_by_the_profile_s_questions(tmp_path: Path) -> None:
    class Trained(FakeJudge):
        @property
        def profile(self) -> Profile:
            return load_profile("granite-guardian")

    def graded(template: str) -> tuple[float | None, tuple[str, ...]]:
        made = calibration(Trained(SCRIPT).identity(), templates=(template,))
        done = evaluate(
            dataset=ROWS,
            scorers=["faithfulness"],
            llm=Trained(SCRIPT),
            cache=False,
            calibration=saved(tmp_path / "trained.json", made),
        )
        return done.rows[0].scores["faithfulness"].value, done.report.judges[0].uncalibrated

    own = f"granite-guardian.support@{load_profile('granite-guardian').version}"
    assert graded(own) == (0.0, ())
    assert graded(SUPPORT) == (0.5, (own,))


# -- suites --------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with rows and calibrations of the plain fake judge, to which OUTPUT is unsupported."""
    fake = FakeJudge().identity()
    (tmp_path / "suites" / "fits").mkdir(parents=True)
    saved(tmp_path / "suites" / "fits" / "lenient.json", calibration(fake, 9.0))
    saved(tmp_path / "suites" / "strict.json", calibration(fake, -9.0))
    saved(tmp_path / "suites" / "other.json", calibration(OTHER_JUDGE))
    (tmp_path / "suites" / "rows.jsonl").write_text(f"{json.dumps(ROWS[0])}\n", encoding="utf-8")
    return tmp_path / "suites"


def graded(folder: Path, text: str, *options: str) -> tuple[list[float | None], list[str | None]]:
    """Run a suite; return its scores and the calibrations of its judges by their names here."""
    suite = folder / "suite.yaml"
    suite.write_text(f"dataset: rows.jsonl\ncache: cache\n{text}", encoding="utf-8")
    output = folder / "report.json"
    assert run(["run", str(suite), "-q", "-o", str(output), *options]) in (0, 1)
    report = read_report(output)
    names: dict[str, str] = {
        calibration_module.load_calibration(path).sha256: path.stem
        for path in (folder / "strict.json", folder / "fits" / "lenient.json")
    }
    return (
        [score.value for score in report.rows[0].scores.values()],
        [None if info.calibration is None else names[info.calibration] for info in report.judges],
    )


ONE = "assert: [{type: faithfulness}]\n"


def test_a_suite_names_a_calibration_for_all_its_judges_relative_to_itself(folder: Path) -> None:
    raw = graded(folder, f"judge: fake\n{ONE}")
    assert raw[1] == [None]
    assert graded(folder, f"judge: fake\ncalibration: fits/lenient.json\n{ONE}") == ([1.0], ["lenient"])
    assert graded(folder, f"judge: fake\ncalibration: strict.json\n{ONE}") == ([0.0], ["strict"])
    assert graded(folder, f"judge: fake\ncalibration: none\n{ONE}") == raw
    assert graded(folder, f"judge: fake\ncalibration: shipped\n{ONE}") == raw


def test_a_judge_s_own_calibration_wins_over_the_suite_s(folder: Path) -> None:
    own = "judge: {id: fake, calibration: fits/lenient.json}\ncalibration: strict.json\n"
    assert graded(folder, own + ONE) == ([1.0], ["lenient"])
    assert graded(folder, f"judge: {{id: fake, calibration: none}}\ncalibration: strict.json\n{ONE}")[1] == [
        None
    ]


def test_one_judge_may_grade_with_several_calibrations_and_is_asked_once(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (
        "judge: fake\njudges: {kind: {id: fake, calibration: fits/lenient.json}}\nassert:\n"
        "- {type: faithfulness}\n"
        "- {type: faithfulness, provider: kind}\n"
        "- {type: faithfulness, provider: {id: kind, calibration: strict.json}}\n"
    )
    values, names = graded(folder, text)
    assert (values[1:], names) == ([1.0, 0.0], [None, "lenient", "strict"])
    usage = read_report(folder / "report.json").usage
    assert (usage.calls_judged, usage.calls_replayed) == (2, 4)
    assert graded(folder, text) == (values, names)
    assert read_report(folder / "report.json").usage.calls_judged == 0


def test_a_suite_s_assembly_says_how_each_calibration_was_asked_for(folder: Path) -> None:
    suite = folder / "suite.yaml"
    suite.write_text(f"dataset: rows.jsonl\njudge: fake\ncalibration: fits/lenient.json\n{ONE}", "utf-8")
    (choice,) = assemble(load_suite(suite)).calibrations.values()
    assert choice is not None
    assert (choice.asked, choice.file, choice.named) == (
        "fits/lenient.json", folder / "fits" / "lenient.json", False,
    )  # fmt: skip


def test_another_judge_s_calibration_in_a_suite_is_exit_2_and_says_whose_it_is(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = folder / "suite.yaml"
    suite.write_text(f"dataset: rows.jsonl\njudge: fake\ncalibration: other.json\n{ONE}", encoding="utf-8")
    assert run(["run", str(suite), "-q", "--no-cache"]) == 2
    told = capsys.readouterr().err
    assert "other.json" in told
    assert "'the-judge'" in told
    assert "'fake'" in told
    suite.write_text(f"dataset: rows.jsonl\njudge: fake\ncalibration: nowhere.json\n{ONE}", encoding="utf-8")
    assert run(["run", str(suite), "-q", "--no-cache"]) == 2
    assert "nowhere.json" in capsys.readouterr().err


def test_a_calibration_in_a_suite_is_a_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite = folder / "suite.yaml"
    suite.write_text(f"dataset: rows.jsonl\njudge: fake\ncalibration: 5\n{ONE}", encoding="utf-8")
    assert run(["run", str(suite)]) == 2
    assert "calibration: found the number 5; accepted: text" in capsys.readouterr().err


def test_the_command_line_wins_over_the_suite(folder: Path) -> None:
    text = f"judge: {{id: fake, calibration: strict.json}}\ncalibration: strict.json\n{ONE}"
    named = str(folder / "fits" / "lenient.json")
    assert graded(folder, text, "--calibration", named) == ([1.0], ["lenient"])
    assert graded(folder, text, "--calibration", "none")[1] == [None]


def test_a_judge_of_the_command_line_keeps_the_calibration_that_is_for_all_judges(folder: Path) -> None:
    own = f"judge: {{id: fake, calibration: strict.json}}\n{ONE}"
    assert graded(folder, own, "--judge", "fake")[1] == [None]
    assert graded(folder, f"calibration: strict.json\n{ONE}", "--judge", "fake")[1] == ["strict"]
