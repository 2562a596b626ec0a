from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from ragjudge.cli.split import split
from ragjudge.errors import DataError, ReplayMissError, UnknownNameError, UsageError

TEXT = "Hello! Dr. Smith built it in 1889. Is it tall?"


def run(*args: str, stdin: bytes | None = None) -> str:
    done = CliRunner().invoke(split, list(args), input=stdin, catch_exceptions=False)
    assert done.exit_code == 0
    return done.output


def failure(*args: str, stdin: bytes | None = None) -> DataError:
    with pytest.raises(DataError) as caught:
        CliRunner().invoke(split, list(args), input=stdin, catch_exceptions=False)
    return caught.value


def test_json_is_one_list_with_the_documented_names() -> None:
    assert json.loads(run(TEXT, "--format", "json")) == [
        {"text": "Hello!", "start": 0, "end": 6, "claim": False, "reason": "greeting"},
        {"text": "Dr. Smith built it in 1889.", "start": 7, "end": 34, "claim": True, "reason": ""},
        {"text": "Is it tall?", "start": 35, "end": 46, "claim": False, "reason": "question"},
    ]


def test_text_shows_numbers_marks_offsets_and_reasons() -> None:
    assert run(TEXT).splitlines() == [
        "1  -        0-6  Hello!  (greeting)",
        "2  claim   7-34  Dr. Smith built it in 1889.",
        "3  -      35-46  Is it tall?  (question)",
        "3 pieces, 1 claim",
    ]


def test_clauses_and_the_language_can_be_asked_for() -> None:
    text = "Er kam am 3. Mai 1900 an, und er war krank."
    assert len(json.loads(run(text, "--format", "json"))) == 2
    assert len(json.loads(run(text, "--format", "json", "--language", "german"))) == 1
    rows = json.loads(run(text, "--format", "json", "--language", "de", "--claims", "clause"))
    assert [row["text"] for row in rows] == ["Er kam am 3. Mai 1900 an,", "und er war krank."]
    assert [row["judge_text"] for row in rows] == ["Er kam am 3. Mai 1900 an.", "Er war krank."]


COMPOUND = "Paris is big, and it has a river. Rome is old."
FAKE = ("--claims", "judge", "--judge", "fake", "--no-cache")


def test_claims_that_the_judge_finds_stand_below_their_sentence() -> None:
    assert run(COMPOUND, *FAKE).splitlines() == [
        "1  claim   0-33  Paris is big, and it has a river.",
        "                 judged as: Paris is big.",
        "                 judged as: it has a river.",
        "2  claim  34-46  Rome is old.",
        "2 pieces, 3 claims",
    ]
    assert json.loads(run(COMPOUND, *FAKE, "--format", "json")) == [
        {
            "text": "Paris is big, and it has a river.",
            "start": 0,
            "end": 33,
            "claim": True,
            "reason": "",
            "claims": ["Paris is big.", "it has a river."],
        },
        {"text": "Rome is old.", "start": 34, "end": 46, "claim": True, "reason": ""},
    ]


