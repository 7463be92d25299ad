"""Softmax and the norms over the last axis, against their definitions in float64."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

from ruda._kernels import add_layer_norm, layer_norm, log_softmax, rms_norm, softmax
from ruda.errors import DTypeError, LayoutError, ShapeError

pytestmark = pytest.mark.usefixtures("variant")

# The variant stays the same for all examples of one test.
LAWS = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
EPSILON = 2.0**-23
"""An ulp of a float32 is at most this share of it."""
SHAPES = [(1,), (1, 1), (3, 7), (2, 3, 5), (4, 1023), (4, 1024), (3, 1025), (2, 5000), (300, 16)]

finite = st.floats(-1e4, 1e4, width=32)
rows_of = arrays(np.float32, array_shapes(min_dims=1, max_dims=3, max_side=9), elements=finite)
anything = arrays(
    np.float32,
    array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=9),
    elements=st.floats(width=32, allow_nan=True, allow_infinity=True),
)


def numbers(shape: tuple[int, ...], spread: float = 3.0) -> NDArray[np.float32]:
    return np.asarray(np.random.default_rng(7).standard_normal(shape) * spread, np.float32)


def centred(values: NDArray, scale: float = 1.0, mask: NDArray | None = None) -> NDArray:
    wide = values.astype(np.float64) * np.float32(scale)
    wide = wide if mask is None else wide + mask
    with np.errstate(all="ignore"):
        return wide - wide.max(axis=-1, keepdims=True, initial=-np.inf)


def shares(values: NDArray, scale: float = 1.0, mask: NDArray | None = None) -> NDArray:
    with np.errstate(all="ignore"):
        powers = np.exp(centred(values, scale, mask))
        return powers / powers.sum(axis=-1, keepdims=True)


def assert_shares(
    got: NDArray, values: NDArray, scale: float = 1.0, mask: NDArray | None = None
) -> None:
    expected = shares(values, scale, mask)
    ulps = 4 - centred(values, scale, mask)
    if scale != 1 or mask is not None:
        # Product and sum are rounded too.
        product = np.abs(values.astype(np.float64) * scale)
        ulps += 2 * product.max(axis=-1, keepdims=True)
        ulps += 0 if mask is None else np.abs(np.where(np.isinf(mask), 0, mask))
    sure = expected > 0
    assert got.dtype == np.float32
    assert got.shape == values.shape
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
    assert (got[expected == 0] == 0).all()
    error = np.abs(got - expected)[sure]
    assert (error <= ulps[sure] * EPSILON * expected[sure] + 4e-38).all()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_softmax_is_its_definition(shape: tuple[int, ...]) -> None:
    values = numbers(shape)
    assert_shares(softmax(values), values)
    assert_shares(softmax(values, scale=0.125), values, 0.125)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_log_softmax_is_its_definition(shape: tuple[int, ...]) -> None:
    values = numbers(shape)
    below = centred(values)
    expected = below - np.log(np.exp(below).sum(axis=-1, keepdims=True))
    got = log_softmax(values)
    allowed = 2 * EPSILON * np.maximum(np.abs(expected), np.abs(below)) + 1e-6
    assert got.dtype == np.float32
    assert (np.abs(got - expected) <= allowed).all()


@LAWS
@given(values=rows_of)
def test_shares_add_up_to_one(values: NDArray[np.float32]) -> None:
    got = softmax(values)
    assert_shares(got, values)
    np.testing.assert_allclose(got.sum(axis=-1, dtype=np.float64), 1, rtol=1e-6)


@LAWS
@given(values=anything)
def test_rows_with_nan_or_infinity_are_nan_as_in_numpy(values: NDArray[np.float32]) -> None:
    with np.errstate(all="ignore"):
        powers = np.exp(values - values.max(axis=-1, keepdims=True))
        expected = powers / powers.sum(axis=-1, keepdims=True)
    np.testing.assert_array_equal(np.isnan(softmax(values)), np.isnan(expected))
    np.testing.assert_array_equal(np.isnan(log_softmax(values)).any(-1), np.isnan(expected).any(-1))


MASKS = [
    pytest.param((), id="one value"),
    pytest.param((6,), id="one row"),
    pytest.param((5, 6), id="per query"),
    pytest.param((2, 1, 1, 6), id="per item"),
    pytest.param((2, 1, 5, 6), id="per item and query"),
    pytest.param((3, 1, 1), id="per head"),
    pytest.param((2, 3, 5, 6), id="full"),
]


@pytest.mark.parametrize("shape", MASKS)
def test_a_mask_is_added_where_it_broadcasts(shape: tuple[int, ...]) -> None:
    values = numbers((2, 3, 5, 6))
    mask = numbers(shape, 2.0)
    assert_shares(softmax(values, mask=mask, scale=0.5), values, 0.5, mask)
    hiding = np.asarray(np.where(mask > 1, -np.inf, 0), np.float32)
    got = softmax(values, mask=hiding)
    assert_shares(got, values, 1.0, np.broadcast_to(hiding, values.shape))
    hidden = np.broadcast_to(hiding, values.shape) < 0
    assert (got[hidden & ~np.isnan(got)] == 0).all()


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 4)], ids=str)
def test_nothing_gives_nothing(shape: tuple[int, ...]) -> None:
    empty = np.zeros(shape, np.float32)
    line = np.ones(shape[-1], np.float32)
    for got in (
        softmax(empty),
        log_softmax(empty, mask=line),
        layer_norm(empty, line, line),
        rms_norm(empty, line),
        *add_layer_norm(empty, empty, line, line),
    ):
        assert got.shape == shape


def normalised(values: NDArray, gamma: NDArray, beta: NDArray) -> tuple[NDArray, NDArray]:
    wide = values.astype(np.float64)
    centre = wide - wide.mean(axis=-1, keepdims=True)
    standard = centre / np.sqrt(np.square(centre).mean(axis=-1, keepdims=True) + 1e-5)
    product = standard * gamma
    return product + beta, np.maximum(np.abs(product), np.abs(product + beta))


@pytest.mark.parametrize("centre", [0.0, 1000.0])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_layer_norm_is_its_definition(shape: tuple[int, ...], centre: float) -> None:
    values = numbers(shape) + np.float32(centre)
    gamma, beta = numbers(shape[-1:]), numbers(shape[-1:])[::-1].copy()
    expected, size = normalised(values, gamma, beta)
    assert (np.abs(layer_norm(values, gamma, beta) - expected) <= 3 * EPSILON * size).all()
    plain, size = normalised(values, np.ones_like(gamma), np.zeros_like(gamma))
    assert (np.abs(layer_norm(values) - plain) <= 3 * EPSILON * size).all()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_sum_is_normalised(shape: tuple[int, ...]) -> None:
    values, other = numbers(shape), numbers(shape)[..., ::-1]
    gamma, beta = numbers(shape[-1:]), numbers(shape[-1:])
    got, total = add_layer_norm(values, other, gamma, beta)
    np.testing.assert_array_equal(total, values + other, strict=True)
    np.testing.assert_array_equal(got, layer_norm(total, gamma, beta), strict=True)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rms_norm_is_its_definition(shape: tuple[int, ...]) -> None:
    values, gamma = numbers(shape), numbers(shape[-1:])
    wide = values.astype(np.float64)
    expected = wide / np.sqrt(np.square(wide).mean(axis=-1, keepdims=True) + 1e-6) * gamma
    got = rms_norm(values, gamma, epsilon=1e-6)
    assert (np.abs(got - expected) <= 2 * EPSILON * np.abs(expected)).all()


@LAWS
@given(values=anything)
def test_norms_of_what_is_not_finite_are_nan(values: NDArray[np.float32]) -> None:
    bad = ~np.isfinite(values).all(axis=-1)
    assert np.isnan(layer_norm(values))[bad].all()
    finite_rows = np.isfinite(layer_norm(values, epsilon=1.0)).all(axis=-1)
    np.testing.assert_array_equal(finite_rows, ~bad)
    assert not np.isfinite(rms_norm(values)[np.isnan(values)]).any()


def test_any_layout_gives_the_same_result() -> None:
    values = numbers((4, 6))
    room = np.zeros(values.nbytes + 1, np.uint8)
    shifted = room[1:].view(np.float32).reshape(4, 6)
    shifted[...] = values
    frozen = values.copy()
    frozen.flags.writeable = False
    line = values[0]
    for given_ in (values.astype(">f4"), shifted, frozen, np.asfortranarray(values)):
        np.testing.assert_array_equal(softmax(given_), softmax(values), strict=True)
        np.testing.assert_array_equal(
            layer_norm(given_, given_[0], given_[1]), layer_norm(values, line, values[1])
        )
        np.testing.assert_array_equal(rms_norm(given_, given_[0]), rms_norm(values, line))
        np.testing.assert_array_equal(
            log_softmax(given_, mask=given_[1:2]), log_softmax(values, mask=values[1:2])
        )


def test_pieces_are_joined() -> None:
    values = numbers((9000, 600))
    out = np.empty_like(values)
    mask = numbers((600,), 1.0)
    assert softmax(values, mask=mask, out=out) is out
    for row in (0, 4500, 8999):
        np.testing.assert_array_equal(out[row], softmax(values[row], mask=mask))


def test_refused() -> None:
    values = numbers((2, 3))
    with pytest.raises(DTypeError, match="values has dtype float64; expected float32"):
        softmax(values.astype(np.float64))
    with pytest.raises(ShapeError, match="values has no axis; expected a last axis"):
        layer_norm(np.ones((), np.float32))
    with pytest.raises(ShapeError, match=r"mask has shape \(2,\); expected one that broadcasts"):
        softmax(values, mask=values[0, :2])
    with pytest.raises(DTypeError, match="mask has dtype bool; expected float32"):
        softmax(values, mask=values > 0)
    with pytest.raises(ShapeError, match=r"gamma has shape \(2,\); expected \(3,\)"):
        layer_norm(values, values[0, :2])
    with pytest.raises(ShapeError, match=r"other has shape \(3,\); expected that of values"):
        add_layer_norm(values, values[0])
    with pytest.raises(LayoutError, match="out shares memory with the input"):
        rms_norm(values, out=values)
    room = np.zeros_like(values)
    with pytest.raises(LayoutError, match="out shares memory with added"):
        add_layer_norm(values, values, added=room, out=room)
