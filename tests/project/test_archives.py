from __future__ import annotations

import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.project.archives import MOVED, main, sdist_faults, wanted_in_wheel, wheel_faults

INFO = "ragjudge_offline-0.dist-info"
WHEEL = [*wanted_in_wheel(), f"{INFO}/licenses/LICENSE", f"{INFO}/entry_points.txt", f"{INFO}/METADATA"]
SDIST = [
    f"ragjudge_offline-0/{name}"
    for name in (
        *(name for name in wanted_in_wheel() if name not in MOVED.values()),
        *("LICENSE", "Makefile", "README.md", "pyproject.toml", "tests/__init__.py", *MOVED),
    )
]


def _write_archives(folder: Path, wheel: Iterable[str], sdist: Iterable[str]) -> None:
    with zipfile.ZipFile(folder / "ragjudge_offline-0-py3-none-any.whl", "w") as archive:
        for name in wheel:
            archive.writestr(name, "")
    with tarfile.open(folder / "ragjudge_offline-0.tar.gz", "w:gz") as tar:
        for name in sdist:
            tar.addfile(tarfile.TarInfo(name))


def test_a_wheel_must_hold_everything_the_package_reads() -> None:
    wanted = set(wanted_in_wheel())
    assert {
        "ragjudge/__init__.py",
        "ragjudge/py.typed",
        "ragjudge/gguf/manifest.yaml",
        "ragjudge/agreement/calibrations/qwen2.5-coder-1.5b.json",
        "ragjudge/agreement/traps/english.jsonl",
        "ragjudge/prompts/templates/support.1.yaml",
        "ragjudge/prompts/templates/support_excerpt.1.yaml",
        "ragjudge/prompts/profiles/lynx.1.yaml",
        "ragjudge/suites/example/rows.jsonl",
        "ragjudge/suites/example/suite.yaml",
    } <= wanted
    assert any(name.startswith("ragjudge/text/data/punkt") for name in wanted)
    assert not any("__pycache__" in name for name in wanted)


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ("ragjudge/py.typed", "ragjudge/py.typed is missing."),
        ("ragjudge/gguf/manifest.yaml", "ragjudge/gguf/manifest.yaml is missing."),
        (f"{INFO}/licenses/LICENSE", "LICENSE is missing."),
        (f"{INFO}/entry_points.txt", "the command ragjudge is missing."),
    ],
)
def test_what_a_wheel_lacks_is_named(missing: str, said: str) -> None:
    assert wheel_faults(WHEEL) == []
    assert wheel_faults(name for name in WHEEL if name != missing) == [said]


def test_what_does_not_belong_into_an_archive_is_named() -> None:
    assert wheel_faults([*WHEEL, "tests/__init__.py"]) == ["tests does not belong into it."]
    assert wheel_faults([*WHEEL, "ragjudge/a.gguf"]) == ["ragjudge/a.gguf does not belong into it."]
    assert sdist_faults(SDIST) == []
    assert sdist_faults([*SDIST, "x/models/a.gguf"]) == ["models/a.gguf does not belong into it."]
    assert sdist_faults(SDIST[1:]) == [f"{wanted_in_wheel()[0]} is missing."]


def test_complete_archives_are_accepted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _write_archives(tmp_path, WHEEL, SDIST)
    assert main(tmp_path) == 0
    assert capsys.readouterr().out.count(", complete\n") == 2


def test_an_incomplete_archive_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _write_archives(tmp_path, WHEEL, SDIST[1:])
    assert main(tmp_path) == 1
    output = capsys.readouterr()
    assert output.out.count(", complete\n") == 1
    assert "ragjudge_offline-0.tar.gz: " in output.err


def test_two_wheels_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _write_archives(tmp_path, WHEEL, SDIST)
    (tmp_path / "another.whl").touch()
    assert main(tmp_path) == 1
    assert "2 wheels" in capsys.readouterr().err
