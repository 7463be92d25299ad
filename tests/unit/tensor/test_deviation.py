from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from ruda.errors import DTypeError, ShapeError
from ruda.tensor import Deviation, DType, Tolerance, deviation
from ruda.tensor.deviation import _deviation

F32 = (DType.F32, DType.F32)


def f32(*values):
    return np.array(values, "<f4")


CHANGES = [
    pytest.param(f32(1, 2), f32(1, 2), F32, 0, id="equal"),
    pytest.param(f32(math.nan), f32(math.nan), F32, 0, id="two NaNs"),
    pytest.param(f32(0.0), f32(-0.0), F32, 0, id="two zeros"),
    pytest.param(f32(math.nan), f32(1), F32, 1, id="NaN against a number"),
    pytest.param(f32(math.inf), f32(-math.inf), F32, 1, id="two infinities"),
    pytest.param(f32(math.inf), f32(math.inf), F32, 0, id="one infinity twice"),
    pytest.param(
        np.array([2**53 + 1]), np.array([2**53]), (DType.I64, DType.I64), 1, id="large integers"
    ),
    pytest.param(
        np.array([2**53 + 1]), np.array([2.0**53]), (DType.I64, DType.F64), 1, id="i64 and f64"
    ),
    pytest.param(
        np.array([2**53], "<u8"), np.array([2.0**53]), (DType.U64, DType.F64), 0, id="u64 and f64"
    ),
    pytest.param(
        np.array([7, 0], "<u4"), np.array([True, False]), (DType.BOOL_U32, DType.BOOL), 0, id="bool"
    ),
    pytest.param(
        np.array([1j], "<c8"), np.array([1 + 1j], "<c8"), (DType.C64, DType.C64), 1, id="complex"
    ),
]


@pytest.mark.parametrize(("left", "right", "dtypes", "changed"), CHANGES)
def test_values_are_equal_or_not(left, right, dtypes, changed):
    assert deviation(left, right, dtypes).changed == changed


def test_figures_are_those_of_numpy():
    rng = np.random.default_rng(1)
    a = rng.normal(size=1000).astype("<f4")
    b = (a + rng.normal(size=1000) * 0.01).astype("<f4")
    found = deviation(a, b, F32)
    x, y = a.astype(float), b.astype(float)
    assert found.max_absolute == np.abs(x - y).max()
    assert found.mean_absolute == pytest.approx(np.abs(x - y).mean(), rel=1e-12)
    assert found.rms == pytest.approx(math.sqrt(np.square(x - y).mean()), rel=1e-12)
    cosine = x @ y / np.linalg.norm(x) / np.linalg.norm(y)
    assert found.cosine == pytest.approx(cosine, rel=1e-12)


ULPS = [
    pytest.param(1.0, np.nextafter(np.float32(1), np.float32(2)), DType.F32, 1, id="neighbours"),
    pytest.param(1e-45, -1e-45, DType.F32, 2, id="across zero"),
    pytest.param(0.0, -0.0, DType.F32, 0, id="zeros"),
    pytest.param(1.7976931348623157e308, -1.7976931348623157e308, DType.F64, 2 * 0x7FEFFFFFFFFFFFFF,
                 id="the ends of f64"),
    pytest.param(1.0, 1.125, DType.F8_E4M3FN, 1, id="f8"),
    pytest.param(1.0, 1.0078125, DType.BF16, 1, id="bf16"),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right", "dtype", "steps"), ULPS)
def test_steps_between_floats(left, right, dtype, steps):
    a, b = (np.array([value]).astype(dtype.numpy) for value in (left, right))
    assert deviation(a, b, (dtype, dtype)).max_ulp == steps


@pytest.mark.parametrize("ulp", [0, 1, 3])
@pytest.mark.parametrize("tolerance", [None, Tolerance.rel_abs(0.01, 1e-3)], ids=["exact", "near"])
@pytest.mark.parametrize("dtype", [DType.F32, DType.F16, DType.BF16], ids=str)
def test_the_kernel_finds_what_numpy_finds(dtype, tolerance, ulp):
    rng = np.random.default_rng(2)
    words = rng.integers(0, 1 << 16, (2, 70_000), dtype=np.uint16)
    words[1, ::2] = words[0, ::2] + rng.integers(0, 4, 35_000, dtype=np.uint16)
    if dtype is DType.F32:
        left, right = (words.astype(np.uint32) << 16).view(np.float32)
    else:
        left, right = words.view(dtype.numpy)
    found = deviation(left, right, (dtype, dtype), tolerance=tolerance, ulp=ulp)
    with np.errstate(all="ignore"):
        wide = (left.astype(np.float32), right.astype(np.float32))
        expected = _deviation(*wide, (left, right), (dtype, dtype), tolerance, ulp)
    sums = ("total_absolute", "total_squares", "dot", "left_squares", "right_squares")
    for name in sums:
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12)
    same = dict.fromkeys(sums, 0.0)
    assert str(replace(found, **same)) == str(replace(expected, **same))  # NaN is no NaN


