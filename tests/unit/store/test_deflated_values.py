"""Values in deflated members: every byte, also where a little input becomes very much output."""

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda.errors import ChecksumError
from ruda.store import open_store
from ruda.store.formats._zip import DEFLATED, Member, inflated
from ruda.testing.file_bytes import (
    call,
    group,
    script,
    table,
    text,
    torch_storage,
    torch_tensor,
    torch_zip_bytes,
    torch_zip_raw,
)


def deflated(raw):
    """The bytes as a zip member holds them."""
    machine = zlib.compressobj(9, zlib.DEFLATED, -15)
    return machine.compress(raw) + machine.flush()


def member(raw, size):
    """What a directory says of them."""
    return Member("w", 0, len(raw), size, DEFLATED, 0)


def cut(raw, step):
    """The bytes in pieces."""
    return (memoryview(raw[at : at + step]) for at in range(0, len(raw), step))


@given(
    st.one_of(st.binary(max_size=300), st.integers(0, 70_000).map(bytes)),
    st.integers(1, 5000),
    st.integers(1, 5000),
)
def test_any_piece_size_gives_the_same_bytes(raw, step, size):
    packed = deflated(raw)
    pieces = [bytes(p) for p in inflated(cut(packed, step), member(packed, len(raw)), size)]
    assert b"".join(pieces) == raw
    assert all(0 < len(piece) <= size for piece in pieces)


@pytest.mark.parametrize("claim", [0, 1, 4095, 4096, 69_999, 70_001, 1 << 20])
def test_another_size_than_stated_is_refused(claim):
    packed = deflated(bytes(70_000))
    with pytest.raises(ChecksumError, match=r"w inflates to (more than|70000 of) the \d+ bytes"):
        list(inflated(cut(packed, 100), member(packed, claim), 4096))


@pytest.mark.parametrize("end", range(1, 12))
def test_a_cut_stream_is_refused(end):
    packed = deflated(bytes(70_000))
    with pytest.raises(ChecksumError, match="w inflates to"):
        list(inflated(cut(packed[:-end], 100), member(packed, 70_000), 1000))


@pytest.mark.parametrize("count", [1 << 10, 1 << 20, 3_000_001])
@pytest.mark.parametrize("write", [np.savez, np.savez_compressed])
def test_arrays_of_zeros_are_read_whole(tmp_path, write, count):
    path = tmp_path / "zeros.npz"
    write(path, w=np.zeros(count, np.float32), last=np.ones(3))
    with open_store(path) as index:
        assert not index["w"].read().any()
        assert index["w"].read().shape == (count,)
        assert sum(len(piece) for piece in index["w"].chunks(1 << 16)) == 4 * count
        assert index["last"].read().tolist() == [1, 1, 1]


def test_a_deflated_checkpoint_of_zeros_is_read_whole(tmp_path):
    path = tmp_path / "zeros.pt"
    arrays = {"w": np.zeros((1000, 1500), np.float32), "v": np.arange(5)}
    path.write_bytes(torch_zip_bytes(arrays, deflate=True))
    with open_store(path) as index:
        for key, array in arrays.items():
            np.testing.assert_array_equal(index[key].read(), array)


@pytest.mark.parametrize("stored", [0, 1, 3])
def test_a_sparse_number_without_axes_is_the_sum_of_what_is_stored(tmp_path, stored):
    layout = call("torch.serialization._get_layout", text("torch.sparse_coo"))
    places = torch_tensor(torch_storage("1", 0, "torch.LongStorage"), (0, stored))
    values = torch_tensor(torch_storage("0", stored), (stored,))
    parts = group(places, values, group(), b"\x88")
    pickled = script(table({"w": call("torch._utils._rebuild_sparse_tensor", layout, parts)}))
    held = np.arange(2, 2 + stored, dtype=np.float32)
    path = tmp_path / "sparse.pt"
    path.write_bytes(torch_zip_raw(pickled, {"0": held.tobytes(), "1": b""}))
    with open_store(path) as index:
        found = index["w"].read()
        assert found.shape == ()
        assert found == held.sum()
