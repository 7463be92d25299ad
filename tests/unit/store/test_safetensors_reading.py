"""Reading safetensors: order, metadata, alignment, types below a byte; the official library."""

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save_file

from ruda.errors import FormatError, HeaderError
from ruda.store import open_store
from ruda.store.bytefile import MemoryFile
from ruda.store.formats import safetensors
from ruda.store.formats.safetensors import (
    SafetensorsFormat,
    _are_plain,
    _Entry,
    _in_order,
    parse_header,
)
from ruda.tensor import DType
from ruda.testing import counted_reads
from ruda.testing.file_bytes import safetensors_bytes, safetensors_raw
from ruda.testing.strategies import named_arrays


def opened(tmp_path, raw):
    path = tmp_path / "file.safetensors"
    path.write_bytes(raw)
    return open_store(path)


def test_the_bytes_of_a_two_by_two_tensor(tmp_path):
    header = b'{"w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}'
    raw = bytes([len(header), 0, 0, 0, 0, 0, 0, 0]) + header
    raw += bytes.fromhex("0000803f 00000040 00004040 00008040")
    with opened(tmp_path, raw) as index:
        snapshot = index["w"]
        assert snapshot.read().tolist() == [[1, 2], [3, 4]]
        assert (snapshot.origin.offset, snapshot.origin.nbytes) == (8 + len(header), 16)


def test_the_order_is_that_of_the_data(tmp_path):
    header = {
        "z": {"dtype": "U8", "shape": [2], "data_offsets": [1, 3]},
        "a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
        "none": {"dtype": "F32", "shape": [0, 3], "data_offsets": [1, 1]},
    }
    with opened(tmp_path, safetensors_raw(json.dumps(header), b"\1\2\3")) as index:
        assert list(index) == ["a", "none", "z"]
        assert index["none"].read().shape == (0, 3)


def test_metadata_is_kept_in_its_order(tmp_path):
    metadata = {"format": "pt", "ünï": "日本\n\0", "": ""}
    with opened(tmp_path, safetensors_bytes({"w": np.ones(1, "<f4")}, metadata)) as index:
        assert list(index.metadata.items()) == list(metadata.items())


def test_a_header_may_end_in_spaces_and_have_unknown_fields(tmp_path):
    header = '{"w":{"dtype":"U8","shape":[],"data_offsets":[0,1],"note":[1,{"x":2}]}}    '
    with opened(tmp_path, safetensors_raw(header, b"\7")) as index:
        assert index["w"].read() == 7


def test_data_need_not_be_aligned(tmp_path):
    header = {
        "a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
        "b": {"dtype": "F64", "shape": [1], "data_offsets": [1, 9]},
    }
    with opened(
        tmp_path, safetensors_raw(json.dumps(header), b"\1" + np.float64(2.5).tobytes())
    ) as ix:
        assert ix["b"].read()[0] == 2.5


PACKED = [
    pytest.param("F4", DType.F4_E2M1, [2, 3], 3, id="fp4"),
    pytest.param("F6_E2M3", DType.F6_E2M3, [4], 3, id="fp6 e2m3"),
    pytest.param("F6_E3M2", DType.F6_E3M2, [2, 4], 6, id="fp6 e3m2"),
]


@pytest.mark.parametrize(("tag", "dtype", "shape", "count"), PACKED)
def test_types_below_a_byte_have_logical_shape_and_raw_bytes(tmp_path, tag, dtype, shape, count):
    data = bytes(range(count))
    header = {"w": {"dtype": tag, "shape": shape, "data_offsets": [0, count]}}
    with opened(tmp_path, safetensors_raw(json.dumps(header), data)) as index:
        snapshot = index["w"]
        assert (snapshot.dtype, list(snapshot.shape), snapshot.nbytes) == (dtype, shape, count)
        assert snapshot.read().tobytes() == data


def test_every_dtype_of_the_format_is_known(tmp_path):
    tags = "F64 F32 F16 BF16 F8_E4M3 F8_E5M2 F8_E8M0 F4 F6_E2M3 F6_E3M2 C64 BOOL"
    tags += " I64 I32 I16 I8 U64 U32 U16 U8 F8_E4M3FNUZ F8_E5M2FNUZ"
    assert {d.safetensors for d in DType if d.safetensors} == set(tags.split())


def test_the_header_limit_is_a_setting(tmp_path):
    path = tmp_path / "file.safetensors"
    path.write_bytes(safetensors_bytes({"w": np.ones(1, "<f4")}))
    with pytest.raises(HeaderError, match=r"byte 0: the header has \d+ bytes, the limit is 10;"):
        SafetensorsFormat(header_limit=10).open(path)


