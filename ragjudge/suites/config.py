"""The keys of a suite file and their types. Whatever does not fit becomes one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    JsonValue,
    Tag,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from ragjudge.datasets.chunks import read_contexts
from ragjudge.datasets.values import describe, quoting_hint
from ragjudge.datasets.written_lists import list_or_text
from ragjudge.errors import ConfigError, DataError, nearest
from ragjudge.records import LEAST_JUDGES, MOST_JUDGES, Mode, OnEmpty, PanelBy
from ragjudge.text.claims import ClaimMode, CodeMode
from ragjudge.text.splitting import EvidenceMode

Model = TypeVar("Model", bound=BaseModel)

_SENTENCE = "sentence"
"""Type of the errors whose message is all there is to say; the others only say what is accepted."""

_ACCEPTED = "accepted"

_WANTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true, false",
    "invalid-json-value": "texts, numbers, lists, mappings",
    "int_from_float": "a whole number",
    "list_type": "a list",
    "dict_type": "a mapping",
    "string_too_short": "a text that is not empty",
    "invalid_key": "keys that are text",
}


class Closed(BaseModel):
    """Base of the file's parts: no unknown key, no number for a text."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _knows_all_keys(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise PydanticCustomError(_ACCEPTED, "a mapping")
        refuse_unknown_keys(value, (field.alias or name for name, field in cls.model_fields.items()))
        return value


def refuse_unknown_keys(value: Mapping[Any, Any], known: Iterable[str]) -> None:
    """Raise an error of pydantic's for the first key that is not known."""
    names = sorted(known)
    for key in value:
        if key not in names:
            near = nearest(key, names) if isinstance(key, str) else None
            suggestion = f" Did you mean {near!r}?" if near else ""
            raise PydanticCustomError(
                _SENTENCE,
                "{text}",
                {"text": f"unknown key {key!r}.{suggestion} Accepted: {', '.join(names)}."},
            )


