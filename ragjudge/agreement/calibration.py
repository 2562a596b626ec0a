"""A calibration: what a judge's raw answers are worth, as a small readable file.

It is applied to verdicts after the cache, so that cached calls stay raw. It belongs to one judge (by
fingerprint) and to templates of one version each, and is never used for another.
"""

from __future__ import annotations

import json
import re
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, FiniteFloat, JsonValue, ValidationError

from ragjudge.agreement.fits import Fit, recalibrated
from ragjudge.errors import ConfigError, UsageError
from ragjudge.gguf.manifest import checkout_root
from ragjudge.judges.base import digest
from ragjudge.records import Check, Record, Verdict

CALIBRATION_SCHEMA = 1
"""Version of the file; raised when a reader would have to change."""

_NUMBERS = re.compile(r"\[\s+(-?\d[^\[\]{}\"]*?)\s+\]")


class CardData(Record):
    """One set of labelled rows that a calibration was fitted on.

    Attributes:
        name: Its name.
        template: The template it was asked with, ``name@version``.
        positive: Rows that people call supported, or relevant.
        negative: The other rows.
    """

    name: str
    template: str
    positive: int
    negative: int


class Card(Record):
    """Where a calibration comes from, and how far it can be trusted.

    Attributes:
        date: Day of the fit, ISO 8601.
        data: The labelled rows.
        folds: How rows were kept apart from what was fitted on others.
        figures: Figures on rows that were not fitted on, by template and candidate.
        limits: What to keep in mind, one sentence each.
    """

    date: str
    data: tuple[CardData, ...]
    folds: dict[str, str]
    figures: dict[str, dict[str, dict[str, FiniteFloat]]]
    limits: tuple[str, ...] = ()


class Calibration(Record):
    """The file.

    Attributes:
        schema_version: See `CALIBRATION_SCHEMA`.
        judge: Fingerprint of the one judge that it is for.
        judge_id: The reference by which that judge was asked for.
        templates: The fits by ``name@version``.
        card: Where they come from.
    """

    schema_version: Literal[1] = 1
    judge: str = Field(pattern=r"^[0-9a-f]{64}$")
    judge_id: str
    templates: dict[Annotated[str, Field(pattern=r"^[a-z0-9_.-]+@\d+$")], Fit] = Field(min_length=1)
    card: Card

    @cached_property
    def document(self) -> dict[str, JsonValue]:
        """The content as plain JSON data, as the file says it."""
        return self.model_dump(mode="json", exclude_none=True)

    @cached_property
    def sha256(self) -> str:
        """Digest of the content, however the file is laid out."""
        return digest(self.document)

    def check_judge(self, fingerprint: str, judge: str | None = None, where: str | None = None) -> None:
        """Make sure that the calibration is for this judge.

        Args:
            fingerprint: The judge's fingerprint.
            judge: Its reference, for the message.
            where: Where the calibration was read, for the message.

        Raises:
            ConfigError: It is for another one.
        """
        if fingerprint != self.judge:
            named = "this judge" if judge is None else f"the judge {judge!r}"
            raise ConfigError(
                f"{where + ': ' if where else ''}the calibration is for the judge {self.judge_id!r} with the "
                f"fingerprint {self.judge[:12]}…, and {named} has {fingerprint[:12]}….",
                hint="a window, a chat format, --kv or --hidden makes another judge of one model; else fit "
                "one for this judge with `ragjudge judge calibrate`",
            )

    def apply(self, check: Check, verdict: Verdict) -> Verdict:
        """Return the verdict with the calibrated probability in it.

        The label mass stays as it is, and so do the proportions of the labels other than the positive one.
        Of a verdict with windows each is calibrated on what it showed; then the likeliest one counts.

        Args:
            check: What was asked.
            verdict: The raw answer. That to a template which the calibration does not know is returned as is.

        Raises:
            ConfigError: The fit needs a hidden state that the verdict does not carry.
        """
        fit = self.templates.get(f"{check.template}@{check.version}")
        if fit is None:
            return verdict
        if verdict.windows is None:
            chance = fit.probability(check, verdict.log_probabilities, hidden=verdict.hidden)
            return verdict.model_copy(
                update={"log_probabilities": recalibrated(verdict.log_probabilities, check.positive, chance)}
            )
        chances = [
            fit.probability(check, each.log_probabilities, hidden=each.hidden, spans=each.spans)
            for each in verdict.windows
        ]
        windows = tuple(
            each.model_copy(
                update={"log_probabilities": recalibrated(each.log_probabilities, check.positive, chance)}
            )
            for chance, each in zip(chances, verdict.windows, strict=True)
        )
        best = windows[chances.index(max(chances))]
        return verdict.model_copy(
            update={"log_probabilities": best.log_probabilities, "windows": windows, "hidden": best.hidden}
        )


def load_calibration(path: Path) -> Calibration:
    """Read a calibration file.

    Args:
        path: The JSON file.

    Raises:
        ConfigError: It cannot be read, is no JSON, or is no valid calibration.
    """
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: the calibration cannot be read: {error.strerror or error}.") from error
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ConfigError(f"{path}: the calibration is no JSON text: {error}.") from error
    return calibration_from(found, str(path))


def calibration_from(content: object, where: str) -> Calibration:
    """Make a calibration of plain JSON data.

    Args:
        content: As `Calibration.document` gives it.
        where: The place it was read from, for messages.

    Raises:
        ConfigError: It is no valid calibration.
    """
    version = content.get("schema_version") if isinstance(content, dict) else None
    if version != CALIBRATION_SCHEMA:
        raise ConfigError(
            f"{where}: schema_version is {version!r}; a calibration that this release reads has "
            f"{CALIBRATION_SCHEMA}."
        )
    try:
        return Calibration.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "calibration"
        raise ConfigError(f"{where}: {place}: {first['msg'].removeprefix('Value error, ')}.") from error


def save_calibration(calibration: Calibration, path: Path) -> None:
    """Write a calibration file, one list of numbers a line; it is replaced whole or not at all.

    Args:
        calibration: The calibration.
        path: The file.

    Raises:
        UsageError: It cannot be written.
    """
    text = json.dumps(calibration.document, indent=1, ensure_ascii=False, allow_nan=False)
    text = _NUMBERS.sub(lambda match: f"[{' '.join(match[1].split())}]", text)
    target = path.resolve()
    temporary = target.with_name(f".{target.name}.tmp")
    try:
        temporary.write_text(text + "\n", encoding="utf-8")
        temporary.replace(target)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}.") from error
    finally:
        temporary.unlink(missing_ok=True)


def shipped(fingerprint: str) -> Calibration | None:
    """Return the calibration that comes with ragjudge for a judge, or None.

    Args:
        fingerprint: The judge's.

    Raises:
        ConfigError: A file that comes with ragjudge is no valid calibration.
    """
    return _shipped().get(fingerprint)


@lru_cache(maxsize=1)
def _shipped() -> dict[str, Calibration]:
    """Read all of them once; the checkout's come first, where packaged copies may be stale ones."""
    root = checkout_root()
    folder = root / "models" / "calibrations" if root else Path(__file__).with_name("calibrations")
    found = (load_calibration(path) for path in sorted(folder.glob("*.json")))
    return {calibration.judge: calibration for calibration in found}
