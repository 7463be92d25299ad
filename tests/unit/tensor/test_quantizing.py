"""Quantized tensors: ranges, scales, codes and bytes, by hand, by plain loops, by the reader."""

import math
import re
import struct
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ruda.errors import DTypeError, OperationError, SettingError, ShapeError
from ruda.store import TensorSnapshot, dequantize
from ruda.tensor import (
    Calibration,
    CalibrationRange,
    DType,
    QuantizedTensor,
    QuantParams,
    QuantScheme,
    Tensor,
    compute_q_params,
    compute_range,
)

ENDS = {"Q8F": (-128, 127), "Q8S": (-127, 127), "Q4F": (-8, 7), "Q4S": (-7, 7), "Q2F": (-2, 1)}
ENDS |= {"Q2S": (-1, 1)}
FLOATS = {"E4M3": ml_dtypes.float8_e4m3fn, "E5M2": ml_dtypes.float8_e5m2}
FLOATS |= {"E2M1": ml_dtypes.float4_e2m1fn}
STORES = {"E4M3": "Native", "E5M2": "Native", "E2M1": "PackedNative"}
EIGHT = QuantScheme("Q8S", store="Native")
ROW = [-1.8, -1.0, 0.0, 0.5]


def tensor(values, dtype=DType.F32):
    return Tensor.from_data(np.asarray(values, np.float64), dtype=dtype)


def params(*scales, top=None):
    return QuantParams(tensor(scales), top)


BY_HAND = [
    ("Q8S", [-127, -71, 0, 35], 1.8 / 127),
    ("Q8F", [-128, -71, 0, 35], 1.8 / 127.5),
    ("Q4S", [-7, -4, 0, 2], 1.8 / 7),
    ("Q4F", [-8, -4, 0, 2], 1.8 / 7.5),
    ("Q2S", [-1, -1, 0, 0], 1.8),
    ("Q2F", [-2, -1, 0, 0], 1.2),
    ("E4M3", [0xFE, 0xF8, 0, 0x70], 1.8 / 448),
    ("E5M2", [0xFB, 0xF8, 0, 0x74], 1.8 / 57344),
    ("E2M1", [0xF, 0xD, 0, 0x3], 0.3),
]


@pytest.mark.parametrize(("value", "codes", "scale"), BY_HAND)
def test_codes_by_hand(value, codes, scale):
    scheme = QuantScheme(value, store=STORES.get(value, "Native"))
    made = tensor(ROW).quantize_dynamic(scheme)
    assert made.codes.tolist() == codes
    assert made.params.scales.tolist() == [pytest.approx(scale, rel=1e-6)]
    assert (made.dtype, made.shape, made.numel) == (DType.QFLOAT, (4,), 4)


def test_halves_go_to_even_and_the_rest_to_the_last_code():
    given = tensor([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, -126.5, -127.5, -128.5, 1e9, -1e9, 1e-9])
    full = given.quantize(QuantScheme("Q8F"), params(1)).codes.tolist()
    assert full == [0, 2, 2, 0, -2, -2, -126, -128, -128, 127, -128, 0]
    even = given.quantize(EIGHT, params(1)).codes.tolist()
    assert even == [0, 2, 2, 0, -2, -2, -126, -127, -127, 127, -127, 0]
    four = tensor([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, -9.0, 9.0])
    found = four.quantize(QuantScheme("E2M1", store="PackedNative"), params(1)).dequantize()
    assert found.tolist() == [0, 1, 1, 2, 2, 4, 4, -6, 6]


def test_ranges_by_hand():
    rows = tensor([[-1.8, -1.0, 0.0, 0.5], [-0.9, -0.3, 0.0, 0.6]])
    whole = compute_range(QuantScheme(), rows)
    assert (whole.min.tolist(), whole.max.tolist()) == ([np.float32(-1.8)], [np.float32(0.6)])
    each = compute_range(QuantScheme(block=(4,)), rows)
    assert each.min.tolist() == np.float32([[-1.8], [-0.9]]).tolist()
    assert each.max.tolist() == np.float32([[0.5], [0.6]]).tolist()
    mean = compute_range(QuantScheme("Q2S", block=(4,)), rows, Calibration.ABS_MEAN)
    np.testing.assert_allclose(mean.max.numpy(), [[0.825], [0.45]], rtol=1e-6)
    assert (mean.min.numpy() == -mean.max.numpy()).all()
    # A block is a rectangle, not a run of values.
    square = compute_range(QuantScheme(block=(2, 2)), rows)
    assert square.max.tolist() == np.float32([[-0.3, 0.6]]).tolist()


