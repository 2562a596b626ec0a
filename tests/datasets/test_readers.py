from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from ragjudge.datasets.load import load_rows, rows_of_program
from ragjudge.datasets.readers import read_rows
from ragjudge.errors import DataError
from ragjudge.records import Sample
from ragjudge.scorers import as_chunks


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    return path


def load_samples(path: Path) -> tuple[Sample, ...]:
    return tuple(row.sample for row in load_rows(path))


def samples_from_rows(rows: Iterable[Any], *, recorded: bool = True) -> tuple[Sample, ...]:
    return tuple(row.sample for row in rows_of_program(rows, recorded=recorded))


def test_json_lines_are_read_with_their_line_numbers(tmp_path: Path) -> None:
    path = write(tmp_path, "rows.jsonl", '{"input": "a"}\n\n  \r\n{"input": "b\u2028c"}')
    assert list(read_rows(path)) == [
        (f"{path}, line 1", {"input": "a"}),
        (f"{path}, line 4", {"input": "b\u2028c"}),
    ]


def test_a_byte_order_mark_is_no_part_of_the_first_row(tmp_path: Path) -> None:
    path = write(tmp_path, "rows.jsonl", b"\xef\xbb\xbf" + b'{"input": "a"}\n')
    assert load_samples(path) == (Sample(id="row-1", input="a"),)


@pytest.mark.parametrize("key", ["rows", "data", "results", "tests"])
def test_a_json_file_is_a_list_or_holds_one(tmp_path: Path, key: str) -> None:
    bare = write(tmp_path, "bare.json", '[{"input": "a"}, {"input": "b"}]')
    inside = write(
        tmp_path, "inside.JSON", f'{{"version": 3, "{key}": [{{"input": "a"}}, {{"input": "b"}}]}}'
    )
    assert [found.row for found in read_rows(bare)] == [{"input": "a"}, {"input": "b"}]
    assert [found.row for found in read_rows(inside)] == [{"input": "a"}, {"input": "b"}]
    assert [found.where for found in read_rows(inside)] == [f"{inside}, {key}[0]", f"{inside}, {key}[1]"]


def test_a_csv_file_is_read_with_quotes_and_line_breaks_in_cells(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "rows.csv",
        '\ufeffquestion,answer,contexts,note\r\n"a, b","one\r\n""two""",,x\r\n\r\nq,,"[""c1"", ""c2""]",\r\n',
    )
    assert list(read_rows(path)) == [
        (f"{path}, line 2", {"question": "a, b", "answer": 'one\r\n"two"', "note": "x"}),
        (f"{path}, line 5", {"question": "q", "contexts": '["c1", "c2"]', "answer": ""}),
    ]


def test_an_empty_answer_in_a_csv_file_is_given_unless_another_column_has_it(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "question,answer,response,contexts\nq,,,c\nq,,A.,c\nq,A.,,\n")
    assert [sample.output for sample in load_samples(path)] == ["", "A.", "A."]
    assert load_samples(path)[2].contexts is None


def test_what_an_interrupted_run_has_left_is_read_by_its_own_kind(tmp_path: Path) -> None:
    path = write(tmp_path, "results.jsonl.part", '{"output": "A."}\n')
    assert load_samples(path)[0].output == "A."
    with pytest.raises(DataError, match=r"unknown kind of data file '\.txt'"):
        load_samples(write(tmp_path, "rows.txt.part", "a"))


@pytest.mark.parametrize(
    ("text", "contexts"),
    [
        ("one chunk | with; marks", ("one chunk | with; marks",)),
        ("[1] A footnote.", ("[1] A footnote.",)),
        ("[1]", ("[1]",)),
        ("[]", ()),
        ('["a", {"text": "b c."}]', ("a", "b c.")),
        ('["a", 1]', None),
        ("[{'text': 'a'}]", None),
    ],
)
def test_a_text_of_contexts_is_the_same_in_every_format(
    tmp_path: Path, text: str, contexts: tuple[str, ...] | None
) -> None:
    cell = text.replace('"', '""')
    of_formats: list[Callable[[], tuple[str, ...] | None]] = [
        lambda: load_samples(write(tmp_path, "rows.csv", f'context\n"{cell}"\n'))[0].contexts,
        lambda: load_samples(write(tmp_path, "rows.jsonl", json.dumps({"context": text})))[0].contexts,
        lambda: samples_from_rows([{"context": text}])[0].contexts,
        lambda: as_chunks(text),
    ]
    for read in of_formats:
        if contexts is not None:
            assert read() == contexts
            continue
        with pytest.raises(
            DataError, match=r"context'?(\[1\] is the number 1|.* looks like a list)"
        ) as caught:
            read()
        assert (caught.value.hint or "").endswith("can be given as a list of one")


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl", "rows.json"])
def test_a_list_that_python_wrote_into_a_text_is_that_list_in_every_format(tmp_path: Path, name: str) -> None:
    row = {"retrieved_contexts": repr(["It's a, b.", 'He said "c".']), "ground_truths": "['a']"}
    text = {
        "rows.csv": ",".join(row)
        + "\n"
        + ",".join(f'"{cell.replace(chr(34), chr(34) * 2)}"' for cell in row.values()),
        "rows.jsonl": json.dumps(row),
        "rows.json": json.dumps([row]),
    }[name]
    (sample,) = load_samples(write(tmp_path, name, text))
    assert (sample.contexts, sample.expected) == (("It's a, b.", 'He said "c".'), "a")
    assert sample == samples_from_rows([row])[0]


