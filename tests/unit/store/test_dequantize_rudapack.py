"""Burn's quantized tensors in f32: every scheme that files spell, by a plain oracle and by hand."""

import struct
from fractions import Fraction

import cbor2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda.errors import AdapterError, DTypeError, HeaderError
from ruda.store import (
    FloatCastAdapter,
    Likeness,
    TensorSnapshot,
    compare,
    convert,
    dequantize,
    open_store,
)
from ruda.store.recipe import CastPolicy, Recipe
from ruda.tensor import DType
from ruda.testing.file_bytes import rudapack_raw

BITS = {"Q8F": 8, "Q8S": 8, "Q4F": 4, "Q4S": 4, "Q2F": 2, "Q2S": 2}
FP4 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]


def old(value="Q8S", *, param="F32", store=None, level="Tensor", **more):
    store = {"PackedU32": 0} if store is None else store
    spelled = {"value": value, "param": param, "store": store, "level": level}
    return {**spelled, "mode": "Symmetric", **more}


def new(value="Q8S", *, store=None, tensor=None, block=None, **more):
    store = {"PackedU32": 0} if store is None else store
    spelled = {"value": value, "store": store, "mode": "Symmetric"}
    return {**spelled, "tensor": tensor, "block": block, **more}


def size(*axes):
    return {"storage": [*axes, *[1] * (5 - len(axes))], "len": len(axes)}


def blocks(*axes):
    return {"Block": size(*axes)}


def tensor(scheme, shape, raw):
    array = np.frombuffer(raw, np.uint8)
    made = TensorSnapshot.from_array("w", array, dtype=DType.QFLOAT)
    fields = {"key": "w", "dtype": DType.QFLOAT, "shape": shape, "nbytes": len(raw)}
    return TensorSnapshot(source=made.source, scheme=scheme, **fields)


def words(numbers, bits):
    """Numbers packed into words of 32 bits, the first in the lowest bits."""
    out = b""
    per = 32 // bits
    for start in range(0, len(numbers), per):
        word = 0
        for place, number in enumerate(numbers[start : start + per]):
            word |= (number & ((1 << bits) - 1)) << place * bits
        out += struct.pack("<I", word)
    return out


# Bytes by hand: [[1, -2, 3, -4]] x 0.5 in every packing.
BY_HAND = [
    pytest.param(old(), "01fe03fc" "0000003f", id="q8s in a word"),
    pytest.param(old("Q8F", store="Native"), "01fe03fc" "0000003f", id="q8f alone"),
    pytest.param(old(store="U32"), "01fe03fc" "0000003f", id="q8s as Burn 0.19 spells it"),
    pytest.param(old("Q4S"), "e1c30000" "0000003f", id="q4s in a word"),
    pytest.param(old("Q4F"), "e1c30000" "0000003f", id="q4f in a word"),
    pytest.param(old(param="F16"), "01fe03fc" "0038", id="scale in f16"),
    pytest.param(old(param="BF16"), "01fe03fc" "003f", id="scale in bf16"),
    pytest.param(old(param="UE8M0"), "01fe03fc" "7e", id="scale in e8m0"),
    pytest.param(old(param="UE4M3"), "01fe03fc" "30", id="scale in e4m3"),
    pytest.param(old("E4M3", store="Native"), "38c044c8" "0000003f", id="fp8 e4m3"),
    pytest.param(old("E5M2", store="Native"), "3cc042c4" "0000003f", id="fp8 e5m2"),
    pytest.param(old("E2M1", store={"PackedNative": 0}), "c2e5" "0000003f", id="fp4, no padding"),
    pytest.param(
        old("E2M1", store={"PackedNative": 0}), "c2e50000" "0000003f", id="fp4, padded to a word"
    ),
    pytest.param(new(tensor="F32"), "01fe03fc" "0000003f", id="new spelling"),
    pytest.param(
        new(tensor="F32", block={"size": size(4), "dtype": "UE4M3"}),
        "01fe03fc" "38" "0000003f",
        id="new spelling, two levels",
    ),
    pytest.param(new("Q4S", store="Native", tensor="F16"), "01fe03fc" "0038", id="q4s one by one"),
]  # fmt: skip


