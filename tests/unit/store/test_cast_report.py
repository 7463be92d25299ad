from __future__ import annotations

import json

import ml_dtypes
import numpy as np
import pytest

from ruda.progress import Cancelled
from ruda.store import (
    Action,
    CastPolicy,
    Decision,
    Recipe,
    TensorIndex,
    TensorSnapshot,
    conversion_report,
    convert,
    describe,
    open_store,
    save,
)
from ruda.store.cast_report import CastErrors
from ruda.tensor import DType


def index(**arrays):
    made = [TensorSnapshot.from_array(key, np.asarray(value)) for key, value in arrays.items()]
    return TensorIndex.of(made, format="memory")


def to(dtype):
    return Recipe().with_cast(CastPolicy.every(dtype))


EDGES = np.array([0, -0.0, 1, 1.0001, 65504, 65520, 1e30, -1e30, 1e-8, 1e-5, 3e-41], "<f4")
EDGES = np.concatenate([EDGES, np.array([np.inf, -np.inf, np.nan], "<f4")])
TARGETS = [DType.F16, DType.BF16, DType.F8_E4M3FN, DType.F8_E5M2]


@pytest.mark.parametrize("dtype", TARGETS, ids=str)
def test_figures_are_those_of_numpy(dtype):
    (row,) = conversion_report(index(a=EDGES), to(dtype)).rows
    with np.errstate(all="ignore"):
        y = EDGES.astype(dtype.numpy).astype("f8")
    x = EDGES.astype("f8")
    sane = np.isfinite(x) & np.isfinite(y)
    error = np.abs(x[sane] - y[sane])
    tiny = float(ml_dtypes.finfo(dtype.numpy).tiny)
    assert row.errors.max_absolute == error.max()
    rms = np.sqrt(np.square(error).sum() / np.square(x[sane]).sum())
    assert row.errors.relative_rms == pytest.approx(rms, rel=1e-12)
    assert row.errors.exact == np.count_nonzero((x == y) | (np.isnan(x) & np.isnan(y)))
    lost = (np.isfinite(x) & ~np.isfinite(y)) | (np.isinf(x) & np.isnan(y))
    assert row.counts.overflow == np.count_nonzero(lost)
    assert row.counts.underflow == np.count_nonzero((x != 0) & (y == 0))
    assert row.counts.subnormal == np.count_nonzero((y != 0) & (np.abs(y) < tiny))
    assert (row.bytes_before, row.bytes_after) == (EDGES.size * 4, dtype.nbytes(EDGES.size))
    assert row.is_harmed == bool(lost.any())
    assert row.is_loud


