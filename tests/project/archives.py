"""Check of built archives: ``python -m tests.project.archives dist``."""

from __future__ import annotations

import sys
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

from tests.project.imports import PACKAGE

_NEVER = (".gguf", ".part", ".pyc", ".sqlite", ".db")
MOVED = {
    "models/manifest.yaml": "ragjudge/gguf/manifest.yaml",
    **{
        f"models/calibrations/{path.name}": f"ragjudge/agreement/calibrations/{path.name}"
        for path in sorted((PACKAGE.parent / "models" / "calibrations").glob("*.json"))
    },
}
"""What lies in models/ of a checkout, and where a wheel carries it inside the package."""


def wanted_in_wheel() -> list[str]:
    """Return the files a wheel must hold: every module and every data file of the package."""
    here = [path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return sorted([path.relative_to(PACKAGE.parent).as_posix() for path in here] + [*MOVED.values()])


def wheel_faults(names: Iterable[str]) -> list[str]:
    """Return what is wrong with the content of a wheel, one sentence each.

    Args:
        names: The names in the archive.
    """
    names = set(names)
    faults = [f"{name} is missing." for name in wanted_in_wheel() if name not in names]
    if not any(name.endswith(".dist-info/licenses/LICENSE") for name in names):
        faults.append("LICENSE is missing.")
    if not any(name.endswith(".dist-info/entry_points.txt") for name in names):
        faults.append("the command ragjudge is missing.")
    strangers = {name.split("/")[0] for name in names if ".dist-info/" not in name} - {"ragjudge"}
    faults += [f"{name} does not belong into it." for name in sorted(strangers)]
    return faults + _unwanted(names)


def sdist_faults(names: Iterable[str]) -> list[str]:
    """Return what is wrong with the content of a source archive, one sentence each.

    Args:
        names: The names in the archive, each below one folder.
    """
    inner = {name.partition("/")[2] for name in names}
    wanted = [name for name in wanted_in_wheel() if name not in MOVED.values()]
    wanted += ["LICENSE", "Makefile", "README.md", "pyproject.toml", *MOVED]
    return [f"{name} is missing." for name in wanted if name not in inner] + _unwanted(inner)


def _unwanted(names: Iterable[str]) -> list[str]:
    return [f"{name} does not belong into it." for name in sorted(names) if name.endswith(_NEVER)]


def main(folder: Path) -> int:
    """Check the one wheel and the one source archive of a folder; return an exit code."""
    wheels, sdists = sorted(folder.glob("*.whl")), sorted(folder.glob("*.tar.gz"))
    if len(wheels) != 1 or len(sdists) != 1:
        sys.stderr.write(
            f"{folder} holds {len(wheels)} wheels and {len(sdists)} source archives, not one each.\n"
        )
        return 1
    with zipfile.ZipFile(wheels[0]) as wheel, tarfile.open(sdists[0]) as sdist:
        contents = {wheels[0]: wheel.namelist(), sdists[0]: sdist.getnames()}
    faults = {wheels[0]: wheel_faults(contents[wheels[0]]), sdists[0]: sdist_faults(contents[sdists[0]])}
    for path, sentences in faults.items():
        for sentence in sentences:
            sys.stderr.write(f"{path.name}: {sentence}\n")
        if not sentences:
            size = path.stat().st_size / 1e3
            sys.stdout.write(f"{path}: {len(contents[path])} files, {size:,.0f} kB, complete\n")
    return 1 if any(faults.values()) else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
