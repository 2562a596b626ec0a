"""From a provider's id to the provider. A new kind is one file and one line here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ragjudge.errors import ConfigError, UnknownNameError
from ragjudge.providers.base import Provider, ProviderSpec, service_of


def _recorded(spec: ProviderSpec, base: Path) -> Provider:
    from ragjudge.providers.recorded import RecordedProvider

    if spec.id != "recorded":
        raise ConfigError(f"provider {spec.id!r}: 'recorded' stands alone; accepted: recorded.")
    return RecordedProvider()


def _python(spec: ProviderSpec, base: Path) -> Provider:
    from ragjudge.providers.python_callable import PythonProvider, load_callable

    return PythonProvider(load_callable(spec.id, base), spec.id)


_KINDS: dict[str, Callable[[ProviderSpec, Path], Provider]] = {"python": _python, "recorded": _recorded}


def open_provider(spec: ProviderSpec, base: Path) -> Provider:
    """Make the provider that a suite names.

    Args:
        spec: What the suite says.
        base: The suite's folder; files are relative to it.

    Raises:
        UnknownNameError: There is no such kind of provider.
        ConfigError: The kind takes no such option.
        ProviderError: It cannot be loaded.
    """
    kind = spec.id.partition(":")[0]
    if kind not in _KINDS:
        error = UnknownNameError("provider", spec.id, ("python:FILE.py:FUNCTION", "recorded"))
        service = service_of(spec.id)
        if service is not None:
            error.hint = (
                f"ragjudge calls no {service} model; write a Python function that does, and name it as "
                f"`python:FILE.py:FUNCTION`"
            )
        raise error
    if spec.options:
        option = next(iter(spec.options))
        raise ConfigError(f"provider {spec.id!r}: unknown key {option!r}; accepted: id.")
    return _KINDS[kind](spec, base)
