from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragjudge.errors import ModelFileError, ModelMissingError
from ragjudge.gguf.header import ArrayShape, Header, Value, check_gguf, read_header, read_metadata
from tests.gguf import tiny

HEAD = b"GGUF" + struct.pack("<I", 3)


def text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def written(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "x.gguf"
    path.write_bytes(content)
    return path


def outcome(path: Path) -> dict[str, Value] | None:
    """Return the metadata, or None for a clear error; anything else goes through."""
    try:
        return read_metadata(path)
    except ModelFileError:
        return None


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file written by the format's own library."""
    import numpy as np
    from gguf import GGUFWriter

    path = tmp_path_factory.mktemp("gguf") / "real.gguf"
    writer = GGUFWriter(path, "qwen2")
    writer.add_context_length(32768)
    writer.add_rope_freq_base(1e6)
    writer.add_add_bos_token(False)
    writer.add_chat_template("{{ messages }} größer ✓")
    writer.add_int8("a.i8", -5)
    writer.add_uint64("a.u64", 2**63)
    writer.add_float64("a.f64", 0.1)
    writer.add_token_list(["a", "", "über", "c" * 300])
    writer.add_token_scores([0.5, 1.5])
    writer.add_token_types([1, 1, 3])
    writer.add_tensor("weight", np.arange(64, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_the_metadata_are_those_the_formats_own_library_wrote(real: Path) -> None:
    check_gguf(real)
    found = read_metadata(real)
    assert found == {
        "general.architecture": "qwen2",
        "qwen2.context_length": 32768,
        "qwen2.rope.freq_base": 1e6,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.chat_template": "{{ messages }} größer ✓",
        "a.i8": -5,
        "a.u64": 2**63,
        "a.f64": 0.1,
        "tokenizer.ggml.tokens": ArrayShape("string", 4),
        "tokenizer.ggml.scores": ArrayShape("f32", 2, (0.5, 1.5)),
        "tokenizer.ggml.token_type": ArrayShape("i32", 3, (1, 1, 3)),
    }
    assert found["tokenizer.ggml.add_bos_token"] is False


def test_every_truncation_is_an_error_or_the_whole_metadata(real: Path, tmp_path: Path) -> None:
    content, whole = real.read_bytes(), read_metadata(real)
    found = [outcome(written(tmp_path, content[:length])) for length in range(len(content) + 1)]
    assert all(metadata in (None, whole) for metadata in found)
    outcomes = [metadata is not None for metadata in found]
    assert outcomes == sorted(outcomes)
    assert not outcomes[0]
    assert outcomes[-1]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200), head=st.sampled_from([b"", HEAD, HEAD + b"\0" * 8]))
def test_random_bytes_are_metadata_or_a_clear_error(tmp_path: Path, content: bytes, head: bytes) -> None:
    outcome(written(tmp_path, head + content))


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_flipped_bytes_are_metadata_or_a_clear_error(real: Path, tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(real.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    outcome(written(tmp_path, bytes(content)))


HUGE = 2**63 - 1


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (struct.pack("<QQ", 0, HUGE), "announces 9223372036854775807 metadata entries"),
        (struct.pack("<QQ", 0, 1), "ends within its metadata"),
        (struct.pack("<QQQ", 0, 1, HUGE), "a key announces 9223372036854775807 bytes"),
        (struct.pack("<QQQ", 0, 1, 60_000), "ends within its metadata"),
        (struct.pack("<QQ", 0, 1) + text(b"k") + struct.pack("<IQ", 8, HUGE), "the text of 'k' announces"),
        (struct.pack("<QQ", 0, 1) + text(b"k") + struct.pack("<I", 99), "'k' has the unknown type 99"),
        (
            struct.pack("<QQ", 0, 1) + text(b"k") + struct.pack("<IIQ", 9, 4, HUGE),
            "ends within the array 'k'",
        ),
        (struct.pack("<QQ", 0, 1) + text(b"k") + struct.pack("<IIQ", 9, 8, HUGE), "array 'k' announces"),
        (
            struct.pack("<QQ", 0, 1) + text(b"k") + struct.pack("<IIQQ", 9, 8, 1, HUGE),
            "ends within the array 'k'",
        ),
        (struct.pack("<QQ", 0, 1) + text(b"k") + struct.pack("<IIQ", 9, 9, 1), "elements of type 9"),
        (struct.pack("<QQ", 0, 2) + 2 * (text(b"k") + struct.pack("<IB", 0, 1)), "the key 'k' comes twice"),
    ],
)
@pytest.mark.parametrize("padding", [0, 4096])
def test_a_damaged_head_is_named(tmp_path: Path, body: bytes, says: str, padding: int) -> None:
    if padding and "ends within its metadata" in says:
        return  # with bytes behind it this head is another one
    with pytest.raises(ModelFileError, match=says) as caught:
        read_metadata(written(tmp_path, HEAD + body + b"\0" * padding))
    assert caught.value.exit_code == 2


def test_text_that_is_not_utf8_is_shown_as_such(tmp_path: Path) -> None:
    path = written(
        tmp_path, HEAD + struct.pack("<QQ", 0, 1) + text(b"k") + struct.pack("<I", 8) + text(b"a\xff")
    )
    assert read_metadata(path) == {"k": "a\ufffd"}


@pytest.mark.parametrize("read", [check_gguf, read_metadata])
@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", r"is not a GGUF file \(starts with b''\)"),
        (b"<html>", r"is not a GGUF file \(starts with b'<htm'\)"),
        (b"GGUF", "ends within the version"),
        (b"GGUF" + struct.pack("<I", 1), "version 1; accepted are"),
        (b"GGUF" + struct.pack(">I", 3), "a big-endian file; accepted are"),
    ],
)
def test_a_file_that_is_no_usable_gguf_is_named(
    tmp_path: Path, read: Callable[[Path], Any], content: bytes, says: str
) -> None:
    with pytest.raises(ModelFileError, match=says):
        read(written(tmp_path, content))