def test_bitnet_codes_of_the_mean():
    weights = tensor([-0.9, -0.3, 0.0, 0.6])
    scheme = QuantScheme("Q2S")
    found = compute_q_params(scheme, compute_range(scheme, weights, Calibration.ABS_MEAN))
    assert weights.quantize(scheme, found).codes.tolist() == [-1, -1, 0, 1]


@st.composite
def cases(draw):
    """Values, a scheme that fits their shape, and where each value's scale is."""
    value = draw(st.sampled_from([*ENDS, *FLOATS]))
    block = draw(st.none() | st.lists(st.integers(1, 3), min_size=1, max_size=3).map(tuple))
    whole = len(block or ())
    front = draw(st.lists(st.integers(1, 3), max_size=2))
    back = [b * draw(st.integers(1, 3)) for b in block or ()]
    shape = (*front, *back)
    scale = draw(st.sampled_from(["F32", "F16", "BF16", "UE8M0", "UE4M3"]))
    two = block is not None and scale in ("F16", "UE4M3") and draw(st.booleans())
    integers = draw(st.sampled_from(["Native", "PackedU32"]))
    scheme = QuantScheme(value, scale, block, two, STORES.get(value, integers))
    finite = st.floats(-300, 300, width=32)
    values = draw(arrays(np.float32, shape, elements=finite))
    full = (1,) * (len(shape) - whole) + (block or ())
    return values, scheme, full


def nearest(quotient, low, high):
    """The code of a quotient that f32 holds: Python rounds halves to even as well."""
    return min(max(round(Fraction(float(quotient))), low), high)


