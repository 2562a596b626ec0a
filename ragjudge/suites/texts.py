"""What texts of a suite refer to, in promptfoo's way of writing: ``file://PATH`` and ``{{name}}``.

Only texts that stand in the YAML file refer to anything. What a data file or a text file holds is data,
braces included.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ragjudge.datasets.chunks import read_contexts
from ragjudge.datasets.columns import FIELD_OF, LIST_COLUMNS
from ragjudge.datasets.values import describe, text_of
from ragjudge.datasets.written_lists import list_or_text
from ragjudge.errors import ConfigError, nearest
from ragjudge.suites.config import AssertionConfig
from ragjudge.suites.text_files import SUFFIXES, TextFiles
from ragjudge.suites.yaml_file import MAX_BYTES

MAX_DEPTH = 20
"""Most vars that refer to one another in a row."""

_FILE = "file://"
_NAME = re.compile(r"\{\{-?\s*([^\W\d]\w*)\s*-?\}\}")
_OPENING = re.compile(r"\{[{%#]")
_CLOSING = {"{{": "}}", "{%": "%}", "{#": "#}"}
_AS_DATA = (
    "a text that is to hold these braces can stand in a text file (file://) or in a data file (dataset:)"
)


def refers_to_vars(config: AssertionConfig) -> bool:
    """Say whether an assertion is another one for each row."""
    given = [
        config.reference or "",
        *([config.context] if isinstance(config.context, str) else config.context or ()),
    ]
    return any(found for text in given for found in _templates(text))


class Texts:
    """The texts of a suite that belong to one row.

    Args:
        file: The suite.
        values: The row's vars or columns, for ``{{name}}``.
        written: Whether these stand in the suite, so that they may refer to others themselves.
        files: The text files that the suite has named so far.
    """

    def __init__(self, file: Path, values: Mapping[Any, Any], *, written: bool, files: TextFiles) -> None:
        self._file = file
        self._files = files
        self._values = values
        self._written = written
        self._room = MAX_BYTES
        self._vars: dict[str, Any] = {}

    def row(self, place: str) -> dict[Any, Any]:
        """Return the row, what is no field of a sample as it is.

        Args:
            place: Its place in the suite, for messages.

        Raises:
            ConfigError: A text names a file that cannot be read, a var that the row does not have, or uses
                more of a template language than that.
        """
        return {
            name: self._filled(value, f"{place}.{name}", ()) if name in FIELD_OF else value
            for name, value in self._values.items()
        }

    def assertion(self, config: AssertionConfig, place: str) -> AssertionConfig:
        """Return an assertion with what its own reference and context refer to.

        Args:
            config: The assertion.
            place: Its place in the suite, for messages; of one that many rows share, with the row's.

        Raises:
            ConfigError: As for `row`.
            DataError: A var is neither a text nor, as a context, chunks.
        """
        own: dict[str, Any] = {}
        if config.reference is not None:
            at = f"{place}.reference"
            own["reference"] = text_of(self._filled(config.reference, at, ()), f"{self._file}: {at}")
        if config.context is not None:
            at = f"{place}.context"
            context, what = self._filled(config.context, at, ()), f"{self._file}: {at}"
            if isinstance(context, str):
                context = list_or_text(context, what)
            own["context"] = context if isinstance(context, str) else list(read_contexts(context, what))
        return config.model_copy(update=own) if own else config

    def _filled(self, value: Any, place: str, inside: tuple[str, ...]) -> Any:
        """Return a value with what its texts refer to; ``{{name}}`` alone is that var, be it a list."""
        if isinstance(value, str):
            return self._text(value, place, inside)
        if isinstance(value, list):
            return [self._filled(each, f"{place}[{index}]", inside) for index, each in enumerate(value)]
        if isinstance(value, Mapping):
            return {key: self._filled(each, f"{place}.{key}", inside) for key, each in value.items()}
        return value

    def _text(self, text: str, place: str, inside: tuple[str, ...]) -> Any:
        if text.strip().startswith(_FILE):
            return self._read(text.strip(), place)
        if "{" not in text:
            return text
        for found in _templates(text):
            if not _NAME.fullmatch(found):
                raise self._error(
                    place,
                    f"found the template {_shown(found)}; accepted: {{{{name}}}}, one of the row's vars.",
                    hint=_AS_DATA,
                )
        if whole := _NAME.fullmatch(text.strip()):
            return self._var(whole[1], place, inside)

        def put(match: re.Match[str]) -> str:
            value = self._var(match[1], place, inside)
            if isinstance(value, str):
                return value
            raise self._error(
                place, f"the var {match[1]!r} is {describe(value)}; accepted inside of a text: text."
            )

        return _NAME.sub(put, text)

    def _var(self, name: str, place: str, inside: tuple[str, ...]) -> Any:
        if self._values.get(name) is None:
            names = [str(key) for key, value in self._values.items() if value is not None]
            accepted = f"{', '.join(names) or 'none, since the row gives no var'}."
            if name in self._values:
                raise self._error(place, f"the var {name!r} is null. Accepted: {accepted}")
            near = nearest(name, names)
            suggestion = f" Did you mean {near!r}?" if near else ""
            raise self._error(place, f"unknown var {name!r}.{suggestion} Accepted: {accepted}", hint=_AS_DATA)
        if name in inside:
            raise self._error(place, f"the var {name!r} refers to itself.", hint=_AS_DATA)
        # Few short vars that refer to one another can stand for billions of references, even when all of
        # them are empty, so each is filled in once; and for billions of characters, so these are counted.
        if self._written and name not in self._vars and len(inside) < MAX_DEPTH:
            self._vars[name] = self._filled(self._values[name], place, (*inside, name))
        value = self._vars.get(name, self._values[name])
        if not self._written and name in LIST_COLUMNS and isinstance(value, str):
            value = list_or_text(value, f"{self._file}: {place}: the var {name!r}")
        self._room -= len(value) if isinstance(value, str) else 1
        if self._room < 0 or len(inside) == MAX_DEPTH:
            raise self._error(
                place,
                f"the vars that it refers to are nested more than {MAX_DEPTH} deep, or longer than "
                f"{MAX_BYTES:,} characters.",
            )
        return value

    def _read(self, text: str, place: str) -> str:
        name = text.removeprefix(_FILE)
        if not name.lower().endswith(SUFFIXES):
            raise self._error(
                place, f"found {_shown(text)}; accepted: {_FILE} and a text file ({', '.join(SUFFIXES)})."
            )
        return self._files.read(name, f"{self._file}: {place}")

    def _error(self, place: str, what: str, *, hint: str | None = None) -> ConfigError:
        return ConfigError(f"{self._file}: {place}: {what}", hint=hint)


def _templates(text: str) -> Iterator[str]:
    """Yield what a template language would not take for text; an opening that nothing closes is text."""
    unclosed: set[str] = set()
    end = 0
    while opening := _OPENING.search(text, end):
        closing = -1 if opening[0] in unclosed else text.find(_CLOSING[opening[0]], opening.end())
        if closing < 0:
            # Searching the rest again for each further one would take the square of the text's length.
            unclosed.add(opening[0])
            end = opening.start() + 1
        else:
            end = closing + 2
            yield text[opening.start() : end]


def _shown(text: str) -> str:
    return describe(text).removeprefix("the text ")
