"""erf and the activations, against the standard library's erf and exp in float64."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

from ruda._kernels import bias_gelu, bias_relu, erf, gelu, gelu_tanh, silu, silu_times
from ruda.errors import DTypeError, LayoutError, ShapeError

pytestmark = pytest.mark.usefixtures("variant")

LAWS = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
EPSILON = 2.0**-23
anything = arrays(
    np.float32,
    array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=9),
    elements=st.floats(width=32),
)


def logit(x: float) -> float:
    return 2.0 * math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)


def logistic(z: float) -> float:
    return 1.0 / (1.0 + math.exp(-z)) if z > -700.0 else 0.0


def gelu_of(x: float) -> float:
    return x * 0.5 * math.erfc(-x * math.sqrt(0.5)) if x > -1e9 else x * 0.0


def tanh_of(x: float) -> float:
    return x * logistic(logit(x)) if x > -1e9 else x * 0.0


def silu_of(x: float) -> float:
    return x * logistic(x) if x > -1e9 else x * 0.0


# Name, ours, its definition, ulps allowed for x, absolute slack at the lower end.
KERNELS = [
    pytest.param(erf, math.erf, lambda x: 4.0 + 0.0 * x, 0.0, id="erf"),
    pytest.param(gelu, gelu_of, lambda x: 10.0 + 0.0 * x, 1e-38, id="gelu"),
    pytest.param(
        gelu_tanh,
        tanh_of,
        lambda x: 4.0 + 3.0 * np.maximum(0.0, -1.6 * (x + 0.044715 * x**3)),
        1e-36,
        id="gelu_tanh",
    ),
    pytest.param(silu, silu_of, lambda x: 4.0 + 0.0 * x, 1e-36, id="silu"),
]
Ours = Callable[..., NDArray[np.float32]]


def grid() -> NDArray[np.float32]:
    """Even steps, all sizes on both sides, neighbours of the places where formulas change."""
    edges = np.array([1.0, 6.0, 13.19, 14.0, 86.99, 87.5, 88.72, 88.8], np.float32)
    near = np.concatenate([np.nextafter(edges, np.float32(0)), edges, edges * np.float32(1.0001)])
    sizes = np.geomspace(1e-37, 110.0, 4001).astype(np.float32)
    even = np.linspace(-20, 20, 20011).astype(np.float32)
    return np.concatenate([even, sizes, -sizes, near, -near])


GRID = grid()


@pytest.mark.parametrize(("call", "definition", "ulps", "slack"), KERNELS)
def test_values_are_within_the_stated_bound(
    call: Ours, definition: Callable[[float], float], ulps: Callable[[NDArray], NDArray], slack
) -> None:
    expected = np.array([definition(float(x)) for x in GRID])
    got = call(GRID)
    allowed = ulps(GRID.astype(np.float64)) * EPSILON * np.abs(expected) + slack + 2e-45
    assert got.dtype == np.float32
    worst = np.argmax(np.abs(got - expected) - allowed)
    assert (np.abs(got - expected) <= allowed).all(), (GRID[worst], got[worst], expected[worst])


@pytest.mark.parametrize(
    ("call", "at_minus_infinity"),
    [(erf, -1.0), (gelu, -0.0), (gelu_tanh, -0.0), (silu, -0.0)],
    ids=lambda found: getattr(found, "__name__", None),
)
def test_special_values(call: Ours, at_minus_infinity: float) -> None:
    values = np.array([-np.inf, -3e38, 3e38, np.inf, np.nan, -np.nan, 0.0, -0.0], np.float32)
    got = call(values)
    top = [1.0, 1.0] if call is erf else [np.float32(3e38), np.inf]
    expected = [at_minus_infinity, at_minus_infinity, *top, np.nan, np.nan, 0.0, -0.0]
    np.testing.assert_array_equal(got, np.array(expected, np.float32))
    np.testing.assert_array_equal(np.signbit(got[[0, 1, 6, 7]]), [True, True, False, True])


@pytest.mark.parametrize(("call", "definition", "ulps", "slack"), KERNELS)
def test_subnormals_are_not_lost(
    call: Ours, definition: Callable[[float], float], ulps: object, slack: object
) -> None:
    values = np.array([1e-45, -1e-45, 3e-42, -1e-39], np.float32)
    expected = np.array([definition(float(x)) for x in values], np.float64)
    assert (np.abs(call(values) - expected) <= 3e-45 + 2 * EPSILON * np.abs(expected)).all()


@LAWS
@given(values=anything)
def test_each_value_is_on_its_own(values: NDArray[np.float32]) -> None:
    for call in (erf, gelu, gelu_tanh, silu):
        whole = call(values)
        assert whole.shape == values.shape
        single = [call(np.array([x], np.float32))[0] for x in values.reshape(-1)]
        np.testing.assert_array_equal(whole.reshape(-1), np.array(single, np.float32))


@pytest.mark.parametrize("length", [1, 1023, 1024, 1025, 3_000_001])
def test_no_item_is_lost_between_blocks_and_pieces(length: int) -> None:
    values = np.random.default_rng(length).standard_normal(length).astype(np.float32)
    ends = [0, length // 2, length - 1]
    for call in (erf, gelu, gelu_tanh, silu):
        out = np.full_like(values, 9)
        assert call(values, out) is out
        assert (out != 9).all()
        np.testing.assert_array_equal(out[ends], call(values[ends]))


@LAWS
@given(values=anything)
def test_silu_times_is_silu_and_a_product(values: NDArray[np.float32]) -> None:
    factors = np.asarray(values[::-1] if values.ndim else values)
    with np.errstate(all="ignore"):
        expected = silu(values) * factors
    np.testing.assert_array_equal(silu_times(values, factors), expected, strict=True)


@pytest.mark.parametrize("shape", [(5,), (3, 5), (0, 5), (2, 0), (2, 3, 1025)], ids=str)
def test_a_bias_is_added_first(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    values = rng.standard_normal(shape).astype(np.float32)
    bias = rng.standard_normal(shape[-1]).astype(np.float32)
    if values.size:
        values.flat[0] = np.nan
    summed = values + bias
    np.testing.assert_array_equal(bias_relu(values, bias), np.where(summed < 0, 0, summed))
    np.testing.assert_array_equal(bias_gelu(values, bias), gelu(summed), strict=True)
    approximate = bias_gelu(values, bias, approximate=True)
    np.testing.assert_array_equal(approximate, gelu_tanh(summed), strict=True)


def test_any_layout_gives_the_same_result() -> None:
    values = np.linspace(-4, 4, 24, dtype=np.float32).reshape(4, 6)
    room = np.zeros(values.nbytes + 1, np.uint8)
    shifted = room[1:].view(np.float32).reshape(4, 6)
    shifted[...] = values
    for call in (erf, gelu, gelu_tanh, silu):
        for given_ in (values.astype(">f4"), shifted, np.asfortranarray(values)):
            np.testing.assert_array_equal(call(given_), call(values), strict=True)
    turned = bias_relu(values.astype(">f4"), values[0].astype(">f4"))
    np.testing.assert_array_equal(turned, bias_relu(values, values[0]), strict=True)


def test_refused() -> None:
    values = np.ones((2, 3), np.float32)
    with pytest.raises(DTypeError, match="values has dtype int64; expected float32"):
        gelu(np.ones(3, np.int64))
    with pytest.raises(LayoutError, match="out shares memory with the input"):
        silu(values, values)
    with pytest.raises(ShapeError, match=r"out has shape \(3,\); expected \(2, 3\)"):
        erf(values, values[0].copy())
    with pytest.raises(ShapeError, match=r"bias has shape \(2,\); expected one value for each"):
        bias_relu(values, values[0, :2])
    with pytest.raises(ShapeError, match=r"factors has shape \(3,\); expected that of values"):
        silu_times(values, values[0])