@given(cases())
def test_codes_are_those_of_plain_loops(case):
    values, scheme, full = case
    found = Tensor(values).quantize_dynamic(scheme)
    scales, top = found.params.scales.numpy(), found.params.global_scale
    back = found.dequantize().numpy()
    low, high = ENDS.get(scheme.value, (None, None))
    for place in np.ndindex(*values.shape):
        at = tuple(i // b for i, b in zip(place, full, strict=True)) if scheme.block else (0,)
        factor = float(scales[at]) * (top or 1.0)
        quotient = values[place] / np.float32(factor)
        code = found.codes.numpy()[place]
        if scheme.is_float:
            ends = float(ml_dtypes.finfo(FLOATS[scheme.value]).max)
            number = np.float32(np.clip(quotient, -ends, ends)).astype(FLOATS[scheme.value])
            assert code == number.view(np.uint8)
        else:
            number = nearest(quotient, low, high)
            assert code == number
        assert back[place] == np.float32(float(number) * factor)
        if not scheme.is_float:
            assert abs(float(back[place]) - float(values[place])) <= factor * 0.5001


@given(cases())
def test_scales_cover_the_largest_value_and_are_of_their_kind(case):
    values, scheme, full = case
    kept = Tensor(values).quantize_dynamic(scheme).params
    stored = kept.scales.numpy()
    assert (stored.astype(scheme.scale_dtype.numpy).astype(np.float32) == stored).all()
    half = (scheme.high - scheme.low) / 2
    reach = stored.astype(np.float64) * (kept.global_scale or 1.0) * half
    wide = np.abs(values)
    if scheme.block is None:
        most = np.array([wide.max()])
    else:
        for axis, size in enumerate(full):
            cut = (*wide.shape[:axis], wide.shape[axis] // size, size, *wide.shape[axis + 1 :])
            wide = wide.reshape(cut).max(axis=axis + 1)
        most = wide
    assert most.shape == stored.shape
    assert (reach >= most * (1 - 1e-6)).all()
    if scheme.scale == "F32":
        assert (reach <= np.maximum(most * (1 + 1e-6), 1e-30)).all()


@given(cases())
def test_bytes_come_back_and_are_what_a_file_holds(case):
    values, scheme, _ = case
    made = Tensor(values).quantize_dynamic(scheme)
    raw = made.to_bytes()
    assert len(raw) == made.nbytes
    again = Tensor.from_quantized_bytes(raw, values.shape, scheme)
    assert np.array_equal(again.codes.numpy(), made.codes.numpy())
    assert np.array_equal(again.params.scales.numpy(), made.params.scales.numpy())
    assert again.params.global_scale == made.params.global_scale
    if any(size > 1 for size in scheme.sizes(values.ndim)[:-1]):
        return  # rectangles: a file does not tell which version of Burn wrote them
    np.testing.assert_array_equal(read_by_store(raw, values.shape, scheme), made.dequantize())


def read_by_store(raw, shape, scheme):
    """What the reader of Rudapack files makes of these bytes."""
    store = scheme.store if scheme.store == "Native" else {scheme.store: 0}
    size = [*(scheme.block or ()), 1, 1, 1, 1, 1][:5]
    block = {"size": {"storage": size, "len": len(scheme.block or ())}, "dtype": scheme.scale}
    spelled = {"value": scheme.value, "store": store, "mode": "Symmetric"}
    spelled["tensor"] = "F32" if scheme.has_global else None if scheme.block else scheme.scale
    spelled["block"] = block if scheme.block else None
    held = TensorSnapshot.from_array("w", np.frombuffer(raw, np.uint8), dtype=DType.QFLOAT)
    fields = {"key": "w", "dtype": DType.QFLOAT, "shape": shape, "nbytes": len(raw)}
    return dequantize(TensorSnapshot(source=held.source, scheme=spelled, **fields)).read()


def test_bytes_by_hand():
    four = QuantScheme("Q4S", "F16", block=(1, 3))
    made = tensor([[7, -7, 1], [3.5, 0, -0.5]]).quantize_dynamic(four)
    assert made.codes.tolist() == [[7, -7, 1], [7, 0, -1]]
    assert made.to_bytes().hex() == "97010000070f0000003c0038"
    two = tensor([1, -2, 0, 1, -1]).quantize(QuantScheme("Q2F"), params(1))
    assert two.to_bytes().hex() == "490300000000803f"


@pytest.mark.parametrize("value", [*ENDS, *FLOATS])
@pytest.mark.parametrize("scale", ["F32", "F16", "BF16", "UE8M0", "UE4M3"])
def test_zeros_stay_zeros_under_a_scale_above_zero(value, scale):
    scheme = QuantScheme(value, scale, store=STORES.get(value, "Native"))
    made = Tensor.zeros([3, 2]).quantize_dynamic(scheme)
    assert made.params.scales.item() > 0
    assert made.dequantize().tolist() == [[0, 0]] * 3
    blocks = QuantScheme(value, "F16", (2,), True, STORES.get(value, "Native"))
    made = tensor([[0, 0], [0, 3]]).quantize_dynamic(blocks)
    assert made.dequantize().tolist()[0] == [0, 0]
    assert made.dequantize().tolist()[1][1] == pytest.approx(3, rel=0.35)


def test_the_largest_values_do_not_overflow():
    most = float(np.finfo(np.float32).max)
    made = tensor([most * 0.99, -most / 2, 0]).quantize_dynamic(EIGHT)
    assert made.codes.tolist() == [127, -64, 0]
    assert np.isfinite(made.dequantize().numpy()).all()
    for value in ["Q8F", "Q8S"]:
        with pytest.raises(OperationError, match="beyond f32, or 0; scale the values first"):
            tensor([most]).quantize_dynamic(QuantScheme(value))


@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16, DType.F64])
def test_other_floats_are_quantized_as_f32(dtype):
    values = tensor(ROW, dtype)
    made, same = values.quantize_dynamic(EIGHT), values.cast(DType.F32).quantize_dynamic(EIGHT)
    assert made.codes.tolist() == same.codes.tolist()
    assert made.params.scales.tolist() == same.params.scales.tolist()
    assert made.params.scales.dtype is DType.F32
    back = made.dequantize(dtype)
    assert back.dtype is dtype
    assert back.tolist() == made.dequantize().cast(dtype).tolist()


def test_scalars_views_and_large_tensors():
    one = tensor(3.0).quantize_dynamic(EIGHT)
    assert (one.shape, one.codes.item(), one.dequantize().item()) == ((), 127, 3.0)
    again = Tensor.from_quantized_bytes(one.to_bytes(), (), EIGHT)
    assert again.dequantize().item() == 3.0
    values = np.random.default_rng(1).normal(size=(300, 1024)).astype(np.float32)
    turned = Tensor(values).transpose()
    for value in ["Q8F", "E5M2"]:
        scheme = QuantScheme(value, block=(2, 4), store="Native")
        found = turned.quantize_dynamic(scheme)
        plain = Tensor(values.T.copy()).quantize_dynamic(scheme)
        assert np.array_equal(found.codes.numpy(), plain.codes.numpy())
    wide = Tensor(np.tile(values, (1, 2)).reshape(-1))
    found = wide.quantize_dynamic(QuantScheme("E4M3", store="Native"))
    scale = found.params.scales.numpy()[0]
    number = (wide.numpy() / scale).astype(ml_dtypes.float8_e4m3fn)
    assert np.array_equal(found.codes.numpy(), number.view(np.uint8))
    assert np.array_equal(found.dequantize().numpy(), number.astype(np.float32) * scale)


