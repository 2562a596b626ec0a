"""What a comparison with other libraries needs: virtual environments, and a server of the same model."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import sysconfig
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.process import MeasurementError

RAGAS = ("ragas==0.4.3", "langchain-community<0.4", "langchain<1", "langchain-core<1", "langchain-openai<1")
DEEPEVAL = ("deepeval==4.3.1",)
SERVER = ("uvicorn", "fastapi", "pydantic-settings", "sse-starlette", "starlette-context<0.4", "PyYAML")
"""What llama-cpp-python's own server needs beside llama-cpp-python itself."""

WINDOW = 8192
WARM_UP = {"messages": [{"role": "user", "content": "Is water wet?"}], "max_tokens": 1}
"""Asked once before the clock starts: it brings the model's pages in."""

_START_SECONDS = 180.0
_SETTINGS = ("CONFIDENT_", "DEEPEVAL_", "LOCAL_MODEL_", "OPENAI_", "USE_")
"""Beginnings of the variables that would change how the other libraries run, or whom they tell of it."""


def ragas_python(out: Path, say: Callable[[str], None]) -> Path:
    """Return the Python of Ragas' environment, made when it is missing."""
    return _environment(out / "ragas-venv", RAGAS, say)


def deepeval_python(out: Path, say: Callable[[str], None]) -> Path:
    """Return the Python of DeepEval's environment, made when it is missing."""
    return _environment(out / "deepeval-venv", DEEPEVAL, say)


def server_python(out: Path, say: Callable[[str], None]) -> Path:
    """Return the Python of the server's environment, made when it is missing.

    It finds llama-cpp-python where this Python has it, so that both sides run the very same build.
    """
    python = _environment(out / "server-venv", SERVER, say)
    (packages,) = (out / "server-venv").glob("lib/python*/site-packages")
    (packages / "llama.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return python


def _environment(folder: Path, packages: Sequence[str], say: Callable[[str], None]) -> Path:
    python, done = folder / "bin" / "python", folder / ".installed"
    wanted = "\n".join(packages)
    if not done.exists() or done.read_text(encoding="utf-8") != wanted:
        say(f"installing {packages[0]} into {folder} …")
        _checked([sys.executable, "-m", "venv", str(folder)])
        _checked([str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages])
        done.write_text(wanted, encoding="utf-8")
    return python


def _checked(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MeasurementError(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")


class Server:
    """llama-cpp-python's own server with one model, on this machine alone; started when it is first needed.

    Args:
        python: See `server_python`.
        model: The model file.
        log: Where its output goes.
    """

    def __init__(self, python: Path, model: Path, log: Path) -> None:
        self._python, self._model, self._log = python, model, log
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0

    @property
    def base_url(self) -> str:
        """Where it listens; starts it."""
        if self._process is None:
            self._start()
        return f"http://127.0.0.1:{self._port}/v1"

    def _start(self) -> None:
        from ragjudge.judges.llama.settings import physical_cores

        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        cores = str(physical_cores())
        settings = {
            "model": str(self._model),
            "host": "127.0.0.1",
            "port": str(self._port),
            "n_ctx": str(WINDOW),
            # The same as the judge in this process has; by default half of the cores would generate.
            "n_threads": cores,
            "n_threads_batch": cores,
            "flash_attn": "true",
            # By default it computes the logits of every token of a prompt, which only costs time.
            "logits_all": "false",
            "interrupt_requests": "false",
            "verbose": "false",
        }
        command = [str(self._python), "-m", "llama_cpp.server"]
        for name, value in settings.items():
            command += [f"--{name}", value]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=offline())
        self._wait()

    def _wait(self) -> None:
        assert self._process is not None
        until = time.monotonic() + _START_SECONDS
        while time.monotonic() < until:
            if self._process.poll() is not None:
                break
            try:
                self._call("models", None)
                self._call("chat/completions", WARM_UP)
                return
            except (urllib.error.URLError, OSError):
                time.sleep(0.5)
        self.stop()
        raise MeasurementError(f"the server did not start; see {self._log}")

    def _call(self, path: str, body: dict[str, Any] | None) -> None:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._port}/v1/{path}",
            data=None if body is None else json.dumps(body).encode("utf-8"),
            headers={"Content-Type": "application/json"},
        )
        with opener.open(request, timeout=_START_SECONDS) as reply:
            reply.read()

    def stop(self) -> None:
        """End it, whatever it is doing; it starts again when it is needed."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def offline() -> dict[str, str]:
    """Return an environment in which nothing reports home and nothing is sent through a proxy."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if "proxy" not in name.lower() and not name.startswith(_SETTINGS)
    }
    return {
        **kept,
        "RAGAS_DO_NOT_TRACK": "true",
        "HF_HUB_OFFLINE": "1",
        "ANONYMIZED_TELEMETRY": "false",
        "LANGCHAIN_TRACING_V2": "false",
        "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
        "DEEPEVAL_DISABLE_DOTENV": "1",
        "DEEPEVAL_UPDATE_WARNING_OPT_IN": "0",
        "CONFIDENT_TRACE_FLUSH": "0",
    }
