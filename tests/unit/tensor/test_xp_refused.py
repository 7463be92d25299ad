"""What the Array API namespace refuses, with its sentence."""

import math

import pytest

import ruda.tensor.xp as xp
from ruda.errors import DTypeError, IndexRangeError, OperationError, SettingError, ShapeError

INF, NAN = math.inf, math.nan

REFUSED = [
    (lambda: xp.asarray(1, device="gpu"), SettingError, "asarray: the only device is Cpu"),
    (lambda: xp.asarray([1], copy=False), SettingError, "asarray: only tensors can be taken"),
    (
        lambda: xp.asarray(xp.ones(1), dtype=xp.int8, copy=False),
        SettingError,
        "f32 cannot become i8 without a copy",
    ),
    (lambda: xp.asarray([300], dtype=xp.int8), DTypeError, "do not fit i8"),
    (lambda: xp.asarray([-1, 1 << 63]), DTypeError, "no integer dtype holds both -1 and"),
    (lambda: xp.asarray([0.5, 1 << 63], dtype=xp.uint64), DTypeError, "1 of 2 values of f64 are"),
    (lambda: xp.asarray([1, 1e300], dtype=xp.int64), DTypeError, "1 of 2 values of f64 do not fit"),
    (lambda: xp.arange(3, dtype="i4"), DTypeError, "arange: 'i4' is no dtype"),
    (lambda: xp.linspace(0, 1, 2, dtype="f4"), DTypeError, "linspace: 'f4' is no dtype"),
    (lambda: xp.isdtype("int8", xp.int8), DTypeError, "isdtype: 'int8' is no dtype"),
    (lambda: xp.result_type("int8"), DTypeError, "result_type: str is not a number or a tensor"),
    (lambda: xp.result_type(1, None), DTypeError, "result_type: NoneType is not a number"),
    (lambda: xp.linalg.pinv(xp.ones((2, 2)), rtol="1"), DTypeError, "pinv: rtol is a real number"),
    (lambda: xp.arange(INF), SettingError, "arange: inf is not finite"),
    (lambda: xp.arange(2j), DTypeError, "arange: 2j is no real number"),
    (lambda: xp.arange(10**20), SettingError, "has too many values"),
    (lambda: xp.arange(0.0, 1e300), SettingError, "are too many values"),
    (lambda: xp.arange(0.5, 2, dtype=xp.int8), DTypeError, "2 of 2 values of f64 are not whole"),
    (lambda: xp.linspace(0, "1", 2), DTypeError, "linspace: '1' is no number"),
    (lambda: xp.linspace(0, 1, 2.0), SettingError, "linspace: a number of values is an integer"),
    (lambda: xp.zeros((2, -1)), SettingError, r"zeros: shape \[2, -1\] has a negative size"),
    (lambda: xp.ones("a"), SettingError, "ones: a shape is made of integers, got 'a'"),
    (lambda: xp.eye(2, -1), SettingError, r"eye: shape \[2, -1\] has a negative size"),
    (lambda: xp.full(3, xp.ones(3)), ShapeError, r"full: shape \[3\] is no single value"),
    (lambda: xp.ones_like(1), DTypeError, "ones_like: int is not a tensor"),
    (lambda: xp.from_dlpack([1]), DTypeError, "from_dlpack: list does not speak DLPack"),
    (lambda: xp.astype(xp.ones(1), "f4"), DTypeError, "astype: 'f4' is no dtype"),
    (lambda: xp.argmax(xp.ones(2), axis=(0,)), DTypeError, "argmax: an axis is one integer"),
    (
        lambda: xp.where(xp.asarray([True] * 3), xp.ones(2), 0.0),
        ShapeError,
        r"where: shapes \[3\] and \[2\] do not broadcast",
    ),
    (
        lambda: xp.searchsorted(xp.asarray([1, 2]), 1.5),
        DTypeError,
        "searchsorted: 1.5 is no value of i64",
    ),
    (
        lambda: xp.searchsorted(xp.ones(2), xp.ones(1), sorter=xp.asarray([0, 2])),
        IndexRangeError,
        "searchsorted: index 2 is outside",
    ),
    (
        lambda: xp.searchsorted(xp.ones(2), xp.ones(1), sorter=xp.asarray([0])),
        ShapeError,
        r"searchsorted: a sorter of shape \[1\]",
    ),
    (
        lambda: xp.linalg.matrix_norm(xp.ones((3, 0)), ord=-2),
        ShapeError,
        r"matrix_norm: shape \[3, 0\]",
    ),
    (lambda: xp.linalg.vector_norm(xp.ones(2), ord="fro"), SettingError, "an order is a number"),
    (lambda: xp.linalg.pinv(xp.eye(2, dtype=xp.bfloat16)), DTypeError, "pinv: bf16 is too coarse"),
    (
        lambda: xp.linalg.matrix_rank(xp.ones((2, 2, 2)), rtol=xp.ones(3)),
        ShapeError,
        "matrix_rank: shapes",
    ),
    (lambda: xp.fft.irfft(xp.ones(1)), ShapeError, r"irfft: shape \[1\]: Invalid number of FFT"),
    (lambda: xp.fft.fftn(xp.asarray(1.0)), ShapeError, "fftn: no axis"),
    (lambda: xp.fft.fftn(xp.ones(2), s=(2, 2)), ShapeError, "fftn: 2 sizes for 1 axes"),
    (lambda: xp.fft.fftfreq(0), SettingError, "fftfreq: needs at least one sample"),
    (lambda: xp.fft.rfftfreq(2, d=0), SettingError, "rfftfreq: needs at least one sample"),
    (lambda: xp.sum([1]), DTypeError, "sum: list is not a tensor; make one with xp.asarray"),
    (lambda: xp.add(1, 2), DTypeError, "add: needs a tensor"),
    (lambda: xp.arange(1, 2, 0), SettingError, "arange: a step of 0 never arrives"),
    (lambda: xp.arange(300, dtype=xp.int8), DTypeError, "arange: 299 does not fit i8"),
    (lambda: xp.linspace(0, 1, -1), SettingError, "linspace: -1 values"),
    (lambda: xp.max(xp.asarray([1j])), DTypeError, "max: c64 numbers have no order"),
    (lambda: xp.imag(xp.ones(1)), DTypeError, "imag: f32 numbers have no imaginary part"),
    (
        lambda: xp.astype(xp.asarray([1j]), xp.float32),
        DTypeError,
        "the imaginary part would be lost",
    ),
    (
        lambda: xp.take(xp.ones(3), xp.asarray([3])),
        IndexRangeError,
        "take: index 3 is outside an axis",
    ),
    (lambda: xp.ones(3)[xp.asarray([-4])], IndexRangeError, "index -4 is out of bounds"),
    (lambda: xp.ones(3)[xp.asarray([True])], IndexRangeError, "index: shape"),
    (lambda: xp.sum(xp.ones((2, 2)), axis=(0, -2)), ShapeError, "name one axis twice"),
    (lambda: xp.linalg.inv(xp.zeros((2, 2))), OperationError, "inv: Singular matrix"),
    (lambda: xp.linalg.inv(xp.ones((2, 3))), ShapeError, "inv: needs square matrices"),
    (lambda: xp.linalg.cholesky(-xp.eye(2)), OperationError, "cholesky: Matrix is not positive"),
    (lambda: xp.linalg.qr(xp.eye(2), mode="r"), SettingError, "qr: mode is reduced or complete"),
    (lambda: xp.linalg.solve(xp.eye(2), xp.ones(3)), ShapeError, "solve: shapes"),
    (
        lambda: xp.linalg.det(xp.eye(2, dtype=xp.float16)),
        DTypeError,
        "det: f16 is too coarse to solve in",
    ),
    (lambda: xp.fft.fft(xp.ones(4), norm="x"), SettingError, "fft: norm is one of backward"),
    (lambda: xp.fft.rfft(xp.asarray([1j])), DTypeError, "rfft: needs a float dtype, got c64"),
    (lambda: xp.floor_divide(xp.asarray([1]), 0), OperationError, "an integer is divided by 0"),
    (lambda: xp.pow(xp.asarray([2]), -1), OperationError, "pow: an integer to a negative power"),
    (
        lambda: xp.bitwise_left_shift(xp.asarray([1]), xp.asarray([-1])),
        OperationError,
        "a shift by a negative number",
    ),
    (lambda: xp.isdtype(xp.int8, "number"), SettingError, "isdtype: no kind is called 'number'"),
    (lambda: xp.finfo(xp.int8), DTypeError, "finfo: i8 is not a float dtype"),
    (lambda: xp.iinfo(xp.float32), DTypeError, "iinfo: f32 is not an integer dtype"),
    (lambda: xp.clip(xp.asarray([1]), 0.5), DTypeError, "clip: a bound of float does not fit i64"),
    (lambda: xp.namespace("2030.01"), SettingError, "no array API version '2030.01'"),
    (lambda: xp.result_type(xp.uint64, xp.int64), DTypeError, "no integer holds both u64 and i64"),
]


@pytest.mark.parametrize(("compute", "error", "message"), REFUSED)
def test_refused(compute, error, message):
    with pytest.raises(error, match=message):
        compute()
