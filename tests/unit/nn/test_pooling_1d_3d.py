"""Pools along one axis and over three, against every window looked at by itself."""

from itertools import product

import numpy as np
import pytest

from ruda import nn
from ruda.errors import DTypeError, SettingError, ShapeError
from ruda.tensor import Tensor


def normal(*shape, seed=0):
    return np.random.Generator(np.random.PCG64(seed)).normal(size=shape).astype(np.float32)


def run(layer, values):
    return layer(Tensor.from_data(values)).numpy()


def windows(shape, kernel, stride, pads, dilation):
    """Of each place of the output the slices of the padded input that its window sees."""
    counts = [
        (size + 2 * pad - gap * (span - 1) - 1) // step + 1
        for size, span, step, pad, gap in zip(shape, kernel, stride, pads, dilation, strict=True)
    ]
    for place in product(*map(range, counts)):
        starts = [at * step for at, step in zip(place, stride, strict=True)]
        yield (
            place,
            tuple(
                slice(start, start + gap * (span - 1) + 1, gap)
                for start, span, gap in zip(starts, kernel, dilation, strict=True)
            ),
        )


def plain(x, kernel, stride, pads, dilation, fill, reduce):
    border = [(0, 0), (0, 0), *((pad, pad) for pad in pads)]
    padded = np.pad(x.astype(np.float64), border, constant_values=fill)
    found = {
        place: reduce(padded[(slice(None), slice(None), *seen)], tuple(range(2, x.ndim)))
        for place, seen in windows(x.shape[2:], kernel, stride, pads, dilation)
    }
    out = np.empty((*x.shape[:2], *(at + 1 for at in max(found))))
    for place, values in found.items():
        out[(slice(None), slice(None), *place)] = values
    return out


CASES = [
    pytest.param((9,), (3,), (3,), (0,), (1,), id="1d"),
    pytest.param((9,), (4,), (2,), (2,), (1,), id="1d padded"),
    pytest.param((9,), (3,), (1,), (1,), (2,), id="1d dilated"),
    pytest.param((5, 6, 7), (2, 3, 2), (2, 3, 2), (0, 0, 0), (1, 1, 1), id="3d"),
    pytest.param((5, 6, 7), (3, 2, 2), (1, 2, 3), (1, 0, 1), (1, 1, 1), id="3d padded"),
    pytest.param((5, 6, 7), (2, 2, 3), (1, 2, 1), (1, 1, 0), (2, 1, 2), id="3d dilated"),
]


def settings_of(kernel, stride, pads, dilation):
    names = ("kernel_size", "stride", "padding", "dilation")
    given = dict(zip(names, (kernel, stride, pads, dilation), strict=True))
    return {name: value[0] for name, value in given.items()} if len(kernel) == 1 else given


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("shape", "kernel", "stride", "pads", "dilation"), CASES)
def test_the_largest_of_each_window(shape, kernel, stride, pads, dilation, dtype):
    x = normal(2, 3, *shape).astype(dtype)
    x[0, 0].flat[4], x[0, 1].flat[5] = np.nan, np.inf
    config = nn.MaxPool1dConfig if len(kernel) == 1 else nn.MaxPool3dConfig
    layer = config(**settings_of(kernel, stride, pads, dilation)).init()
    found = run(layer, x)
    assert found.dtype == dtype
    np.testing.assert_array_equal(
        found, plain(x, kernel, stride, pads, dilation, -np.inf, np.max).astype(dtype)
    )


@pytest.mark.parametrize("counts", [True, False], ids=["padding counts", "padding does not"])
@pytest.mark.parametrize(("shape", "kernel", "stride", "pads", "dilation"), CASES)
def test_the_mean_of_each_window(shape, kernel, stride, pads, dilation, counts):
    if max(dilation) > 1:
        dilation = (1,) * len(kernel)
    x = normal(2, 3, *shape)
    config = nn.AvgPool1dConfig if len(kernel) == 1 else nn.AvgPool3dConfig
    settings = settings_of(kernel, stride, pads, dilation)
    del settings["dilation"]
    layer = config(**settings, count_include_pad=counts).init()
    reduce, fill = (np.mean, 0.0) if counts else (np.nanmean, np.nan)
    expected = plain(x, kernel, stride, pads, dilation, fill, reduce)
    np.testing.assert_allclose(run(layer, x), expected, atol=1e-6)


