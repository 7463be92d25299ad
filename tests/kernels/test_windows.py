"""Pooling, depthwise convolution, channels and rotations, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ruda._kernels import average_pool, depthwise_3x3, max_pool, rotate_pairs, scale_channels
from ruda.errors import DTypeError, LayoutError, SettingError, ShapeError

pytestmark = pytest.mark.usefixtures("variant")

LAWS = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
EPSILON = 2.0**-23
Pair = tuple[int, int]
pairs = st.tuples(st.integers(1, 3), st.integers(1, 3))
planes = arrays(
    np.float32,
    array_shapes(min_dims=2, max_dims=4, min_side=5, max_side=9),
    elements=st.floats(width=32),
)


def windows_of(values: NDArray, window: Pair, stride: Pair, gaps: Pair = (1, 1)) -> NDArray:
    """(…, height', width', points)."""
    reach = [(n - 1) * gap + 1 for n, gap in zip(window, gaps, strict=True)]
    seen = sliding_window_view(values, reach, axis=(-2, -1))
    seen = seen[..., :: stride[0], :: stride[1], :: gaps[0], :: gaps[1]]
    return seen.reshape(*seen.shape[:-2], window[0] * window[1])


@LAWS
@given(
    values=planes, window=pairs, stride=pairs, dilation=st.sampled_from([(1, 1), (2, 1), (1, 2)])
)
def test_the_largest_of_each_window(
    values: NDArray[np.float32], window: Pair, stride: Pair, dilation: Pair
) -> None:
    expected = windows_of(values, window, stride, dilation).max(axis=-1)
    got = max_pool(values, window, stride, dilation=dilation)
    np.testing.assert_array_equal(got, expected, strict=True)


@LAWS
@given(values=planes, window=pairs, stride=pairs)
def test_the_mean_of_each_window(values: NDArray[np.float32], window: Pair, stride: Pair) -> None:
    values = np.clip(np.nan_to_num(values), -1e30, 1e30).astype(np.float32)
    seen = windows_of(values, window, stride).astype(np.float64)
    points = seen.shape[-1]
    got = average_pool(values, window, stride)
    allowed = points * EPSILON * np.abs(seen).sum(axis=-1) / points + 1e-44
    assert got.dtype == np.float32
    assert (np.abs(got - seen.mean(axis=-1)) <= allowed).all()
    other = average_pool(values, window, stride, divisor=7)
    assert (np.abs(other - seen.sum(axis=-1) / 7) <= allowed * points).all()


@pytest.mark.parametrize("stride", [(1, 1), (2, 2), (1, 3)], ids=str)
@pytest.mark.parametrize("shape", [(1, 3, 3), (4, 5, 9), (2, 4, 17, 40), (0, 4, 5, 5)], ids=str)
def test_depthwise_convolution_is_nine_products(shape: tuple[int, ...], stride: Pair) -> None:
    rng = np.random.default_rng(5)
    values = rng.standard_normal(shape).astype(np.float32)
    weights = rng.standard_normal((shape[-3], 3, 3)).astype(np.float32)
    bias = rng.standard_normal(shape[-3]).astype(np.float32)
    seen = windows_of(values, (3, 3), stride).astype(np.float64)
    products = seen * weights.reshape(-1, 1, 1, 9)
    for shift, given_ in ((bias, bias), (np.zeros_like(bias), None)):
        expected = products.sum(axis=-1) + shift.reshape(-1, 1, 1)
        size = np.abs(products).sum(axis=-1) + np.abs(shift).reshape(-1, 1, 1)
        got = depthwise_3x3(values, weights, given_, stride=stride)
        assert got.shape == expected.shape
        assert (np.abs(got - expected) <= 12 * EPSILON * size).all()


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 5), (1, 4, 17, 9), (0, 3, 4), (2, 3, 0)], ids=str)
def test_channels_are_scaled_as_in_numpy(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(5)
    values = rng.standard_normal(shape).astype(np.float32)
    if values.size:
        values.flat[0] = np.nan
    factors = rng.standard_normal(shape[1]).astype(np.float32)
    shifts = rng.standard_normal(shape[1]).astype(np.float32)
    along = (shape[1], *(1,) * (len(shape) - 2))
    expected = values * factors.reshape(along) + shifts.reshape(along)
    np.testing.assert_array_equal(scale_channels(values, factors, shifts), expected, strict=True)
    got = scale_channels(values, factors, shifts, relu=True)
    np.testing.assert_array_equal(got, np.where(expected < 0, np.float32(0), expected))


@pytest.mark.parametrize("shape", [(1, 2), (5, 8), (2, 3, 7, 6), (0, 4, 2), (3, 5, 0)], ids=str)
def test_pairs_are_rotated_as_in_numpy(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(5)
    values = rng.standard_normal(shape).astype(np.float32)
    angles = rng.standard_normal((shape[-2], shape[-1] // 2))
    cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    first, second = values[..., 0::2], values[..., 1::2]
    got = rotate_pairs(values, cos, sin)
    np.testing.assert_array_equal(got[..., 0::2], first * cos - second * sin)
    np.testing.assert_array_equal(got[..., 1::2], first * sin + second * cos)


def test_pieces_are_joined() -> None:
    values = np.random.default_rng(5).standard_normal((3, 40, 160, 160)).astype(np.float32)
    expected = values.reshape(3, 40, 80, 2, 80, 2).max(axis=(3, 5))
    np.testing.assert_array_equal(max_pool(values, (2, 2), (2, 2)), expected)
    weights = np.zeros((40, 3, 3), np.float32)
    weights[:, 1, 1] = np.arange(40)
    got = depthwise_3x3(values, weights)
    expected = values[..., 1:-1, 1:-1] * weights[:, 1:2, 1:2]
    np.testing.assert_array_equal(got, expected)
    ones = np.ones(40, np.float32)
    np.testing.assert_array_equal(scale_channels(values, ones, ones), values + 1)


def test_any_layout_gives_the_same_result() -> None:
    values = np.random.default_rng(5).standard_normal((2, 3, 6, 8)).astype(np.float32)
    weights, line = values[0, :, :3, :3], values[0, :, 0, 0]
    for given_ in (values.astype(">f4"), np.asfortranarray(values), values[::-1].copy()[::-1]):
        np.testing.assert_array_equal(
            max_pool(given_, (2, 3), (1, 2)), max_pool(values, (2, 3), (1, 2))
        )
        np.testing.assert_array_equal(
            depthwise_3x3(given_, weights), depthwise_3x3(values, weights)
        )
        np.testing.assert_array_equal(
            scale_channels(given_, line, line), scale_channels(values, line, line)
        )
        angles = values[0, 0, :, :4]
        np.testing.assert_array_equal(
            rotate_pairs(given_, angles, angles), rotate_pairs(values, angles, angles)
        )


def test_refused() -> None:
    values = np.ones((2, 3, 6, 8), np.float32)
    with pytest.raises(ShapeError, match="expected room for a window of 5 × 1"):
        max_pool(values[:, :, :4], (3, 1), (1, 1), dilation=(2, 1))
    with pytest.raises(SettingError, match=r"stride=\(0, 1\): expected two whole numbers from 1"):
        average_pool(values, (2, 2), (0, 1))
    with pytest.raises(SettingError, match="divisor=-1"):
        average_pool(values, (2, 2), (1, 1), divisor=-1)
    with pytest.raises(ShapeError, match=r"weights has shape \(2, 3, 3\); expected \(channel, 3"):
        depthwise_3x3(values, np.ones((2, 3, 3), np.float32))
    with pytest.raises(ShapeError, match=r"bias has shape \(2,\); expected \(3,\), one per chan"):
        depthwise_3x3(values, np.ones((3, 3, 3), np.float32), np.ones(2, np.float32))
    with pytest.raises(ShapeError, match=r"factors has shape \(2,\); expected \(3,\)"):
        scale_channels(values, np.ones(2, np.float32), np.ones(3, np.float32))
    with pytest.raises(ShapeError, match=r"cos has shape \(6, 8\); expected \(6, 4\)"):
        rotate_pairs(values, values[0, 0], values[0, 0])
    with pytest.raises(DTypeError, match="values has dtype float64; expected float32"):
        max_pool(values.astype(np.float64), (2, 2), (2, 2))
    with pytest.raises(LayoutError, match="out shares memory with the input"):
        max_pool(values, (1, 1), (1, 1), out=values)
