"""float32 to and from the halves: bit-equal to NumPy and ml_dtypes, with the losses counted."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from ruda._kernels import NarrowCounts, narrow_bf16, narrow_f16, widen_bf16, widen_f16

pytestmark = pytest.mark.usefixtures("variant")

F16 = np.dtype(np.float16)
BF16 = np.dtype(ml_dtypes.bfloat16)
NARROW = {F16: narrow_f16, BF16: narrow_bf16}
WIDEN = {F16: widen_f16, BF16: widen_bf16}
KINDS = [pytest.param(F16, id="f16"), pytest.param(BF16, id="bf16")]


def edges() -> NDArray[np.float32]:
    """Random words, and all values of both halves, their midpoints and the neighbours of those."""
    rng = np.random.default_rng(7)
    halves = np.arange(65536, dtype=np.uint16)
    exact = [
        halves.view(np.float16).astype(np.float32).view(np.uint32),
        halves.astype(np.uint32) << np.uint32(16),
        (np.arange(4096) * 2.0**-25).astype(np.float32).view(np.uint32),
    ]
    words = [rng.integers(0, 2**32, 300_000, dtype=np.uint32)]
    for start in exact:
        for middle in (0, 0x1000, 0x8000):
            for step in (-1, 0, 1):
                words.append(start + np.uint32((middle + step) % 2**32))
    return np.concatenate(words).view(np.float32)


EDGES = edges()


def reference(values: NDArray[np.float32], kind: np.dtype) -> NDArray:
    with np.errstate(all="ignore"):
        return values.astype(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_narrowing_is_bit_equal_to_astype(kind: np.dtype) -> None:
    got, _ = NARROW[kind](EDGES)
    numbers = ~np.isnan(EDGES)
    expected = reference(EDGES, kind)
    assert got.dtype == kind
    np.testing.assert_array_equal(got[numbers].view(np.uint16), expected[numbers].view(np.uint16))


@pytest.mark.parametrize("kind", KINDS)
def test_nan_stays_nan_with_its_sign(kind: np.dtype) -> None:
    words = np.array([0x7F800001, 0x7FC00000, 0x7FFFFFFF, 0xFF800001, 0xFFFFFFFF], np.uint32)
    got, counts = NARROW[kind](words.view(np.float32))
    assert np.isnan(got.astype(np.float32)).all()
    np.testing.assert_array_equal(got.view(np.uint16) >> 15, [0, 0, 0, 1, 1])
    assert counts == NarrowCounts()


RESTS = [1, 0x1FFF, 0x2000, 0x3FFFFF, 0x400000, 0x400001, 0x402000, 0x7FFFFF]
NANS = np.array([s << 31 | 0x7F800000 | rest for rest in RESTS for s in (0, 1)] * 80, np.uint32)


def test_nan_keeps_the_bits_that_fit_f16() -> None:
    got, counts = narrow_f16(NANS.view(np.float32))
    expected = [w >> 16 & 0x8000 | 0x7C00 | (w >> 13 & 0x3FF or 1) for w in NANS.tolist()]
    np.testing.assert_array_equal(got.view(np.uint16), np.array(expected, np.uint16))
    assert counts == NarrowCounts()


def test_nan_keeps_its_upper_half_in_bf16() -> None:
    got, counts = narrow_bf16(NANS.view(np.float32))
    expected = [w >> 16 | 0x40 for w in NANS.tolist()]
    np.testing.assert_array_equal(got.view(np.uint16), np.array(expected, np.uint16))
    assert counts == NarrowCounts()


def test_nan_keeps_every_bit_on_the_way_back() -> None:
    halves = np.array([0x7C01, 0x7DFF, 0x7E00, 0x7FFF, 0xFC01, 0xFE10] * 300, np.uint16)
    wide = [(h & 0x8000) << 16 | 0x7F800000 | (h & 0x3FF) << 13 for h in halves.tolist()]
    got = widen_f16(halves).view(np.uint32)
    np.testing.assert_array_equal(got, np.array(wide, np.uint32))
    tops = widen_bf16(halves | np.uint16(0x380)).view(np.uint32) >> 16
    np.testing.assert_array_equal(tops, halves | np.uint16(0x380))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", [0, 1, 15, 16, 1023, 1024, 2047])
def test_one_value_among_others_is_seen(kind: np.dtype, place: int) -> None:
    for odd in (np.nan, np.inf, -3.4e38, 1e-45, -0.0):
        values = np.ones(2048, np.float32)
        values[place] = odd
        got, counts = NARROW[kind](values)
        np.testing.assert_array_equal(got.view(np.uint16), reference(values, kind).view(np.uint16))
        assert (counts.overflow, counts.underflow) == (odd == -3.4e38, odd == 1e-45)
        np.testing.assert_array_equal(WIDEN[kind](got), got.astype(np.float32))


@pytest.mark.parametrize("kind", KINDS)
def test_counts_are_those_of_the_result(kind: np.dtype) -> None:
    _, counts = NARROW[kind](EDGES)
    finite = EDGES[np.isfinite(EDGES)]
    after = np.abs(reference(finite, kind).astype(np.float32))
    assert counts == NarrowCounts(
        overflow=int(np.isinf(after).sum()),
        underflow=int(((finite != 0) & (after == 0)).sum()),
        subnormal=int(((after > 0) & (after < float(ml_dtypes.finfo(kind).tiny))).sum()),
    )


LOSSES = [
    pytest.param(F16, 65519.99, NarrowCounts(), id="f16 just below overflow"),
    pytest.param(F16, 65520.0, NarrowCounts(overflow=1), id="f16 overflow"),
    pytest.param(F16, -np.inf, NarrowCounts(), id="f16 was infinite before"),
    pytest.param(F16, 2.0**-25, NarrowCounts(underflow=1), id="f16 tie to zero"),
    pytest.param(F16, 2.0**-24, NarrowCounts(subnormal=1), id="f16 smallest subnormal"),
    pytest.param(F16, 2.0**-14, NarrowCounts(), id="f16 smallest normal"),
    pytest.param(F16, -0.0, NarrowCounts(), id="f16 negative zero"),
    pytest.param(BF16, 3.4e38, NarrowCounts(overflow=1), id="bf16 overflow"),
    pytest.param(BF16, 2.0**-134, NarrowCounts(underflow=1), id="bf16 tie to zero"),
    pytest.param(BF16, -(2.0**-133), NarrowCounts(subnormal=1), id="bf16 smallest subnormal"),
    pytest.param(BF16, 2.0**-126, NarrowCounts(), id="bf16 smallest normal"),
]


@pytest.mark.parametrize(("kind", "value", "expected"), LOSSES)
def test_losses(kind: np.dtype, value: float, expected: NarrowCounts) -> None:
    _, counts = NARROW[kind](np.full(3, value, np.float32))
    assert counts == expected + expected + expected


@pytest.mark.parametrize("kind", KINDS)
def test_widening_is_exact_for_every_half(kind: np.dtype) -> None:
    halves = np.arange(65536, dtype=np.uint16)
    expected = halves.view(kind).astype(np.float32)
    numbers = ~np.isnan(expected)
    for given in (halves, halves.view(kind)):
        got = WIDEN[kind](given)
        np.testing.assert_array_equal(
            got[numbers].view(np.uint32), expected[numbers].view(np.uint32)
        )
        assert np.isnan(got[~numbers]).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0, 2), (5, 7, 3)], ids=str)
def test_shape_is_kept(kind: np.dtype, shape: tuple[int, ...]) -> None:
    values = np.ones(shape, np.float32)
    halves, counts = NARROW[kind](values)
    assert halves.shape == shape
    assert counts == NarrowCounts()
    np.testing.assert_array_equal(WIDEN[kind](halves), values, strict=True)


@pytest.mark.parametrize("kind", KINDS)
def test_out_is_written_in_place_as_halves_or_words(kind: np.dtype) -> None:
    values = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
    for dtype in (kind, np.dtype(np.uint16)):
        out = np.zeros((3, 4), dtype)
        got, _ = NARROW[kind](values, out)
        assert np.shares_memory(got, out)
        assert got.dtype == kind
        np.testing.assert_array_equal(got, reference(values, kind))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [1023, 1024, 1025, 2048, 700_001, 1_500_000])
def test_no_item_is_lost_between_blocks_and_pieces(kind: np.dtype, length: int) -> None:
    values = np.random.default_rng(length).standard_normal(length).astype(np.float32)
    values[-1] = 1e-45
    values[0] = 3.4e38
    got, counts = NARROW[kind](values)
    expected = reference(values, kind)
    np.testing.assert_array_equal(got.view(np.uint16), expected.view(np.uint16))
    assert (counts.overflow, counts.underflow) == (1, 1)
    np.testing.assert_array_equal(WIDEN[kind](got), expected.astype(np.float32))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("offset", [0, 1, 7, 16, 31, 32])
def test_every_place_of_the_result_in_a_line_of_the_cache(kind: np.dtype, offset: int) -> None:
    values = np.random.default_rng(offset).standard_normal(40_000).astype(np.float32)
    room = np.full(values.size + 64, 7, np.uint16)
    got, _ = NARROW[kind](values, room[offset : offset + values.size])
    np.testing.assert_array_equal(got.view(np.uint16), reference(values, kind).view(np.uint16))
    assert (room[:offset] == 7).all()
    assert (room[offset + values.size :] == 7).all()
    wide = np.full(values.size + 64, 7, np.float32)
    back = WIDEN[kind](got, wide[offset : offset + values.size])
    np.testing.assert_array_equal(back, got.astype(np.float32))
    assert (wide[:offset] == 7).all()
    assert (wide[offset + values.size :] == 7).all()