def test_the_row_numbers_that_a_table_was_saved_with_are_metadata(tmp_path: Path) -> None:
    path = write(tmp_path, "rows.csv", ",question\n0,a\n")
    assert load_samples(path) == (Sample(id="row-1", input="a", metadata={"column 1": "0"}),)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.jsonl", "", "{path}: the file is empty; accepted: at least one row."),
        ("a.jsonl", "\n \n", "{path}: the file holds no rows; accepted: at least one row."),
        ("a.json", "[]", "{path}: the file holds no rows; accepted: at least one row."),
        ("a.csv", "question,answer\n", "{path}: the file holds no rows; accepted: at least one row."),
        ("a.xml", "x", "{path}: unknown kind of data file '.xml'; accepted: .jsonl, .ndjson, .json, .csv."),
        (
            "a.jsonl",
            '{"input": "a"}\n{"input": "b" "c"}\n',
            "{path}: broken JSON at line 2, column 15: Expecting ',' delimiter.",
        ),
        (
            "a.jsonl",
            '{"input": "a"\r\n',
            "{path}: broken JSON at line 1, column 14: Expecting ',' delimiter.",
        ),
        ("a.jsonl", '["a"]\n', "{path}, line 1: the row is a list; accepted: an object."),
        (
            "a.jsonl",
            '{"cost": NaN}\n',
            "{path}, line 1: NaN is no JSON; accepted: finite numbers, or null for what is missing.",
        ),
        (
            "a.jsonl",
            '{"cost": 1e999}\n',
            "{path}, line 1: 'cost' holds inf; accepted: finite numbers, or null for what is missing.",
        ),
        (
            "a.jsonl",
            '{"answer": "a", "x": 1, "answer": "b"}\n',
            "{path}, line 1: the key 'answer' is given twice in one object.",
        ),
        ("a.jsonl", '{"a": ' + "[" * 200_000, "{path}, line 1: the JSON is nested too deeply."),
        (
            "a.jsonl",
            b'{"input": "a"}\n{"input": "M\xfcnchen"}\n',
            "{path}, line 2: byte 0xfc at position 13 of the line is not UTF-8.",
        ),
        (
            "a.jsonl",
            '{"input": "a"}\n'.encode("utf-16"),
            "{path}, line 1: byte 0xff at position 1 of the line is not UTF-8.",
        ),
        (
            "a.jsonl",
            b"\xef\xbb\xbf\xff\n",
            "{path}, line 1: byte 0xff at position 4 of the line is not UTF-8.",
        ),
        (
            "a.jsonl",
            '{"id": "x"}\n\n{"id": "x"}\n',
            "{path}, line 3: the id 'x' is taken by {path}, line 1; ids must differ.",
        ),
        (
            "a.jsonl",
            '{"id": "row-2"}\n{"input": "q"}\n',
            "{path}, line 2: the id 'row-2' is taken by {path}, line 1; ids must differ.",
        ),
        (
            "a.json",
            '[{"input": "a"},\n {"input" "b"}]',
            "{path}: broken JSON at line 2, column 11: Expecting ':' delimiter.",
        ),
        ("a.json", '"text"', "{path}: the file holds the text 'text'; accepted: a list of rows."),
        ("a.json", '[{"input": "a"}, 3]', "{path}, row 2: the row is the number 3; accepted: an object."),
        (
            "a.json",
            '{"version": 1, "items": []}',
            (
                "{path}: the file holds an object with the keys version, items; accepted: "
                "a list of rows, or an object with one such list under rows, data, results, tests."
            ),
        ),
        (
            "a.json",
            '{"rows": [], "data": []}',
            (
                "{path}: the file holds an object with lists under rows and data; accepted: "
                "a list of rows, or an object with one such list under rows, data, results, tests."
            ),
        ),
        ("a.csv", "a,b\n1,2\n1\n", "{path}, line 3: the row has 1 cells and the header 2."),
        ("a.csv", "a,b,a\n1,2,3\n", "{path}, line 1: the header names the column 'a' twice."),
        (
            "a.csv",
            "question;answer\na;b\n",
            "{path}, line 1: the header is one cell and holds ';'; accepted: cells parted by commas.",
        ),
        ("a.csv", 'question\n"a\n', "{path}, line 2: broken CSV: unexpected end of data."),
        (
            "a.csv",
            "question,context\nq,\"['a' 'b']\"\n",
            (
                "{path}, line 2: 'context' is the text \"['a' 'b']\", which looks like a list and cannot be "
                "read as one; accepted: a text, or a list of texts as JSON or Python writes it."
            ),
        ),
        (
            "a.csv",
            "question\nM\xfcnchen\n".encode("latin-1"),
            "{path}, line 2: byte 0xfc at position 2 of the line is not UTF-8.",
        ),
    ],
)
def test_bad_data_is_said_in_one_sentence(
    tmp_path: Path, name: str, content: str | bytes, sentence: str
) -> None:
    path = write(tmp_path, name, content)
    with pytest.raises(DataError) as caught:
        load_samples(path)
    assert caught.value.message == sentence.replace("{path}", str(path))


