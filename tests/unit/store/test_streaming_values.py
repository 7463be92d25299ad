"""Values in pieces: the same as those of one reading, in little memory."""

import io
import itertools
import tracemalloc
import zipfile
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda.errors import DTypeError, ShapeError
from ruda.session import scan_tensor
from ruda.store import TensorSnapshot, blocks, open_store, save
from ruda.store.adapted import cast_to
from ruda.store.decided import clamp_to
from ruda.store.index import TensorIndex
from ruda.tensor import DType, stats, stream_stats

MIB = 1 << 20


@dataclass(frozen=True)
class Torn:
    """A source that gives its bytes in pieces that fit no element."""

    raw: bytes
    cuts: tuple[int, ...]

    def stream(self, size):
        edges = sorted({0, *(cut % (len(self.raw) + 1) for cut in self.cuts), len(self.raw)})
        for start, end in itertools.pairwise(edges):
            yield memoryview(self.raw)[start:end]


@given(
    st.sampled_from(["<f2", "<f4", "<f8", "<i2", "u1", "<c8"]),
    st.lists(st.integers(0, 1 << 16), max_size=8),
    st.integers(0, 200),
)
def test_blocks_joined_are_the_values(dtype, cuts, count):
    values = np.arange(count).astype(dtype)
    made = TensorSnapshot.from_array("w", values)
    snapshot = TensorSnapshot(
        "w", made.dtype, made.shape, made.nbytes, Torn(values.tobytes(), tuple(cuts))
    )
    found = list(blocks(snapshot, 16))
    np.testing.assert_array_equal(np.concatenate([values[:0], *found]), values)


@given(
    st.sampled_from([DType.F16, DType.F64]),
    st.lists(st.integers(0, 1 << 16), max_size=8),
    st.integers(0, 100),
    st.integers(1, 64),
)
def test_casts_of_torn_pieces_lose_no_value(to, cuts, count, size):
    values = np.arange(count).astype("<f4")
    source = Torn(values.tobytes(), tuple(cuts))
    made = cast_to(TensorSnapshot("w", DType.F32, (count,), values.nbytes, source), to)
    raw = b"".join(map(bytes, made.chunks(size)))
    np.testing.assert_array_equal(np.frombuffer(raw, to.carrier), values.astype(to.numpy))


@pytest.mark.parametrize("clamped", [False, True])
@pytest.mark.parametrize("more", [-5, -4, -1, 1, 3, 4])
def test_a_source_of_too_few_or_many_bytes_is_an_error_of_a_cast(more, clamped):
    values = np.arange(10).astype("<f4")
    raw = (values.tobytes() + bytes(8))[: values.nbytes + more]
    snapshot = TensorSnapshot("w", DType.F32, (10,), values.nbytes, Torn(raw, (7, 19)))
    made = clamp_to(snapshot, DType.F16) if clamped else cast_to(snapshot, DType.F16)
    short = f"the source gave {40 + more} bytes, expected 40"
    torn = f"the source ends with {more % 4} bytes of a value of 4"
    with pytest.raises(ShapeError, match=torn if clamped and more % 4 else short):
        list(made.chunks(8))


def test_blocks_of_a_source_that_ends_within_a_value_are_an_error():
    snapshot = TensorSnapshot("w", DType.F32, (3,), 12, Torn(bytes(11), (5,)))
    with pytest.raises(ShapeError, match="the source ends with 3 bytes of a value of 4"):
        list(blocks(snapshot, 2))


TYPES = [
    pytest.param(DType.F16, np.float16, id="f16"),
    pytest.param(DType.BF16, ml_dtypes.bfloat16, id="bf16"),
    pytest.param(DType.F8_E5M2, ml_dtypes.float8_e5m2, id="f8"),
    pytest.param(DType.F32, np.float32, id="f32"),
    pytest.param(DType.I16, np.int16, id="i16"),
    pytest.param(DType.BOOL, np.bool_, id="bool"),
]


@pytest.mark.parametrize(("dtype", "held"), TYPES)
def test_statistics_of_pieces_are_those_of_the_whole(dtype, held):
    values = np.random.default_rng(0).normal(size=100_003).astype(held)
    if dtype.is_float:
        values[:3] = [np.nan, np.inf, -np.inf]
    whole = stats(values, dtype)
    found = stream_stats(lambda: np.array_split(values, 7), values.size, dtype)
    assert found.histogram == whole.histogram
    assert (found.minimum, found.maximum, found.zeros) == (
        whole.minimum,
        whole.maximum,
        whole.zeros,
    )
    assert (found.nans, found.pos_infs, found.neg_infs) == (
        whole.nans,
        whole.pos_infs,
        whole.neg_infs,
    )
    assert found.mean == pytest.approx(whole.mean, rel=1e-9)
    assert found.std == pytest.approx(whole.std, rel=1e-9)


def test_pieces_of_another_dtype_are_refused():
    with pytest.raises(DTypeError, match="stats: expected f32 as float32, got float64"):
        stream_stats(lambda: [np.ones(3)], 3, DType.F32)


def _large(path, deflate):
    values = np.random.default_rng(1).normal(size=12 * MIB).astype("<f4")
    if not deflate:
        save(TensorIndex.of([TensorSnapshot.from_array("w", values)], format="record"), path)
        return values
    out = io.BytesIO()
    np.save(out, values)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=0) as archive:
        archive.writestr("w.npy", out.getvalue())
    return values


PEAKS = [
    pytest.param("w.safetensors", 28 * MIB, id="safetensors"),
    pytest.param("w.bpk", 28 * MIB, id="rudapack"),
    pytest.param("w.npz", 44 * MIB, id="deflated: packed and unpacked pieces"),
]


@pytest.mark.parametrize(("name", "limit"), PEAKS)
def test_hashing_and_statistics_of_a_large_tensor_hold_a_piece_of_it(tmp_path, name, limit):
    values = _large(tmp_path / name, name.endswith("npz"))
    with open_store(tmp_path / name) as index:
        tracemalloc.start()
        try:
            found = scan_tensor(index["w"])
            index["w"].sha256()
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert found.histogram == stats(values, DType.F32).histogram
    assert peak < limit < values.nbytes
