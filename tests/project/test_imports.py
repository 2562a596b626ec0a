"""Importing ragjudge, and asking for help, loads nothing heavy and does nothing."""

from __future__ import annotations

import ast
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ragjudge
from tests.project.imports import PACKAGE, ROOT, modules

HEAVY = {"llama_cpp", "nltk", "numpy", "diskcache"}

WATCHED = """
import json, sys

deeds = []

def watch(event, arguments):
    if event.startswith(("socket.", "subprocess.", "os.system", "os.mkdir", "os.rename", "os.remove")):
        deeds.append(event)
    elif event == "open" and (isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")):
        deeds.append(f"open for writing: {arguments[0]}")

sys.addaudithook(watch)
"""
"""Start of a program that takes note of sockets, child processes and writing."""

IMPORT_ALL = """
import importlib
for name in sys.argv[1:]:
    importlib.import_module(name)
print(json.dumps({"deeds": deeds, "modules": sorted(sys.modules)}))
"""

HELP_OF_ALL_COMMANDS = """
import contextlib, io
import click
from ragjudge.cli.main import cli, run

def paths(group, path):
    yield path
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        if isinstance(command, click.Group):
            yield from paths(command, (*path, name))
        else:
            yield (*path, name)

helps = []
for path in paths(cli, ()):
    before = set(sys.modules)
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        code = run([*path, "--help"])
    helps.append([" ".join(path), code, text.getvalue(), sorted(set(sys.modules) - before)])
print(json.dumps({"deeds": deeds, "modules": sorted(sys.modules), "helps": helps}))
"""


def _run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONWARNINGS": "error",
        },
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=True,
    )


def _imported(importtime: str) -> set[str]:
    lines = [line for line in importtime.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip().split(".")[0] for line in lines}


def test_importing_the_package_loads_nothing_heavy(tmp_path: Path) -> None:
    program = "import ragjudge; ragjudge.Faithfulness"
    imported = _imported(_run("-X", "importtime", "-c", program, folder=tmp_path).stderr)
    assert "ragjudge" in imported
    assert imported & HEAVY == set()


def test_importing_the_package_alone_loads_only_the_standard_library(tmp_path: Path) -> None:
    program = "import sys; before = set(sys.modules); import ragjudge; print(set(sys.modules) - before)"
    loaded: set[str] = ast.literal_eval(_run("-c", program, folder=tmp_path).stdout)
    assert {name.split(".")[0] for name in loaded} <= {"ragjudge", *sys.stdlib_module_names}
    assert [name for name in loaded if name.startswith("ragjudge.")] == []


def test_help_loads_nothing_heavy(tmp_path: Path) -> None:
    done = _run("-X", "importtime", "-m", "ragjudge", "--help", folder=tmp_path)
    imported = _imported(done.stderr)
    assert "Grade" in done.stdout
    assert "click" in imported
    assert imported & (HEAVY | {"pydantic", "rich", "jinja2", "yaml"}) == set()


def test_the_help_of_every_command_loads_nothing_heavy_and_opens_no_socket(tmp_path: Path) -> None:
    seen = json.loads(_run("-c", WATCHED + HELP_OF_ALL_COMMANDS, folder=tmp_path).stdout)
    assert {path for path, *_ in seen["helps"]} >= {"", "run", "score", "grade", "models pull", "cache stats"}
    for path, code, text, loaded in seen["helps"]:
        assert code == 0, path
        assert text.startswith("Usage: ragjudge"), path
        assert HEAVY.isdisjoint(loaded), path
    assert seen["deeds"] == []
    assert list(tmp_path.iterdir()) == []


def test_importing_any_module_does_nothing(tmp_path: Path) -> None:
    names = [name for name in modules() if name not in ("ragjudge.__main__", "ragjudge.judges.llama.native")]
    seen = json.loads(_run("-c", WATCHED + IMPORT_ALL, *names, folder=tmp_path).stdout)
    assert set(names) <= set(seen["modules"])
    assert "llama_cpp" not in seen["modules"]
    assert seen["deeds"] == []
    assert list(tmp_path.iterdir()) == []


def test_the_public_names_are_the_lazy_ones_and_the_version() -> None:
    assert set(ragjudge.__all__) == {*ragjudge._HOMES, "__version__"}
    assert sorted(ragjudge.__all__) == sorted(set(ragjudge.__all__))


@pytest.mark.parametrize("name", sorted(ragjudge._HOMES))
def test_a_public_name_is_what_its_module_holds(name: str) -> None:
    home = importlib.import_module(ragjudge._HOMES[name])
    assert getattr(ragjudge, name) is getattr(home, name)
    assert name in dir(ragjudge)


def test_type_checkers_see_the_public_names_in_the_same_modules() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    seen = {
        alias.name: node.module
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == ragjudge._HOMES


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Faithfullness'"):
        ragjudge.Faithfullness  # noqa: B018
