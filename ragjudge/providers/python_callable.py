"""A Python function as the system under test. It is loaded only when a suite or a program names it."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from ragjudge.datasets.columns import ACCEPTED, read_fields
from ragjudge.datasets.values import describe
from ragjudge.errors import DataError, ProviderError, nearest, raised
from ragjudge.providers.base import Produced, ProducedOutput, ProviderFailure
from ragjudge.records import Sample

_FORMS = "python:FILE.py:FUNCTION or python:package.module:FUNCTION"
_MACHINERY = (str(Path(importlib.__file__).parent), __file__)


class PythonProvider:
    """Calls a function with the question of each row.

    The function returns the answer as text, or a mapping with the answer (``output``) and, where it says
    so, the retrieved chunks (``contexts``); other keys of the mapping are not read.

    Args:
        function: The function.
        name: What reports and messages call it.
    """

    def __init__(self, function: Callable[[str], Any], name: str) -> None:
        self.name = name
        self._function = function

    def produce(self, sample: Sample) -> Produced:
        """Call the function. What it raises, or returns that is no answer, is this row's failure alone.

        Raises:
            ProviderError: It is asynchronous: it would return no answer to any row.
        """
        if sample.input is None:
            return ProviderFailure(f"{self.name}: the row has no input to ask.")
        try:
            returned = self._function(sample.input)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001, RUF100 - whatever a system under test raises, exits too
            return ProviderFailure(f"{self.name} raised {raised(error, _MACHINERY)}.")
        what = f"{self.name} for row {sample.id!r}"
        _refuse_awaitable(returned, what)
        try:
            return _read(returned, what)
        except ProviderError as error:
            return ProviderFailure(error.message)


def from_callable(function: Callable[[str], Any], name: str | None = None) -> PythonProvider:
    """Make a provider of a function that a program passes.

    Args:
        function: Takes a question; returns the answer, or a mapping with ``output`` and ``contexts``.
        name: What reports call it; by default the function's own name.

    Raises:
        ProviderError: It is not callable.
    """
    if not callable(function):
        raise ProviderError(
            f"the system under test is {describe(function)}; accepted: a function of the question."
        )
    return PythonProvider(function, name or str(getattr(function, "__name__", type(function).__name__)))


def load_callable(reference: str, base: Path) -> Callable[[str], Any]:
    """Import the function that a suite names.

    The suite's folder is importable while its module is imported, and no longer.

    Args:
        reference: ``python:FILE.py:FUNCTION`` or ``python:package.module:FUNCTION``.
        base: The suite's folder; a file is relative to it.

    Raises:
        ProviderError: The reference has another form, or the function cannot be loaded.
    """
    source, colon, attribute = reference.removeprefix("python:").rpartition(":")
    if not colon or not source or not attribute:
        raise ProviderError(f"provider {reference!r} names no function; accepted: {_FORMS}.")
    is_file = source.endswith(".py") or "/" in source or "\\" in source
    file = base / Path(source).expanduser()
    if is_file and not file.is_file():
        raise ProviderError(f"provider {reference!r}: there is no file {file}.")
    try:
        with _importable(file.parent if is_file else base):
            module = _import_file(file.resolve()) if is_file else importlib.import_module(source)
    except (Exception, SystemExit) as error:
        raise ProviderError(
            f"provider {reference!r}: importing it raised {raised(error, _MACHINERY)}."
        ) from error
    return _function(module, attribute, reference)


def _function(module: ModuleType, attribute: str, reference: str) -> Callable[[str], Any]:
    found: Any = module
    for part in attribute.split("."):
        found = getattr(found, part, None)
    if callable(found):
        function: Callable[[str], Any] = found
        return function
    if found is not None:
        raise ProviderError(f"provider {reference!r}: {attribute} is {describe(found)}, not a function.")
    names = [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
    near = nearest(attribute, names)
    raise ProviderError(
        f"provider {reference!r}: there is no {attribute!r} in it."
        + (f" Did you mean {near!r}?" if near else "")
    )


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    entry = str(folder.resolve())
    sys.path.insert(0, entry)
    try:
        yield
    finally:
        # The module may have changed the path itself; only our own entry goes.
        if entry in sys.path:
            sys.path.remove(entry)


def _import_file(file: Path) -> ModuleType:
    """Import a file under a name of its own, so that it can hide no installed module."""
    digest = hashlib.sha256(str(file).encode("utf-8", "surrogateescape")).hexdigest()[:12]
    name = f"_ragjudge_provider_{digest}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file.name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their own module up while it is being executed.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _refuse_awaitable(returned: Any, what: str) -> None:
    if inspect.isawaitable(returned):
        if inspect.iscoroutine(returned):
            returned.close()
        raise ProviderError(
            f"{what} returned an awaitable; accepted: the answer itself.",
            hint="name a plain function that runs the coroutine with asyncio.run",
        )


def _read(returned: Any, what: str) -> ProducedOutput:
    if isinstance(returned, str):
        returned = {"output": returned}
    if not isinstance(returned, Mapping):
        raise ProviderError(
            f"{what} returned {describe(returned)}; "
            f"accepted: text, or a mapping with 'output' and 'contexts'."
        )
    known = {*ACCEPTED["output"], *ACCEPTED["contexts"]}
    try:
        fields = read_fields(
            {name: value for name, value in returned.items() if name in known}, where=f"{what} returned"
        )
    except DataError as error:
        raise ProviderError(error.message, hint=error.hint) from error
    if "output" not in fields:
        keys = ", ".join(str(key) for key in returned) or "none"
        raise ProviderError(f"{what} returned a mapping without 'output'; its keys: {keys}.")
    return ProducedOutput(fields["output"], fields.get("contexts"))