def test_opening_reads_length_and_header_and_no_more(tmp_path):
    raw = safetensors_bytes({"w": np.ones(1 << 18, "<f4")})
    header = int.from_bytes(raw[:8], "little")
    path = tmp_path / "file.safetensors"
    path.write_bytes(raw)
    with counted_reads() as counter, SafetensorsFormat().open(path):
        assert counter.bytes == 8 + header


OFFICIAL = [d for d in DType if d.safetensors and d.value.numpy is not None]
OFFICIAL = [d for d in OFFICIAL if d.numpy.isbuiltin == 1 or d.numpy == ml_dtypes.bfloat16]


@given(arrays=named_arrays(OFFICIAL))
def test_what_the_official_library_writes_is_read(tmp_path_factory, arrays):
    path = tmp_path_factory.getbasetemp() / "official.safetensors"
    arrays = {k: np.ascontiguousarray(a) if a.ndim else a for k, a in arrays.items() if k}
    arrays.pop("__metadata__", None)
    save_file(arrays, path)
    with open_store(path) as index:
        assert set(index) == set(arrays)
        for key, array in arrays.items():
            assert index[key].read().tobytes() == array.tobytes()


def test_what_the_official_library_reads_is_the_same(tmp_path):
    path = tmp_path / "file.safetensors"
    arrays = {"a": np.arange(6, dtype="<f4").reshape(2, 3), "b": np.array(3, "<i8")}
    path.write_bytes(safetensors_bytes(arrays))
    with safe_open(path, "np") as official, open_store(path) as index:
        for key in official.keys():  # noqa: SIM118 - it is no mapping
            np.testing.assert_array_equal(official.get_tensor(key), index[key].read())


@given(
    st.lists(
        st.tuples(
            st.sampled_from([("F32", 4), ("F16", 2), ("U8", 1), ("F4", 0.5), ("F5", 1)]),
            st.integers(-1, 4),
            st.sampled_from([0, 0, 0, 0, 1, -1]),
            st.sampled_from([0, 0, 0, 0, 1, -1]),
        ),
        max_size=5,
    ),
    st.sampled_from([0, 0, 0, 1, -1]),
)
def test_the_quick_look_at_a_header_lets_nothing_pass_that_the_close_one_refuses(parts, cut):
    entries, at = {}, 0
    for number, ((dtype, width), size, wrong, gap) in enumerate(parts):
        start = at + gap
        at = start + int(width * size) + wrong
        entries[f"t{number}"] = _Entry(dtype, (size,), (start, at))
    room = max(0, at + cut)
    try:
        close = list(_in_order(entries, MemoryFile(bytes(room), Path("m")), 0))
    except FormatError:
        close = None
    assert _are_plain(entries, room) is (close == list(entries))


ENTRY = '{"dtype":"U8","shape":[1],"data_offsets":[0,1]}'
PIECED = [
    pytest.param(f'{{"a":{ENTRY},"b":{ENTRY},"c":{ENTRY}}}  ', "abc", id="plain"),
    pytest.param("{}", "", id="empty"),
    pytest.param(f'{{"__metadata__":{{"x":"y"}},"a":{ENTRY},"b":{ENTRY}}}', "ab", id="metadata"),
    pytest.param(f'{{ "a" : {ENTRY} , "b" : {ENTRY} }}', "ab", id="spaces"),
    pytest.param(f'{{"a}},":{ENTRY},"b":{ENTRY}}}', ["a},", "b"], id="the seam in a name"),
    pytest.param(
        f'{{"a":{ENTRY[:-1]},"more":{{"x":{{}},"y":1}}}},"b":{ENTRY}}}', "ab", id="the seam deeper"
    ),
    pytest.param(f'{{"a":{ENTRY},"b":{ENTRY},"a":{ENTRY}}}', HeaderError, id="a name twice"),
    pytest.param(f'{{"a":{ENTRY}}},"b":{ENTRY}}}', HeaderError, id="a brace too many"),
    pytest.param(f'{{"a":{ENTRY},,"b":{ENTRY}}}', HeaderError, id="a comma too many"),
    pytest.param(f'{{"a":{ENTRY},"b":{ENTRY}', HeaderError, id="not closed"),
    pytest.param(f'{{"a":{ENTRY},"b":{ENTRY},}}', HeaderError, id="a comma at the end"),
]


@pytest.mark.parametrize("piece", [1, 60, 1 << 18])
@pytest.mark.parametrize(("text", "expected"), PIECED)
def test_a_header_in_pieces_is_read_as_in_one(monkeypatch, piece, text, expected):
    monkeypatch.setattr(safetensors, "_PIECE", piece)
    if expected is HeaderError:
        with pytest.raises(HeaderError):
            parse_header(text.encode())
    else:
        entries, _ = parse_header(text.encode())
        assert list(entries) == list(expected)
        assert {entry.data_offsets for entry in entries.values()} <= {(0, 1)}