def test_a_number_of_thousands_of_digits_is_refused_by_its_line(
    tmp_path: Path,
) -> None:
    path = write(tmp_path, "a.jsonl", '{"n": ' + "1" * 10_000 + "}\n")
    with pytest.raises(DataError) as caught:
        load_samples(path)
    assert caught.value.message == f"{path}, line 1: the JSON holds a number that is too long."


def test_a_cell_may_be_longer_than_csv_readers_usually_take(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "question\n" + "x" * 200_000 + "\n")
    assert load_samples(path)[0].input == "x" * 200_000


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    missing = tmp_path / "none.jsonl"
    with pytest.raises(DataError) as caught:
        load_samples(missing)
    assert caught.value.message == f"{missing}: there is no such file."
    folder = tmp_path / "folder.jsonl"
    folder.mkdir()
    with pytest.raises(DataError, match="the file cannot be read"):
        load_samples(folder)


def test_rows_are_read_one_at_a_time(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", '{"input": "a"}\n' * 20_000 + "broken\n")
    rows = read_rows(path)
    assert next(iter(rows)).row == {"input": "a"}


def test_rows_of_a_program_become_samples() -> None:
    own = Sample(id="mine", input="a")
    assert samples_from_rows([own, {"question": "b"}]) == (own, Sample(id="row-2", input="b"))


def test_recorded_outputs_of_two_providers_are_two_rows() -> None:
    rows = [Sample(id="a"), Sample(id="a", provider="one"), Sample(id="a", provider="two")]
    assert samples_from_rows(rows) == tuple(rows)
    with pytest.raises(DataError, match=r"dataset\[3\]: the id 'a' of 'two' is taken by dataset\[2\]; ids"):
        samples_from_rows([*rows, rows[-1]])
    with pytest.raises(DataError, match=r"dataset\[1\]: the id 'a' is taken by dataset\[0\]; ids"):
        samples_from_rows(rows, recorded=False)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([{"id": "a"}, {"id": "a"}], "dataset[1]: the id 'a' is taken by dataset[0]; ids must differ."),
        (["a"], "dataset[0]: the row is the text 'a'; accepted: a mapping or a Sample."),
        ([{"answer": 5}], "dataset[0]: 'answer' is the number 5; accepted: text."),
        ([{"n": 10**5000}], "dataset[0]: 'n' holds a number that is too long."),
        (
            [Sample(id="a", metadata={"n": float("nan")})],
            "dataset[0]: 'metadata' holds nan; accepted: finite numbers, or null for what is missing.",
        ),
    ],
)
def test_bad_rows_of_a_program_are_said_in_one_sentence(rows: list[object], sentence: str) -> None:
    with pytest.raises(DataError) as caught:
        samples_from_rows(rows)
    assert caught.value.message == sentence