def test_a_sentence_that_stays_whole_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragjudge.judges.fake._cut", lambda sentence: ["Dogs bark.", "\x1b[2J Cats meow."])
    why = "a claim has words that the sentence does not have"
    assert run(COMPOUND, *FAKE).splitlines()[1] == f"                 one claim: {why}"
    assert json.loads(run(COMPOUND, *FAKE, "--format", "json"))[0]["whole"] == why


def test_the_judge_s_cuts_are_kept_and_replayed(tmp_path: Path) -> None:
    options = ("--claims", "judge", "--judge", "fake", "--cache", str(tmp_path / "cache"))
    first = run(COMPOUND, *options)
    assert run(COMPOUND, *options, "--replay") == first
    with pytest.raises(ReplayMissError, match="claims@1"):
        CliRunner().invoke(split, ["A is B, and C.", *options, "--replay"], catch_exceptions=False)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--judge", "fake"], "--judge belongs to --claims judge"),
        (["--bundle", "b.rjz"], "--bundle belongs to --claims judge"),
        (["--claims", "clause", "--no-repack"], "--no-repack belongs to --claims judge"),
        (["--claims", "clause", "--no-hidden"], "--no-hidden belongs to --claims judge"),
        (["--gpu-layers", "0"], "--gpu-layers belongs to --claims judge"),
        ([*FAKE, "--calibration", "none"], "no verdict is asked for"),
    ],
)
def test_options_about_a_judge_are_for_the_judge_s_claims(more: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        CliRunner().invoke(split, [COMPOUND, *more], catch_exceptions=False)


def test_what_needs_no_judge_opens_none() -> None:
    assert run("Rome is old.", "--claims", "judge", "--judge", "nowhere.gguf").endswith("1 claim\n")


def test_what_the_judge_reads_is_shown_where_it_differs() -> None:
    assert run("See [it](a.b).").splitlines() == [
        "1  claim  0-14  See [it](a.b).",
        "                judged as: See it.",
        "1 piece, 1 claim",
    ]


def test_code_and_own_abbreviations_can_be_asked_for() -> None:
    assert json.loads(run("```\nx\n```", "--format", "json", "--code", "whole"))[0]["claim"] is True
    text = "It is a Zif. The end."
    assert len(json.loads(run(text, "--format", "json", "--abbreviation", "Zif"))) == 1


def test_an_unknown_language_is_an_error_of_use() -> None:
    with pytest.raises(UnknownNameError) as caught:
        CliRunner().invoke(split, ["a", "--language", "germn"], catch_exceptions=False)
    assert caught.value.exit_code == 2
    assert "Did you mean 'german'?" in caught.value.message


def test_colour_is_for_terminals_only() -> None:
    assert "\x1b" not in run(TEXT)
    assert "\x1b[32mclaim" in CliRunner().invoke(split, [TEXT], color=True).output


def test_an_empty_text_has_no_pieces() -> None:
    assert run("") == "0 pieces, 0 claims\n"
    assert json.loads(run("", "--format", "json")) == []


def test_a_dash_reads_standard_input() -> None:
    assert json.loads(run("-", "--format", "json", stdin=b"\xef\xbb\xbfParis."))[0]["text"] == "Paris."


def test_an_at_sign_reads_a_file_with_or_without_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    for data in ("Größe: 3 m.", "\ufeffGröße: 3 m."):
        file.write_text(data, encoding="utf-8")
        assert json.loads(run(f"@{file}", "--format", "json"))[0]["text"] == "Größe: 3 m."


def test_control_characters_never_reach_the_terminal() -> None:
    text = "Red \x1b[31m text\x07 and \x9b0m\u202e and\nmore.\x00"
    shown = run(text)
    assert "Red \\x1b[31m text\\x07 and \\x9b0m\\u202e and\\nmore.\\x00" in shown
    for output in (shown, run(text, "--format", "json")):
        assert not any(sign in output for sign in "\x1b\x07\x9b\u202e\x00")
    assert json.loads(run(text, "--format", "json"))[0]["text"] == text


def test_half_a_surrogate_pair_can_be_shown() -> None:
    assert "\\ud800" in run("A \ud800 b.")
    assert json.loads(run("A \ud800 b.", "--format", "json"))[0]["text"] == "A \ud800 b."


@pytest.mark.parametrize("form", ["text", "json"])
def test_an_ascii_terminal_gets_escapes(form: str) -> None:
    done = CliRunner(charset="ascii").invoke(split, ["é 巴黎。", "--format", form], catch_exceptions=False)
    assert done.exit_code == 0
    assert done.stdout_bytes.isascii()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    error = failure(f"@{tmp_path / 'none.txt'}")
    assert error.message == f"{tmp_path / 'none.txt'}: there is no such file."
    assert error.exit_code == 2


def test_a_folder_is_no_text(tmp_path: Path) -> None:
    assert failure(f"@{tmp_path}").message == f"{tmp_path}: is a folder; a UTF-8 text file is needed."


@pytest.mark.parametrize(
    ("data", "offset"), [(b"caf\xe9 x", 3), (b"\xef\xbb\xbfcaf\xe9", 6), (b"\xff\xfeP\x00", 0)]
)
def test_a_file_in_another_encoding_is_refused_with_the_offset(
    tmp_path: Path, data: bytes, offset: int
) -> None:
    file = tmp_path / "latin.txt"
    file.write_bytes(data)
    bad = f"byte 0x{data[offset]:02x} at byte offset {offset}"
    assert failure(f"@{file}").message == f"{file}: is not UTF-8 text ({bad})."


def test_standard_input_in_another_encoding_is_refused() -> None:
    assert failure("-", stdin=b"\xff").message.startswith("standard input: is not UTF-8 text")


def test_an_at_sign_alone_and_an_impossible_name_are_refused() -> None:
    assert "without a file name" in failure("@").message
    assert "cannot be read" in failure("@a\x00b").message
