"""A check of a judge to print: small figures that can be followed by hand."""

from __future__ import annotations

from ragjudge.records import (
    Agreement,
    AgreementPart,
    CheckedRow,
    CheckUsage,
    Estimate,
    JudgeInfo,
    Measures,
    ReliabilityBin,
    RocPoint,
    WrongRow,
)

HOSTILE = (
    "<script>alert(1)</script> | `code` \x1b[2J\u202egnp.exe\n\n"
    "# heading [link](http://x.example) \ufffe\ud83d"
)
"""A text that tries to be HTML, Markdown, a table's bar, an escape sequence, right to left, and no UTF-8."""

CURVE = (
    RocPoint(threshold=None, false_positive_share=0.0, true_positive_share=0.0),
    RocPoint(threshold=0.9, false_positive_share=0.0, true_positive_share=0.5),
    RocPoint(threshold=0.6, false_positive_share=0.25, true_positive_share=0.5),
    RocPoint(threshold=0.4, false_positive_share=0.5, true_positive_share=1.0),
    RocPoint(threshold=0.1, false_positive_share=1.0, true_positive_share=1.0),
)

BINS = tuple(
    {
        2: ReliabilityBin(low=0.2, high=0.3, count=4, mean_probability=0.25, positive_share=0.0),
        7: ReliabilityBin(low=0.7, high=0.8, count=8, mean_probability=0.75, positive_share=0.5),
    }.get(
        tenth,
        ReliabilityBin(
            low=tenth / 10, high=(tenth + 1) / 10, count=0, mean_probability=None, positive_share=None
        ),
    )
    for tenth in range(10)
)


def estimate(value: float | None, reason: str | None = None) -> Estimate:
    if value is None:
        return Estimate(value=None, reason=reason)
    return Estimate(value=value, low=round(value - 0.06, 6), high=round(value + 0.06, 6))


def measures(value: float, *, kappa: float = 0.25, auc: float | None = None) -> Measures:
    return Measures(
        accuracy=estimate(value),
        balanced_accuracy=estimate(value),
        best_balanced_accuracy=estimate(value + 0.05),
        auc=estimate(value + 0.1 if auc is None else auc),
        kappa=estimate(kappa),
        precision_unsupported=estimate(0.8),
        recall_unsupported=estimate(0.4),
        calibration_error=estimate(0.12),
        brier=estimate(0.2),
    )


def part(name: str, value: float = 0.65, *, rows: int = 12, drawn: bool = False) -> AgreementPart:
    return AgreementPart(
        name=name,
        rows=rows,
        judged=rows,
        positive=rows // 3,
        groups=rows,
        measures=measures(value),
        best_threshold=0.9,
        label_mass=0.97,
        least_label_mass=0.4,
        reliability=BINS if drawn else (),
        roc=CURVE if drawn else (),
    )


def agreement(name: str = "qags", text: str = "Apollo 11 landed in 1970.") -> Agreement:
    """Return a check of two sets; ``name`` and ``text`` are data."""
    error = CheckedRow(id=name, set=name, label=True, probability=None, decision=None, error=text)
    return Agreement(
        ragjudge_version="0.1",
        judges=(JudgeInfo(id=name, fingerprint="3fd0a1b2c3d4e5f6"),),
        templates=("support@1",),
        threshold=0.5,
        resamples=2000,
        seed=7,
        notes=(f"Left out: {text}",),
        overall=part("all", 0.7, rows=24, drawn=True).model_copy(update={"rows": 25}),
        average=measures(0.68, kappa=-0.02),
        by_set=(part(name, drawn=True), part("wice", 0.7, drawn=True)),
        by_words=(part("up to 100"),),
        by_language=(part("en"),),
        by_kind=(part(name),),
        wrong=(
            WrongRow(
                id=name, set=name, label=False, probability=0.9996, claim=text, question=text, kind=name
            ),
            WrongRow(id="b", set="wice", label=True, probability=0.03, claim=text * 300),
        ),
        rows=(error,),
        usage=CheckUsage(
            calls_judged=24,
            tokens_decoded=2400,
            tokens_minimum=2400,
            judge_seconds=12.0,
            wall_seconds=13.0,
            seconds_per_verdict=0.5,
            tokens_per_verdict=100.0,
        ),
    )