FLAT = [
    pytest.param((5, 8), (2, 3), (2, 3), (0, 0), (1, 1), id="2d"),
    pytest.param((2, 2), (2, 2), (3, 3), (1, 1), (1, 1), id="2d from the padding"),
    pytest.param((2, 7), (3, 2), (2, 3), (0, 1), (1, 2), id="2d smaller than a window"),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("shape", "kernel", "stride", "pads", "dilation"), CASES + FLAT)
def test_the_largest_of_windows_over_the_end(shape, kernel, stride, pads, dilation, dtype):
    x = normal(2, 3, *shape).astype(dtype)
    config = (nn.MaxPool1dConfig, nn.MaxPool2dConfig, nn.MaxPool3dConfig)[len(kernel) - 1]
    layer = config(**settings_of(kernel, stride, pads, dilation), ceil_mode=True).init()
    border = [(0, 0), (0, 0), *((0, step - 1) for step in stride)]
    longer = np.pad(x, border, constant_values=-np.inf)
    expected = plain(longer, kernel, stride, pads, dilation, -np.inf, np.max)
    inside = (
        slice(-(-(size + pad) // step)) for size, pad, step in zip(shape, pads, stride, strict=True)
    )
    np.testing.assert_array_equal(run(layer, x), expected[(slice(None), slice(None), *inside)])


def test_a_mean_of_a_window_larger_than_the_input_is_that_of_the_input():
    x = np.array([[[1.0, 3.0]]], np.float32)
    np.testing.assert_array_equal(run(nn.AvgPool1d(3, stride=2, ceil_mode=True), x), [[[2]]])
    with pytest.raises(ShapeError, match=r"AvgPool1d: .*room for a window of 3"):
        run(nn.AvgPool1d(3, stride=1, ceil_mode=True), x)


def test_a_window_over_the_end_counts_what_is_there():
    x = np.arange(5, dtype=np.float32).reshape(1, 1, 5)
    np.testing.assert_allclose(run(nn.AvgPool1d(2, ceil_mode=True), x), [[[0.5, 2.5, 4]]])
    deep = np.broadcast_to(x[..., None, None], (1, 1, 5, 3, 3))
    found = run(nn.AvgPool3d(2, ceil_mode=True), np.ascontiguousarray(deep))
    np.testing.assert_allclose(found[0, 0, :, 0, 0], [0.5, 2.5, 4])
    assert found.shape == (1, 1, 3, 2, 2)


def test_padding_of_one_axis_may_differ_and_same_keeps_the_size():
    x = np.array([[[1.0, 2.0, 3.0]]], np.float32)
    np.testing.assert_array_equal(run(nn.MaxPool1d(2, stride=1, padding=(1, 0)), x), [[[1, 2, 3]]])
    np.testing.assert_array_equal(run(nn.MaxPool1d(2, stride=1, padding="same"), x), [[[2, 3, 3]]])
    deep = normal(1, 2, 3, 4, 5)
    assert run(nn.MaxPool3d(3, stride=1, padding="same"), deep).shape == deep.shape


ADAPTIVE = [
    pytest.param(nn.AdaptiveAvgPool1dConfig(3), (3,), np.mean, id="mean 1d"),
    pytest.param(nn.AdaptiveAvgPool3dConfig((2, 3, 4)), (2, 3, 4), np.mean, id="mean 3d"),
    pytest.param(nn.AdaptiveAvgPool3dConfig(1), (1, 1, 1), np.mean, id="mean 3d one"),
    pytest.param(nn.AdaptiveMaxPool1dConfig(3), (3,), np.max, id="max 1d"),
    pytest.param(nn.AdaptiveMaxPool2dConfig((3, 6)), (3, 6), np.max, id="max 2d"),
    pytest.param(nn.AdaptiveMaxPool3dConfig((2, 3, 4)), (2, 3, 4), np.max, id="max 3d"),
]


@pytest.mark.parametrize(("config", "size", "reduce"), ADAPTIVE)
def test_adaptive_cells(config, size, reduce):
    x = normal(2, 3, *(5, 4, 7)[: len(size)])
    x[0, 0].flat[1] = np.nan
    cells = [
        [slice(at * n // wanted, -(-(at + 1) * n // wanted)) for at in range(wanted)]
        for wanted, n in zip(size, x.shape[2:], strict=True)
    ]
    axes = tuple(range(2, x.ndim))
    found = [reduce(x[(slice(None), slice(None), *seen)], axes) for seen in product(*cells)]
    expected = np.stack(found, -1).reshape(2, 3, *size)
    np.testing.assert_allclose(run(config.init(), x), expected, atol=1e-6)


def test_no_items_give_none():
    assert nn.MaxPool1d(2)(Tensor.zeros((0, 1, 4))).shape == (0, 1, 2)
    assert nn.AvgPool3d(2)(Tensor.zeros((0, 1, 4, 4, 4))).shape == (0, 1, 2, 2, 2)


@pytest.mark.parametrize(
    ("layer", "shape", "message"),
    [
        (nn.MaxPool1d(3, dilation=2), (1, 1, 4), r"MaxPool1d: .*room for a window of 5, got"),
        (nn.AvgPool1d(2), (1, 1, 2, 2), r"AvgPool1d: .*\[batch, channel, length\] with room"),
        (nn.MaxPool3d(2, dilation=(2, 1, 1)), (1, 1, 2, 4, 4), "MaxPool3d: .*of 3 × 2 × 2"),
        (nn.AvgPool3d((1, 2, 3)), (1, 1, 4, 1, 4), "AvgPool3d: .*room for a window of 1 × 2 × 3"),
        (nn.AdaptiveAvgPool1d(2), (1, 2), r"AdaptiveAvgPool1d: .*\[batch, channel, length\]"),
        (nn.AdaptiveAvgPool3d(2), (1, 2, 3, 4), "AdaptiveAvgPool3d: .*depth, height, width"),
        (nn.AdaptiveMaxPool2d(2), (1, 2, 3), r"AdaptiveMaxPool2d: .*channel, height, width\]"),
    ],
    ids=["max 1d", "avg 1d", "max 3d", "avg 3d", "adaptive 1d", "adaptive 3d", "adaptive max"],
)
def test_wrong_shapes_name_the_layer(layer, shape, message):
    with pytest.raises(ShapeError, match=message):
        run(layer, np.zeros(shape, np.float32))


def test_whole_numbers_are_refused_under_the_name_of_the_layer():
    with pytest.raises(DTypeError, match=r"^MaxPool1d: expected a float tensor, got i32"):
        run(nn.MaxPool1d(2), np.zeros((1, 1, 4), np.int32))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nn.MaxPool1d(2, padding=2), "nothing but padding"),
        (lambda: nn.MaxPool3d(2, padding=(2, 0, 0)), "nothing but padding"),
        (lambda: nn.AvgPool1d(2, padding=2), "more than half of a window"),
        (lambda: nn.AvgPool3d(0), "kernel_size is one or three whole numbers from 1, got 0"),
        (lambda: nn.MaxPool1d(0), "kernel_size is one or two whole numbers from 1"),
        (lambda: nn.AdaptiveAvgPool1d(0), "output_size is one or two whole numbers from 1"),
        (lambda: nn.AdaptiveAvgPool3d((1, 2)), "output_size is one or three whole numbers from 1"),
    ],
    ids=["max 1d", "max 3d", "avg 1d", "avg 3d", "kernel", "adaptive 1d", "adaptive 3d"],
)
def test_wrong_settings_are_refused(make, message):
    with pytest.raises(SettingError, match=message):
        make()
