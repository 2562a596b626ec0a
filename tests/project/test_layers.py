"""Imports go one way, those in functions, those for types only and those named in strings included."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

import pytest

from tests.project.imports import Import, imports, imports_of, modules, unit

GROUND = {"records", "errors"}
GRADING = GROUND | {"metrics", "judges", "cache", "planning", "runner"}

LAYERS: dict[str, set[str]] = {
    "records": set(),
    "errors": set(),
    "text": {"errors"},
    "prompts": GROUND,
    "gguf": {"errors"},
    "datasets": GROUND | {"text"},
    "metrics": GROUND | {"text", "prompts"},
    "judges": GROUND | {"gguf", "text", "prompts"},
    "cache": GROUND | {"judges", "prompts"},
    "reports": GROUND,
    "providers": GROUND | {"datasets"},
    "suites": GROUND | {"text", "datasets", "metrics", "providers"},
    "planning": GROUND | {"metrics", "judges"},
    "results": GROUND | {"metrics", "planning"},
    "runner": GROUND | {"metrics", "judges", "cache", "planning", "results"},
    "agreement": GROUND | {"judges", "cache", "metrics", "prompts", "text", "gguf", "datasets"},
    "sessions": GROUND | {"judges", "cache", "agreement"},
    "scorers": GRADING | {"sessions", "datasets", "text"},
    "assembly": GRADING | {"agreement", "sessions", "suites", "providers", "datasets", "text"},
    "evaluation": GRADING | {"sessions", "scorers", "suites", "providers", "datasets", "reports", "text"},
    "cli": GRADING
    | {"sessions", "scorers", "assembly", "evaluation", "suites", "providers", "datasets", "reports"}
    | {"agreement", "text", "prompts", "gguf"},
    "__main__": {"cli"},
}
"""What each part of the package may import, beside itself."""

ONLY_IN = {
    "llama_cpp": "ragjudge.judges.llama.library",
    "diskcache": "ragjudge.cache",
    "nltk": "ragjudge.text",
    "click": "ragjudge.cli",
}
"""Packages that only one place may import, so that replacing one changes that place alone."""


def _inside(module: str, place: str) -> bool:
    return module == place or module.startswith(f"{place}.")


def _told(found: list[Import]) -> str:
    return "\n".join(map(str, found))


def test_every_part_of_the_package_has_its_place_among_the_layers() -> None:
    assert {unit(module) for module in modules()} - {"ragjudge"} == set(LAYERS)


def test_the_layers_themselves_have_no_cycle() -> None:
    order = list(TopologicalSorter(LAYERS).static_order())
    assert order.index("records") < order.index("metrics") < order.index("runner") < order.index("cli")


@pytest.mark.parametrize("part", sorted(LAYERS))
def test_a_part_imports_only_from_below(part: str) -> None:
    allowed = LAYERS[part] | {part}
    wrong = [
        found
        for found in imports()
        if unit(found.module) == part
        and found.target.startswith("ragjudge.")
        and found.target != "ragjudge.__version__"
        and unit(found.target) not in allowed
    ]
    assert not wrong, f"{_told(wrong)}\n{part} may import {sorted(LAYERS[part])}"


def test_metrics_and_judges_do_not_know_each_other() -> None:
    assert LAYERS["metrics"].isdisjoint({"judges", "cache", "runner"})
    assert LAYERS["judges"].isdisjoint({"metrics", "cache", "suites", "runner"})
    assert LAYERS["reports"] == {"records", "errors"}
    assert [part for part, allowed in LAYERS.items() if "cli" in allowed] == ["__main__"]


@pytest.mark.parametrize("package", sorted(ONLY_IN))
def test_a_heavy_package_is_imported_in_one_place_only(package: str) -> None:
    found = [found for found in imports() if found.target.split(".")[0] == package]
    assert found, f"nothing imports {package}: take it out of this list"
    wrong = [one for one in found if not _inside(one.module, ONLY_IN[package])]
    assert not wrong, _told(wrong)


def test_the_modules_of_tokens_and_logits_know_no_prompts_and_no_records() -> None:
    llama_cpp = {"ragjudge.judges.llama.native", "ragjudge.judges.llama.library"}
    known = [found for found in imports() if found.module in llama_cpp]
    wrong = [
        found
        for found in known
        if found.target.split(".")[0] in ("jinja2", "pydantic")
        or (found.target.startswith("ragjudge.") and unit(found.target) not in ("errors", "judges"))
    ]
    assert known
    assert not wrong, _told(wrong)


def test_imports_are_absolute() -> None:
    wrong = [found for found in imports() if found.target.startswith(".")]
    assert not wrong, _told(wrong)


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    graph: dict[str, set[str]] = {module: set() for module in modules()}
    for found in imports():
        if found.at_once and found.target in graph and found.target != found.module:
            graph[found.module].add(found.target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_no_module_is_longer_than_400_lines() -> None:
    lengths = {name: path.read_text(encoding="utf-8").count("\n") for name, path in modules().items()}
    assert {name: length for name, length in lengths.items() if length > 400} == {}


def test_imports_are_seen_wherever_they_hide() -> None:
    source = (
        "import a.b\n"
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n"
        "    from ragjudge.records import Sample\n"
        "def f():\n"
        "    from ragjudge import __version__\n"
        "    import c\n"
        "class K:\n"
        "    from ..x import d\n"
        "LATER = {'x': 'ragjudge.cli.main:cli', 'y': 'ragjudge.nowhere:z', 'z': 'a ragjudge.errors'}\n"
        "from ragjudge.text import claims\n"
    )
    assert {(found.target, found.at_once) for found in imports_of("m", source)} == {
        ("a.b", True),
        ("typing", True),
        ("ragjudge.records", False),
        ("ragjudge.__version__", False),
        ("c", False),
        ("..x", True),
        ("ragjudge.cli.main", False),
        ("ragjudge.text.claims", True),
    }
