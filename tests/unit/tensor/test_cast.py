"""Casts: rounding, clipping, and what is counted on the way."""

import ml_dtypes
import numpy as np
import pytest

from ruda.errors import DTypeError
from ruda.progress import Cancelled
from ruda.tensor import CastCounts, DType, Kind, cast

F32, F16, BF16, F64 = DType.F32, DType.F16, DType.BF16, DType.F64
NUMERIC = [d for d in DType if d.value.numpy is not None]
INF, NAN = np.inf, np.nan


def run(values, source, target):
    array, counts = cast(np.array(values, source.carrier), source, target)
    assert array.dtype == target.carrier
    return array, counts


COUNTED = [
    pytest.param(
        [65504, 65519, 65520, -7e4, INF, NAN], F32, F16,
        [65504, 65504, INF, -INF, INF, NAN], CastCounts(6, overflow=2), id="f16 overflow",
    ),
    pytest.param(
        [2.0**-14, 2.0**-15, 2.0**-25, 2.0**-24, 0.0], F32, F16,
        [2.0**-14, 2.0**-15, 0, 2.0**-24, 0], CastCounts(5, underflow=1, subnormal=2),
        id="f16 underflow",
    ),
    pytest.param(
        [3.4e38, 2.0**-130, 1.00390625], F32, BF16,
        [INF, 2.0**-130, 1.0], CastCounts(3, overflow=1, subnormal=1), id="bf16",
    ),
    pytest.param(
        [1e39, 1e-50, 1.5], F64, F32, [INF, 0, 1.5], CastCounts(3, 1, 1), id="f64 to f32"
    ),
    pytest.param(
        [1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-8], F64, BF16,
        [1.0078125, 1.0], CastCounts(2), id="f64 to bf16 rounds once",
    ),
    pytest.param(
        [2**31 + 2**23 + 1, 2**62 + 2**54 + 1], DType.I64, BF16,
        [2.0**31 + 2**24, 2.0**62 + 2**55], CastCounts(2), id="i64 to bf16 rounds once",
    ),
    pytest.param(
        [448, 500, INF, 2.0**-10], F32, DType.F8_E4M3FN,
        [448, NAN, NAN, 0], CastCounts(4, overflow=2, underflow=1), id="e4m3fn has no Inf",
    ),
    pytest.param(
        [57344, 1e5, INF, 2.0**-16], F32, DType.F8_E5M2,
        [57344, INF, INF, 2.0**-16], CastCounts(4, overflow=1, subnormal=1), id="e5m2",
    ),
    pytest.param(
        [0, 2, -2], F32, DType.F8_E8M0, [NAN, 2, NAN], CastCounts(3, overflow=2),
        id="e8m0 has neither zero nor sign",
    ),
    pytest.param(
        [300, -1, 2.7, -0.5, NAN, INF], F32, DType.U8,
        [255, 0, 2, 0, 0, 255], CastCounts(6, overflow=4, underflow=1), id="float to u8",
    ),
    pytest.param(
        [2.0**63, -(2.0**63), 1e300], F64, DType.I64,
        [2**63 - 1, -(2**63), 2**63 - 1], CastCounts(3, overflow=2), id="float to i64",
    ),
    pytest.param(
        [2.0**64, -1.0, 2.0**63], F64, DType.U64,
        [2**64 - 1, 0, 2**63], CastCounts(3, overflow=2), id="float to u64",
    ),
    pytest.param(
        [300, -300, 5], DType.I32, DType.I8, [127, -128, 5], CastCounts(3, 2), id="i32 to i8"
    ),
    pytest.param(
        [-1, 7], DType.I64, DType.U64, [0, 7], CastCounts(2, 1), id="negative to unsigned"
    ),
    pytest.param(
        [2**64 - 1, 1], DType.U64, DType.I64, [2**63 - 1, 1], CastCounts(2, 1), id="u64 to i64"
    ),
    pytest.param(
        [2**63], DType.U64, BF16, [2.0**63], CastCounts(1), id="u64 to bf16"
    ),
    pytest.param([0, 1, NAN, -0.0], F16, DType.BOOL, [0, 1, 1, 0], CastCounts(4), id="to bool"),
    pytest.param([0, 7], DType.BOOL_U32, DType.I8, [0, 1], CastCounts(2), id="wide bool"),
    pytest.param([0, 7], DType.I8, DType.BOOL_U32, [0, 1], CastCounts(2), id="to wide bool"),
    pytest.param([True, False], DType.BOOL, F16, [1, 0], CastCounts(2), id="from bool"),
    pytest.param(
        [1e300, 1e-300, 1 + 2j], DType.C128, DType.C64,
        [INF, 0, 1 + 2j], CastCounts(3, 1, 1), id="complex",
    ),
    pytest.param([1.5], BF16, DType.C64, [1.5], CastCounts(1), id="real to complex"),
    pytest.param([2.0**-24], F16, F32, [2.0**-24], CastCounts(1), id="f16 to f32"),
    pytest.param([2.0**-130], BF16, F32, [2.0**-130], CastCounts(1, subnormal=1), id="bf16 to f32"),
    pytest.param([1e5], BF16, F16, [INF], CastCounts(1, 1), id="bf16 to f16"),
]  # fmt: skip


