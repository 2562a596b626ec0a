"""What the Makefile says before it starts anything."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project.imports import ROOT

TARGETS = [
    "install",
    "demo",
    "test",
    "check",
    "lint",
    "format",
    "typecheck",
    "cov",
    "bench",
    "build",
    "clean",
]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with what the Makefile reads, and nothing installed."""
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def _make(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    # Inside `make test` the outer make's own flags must not reach this one.
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "GPU"))
    }
    kept.pop("PYTHON", None)
    return subprocess.run(
        ["make", *arguments],
        cwd=folder,
        env=kept | environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def _path_with(folder: Path, *tools: str) -> str:
    """Return a PATH on which there are these tools only."""
    folder.mkdir()
    for tool in tools:
        found = shutil.which(tool)
        assert found, tool
        (folder / tool).symlink_to(found)
    return str(folder)


def _fake_python(folder: Path, version: tuple[int, int]) -> str:
    """Write a command that behaves like a Python of a version where it is only asked for its version."""
    script = folder / f"python{version[0]}.{version[1]}"
    script.write_text(
        "#!/bin/sh\n"
        f'test "$1" = -V && {{ echo "Python {version[0]}.{version[1]}.0"; exit; }}\n'
        f'exec "{sys.executable}" "$1" "import sys; sys.version_info = {version}; $2"\n',
        encoding="utf-8",
    )
    script.chmod(0o755)
    return str(script)


@pytest.mark.parametrize("arguments", [[], ["help"]], ids=["make", "make help"])
def test_help_lists_every_target_with_a_sentence(checkout: Path, arguments: list[str]) -> None:
    done = _make(checkout, *arguments)
    assert done.returncode == 0, done.stderr
    listed = dict(re.findall(r"^  make (\S+) +(\S.*)$", done.stdout, flags=re.MULTILINE))
    assert list(listed) == ["help", *TARGETS]
    assert list(checkout.glob(".venv")) == []


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_has_a_recipe(checkout: Path, target: str) -> None:
    done = _make(checkout, "-n", target)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize(
    ("gpu", "flag"),
    [("", "OFF "), ("cpu", "OFF "), ("cuda", "-DGGML_CUDA=on"), ("vulkan", "-DGGML_VULKAN=on")],
)
def test_the_build_flags_of_a_gpu_are_passed(checkout: Path, gpu: str, flag: str) -> None:
    recipe = _make(checkout, "-n", "install", f"GPU={gpu}").stdout
    build = re.search(
        r'^CMAKE_ARGS="(.*)" \.venv/bin/python -m pip install .*llama-cpp-python==', recipe, re.M
    )
    assert build is not None, recipe
    assert flag in build[1]
    assert "-DLLAVA_BUILD=OFF" in build[1]
    assert ("--force-reinstall" in build[0]) == ("--no-cache-dir" in build[0]) == (gpu not in ("", "cpu"))


def test_a_build_for_a_gpu_stays_until_another_one_is_named(checkout: Path) -> None:
    (checkout / ".venv").mkdir()
    (checkout / ".venv/.backend").write_text("cuda\n", encoding="utf-8")
    (checkout / ".venv/.installed-cuda").touch()
    assert "pip install" not in _make(checkout, "-n", "install").stdout
    assert "pip install" not in _make(checkout, "-n", "install", "GPU=cuda").stdout
    anew = _make(checkout, "-n", "install", "GPU=cpu").stdout
    assert "--force-reinstall" in anew
    assert "GGML_CUDA" not in anew
    assert "--force-reinstall" in _make(checkout, "-n", "install", "GPU=vulkan").stdout


def test_what_is_installed_is_not_installed_again_until_the_project_file_changes(checkout: Path) -> None:
    (checkout / ".venv").mkdir()
    for stamp in (".installed-cpu", ".dev"):
        (checkout / ".venv" / stamp).touch()
    for target in ("install", "demo", "test", "check", "cov", "bench", "build"):
        assert "pip install" not in _make(checkout, "-n", target).stdout, target
    later = (checkout / ".venv/.dev").stat().st_mtime + 10
    os.utime(checkout / "pyproject.toml", (later, later))
    assert _make(checkout, "-n", "test").stdout.count("pip install") == 3


@pytest.mark.parametrize("gpu", ["foo", "CUDA", "cuda,vulkan"])
def test_an_unknown_gpu_is_refused_with_the_accepted_ones(checkout: Path, gpu: str) -> None:
    done = _make(checkout, "install", f"GPU={gpu}")
    assert done.returncode == 2
    assert f"GPU={gpu} is not known; accepted are cuda, metal, vulkan, and cpu for none" in done.stderr
    assert list(checkout.glob(".venv")) == []


@pytest.mark.skipif(sys.platform == "darwin", reason="metal is accepted on macOS")
def test_metal_is_refused_where_there_is_none(checkout: Path) -> None:
    done = _make(checkout, "install", "GPU=metal")
    assert done.returncode == 2
    assert "GPU=metal works on macOS only" in done.stderr


def test_a_missing_compiler_is_said_before_anything_is_made(checkout: Path, tmp_path: Path) -> None:
    path = _path_with(tmp_path / "tools", "make", "sh", "cat", "uname", "sed")
    done = _make(checkout, "install", f"PYTHON={sys.executable}", PATH=path, CXX="")
    assert done.returncode == 2
    assert "A C++ compiler is missing" in done.stderr
    for remedy in ("apt install g++", "dnf install gcc-c++", "xcode-select --install"):
        assert remedy in done.stderr
    assert list(checkout.glob(".venv")) == []


@pytest.mark.parametrize(("gpu", "tool"), [("cuda", "nvcc"), ("vulkan", "glslc")])
def test_a_missing_compiler_for_the_gpu_is_said_before_anything_is_made(
    checkout: Path, tmp_path: Path, gpu: str, tool: str
) -> None:
    path = _path_with(tmp_path / "tools", "make", "sh", "cat", "uname", "sed")
    (tmp_path / "tools/c++").symlink_to("/bin/sh")
    done = _make(checkout, "install", f"GPU={gpu}", f"PYTHON={sys.executable}", PATH=path, CUDACXX="")
    assert done.returncode == 2
    assert f"GPU={gpu} needs" in done.stderr
    assert tool in done.stderr
    assert list(checkout.glob(".venv")) == []


def test_a_missing_python_is_said(checkout: Path) -> None:
    done = _make(checkout, "lint", "PYTHON=python-of-nowhere")
    assert done.returncode == 2
    assert "Python is missing" in done.stderr
    assert "python-of-nowhere" in done.stderr


@pytest.mark.parametrize("version", [(3, 9), (3, 14)])
def test_a_python_that_is_too_old_or_too_new_is_refused(
    checkout: Path, tmp_path: Path, version: tuple[int, int]
) -> None:
    done = _make(checkout, "lint", f"PYTHON={_fake_python(tmp_path, version)}")
    assert done.returncode == 2
    assert (
        f"Python {version[0]}.{version[1]}.0 is not supported: ragjudge needs Python 3.10 to 3.13"
        in done.stderr
    )
    assert list(checkout.glob(".venv")) == []


def test_another_python_than_that_of_the_environment_is_refused(checkout: Path, tmp_path: Path) -> None:
    (checkout / ".venv/bin").mkdir(parents=True)
    (checkout / ".venv/bin/python").symlink_to(_fake_python(tmp_path, (3, 10)))
    done = _make(checkout, "-n", "lint", f"PYTHON={_fake_python(tmp_path, (3, 12))}")
    assert done.returncode == 2
    assert ".venv holds Python 3.10.0, not" in done.stderr
    assert _make(checkout, "-n", "lint", f"PYTHON={_fake_python(tmp_path, (3, 10))}").returncode == 0
    assert _make(checkout, "-n", "clean", f"PYTHON={_fake_python(tmp_path, (3, 12))}").returncode == 0


def test_clean_keeps_models_and_the_demo(checkout: Path) -> None:
    kept = ["models/a.gguf", "demo/suite.yaml", "ragjudge/a.py", "tests/a.py"]
    gone = [
        ".venv/a",
        "dist/a.whl",
        "htmlcov/index.html",
        ".mypy_cache/a",
        "ragjudge/__pycache__/a.pyc",
        ".coverage",
    ]
    for name in kept + gone:
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).touch()
    done = _make(checkout, "clean")
    assert done.returncode == 0, done.stderr
    assert [name for name in kept + gone if (checkout / name).exists()] == kept


def test_the_checks_of_a_change_run_the_tests() -> None:
    script = ROOT / ".ci/run"
    if not script.exists():  # a source archive comes without it
        pytest.skip("no .ci/run here")
    assert os.access(script, os.X_OK)
    assert re.search(r"^exec make lint typecheck test$", script.read_text(encoding="utf-8"), re.M)
