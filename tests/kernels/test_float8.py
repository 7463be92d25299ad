"""float32 to and from the 8-bit floats: equal to ml_dtypes code for code, losses counted."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from ruda._kernels import NarrowCounts, narrow_e4m3, narrow_e5m2, widen_e4m3, widen_e5m2
from ruda.errors import DTypeError, LayoutError, ShapeError

pytestmark = pytest.mark.usefixtures("variant")

E4M3 = np.dtype(ml_dtypes.float8_e4m3fn)
E5M2 = np.dtype(ml_dtypes.float8_e5m2)
NARROW = {E4M3: narrow_e4m3, E5M2: narrow_e5m2}
WIDEN = {E4M3: widen_e4m3, E5M2: widen_e5m2}
KINDS = [pytest.param(E4M3, id="e4m3fn"), pytest.param(E5M2, id="e5m2")]


def edges() -> NDArray[np.float32]:
    """Random words, all values of both floats, their midpoints and the neighbours of those."""
    rng = np.random.default_rng(8)
    words = [rng.integers(0, 2**32, 200_000, dtype=np.uint32)]
    for kind in (E4M3, E5M2):
        exact = np.arange(256, dtype=np.uint8).view(kind).astype(np.float32).view(np.uint32)
        for middle in (0, 1 << 19, 1 << 20):
            for step in (-1, 0, 1):
                words.append(exact + np.uint32((middle + step) % 2**32))
    small = (np.arange(4096) * 2.0**-20).astype(np.float32)
    words += [small.view(np.uint32), (-small).view(np.uint32)]
    return np.concatenate(words).view(np.float32)


EDGES = edges()


def reference(values: NDArray[np.float32], kind: np.dtype) -> NDArray:
    with np.errstate(all="ignore"):
        return values.astype(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_narrowing_is_that_of_ml_dtypes(kind: np.dtype) -> None:
    got, _ = NARROW[kind](EDGES)
    assert got.dtype == kind
    np.testing.assert_array_equal(got.view(np.uint8), reference(EDGES, kind).view(np.uint8))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", [0, 1, 15, 16, 1023, 1024, 2047])
def test_one_value_among_others_is_seen(kind: np.dtype, place: int) -> None:
    for odd in (np.nan, np.inf, -3.4e38, 1e-45, -0.0):
        values = np.ones(2048, np.float32)
        values[place] = odd
        got, counts = NARROW[kind](values)
        np.testing.assert_array_equal(got.view(np.uint8), reference(values, kind).view(np.uint8))
        too_large = odd == -3.4e38 or (kind == E4M3 and odd == np.inf)
        assert (counts.overflow, counts.underflow) == (too_large, odd == 1e-45)
        np.testing.assert_array_equal(WIDEN[kind](got), got.astype(np.float32))


@pytest.mark.parametrize("kind", KINDS)
def test_nan_keeps_its_sign(kind: np.dtype) -> None:
    words = np.array([0x7F800001, 0x7FC00000, 0x7FFFFFFF, 0xFF800001, 0xFFFFFFFF], np.uint32)
    got, counts = NARROW[kind](words.view(np.float32))
    assert np.isnan(got.astype(np.float32)).all()
    np.testing.assert_array_equal(got.view(np.uint8) >> 7, [0, 0, 0, 1, 1])
    assert counts == NarrowCounts()


@pytest.mark.parametrize("kind", KINDS)
def test_counts_are_those_of_the_result(kind: np.dtype) -> None:
    _, counts = NARROW[kind](EDGES)
    after = np.abs(reference(EDGES, kind).astype(np.float32))
    held = np.isfinite(EDGES) | (np.isinf(EDGES) & (kind == E4M3))
    assert counts == NarrowCounts(
        overflow=int((held & ~np.isfinite(after)).sum()),
        underflow=int(((EDGES != 0) & (after == 0)).sum()),
        subnormal=int(((after > 0) & (after < float(ml_dtypes.finfo(kind).tiny))).sum()),
    )


LOSSES = [
    pytest.param(E4M3, 464.0, NarrowCounts(), id="e4m3 tie stays the largest"),
    pytest.param(E4M3, 464.01, NarrowCounts(overflow=1), id="e4m3 too large"),
    pytest.param(E4M3, -np.inf, NarrowCounts(overflow=1), id="e4m3 has no infinity"),
    pytest.param(E4M3, 2.0**-10, NarrowCounts(underflow=1), id="e4m3 tie to zero"),
    pytest.param(E4M3, 2.0**-9, NarrowCounts(subnormal=1), id="e4m3 smallest subnormal"),
    pytest.param(E4M3, 7.5 * 2.0**-9, NarrowCounts(), id="e4m3 tie up to the smallest normal"),
    pytest.param(E5M2, 61439.0, NarrowCounts(), id="e5m2 just below overflow"),
    pytest.param(E5M2, 61440.0, NarrowCounts(overflow=1), id="e5m2 tie to infinity"),
    pytest.param(E5M2, np.inf, NarrowCounts(), id="e5m2 was infinite before"),
    pytest.param(E5M2, 2.0**-17, NarrowCounts(underflow=1), id="e5m2 tie to zero"),
    pytest.param(E5M2, -(2.0**-16), NarrowCounts(subnormal=1), id="e5m2 smallest subnormal"),
    pytest.param(E5M2, -0.0, NarrowCounts(), id="e5m2 negative zero"),
]


@pytest.mark.parametrize(("kind", "value", "expected"), LOSSES)
def test_losses(kind: np.dtype, value: float, expected: NarrowCounts) -> None:
    _, counts = NARROW[kind](np.full(3, value, np.float32))
    assert counts == expected + expected + expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("finite", [False, True], ids=["with NaN", "without"])
def test_widening_is_exact_for_every_code(kind: np.dtype, finite: bool) -> None:
    codes = np.arange(256, dtype=np.uint8)
    if finite:  # what needs no table
        codes = codes[np.isfinite(codes.view(kind).astype(np.float32))]
    expected = codes.view(kind).astype(np.float32)
    for given in (codes, codes.view(kind), codes[::-1].view(kind)[::-1]):
        np.testing.assert_array_equal(WIDEN[kind](given), expected, strict=True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0, 2), (5, 7, 3)], ids=str)
def test_shape_is_kept(kind: np.dtype, shape: tuple[int, ...]) -> None:
    values = np.ones(shape, np.float32)
    codes, counts = NARROW[kind](values)
    assert codes.shape == shape
    assert counts == NarrowCounts()
    np.testing.assert_array_equal(WIDEN[kind](codes), values, strict=True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [1023, 1024, 1025, 2_000_001])
def test_no_item_is_lost_between_blocks_and_pieces(kind: np.dtype, length: int) -> None:
    values = np.random.default_rng(length).standard_normal(length).astype(np.float32)
    values[0], values[-1] = 3.4e38, 1e-45
    got, counts = NARROW[kind](values)
    expected = reference(values, kind)
    numbers = ~np.isnan(expected.astype(np.float32))
    np.testing.assert_array_equal(got[numbers].view(np.uint8), expected[numbers].view(np.uint8))
    assert counts.overflow == 1
    np.testing.assert_array_equal(WIDEN[kind](got)[numbers], expected[numbers].astype(np.float32))


@pytest.mark.parametrize("kind", KINDS)
def test_foreign_layouts_are_copied(kind: np.dtype) -> None:
    values = np.linspace(-9, 9, 24, dtype=np.float32).reshape(4, 6)
    unaligned = np.frombuffer(b"\0" + values.tobytes(), np.uint8)[1:].view(np.float32)
    for given in (values[::2, ::-1], values.T, values.astype(">f4"), unaligned):
        got, _ = NARROW[kind](given)
        expected = reference(np.ascontiguousarray(given).astype(np.float32), kind)
        np.testing.assert_array_equal(got.view(np.uint8), expected.view(np.uint8))


def test_refused() -> None:
    values = np.ones(3, np.float32)
    with pytest.raises(DTypeError, match="values has dtype float64; expected float32"):
        narrow_e4m3(values.astype(np.float64))
    with pytest.raises(ShapeError, match=r"out has shape \(2,\); expected \(3,\)"):
        narrow_e5m2(values, np.zeros(2, np.uint8))
    locked = np.zeros(3, np.uint8)
    locked.flags.writeable = False
    with pytest.raises(LayoutError, match="out is read-only"):
        narrow_e4m3(values, locked)
    with pytest.raises(DTypeError, match="codes has dtype int8; expected float8_e4m3fn or uint8"):
        widen_e4m3(np.zeros(2, np.int8))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("offset", [0, 1, 16, 63])
def test_every_place_of_the_result_in_a_line_of_the_cache(kind: np.dtype, offset: int) -> None:
    values = np.random.default_rng(offset).standard_normal(40_000).astype(np.float32)
    room = np.full(values.size + 64, 7, np.uint8)
    got, _ = NARROW[kind](values, room[offset : offset + values.size])
    np.testing.assert_array_equal(got.view(np.uint8), reference(values, kind).view(np.uint8))
    assert (room[:offset] == 7).all()
    assert (room[offset + values.size :] == 7).all()
    wide = np.full(values.size + 64, 7, np.float32)
    back = WIDEN[kind](got, wide[offset : offset + values.size])
    np.testing.assert_array_equal(back, got.astype(np.float32))
    assert (wide[:offset] == 7).all()
    assert (wide[offset + values.size :] == 7).all()
