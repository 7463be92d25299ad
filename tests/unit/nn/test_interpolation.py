"""Interpolate1d and Interpolate2d against values that PyTorch 2.13 gave, and by their rules."""

import math

import numpy as np
import pytest

from ruda import nn
from ruda.errors import DTypeError, SettingError, ShapeError
from ruda.tensor import HostDevice, Tensor

MODES = ["nearest", "nearest_exact", "linear", "cubic", "lanczos"]
ROW = np.array([1, 2, 4, 8], np.float32)


def run(layer, values):
    return layer(Tensor.from_data(values)).numpy()


# torch.nn.functional.interpolate of [[[1, 2, 4, 8]]], nearest, nearest-exact and linear.
LINES = [
    pytest.param({"output_size": 6}, [1, 1, 2, 4, 4, 8], id="nearest, larger"),
    pytest.param({"output_size": 3}, [1, 2, 4], id="nearest, smaller"),
    pytest.param({"scale_factor": 1.6}, [1, 1, 2, 2, 4, 8], id="nearest, by a factor"),
    pytest.param({"output_size": 3, "mode": "nearest_exact"}, [1, 4, 8], id="exact, smaller"),
    pytest.param(
        {"output_size": 6, "mode": "nearest_exact"}, [1, 2, 2, 4, 8, 8], id="exact, larger"
    ),
    pytest.param({"output_size": 7, "mode": "linear"}, [1, 1.5, 2, 3, 4, 6, 8], id="corners"),
    pytest.param({"output_size": 1, "mode": "linear"}, [1], id="corners, one"),
    pytest.param(
        {"output_size": 8, "mode": "linear", "align_corners": False},
        [1, 1.25, 1.75, 2.5, 3.5, 5, 7, 8],
        id="half pixels",
    ),
    pytest.param(
        {"output_size": 2, "mode": "linear", "align_corners": False}, [1.5, 6], id="half, smaller"
    ),
    pytest.param(
        {"output_size": 7, "mode": "cubic"},
        [1, 1.3125, 2, 2.71875, 4, 6.1875, 8],
        id="cubic, corners",
    ),
    pytest.param(
        {"output_size": 6, "mode": "cubic", "align_corners": False},
        [0.91319444, 1.3125, 2.30439815, 3.38310185, 6.1875, 8.34722222],
        id="cubic, larger",
    ),
    pytest.param(
        {"output_size": 3, "mode": "cubic", "align_corners": False},
        [1.1087963, 2.71875, 7.46064815],
        id="cubic, smaller",
    ),
]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("settings", "expected"), LINES)
def test_a_line(settings, expected, dtype):
    got = run(nn.Interpolate1d(**settings), ROW.astype(dtype)[None, None])
    assert got.dtype == dtype
    np.testing.assert_allclose(got[0, 0], expected, rtol=1e-6)


def plain_lanczos(values, places):
    """Sums over the six neighbours that are there, by loops."""
    made = []
    for place in places:
        total = weight = 0.0
        for at in range(math.floor(place) - 2, math.floor(place) + 4):
            x = math.pi * (place - at)
            if 0 <= at < len(values) and abs(place - at) < 3:
                share = 1.0 if x == 0 else math.sin(x) * math.sin(x / 3) / (x * x / 3)
                total, weight = total + share * values[at], weight + share
        made.append(total / weight)
    return made


@pytest.mark.parametrize("size", [1, 3, 7, 20, 41])
@pytest.mark.parametrize("align_corners", [True, False])
def test_lanczos_is_that_of_plain_loops(size, align_corners):
    values = np.random.default_rng(2).normal(size=9)
    if align_corners:
        places = [i * 8 / max(size - 1, 1) for i in range(size)]
    else:
        places = [9 / size * (i + 0.5) - 0.5 for i in range(size)]
    layer = nn.Interpolate1d(output_size=size, mode="lanczos", align_corners=align_corners)
    got = run(layer, values[None, None])[0, 0]
    np.testing.assert_allclose(got, plain_lanczos(values, places), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("mode", ["cubic", "lanczos"])
def test_what_is_constant_stays_so_and_nan_reaches_only_its_neighbours(mode):
    layer = nn.Interpolate2d(output_size=(5, 31), mode=mode, align_corners=False)
    np.testing.assert_allclose(run(layer, np.full((1, 1, 7, 9), 3.0)), 3.0, rtol=1e-12)
    values = np.zeros((1, 1, 1, 24))
    values[0, 0, 0, 0] = np.nan
    got = run(nn.Interpolate2d(scale_factor=(1, 2), mode=mode, align_corners=False), values)
    reach = 5 if mode == "cubic" else 7  # places before 2 and 3
    assert np.isnan(got[0, 0, 0, :reach]).all()
    assert not got[0, 0, 0, reach:].any()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("align_corners", [True, False])
def test_a_plane_is_two_lines(mode, align_corners):
    x = np.random.default_rng(1).standard_normal((2, 3, 5, 7)).astype(np.float32)
    settings = {"mode": mode, "align_corners": align_corners}
    got = run(nn.Interpolate2d(output_size=(9, 4), **settings), x)
    across = run(nn.Interpolate1d(output_size=4, **settings), x.reshape(6, 5, 7))
    down = run(nn.Interpolate1d(output_size=9, **settings), across.transpose(0, 2, 1))
    np.testing.assert_allclose(got, down.transpose(0, 2, 1).reshape(2, 3, 9, 4), atol=1e-6)


@pytest.mark.parametrize("mode", MODES)
def test_the_same_size_changes_nothing(mode):
    x = np.array([[[[1, np.inf, -0.0], [np.nan, 2, 3]]]], np.float32)
    for align_corners in (True, False):
        layer = nn.Interpolate2d(output_size=(2, 3), mode=mode, align_corners=align_corners)
        np.testing.assert_array_equal(run(layer, x), x)


def test_the_configs_make_them():
    x = np.arange(12, dtype=np.float32).reshape(1, 1, 3, 4)
    two = nn.Interpolate2dConfig(scale_factor=(2.0, 0.5), mode="linear").init(HostDevice())
    assert run(two, x).shape == (1, 1, 6, 2)
    one = nn.Interpolate1dConfig(output_size=9, align_corners=False).init()
    assert run(one, x[0]).shape == (1, 3, 9)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        pytest.param({}, "needs output_size or scale_factor, and not both", id="neither"),
        pytest.param({"output_size": 2, "scale_factor": 2.0}, "and not both", id="both"),
        pytest.param({"output_size": 0}, "output_size is one or two whole numbers", id="size 0"),
        pytest.param({"scale_factor": -1.0}, "one or two positive numbers", id="negative"),
        pytest.param({"scale_factor": float("nan")}, "one or two positive numbers", id="NaN"),
        pytest.param({"output_size": 2, "mode": "area"}, "got 'area'", id="mode"),
    ],
)
def test_settings_that_are_refused(settings, message):
    with pytest.raises(SettingError, match=message):
        nn.Interpolate2d(**settings)


def test_inputs_that_are_refused():
    x = np.ones((1, 1, 3, 4), np.float32)
    with pytest.raises(ShapeError, match="height, width"):
        run(nn.Interpolate2d(output_size=2), x[0])
    with pytest.raises(ShapeError, match="with a point left by"):
        run(nn.Interpolate2d(scale_factor=0.1), x)
    with pytest.raises(ShapeError, match="length"):
        run(nn.Interpolate1d(output_size=2), x)
    with pytest.raises(DTypeError, match="expected a float tensor, got i32"):
        run(nn.Interpolate1d(output_size=2), x[0].astype(np.int32))
