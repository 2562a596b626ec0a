"""The first source of a model file: its publisher's repository, through ``huggingface_hub``."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ragjudge.errors import JudgeUnavailableError
from ragjudge.gguf.child import Watch, run_child
from ragjudge.gguf.manifest import HubSource, ModelEntry

ANSWER_SECONDS = 12.0
"""Seconds the publisher has to say that it holds the file, from the start of the child process.

With what happens around it a pull moves on to the next source within 15 seconds.
"""

_STALL_SECONDS = 60.0
_TRUE = {"1", "ON", "YES", "TRUE"}

# The first line it prints says what the publisher holds; only then does the download start.
_PROGRAM = """
import json, sys
from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url
repo, name, folder, size, sha256, revision = sys.argv[1:]
try:
    held = get_hf_file_metadata(hf_hub_url(repo, name, revision=revision), timeout=5)
    print(json.dumps({"size": held.size, "etag": held.etag}), flush=True)
    if held.size in (None, int(size)) and (len(held.etag or "") != 64 or held.etag == sha256):
        hf_hub_download(repo, name, revision=revision, local_dir=folder)
except Exception as error:
    sys.exit(f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}")
"""

# Plain HTTP: one host to reach and one place to resume from. No telemetry, no bar of its own.
_SETTINGS = {
    "HF_HUB_DISABLE_XET": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_ETAG_TIMEOUT": "10",
    "HF_HUB_DOWNLOAD_TIMEOUT": "15",
}


def fetch_from_hub(
    source: HubSource,
    entry: ModelEntry,
    folder: Path,
    on_bytes: Callable[[int], None],
    *,
    program: str = _PROGRAM,
    answer_seconds: float = ANSWER_SECONDS,
) -> Path:
    """Download a file from its publisher; what an interrupted download left in ``folder`` is used.

    Args:
        source: The repository and file.
        entry: What is expected.
        folder: An existing folder to download into.
        on_bytes: Called with the bytes that are there.
        program: The program the child process runs, for tests.
        answer_seconds: Seconds to wait for the publisher's first answer.

    Returns:
        The downloaded file, not verified yet.

    Raises:
        JudgeUnavailableError: huggingface_hub is not installed or told to stay offline, the publisher does
            not answer in time or stops sending, or it holds another file than the one expected.
    """
    if importlib.util.find_spec("huggingface_hub") is None:
        raise JudgeUnavailableError("huggingface_hub is not installed")
    for variable in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        if os.environ.get(variable, "").upper() in _TRUE:
            raise JudgeUnavailableError(f"{variable} is set")
    wanted = source.huggingface
    watch = Watch(folder, on_bytes, _STALL_SECONDS)

    def tick(seconds: float, output: str) -> None:
        if "\n" in output:
            watch.look(seconds)
        elif seconds > answer_seconds:
            raise JudgeUnavailableError(f"no answer within {answer_seconds:.0f} seconds")

    revision = wanted.revision or "main"
    arguments = (wanted.repo, wanted.file, str(folder.resolve()), str(entry.size), entry.sha256, revision)
    output = run_child([sys.executable, "-c", program, *arguments], folder, env=_SETTINGS, tick=tick)
    path = folder / wanted.file
    if path.is_file():
        return path
    held: dict[str, Any] = json.loads(output.splitlines()[0]) if output else {}
    raise JudgeUnavailableError(
        f"it holds another file now ({held.get('size')} bytes, {held.get('etag')}; "
        f"expected {entry.size} bytes, {entry.sha256})"
    )
