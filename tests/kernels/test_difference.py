"""The figures of two arrays, against a definition in Python numbers, pair by pair."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from ruda._kernels import Difference, difference
from ruda.errors import DTypeError, SettingError, ShapeError

pytestmark = pytest.mark.usefixtures("variant")

LAWS = settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
SUMS = ("total_absolute", "total_squares", "dot", "left_squares", "right_squares")
values = st.floats(width=32) | st.sampled_from([0.0, -0.0, 1e-45, math.inf, -math.inf, math.nan])
pairs = st.integers(0, 40).flatmap(
    lambda n: st.tuples(
        arrays(np.float32, n, elements=values), arrays(np.float32, n, elements=values)
    )
)


def place(value: np.float32) -> int:
    """Number of floats between a value and zero, with its sign."""
    word = int(value.view(np.int32))
    return -(word & 0x7FFFFFFF) if word < 0 else word


def definition(
    left: NDArray[np.float32],
    right: NDArray[np.float32],
    relative: float = 0.0,
    absolute: float = 0.0,
    steps: int = 0,
) -> Difference:
    found = Difference()
    for a, b in zip(left.reshape(-1), right.reshape(-1), strict=True):
        x, y = float(a), float(b)
        same = x == y or (math.isnan(x) and math.isnan(y))
        finite = math.isfinite(x) and math.isfinite(y)
        distance = abs(x - y) if finite else 0.0
        gap = abs(place(a) - place(b)) if finite else 0
        near = distance < max(absolute, relative * max(abs(x), abs(y))) or gap <= steps
        found += Difference(
            changed=int(not same),
            beyond=int(not (same or (finite and near))),
            finite=int(finite),
            unpaired=int(not finite and not same),
            max_absolute=distance,
            total_absolute=distance,
            total_squares=distance * distance,
            dot=x * y if finite else 0.0,
            left_squares=x * x if finite else 0.0,
            right_squares=y * y if finite else 0.0,
            max_steps=gap,
            left_nans=int(math.isnan(x)),
            right_nans=int(math.isnan(y)),
            left_infs=int(math.isinf(x)),
            right_infs=int(math.isinf(y)),
        )
    return found


def assert_same(got: Difference, expected: Difference) -> None:
    ours, theirs = dataclasses.asdict(got), dataclasses.asdict(expected)
    for name in SUMS:
        size = math.sqrt(expected.left_squares * expected.right_squares) if name == "dot" else 0.0
        assert ours.pop(name) == pytest.approx(theirs.pop(name), rel=1e-12, abs=1e-12 * size)
    assert ours == theirs


TOLERANCES = [
    pytest.param({}, id="none"),
    pytest.param({"absolute": 0.01}, id="absolute"),
    pytest.param({"relative": 0.001}, id="relative"),
    pytest.param({"steps": 3}, id="steps"),
    pytest.param({"relative": 1e-4, "absolute": 1e-6, "steps": 1}, id="all"),
]


@pytest.mark.parametrize("tolerance", TOLERANCES)
@LAWS
@given(pair=pairs)
def test_figures_are_their_definition(
    pair: tuple[NDArray[np.float32], NDArray[np.float32]], tolerance: dict[str, float]
) -> None:
    assert_same(difference(*pair, **tolerance), definition(*pair, **tolerance))


@pytest.mark.parametrize("tolerance", TOLERANCES)
@pytest.mark.parametrize("holes", [False, True])
def test_near_values_of_several_blocks(tolerance: dict[str, float], holes: bool) -> None:
    rng = np.random.default_rng(4)
    left = rng.standard_normal(6000).astype(np.float32)
    right = left + (rng.standard_normal(6000) * 1e-3).astype(np.float32)
    right[:1000] = np.nextafter(left[:1000], np.float32(9))
    right[2048:4096] = left[2048:4096]
    if holes:
        left[[5, 4500]], right[[5, 4501]] = np.nan, -np.inf
    assert_same(difference(left, right, **tolerance), definition(left, right, **tolerance))


def test_the_same_has_no_difference() -> None:
    values_ = np.random.default_rng(4).standard_normal((90, 77)).astype(np.float32)
    got = difference(values_, values_.copy())
    size = float(np.square(values_, dtype=np.float64).sum())
    assert_same(got, Difference(finite=6930, dot=size, left_squares=size, right_squares=size))


def test_pieces_are_joined() -> None:
    left = np.zeros(2_000_001, np.float32)
    right = left.copy()
    right[[0, 1_000_000, -1]] = [1.0, np.nan, -3.0]
    got = difference(left, right)
    assert (got.changed, got.beyond, got.finite, got.unpaired) == (3, 3, 2_000_000, 1)
    assert (got.max_absolute, got.total_absolute, got.right_nans) == (3.0, 4.0, 1)


def test_the_widest_gap_is_counted() -> None:
    top = np.array([np.finfo(np.float32).max], np.float32)
    assert difference(top, -top).max_steps == 2 * 0x7F7FFFFF


def test_any_layout_gives_the_same_result() -> None:
    left = np.linspace(-3, 3, 24, dtype=np.float32).reshape(4, 6)
    right = left[::-1]
    expected = definition(left, np.ascontiguousarray(right))
    assert_same(difference(left.astype(">f4"), right), expected)
    assert_same(difference(np.asfortranarray(left), right.astype(">f4")), expected)


def test_refused() -> None:
    ones = np.ones(3, np.float32)
    with pytest.raises(DTypeError, match="right has dtype float64; expected float32"):
        difference(ones, ones.astype(np.float64))
    with pytest.raises(ShapeError, match=r"right has shape \(2,\); expected that of left, \(3,\)"):
        difference(ones, ones[:2])
    with pytest.raises(SettingError, match="steps=-1: expected a whole number from 0"):
        difference(ones, ones, steps=-1)
    with pytest.raises(SettingError, match="absolute=nan"):
        difference(ones, ones, absolute=math.nan)
