"""What the package's modules import, read from their source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "ragjudge"

_LAZY_NAME = re.compile(r"ragjudge(\.\w+)+(:\w+)?")
"""A module named in a string, as registries name what they load later."""


class Import(NamedTuple):
    """One import.

    Attributes:
        module: The module it is in, dotted.
        line: The line it is on.
        target: What is imported: a module, dotted, or a name of the package itself.
        at_once: Whether it happens when the module is imported.
    """

    module: str
    line: int
    target: str
    at_once: bool

    def __str__(self) -> str:
        return f"{self.module}, line {self.line}, imports {self.target}"


@cache
def modules() -> dict[str, Path]:
    """Return every module of the package by its dotted name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def imports() -> tuple[Import, ...]:
    """Return every import of the package: at the top, in functions, for types only, and named in strings."""
    return tuple(
        found
        for module, path in modules().items()
        for found in imports_of(module, path.read_text(encoding="utf-8"))
    )


def imports_of(module: str, source: str) -> Iterator[Import]:
    """Yield the imports of one module.

    Args:
        module: Its dotted name.
        source: Its text.
    """
    tree = ast.parse(source)
    later = set(_nodes_that_run_later(tree))
    for node in ast.walk(tree):
        for target in _targets(node):
            yield Import(module, getattr(node, "lineno", 0), target, node not in later)


def unit(module: str) -> str:
    """Return the part of the package that a module belongs to: ``ragjudge.cache.store`` -> ``cache``."""
    return module.split(".")[1] if "." in module else module


def _targets(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (name.name for name in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = "." * node.level + (node.module or "")
        for name in node.names:
            full = f"{base}.{name.name}"
            # `from ragjudge import x` is about x; `from ragjudge.text import punkt` may mean a module, too.
            yield full if base == "ragjudge" or full in modules() else base
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _LAZY_NAME.fullmatch(node.value):
        named = node.value.partition(":")[0]
        if named in modules():
            yield named


def _nodes_that_run_later(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield what is not run on import: bodies of functions, imports for types only, names in strings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.Constant):
            yield from ast.walk(node)
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for statement in node.body:
                yield from ast.walk(statement)
