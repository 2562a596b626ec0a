"""Lets another library score a case: in its own virtual environment, against a server of the same model."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.benchmarks.ragas_setup import Server, offline


def ask_client(
    client: Path, python: Path, server: Server, request: dict[str, Any], timeout: float
) -> dict[str, Any]:
    """Run a client for one case, and stop it when it takes too long.

    Args:
        client: The script.
        python: The Python of the library's environment.
        server: What answers; it is stopped when nobody waits for its reply any more.
        request: What the client reads; see there.
        timeout: Most seconds for all metrics together.

    Returns:
        ``metrics`` by name with the client's fields, a metric that was not done having an ``error``;
        ``seconds``, without loading the library (a lower bound when it was stopped); and whether it was
        ``late``.
    """
    with tempfile.TemporaryDirectory(prefix="client-") as folder:
        process = subprocess.Popen(
            # -I: nothing of this folder or of this Python's environment is importable there.
            [str(python), "-I", str(client)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env=offline(),
            cwd=folder,  # libraries leave files wherever they run
        )
        started = time.perf_counter()
        late = False
        try:
            written, problems = process.communicate(json.dumps(request), timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            written, problems = process.communicate()
            late = True
            server.stop()  # it would go on with a reply that nobody waits for
        except BaseException:
            process.kill()
            process.wait()
            raise
        elapsed = time.perf_counter() - started
    lines = [json.loads(line) for line in written.splitlines() if line.startswith("{")]
    metrics = {line.pop("metric"): line for line in lines}
    for name in request["metrics"]:
        if name not in metrics:
            error = f"not done within {timeout:.0f} s" if late else problems[-500:] or "no result"
            metrics[name] = {"value": None, "seconds": 0.0, "error": error, "calls": []}
    seconds = elapsed if late else sum(metric["seconds"] for metric in metrics.values())
    return {"metrics": metrics, "seconds": seconds, "late": late}
