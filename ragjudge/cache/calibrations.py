"""The calibrations that a bundle carries, so that it replays with the very ones it was made with. Pure.

    calibration/<digest of judge and asked>   {"asked": …, "calibration": …, "judge": …, "sha256": …}

A row says what one way of asking for a calibration meant for one judge: a calibration with its sha256, or
null for raw probabilities. Only bundles have such rows. A cache has none: its answers are raw.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from ragjudge.cache.keys import is_digest
from ragjudge.judges.base import canonical_json, digest

if TYPE_CHECKING:
    from pydantic import JsonValue

CALIBRATION = "calibration/"

_NO_ROW = (KeyError, TypeError, ValueError, AttributeError, RecursionError)


class CalibrationEntry(NamedTuple):
    """What one way of asking for a calibration meant.

    Attributes:
        judge: The judge's fingerprint.
        asked: How it was asked for, as written: ``shipped``, ``none`` or the name of a file.
        content: The calibration as plain JSON data; None = raw probabilities.
    """

    judge: str
    asked: str
    content: dict[str, JsonValue] | None


def calibration_row(judge: str, asked: str, content: Mapping[str, JsonValue] | None) -> tuple[str, str]:
    """Return name and text of a row. See `CalibrationEntry` for the arguments."""
    plain = None if content is None else dict(content)
    value: dict[str, JsonValue] = {
        "judge": judge,
        "asked": asked,
        "calibration": plain,
        "sha256": None if plain is None else digest(plain),
    }
    return _name(judge, asked), canonical_json(value)


def read_calibration(name: str, text: str) -> CalibrationEntry | None:
    """Take a row apart; None when anything about it does not fit, the sha256 of the calibration included."""
    try:
        entry = json.loads(text)
        judge, asked, content = entry["judge"], entry["asked"], entry["calibration"]
        if set(entry) != {"judge", "asked", "calibration", "sha256"} or name != _name(judge, asked):
            return None
        if not is_digest(judge) or not isinstance(asked, str) or not isinstance(content, dict | None):
            return None
        if entry["sha256"] != (None if content is None else digest(content)):
            return None
        return CalibrationEntry(judge, asked, content)
    except _NO_ROW:
        return None


def _name(judge: str, asked: str) -> str:
    return f"{CALIBRATION}{digest({'judge': judge, 'asked': asked})}"
