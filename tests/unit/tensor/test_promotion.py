"""The promotion table and weak Python scalars."""

import numpy as np
import pytest

from ruda.errors import DTypeError
from ruda.tensor import DType, Tensor, is_computable, promote

F16, BF16, F32, F64 = DType.F16, DType.BF16, DType.F32, DType.F64
COMPUTABLE = [d for d in DType if is_computable(d)]

PAIRS = [
    pytest.param(F32, DType.I64, F32, id="float beats any integer"),
    pytest.param(F16, DType.I64, F16, id="half with i64 stays half"),
    pytest.param(BF16, DType.U8, BF16, id="bf16 with u8"),
    pytest.param(F16, BF16, F32, id="the two halves"),
    pytest.param(BF16, F32, F32, id="half and single"),
    pytest.param(F32, F64, F64, id="single and double"),
    pytest.param(DType.C64, F32, DType.C64, id="complex and single"),
    pytest.param(DType.C64, F64, DType.C128, id="complex and double"),
    pytest.param(DType.C64, DType.I64, DType.C64, id="complex and integer"),
    pytest.param(DType.C128, F16, DType.C128, id="wide complex and half"),
    pytest.param(DType.BOOL, DType.U8, DType.U8, id="bool and integer"),
    pytest.param(DType.BOOL, F16, F16, id="bool and float"),
    pytest.param(DType.I8, DType.I32, DType.I32, id="signed widths"),
    pytest.param(DType.U8, DType.U64, DType.U64, id="unsigned widths"),
    pytest.param(DType.U8, DType.I8, DType.I16, id="mixed signs widen"),
    pytest.param(DType.U8, DType.I32, DType.I32, id="mixed signs that fit"),
    pytest.param(DType.U32, DType.I32, DType.I64, id="u32 and i32"),
]


@pytest.mark.parametrize(("a", "b", "expected"), PAIRS)
def test_promote(a, b, expected):
    assert promote("add", a, b) is promote("add", b, a) is expected


def test_table_is_symmetric_and_idempotent():
    for a in COMPUTABLE:
        assert promote("add", a, a) is a
        for b in COMPUTABLE:
            if {a, b} & {DType.U64} and {a, b} & {DType.I8, DType.I16, DType.I32, DType.I64}:
                continue
            assert promote("add", a, b) is promote("add", b, a)


def test_integers_follow_numpy():
    integers = [d for d in COMPUTABLE if d.is_integer]
    for a in integers:
        for b in integers:
            expected = np.promote_types(a.numpy, b.numpy)
            if expected.kind != "f":
                assert promote("add", a, b) is DType.from_numpy(expected)


REFUSED = [
    pytest.param(DType.U64, DType.I8, "add: no integer holds both u64 and i8", id="u64 and signed"),
    pytest.param(DType.F8_E5M2, F32, "add: f8_e5m2 is for storage only; cast it", id="fp8"),
    pytest.param(DType.C32, F32, "add: c32 is for storage only", id="complex halves"),
    pytest.param(F32, DType.QFLOAT, "add: qfloat is for storage only", id="quantized"),
]


@pytest.mark.parametrize(("a", "b", "message"), REFUSED)
def test_refused(a, b, message):
    with pytest.raises(DTypeError, match=message):
        promote("add", a, b)


SCALARS = [
    pytest.param(DType.BF16, 2.5, DType.BF16, id="bf16 and float"),
    pytest.param(DType.F16, 2, DType.F16, id="f16 and int"),
    pytest.param(DType.I8, 2, DType.I8, id="i8 and int"),
    pytest.param(DType.I64, 2.5, DType.F32, id="integer and float"),
    pytest.param(DType.BOOL, 2, DType.I32, id="bool and int"),
    pytest.param(DType.F16, float("inf"), DType.F16, id="infinity fits"),
]


@pytest.mark.parametrize(("dtype", "scalar", "expected"), SCALARS)
def test_scalars_are_weak(dtype, scalar, expected):
    tensor = Tensor.ones((2,), dtype=dtype)
    assert (tensor * scalar).dtype is (scalar * tensor).dtype is expected


BAD_SCALARS = [
    pytest.param(DType.U8, -1, r"multiply: -1 does not fit u8 \(0 to 255\)", id="negative"),
    pytest.param(DType.I8, 128, r"multiply: 128 does not fit i8", id="too large"),
    pytest.param(DType.F16, 1e6, r"multiply: 1000000.0 does not fit f16", id="half overflow"),
    pytest.param(DType.F32, "1", r"multiply: str is not a tensor or a Python", id="text"),
    pytest.param(DType.F32, np.ones(2), r"multiply: ndarray is not a tensor", id="array"),
]


@pytest.mark.parametrize(("dtype", "scalar", "message"), BAD_SCALARS)
def test_scalars_that_do_not_fit(dtype, scalar, message):
    with pytest.raises(DTypeError, match=message):
        Tensor.ones((2,), dtype=dtype) * scalar
