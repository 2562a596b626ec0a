"""How well a judge agrees with people: every figure that the reports about it show."""

from __future__ import annotations

from pydantic import Field

from ragjudge.records.base import SCHEMA_VERSION, Record
from ragjudge.records.report import JudgeInfo, Usage


class Estimate(Record):
    """One figure with its 95 % interval.

    Attributes:
        value: The figure; None when these rows do not have one.
        low: Lower end of the interval; None when there is no interval.
        high: Upper end of the interval; None when there is no interval.
        reason: Why the value is missing, or where there is one, why its interval is.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str | None = None


class Measures(Record):
    """The figures by which a judge is measured. The positive label (1) is "supported" or "relevant".

    Attributes:
        accuracy: Share of right decisions, in [0, 1]. Says little where one label is rare, and is the only
            figure where all rows have the same label.
        balanced_accuracy: Mean of the shares of positive and of negative rows that were decided rightly, at
            the present threshold, in [0, 1]; 0.5 = a coin.
        best_balanced_accuracy: The same at the threshold that is best for these very rows, and so too good
            for others; its interval holds that threshold fixed.
        auc: Probability that a positive row is given more than a negative one, in [0, 1]; ties count half.
        kappa: Cohen's kappa of decisions and labels, in [-1, 1]; 0 = as chance would have it.
        precision_unsupported: Share of the rows decided negative that are negative, in [0, 1].
        recall_unsupported: Share of the negative rows that were decided negative, in [0, 1].
        calibration_error: Expected calibration error over ten bins of equal width, in [0, 1]; 0 = P means
            what it says.
        brier: Mean squared difference of P and label, in [0, 1]; 0 = perfect.
    """

    accuracy: Estimate
    balanced_accuracy: Estimate
    best_balanced_accuracy: Estimate
    auc: Estimate
    kappa: Estimate
    precision_unsupported: Estimate
    recall_unsupported: Estimate
    calibration_error: Estimate
    brier: Estimate


class ReliabilityBin(Record):
    """The rows whose P lies in one tenth of [0, 1].

    Attributes:
        low: Smallest P of the bin.
        high: End of the bin; belongs to the next one, except for 1.
        count: Rows in it.
        mean_probability: Their mean P; None without rows.
        positive_share: Share of them with the positive label; None without rows.
    """

    low: float
    high: float
    count: int
    mean_probability: float | None
    positive_share: float | None


class RocPoint(Record):
    """One point of the receiver operating characteristic.

    Attributes:
        threshold: Smallest P that is decided positive; None at the corner where nothing is.
        false_positive_share: Share of the negative rows that are then decided positive, in [0, 1].
        true_positive_share: Share of the positive rows that are, in [0, 1].
    """

    threshold: float | None
    false_positive_share: float
    true_positive_share: float


class AgreementPart(Record):
    """A part of the rows, or all of them, with its figures.

    Attributes:
        name: What the part is: a set, a language, a kind …; "all" for everything.
        rows: Rows of the part.
        judged: Rows that have a P; the figures are about these.
        positive: Judged rows with the positive label.
        groups: Groups (articles, questions) of the judged rows: what the intervals resample.
        measures: The figures.
        best_threshold: The threshold of `Measures.best_balanced_accuracy`; None when there is none.
        label_mass: Mean share of the labels in the judge's whole distribution, in [0, 1]; None when it is
            not known.
        least_label_mass: The smallest one.
        reliability: Ten bins from 0 to 1; empty for parts that are not drawn.
        roc: From (0, 0) to (1, 1); empty for parts that are not drawn, or that have one label only.
    """

    name: str
    rows: int = Field(ge=0)
    judged: int = Field(ge=0)
    positive: int = Field(ge=0)
    groups: int = Field(ge=0)
    measures: Measures
    best_threshold: float | None = None
    label_mass: float | None = None
    least_label_mass: float | None = None
    reliability: tuple[ReliabilityBin, ...] = ()
    roc: tuple[RocPoint, ...] = ()

    @property
    def unjudged(self) -> int:
        """Rows without a P."""
        return self.rows - self.judged


class CheckedRow(Record):
    """One labelled row and what the judge made of it.

    Attributes:
        id: Name of the row.
        set: Name of its set.
        label: What people say.
        probability: P of the positive label, in [0, 1]; None when the row could not be judged.
        decision: Whether the judge decided for the positive label.
        label_mass: See `AgreementPart`.
        error: Why the row could not be judged.
    """

    id: str
    set: str
    label: bool
    probability: float | None
    decision: bool | None
    label_mass: float | None = None
    error: str | None = None


class WrongRow(Record):
    """A row about which the judge is confidently wrong.

    Attributes:
        id: Name of the row.
        set: Name of its set.
        label: What people say.
        probability: P of the positive label, in [0, 1].
        claim: What was judged: the claim, or the passage.
        question: The question, where the row has one.
        kind: What kind of row it is, where it says so.
    """

    id: str
    set: str
    label: bool
    probability: float
    claim: str
    question: str | None = None
    kind: str | None = None


class CheckUsage(Usage):
    """What a check cost. The only part of an `Agreement` that changes from run to run.

    Attributes:
        seconds_per_verdict: Seconds in the judge, loading included, for each call it answered in this run;
            None when it answered none.
        tokens_per_verdict: Prompt tokens decoded for each of them.
    """

    seconds_per_verdict: float | None = None
    tokens_per_verdict: float | None = None


class Agreement(Record):
    """How well a judge agrees with people on labelled rows.

    Attributes:
        judges: The judge; more than one, or none, when a graded report was checked that says so.
        templates: The questions that were asked, as ``name@version``; empty for a graded report.
        threshold: The present threshold of P; None when rows of a graded report have different ones.
        resamples: Resamples of the intervals.
        seed: Their seed.
        notes: What else there is to know, in sentences: rows left out and why.
        overall: All rows together.
        average: Plain mean of the sets' figures, each set counting the same; None for a single set.
        by_set: By file of labels.
        by_words: By length of the contexts in words.
        by_language: By language; empty when no row names one.
        by_kind: By kind; empty when no row names one.
        wrong: The rows that the judge is most confidently wrong about, the worst first.
        rows: Every row, in the order of the files.
        usage: What it cost.
    """

    schema_version: int = SCHEMA_VERSION
    ragjudge_version: str
    judges: tuple[JudgeInfo, ...]
    templates: tuple[str, ...] = ()
    threshold: float | None
    resamples: int
    seed: int
    notes: tuple[str, ...] = ()
    overall: AgreementPart
    average: Measures | None = None
    by_set: tuple[AgreementPart, ...]
    by_words: tuple[AgreementPart, ...] = ()
    by_language: tuple[AgreementPart, ...] = ()
    by_kind: tuple[AgreementPart, ...] = ()
    wrong: tuple[WrongRow, ...] = ()
    rows: tuple[CheckedRow, ...]
    usage: CheckUsage = CheckUsage()
