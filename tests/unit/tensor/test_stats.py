"""Statistics over every ordered dtype, exact where integers allow it."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from ruda.errors import DTypeError, SettingError
from ruda.progress import Cancelled
from ruda.tensor import DType, Kind, stats

ORDERED = [d for d in DType if d.kind in (Kind.FLOAT, Kind.INT, Kind.UINT, Kind.BOOL)]


@pytest.mark.parametrize("dtype", ORDERED, ids=str)
def test_every_ordered_dtype(dtype):
    array = np.array([1, 2, 4, 1], np.float32).astype(dtype.carrier)
    found = stats(array, dtype, bins=3)
    top = 1 if dtype.kind is Kind.BOOL else 4
    assert (found.count, found.finite, found.minimum, found.maximum) == (4, 4, 1, top)
    assert found.mean == (1 if top == 1 else 2)
    assert found.std == pytest.approx(0 if top == 1 else math.sqrt(1.5))
    assert sum(found.histogram) == 4
    assert found.constant is (top == 1)


def test_non_finite_values_are_counted_apart():
    array = np.array([0, -3, np.nan, np.inf, -np.inf, 5], np.float32)
    found = stats(array, DType.F32, bins=2)
    assert (found.zeros, found.nans, found.pos_infs, found.neg_infs) == (1, 1, 1, 1)
    assert (found.minimum, found.maximum, found.count, found.finite) == (-3, 5, 6, 3)
    assert found.histogram == (2, 1)
    assert not found.constant


EMPTY = [
    pytest.param([], 0, id="no elements"),
    pytest.param([np.nan, np.nan], 2, id="nothing finite"),
]


@pytest.mark.parametrize(("values", "nans"), EMPTY)
def test_without_values(values, nans):
    found = stats(np.array(values, np.float32), DType.F32, bins=4)
    assert (found.nans, found.low, found.high, found.histogram) == (nans, 0, 0, (0,) * 4)
    assert math.isnan(found.minimum)
    assert math.isnan(found.std)
    assert not found.constant


HARD = [
    pytest.param([1e308, -1e308, 1e308], np.float64, id="sums overflow"),
    pytest.param([1e9, 1e9 + 1, 1e9 + 2], np.float64, id="small spread on a large mean"),
    pytest.param([1e-200, 3e-200], np.float64, id="squares underflow"),
    pytest.param([5e-320, 9e-320], np.float64, id="subnormal"),
    pytest.param([1.7e308, -1.7e308], np.float64, id="both ends"),
    pytest.param([2**62, 2**62 + 4096], np.int64, id="large integers"),
    pytest.param([1e38, -1e38], np.float32, id="squares beyond f32"),
]


@pytest.mark.parametrize(("values", "held"), HARD)
def test_mean_and_deviation_survive_rounding(values, held):
    from fractions import Fraction

    array = np.array(values, held)
    found = stats(array, DType.from_numpy(array.dtype))
    exact = [Fraction(x) if held is np.int64 else Fraction(float(x)) for x in array.tolist()]
    mean = sum(exact) / len(exact)
    variance = sum((x - mean) ** 2 for x in exact) / len(exact)
    scale = max(abs(x) for x in exact)
    deviation = float(scale) * math.sqrt(variance / scale**2)
    assert found.mean == pytest.approx(float(mean), rel=1e-9, abs=float(scale) * 1e-12)
    assert found.std == pytest.approx(deviation, rel=1e-6, abs=1e-323)


def test_integers_keep_exact_ends():
    found = stats(np.array([2**63 - 1, -(2**63) + 1]), DType.I64)
    assert (found.minimum, found.maximum) == (-(2**63) + 1, 2**63 - 1)
    assert sum(found.histogram) == 2


def test_histogram_matches_numpy():
    values = np.random.Generator(np.random.PCG64(3)).normal(size=5000)
    found = stats(values, DType.F64, bins=32)
    counts, _ = np.histogram(values, 32)
    assert np.abs(np.array(found.histogram) - counts).max() <= 1  # an edge may round either way
    assert sum(found.histogram) == 5000


def test_blocks_join_and_stop(monkeypatch):
    monkeypatch.setattr("ruda.tensor.statistics.BLOCK_ELEMENTS", 7)
    values = np.arange(50, dtype=np.float32)
    found = stats(values, DType.F32, bins=5)
    assert (found.mean, found.histogram) == (24.5, (10,) * 5)

    class Stop:
        def report(self, progress):
            self.progress = progress

        def check(self):
            if hasattr(self, "progress"):
                raise Cancelled("stopped")

    monitor = Stop()
    with pytest.raises(Cancelled, match="stopped"):
        stats(values, DType.F32, monitor=monitor)
    assert (monitor.progress.done, monitor.progress.total) == (7, 50)


REFUSED = [
    pytest.param(DType.C64, np.complex64, 4, DTypeError, "c64 has no ordered", id="complex"),
    pytest.param(DType.QFLOAT, np.uint8, 4, DTypeError, "qfloat has no ordered", id="quantized"),
    pytest.param(DType.F32, np.float64, 4, DTypeError, "expected f32 as float32", id="array"),
    pytest.param(DType.F32, np.float32, 0, SettingError, "at least one bin, got 0", id="bins"),
]


@pytest.mark.parametrize(("dtype", "held", "bins", "error", "message"), REFUSED)
def test_refused(dtype, held, bins, error, message):
    with pytest.raises(error, match=message):
        stats(np.zeros(2, held), dtype, bins=bins)


def test_strided_and_foreign_arrays():
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    plain = stats(values, DType.F32)
    assert stats(values.T.astype(">f4"), DType.F32) == plain
    assert stats(np.array(3, ml_dtypes.bfloat16), DType.BF16).mean == 3


@pytest.mark.parametrize("unit", [1e-150, 1e-158, 1e-160, 1e-161, 3e-162, 1e-200, 1e-300])
def test_deviation_of_values_whose_squares_vanish(unit):
    values = np.array([0.3, -1.7, 1.0, 2.0])
    found = stats(values * unit, DType.F64)
    assert found.std == pytest.approx(values.std() * unit, rel=1e-12, abs=0)


NEAR = [
    ([2**62, 2**62 + 1, 2**62 + 2], DType.I64),
    ([-(2**63), -(2**63) + 1, -(2**63) + 5], DType.I64),
    ([2**64 - 1, 2**64 - 3, 2**64 - 1, 2**64 - 2], DType.U64),
    ([2**53 + 1, 2**53 + 3], DType.I64),
    ([10**9, 10**9 + 1], DType.I32),
    ([-128, 127, -128, 127], DType.I8),
]


@pytest.mark.parametrize(("values", "dtype"), NEAR)
def test_large_integers_close_together_have_their_spread(values, dtype):
    """As f64 they are one number, and the spread would be 0 / 0."""
    found = stats(np.array(values, dtype.numpy), dtype)
    mean = Fraction(sum(values), len(values))
    square = sum((value - mean) ** 2 for value in values) / len(values)
    assert found.mean == pytest.approx(float(mean), rel=1e-15)
    assert found.std == pytest.approx(float(square) ** 0.5, rel=1e-12)
    assert (found.minimum, found.maximum) == (min(values), max(values))


def test_a_name_is_no_dtype():
    with pytest.raises(DTypeError, match="stats: 'f32' is no dtype; expected a DType"):
        stats(np.ones(2, np.float32), "f32")
