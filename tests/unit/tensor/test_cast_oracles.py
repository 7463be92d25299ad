"""Casts of every path against exact arithmetic: what is nearest, and what is counted."""

import math
from bisect import bisect_left
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from ruda.tensor import CastCounts, DType, Kind, cast

SMALL = [
    DType.F16, DType.BF16, DType.F8_E4M3FN, DType.F8_E5M2, DType.F8_E4M3FNUZ, DType.F8_E5M2FNUZ,
]  # fmt: skip
FLOATS = [DType.F64, DType.F32, *SMALL]
WHOLE = [d for d in DType if d.is_integer]
REAL = [*FLOATS, *WHOLE, DType.BOOL]

EDGES = [
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 0.999, 1.5, -1.7, 2.5, 100.3, 126.9, 127.0, 127.5, -128.0,
    -128.9, -129.0, 255.0, 255.9, 256.0, 448.0, 464.0, 465.0, 57344.0, 61440.0, 65504.0, 65519.0,
    65520.0, 65535.5, 65536.0, 2.0**31 - 1, 2.0**31, -(2.0**31), -(2.0**31) - 1, 2.0**32, 2.0**53,
    2.0**53 + 2, 2.0**63, -(2.0**63), 2.0**64, 1e38, 3.4028236e38, 1e39, 1e300, -1e300, 1e-300,
    2.0**-7, 2.0**-9, 2.0**-10, 3 * 2.0**-11, 2.0**-14, 2.0**-17, 2.0**-24, 2.0**-25, 2.0**-126,
    2.0**-133, 2.0**-134, 2.0**-149, 2.0**-150, 5e-324, math.inf, -math.inf, math.nan,
]  # fmt: skip
LARGE = [2**53 + 1, -(2**53) - 1, 2**62 + 2**54 + 1, 2**63 - 1, 2**31 + 2**23 + 1, 65520, 300]


def hard(source):
    """Hard values that the dtype has, or what NumPy makes of them."""
    if source.is_integer:
        info = np.iinfo(source.numpy)
        ends = [info.min, info.min + 1, info.max - 1, info.max, 0, 1, 2, *LARGE]
        return np.array([v for v in ends if info.min <= v <= info.max], source.numpy)
    if source is DType.BOOL:
        return np.array([True, False])
    steps = [v * (1 + s * 2.0**-t) for v in EDGES[2:-3] for t in (3, 8, 11, 40) for s in (1, -1)]
    with np.errstate(all="ignore"):
        return np.array(EDGES + steps).astype(source.numpy)


def exact(value):
    """A number as a fraction; NaN and infinities as text."""
    if isinstance(value, (bool, np.bool_, int, np.integer)):
        return Fraction(int(value))
    value = float(value)
    if math.isnan(value):
        return "nan"
    return Fraction(value) if math.isfinite(value) else "inf" if value > 0 else "-inf"


def grid(target):
    words = np.arange(1 << target.bits, dtype=np.uint32).astype(f"u{target.itemsize}")
    with np.errstate(invalid="ignore"):
        values = words.view(target.numpy).astype(np.float64)
    return sorted({Fraction(v) for v in values[np.isfinite(values)].tolist()})


def nearest(value, finite):
    """Of all finite values of a float, or infinite; ties go to the even one, as places count."""
    step = finite[-1] - finite[-2]
    if abs(value) >= finite[-1] + step / 2:
        return "inf" if value > 0 else "-inf"
    value = max(min(value, finite[-1]), finite[0])
    at = bisect_left(finite, value)
    if finite[at] == value:
        return value
    low, high = finite[at - 1], finite[at]
    if value - low != high - value:
        return low if value - low < high - value else high
    zero = bisect_left(finite, 0)  # words count up from 0 on both sides
    return low if (at - 1 - zero) % 2 == 0 else high


@pytest.mark.parametrize("target", [DType.F16, DType.BF16, DType.F8_E5M2], ids=str)
@pytest.mark.parametrize("source", [*FLOATS, *WHOLE], ids=str)
def test_small_floats_are_the_nearest(source, target):
    values = hard(source)
    found, _ = cast(values, source, target)
    finite = grid(target)
    for before, after in zip(values.tolist(), found.astype(np.float64).tolist(), strict=True):
        given = exact(before)
        wanted = nearest(given, finite) if isinstance(given, Fraction) else given
        assert exact(after) == wanted, (before, after)


