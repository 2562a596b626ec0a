from __future__ import annotations

from pathlib import Path

import pytest

from ragjudge.agreement import calibration as calibration_module
from ragjudge.agreement.calibrated_judge import CalibratedJudge
from ragjudge.agreement.choosing import Choice, choice_of, chosen, open_calibrated_judge
from ragjudge.cache.caching_judge import CachingJudge
from ragjudge.cache.memory import MemoryStore
from ragjudge.errors import ConfigError
from ragjudge.judges.fake import FakeJudge
from ragjudge.prompts.answers import label_mass, probability
from ragjudge.records import CallFailure, Reply, Verdict
from tests.agreement.calibrations import OTHER_JUDGE, calibration, saved
from tests.cache.helpers import JUDGE, YES, CountingJudge, check, key, prompt

FAILURE = CallFailure(reason="no answer")


def calibrated(
    judge: CountingJudge | None, store: MemoryStore, bias: float = -5.0, template: str = "support@1"
) -> CalibratedJudge:
    below = CachingJudge(judge, store, JUDGE, id="counting")
    return CalibratedJudge(below, calibration(JUDGE, bias, templates=(template,)))


def test_verdicts_come_out_calibrated_and_stay_raw_in_the_store() -> None:
    store = MemoryStore()
    ((index, outcome),) = calibrated(CountingJudge(), store).ask([check()])
    assert index == 0
    assert isinstance(outcome, Verdict)
    assert probability(YES, "yes") == pytest.approx(0.9, abs=1e-3)
    assert probability(outcome, "yes") == pytest.approx(0.0572, abs=1e-3)  # the log-odds less 5
    assert label_mass(outcome) == pytest.approx(label_mass(YES), abs=1e-5)
    assert store.get(key(check())) == YES


def test_another_calibration_asks_nothing_anew() -> None:
    store, judge = MemoryStore(), CountingJudge()
    calls = [check("a"), check("b")]
    first = dict(calibrated(judge, store).ask(calls))
    again = calibrated(judge, store, bias=2.0)
    assert dict(again.ask(calls)) != first
    assert (again.calls_judged, again.calls_replayed) == (0, 2)
    assert dict(CachingJudge(None, store, JUDGE, id="counting").ask(calls)) == {0: YES, 1: YES}
    assert judge.asked == ["b", "a"]


def test_replies_and_failures_pass_as_they_are() -> None:
    judge = calibrated(CountingJudge({"lost": FAILURE}), MemoryStore())
    outcomes = dict(judge.ask([prompt(), check("lost")]))
    assert outcomes == {0: Reply(text="{}", tokens=2), 1: FAILURE}
    assert judge.info().uncalibrated == ()


def test_a_template_or_version_that_the_calibration_lacks_stays_raw_and_is_named() -> None:
    judge = calibrated(CountingJudge(), MemoryStore())
    calls = [check("a", version=2), check("b", template="chunk_relevance"), check("c")]
    outcomes = dict(judge.ask(calls))
    assert outcomes[0] == outcomes[1] == YES
    assert outcomes[2] != YES
    assert judge.info().uncalibrated == ("chunk_relevance@1", "support@2")


def test_everything_else_is_the_judge_s_below() -> None:
    inner = CountingJudge({"lost": FAILURE})
    judge = calibrated(inner, MemoryStore())
    inner.usage.tokens_decoded = 7
    list(judge.ask([check("a"), check("lost")]))
    assert (judge.id, judge.identity(), judge.profile) == ("counting", JUDGE, None)
    assert (judge.calls_judged, judge.calls_replayed, judge.calls_failed) == (1, 0, 1)
    assert judge.usage is inner.usage
    judge.close()
    assert inner.closed


def test_the_judge_s_stream_is_closed_when_the_asking_stops() -> None:
    inner = CountingJudge()
    answers = calibrated(inner, MemoryStore()).ask([check("a"), check("b")])
    next(answers)
    answers.close()  # type: ignore[attr-defined]
    assert inner.stream_closed
    assert inner.asked == ["b"]


def test_a_report_names_the_calibration_by_its_sha256_and_carries_it() -> None:
    made = calibration(JUDGE)
    judge = CalibratedJudge(CachingJudge(None, MemoryStore(), JUDGE, id="x"), made)
    assert (judge.info().id, judge.info().fingerprint) == ("x", JUDGE.fingerprint)
    assert judge.info().calibration == made.sha256
    assert judge.calibrations() == {made.sha256: made.document}
    raw = CachingJudge(None, MemoryStore(), JUDGE, id="x")
    assert (raw.info().calibration, raw.calibrations()) == (None, {})


# -- which one -----------------------------------------------------------------------------------------


def test_what_is_written_is_a_word_or_a_file(tmp_path: Path) -> None:
    assert choice_of(None) is None
    assert choice_of("none") == Choice("none")
    assert choice_of("shipped", named=True) == Choice("shipped", None, True)
    assert choice_of("mine.json", base=tmp_path) == Choice("mine.json", tmp_path / "mine.json")
    assert choice_of(tmp_path / "mine.json", base=Path("other")) == Choice(
        str(tmp_path / "mine.json"), tmp_path / "mine.json"
    )


def test_a_judge_for_which_nothing_is_shipped_is_raw() -> None:
    judge = open_calibrated_judge(FakeJudge(), MemoryStore())
    assert isinstance(judge, CachingJudge)
    assert chosen(Choice(), FakeJudge().identity().fingerprint, "fake") is None


def test_the_shipped_calibration_is_used_unless_none_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    made = calibration(FakeJudge().identity())
    monkeypatch.setattr(calibration_module, "_shipped", lambda: {made.judge: made})
    assert open_calibrated_judge(FakeJudge(), MemoryStore()).info().calibration == made.sha256
    shipped = open_calibrated_judge(FakeJudge(), MemoryStore(), Choice("shipped"))
    assert shipped.info().calibration == made.sha256
    assert open_calibrated_judge(FakeJudge(), MemoryStore(), Choice("none")).info().calibration is None
    other = open_calibrated_judge(FakeJudge({"a": 0.5}), MemoryStore())  # another fingerprint
    assert other.info().calibration is None


def test_the_calibration_of_another_judge_is_refused_with_its_file_and_both_judges(tmp_path: Path) -> None:
    path = saved(tmp_path / "other.json", calibration(OTHER_JUDGE))
    with pytest.raises(ConfigError) as caught:
        open_calibrated_judge(FakeJudge(), MemoryStore(), choice_of(path))
    for part in (
        str(path),
        "'the-judge'",
        OTHER_JUDGE[:12],
        "'fake'",
        FakeJudge().identity().fingerprint[:12],
    ):
        assert part in caught.value.message


def test_a_file_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.json"):
        open_calibrated_judge(FakeJudge(), MemoryStore(), choice_of(tmp_path / "none.json"))
