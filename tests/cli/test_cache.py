from __future__ import annotations

import io
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ragjudge.cache.store import Store
from ragjudge.cli.cache import cache
from ragjudge.cli.main import run as main
from ragjudge.errors import CacheError
from ragjudge.records import Reply
from tests.cache.helpers import JUDGE, check, key, prompt, put


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
        f"bytes     {(folder / 'cache.db').stat().st_size:,}",
        "texts     1  (322 bytes)",
        "calls     3",
        "         1             525 bytes  holistic@2",
        "         2           1,099 bytes  support@1",
        "judges    1",
        f"         3           1,624 bytes  {JUDGE.fingerprint[:12]}  models/\\x1b[31mred.gguf",
        "age",
        "         3           1,624 bytes  up to 1 day",
    ]


def test_stats_are_printed_as_json(folder: Path) -> None:
    result = run("--cache", str(folder), "--format", "json")
    assert json.loads(result.output) == {
        "location": str(folder),
        "calls": 3,
        "texts": 1,
        "bytes": (folder / "cache.db").stat().st_size,
        "text_bytes": 322,
        "templates": {
            "holistic@2": {"calls": 1, "bytes": 525},
            "support@1": {"calls": 2, "bytes": 1099},
        },
        "judges": {JUDGE.fingerprint: {"references": ["models/\x1b[31mred.gguf"], "calls": 3, "bytes": 1624}},
        "ages": {"up to 1 day": {"calls": 3, "bytes": 1624}},
        "damaged": 0,
    }


def test_damaged_rows_are_reported(folder: Path) -> None:
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


def test_verify_counts_what_agrees(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "verify", "--cache", str(folder)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "calls     3",
        "texts     1",
        "judges    1",
        "damaged   0",
    ]


def test_verify_names_what_is_damaged_and_repair_deletes_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = f"call/{key(check())}"
    with closing(sqlite3.connect(folder / "cache.db")) as connection:
        connection.execute("UPDATE Cache SET value = '{}' WHERE key = ?", (name,))
        connection.commit()
    assert main(["cache", "verify", "--cache", str(folder)]) == 2
    assert capsys.readouterr().out.splitlines()[-2:] == ["damaged   1", f"  {name}"]
    assert main(["cache", "verify", "--cache", str(folder), "--repair"]) == 0
    assert "damaged   1  (deleted)" in capsys.readouterr().out
    assert main(["cache", "verify", "--cache", str(folder)]) == 0
    assert "calls     2" in capsys.readouterr().out


def test_verify_finds_a_broken_file_and_repair_sets_it_aside(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = (folder / "cache.db").read_bytes()
    (folder / "cache.db").write_bytes(b"\xff" * 4096 + data[4096:])
    assert main(["cache", "verify", "--cache", str(folder)]) == 2
    captured = capsys.readouterr()
    assert "file      the file is damaged" in captured.out
    assert "3 of its answers can be read" in captured.err
    assert main(["cache", "stats", "--cache", str(folder)]) == 0
    assert "calls     3" in capsys.readouterr().out
    assert main(["cache", "verify", "--cache", str(folder), "--repair"]) == 0
    captured = capsys.readouterr()
    assert "3 of its answers were kept" in captured.err
    assert "calls     3" in captured.out
    assert (folder / "damaged-1" / "cache.db").exists()


def test_prune_asks_and_takes_yes(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["cache", "prune", "--older-than", "0h", "--cache", str(folder)]
    for answer, code, said in (
        ("", 2, ""),
        ("n\n", 0, "Nothing was removed."),
        ("y\n", 0, "Removed 3 calls"),
    ):
        monkeypatch.setattr("sys.stdin", io.StringIO(answer))
        assert main(arguments) == code
        printed = capsys.readouterr().out
        assert "Remove 3 of 3 calls, and 1 texts?" in printed
        assert said in printed
    assert main([*arguments, "--yes"]) == 0
    assert "Nothing is to be removed." in capsys.readouterr().out


def test_prune_removes_the_answers_of_one_judge(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store(folder) as store:
        store.remember_judge("alias", JUDGE.document)
    arguments = ["cache", "prune", "--yes", "--cache", str(folder), "--judge"]
    assert main([*arguments, "none"]) == 2
    assert main([*arguments, "alias"]) == 0
    printed = capsys.readouterr().out
    assert "also known as models/\\x1b[31mred.gguf" in printed
    assert "Removed 3 calls and 1 texts." in printed
    with Store(folder, read_only=True) as store:
        assert "alias" not in store.judges()
        assert store.stats().calls == 0


def test_prune_needs_to_be_told_what(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "prune", "--cache", str(folder)]) == 2
    assert "needs --older-than AGE or --judge NAME" in capsys.readouterr().err
    assert main(["cache", "prune", "--older-than", "soon", "--cache", str(folder)]) == 2


def test_clear_removes_everything(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "clear", "--yes", "--cache", str(folder)]) == 0
    assert capsys.readouterr().out == "Removed 3 calls and 1 texts.\n"
    with Store(folder, read_only=True) as store:
        assert (store.stats().calls, store.judges()) == (0, {})


@pytest.mark.parametrize("command", [["prune", "--older-than", "1d"], ["clear"], ["verify"]])
def test_a_cache_that_is_not_there_is_not_made(command: list[str], tmp_path: Path) -> None:
    assert main(["cache", *command, "--cache", str(tmp_path / "none")]) == 2
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    "command", [["stats"], ["verify"], ["verify", "--repair"], ["export", "-o", "x.rjz"], ["clear", "--yes"]]
)
def test_a_file_that_never_was_a_cache_is_refused_and_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "cache.db").write_text("a list of my own, and no database" * 99, encoding="utf-8")
    assert main(["cache", *command, "--cache", "mine"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    error = f"Error: the cache at {tmp_path / 'mine'} cannot be opened: file is not a database.\n"
    assert captured.err.startswith(error)
    assert [path.name for path in tmp_path.rglob("*")] == ["mine", "cache.db"]


def test_a_bundle_of_a_damaged_cache_is_not_written_in_silence(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "cache.db").write_bytes((folder / "cache.db").read_bytes()[:5_000])
    assert main(["cache", "export", "-o", str(tmp_path / "x.rjz"), "--cache", str(folder)]) == 0
    assert f"the database of the cache at {folder} is damaged;" in capsys.readouterr().err