@pytest.mark.parametrize(("scheme", "raw"), BY_HAND)
def test_values_by_hand(scheme, raw):
    found = dequantize(tensor(scheme, (1, 4), bytes.fromhex(raw)))
    assert (found.dtype, found.shape, found.nbytes) == (DType.F32, (1, 4), 16)
    np.testing.assert_array_equal(found.read(), np.float32([[0.5, -1.0, 1.5, -2.0]]))
    assert b"".join(map(bytes, found.chunks(3))) == found.read().tobytes()
    assert found.trail == (f"dequantize qfloat {scheme['value'].lower()}",)


def test_two_bits_by_hand():
    raw = bytes.fromhex("e400000000000040")  # 0, 1, -2, -1
    found = dequantize(tensor(old("Q2F"), (4,), raw))
    np.testing.assert_array_equal(found.read(), np.float32([0, 2, -4, -2]))


def test_every_fp4_by_hand():
    raw = bytes.fromhex("1032547698badcfe00004040")
    found = dequantize(tensor(old("E2M1", store={"PackedNative": 0}), (16,), raw)).read()
    expected = np.float32([3 * x for x in FP4] + [-3 * x for x in FP4])
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), [False] * 8 + [True] * 8)


def test_the_smallest_and_the_undefined_power_of_two():
    raw = bytes([1, 1, 0, 255])
    scheme = old(param="UE8M0", store="Native", level=blocks(1))
    found = dequantize(tensor(scheme, (2,), raw)).read()
    assert found[0] == 2.0**-127
    assert np.isnan(found[1])


