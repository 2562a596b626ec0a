from __future__ import annotations

import os
import socket
import urllib.request
from pathlib import Path

import pytest

from tests.conftest import NetworkBlockedError

ABROAD = ("192.0.2.1", 80)  # reserved for documentation: nobody answers there


def test_a_connection_that_leaves_this_machine_is_refused_by_name() -> None:
    with socket.socket() as client, pytest.raises(NetworkBlockedError, match=r"192\.0\.2\.1"):
        client.connect(ABROAD)
    with socket.socket() as client, pytest.raises(NetworkBlockedError, match=r"192\.0\.2\.1"):
        client.connect_ex(ABROAD)


def test_a_name_outside_is_not_even_looked_up() -> None:
    with pytest.raises(NetworkBlockedError, match=r"host\.invalid"):
        urllib.request.urlopen("http://host.invalid/")


def test_loopback_and_unix_sockets_stay_open(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(("localhost", server.getsockname()[1]), timeout=5).close()
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(str(tmp_path / "s"))
        server.listen()
        client.connect(str(tmp_path / "s"))


def test_the_folders_of_ragjudge_are_a_test_s_own() -> None:
    home = Path(os.environ["RAGJUDGE_HOME"])
    assert home.is_dir()
    assert not any(home.iterdir())
    assert Path(os.environ["RAGJUDGE_CACHE"]).parent == Path(os.environ["RAGJUDGE_MODELS"]).parent == home
    assert "RAGJUDGE_JUDGE" not in os.environ
