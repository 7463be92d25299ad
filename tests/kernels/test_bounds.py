"""The bounds that docstrings state, and what is no setting, through every variant.

The references are in long double and of widths beside those of lanes and blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ruda._kernels as kernels
from ruda.errors import SettingError, ShapeError

pytestmark = pytest.mark.usefixtures("variant")

WIDTHS = (1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 255, 257, 1023, 1024, 1025, 2049)
LONG = np.longdouble
IMAGE = np.zeros((2, 2, 1), np.uint8)
PLANE = np.zeros((2, 2), np.float32)
PLACE, SHARE = np.zeros(1, np.int64), np.zeros(1, np.float32)


def ulps(got: NDArray, wanted: NDArray, of: NDArray) -> float:
    """The largest distance in steps of float32 at the size of ``of``."""
    return float((np.abs(got - wanted) / np.spacing(np.abs(of).astype(np.float32))).max())


def normal(seed: int, *shape: int, size: float = 1.0) -> NDArray:
    return (np.random.default_rng(seed).normal(size=shape) * size).astype(np.float32)


@pytest.mark.parametrize("size", [0.1, 1, 30])
@pytest.mark.parametrize("width", WIDTHS)
def test_norms_are_within_their_bounds(width: int, size: float) -> None:
    values, other = normal(width, 50, width, size=size), normal(width + 1, 50, width)
    gamma, beta = normal(2, width), normal(3, width)
    with np.errstate(all="raise"):
        centred = kernels.layer_norm(values, gamma, beta)
        of_sum, total = kernels.add_layer_norm(values, other, gamma, beta)
        scaled = kernels.rms_norm(values, gamma)
    assert total.tobytes() == (values + other).tobytes()
    for rows, got in ((values, centred), (total, of_sum)):
        far = rows.astype(LONG) - rows.astype(LONG).mean(-1, keepdims=True)
        product = far / np.sqrt((far * far).mean(-1, keepdims=True) + LONG(1e-5)) * gamma
        larger = np.maximum(np.abs(product), np.abs(product + beta))
        assert ulps(got, product + beta, larger) <= 4
    exact = values.astype(LONG)
    wanted = exact / np.sqrt((exact * exact).mean(-1, keepdims=True) + LONG(1e-5)) * gamma
    assert ulps(scaled, wanted, wanted) <= 3


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e30, -3e38])
def test_silu_times_is_within_its_bound_near_zero(factor: float) -> None:
    values = np.linspace(-110, 20, 5001).astype(np.float32)
    factors = np.full_like(values, factor)
    with np.errstate(all="ignore"):
        exact = values.astype(LONG) / (1 + np.exp(-values.astype(LONG))) * LONG(factors[0])
        got = kernels.silu_times(values, factors)
    held = np.abs(exact) < np.finfo(np.float32).max
    step = np.spacing(np.abs(exact[held]).astype(np.float32)).astype(LONG)
    slack = LONG(1e-36) * max(1.0, abs(factor))
    assert (np.abs(got[held] - exact[held]) <= 5 * step + slack).all()


def test_a_bias_and_gelu_are_gelu_of_the_rounded_sum() -> None:
    values, bias = normal(4, 40, 1025, size=4), normal(5, 1025)
    for approximate, plain in ((False, kernels.gelu), (True, kernels.gelu_tanh)):
        got = kernels.bias_gelu(values, bias, approximate=approximate)
        assert got.tobytes() == plain(values + bias).tobytes()


NO_SWITCHES: list[Any] = [1, 0, 2, "x", None, float("nan"), np.zeros(2, bool)]


@pytest.mark.parametrize("switch", NO_SWITCHES, ids=repr)
def test_what_is_no_switch_is_refused(switch: Any) -> None:
    line = np.zeros(2, np.float32)
    with pytest.raises(SettingError, match=r"approximate=.*: expected True or False"):
        kernels.bias_gelu(PLANE, line, approximate=switch)
    with pytest.raises(SettingError, match=r"relu=.*: expected True or False"):
        kernels.scale_channels(PLANE, line, line, relu=switch)


@pytest.mark.parametrize("switch", [np.True_, True])
def test_a_switch_of_numpy_is_one(switch: Any) -> None:
    line = np.full(2, -1, np.float32)
    assert not kernels.scale_channels(PLANE, line, line, relu=switch).any()


NO_NUMBERS: list[Callable[[], Any]] = [
    lambda: kernels.collate_images([IMAGE], (2, 2), mean=["a"], std=[1]),  # type: ignore[list-item]
    lambda: kernels.collate_images([IMAGE], (2, 2), mean=[0], std=[10**400]),
    lambda: kernels.collate_images([IMAGE], (2, 2), mean=5, std=[1]),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("call", NO_NUMBERS)
def test_what_is_no_mean_is_refused(call: Callable[[], Any]) -> None:
    with pytest.raises(SettingError, match="expected one of each for every channel"):
        call()


NO_PAIRS: list[Any] = [5, None, (), (PLACE,), (PLACE, SHARE, SHARE), np.zeros((2, 1))]


@pytest.mark.parametrize("mix", NO_PAIRS, ids=lambda mix: type(mix).__name__)
def test_what_is_no_pair_of_places_and_shares_is_refused(mix: Any) -> None:
    good = (PLACE, SHARE)
    with pytest.raises(ShapeError, match="rows is no pair; expected places and shares"):
        kernels.resize_linear(PLANE, mix, good)
    with pytest.raises(ShapeError, match="columns is no pair; expected places and shares"):
        kernels.resize_linear(PLANE, good, mix)