def test_no_values_have_no_range_but_take_given_scales():
    empty = Tensor.zeros([0, 4])
    with pytest.raises(ShapeError, match=r"compute_range: shape \[0, 4\] has no values"):
        empty.quantize_dynamic(EIGHT)
    for scheme in [EIGHT, QuantScheme("Q4S"), QuantScheme("E5M2", store="Native")]:
        made = empty.quantize(scheme, params(1))
        assert made.dequantize().shape == (0, 4)
        assert Tensor.from_quantized_bytes(made.to_bytes(), [0, 4], scheme).shape == (0, 4)


@pytest.mark.parametrize(
    ("scale", "given", "stored"),
    [
        ("F32", 1 / 3, float(np.float32(1 / 3))),
        ("F16", 1 / 3, 0.33349609375),
        ("F16", 1e-9, 2.0**-24),
        ("BF16", 1 / 3, 0.333984375),
        ("UE8M0", 0.5, 0.5),
        ("UE8M0", 0.51, 1.0),
        ("UE8M0", 1e-45, 2.0**-127),
        ("UE4M3", 1 / 3, 0.34375),
        ("UE4M3", 1e-9, 2.0**-9),
        ("UE4M3", 448, 448),
    ],
)
def test_scales_are_rounded_up(scale, given, stored):
    scheme = QuantScheme("Q8S", scale)
    assert tensor([0.0]).quantize(scheme, params(given)).params.scales.tolist() == [stored]


WRONG = [
    (lambda: QuantScheme("Q6F"), SettingError, "no value is called 'Q6F'; known: Q8F Q8S"),
    (lambda: QuantScheme(scale="F64"), SettingError, "no scale is called 'F64'"),
    (lambda: QuantScheme(store="U16"), SettingError, "no store is called 'U16'"),
    (lambda: QuantScheme(block=(0,)), SettingError, "sizes from 1 to 255, got (0,)"),
    (lambda: QuantScheme(block=()), SettingError, "1 to 5 sizes"),
    (lambda: QuantScheme(block=(256,)), SettingError, "sizes from 1 to 255"),
    (lambda: QuantScheme(block=(True,)), SettingError, "sizes from 1 to 255"),
    (lambda: QuantScheme(block=32), SettingError, "got 32"),
    (lambda: QuantScheme(has_global=True), SettingError, "over scales of blocks in F16 or UE4M3"),
    (lambda: QuantScheme("E4M3"), SettingError, "E4M3 is not stored as PackedU32"),
    (lambda: QuantScheme("Q4S", store="PackedNative"), SettingError, "not stored as PackedNative"),
    (lambda: QuantScheme("E2M1", store="Native"), SettingError, "E2M1 is stored as PackedNative"),
    (lambda: tensor(ROW).quantize_dynamic("Q8S"), SettingError, "str is no QuantScheme"),
    (lambda: tensor(ROW).quantize(EIGHT, 1.0), SettingError, "float is no QuantParams"),
    (lambda: compute_range(EIGHT, tensor(ROW), "mean"), SettingError, "is no Calibration"),
    (lambda: compute_range(EIGHT, np.zeros(3)), DTypeError, "ndarray is not a tensor"),
    (lambda: Tensor.zeros([4], dtype=DType.I32).quantize_dynamic(EIGHT), DTypeError, "got i32"),
    (
        lambda: Tensor.zeros([4], dtype=DType.F8_E5M2).quantize(EIGHT, params(1)),
        DTypeError,
        "f8_e5m2 is for storage only",
    ),
    (
        lambda: tensor([0, math.nan, math.inf]).quantize_dynamic(EIGHT),
        OperationError,
        "compute_range: 2 of 3 values are not finite in f32, the first at [1]",
    ),
    (
        lambda: tensor([[0, 1], [-math.inf, 0]]).quantize(EIGHT, params(1)),
        OperationError,
        "quantize: 1 of 4 values are not finite in f32, the first at [1, 0]",
    ),
    (
        lambda: tensor([math.nan]).quantize(QuantScheme("E5M2", store="Native"), params(1)),
        OperationError,
        "no code stands for them",
    ),
    (
        lambda: tensor([1e300], DType.F64).quantize_dynamic(EIGHT),
        OperationError,
        "not finite in f32",
    ),
    (
        lambda: Tensor.zeros([3, 5]).quantize_dynamic(QuantScheme(block=(4,))),
        ShapeError,
        "shape [3, 5] is no whole number of blocks of [4]: 5 on axis 1 is no multiple of 4",
    ),
    (
        lambda: Tensor.zeros([]).quantize_dynamic(QuantScheme(block=(4,))),
        ShapeError,
        "blocks of [4] have more axes than shape []",
    ),
    (
        lambda: Tensor.zeros([3]).quantize(EIGHT, params(1, 1)),
        ShapeError,
        "shape [3] needs scales of shape [1], got [2]",
    ),
    (lambda: tensor(ROW).quantize(EIGHT, params(-1)), OperationError, "not negative"),
    (lambda: tensor(ROW).quantize(EIGHT, params(math.nan)), OperationError, "finite and not"),
    (
        lambda: tensor([1e30]).quantize_dynamic(QuantScheme("Q8S", "F16")),
        OperationError,
        "is beyond F16; take a scheme with scales of F32",
    ),
    (
        lambda: tensor([1e30]).quantize_dynamic(QuantScheme("Q8S", "UE4M3")),
        OperationError,
        "is beyond UE4M3",
    ),
    (
        lambda: tensor(ROW).quantize(EIGHT, params(1, top=2.0)),
        OperationError,
        "the scheme has no global scale, got 2.0",
    ),
    (
        lambda: tensor(ROW).quantize(QuantScheme("Q8S", "F16", (4,), True), params(1)),
        OperationError,
        "the scheme has a global scale, got None",
    ),
    (
        lambda: tensor(ROW).quantize(QuantScheme("Q8S", "F16", (4,), True), params(1, top=0.0)),
        OperationError,
        "a global scale is above 0 and finite, got 0.0",
    ),
    (
        lambda: compute_range(
            QuantScheme("Q2S", "F16", (4,), True), tensor(ROW), Calibration.ABS_MEAN
        ),
        OperationError,
        "a mean has no global scale",
    ),
    (
        lambda: compute_q_params(EIGHT, CalibrationRange(tensor([0]), tensor([0, 1]))),
        ShapeError,
        "got [1] and [2]",
    ),
    (
        lambda: compute_q_params(EIGHT, CalibrationRange(tensor([0]), tensor([math.inf]))),
        OperationError,
        "ends of a range are finite",
    ),
    (
        lambda: tensor(ROW).quantize_dynamic(EIGHT).dequantize(DType.I32),
        DTypeError,
        "dequantize: needs a float dtype, got i32",
    ),
]