def has_two_orders(block, grid, rectangles, axis, sizes):
    """True if runs of values, or scales in the order of packed numbers, would be other values.

    ``rectangles`` has the block of every value; ``sizes`` are the bytes of the padding that there
    is, of the padding that there may be, and of a scale.
    """
    padding, most, item = sizes
    count, length = len(rectangles), int(np.prod(block))
    runs = [place // length for place in range(count)]
    places = np.arange(int(np.prod(grid))).reshape(grid)
    left = padding + (places.size - 1 - runs[-1]) * item
    if count % length == 0 and runs != rectangles and left in (0, most):
        return True
    turned = places.swapaxes(-1 - axis, -1) if axis else places
    return bool((turned.reshape(-1) != places.reshape(-1)).any())


@st.composite
def quantized(draw):
    """A tensor of any scheme of whole numbers, its bytes, and its values by plain loops."""
    value = draw(st.sampled_from(sorted(BITS)))
    bits = BITS[value]
    shape = tuple(draw(st.lists(st.integers(1, 9), max_size=3)))
    is_new = draw(st.booleans())
    in_words = bits < 8 or draw(st.booleans())
    axis = draw(st.integers(0, len(shape) - 1)) if is_new and in_words and shape else 0
    store = {"PackedU32": axis} if in_words else "Native"
    per_block = draw(st.booleans())
    block = tuple(draw(st.lists(st.integers(1, 4), max_size=len(shape)))) if per_block else None
    two_levels = is_new and per_block and draw(st.booleans())
    count = int(np.prod(shape))
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    numbers = draw(st.lists(st.integers(low, high), min_size=count, max_size=count))
    full = (1,) * (len(shape) - len(block or ())) + (block or ())
    grid = [-(-n // b) for n, b in zip(shape, full, strict=True)] if per_block else []
    many = int(np.prod(grid))
    scale = st.floats(0.015625, 8, width=16)
    scales = draw(st.lists(scale, min_size=many, max_size=many))
    top = draw(st.floats(0.015625, 8, width=32)) if two_levels else 1.0

    values, lines, rectangles = [], {}, []
    for place, index in enumerate(np.ndindex(*shape)):
        which = 0
        if per_block:
            for at, count_of, extent in zip(index, grid, full, strict=True):
                which = which * count_of + at // extent
        rectangles.append(which)
        exact = Fraction(numbers[place]) * Fraction(scales[which]) * Fraction(top)
        values.append(float(exact))
        order = list(index)
        if order:
            order[-1 - axis], order[-1] = order[-1], order[-1 - axis]
        lines.setdefault(tuple(order[:-1]), {})[order[-1] if order else 0] = numbers[place]
    if not in_words:
        raw = bytes(n & 255 for n in numbers)
        raw += bytes(-len(raw) % 4 if draw(st.booleans()) else 0)
    elif is_new:
        ordered = [[line[k] for k in sorted(line)] for _, line in sorted(lines.items())]
        raw = b"".join(words(line, bits) for line in ordered)
    else:
        raw = words(numbers, bits)
    padding = len(raw) - count if not in_words else 0
    kind, form = ("F32", "f") if draw(st.booleans()) or not is_new else ("F16", "e")
    raw += struct.pack(f"<{len(scales)}{form}", *scales)
    if is_new:
        raw += struct.pack("<f", top) if two_levels else b""
        spelled_block = {"size": size(*block), "dtype": kind} if per_block else None
        tensor_scale = "F32" if two_levels else None if per_block else kind
        scheme = new(value, store=store, tensor=tensor_scale, block=spelled_block)
    else:
        scheme = old(value, store=store, level=blocks(*block) if per_block else "Tensor")
    expected = np.array(values, np.float64).astype(np.float32).reshape(shape)
    item = struct.calcsize(form)
    most = 0 if in_words else -count % 4
    is_open = per_block and has_two_orders(full, grid, rectangles, axis, (padding, most, item))
    return scheme, shape, raw, expected, is_open


@given(quantized())
def test_values_are_those_of_plain_loops(case):
    scheme, shape, raw, expected, is_open = case
    if is_open:
        with pytest.raises(DTypeError, match=r"to some versions of Burn|have two orders"):
            dequantize(tensor(scheme, shape, raw))
        return
    found = dequantize(tensor(scheme, shape, raw))
    np.testing.assert_array_equal(found.read(), expected)
    assert b"".join(map(bytes, found.chunks(7))) == expected.tobytes()


RECTANGLES = [
    pytest.param((2, 4), (2, 2), True, id="of two rows"),
    pytest.param((2, 4), (2, 1), True, id="of one column"),
    pytest.param((4, 2, 2), (2, 1, 2), True, id="with a hole"),
    pytest.param((2, 4), (1, 2), False, id="of half a row"),
    pytest.param((4, 3), (2, 3), False, id="of whole rows"),
    pytest.param((4, 3, 2), (2, 3, 2), False, id="of whole planes"),
    pytest.param((4, 1), (2, 1), False, id="of a column that is all"),
    pytest.param((2, 3), (2,), False, id="that ends early"),
]


@pytest.mark.parametrize(("shape", "block", "is_open"), RECTANGLES)
@pytest.mark.parametrize("spelling", [old, new])
def test_rectangles_that_some_versions_took_for_runs_are_refused(spelling, shape, block, is_open):
    count = int(np.prod(shape))
    sizes = (1,) * (len(shape) - len(block)) + block
    grid = [-(-n // b) for n, b in zip(shape, sizes, strict=True)]
    scales = np.arange(1, int(np.prod(grid)) + 1, dtype=np.float32)
    raw = bytes([1] * count) + scales.tobytes()
    level = {"level": blocks(*block)} if spelling is old else {}
    level = level or {"block": {"size": size(*block), "dtype": "F32"}}
    given_tensor = tensor(spelling(store="Native", **level), shape, raw)
    if is_open:
        said = f"are rectangles to some versions of Burn, and runs of {int(np.prod(block))} values"
        with pytest.raises(DTypeError, match=said):
            dequantize(given_tensor)
        return
    expected = scales.reshape(grid)
    for axis, extent in enumerate(sizes):
        expected = np.repeat(expected, extent, axis)
    whole = tuple(slice(n) for n in shape)
    np.testing.assert_array_equal(dequantize(given_tensor).read(), expected[whole])


@pytest.mark.parametrize(
    ("shape", "is_open"), [((4, 8), True), ((4, 4), False), ((1, 8), False), ((4, 2, 4), True)]
)
def test_scales_that_may_lie_in_two_orders_are_refused(shape, is_open):
    spelled = new(store={"PackedU32": len(shape) - 1}, block={"size": size(4), "dtype": "F32"})
    lines = int(np.prod(shape[1:]))
    grid = (*shape[:-1], shape[-1] // 4)
    scales = np.arange(1, int(np.prod(grid)) + 1, dtype=np.float32)
    raw = b"".join(words([1] * shape[0], 8) for _ in range(lines)) + scales.tobytes()
    given_tensor = tensor(spelled, shape, raw)
    if is_open:
        with pytest.raises(DTypeError, match="scales of blocks have two orders"):
            dequantize(given_tensor)
        return
    expected = np.repeat(scales.reshape(grid), 4, axis=-1)
    np.testing.assert_array_equal(dequantize(given_tensor).read(), expected)


def test_a_tensor_of_more_than_one_run():
    shape, block = (3, (1 << 20) + 5), 128
    numbers = np.random.default_rng(1).integers(-8, 8, shape).astype(np.int8)
    grid = (3, -(-shape[1] // block))
    scales = np.random.default_rng(2).random(grid, np.float32)
    nibbles = np.zeros((3, -(-shape[1] // 8) * 8), np.uint8)
    nibbles[:, : shape[1]] = numbers & 15
    packed = nibbles[:, ::2] | nibbles[:, 1::2] << 4
    scheme = new("Q4F", block={"size": size(block), "dtype": "F32"})
    found = dequantize(tensor(scheme, shape, packed.tobytes() + scales.tobytes()))
    expected = numbers * np.repeat(scales, block, axis=1)[:, : shape[1]]
    np.testing.assert_array_equal(found.read(), expected.astype(np.float32))


def test_empty_tensors_have_no_values():
    found = dequantize(tensor(old(level=blocks(2)), (0, 3), b""))
    assert found.read().shape == (0, 3)
    assert list(found.chunks()) == []


WORDS4 = bytes(4) + struct.pack("<f", 1)
REFUSED = [
    pytest.param(old("Q6F"), (4,), WORDS4, "the value 'Q6F' is not known", id="value"),
    pytest.param(old("QInt8"), (4,), WORDS4, "scheme value QInt8, param F32", id="scheme is named"),
    pytest.param(old(param="F64"), (4,), WORDS4, "the param 'F64' is not known", id="scale"),
    pytest.param(old(mode="Codebook"), (4,), WORDS4, "mode 'Codebook' is not known", id="mode"),
    pytest.param(old(level="Row"), (4,), WORDS4, "the level 'Row' is not known", id="level"),
    pytest.param(old(rotation="None"), (4,), WORDS4, "field 'rotation', whose meaning", id="field"),
    pytest.param(
        {"value": "Q8S", "store": "Native", "mode": "Symmetric", "levels": {}},
        (4,), WORDS4, "field 'levels', whose meaning", id="newest spelling",
    ),
    pytest.param(old(store="U16"), (4,), WORDS4, "the store 'U16' is not known", id="store"),
    pytest.param(
        old(store={"PackedU32": 1}), (4, 4), WORDS4, "along an axis before the last", id="old axis"
    ),
    pytest.param(
        new(store={"PackedU32": 2}, tensor="F32"), (4, 4), WORDS4, "no axis 2 before the last",
        id="no such axis",
    ),
    pytest.param(old("E4M3"), (4,), WORDS4, "floats packed into words", id="fp8 in words"),
    pytest.param(old("Q4S", store="Native"), (4,), WORDS4, "one by one", id="4 bits alone"),
    pytest.param(
        old("Q4S", store={"PackedNative": 0}), (4,), WORDS4, "only fp4 along the last axis",
        id="native pairs",
    ),
    pytest.param(
        old("E2M1", store={"PackedNative": 0}), (2, 3), bytes(7), "odd number of fp4", id="odd rows"
    ),
    pytest.param(old(level=blocks(0)), (4,), WORDS4, "block size", id="block of none"),
    pytest.param(old(level=blocks(1, 2)), (4,), WORDS4, "blocks of 2 axes", id="block of 2 axes"),
    pytest.param(new(), (4,), WORDS4, "the tensor None is not known", id="no scale"),
    pytest.param(
        new(tensor="F16", block={"size": size(4), "dtype": "F16"}), (4,), WORDS4,
        "a scale of F16 over the scales of blocks", id="second level",
    ),
    pytest.param(old(), (4,), WORDS4[:-1], r"shape \[4\] take 8 bytes, but the tensor has 7",
                 id="too short"),
    pytest.param(old(), (4,), WORDS4 + b"1", r"take 8 bytes, but the tensor has 9", id="too long"),
    pytest.param(old(level=blocks(2)), (4,), WORDS4, r"take 12 bytes, but", id="too few scales"),
    pytest.param(
        old(param="F16", store="Native"), (2,), bytes(6), "fit scales of f16 and of f32",
        id="two readings",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("scheme", "shape", "raw", "said"), REFUSED)
def test_what_is_open_is_refused_by_name(scheme, shape, raw, said):
    with pytest.raises(DTypeError, match=said):
        dequantize(tensor(scheme, shape, raw))


def test_a_byte_that_is_no_number_of_four_bits_is_refused():
    raw = bytes([1, 2, 3, 8]) + struct.pack("<f", 1)
    found = dequantize(tensor(new("Q4S", store="Native", tensor="F32"), (4,), raw))
    with pytest.raises(HeaderError, match="one is none of 4 bits"):
        found.read()


def packed_file(path, scheme, shape, raw):
    descriptor = {"dtype": {"QFloat": scheme}, "shape": list(shape), "data_offsets": [0, len(raw)]}
    path.write_bytes(rudapack_raw(cbor2.dumps({"tensors": {"w": descriptor}}), raw))
    return path


def test_a_file_is_cast_and_compared_by_its_values(tmp_path):
    raw = struct.pack("<4bf", 1, -2, 3, -4, 0.5)
    eight = packed_file(tmp_path / "8.bpk", old(), (1, 4), raw)
    four = packed_file(tmp_path / "4.bpk", old("Q4S"), (1, 4), bytes.fromhex("e1c300000000003f"))
    with open_store(eight) as left, open_store(four) as right:
        plain = convert(left, recipe=Recipe(cast=CastPolicy(to=DType.F32)))
        np.testing.assert_array_equal(plain["w"].read(), np.float32([[0.5, -1, 1.5, -2]]))
        (row,) = compare(left, right, values=True, any_dtype=True).rows
        assert row.likeness is Likeness.SAME
        assert (row.deviation.numel, row.deviation.changed) == (4, 0)
        (row,) = compare(left, right).rows
        assert (row.likeness, row.reason) == (Likeness.CHANGED, "two schemes of qfloat")
        (row,) = compare(left, left, values=True).rows
        assert (row.likeness, row.deviation) == (Likeness.SAME, None)


def test_a_cast_says_what_it_cannot_dequantise():
    with pytest.raises(AdapterError, match="the mode 'Codebook' is not known"):
        FloatCastAdapter(DType.F32).adapt(tensor(old(mode="Codebook"), (4,), WORDS4))
