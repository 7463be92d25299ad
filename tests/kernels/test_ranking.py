"""The largest few of each row, against Python's sorted."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from ruda._kernels import largest_places
from ruda.errors import DTypeError, LayoutError, SettingError, ShapeError

pytestmark = pytest.mark.usefixtures("variant")

LAWS = settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def expected(values: NDArray, count: int) -> NDArray[np.int64]:
    """Falling, NaN first; Python's sort keeps equal ones in order."""

    def key(row: list[float], place: int) -> tuple[bool, float]:
        value = row[place]
        return (False, 0.0) if math.isnan(value) else (True, -value)

    rows = [
        sorted(range(len(row)), key=lambda p, row=row: key(row, p))[:count]
        for row in values.tolist()
    ]
    return np.array(rows, np.int64).reshape(len(values), count)


shapes = st.tuples(st.integers(0, 3), st.integers(1, 40))
few = st.sampled_from([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45])


@LAWS
@given(
    data=st.data(), shape=shapes, elements=st.sampled_from([few, st.floats(width=32), "integers"])
)
def test_the_largest_come_first_and_of_equal_ones_the_first(
    data: st.DataObject, shape: tuple[int, int], elements: st.SearchStrategy[float] | str
) -> None:
    if elements == "integers":
        values = data.draw(arrays(np.int32, shape))
    else:
        values = data.draw(arrays(np.float32, shape, elements=elements))
    count = data.draw(st.integers(0, shape[1]))
    got = largest_places(values, count)
    np.testing.assert_array_equal(got, expected(values, count), strict=True)


def test_every_sign_and_payload_of_nan_is_equal() -> None:
    words = np.array([0x7F800001, 0xFFC00000, 0x3F800000, 0x7FFFFFFF, 0x7F800000], np.uint32)
    got = largest_places(words.view(np.float32)[None], 5)
    np.testing.assert_array_equal(got, [[0, 1, 3, 4, 2]])


ORDERS = [
    pytest.param(lambda v: v, id="random"),
    pytest.param(lambda v: np.sort(v, axis=1), id="rising"),
    pytest.param(lambda v: np.ascontiguousarray(np.sort(v, axis=1)[:, ::-1]), id="falling"),
    pytest.param(np.round, id="many equal"),
    pytest.param(np.zeros_like, id="all equal"),
]


@pytest.mark.parametrize("arrange", ORDERS)
@pytest.mark.parametrize("dtype", ["f4", "i4"])
@pytest.mark.parametrize("count", [1, 7, 256, 257])
def test_long_rows(arrange: Callable[[NDArray], NDArray], dtype: str, count: int) -> None:
    values = np.random.default_rng(5).standard_normal((3, 2100)) * 20
    values = arrange(values.astype(np.float32)).astype(dtype)
    order = np.argsort(-values.astype(np.float64), axis=1, kind="stable")[:, :count]
    np.testing.assert_array_equal(largest_places(values, count), order)


def test_any_layout_gives_the_same_result(lay: Callable[[NDArray], NDArray]) -> None:
    values = np.random.default_rng(5).standard_normal((4, 30)).astype(np.float32)
    np.testing.assert_array_equal(largest_places(lay(values), 5), largest_places(values, 5))


def test_bad_outputs_are_refused(bad_out: tuple[Callable[[NDArray], NDArray], str]) -> None:
    lay, message = bad_out
    with pytest.raises(LayoutError, match=f"out .*{message}"):
        largest_places(np.zeros((4, 4), np.float32), 4, lay(np.zeros((4, 4), np.int64)))


def test_refused() -> None:
    values = np.zeros((2, 3), np.float32)
    with pytest.raises(SettingError, match="count=4: expected a whole number from 0 to 3"):
        largest_places(values, 4)
    with pytest.raises(SettingError, match="count=-1"):
        largest_places(values, -1)
    with pytest.raises(ShapeError, match=r"values has shape \(3,\); expected \(row, column\)"):
        largest_places(values[0], 1)
    with pytest.raises(DTypeError, match="values has dtype float64; expected float32 or int32"):
        largest_places(values.astype(np.float64), 1)