def _unit_interval(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise PydanticCustomError(_ACCEPTED, "a number from 0 to 1")
    return float(value)


def _mapping_with_id(value: Any) -> Any:
    if isinstance(value, str):
        return {"id": value}
    if not isinstance(value, Mapping):
        raise PydanticCustomError(_ACCEPTED, "a text, or a mapping with the key 'id'")
    return value


def _texts(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return list_or_text(value, "it")
        except DataError as error:
            raise PydanticCustomError(_SENTENCE, "{text}", {"text": error.message}) from error
    try:
        return list(read_contexts(value, ""))
    except DataError as error:
        raise PydanticCustomError(_ACCEPTED, "a text (one chunk) or a list of chunks") from error


def _on_or_off(value: Any) -> Any:
    # YAML reads the bare words `on` and `off` as true and false.
    return {True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else value


def _without_nul(value: str) -> str:
    if "\0" in value:  # the end of a text for the system, which takes it in no path
        raise PydanticCustomError(_ACCEPTED, "a text without the character U+0000")
    return value


Name = Annotated[str, Field(min_length=1), AfterValidator(_without_nul)]
Threshold = Annotated[float, BeforeValidator(_unit_interval)]
By = Literal["chunks", "claims"]


def _bound(value: Any) -> Any:
    """Take a bound as a text; YAML reads a bare ``off`` as false, and plain bytes as a number."""
    if value is False:
        return "off"
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Bound = Annotated[str, BeforeValidator(_bound)]


class JudgeConfig(Closed):
    """A judge: a bare text is its id."""

    id: Name
    window: int | None = Field(default=None, ge=1)
    chat: Literal["auto", "plain"] | None = None
    threads: int | None = Field(default=None, ge=1)
    gpu_layers: int | None = Field(default=None, ge=-1)
    batch: int | None = Field(default=None, ge=1)
    flash_attention: Annotated[Literal["auto", "on", "off"], BeforeValidator(_on_or_off)] | None = None
    kv: Literal["f16", "q8_0"] | None = None
    split: Literal["layer", "row", "none"] | None = None
    repack: bool | None = None
    exact: bool | None = None
    profile: Name | None = None
    hidden: bool | None = None
    calibration: Name | None = None
    base_url: Name | None = None
    model: Name | None = None
    identity: Name | None = None
    strategy: Literal["auto", "logprobs", "constrained", "text"] | None = None
    extra: dict[str, JsonValue] | None = None
    api_key_env: Name | None = None
    accept_models: list[Name] | None = None
    max_tokens: int | None = Field(default=None, ge=1)
    concurrency: int | None = Field(default=None, ge=1)
    timeout: float | None = None
    retries: int | None = Field(default=None, ge=0)


Judge = Annotated[JudgeConfig, BeforeValidator(_mapping_with_id)]

_BRANCH_JUDGE, _BRANCH_LIST, _BRANCH_PANEL = "[judge]", "[list]", "[panel]"


def _enough(judges: list[JudgeConfig]) -> list[JudgeConfig]:
    if not LEAST_JUDGES <= len(judges) <= MOST_JUDGES:
        found = "an empty list" if not judges else "1 judge" if len(judges) == 1 else f"{len(judges)} judges"
        raise PydanticCustomError(
            _SENTENCE,
            "{text}",
            {
                "text": f"found {found}; accepted: one judge without a list, or a list of {LEAST_JUDGES} to "
                f"{MOST_JUDGES} judges."
            },
        )
    return judges


Judges = Annotated[list[Judge], AfterValidator(_enough)]


class PanelConfig(Closed):
    """Several judges; a bare list is the key `panel`."""

    panel: Judges
    by: PanelBy = "majority"


def _branch(value: Any) -> str:
    if isinstance(value, list):
        return _BRANCH_LIST
    return _BRANCH_PANEL if isinstance(value, Mapping) and "panel" in value else _BRANCH_JUDGE


JudgeOrPanel = Annotated[
    Annotated[Judge, Tag(_BRANCH_JUDGE)]
    | Annotated[Judges, Tag(_BRANCH_LIST)]
    | Annotated[PanelConfig, Tag(_BRANCH_PANEL)],
    Discriminator(_branch),
]


class Settings(Closed):
    """What an assertion and `defaults:` have in common."""

    threshold: Threshold | None = None
    mode: Mode | None = None
    on_empty: OnEmpty | None = None
    provider: JudgeOrPanel | None = None


class MetricSettings(Settings):
    """Defaults of one metric."""

    by: By | None = None


class AssertionConfig(MetricSettings):
    """One entry of an `assert:` list."""

    type: Name
    label: Name | None = None
    reference: str | None = None
    context: Annotated[str | list[str], BeforeValidator(_texts)] | None = None


class CaseConfig(Closed):
    """One entry of `tests:`."""

    id: Name | None = None
    description: str | None = None
    vars: dict[Any, Any]
    asserts: list[AssertionConfig] = Field(default=[], alias="assert")


class ProviderConfig(BaseModel):
    """One entry of `providers:`; the keys beside the id are the provider's own business."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)

    id: Name


class SuiteConfig(Closed):
    """The whole file."""

    description: str | None = None
    judge: JudgeOrPanel | None = None
    judges: dict[str, Judge] | None = None
    calibration: Name | None = None
    providers: list[Annotated[ProviderConfig, BeforeValidator(_mapping_with_id)]] | None = None
    cache: Name | None = None
    prefix_store: Bound | None = None
    language: Name | None = None
    claims: ClaimMode | None = None
    code: CodeMode | None = None
    abbreviations: list[Name] | None = None
    evidence: EvidenceMode | None = None
    defaults: dict[Any, Any] | None = None
    asserts: list[AssertionConfig] | None = Field(default=None, alias="assert")
    tests: list[CaseConfig] | None = None
    dataset: Name | None = None


def validated(model: type[Model], value: Any, where: str, *, inside: str = "") -> Model:
    """Return a part of the file as its model.

    Args:
        model: The model.
        value: The part, as plain data.
        where: The file, for messages.
        inside: The place of the part in the file, e.g. ``defaults.faithfulness``; empty for the whole.

    Raises:
        ConfigError: The first thing that does not fit.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        # What is missing has no place of its own: it is named as missing from what would hold it.
        place = _place(inside, first["loc"][:-1] if first["type"] == "missing" else first["loc"])
        raise ConfigError(
            f"{where}: {place}: {_sentence(first)}" if place else f"{where}: {_sentence(first)}",
            hint=quoting_hint(first["input"]) if first["type"] == "string_type" else None,
        ) from error


def _place(inside: str, parts: Iterable[int | str]) -> str:
    """Return a place as a person writes it: ``tests[2].assert[0].threshold``."""
    place = inside
    for part in parts:
        if part in ("[key]", _BRANCH_JUDGE, _BRANCH_LIST, _BRANCH_PANEL):
            continue  # how pydantic marks that the key itself is wrong, or which of several forms a value has
        if isinstance(part, int):
            place += f"[{part}]"
        elif part.isidentifier() or "-" in part:
            place += f".{part}" if place else part
        else:
            place += f"[{part!r}]"
    return place


def _sentence(error: ErrorDetails) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind == _SENTENCE:
        return error["msg"]
    if kind == "missing":
        return f"the key {error['loc'][-1]!r} is missing."
    if kind == _ACCEPTED:
        wanted = error["msg"]
    elif kind == "literal_error":
        wanted = str(context["expected"]).replace("'", "").replace(" or ", ", ")
    elif kind == "greater_than_equal":
        wanted = f"a whole number of at least {context['ge']}"
    else:
        wanted = _WANTED.get(kind) or error["msg"]
    return f"found {describe(error['input'])}; accepted: {wanted}."
