from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import pytest

from ragjudge.gguf.header import read_header
from ragjudge.gguf.memory import DEVICE_MARGIN
from ragjudge.judges.llama import library
from ragjudge.judges.llama.fitting import fitted
from ragjudge.judges.llama.parameters import free_device_bytes
from ragjudge.judges.llama.settings import EngineSettings
from tests.native import tiny

CPU, GPU, INTEGRATED, ACCELERATOR = range(4)


class FakeFunction:
    """A function of a C library, whose types may be declared."""

    def __init__(self, call: Any) -> None:
        self._call = call
        self.argtypes: list[Any] = []
        self.restype: Any = None

    def __call__(self, *values: Any) -> Any:
        return self._call(*values)


class FakeDevices:
    """ggml with the given devices, as pairs of type and free bytes."""

    def __init__(self, *devices: tuple[int, int]) -> None:
        self.ggml_backend_dev_count = FakeFunction(lambda: len(devices))
        self.ggml_backend_dev_get = FakeFunction(lambda index: index)
        self.ggml_backend_dev_type = FakeFunction(lambda index: devices[index][0])

        def memory(index: int, free: Any, total: Any) -> None:
            free._obj.value = devices[index][1]
            total._obj.value = 2 * devices[index][1]

        self.ggml_backend_dev_memory = FakeFunction(memory)


@pytest.mark.parametrize(
    ("devices", "free"),
    [
        ([], []),
        ([(CPU, 100)], []),
        ([(CPU, 100), (GPU, 7), (ACCELERATOR, 5), (GPU, 9)], [7, 9]),
        ([(CPU, 100), (INTEGRATED, 50)], [50]),
        ([(INTEGRATED, 50), (GPU, 7), (CPU, 100)], [7]),  # another device is better than a shared memory
    ],
)
def test_layers_go_to_real_devices_first(devices: list[tuple[int, int]], free: list[int]) -> None:
    ggml = FakeDevices(*devices)
    assert free_device_bytes(ggml) == free
    assert ggml.ggml_backend_dev_get.restype is ctypes.c_void_p


@pytest.mark.native
def test_llama_cpp_s_own_library_for_devices_has_these_functions() -> None:
    from llama_cpp._ggml import libggml

    assert all(size > 0 for size in free_device_bytes(libggml))
    assert all(size > 0 for size in library.free_devices())


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tiny.build(tmp_path / "tiny.gguf", shape=tiny.Shape(layers=3))


def with_devices(monkeypatch: pytest.MonkeyPatch, *free: int) -> None:
    monkeypatch.setattr(library, "free_devices", lambda: list(free))


def test_without_a_device_settings_stay_as_they_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with_devices(monkeypatch)
    assert fitted(tmp_path / "not-even-read.gguf", EngineSettings(), 512) == EngineSettings()


def test_a_number_that_is_named_is_not_changed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with_devices(monkeypatch, 10**12)
    settings = EngineSettings(gpu_layers=2)
    assert fitted(tmp_path / "not-even-read.gguf", settings, 512) == settings


def test_all_layers_and_the_output_are_offloaded_when_they_fit(
    monkeypatch: pytest.MonkeyPatch, model: Path
) -> None:
    with_devices(monkeypatch, 10**12)
    assert fitted(model, EngineSettings(), 512).gpu_layers == 4


def test_fewer_layers_are_offloaded_when_not_all_fit(monkeypatch: pytest.MonkeyPatch, model: Path) -> None:
    header = read_header(model)
    weights = sum(tensor.size for tensor in header.tensors if tensor.name.startswith("blk.0."))
    output = sum(tensor.size for tensor in header.tensors if tensor.name.startswith("output"))
    settings = EngineSettings(batch=32, sequences=2)
    found = {}
    for free in range(0, output + 4 * weights + 4_000_000, 20_000):
        with_devices(monkeypatch, DEVICE_MARGIN + free)
        found[free] = fitted(model, settings, 96).gpu_layers
    counts = list(found.values())
    assert counts == sorted(counts)  # type: ignore[type-var]
    assert set(counts) == {0, 1, 2, 3, 4}


def test_without_a_split_the_first_device_alone_counts(monkeypatch: pytest.MonkeyPatch, model: Path) -> None:
    with_devices(monkeypatch, 0, 10**12)
    assert fitted(model, EngineSettings(split="none"), 512).gpu_layers == 0
    assert fitted(model, EngineSettings(split="layer"), 512).gpu_layers == 4