@pytest.mark.parametrize("source", [*FLOATS, *WHOLE], ids=str)
def test_e4m3_has_no_infinity(source):
    """What is above 464, half a step more than the largest, is NaN; 464 itself goes to 448."""
    values = hard(source)
    found, _ = cast(values, source, DType.F8_E4M3FN)
    finite = grid(DType.F8_E4M3FN)
    for before, after in zip(values.tolist(), found.astype(np.float64).tolist(), strict=True):
        given = exact(before)
        if isinstance(given, str) or abs(given) > 464:
            wanted = "nan"
        else:
            wanted = nearest(max(min(given, finite[-1]), finite[0]), finite)
        assert exact(after) == wanted, (before, after)


@pytest.mark.parametrize("target", WHOLE, ids=str)
@pytest.mark.parametrize("source", FLOATS, ids=str)
def test_integers_are_truncated_and_pulled_to_the_ends(source, target):
    values = hard(source)
    found, counts = cast(values, source, target)
    info = np.iinfo(target.numpy)
    wanted, overflow, underflow = [], 0, 0
    for value in values.tolist():
        if math.isnan(value):
            kept = 0
        elif math.isinf(value):
            kept = info.max if value > 0 else info.min
        else:
            kept = min(max(math.trunc(value), info.min), info.max)
        lost = not math.isfinite(value) or kept != math.trunc(value)
        overflow += lost
        underflow += not lost and value != 0 and kept == 0
        wanted.append(kept)
    assert found.tolist() == wanted
    assert counts == CastCounts(values.size, overflow, underflow)


@pytest.mark.parametrize("target", REAL, ids=str)
@pytest.mark.parametrize("source", REAL, ids=str)
def test_what_is_counted_is_what_differs(source, target):
    values = hard(source)
    found, plain = cast(values, source, target)
    again, counts = cast(values, source, target, exactness=True)
    np.testing.assert_array_equal(found.view(np.uint8), again.view(np.uint8))
    pairs = list(zip(values.tolist(), found.tolist(), strict=True))
    differ = sum(exact(before) != exact(after) for before, after in pairs)
    assert counts.inexact == differ - counts.overflow - counts.underflow
    assert counts.inexact >= 0
    assert plain == CastCounts(values.size, counts.overflow, counts.underflow, counts.subnormal)
    if target.is_float and source is not target:
        tiny = target.smallest_normal
        sizes = [abs(float(after)) for _, after in pairs]
        assert counts.subnormal == sum(0 < size < tiny for size in sizes)
        assert counts.underflow == sum(
            before != 0 and size == 0 for (before, _), size in zip(pairs, sizes, strict=True)
        )
        assert counts.overflow == sum(
            (math.isfinite(before) and not math.isfinite(size))
            or (math.isinf(before) and math.isnan(size))
            for (before, _), size in zip(pairs, sizes, strict=True)
        )


@pytest.mark.parametrize("target", SMALL, ids=str)
@pytest.mark.parametrize("source", SMALL, ids=str)
def test_every_small_float_as_every_other_is_as_ml_dtypes(source, target):
    words = np.arange(1 << source.bits, dtype=np.uint32).astype(f"u{source.itemsize}")
    values = words.view(source.numpy)
    if source is target:
        return
    found, _ = cast(values, source, target)
    with np.errstate(all="ignore"):
        wanted = values.astype(np.float32).astype(target.numpy).astype(np.float32)
    np.testing.assert_array_equal(found.astype(np.float32), wanted)
    np.testing.assert_array_equal(np.signbit(found.astype(np.float32)), np.signbit(wanted))


