"""What holds for every test: no network, no user's folders, and nothing left out in silence."""

from __future__ import annotations

import importlib.util
import ipaddress
import os
import socket
from pathlib import Path
from typing import Any

import pytest

SMALL_MODEL = "qwen2.5-coder-0.5b"
"""The manifest's model for tests that need a real model."""

DEFAULT_MODEL = "qwen2.5-coder-1.5b"
"""The manifest's model for tests of what the default model says."""

_REAL_FOLDERS = {name: os.environ.get(name) for name in ("RAGJUDGE_HOME", "RAGJUDGE_MODELS")}
"""Where the user's models are, before tests get folders of their own."""


class NetworkBlockedError(RuntimeError):
    """A test tried to leave this machine.

    Not an `OSError`: code that falls back when a host is unreachable must not hide the attempt.
    """


def _is_loopback(host: Any) -> bool:
    if host is None or host in ("", b""):  # the wildcard: binding, never leaving
        return True
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)
    if name.rstrip(".").lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(name.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _refuse_unless_local(family: int, address: Any) -> None:
    if family == getattr(socket, "AF_UNIX", None):
        return
    host = address[0] if isinstance(address, tuple) and address else address
    if not _is_loopback(host):
        raise NetworkBlockedError(f"a test tried to reach {address!r}; only loopback is open to tests")


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse every connection and name look-up that leaves this machine, naming the address."""
    connect, connect_ex, getaddrinfo = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def guarded_connect(self: socket.socket, address: Any) -> None:
        _refuse_unless_local(self.family, address)
        connect(self, address)

    def guarded_connect_ex(self: socket.socket, address: Any) -> int:
        _refuse_unless_local(self.family, address)
        return connect_ex(self, address)

    def guarded_getaddrinfo(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        if not _is_loopback(host):
            raise NetworkBlockedError(f"a test tried to look up {host!r}; only loopback is open to tests")
        return getaddrinfo(host, port, *args, **kwargs)

    monkeypatch.setattr(socket.socket, "connect", guarded_connect)
    monkeypatch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
    monkeypatch.setattr(socket, "getaddrinfo", guarded_getaddrinfo)


@pytest.fixture(autouse=True)
def _own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Point every folder of ragjudge at one of this test's own, for subprocesses too."""
    home = tmp_path_factory.mktemp("ragjudge-home")
    monkeypatch.setenv("RAGJUDGE_HOME", str(home))
    monkeypatch.setenv("RAGJUDGE_CACHE", str(home / "cache"))
    monkeypatch.setenv("RAGJUDGE_MODELS", str(home / "models"))
    monkeypatch.delenv("RAGJUDGE_JUDGE", raising=False)


def _required(what: str) -> bool:
    return os.environ.get(f"RAGJUDGE_REQUIRE_{what}") == "1"


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out native tests where llama.cpp is not installed; say so, or fail when it was asked for."""
    if not (item.get_closest_marker("native") or item.get_closest_marker("model")):
        return
    if importlib.util.find_spec("llama_cpp") is not None:
        return
    reason = "llama-cpp-python is not installed"
    if _required("NATIVE"):
        pytest.fail(f"{reason}, and RAGJUDGE_REQUIRE_NATIVE=1", pytrace=False)
    pytest.skip(reason)


def _model(name: str) -> Path:
    """Return the path of a model's file; leave the test out, or fail it when models were asked for."""
    from ragjudge.gguf.locate import locate, models_dir

    with pytest.MonkeyPatch.context() as patch:
        for variable, value in _REAL_FOLDERS.items():
            patch.delenv(variable, raising=False)
            if value is not None:
                patch.setenv(variable, value)
        path, folder = locate(name).path, models_dir()
    if path is None:
        reason = f"{name} is not in {folder}"
        if _required("MODEL"):
            pytest.fail(f"{reason}, and RAGJUDGE_REQUIRE_MODEL=1", pytrace=False)
        pytest.skip(reason)
    return path.resolve()


@pytest.fixture(scope="session")
def small_model() -> Path:
    """The path of the small model."""
    return _model(SMALL_MODEL)


@pytest.fixture(scope="session")
def default_model() -> Path:
    """The path of the model that judges when none is named."""
    return _model(DEFAULT_MODEL)
