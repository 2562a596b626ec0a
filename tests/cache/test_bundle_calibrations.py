"""The calibrations that a bundle carries, and replays with them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragjudge import Faithfulness, evaluate, sessions
from ragjudge.agreement import calibration as calibration_module
from ragjudge.agreement.calibration import Calibration, load_calibration
from ragjudge.agreement.choosing import choice_of, open_calibrated_judge
from ragjudge.cache.bundle import BundleStore, read_bundle, write_bundle
from ragjudge.cache.calibrations import CALIBRATION, CalibrationEntry, calibration_row, read_calibration
from ragjudge.cache.store import Store
from ragjudge.cli.main import run
from ragjudge.errors import CacheError, ConfigError
from ragjudge.judges.fake import FakeJudge
from ragjudge.reports.json import read_report
from tests.agreement.calibrations import OTHER_JUDGE, calibration, saved
from tests.cache.helpers import check, put
from tests.cache.test_bundle import assert_refused, change, lines_of, pack

CONTEXT = "Guido van Rossum began working on Python in the late 1980s and first released it in 1991."
GOOD = "Guido van Rossum released Python in 1991."
ROW = {"id": "good", "question": "Who released Python?", "answer": GOOD, "contexts": [CONTEXT]}
FAKE = FakeJudge().identity()
LENIENT = calibration(FAKE, 9.0)
STRICT = calibration(FAKE, -9.0)
ONE = "assert: [{type: faithfulness}]\n"


@pytest.fixture(autouse=True)
def _fresh_sessions() -> Iterator[None]:
    yield
    sessions.close_shared()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rows.jsonl").write_text(f"{json.dumps(ROW)}\n", encoding="utf-8")
    saved(tmp_path / "lenient.json", LENIENT)
    saved(tmp_path / "strict.json", STRICT)
    return tmp_path


def ship(monkeypatch: pytest.MonkeyPatch, *made: Calibration) -> None:
    """Let a release come with these calibrations."""
    monkeypatch.setattr(calibration_module, "_shipped", lambda: {each.judge: each for each in made})


def exported(folder: Path, text: str, *options: str, name: str = "suite.rjz") -> Path:
    """Run a suite and export its bundle."""
    suite, bundle = folder / "suite.yaml", folder / name
    suite.write_text(f"judge: fake\ndataset: rows.jsonl\ncache: cache\n{text}", encoding="utf-8")
    assert run(["run", str(suite), "-q"]) in (0, 1)
    assert run(["cache", "export", "-o", str(bundle), "--for", str(suite), *options]) == 0
    return bundle


def replayed(folder: Path, bundle: Path, *options: str) -> tuple[list[float | None], list[str | None]]:
    """Replay the suite from a bundle; return its scores and its judges' calibrations."""
    suite, output = folder / "suite.yaml", folder / "report.json"
    assert run(["run", str(suite), "--bundle", str(bundle), "-q", "-o", str(output), *options]) in (0, 1)
    report = read_report(output)
    assert report.usage.calls_judged == 0
    return (
        [score.value for score in report.rows[0].scores.values()],
        [judge.calibration for judge in report.judges],
    )


def carried(bundle: Path) -> dict[str, str | None]:
    """Return the sha256 of what a bundle carries, by how it was asked for."""
    entries = BundleStore(bundle).calibrations(FAKE.fingerprint)
    return {
        asked: None if entry.content is None else Calibration.model_validate(entry.content).sha256
        for asked, entry in entries.items()
    }


# -- rows ----------------------------------------------------------------------------------------------


def test_a_row_is_read_as_it_was_written() -> None:
    name, text = calibration_row(FAKE.fingerprint, "mine.json", STRICT.document)
    assert read_calibration(name, text) == CalibrationEntry(FAKE.fingerprint, "mine.json", STRICT.document)
    assert json.loads(text)["sha256"] == STRICT.sha256
    name, text = calibration_row(FAKE.fingerprint, "none", None)
    assert read_calibration(name, text) == CalibrationEntry(FAKE.fingerprint, "none", None)


