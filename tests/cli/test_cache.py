from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ragjudge.cache.store import Store
from ragjudge.cli.cache import cache
from ragjudge.errors import CacheError
from ragjudge.records import Reply
from tests.cache.helpers import JUDGE, check, prompt, put


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Store(tmp_path / "cache") as store:
        put(store, check())
        put(store, check("Other."))
        put(store, prompt(), Reply(text="{}"))
        store.remember_judge("models/\x1b[31mred.gguf", JUDGE.document)
    return tmp_path / "cache"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cache, ["stats", *arguments])


def test_stats_are_printed_for_a_person(folder: Path) -> None:
    result = run("--cache", str(folder))
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        f"location  {folder}",
        "calls     3",
        "         1  holistic@2",
        "         2  support@1",
        "judges    1",
        f"  models/\\x1b[31mred.gguf  {JUDGE.fingerprint[:12]}",
        "texts     1",
        f"bytes     {(folder / 'cache.db').stat().st_size}",
    ]


def test_stats_are_printed_as_json(folder: Path) -> None:
    result = run("--cache", str(folder), "--format", "json")
    assert json.loads(result.output) == {
        "location": str(folder),
        "calls": 3,
        "texts": 1,
        "bytes": (folder / "cache.db").stat().st_size,
        "templates": {"holistic@2": 1, "support@1": 2},
        "judges": {"models/\x1b[31mred.gguf": [JUDGE.fingerprint]},
        "damaged": 0,
    }


def test_damaged_rows_are_reported(folder: Path) -> None:
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(folder / "cache.db")) as connection:
        connection.execute("UPDATE Cache SET value = '{}' WHERE key LIKE 'call/%'")
        connection.commit()
    assert "damaged   3  (they count as missing and are judged anew)" in run("--cache", str(folder)).output


def test_the_folder_of_the_environment_is_shown(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGJUDGE_CACHE", str(folder))
    assert f"location  {folder}" in run().output


def test_a_missing_cache_is_an_error_and_is_not_made(tmp_path: Path) -> None:
    result = run("--cache", str(tmp_path / "none"))
    assert isinstance(result.exception, CacheError)
    assert "there is no cache at" in str(result.exception)
    assert not (tmp_path / "none").exists()
