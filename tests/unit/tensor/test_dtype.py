"""The dtype table: tags lead back to the dtype they came from."""

import ml_dtypes
import numpy as np
import pytest

from ruda.errors import DTypeError
from ruda.tensor import DType, Kind

TAGS = [
    pytest.param("safetensors", DType.from_safetensors, id="safetensors"),
    pytest.param("torch", DType.from_torch, id="torch"),
    pytest.param("torch_storage", DType.from_torch_storage, id="torch storage"),
    pytest.param("rudapack", DType.from_rudapack, id="rudapack"),
]


@pytest.mark.parametrize(("field", "back"), TAGS)
def test_tags_lead_back(field, back):
    for dtype in DType:
        tag = getattr(dtype, field)
        assert tag is None or back(tag) is dtype


@pytest.mark.parametrize("dtype", list(DType), ids=str)
def test_label_parses(dtype):
    assert DType.parse(dtype.label) is dtype


def test_numpy_leads_back_in_any_byte_order():
    for dtype in DType:
        if dtype.value.numpy is not None and dtype not in (DType.FLEX32, DType.BOOL_U32):
            assert DType.from_numpy(dtype.numpy) is dtype
            assert DType.from_numpy(dtype.numpy.newbyteorder(">")) is dtype


UNKNOWN = [
    pytest.param(lambda: DType.parse("f33"), "no dtype is called 'f33'; known: .*bf16", id="label"),
    pytest.param(lambda: DType.from_numpy("U3"), "NumPy dtype <U3 has no Ruda dtype", id="text"),
    pytest.param(lambda: DType.C32.numpy, "c32 has no NumPy type", id="complex halves"),
    pytest.param(lambda: DType.F4_E2M1.itemsize, "f4_e2m1 has no whole number", id="packed"),
    pytest.param(lambda: DType.F4_E2M1.nbytes(3), "3 elements of f4_e2m1", id="half a byte"),
    pytest.param(lambda: DType.QFLOAT.nbytes(3), "depends on its scheme", id="quantized"),
    pytest.param(lambda: DType.I8.smallest_normal, "i8 is not a float", id="normal of integer"),
]


@pytest.mark.parametrize(("call", "message"), UNKNOWN)
def test_refusals(call, message):
    with pytest.raises(DTypeError, match=message):
        call()


NORMALS = [
    pytest.param(DType.F16, 2.0**-14, id="f16"),
    pytest.param(DType.BF16, 2.0**-126, id="bf16"),
    pytest.param(DType.F32, 2.0**-126, id="f32"),
    pytest.param(DType.F64, 2.0**-1022, id="f64"),
    pytest.param(DType.F8_E4M3FN, 2.0**-6, id="e4m3fn"),
    pytest.param(DType.F8_E5M2, 2.0**-14, id="e5m2"),
]


@pytest.mark.parametrize(("dtype", "value"), NORMALS)
def test_smallest_normal(dtype, value):
    assert dtype.smallest_normal == value


def test_carriers_hold_whole_items():
    assert DType.BF16.carrier == np.dtype(ml_dtypes.bfloat16)
    for dtype in DType:
        if dtype.kind not in (Kind.PACKED, Kind.QUANTIZED):
            assert dtype.carrier.itemsize == dtype.itemsize
            assert dtype.nbytes(3) == 3 * dtype.itemsize


SORTS = [
    pytest.param(DType.BF16, True, False, id="float"),
    pytest.param(DType.BOOL_U32, True, False, id="bool"),
    pytest.param(DType.C64, False, False, id="complex"),
    pytest.param(DType.C32, False, True, id="complex halves"),
    pytest.param(DType.F4_E2M1, False, True, id="packed"),
    pytest.param(DType.QFLOAT, False, True, id="quantized"),
]


@pytest.mark.parametrize(("dtype", "ordered", "raw"), SORTS)
def test_what_can_be_done_with_values(dtype, ordered, raw):
    assert (dtype.is_ordered, dtype.is_raw) == (ordered, raw)