@pytest.mark.parametrize(("values", "source", "target", "expected", "counts"), COUNTED)
def test_values_and_counts(values, source, target, expected, counts):
    array, found = run(values, source, target)
    wanted = np.array(expected, np.complex128 if target.kind is Kind.COMPLEX else None)
    got = array if array.dtype.kind in "iubc" else array.astype(np.float64)
    np.testing.assert_array_equal(got, wanted)
    assert found == counts


@pytest.mark.parametrize("source", NUMERIC, ids=str)
@pytest.mark.parametrize("target", NUMERIC, ids=str)
def test_every_pair(source, target):
    ones = np.ones((2, 3), source.carrier)
    if source.kind is Kind.COMPLEX and target.kind not in (Kind.COMPLEX, Kind.BOOL):
        if target is DType.BOOL_U32:
            return
        with pytest.raises(DTypeError, match="the imaginary part would be lost"):
            cast(ones, source, target)
        return
    array, counts = cast(ones, source, target)
    assert array.dtype == target.carrier
    np.testing.assert_array_equal(array.astype(np.complex64).real, np.ones((2, 3)))
    assert counts == CastCounts(6)
    assert counts.clean


REFUSED = [
    pytest.param(DType.QFLOAT, F32, "u1", r"cannot cast qfloat to f32: qfloat is stored", id="q"),
    pytest.param(F32, DType.F4_E2M1, "f4", "f4_e2m1 is stored as raw bits", id="packed"),
    pytest.param(F32, DType.C32, "f4", "c32 is stored as raw bits", id="complex halves"),
    pytest.param(F32, F16, "f8", "cannot cast: expected f32 as float32, got float64", id="array"),
]


@pytest.mark.parametrize(("source", "target", "held", "message"), REFUSED)
def test_refused(source, target, held, message):
    with pytest.raises(DTypeError, match=message):
        cast(np.zeros(2, held), source, target)


def test_same_values_are_not_copied():
    array = np.ones(3, np.float32)
    assert cast(array, F32, F32)[0] is array
    assert cast(array, F32, DType.FLEX32)[0] is array


def test_layouts():
    strided = np.arange(12, dtype=np.float32).reshape(3, 4).T
    np.testing.assert_array_equal(cast(strided, F32, F16)[0], strided.astype(np.float16))
    foreign = strided.astype(">f4")
    np.testing.assert_array_equal(cast(foreign, F32, BF16)[0], strided.astype(ml_dtypes.bfloat16))
    assert cast(foreign, F32, F32)[0].dtype.isnative
    scalar, counts = cast(np.array(1.5, np.float16), F16, F32)
    assert (scalar.shape, counts.numel) == ((), 1)
    assert cast(np.zeros((0, 3), np.float32), F32, F16)[0].shape == (0, 3)


def test_counts_add_up():
    assert CastCounts(1, 2, 3, 4) + CastCounts(10, 20, 30, 40) == CastCounts(11, 22, 33, 44)
    assert not CastCounts(1, underflow=1).clean


@pytest.mark.parametrize(
    ("source", "target", "size"),
    [
        pytest.param(F32, F16, 24, id="by a kernel"),
        pytest.param(F64, F16, 40, id="in blocks"),
        pytest.param(BF16, F16, 16, id="by two kernels"),
        pytest.param(BF16, F32, 24, id="with subnormals"),
        pytest.param(F32, DType.I8, 20, id="to integers"),
    ],
)
def test_stops_between_pieces(source, target, size, monkeypatch):
    class Stop:
        seen = 0

        def report(self, progress):
            self.seen = progress.done

        def check(self):
            if self.seen:
                raise Cancelled("stopped")

    monkeypatch.setattr("ruda._kernels.threads.PIECE_BYTES", size)
    monkeypatch.setattr("ruda._kernels.threads._count", 1)
    monitor = Stop()
    with pytest.raises(Cancelled, match="stopped"):
        cast(np.ones(10, source.numpy), source, target, monitor=monitor)
    assert monitor.seen == 4


def test_subnormal_bf16_are_counted_over_blocks():
    words = np.arange(1 << 16, dtype=np.uint16).repeat(3)  # every bfloat16, in three blocks
    _, counts = cast(words.view(DType.BF16.numpy), DType.BF16, F32)
    assert counts == CastCounts(3 << 16, subnormal=3 * 2 * 127)