INEXACT = [
    pytest.param([1.7, 2.0, -0.5], DType.F32, DType.I32, 1, id="truncated"),
    pytest.param([2**53 + 1, 2**53], DType.I64, DType.F64, 1, id="i64 to f64"),
    pytest.param([2**53 + 1, 2**53], DType.I64, DType.F32, 1, id="i64 to f32"),
    pytest.param([2**63 - 1, 2**62], DType.I64, DType.F32, 1, id="rounded beyond i64"),
    pytest.param([2**64 - 1], DType.U64, DType.F64, 1, id="rounded beyond u64"),
    pytest.param([1.001, 1.0], DType.F32, DType.BF16, 1, id="rounded"),
    pytest.param([math.nan, math.inf, -0.0], DType.F32, DType.BF16, 0, id="special values"),
    pytest.param([math.inf, 500, 1.06], DType.F32, DType.F8_E4M3FN, 1, id="overflow is another"),
    pytest.param([0, 1, 7, math.nan, 0.5], DType.F32, DType.BOOL, 3, id="made True"),
    pytest.param([0, 7], DType.BOOL_U32, DType.I8, 0, id="wide bool"),
    pytest.param([1.5, 2**53], DType.F32, DType.C64, 0, id="real to complex"),
    pytest.param([2**53 + 1], DType.I64, DType.C128, 1, id="i64 to complex"),
    pytest.param([1 + 1e-300j, 1.1 + 1j], DType.C128, DType.C64, 2, id="a part of a number"),
    pytest.param([1.5, 2.5], DType.F32, DType.FLEX32, 0, id="the same values"),
    pytest.param([], DType.F32, DType.F16, 0, id="nothing"),
]


@pytest.mark.parametrize(("values", "source", "target", "wanted"), INEXACT)
def test_inexact(values, source, target, wanted):
    held = np.array(values, source.carrier)
    assert cast(held, source, target)[1].inexact is None
    assert cast(held, source, target, exactness=True)[1].inexact == wanted


SUMS = [
    pytest.param(CastCounts(2, inexact=1), CastCounts(3, inexact=2), 3, id="both"),
    pytest.param(CastCounts(), CastCounts(3, inexact=2), 2, id="of a sum that begins"),
    pytest.param(CastCounts(3, inexact=0), CastCounts(), 0, id="of nothing more"),
    pytest.param(CastCounts(2), CastCounts(3, inexact=2), None, id="one was not counted"),
    pytest.param(CastCounts(2), CastCounts(3), None, id="none"),
]


@pytest.mark.parametrize(("left", "right", "wanted"), SUMS)
def test_sums_know_what_all_parts_know(left, right, wanted):
    assert (left + right).inexact == wanted


PIECES = [
    (DType.BF16, DType.F16), (DType.F64, DType.F8_E5M2), (DType.F32, DType.I8),
    (DType.BF16, DType.F32), (DType.I64, DType.BF16), (DType.F16, DType.F64),
]  # fmt: skip


@pytest.mark.parametrize(("source", "target"), PIECES)
@pytest.mark.parametrize("threads", [1, 2])
def test_pieces_and_blocks_make_no_difference(source, target, threads, monkeypatch):
    one = hard(source)
    values = np.tile(one, 60)
    whole, counts = cast(values, source, target, exactness=True)
    monkeypatch.setattr("ruda._kernels.threads.PIECE_BYTES", 1000)
    monkeypatch.setattr("ruda._kernels.threads.LARGEST_BYTES", 1000)
    monkeypatch.setattr("ruda.tensor.casting.block_bytes", lambda *_: 170)
    monkeypatch.setattr("ruda._kernels.threads._count", threads)
    for layout in (values, values.astype(values.dtype.newbyteorder(">")), values[::-1][::-1]):
        cut, found = cast(layout, source, target, exactness=True)
        np.testing.assert_array_equal(cut.view(np.uint8), whole.view(np.uint8))
        assert found == counts
    _, single = cast(one, source, target)
    assert counts.overflow == 60 * single.overflow
    assert counts.subnormal == 60 * single.subnormal


def test_kinds_of_blocks_of_bf16():
    """With zeros, with subnormals, with both and with neither."""
    words = {"none": [0x3F80, 0x80], "zeros": [0, 0x8000], "few": [1, 0x807F], "all": [0, 0x7F]}
    for name, held in words.items():
        values = np.array(held, np.uint16).view(ml_dtypes.bfloat16)
        assert cast(values, DType.BF16, DType.F32)[1].subnormal == {"few": 2, "all": 1}.get(name, 0)


def test_complex_losses_stay():
    held = np.array([1e300, 1e-300, 1 + 1e300j], np.complex128)
    assert cast(held, DType.C128, DType.C64)[1] == CastCounts(3, 2, 1)
    assert DType.C64.kind is Kind.COMPLEX