def patterns(chunk, chunks=10, count=2_500_000):
    """f32 with every exponent and the bit patterns around the halves of f16 and bf16."""
    rng = np.random.default_rng(chunk)
    size = count // chunks
    bits = rng.integers(0, 1 << 32, size, dtype=np.uint64).astype(np.uint32)
    near = rng.integers(-2, 3, size // 2)
    for part, low in ((bits[: size // 4], 13), (bits[size // 4 : size // 2], 16)):
        part &= np.uint32(0xFFFFFFFF << low & 0xFFFFFFFF)
        part |= np.uint32(1 << (low - 1))
    bits[: size // 2] = (bits[: size // 2].astype(np.int64) + near).astype(np.uint32)
    return bits.view("<f4")


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(10))
@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16], ids=str)
def test_patterns_at_the_edges_are_bit_equal_and_counted_exactly(dtype, chunk):
    x = patterns(chunk)
    source = index(a=x)
    with np.errstate(all="ignore"):
        y = x.astype(dtype.numpy)
        wide, before = y.astype("f8"), x.astype("f8")
    made = convert(source, recipe=to(dtype))["a"].read()
    numbers = ~np.isnan(before)
    np.testing.assert_array_equal(made.view("u2")[numbers], y.view("u2")[numbers])
    assert np.isnan(made[~numbers].astype("f4")).all()
    (row,) = conversion_report(source, to(dtype)).rows
    tiny = float(ml_dtypes.finfo(dtype.numpy).tiny)
    assert row.counts.overflow == np.count_nonzero(np.isfinite(before) & np.isinf(wide))
    assert row.counts.underflow == np.count_nonzero((before != 0) & (wide == 0))
    assert row.counts.subnormal == np.count_nonzero((wide != 0) & (np.abs(wide) < tiny))
    assert row.errors.exact == np.count_nonzero((before == wide) | ~numbers)


def test_what_is_not_cast_costs_nothing():
    class Unread:
        def read(self):
            raise AssertionError("read")

    snapshot = TensorSnapshot("a", DType.F16, (2,), 4, Unread())
    (row,) = conversion_report(TensorIndex.of([snapshot], format="memory"), to(DType.F16)).rows
    assert not row.is_cast
    assert (row.bytes_before, row.bytes_after) == (4, 4)


def test_policies_of_single_tensors_show():
    x = np.array([1e6, 1], "<f4")
    recipe = to(DType.F16).with_decision(
        Decision("kept", Action.KEEP),
        Decision("wide", Action.CAST, DType.BF16),
        Decision("cut", Action.CLAMP, DType.F16),
    )
    report = conversion_report(index(plain=x, kept=x, wide=x, cut=x), recipe)
    rows = {row.key: row for row in report.rows}
    assert [rows[key].counts.overflow for key in ("plain", "kept", "wide", "cut")] == [1, 0, 0, 1]
    assert rows["cut"].clamped
    assert rows["cut"].errors.max_absolute == 1e6 - 65504
    assert "clamped 1" in describe(rows["cut"])
    assert not report.is_harmless
    assert report.bytes_after == 4 + 8 + 4 + 4


def test_scaled_values_are_refused_with_the_reason():
    source = index(
        **{"w.weight": np.ones((2, 2), ml_dtypes.float8_e4m3fn), "w.weight_scale": np.ones(1, "f4")}
    )
    report = conversion_report(source, to(DType.F16))
    weight, scale = report.rows
    assert "mean nothing without 'w.weight_scale'" in weight.refused
    assert "a scale of other values" in scale.refused
    assert not report.is_harmless
    assert "w.weight: its values" in str(report)


def test_int8_errors_are_at_most_half_a_step():
    x = np.random.default_rng(0).normal(size=(4, 100)).astype("<f4")
    report = conversion_report(index(w=x), to(DType.I8))
    weight, scale = report.rows
    assert weight.errors.max_absolute <= np.abs(x).max() / 254 * 1.00001
    assert (weight.before, weight.after) == ("f32", "i8")
    assert (scale.bytes_before, scale.bytes_after) == (0, 16)
    assert report.is_harmless


def test_a_row_that_cannot_be_read_says_so():
    x = np.array([[np.nan, 1]], "<f4")
    report = conversion_report(index(w=x), to(DType.I8))
    assert "NaN or infinite" in report.rows[0].refused


@pytest.mark.parametrize("dtype", [DType.F16, DType.I8], ids=str)
def test_samples_look_at_the_first_values(dtype):
    x = np.zeros((10, 10), "<f4")
    x[-1] = 1.0001
    (row, *_) = conversion_report(index(a=x), to(dtype), sample=50).rows
    assert row.sampled
    assert row.errors.numel == row.errors.exact == 50
    assert "the first values only" in describe(row)


def test_transposes_do_not_hide_a_cast():
    recipe = to(DType.F16).with_adapt("pytorch-to-ruda")
    source = index(**{"fc.weight": np.full((2, 3), 1e6, "<f4"), "fc.bias": np.ones(2, "<f4")})
    report = conversion_report(source, recipe)
    assert report.counts.overflow == 6


def test_the_report_is_json_whatever_the_values():
    data = conversion_report(index(a=EDGES), to(DType.F16)).as_data()
    assert json.loads(json.dumps(data, allow_nan=False))["rows"][0]["overflow"] == 3


def test_it_can_be_stopped():
    class Stop:
        def report(self, progress):
            raise AssertionError("not reached")

        def check(self):
            raise Cancelled

    with pytest.raises(Cancelled, match=r"^$"):
        conversion_report(index(a=EDGES), to(DType.F16), monitor=Stop())


def test_bytes_before_are_those_of_the_file(tmp_path):
    x = np.ones((4, 8), "<f4")
    save(convert(index(w=x), recipe=to(DType.I8)), tmp_path / "a.safetensors")
    with open_store(tmp_path / "a.safetensors") as file:
        (half,) = conversion_report(file, to(DType.F16)).rows
        (full,) = conversion_report(file, to(DType.F32)).rows
    # 32 of int8, and a scale in f32 for each of four channels.
    assert (half.before, half.after, half.bytes_before, half.bytes_after) == ("i8", "f16", 48, 64)
    assert (full.before, full.after, full.bytes_before, full.bytes_after) == ("i8", "f32", 48, 128)


@pytest.mark.parametrize("narrower", ["f8", "f4", "f2"])
@pytest.mark.parametrize("whole", ["i8", "u8"])
def test_integers_beyond_the_floats_are_not_called_exact(whole: str, narrower: str) -> None:
    values = np.array([2**53 + 1, 5], whole)
    with np.errstate(over="ignore"):
        found = CastErrors.of(values, values.astype(narrower))
    assert (found.exact, found.rounds_whole) == (1, True)
