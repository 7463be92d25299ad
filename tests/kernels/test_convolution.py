"""Winograd's transforms against their definition, and unfolding against NumPy's windows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ruda._kernels import _numpy_convolution as twins
from ruda._kernels import unfold, winograd_planes, winograd_tiles
from ruda.errors import LayoutError, SettingError, ShapeError

pytestmark = pytest.mark.usefixtures("variant")

LAWS = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
# Lavin & Gray (2015), equation 9: Bᵀ and Aᵀ.
DATA = np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]])
RESULT = np.array([[1, 1, 1, 0], [0, 1, -1, -1]])
Pair = tuple[int, int]


def whole_numbers(*shape: int) -> NDArray[np.float32]:
    """Small ones, so that every sum is exact."""
    return np.random.default_rng(5).integers(-9, 10, shape).astype(np.float32)


@pytest.mark.parametrize("size", [(4, 4), (6, 4), (4, 10), (16, 38)], ids=str)
def test_tiles_are_the_transform_of_4_by_4_points(size: Pair) -> None:
    planes = whole_numbers(3, *size)
    seen = sliding_window_view(planes, (4, 4), axis=(1, 2))[:, ::2, ::2]
    expected = np.einsum("ia,crtab,jb->ijcrt", DATA, seen, DATA).reshape(16, 3, -1)
    out = np.full((16, 3, expected.shape[2] + 3), 7, np.float32)
    winograd_tiles(planes, 0, seen.shape[1], 2, out)
    np.testing.assert_array_equal(out[:, :, 2:-1], expected)
    assert (out[:, :, :2] == 7).all()
    assert (out[:, :, -1:] == 7).all()


@pytest.mark.parametrize("size", [(2, 2), (4, 2), (2, 8), (14, 36)], ids=str)
def test_planes_are_the_transform_of_16_products(size: Pair) -> None:
    tiles = size[0] * size[1] // 4
    products, bias = whole_numbers(16, 3, tiles + 3), whole_numbers(3)
    square = products[:, :, 2:-1].reshape(4, 4, 3, size[0] // 2, size[1] // 2)
    expected = np.einsum("ia,abcrt,jb->critj", RESULT, square, RESULT).reshape(3, *size)
    out = np.empty((3, *size), np.float32)
    assert winograd_planes(products, bias, 2, 0, size[0] // 2, out)
    np.testing.assert_array_equal(out, expected + bias[:, None, None])


floats = st.floats(width=32)


@LAWS
@given(data=st.data(), down=st.integers(1, 3), across=st.integers(1, 9), at=st.integers(0, 2))
def test_both_are_their_twins_bit_for_bit(
    data: st.DataObject, down: int, across: int, at: int
) -> None:
    planes = data.draw(arrays(np.float32, (2, 2 * down + 2, 2 * across + 2), elements=floats))
    room = np.zeros((4, 2 * across + 2), np.float32)
    ours, theirs = np.zeros((2, 16, 2, at + down * across), np.float32)
    winograd_tiles(planes, 0, down, at, ours)
    twins.to_tiles(planes, 0, down, at, room, theirs)
    np.testing.assert_array_equal(ours, theirs)
    made, expected = np.zeros((2, 2, 2 * down, 2 * across), np.float32)
    bias = data.draw(arrays(np.float32, 2, elements=floats))
    finite = winograd_planes(ours, bias, at, 0, down, made)
    twins.from_tiles(ours, bias, at, 0, down, room, expected)
    np.testing.assert_array_equal(made, expected)
    assert finite == np.isfinite(expected).all()


@pytest.mark.parametrize("stride", [(1, 1), (2, 2), (1, 3)], ids=str)
@pytest.mark.parametrize("dilation", [(1, 1), (2, 1), (1, 2)], ids=str)
@pytest.mark.parametrize("window", [(1, 1), (3, 3), (2, 5)], ids=str)
def test_unfolded_windows_are_numpys(window: Pair, dilation: Pair, stride: Pair) -> None:
    images = np.random.default_rng(5).standard_normal((2, 3, 11, 20)).astype(np.float32)
    images[0, 0, 0, 0] = np.nan
    reach = [(n - 1) * gap + 1 for n, gap in zip(window, dilation, strict=True)]
    seen = sliding_window_view(images, reach, axis=(2, 3))
    seen = seen[:, :, :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]]
    size = seen.shape[2:4]
    expected = seen.transpose(1, 4, 5, 0, 2, 3).reshape(3, window[0] * window[1], 2, -1)
    got = unfold(images, window, size, stride=stride, dilation=dilation)
    np.testing.assert_array_equal(got, expected, strict=True)


def test_any_layout_gives_the_same_result(lay: Callable[[NDArray], NDArray]) -> None:
    planes = whole_numbers(2, 8, 6)
    first, second = np.zeros((2, 16, 2, 6), np.float32)
    winograd_tiles(planes, 0, 3, 0, second)
    winograd_tiles(lay(planes), 0, 3, 0, first)
    np.testing.assert_array_equal(first, second)
    one, two = np.zeros((2, 2, 6, 4), np.float32)
    bias = np.ones(2, np.float32)
    winograd_planes(lay(second), lay(bias), 0, 0, 3, one)
    winograd_planes(second, bias, 0, 0, 3, two)
    np.testing.assert_array_equal(one, two)
    images = whole_numbers(2, 2, 6, 8)
    np.testing.assert_array_equal(
        unfold(lay(images), (2, 2), (2, 3), stride=(2, 2)),
        unfold(images, (2, 2), (2, 3), stride=(2, 2)),
    )


def test_bad_outputs_are_refused(bad_out: tuple[Callable[[NDArray], NDArray], str]) -> None:
    lay, message = bad_out
    with pytest.raises(LayoutError, match=message):
        winograd_tiles(whole_numbers(2, 8, 6), 0, 3, 0, lay(np.zeros((16, 2, 6), np.float32)))
    with pytest.raises(LayoutError, match=message):
        winograd_planes(
            whole_numbers(16, 2, 6), whole_numbers(2), 0, 0, 3, lay(np.zeros((2, 6, 4), np.float32))
        )
    with pytest.raises(LayoutError, match=message):
        unfold(whole_numbers(1, 2, 4, 4), (1, 2), (4, 3), out=lay(np.zeros((2, 2, 1, 12), "f4")))


def test_refused() -> None:
    planes, tiles = whole_numbers(2, 8, 6), np.zeros((16, 2, 6), np.float32)
    with pytest.raises(ShapeError, match=r"planes has shape \(2, 7, 6\); expected .*even and from"):
        winograd_tiles(planes[:, 1:], 0, 2, 0, tiles)
    with pytest.raises(SettingError, match="top=2 and down=2: expected rows of tiles from 0 to 3"):
        winograd_tiles(planes, 2, 2, 0, tiles)
    with pytest.raises(SettingError, match="at=1: out has no room for 6 tiles of 6"):
        winograd_tiles(planes, 0, 3, 1, tiles)
    with pytest.raises(ShapeError, match=r"out has shape \(16, 3, 6\); expected \(16, 2, tile\)"):
        winograd_tiles(planes, 0, 3, 0, np.zeros((16, 3, 6), np.float32))
    with pytest.raises(ShapeError, match=r"bias has shape \(3,\); expected \(2,\)"):
        winograd_planes(tiles, whole_numbers(3), 0, 0, 3, np.zeros((2, 6, 4), np.float32))
    with pytest.raises(ShapeError, match="expected room for 4 × 4 windows, which span 8 × 8"):
        unfold(whole_numbers(1, 2, 7, 8), (2, 2), (4, 4), stride=(2, 2))
    with pytest.raises(SettingError, match=r"stride=\(0, 1\): expected two whole numbers from 1"):
        unfold(whole_numbers(1, 2, 7, 8), (2, 2), (4, 4), stride=(0, 1))
