"""Convolutions by Winograd's tiles: within their bound, and as by products where that matters."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from ruda import _kernels, nn
from ruda.nn import winograd
from ruda.nn.window import Window2d
from ruda.tensor import DType, Tensor

ROUNDING = 2.0**-24


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def summed(x, weight, padding):
    """The convolution in float64, and what the bound is in terms of."""
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (padding,) * 2, (padding,) * 2))
    seen = sliding_window_view(padded, (3, 3), axis=(2, 3))
    total = np.einsum("bcrthw,kchw->bkrt", seen, weight.astype(np.float64))
    largest = abs(np.pad(padded, ((0, 0), (0, 0), (2, 2), (2, 2)))).astype(np.float64)
    largest = sliding_window_view(largest, (7, 7), axis=(2, 3)).max(axis=(-2, -1))
    largest = largest[:, :, : total.shape[2], : total.shape[3]]
    return total, np.einsum("bcrt,kc->bkrt", largest, abs(weight).sum(axis=(2, 3)))


SIZES = [
    pytest.param((1, 1, 3, 3), 1, 0, id="one window"),
    pytest.param((1, 2, 3, 4), 3, 0, id="half a tile"),
    pytest.param((2, 3, 7, 9), 5, 1, id="odd"),
    pytest.param((3, 40, 14, 14), 33, 1, id="several images in a block"),
    pytest.param((2, 70, 41, 90), 64, 1, id="several blocks in an image"),
]


@pytest.mark.parametrize(("shape", "filters", "padding"), SIZES)
def test_results_are_within_the_bound(shape, filters, padding):
    x, weight, bias = normal(*shape), normal(filters, shape[1], 3, 3, seed=1), normal(filters)
    window = Window2d.of(3, 1, 1, padding)
    expected, size = summed(x, weight, padding)
    out = np.empty(expected.shape, np.float32)
    assert winograd.convolve(x, winograd.transformed(weight), bias, window, out) == []
    room = (shape[1] + 16) * ROUNDING * 16 * (size + abs(bias).reshape(-1, 1, 1))
    assert (abs(out - (expected + bias.reshape(-1, 1, 1))) <= room).all()


@pytest.fixture
def layer(monkeypatch):
    monkeypatch.setattr(_kernels, "variant", lambda: "base")  # NumPy alone never gains
    made = nn.Conv2d(40, 32, 3, padding=1, bias=False)
    made.weight.assign(normal(32, 40, 3, 3), DType.F32)
    return made


def test_a_layer_takes_it_where_it_gains(layer, monkeypatch):
    taken = []
    convolve = winograd.convolve

    def counted(*given):
        taken.append(given[0].shape)
        return convolve(*given)

    monkeypatch.setattr(winograd, "convolve", counted)
    for shape in ((1, 40, 28, 28), (1, 40, 10, 10)):
        layer(Tensor(normal(*shape)))
        layer(Tensor(normal(*shape).astype(np.float64)))
    assert taken == [(1, 40, 28, 28)]


def test_filters_are_kept_until_the_parameter_changes(layer):
    x = Tensor(normal(1, 40, 28, 28))
    first = layer(x).numpy()
    np.testing.assert_array_equal(layer(x).numpy(), first)
    layer.weight.assign(np.zeros((32, 40, 3, 3), np.float32), DType.F32)
    assert not layer(x).numpy().any()


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 3e38], ids=str)
def test_an_image_with_a_value_that_tiles_cannot_take_is_computed_by_products(
    layer, value, monkeypatch
):
    x = normal(3, 40, 28, 28)
    x[1, 5, 9, 9] = value
    got = layer(Tensor(x)).numpy()
    monkeypatch.setattr(winograd, "suits", lambda *_: False)
    expected = layer(Tensor(x)).numpy()
    np.testing.assert_array_equal(got[1], expected[1])
    np.testing.assert_allclose(got[::2], expected[::2], atol=1e-4)
    assert np.isfinite(got[::2]).all()
