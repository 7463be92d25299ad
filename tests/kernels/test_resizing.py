"""Planes in another size, against indexing and against float64."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from ruda._kernels import _numpy_resize as twins
from ruda._kernels import resize_linear, resize_nearest
from ruda.errors import DTypeError, IndexRangeError, LayoutError, ShapeError

pytestmark = pytest.mark.usefixtures("variant")

LAWS = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
floats = st.floats(width=32)
SHARES = np.zeros(4, np.float32)


def places(size: int) -> st.SearchStrategy[NDArray[np.int64]]:
    return st.lists(st.integers(0, size - 1), max_size=12).map(lambda p: np.array(p, np.int64))


@LAWS
@given(data=st.data(), size=st.tuples(st.integers(1, 4), st.integers(1, 5), st.integers(1, 9)))
def test_rows_and_columns_are_picked(data: st.DataObject, size: tuple[int, int, int]) -> None:
    values = data.draw(arrays(np.uint32, size)).view(np.float32)
    rows, columns = data.draw(places(size[1])), data.draw(places(size[2]))
    got = resize_nearest(values, rows, columns)
    expected = values[:, rows[:, None], columns]
    np.testing.assert_array_equal(got.view(np.uint32), expected.view(np.uint32), strict=True)


@LAWS
@given(data=st.data(), size=st.tuples(st.integers(1, 3), st.integers(1, 5), st.integers(1, 9)))
def test_neighbours_are_mixed_as_in_the_twin(
    data: st.DataObject, size: tuple[int, int, int]
) -> None:
    values = data.draw(arrays(np.float32, size, elements=floats))
    mixes, both = [], []
    for axis in (1, 2):
        first = data.draw(places(size[axis]))
        share = data.draw(arrays(np.float32, first.size, elements=st.floats(0, 1, width=32)))
        mixes.append((first, share))
        neighbours = np.stack((first, np.minimum(first + 1, size[axis] - 1)))
        both += [neighbours, np.stack((np.float32(1) - share, share))]
    got = resize_linear(values, *mixes)
    expected = np.empty_like(got)
    twins.linear(values, *both, np.empty((2, got.shape[2]), np.float32), expected)
    np.testing.assert_array_equal(got, expected, strict=True)


@pytest.mark.parametrize("shape", [(1, 1), (3, 5, 7), (2, 3, 40, 33)], ids=str)
def test_a_mix_is_within_its_bound(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(5)
    values = rng.standard_normal(shape).astype(np.float32)
    found = []
    for size in shape[-2:]:
        first = rng.integers(0, size, 50)
        share = rng.random(50).astype(np.float32)
        share[first == size - 1] = 0
        found.append((first, share))
    (rows, down), (columns, across) = found
    below = np.minimum(rows + 1, shape[-2] - 1)
    right = np.minimum(columns + 1, shape[-1] - 1)
    wide, r, c = values.astype(np.float64), rows[:, None], columns
    d, a = down[:, None].astype(np.float64), across.astype(np.float64)
    upper = wide[..., r, c] * (1 - a) + wide[..., r, right] * a
    lower = wide[..., below[:, None], c] * (1 - a) + wide[..., below[:, None], right] * a
    got = resize_linear(values, *found)
    assert abs(got - (upper * (1 - d) + lower * d)).max() <= 4 * 2.0**-23 * abs(values).max()


def test_a_neighbour_without_a_share_is_not_seen() -> None:
    values = np.array([[1, np.inf], [np.nan, 2]], np.float32)
    zero = np.zeros(2, np.float32)
    both = (np.array([0, 1]), zero)
    np.testing.assert_array_equal(resize_linear(values, both, both), values)


def test_pieces_are_joined() -> None:
    values = np.random.default_rng(5).standard_normal((64, 160, 160)).astype(np.float32)
    rows = columns = np.repeat(np.arange(160), 2)
    expected = values.repeat(2, axis=1).repeat(2, axis=2)
    np.testing.assert_array_equal(resize_nearest(values, rows, columns), expected)
    none = np.zeros(320, np.float32)
    np.testing.assert_array_equal(resize_linear(values, (rows, none), (columns, none)), expected)


def test_any_layout_gives_the_same_result(lay: Callable[[NDArray], NDArray]) -> None:
    values = np.random.default_rng(5).standard_normal((2, 3, 6, 8)).astype(np.float32)
    rows, columns = np.arange(5), np.arange(7)
    share = np.linspace(0, 1, 7, dtype=np.float32)
    np.testing.assert_array_equal(
        resize_nearest(lay(values), lay(rows), lay(columns)), resize_nearest(values, rows, columns)
    )
    np.testing.assert_array_equal(
        resize_linear(lay(values), (rows, share[:5]), (columns, lay(share))),
        resize_linear(values, (rows, share[:5]), (columns, share)),
    )


def test_bad_outputs_are_refused(bad_out: tuple[Callable[[NDArray], NDArray], str]) -> None:
    lay, message = bad_out
    values, here = np.zeros((2, 4, 4), np.float32), np.arange(4)
    out, share = lay(np.zeros((2, 4, 4), np.float32)), np.zeros(4, np.float32)
    with pytest.raises(LayoutError, match=f"out .*{message}"):
        resize_nearest(values, here, here, out)
    with pytest.raises(LayoutError, match=f"out .*{message}"):
        resize_linear(values, (here, share), (here, share), out)


def test_refused() -> None:
    values, here = np.zeros((2, 4, 4), np.float32), np.arange(4)
    with pytest.raises(IndexRangeError, match="rows names 4; expected 0 to 3"):
        resize_nearest(values, here + 1, here)
    with pytest.raises(IndexRangeError, match="columns names -1; expected 0 to 3"):
        resize_nearest(values, here, here - 1)
    with pytest.raises(DTypeError, match="rows has dtype float64; expected integers"):
        resize_nearest(values, here * 1.0, here)
    with pytest.raises(ShapeError, match=r"values has shape \(4,\); expected \(…, height, width\)"):
        resize_nearest(values[0, 0], here, here)
    with pytest.raises(ShapeError, match=r"shares of rows has shape \(3,\); expected \(4,\)"):
        resize_linear(values, (here, SHARES[1:]), (here, SHARES))
    with pytest.raises(DTypeError, match="values has dtype float64; expected float32"):
        resize_nearest(values.astype(np.float64), here, here)
