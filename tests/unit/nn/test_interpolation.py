"""Interpolate1d and Interpolate2d against values that PyTorch 2.13 gave, and by their rules."""

import numpy as np
import pytest

from ruda import nn
from ruda.errors import DTypeError, SettingError, ShapeError
from ruda.tensor import HostDevice, Tensor

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
]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("settings", "expected"), LINES)
def test_a_line(settings, expected, dtype):
    got = run(nn.Interpolate1d(**settings), ROW.astype(dtype)[None, None])
    assert got.dtype == dtype
    np.testing.assert_allclose(got[0, 0], expected, rtol=1e-6)


@pytest.mark.parametrize("mode", ["nearest", "nearest_exact", "linear"])
@pytest.mark.parametrize("align_corners", [True, False])
def test_a_plane_is_two_lines(mode, align_corners):
    x = np.random.default_rng(1).standard_normal((2, 3, 5, 7)).astype(np.float32)
    settings = {"mode": mode, "align_corners": align_corners}
    got = run(nn.Interpolate2d(output_size=(9, 4), **settings), x)
    across = run(nn.Interpolate1d(output_size=4, **settings), x.reshape(6, 5, 7))
    down = run(nn.Interpolate1d(output_size=9, **settings), across.transpose(0, 2, 1))
    np.testing.assert_allclose(got, down.transpose(0, 2, 1).reshape(2, 3, 9, 4), atol=1e-6)


@pytest.mark.parametrize("mode", ["nearest", "nearest_exact", "linear"])
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
        pytest.param({"output_size": 2, "mode": "cubic"}, "got 'cubic'", id="mode"),
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