@pytest.mark.parametrize("read", [check_gguf, read_metadata])
def test_a_missing_file_and_a_folder_are_named(tmp_path: Path, read: Callable[[Path], Any]) -> None:
    with pytest.raises(ModelMissingError, match="there is no such file"):
        read(tmp_path / "none.gguf")
    with pytest.raises(ModelFileError, match="is not a regular file"):
        read(tmp_path)


def vocabulary(*tokens: bytes) -> bytes:
    return (
        HEAD
        + struct.pack("<QQ", 0, 1)
        + text(b"tokenizer.ggml.tokens")
        + struct.pack("<IIQ", 9, 8, len(tokens))
        + b"".join(map(text, tokens))
    )


def test_a_vocabulary_with_a_token_twice_is_refused_before_llama_cpp_ends_the_process(tmp_path: Path) -> None:
    says = r"tokens 1 and 3 of its vocabulary are both 'be', and llama\.cpp needs them to be distinct"
    path = written(tmp_path, vocabulary(b"a", b"be", b"c", b"be"))
    with pytest.raises(ModelFileError, match=says):
        check_gguf(path)
    assert read_metadata(path) == {"tokenizer.ggml.tokens": ArrayShape("string", 4)}
    check_gguf(written(tmp_path, vocabulary(b"a", b"be", b"c", b"Be")))


def test_a_vocabulary_that_is_cut_off_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="ends within its metadata"):
        check_gguf(written(tmp_path, vocabulary(b"a", b"be")[:-1]))


def test_the_tiny_files_of_these_tests_are_ggufs(tmp_path: Path) -> None:
    assert read_metadata(written(tmp_path, tiny.CONTENT))["architecture"] == "tiny"


# -- tensors -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def with_tensors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import numpy as np
    from gguf import GGUFWriter

    path = tmp_path_factory.mktemp("gguf") / "tensors.gguf"
    writer = GGUFWriter(path, "llama")
    writer.add_array("a.numbers", list(range(1025)))
    writer.add_array("b.numbers", [True, False])
    for name, shape, kind in (
        ("b", (3, 4), np.float32),
        ("a", (7,), np.float16),
        ("c", (2, 2, 2), np.float32),
    ):
        writer.add_tensor(name, np.ones(shape, dtype=kind))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_the_tensors_are_those_the_formats_own_library_wrote(with_tensors: Path) -> None:
    from gguf import GGUFReader

    found = read_header(with_tensors)
    expected = GGUFReader(with_tensors).tensors
    assert [tensor.name for tensor in found.tensors] == ["b", "a", "c"]
    for tensor, other in zip(found.tensors, expected, strict=True):
        assert tensor.shape == tuple(int(size) for size in other.shape)
        assert tensor.kind == int(other.tensor_type)
        assert tensor.elements == other.n_elements
        assert tensor.size == -(-other.n_bytes // 32) * 32  # with what aligns the next one
    assert found.file_size == with_tensors.stat().st_size
    assert found.metadata == read_metadata(with_tensors)


def test_numbers_are_kept_of_short_arrays_only(with_tensors: Path) -> None:
    metadata = read_metadata(with_tensors)
    assert metadata["a.numbers"] == ArrayShape("i32", 1025)
    assert metadata["b.numbers"] == ArrayShape("bool", 2, (True, False))


def head_of(path: Path) -> Header | None:
    try:
        return read_header(path)
    except ModelFileError:
        return None


def test_a_file_cut_within_its_tensors_is_an_error_or_has_them_all(
    with_tensors: Path, tmp_path: Path
) -> None:
    content, whole = with_tensors.read_bytes(), read_header(with_tensors)
    for length in range(len(content) - 400, len(content) + 1):
        found = head_of(written(tmp_path, content[:length]))
        assert found is None or [tensor.name for tensor in found.tensors] == ["b", "a", "c"]
        assert found is None or found.tensors[:2] == whole.tensors[:2]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_flipped_bytes_in_the_list_of_tensors_are_a_clear_error_or_a_list(
    with_tensors: Path, tmp_path: Path, data: st.DataObject
) -> None:
    content = bytearray(with_tensors.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(len(content) - 400, len(content) - 1))] = data.draw(st.integers(0, 255))
    head_of(written(tmp_path, bytes(content)))


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (struct.pack("<QQ", HUGE, 0), "announces 9223372036854775807 tensors"),
        (struct.pack("<QQ", 1, 0) + text(b"t") + struct.pack("<I", 9), "the tensor 't' has 9 dimensions"),
        (
            struct.pack("<QQ", 1, 0) + text(b"t") + struct.pack("<IQIQ", 1, 4, 0, 1 << 40),
            "ends within its tensors",
        ),
        (
            struct.pack("<QQ", 0, 1) + text(b"general.alignment") + struct.pack("<II", 4, 0),
            "its alignment is 0",
        ),
    ],
)
def test_a_damaged_list_of_tensors_is_named(tmp_path: Path, body: bytes, says: str) -> None:
    with pytest.raises(ModelFileError, match=says):
        read_header(written(tmp_path, HEAD + body + bytes(64)))