def test_steps_of_two_dtypes_are_counted_in_the_coarser():
    a = f32(1.001, 3.3)
    b = a.astype(DType.BF16.numpy)
    assert deviation(a, b, (DType.F32, DType.BF16)).max_ulp == 0
    assert deviation(b, a, (DType.BF16, DType.F32), ulp=1).beyond == 0


def test_steps_mean_nothing_for_integers():
    a = np.array([1, 2])
    assert deviation(a, a, (DType.I64, DType.I64)).max_ulp is None


@pytest.mark.parametrize(
    ("tolerance", "ulp", "beyond"),
    [
        pytest.param(None, 0, 2, id="exact"),
        pytest.param(Tolerance.rel_abs(0.0, 0.2), 0, 1, id="absolute"),
        pytest.param(Tolerance.rel_abs(0.5, 0.0), 0, 0, id="relative"),
        pytest.param(None, 1_000_000, 1, id="steps"),
    ],
)
def test_tolerances_excuse(tolerance, ulp, beyond):
    found = deviation(f32(1, 2), f32(1.1, 3), F32, tolerance=tolerance, ulp=ulp)
    assert (found.changed, found.beyond) == (2, beyond)


def test_no_tolerance_excuses_an_infinity():
    found = deviation(f32(math.inf), f32(1), F32, tolerance=Tolerance.rel_abs(1, 1e300), ulp=2**31)
    assert (found.beyond, found.unpaired, found.max_absolute) == (1, 1, 0.0)


def test_blocks_add_up():
    a, b = f32(1, 2, math.nan, 4), f32(1, 3, 4, 5)
    whole = deviation(a, b, F32)
    parts = deviation(a[:2], b[:2], F32) + deviation(a[2:], b[2:], F32)
    assert str(parts) == str(whole)
    assert [spot.offset for spot in parts.first] == [1, 2, 3]
    assert Deviation() + whole == whole


def test_no_angle_without_length():
    assert deviation(f32(0, 0), f32(1, 2), F32).cosine is None
    assert deviation(f32(), f32(), F32).cosine is None


def test_shapes_must_agree():
    with pytest.raises(ShapeError, match=r"shapes differ: \[1\] and \[2\]"):
        deviation(f32(1), f32(1, 2), F32)


def test_raw_bits_have_no_distance():
    raw = np.zeros(2, "u1")
    with pytest.raises(DTypeError, match="f4_e2m1 is stored as raw bits only"):
        deviation(raw, raw, (DType.F4_E2M1, DType.F4_E2M1))


LONG = [
    (DType.I64, DType.F64, 2**53 + 1, 2.0**53, 1),
    (DType.F64, DType.U64, 2.0**53, 2**53 + 1, 1),
    (DType.I64, DType.U64, -1, 2**64 - 1, 2**64),
    (DType.U64, DType.I64, 2**63 + 1, 2**63 - 1, 2),
]


@pytest.mark.parametrize(("one", "other", "a", "b", "apart"), LONG)
def test_long_integers_beside_other_numbers_have_their_distance(one, other, a, b, apart):
    pair = np.array([a], one.numpy), np.array([b], other.numpy)
    found = deviation(*pair, (one, other))
    assert (found.changed, found.max_absolute) == (1, float(apart))
    wide = deviation(*pair, (one, other), tolerance=Tolerance.rel_abs(0, apart / 2))
    assert wide.beyond == 1