@pytest.mark.parametrize(
    "changes",
    [
        {"sha256": "0" * 64},
        {"sha256": None},
        {"calibration": None},
        {"calibration": []},
        {"calibration": {"judge": "x"}},
        {"asked": "other.json"},
        {"asked": 5},
        {"judge": OTHER_JUDGE},
        {"judge": "x"},
        {"more": 1},
    ],
)
def test_a_row_that_does_not_follow_from_its_content_is_none(changes: dict[str, object]) -> None:
    name, text = calibration_row(FAKE.fingerprint, "mine.json", STRICT.document)
    assert read_calibration(name, json.dumps({**json.loads(text), **changes})) is None
    for broken in ("", "[]", "null", "5", "[" * 100_000):
        assert read_calibration(name, broken) is None


# -- export and replay ---------------------------------------------------------------------------------


def test_a_raw_suite_s_bundle_has_no_word_about_calibrations_and_replays_raw_for_ever(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = exported(folder, ONE)
    assert not any(name.startswith(CALIBRATION) for name in read_bundle(bundle))
    values, names = replayed(folder, bundle)
    assert names == [None]
    ship(monkeypatch, STRICT)  # a later release
    assert replayed(folder, bundle) == (values, [None])
    assert replayed(folder, bundle, "--calibration", "shipped") == ([0.0], [STRICT.sha256])


def test_a_later_release_changes_no_score_of_a_bundle(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ship(monkeypatch, STRICT)
    bundle = exported(folder, ONE)
    assert carried(bundle) == {"shipped": STRICT.sha256}
    before = bundle.read_bytes()
    for release in ([LENIENT], []):
        ship(monkeypatch, *release)
        assert replayed(folder, bundle) == ([0.0], [STRICT.sha256])
    assert bundle.read_bytes() == before


def test_a_bundle_replays_with_its_suite_s_file_even_when_that_has_changed_or_gone(folder: Path) -> None:
    bundle = exported(folder, f"calibration: strict.json\n{ONE}")
    assert carried(bundle) == {"strict.json": STRICT.sha256}
    saved(folder / "strict.json", LENIENT)
    assert replayed(folder, bundle) == ([0.0], [STRICT.sha256])
    (folder / "strict.json").unlink()
    assert replayed(folder, bundle) == ([0.0], [STRICT.sha256])


def test_another_calibration_is_used_when_it_is_named(folder: Path) -> None:
    bundle = exported(folder, f"calibration: strict.json\n{ONE}")
    lenient = str(folder / "lenient.json")
    assert replayed(folder, bundle, "--calibration", lenient) == ([1.0], [LENIENT.sha256])
    assert replayed(folder, bundle, "--calibration", "none")[1] == [None]
    assert replayed(folder, bundle, "--calibration", "shipped")[1] == [None]


def test_two_exports_with_calibrations_are_the_same_bytes(folder: Path) -> None:
    text = f"calibration: strict.json\n{ONE}"
    first = exported(folder, text)
    assert exported(folder, text, name="again.rjz").read_bytes() == first.read_bytes()
    assert replayed(folder, first) == replayed(folder, folder / "again.rjz")


def test_each_of_several_calibrations_of_one_judge_replays_where_it_was_asked_for(folder: Path) -> None:
    bundle = exported(
        folder,
        "assert:\n"
        "- {type: faithfulness}\n"
        "- {type: faithfulness, provider: {id: fake, calibration: strict.json}}\n"
        "- {type: faithfulness, provider: {id: fake, calibration: lenient.json}}\n",
    )
    assert carried(bundle) == {
        "shipped": None,
        "strict.json": STRICT.sha256,
        "lenient.json": LENIENT.sha256,
    }
    values, names = replayed(folder, bundle)
    assert values[1:] == [0.0, 1.0]
    assert names == [None, STRICT.sha256, LENIENT.sha256]


def test_the_calibration_of_the_export_is_that_of_the_replay(folder: Path) -> None:
    strict = str(folder / "strict.json")
    bundle = exported(folder, f"calibration: lenient.json\n{ONE}", "--calibration", strict)
    assert replayed(folder, bundle) == ([0.0], [STRICT.sha256])
    bundle = exported(folder, f"calibration: lenient.json\n{ONE}", "--calibration", "none")
    assert replayed(folder, bundle)[1] == [None]


def test_a_bundle_without_the_suite_s_file_is_refused_and_not_replayed_with_other_scores(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    exported(folder, f"calibration: strict.json\n{ONE}")
    everything = folder / "all.rjz"
    for made in ((), (LENIENT,)):
        ship(monkeypatch, *made)
        assert run(["cache", "export", "-o", str(everything), "--cache", str(folder / "cache")]) == 0
        assert run(["run", str(folder / "suite.yaml"), "--bundle", str(everything), "-q"]) == 2
        assert "does not carry the calibration 'strict.json'" in capsys.readouterr().err
        strict = str(folder / "strict.json")
        assert replayed(folder, everything, "--calibration", strict) == ([0.0], [STRICT.sha256])


def test_a_bundle_s_only_calibration_serves_other_commands_and_the_api(folder: Path) -> None:
    bundle = exported(folder, f"calibration: strict.json\n{ONE}")
    data = str(folder / "rows.jsonl")
    grade = ["grade", data, "-m", "faithfulness", "--judge", "fake", "--bundle", str(bundle), "-q"]
    assert run(grade) == 1
    assert run([*grade, "--calibration", "none"]) == 0
    score = Faithfulness("fake", bundle=bundle).score(input=ROW["question"], output=GOOD, context=CONTEXT)  # type: ignore[arg-type]
    assert score.value == 0.0
    done = evaluate(dataset=[ROW], scorers=["faithfulness"], llm="fake", bundle=bundle, calibration="none")
    assert done.report.judges[0].calibration is None
    assert done.rows[0].scores["faithfulness"].value == 1.0


def test_a_bundle_with_several_calibrations_asks_which_one_is_meant(folder: Path) -> None:
    bundle = folder / "two.rjz"
    rows = [
        calibration_row(FAKE.fingerprint, "strict.json", STRICT.document),
        calibration_row(FAKE.fingerprint, "lenient.json", LENIENT.document),
    ]
    write_bundle(bundle, rows)
    store = BundleStore(bundle)
    with pytest.raises(
        CacheError, match=r"2 calibrations of judge 'fake', asked for as 'lenient\.json', 'str"
    ):
        open_calibrated_judge(FakeJudge(), store)
    asked = open_calibrated_judge(FakeJudge(), store, choice_of("lenient.json"))
    assert asked.info().calibration == LENIENT.sha256
    assert open_calibrated_judge(FakeJudge(), store, choice_of("none")).info().calibration is None
    other = open_calibrated_judge(FakeJudge({"a": 0.5}), store)
    assert other.info().calibration is None


def test_the_bundle_of_a_whole_cache_carries_the_shipped_calibrations_and_the_named_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    exported(folder, ONE)
    second = FakeJudge({"a": 0.5}).identity()
    with Store(folder / "cache") as store:
        store.remember_judge("second", second.document)
        put(store, check(), judge=second)
    ship(monkeypatch, LENIENT, calibration(second, 1.0))
    export = ["cache", "export", "-o", str(folder / "all.rjz"), "--cache", str(folder / "cache")]
    assert run(export) == 0
    assert "2 calibrations" in capsys.readouterr().out
    assert carried(folder / "all.rjz") == {"shipped": LENIENT.sha256}
    assert run([*export, "--calibration", str(folder / "strict.json")]) == 0
    assert carried(folder / "all.rjz") == {"shipped": STRICT.sha256}
    assert len(BundleStore(folder / "all.rjz").calibrations(second.fingerprint)) == 1
    assert run([*export, "--calibration", "none"]) == 0
    assert carried(folder / "all.rjz") == {}
    other = saved(folder / "other.json", calibration(OTHER_JUDGE))
    assert run([*export, "--calibration", str(other)]) == 2
    assert f"{other}: the calibration is for the judge 'the-judge'" in capsys.readouterr().err


def test_the_export_of_a_suite_refuses_another_judge_s_calibration_and_writes_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exported(folder, ONE)
    other = saved(folder / "other.json", calibration(OTHER_JUDGE))
    export = ["cache", "export", "-o", str(folder / "none.rjz"), "--for", str(folder / "suite.yaml")]
    assert run([*export, "--calibration", str(other)]) == 2
    assert "'the-judge'" in capsys.readouterr().err
    assert not (folder / "none.rjz").exists()


def test_an_import_leaves_calibrations_behind_and_says_so(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = exported(folder, f"calibration: strict.json\n{ONE}")
    assert run(["cache", "import", str(bundle), "--cache", str(folder / "new")]) == 0
    assert "calibrations stay in it" in capsys.readouterr().out
    with Store(folder / "new", read_only=True) as store:
        assert not list(store.names(CALIBRATION))
        assert dict(store.rows()) == {
            name: text for name, text in read_bundle(bundle).items() if not name.startswith(CALIBRATION)
        }


# -- damage --------------------------------------------------------------------------------------------


def calibration_line(bundle: Path) -> int:
    return next(n for n, line in enumerate(lines_of(bundle)) if b'"name":"calibration/' in line)


def test_a_tampered_calibration_is_refused_whether_or_not_its_line_was_mended(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = exported(folder, f"calibration: strict.json\n{ONE}")
    lines = lines_of(bundle)
    number = calibration_line(bundle)
    assert b'"bias":-9.0' in lines[number]
    pack(
        bundle, [*lines[:number], lines[number].replace(b'"bias":-9.0', b'"bias":9.0'), *lines[number + 1 :]]
    )
    assert_refused(bundle, f"line {number + 1}: ", "calibration/", "changed or damaged")

    def tamper(record: dict) -> None:  # type: ignore[type-arg]
        (fit,) = record["value"]["calibration"]["templates"].values()
        fit["bias"] = 9.0

    pack(bundle, [*lines[:number], change(lines[number], tamper, mend=True), *lines[number + 1 :]])
    assert_refused(bundle, f"line {number + 1}: ", "calibration/", "not the one of that sha256")
    assert run(["run", str(folder / "suite.yaml"), "--bundle", str(bundle), "-q"]) == 2
    assert "not the one of that sha256" in capsys.readouterr().err


def test_a_bundle_s_calibration_for_another_judge_is_refused(folder: Path) -> None:
    bundle = folder / "wrong.rjz"
    write_bundle(bundle, [calibration_row(FAKE.fingerprint, "shipped", calibration(OTHER_JUDGE).document)])
    with pytest.raises(ConfigError, match="the calibration is for the judge 'the-judge'"):
        open_calibrated_judge(FakeJudge(), BundleStore(bundle))


def test_a_calibration_of_a_shape_that_is_not_known_is_refused_and_can_be_left_out(folder: Path) -> None:
    bundle = folder / "newer.rjz"
    newer = {**load_calibration(folder / "strict.json").document, "schema_version": 99}
    write_bundle(bundle, [calibration_row(FAKE.fingerprint, "shipped", newer)])
    with pytest.raises(CacheError, match="this ragjudge cannot use: schema_version"):
        open_calibrated_judge(FakeJudge(), BundleStore(bundle))
    left_out = open_calibrated_judge(FakeJudge(), BundleStore(bundle), choice_of("none", named=True))
    assert left_out.info().calibration is None
