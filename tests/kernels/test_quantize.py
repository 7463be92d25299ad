"""Whole numbers with scales: as NumPy computes them, and as the package gguf unpacks blocks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

from ruda._kernels import (
    dequantize_int8,
    largest_in_rows,
    quantize_int8,
    unpack_q4_0,
    unpack_q8_0,
)
from ruda.errors import DTypeError, LayoutError, ShapeError

pytestmark = pytest.mark.usefixtures("variant")

LAWS = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
floats = st.floats(width=32)
matrices = arrays(np.float32, array_shapes(min_dims=2, max_dims=2, min_side=0), elements=floats)


def reference(values: NDArray[np.float32], scales: NDArray[np.float32]) -> NDArray[np.int8]:
    with np.errstate(all="ignore"):
        whole = np.rint(values / scales[:, None]).clip(-127, 127)
    return np.nan_to_num(whole, nan=0.0).astype(np.int8)


@LAWS
@given(values=matrices, scale=floats)
def test_quantising_is_rint_of_the_quotient(values: NDArray[np.float32], scale: float) -> None:
    scales = np.full(values.shape[0], scale, np.float32)
    codes, lost = quantize_int8(values, scales)
    np.testing.assert_array_equal(codes, reference(values, scales), strict=True)
    assert lost == np.count_nonzero(~np.isfinite(values))


def test_halves_go_to_even_and_ends_are_held() -> None:
    values = np.array([[0.5, 1.5, 2.5, -0.5, -1.5, 126.5, 127.5, 1e9, -1e9, 1e-45]], np.float32)
    codes, _ = quantize_int8(values, np.ones(1, np.float32))
    np.testing.assert_array_equal(codes[0], [0, 2, 2, 0, -2, 126, 127, 127, -127, 0])


def test_quotients_beside_the_middle_of_two_numbers_are_exact() -> None:
    """The kernel multiplies by an inverse and has to notice where that might round otherwise."""
    rng = np.random.default_rng(5)
    scales = np.exp(rng.uniform(-60, 60, 3000)).astype(np.float32)
    scales[:4] = 1e-38, 1e-45, 3e38, 1e-31
    with np.errstate(over="ignore"):
        middles = (np.arange(-128, 128, dtype=np.float32) + np.float32(0.5)) * scales[:, None]
        values = np.concatenate(
            [middles, np.nextafter(middles, np.float32(0)), middles * np.float32(1.0000001)], axis=1
        )
    codes, _ = quantize_int8(values, scales)
    np.testing.assert_array_equal(codes, reference(values, scales))


@LAWS
@given(values=matrices)
def test_the_largest_of_each_row(values: NDArray[np.float32]) -> None:
    expected = np.abs(values).max(axis=1, initial=0)
    np.testing.assert_array_equal(largest_in_rows(values), expected, strict=True)


@LAWS
@given(
    codes=arrays(np.int8, array_shapes(min_dims=2, max_dims=2, min_side=0)),
    scale=floats,
)
def test_dequantising_is_a_product(codes: NDArray[np.int8], scale: float) -> None:
    scales = np.full(codes.shape[0], scale, np.float32)
    with np.errstate(all="ignore"):
        expected = codes * scales[:, None]
    np.testing.assert_array_equal(dequantize_int8(codes, scales), expected, strict=True)


@pytest.mark.parametrize("shape", [(1, 1), (3, 1023), (5000, 32), (3, 700_001)], ids=str)
def test_no_item_is_lost_between_pieces(shape: tuple[int, int]) -> None:
    values = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    scales = largest_in_rows(values) / np.float32(127)
    codes, lost = quantize_int8(values, scales)
    assert lost == 0
    np.testing.assert_array_equal(codes, reference(values, scales))
    again = dequantize_int8(codes, scales)
    np.testing.assert_array_equal(again, codes * scales[:, None], strict=True)
    assert (np.abs(again - values) <= scales[:, None] * 0.501).all()


def blocks_of(count: int, size: int) -> NDArray[np.uint8]:
    blocks = np.random.default_rng(count).integers(0, 256, (count, size), np.uint8)
    blocks[:, :2] = np.linspace(-2, 2, count, dtype="<f2").reshape(-1, 1).view(np.uint8)
    return blocks


@pytest.mark.parametrize("count", [0, 1, 7, 40_000])
@pytest.mark.parametrize(
    ("unpack", "size", "kind"),
    [
        pytest.param(unpack_q4_0, 18, "Q4_0", id="q4_0"),
        pytest.param(unpack_q8_0, 34, "Q8_0", id="q8_0"),
    ],
)
def test_blocks_are_unpacked_as_by_gguf(unpack, size: int, kind: str, count: int) -> None:
    gguf = pytest.importorskip("gguf")
    blocks = blocks_of(count, size)
    number = getattr(gguf.GGMLQuantizationType, kind)
    got = unpack(blocks)
    assert got.shape == (count, 32)
    if count:
        expected = gguf.quants.dequantize(blocks, number).reshape(count, 32)
        np.testing.assert_array_equal(got, expected, strict=True)
        strided = np.repeat(blocks[:9], 2, axis=0)[::2]
        np.testing.assert_array_equal(unpack(strided), expected[:9])


def test_a_block_by_hand() -> None:
    block = np.zeros((1, 18), np.uint8)
    block[0, :2] = np.array([0.5], "<f2").view(np.uint8)
    block[0, 2], block[0, 17] = 0xF1, 0x08
    got = unpack_q4_0(block)[0]
    np.testing.assert_array_equal(got[[0, 1, 15, 16, 17, 31]], [-3.5, -4, 0, 3.5, -4, -4])
    block = np.zeros((1, 34), np.uint8)
    block[0, :2] = np.array([np.inf], "<f2").view(np.uint8)
    block[0, 2] = 0xFF
    got = unpack_q8_0(block)[0]
    np.testing.assert_array_equal(got[:2], [-np.inf, np.nan])


def test_any_layout_gives_the_same_result() -> None:
    values = np.linspace(-3, 3, 24, dtype=np.float32).reshape(4, 6)
    scales = np.array([0.1, 0.2, 0.3, 0.4], np.float32)
    codes, _ = quantize_int8(values, scales)
    for given_ in (values.astype(">f4"), np.asfortranarray(values)):
        np.testing.assert_array_equal(quantize_int8(given_, scales.astype(">f4"))[0], codes)
        np.testing.assert_array_equal(largest_in_rows(given_), largest_in_rows(values))
    np.testing.assert_array_equal(
        dequantize_int8(np.asfortranarray(codes), scales), dequantize_int8(codes, scales)
    )


def test_refused() -> None:
    values = np.ones((2, 3), np.float32)
    with pytest.raises(ShapeError, match=r"values has shape \(3,\); expected two axes"):
        quantize_int8(values[0], values[:, 0])
    with pytest.raises(ShapeError, match=r"scales has shape \(3,\); expected \(2,\), one for each"):
        quantize_int8(values, values[0])
    with pytest.raises(DTypeError, match="codes has dtype uint8; expected int8"):
        dequantize_int8(np.ones((2, 3), np.uint8), values[:, 0])
    with pytest.raises(ShapeError, match=r"blocks has shape \(2, 34\); expected 18 bytes in each"):
        unpack_q4_0(np.zeros((2, 34), np.uint8))
    locked = np.zeros((2, 3), np.int8)
    locked.flags.writeable = False
    with pytest.raises(LayoutError, match="out is read-only"):
        quantize_int8(values, np.ones(2, np.float32), locked)
