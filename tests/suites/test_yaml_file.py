from __future__ import annotations

from pathlib import Path

import pytest

from ragjudge.errors import ConfigError
from ragjudge.suites import yaml_file
from ragjudge.suites.yaml_file import read_yaml


def write(folder: Path, content: str | bytes) -> Path:
    path = folder / "suite.yaml"
    path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    return path


def test_plain_data_comes_back_with_aliases_and_merges_filled_in(tmp_path: Path) -> None:
    path = write(tmp_path, "\ufeffa: &x {k: 1, l: [2]}\nb: *x\nc: {<<: *x, k: 3}\nd: 2 ≤ 3\n")
    assert read_yaml(path) == {
        "a": {"k": 1, "l": [2]},
        "b": {"k": 1, "l": [2]},
        "c": {"k": 3, "l": [2]},
        "d": "2 ≤ 3",
    }


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "{path}: the file is empty; accepted: a mapping with the keys of a suite."),
        ("# nothing\n", "{path}: the file is empty; accepted: a mapping with the keys of a suite."),
        ("- a\n", "{path}: the file holds a list; accepted: a mapping with the keys of a suite."),
        ("text", "{path}: the file holds the text 'text'; accepted: a mapping with the keys of a suite."),
        (
            "judge: a\ntests: [1, 2\nassert: b\n",
            "{path}: broken YAML at line 3, column 7: expected ',' or ']', but got ':'.",
        ),
        ("a: b: c\n", "{path}: broken YAML at line 1, column 5: mapping values are not allowed here."),
        (
            "a: 1\n\tb: 2\n",
            "{path}: broken YAML at line 2, column 1: found character '\\t' that cannot start any token.",
        ),
        (
            "a: !!python/object/apply:os.system [ls]\n",
            (
                "{path}: broken YAML at line 1, column 4: could not determine a constructor for the tag "
                "'tag:yaml.org,2002:python/object/apply:os.system'."
            ),
        ),
        ("a: 1\n---\nb: 2\n", "{path}: broken YAML at line 2, column 1: but found another document."),
        ("a: *b\n", "{path}: broken YAML at line 1, column 4: found undefined alias 'b'."),
        ("a: 1\nb: \x07\n", "{path}: broken YAML at line 2: the character U+0007 may not stand in it."),
        ("\x00", "{path}: broken YAML at line 1: the character U+0000 may not stand in it."),
        ("a: 2020-13-45\n", "{path}: line 1, column 4: the text '2020-13-45' is not a date."),
        ("a: 1\nb: {c: !!timestamp x}\n", "{path}: line 2, column 8: the text 'x' is not a date."),
        ("a: !!int _\n", "{path}: line 1, column 4: the text '_' is not a whole number."),
        ("a: !!float ''\n", "{path}: line 1, column 4: an empty text is not a number."),
        ("a: !!bool x\n", "{path}: line 1, column 4: the text 'x' is not true or false."),
        *(
            (
                f"a: {number}\n",
                "{path}: line 1, column 4: the text '" + number[:39] + f"…' is a whole number of "
                f"{len(number):,} digits; accepted: up to 300.",
            )
            for number in ("9" * 5_000, "0x" + "f" * 5_000, ":".join(["59"] * 3_000))
        ),
        ("a: 1\nb: 2\na: 3\n", "{path}: line 3, column 1: the key 'a' is given twice."),
        ("x:\n  - {k: 1, k: 1}\n", "{path}: line 2, column 12: the key 'k' is given twice."),
        (
            "a: &x [1, *x]\n",
            "{path}: line 1, column 4: an alias in this value refers to the value itself.",
        ),
        ("a: " + "[" * 5000 + "]" * 5000, "{path}: the YAML is nested too deeply."),
        (
            b"a: 1\nb: M\xfcnchen\n",
            "{path}, line 2: byte 0xfc at position 5 of the line is not UTF-8.",
        ),
        (b"\xef\xbb\xbf\xff", "{path}, line 1: byte 0xff at position 4 of the line is not UTF-8."),
    ],
)
def test_a_broken_file_is_said_in_one_sentence(tmp_path: Path, content: str | bytes, sentence: str) -> None:
    path = write(tmp_path, content)
    with pytest.raises(ConfigError) as caught:
        read_yaml(path)
    assert caught.value.message == sentence.replace("{path}", str(path))


def test_a_few_lines_cannot_stand_for_billions_of_values(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    path = write(tmp_path, "\n".join(lines))
    with pytest.raises(ConfigError) as caught:
        read_yaml(path)
    assert caught.value.message.endswith("the aliases in this value stand for more than 1,000,000 values.")


def test_merges_cannot_stand_for_billions_of_values_either(tmp_path: Path) -> None:
    lines = ["a0: &a0 {x: 1}"]
    lines += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 12)]
    path = write(tmp_path, "\n".join(lines))
    with pytest.raises(ConfigError, match="the aliases in this value stand for more than"):
        read_yaml(path)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_file, "MAX_BYTES", 3)
    path = write(tmp_path, "a: 1")
    with pytest.raises(ConfigError) as caught:
        read_yaml(path)
    assert caught.value.message == f"{path}: the suite has 4 bytes; accepted: up to 3."
    assert caught.value.hint == "put the rows into a JSON lines file and name it as `dataset:`"


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read_yaml(tmp_path / "none.yaml")
    assert caught.value.message == f"{tmp_path / 'none.yaml'}: there is no such suite file."
    with pytest.raises(ConfigError, match="the suite cannot be read"):
        read_yaml(tmp_path)
