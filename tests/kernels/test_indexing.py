"""Items by their places on an axis, against NumPy and against loops in Python."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from ruda._kernels import add_slices, gather_items, scatter_add
from ruda.errors import DTypeError, IndexRangeError, LayoutError, ShapeError

pytestmark = pytest.mark.usefixtures("variant")

LAWS = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
WORDS = ["u1", "f2", "f4", "f8", "i8", "c16", "S3"]
SUMS = ["f4", "f8", "i8", "u8"]
shapes = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


def places_of(data: st.DataObject, shape: tuple[int, ...], axis: int) -> NDArray:
    many = data.draw(st.integers(0, 6))
    size = shape[axis]
    within = (*shape[:axis], many, *shape[axis + 1 :])
    kind = data.draw(st.sampled_from(["i8", "i4", "i1"]))
    return data.draw(arrays(kind, within, elements=st.integers(-size, size - 1)))


@LAWS
@given(data=st.data(), shape=shapes, dtype=st.sampled_from(WORDS))
def test_gathered_items_are_numpys(data: st.DataObject, shape: tuple[int, ...], dtype: str) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    values = data.draw(arrays(dtype, shape))
    places = places_of(data, shape, axis)
    expected = np.take_along_axis(values, places.astype(np.int64), axis)
    got = gather_items(values, places, axis)
    assert got.dtype == values.dtype
    assert got.tobytes() == expected.tobytes()
    assert gather_items(values, places, axis - len(shape)).tobytes() == expected.tobytes()


def sums_of(data: st.DataObject, dtype: str, shape: tuple[int, ...]) -> NDArray:
    if np.dtype(dtype).kind == "f":
        return data.draw(arrays(dtype, shape, elements=st.floats(width=8 * int(dtype[1]))))
    return data.draw(arrays(dtype, shape))


@LAWS
@given(data=st.data(), shape=shapes, dtype=st.sampled_from(SUMS))
def test_sums_are_taken_in_order(data: st.DataObject, shape: tuple[int, ...], dtype: str) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    target = sums_of(data, dtype, shape)
    places = places_of(data, shape, axis)
    values = sums_of(data, dtype, places.shape)
    expected = target.copy()
    with np.errstate(all="ignore"):
        for at in np.ndindex(*places.shape):
            expected[(*at[:axis], places[at], *at[axis + 1 :])] += values[at]
    scatter_add(target, places, values, axis)
    np.testing.assert_array_equal(target, expected, strict=True)


@LAWS
@given(data=st.data(), shape=shapes, dtype=st.sampled_from(SUMS))
def test_slices_are_added_in_order(data: st.DataObject, shape: tuple[int, ...], dtype: str) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    target = sums_of(data, dtype, shape)
    places = data.draw(
        arrays(
            "i8", data.draw(st.integers(0, 6)), elements=st.integers(-shape[axis], shape[axis] - 1)
        )
    )
    values = sums_of(data, dtype, (*shape[:axis], places.size, *shape[axis + 1 :]))
    expected = target.copy()
    with np.errstate(all="ignore"):
        for at, place in enumerate(places):
            np.moveaxis(expected, axis, 0)[place] += np.moveaxis(values, axis, 0)[at]
    add_slices(target, places, values, axis)
    np.testing.assert_array_equal(target, expected, strict=True)


def test_wide_slices_and_pieces() -> None:
    rng = np.random.default_rng(5)
    values = rng.standard_normal((40, 300, 90)).astype(np.float32)
    places = rng.integers(0, 300, (40, 500, 90))
    np.testing.assert_array_equal(
        gather_items(values, places, 1), np.take_along_axis(values, places, 1)
    )
    rows = rng.integers(0, 300, 20)
    target, expected = values.copy(), values.copy()
    for at, row in enumerate(rows):
        expected[:, row] += values[:, at]
    add_slices(target, rows, values[:, :20], 1)
    np.testing.assert_array_equal(target, expected)


def test_any_layout_gives_the_same_result(lay: Callable[[NDArray], NDArray]) -> None:
    rng = np.random.default_rng(5)
    values, places = rng.standard_normal((4, 6)).astype(np.float32), rng.integers(-6, 6, (4, 5))
    np.testing.assert_array_equal(
        gather_items(lay(values), lay(places), 1), gather_items(values, places, 1)
    )
    first, second = values.copy(), values.copy()
    scatter_add(first, lay(places), lay(values[:, :5]), 1)
    scatter_add(second, places, values[:, :5], 1)
    np.testing.assert_array_equal(first, second)
    add_slices(first, lay(places[0]), lay(values[:, :5]), 1)
    add_slices(second, places[0], values[:, :5], 1)
    np.testing.assert_array_equal(first, second)


def test_bad_outputs_are_refused(bad_out: tuple[Callable[[NDArray], NDArray], str]) -> None:
    lay, message = bad_out
    values, places = np.zeros((4, 4), np.float32), np.zeros((4, 4), np.int64)
    with pytest.raises(LayoutError, match=f"out .*{message}"):
        gather_items(values, places, 0, lay(values.copy()))
    with pytest.raises(LayoutError, match=f"target .*{message}"):
        scatter_add(lay(values), places, values, 0)
    with pytest.raises(LayoutError, match=f"target .*{message}"):
        add_slices(lay(values), places[0], values, 0)


@pytest.mark.parametrize("wrong", [4, -5, 2**40, -(2**63)])
def test_a_place_outside_is_an_error_and_nothing_is_written(wrong: int) -> None:
    values, places = np.zeros((4, 2)), np.zeros((4, 2), np.int64)
    places[1, 1] = wrong
    with pytest.raises(IndexRangeError, match=f"place {wrong} is outside an axis of size 4"):
        gather_items(values, places, 0)
    with pytest.raises(IndexRangeError, match=f"place {wrong} is outside an axis of size 4"):
        scatter_add(values, places, values + 1, 0)
    with pytest.raises(IndexRangeError, match=f"place {wrong} is outside an axis of size 4"):
        add_slices(values, places[:, 1], values + 1, 0)
    assert not values.any()


def test_refused() -> None:
    values, places = np.zeros((4, 2)), np.zeros((4, 2), np.int64)
    with pytest.raises(DTypeError, match="places has dtype float64; expected integers"):
        gather_items(values, values, 0)
    with pytest.raises(ShapeError, match=r"places has shape \(4, 2\); expected \(4, 3\) but for"):
        gather_items(np.zeros((4, 3)), places, 0)
    with pytest.raises(ShapeError, match=r"axis 2 of shape \(4, 2\) does not exist"):
        gather_items(values, places, 2)
    with pytest.raises(DTypeError, match="values has dtype float32; expected float64"):
        scatter_add(values, places, values.astype(np.float32), 0)
    with pytest.raises(ShapeError, match="expected that of places"):
        scatter_add(values, places, values[1:] + 1, 0)
    with pytest.raises(DTypeError, match="target has dtype float16; expected"):
        scatter_add(values.astype(np.float16), places, values, 0)
    with pytest.raises(LayoutError, match="target shares memory with the input"):
        scatter_add(values, places, values, 0)
    with pytest.raises(ShapeError, match=r"values has shape \(4, 2\); expected \(3, 2\)"):
        add_slices(values, places[1:, 0], values + 1, 0)
