"""Reading a YAML file that a person wrote: plain data only, and every fault has a line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragjudge.datasets.values import describe
from ragjudge.errors import ConfigError

if TYPE_CHECKING:
    from yaml import SafeLoader
    from yaml.nodes import Node, ScalarNode

MAX_BYTES = 50_000_000
"""Largest suite; larger data belongs into a data file, which is read row by row."""

MAX_ALIAS_NODES = 1_000_000
"""Most values that the aliases of a file may stand for; a few lines can stand for billions."""

MAX_DIGITS = 300
"""Most digits of a whole number; Python does not even print one of thousands."""

_KINDS = {"int": "a whole number", "float": "a number", "bool": "true or false", "timestamp": "a date"}


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML file that holds one mapping.

    Raises:
        ConfigError: It cannot be read, is not UTF-8, too large, empty, no valid YAML or no mapping, gives
            a key twice, or its aliases refer to themselves or stand for too much.
    """
    text = _text(path)
    try:
        data = _plain_data(text, path)
    except RecursionError as error:
        raise ConfigError(f"{path}: the YAML is nested too deeply.") from error
    if data is None:
        raise ConfigError(f"{path}: the file is empty; accepted: a mapping with the keys of a suite.")
    if not isinstance(data, dict):
        raise ConfigError(
            f"{path}: the file holds {describe(data)}; accepted: a mapping with the keys of a suite."
        )
    return data


def _text(path: Path) -> str:
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise ConfigError(
                f"{path}: the suite has {size:,} bytes; accepted: up to {MAX_BYTES:,}.",
                hint="put the rows into a JSON lines file and name it as `dataset:`",
            )
        raw = path.read_bytes()
    except FileNotFoundError as error:
        raise ConfigError(f"{path}: there is no such suite file.") from error
    except OSError as error:
        raise ConfigError(f"{path}: the suite cannot be read: {error.strerror or error}.") from error
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # Decoding drops a leading BOM before it counts.
        at = error.start + (len(raw) - len(error.object))
        line = raw.count(b"\n", 0, at) + 1
        column = at - raw.rfind(b"\n", 0, at)
        raise ConfigError(
            f"{path}, line {line}: byte 0x{raw[at]:02x} at position {column} of the line is not UTF-8.",
            hint="save the file as UTF-8",
        ) from error


def _plain_data(text: str, path: Path) -> Any:
    import yaml

    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is None:
            return None
        _Nodes(path, loader).check(node)
        return loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ConfigError(f"{path}: broken YAML{place}: {error.problem or error.context}.") from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        code = ord(text[error.position])
        raise ConfigError(
            f"{path}: broken YAML at line {line}: the character U+{code:04X} may not stand in it."
        ) from error


class _Nodes:
    """Walks a file's nodes before they become data.

    An alias shares the node it refers to, so that a small file can stand for an endless or a gigantic
    value; that shows only when something walks through all of it, and here is the first who does.
    """

    def __init__(self, path: Path, loader: SafeLoader) -> None:
        self._path = path
        self._loader = loader
        self._sizes: dict[int, int | None] = {}

    def check(self, node: Node) -> int:
        """Return how many values the node stands for.

        Raises:
            ConfigError: It refers to itself, stands for too much, gives a key twice, or holds a value that
                is not what it looks like, or says it is.
        """
        if id(node) in self._sizes:
            size = self._sizes[id(node)]
            if size is None:
                raise self._error(node, "an alias in this value refers to the value itself")
            return size
        self._sizes[id(node)] = None
        before = len(self._sizes)
        size = 1 + sum(self.check(child) for child in self._children(node))
        own = len(self._sizes) - before + 1
        if size > max(MAX_ALIAS_NODES, own):
            raise self._error(
                node, f"the aliases in this value stand for more than {MAX_ALIAS_NODES:,} values"
            )
        self._sizes[id(node)] = size
        return size

    def _children(self, node: Node) -> list[Node]:
        from yaml.nodes import MappingNode, ScalarNode, SequenceNode

        if isinstance(node, MappingNode):
            seen: set[tuple[str, str]] = set()
            for key, _ in node.value:
                if isinstance(key, ScalarNode):
                    if (key.tag, key.value) in seen:
                        raise self._error(key, f"the key {key.value!r} is given twice")
                    seen.add((key.tag, key.value))
            return [part for pair in node.value for part in pair]
        if isinstance(node, ScalarNode):
            self._check_scalar(node)
        return list(node.value) if isinstance(node, SequenceNode) else []

    def _check_scalar(self, node: ScalarNode) -> None:
        kind = _KINDS.get(node.tag.removeprefix("tag:yaml.org,2002:"))
        if kind is None:
            return
        found = describe(node.value)
        if kind == _KINDS["int"] and len(node.value) > MAX_DIGITS:
            raise self._error(
                node, f"{found} is a whole number of {len(node.value):,} digits; accepted: up to {MAX_DIGITS}"
            )
        try:
            self._loader.construct_object(node)
        except (ValueError, LookupError, AttributeError) as error:  # PyYAML takes much for granted
            raise self._error(node, f"{found} is not {kind}") from error

    def _error(self, node: Node, what: str) -> ConfigError:
        mark = node.start_mark
        return ConfigError(f"{self._path}: line {mark.line + 1}, column {mark.column + 1}: {what}.")