@pytest.mark.parametrize(("compute", "error", "message"), WRONG)
def test_refused(compute, error, message):
    with pytest.raises(error, match=re.escape(message)):
        compute()


def codes(*values, dtype=DType.I8):
    return Tensor.from_data(list(values), dtype=dtype)


ONE = struct.pack("<f", 1)
PARTS = [
    (lambda: QuantizedTensor(codes(1, dtype=DType.U8), params(1), EIGHT), DTypeError, "of i8"),
    (lambda: QuantizedTensor(codes(-128), params(1), EIGHT), OperationError, "-127 to 127"),
    (lambda: QuantizedTensor(codes(8), params(1), QuantScheme("Q4F")), OperationError, "got 8"),
    (
        lambda: QuantizedTensor(
            codes(16, dtype=DType.U8), params(1), QuantScheme("E2M1", store="PackedNative")
        ),
        OperationError,
        "codes of E2M1 are 0 to 15",
    ),
    (lambda: QuantizedTensor(codes(1), params(0), EIGHT), OperationError, "above 0 that F32 has"),
    (
        lambda: QuantizedTensor(codes(1), params(1 / 3), QuantScheme("Q8S", "F16")),
        OperationError,
        "that F16 has",
    ),
    (
        lambda: Tensor.from_quantized_bytes(b"\x01\x02" + ONE, [3], EIGHT),
        ShapeError,
        "shape [3] take 7 bytes, got 6",
    ),
    (
        lambda: Tensor.from_quantized_bytes(b"\x01" + struct.pack("<f", math.nan), [1], EIGHT),
        OperationError,
        "scales are finite",
    ),
    (
        lambda: Tensor.from_quantized_bytes(b"\x01" + bytes(4), [1], EIGHT),
        OperationError,
        "above 0",
    ),
    (lambda: Tensor.from_quantized_bytes(ONE, [1], "Q8S"), SettingError, "no QuantScheme"),
    (lambda: Tensor.from_quantized_bytes(5, [1], EIGHT), DTypeError, "int has no bytes to read"),
    (lambda: Tensor.from_quantized_bytes(ONE, [-1], EIGHT), ShapeError, "from_quantized_bytes"),
]


@pytest.mark.parametrize(("compute", "error", "message"), PARTS)
def test_parts_that_do_not_go_together(compute, error, message):
    with pytest.raises(error, match=re.escape(message)):
        compute()
