"""What all records have in common, and the words that several of them use."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA_VERSION = 1
"""Version of the report and of the stored calls; raised when a reader would have to change."""

Status = Literal["scored", "not_applicable", "judge_error", "skipped"]
Mode = Literal["decomposed", "holistic"]
OnEmpty = Literal["skip", "fail"]
PanelBy = Literal["majority", "mean"]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
"""A score, a probability or a part of a whole: a number from 0 to 1, and never NaN."""

LEAST_JUDGES, MOST_JUDGES = 2, 9
"""How many judges a panel has."""


class Record(BaseModel):
    """Base of all records: frozen, and closed to unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")
