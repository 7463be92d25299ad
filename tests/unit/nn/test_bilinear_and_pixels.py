"""Bilinear against its formula; PixelShuffle and PixelUnshuffle, pixel by pixel."""

import numpy as np
import pytest

from ruda import nn
from ruda.errors import DTypeError, SettingError, ShapeError
from ruda.tensor import DType, HostDevice, Tensor

DEVICE = HostDevice()


def normal(*shape, seed=0):
    return np.random.Generator(np.random.PCG64(seed)).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (0,)], ids=str)
@pytest.mark.parametrize("bias", [True, False])
def test_bilinear_against_its_formula(shape, bias):
    layer = nn.BilinearConfig(3, 4, 2, bias=bias).init(DEVICE, seed=1)
    first, second = normal(*shape, 3), normal(*shape, 4, seed=2)
    weight = layer.weight.value().numpy()
    expected = np.einsum("...i,oij,...j->...o", first, weight, second)
    if bias:
        expected = expected + layer.bias.value().numpy()
    found = layer.forward_pair(Tensor.from_data(first), Tensor.from_data(second)).numpy()
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("wide", ["first", "second", "weight"])
def test_one_double_makes_all_doubles(wide):
    layer = nn.Bilinear(3, 4, 2)
    if wide == "weight":
        layer.weight.assign(normal(2, 3, 4).astype(np.float64), DType.F64)
    first = normal(5, 3).astype(np.float64 if wide == "first" else np.float32)
    second = normal(5, 4).astype(np.float64 if wide == "second" else np.float32)
    found = layer.forward_pair(Tensor.from_data(first), Tensor.from_data(second))
    assert found.dtype is DType.F64


def test_draws_are_those_of_the_range_of_the_first_input():
    weight = nn.Bilinear(16, 8, 9, seed=1).weight.value().numpy()
    assert 0.95 / 4 < np.abs(weight).max() <= 1 / 4


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((2, 4), (2, 4)), r"Bilinear: .*\[…, 3\] as the first, got \[2, 4\]"),
        (((), (4,)), r"Bilinear: .*\[…, 3\] as the first, got \[\]"),
        (((2, 3), (4,)), r"Bilinear: .*\[2, 4\] as the second, got \[4\]"),
        (((2, 3), (2, 3)), r"Bilinear: .*\[2, 4\] as the second, got \[2, 3\]"),
    ],
    ids=["first", "scalar", "batch", "second"],
)
def test_wrong_shapes_say_which_input(shapes, message):
    first, second = (Tensor.zeros(shape) for shape in shapes)
    with pytest.raises(ShapeError, match=message):
        nn.Bilinear(3, 4, 2).forward_pair(first, second)


def test_whole_numbers_are_refused():
    with pytest.raises(DTypeError, match="Bilinear: expected a float tensor, got i32"):
        nn.Bilinear(3, 4, 2).forward_pair(
            Tensor.zeros((1, 3)), Tensor.from_data(np.zeros((1, 4), np.int32))
        )


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.float16])
@pytest.mark.parametrize("outer", [(), (2,), (2, 3)], ids=str)
def test_channels_become_the_pixels_of_squares(outer, dtype):
    x = np.arange(np.prod([*outer, 8, 3, 5], dtype=int)).reshape(*outer, 8, 3, 5).astype(dtype)
    found = nn.PixelShuffleConfig(2).init()(Tensor.from_data(x)).numpy()
    assert found.shape == (*outer, 2, 6, 10)
    assert found.dtype == dtype
    for channel in range(8):
        whole, row, column = channel // 4, channel // 2 % 2, channel % 2
        np.testing.assert_array_equal(
            found[..., whole, row::2, column::2], x[..., channel, :, :], err_msg=str(channel)
        )
    back = nn.PixelUnshuffleConfig(2).init()(Tensor.from_data(found)).numpy()
    np.testing.assert_array_equal(back, x)


@pytest.mark.parametrize(
    ("layer", "shape", "message"),
    [
        (nn.PixelShuffle(2), (6, 2, 2), r"PixelShuffle: .*\[…, a multiple of 4, height, width\]"),
        (nn.PixelShuffle(2), (4, 2), "PixelShuffle: .*a multiple of 4"),
        (nn.PixelUnshuffle(2), (1, 3, 4), "PixelUnshuffle: .*in multiples of 2 × 2"),
        (nn.PixelUnshuffle(2), (1, 4, 3), "PixelUnshuffle: .*in multiples of 2 × 2"),
    ],
    ids=["channels", "rank", "rows", "columns"],
)
def test_pixels_that_do_not_divide_are_refused(layer, shape, message):
    with pytest.raises(ShapeError, match=message):
        layer(Tensor.zeros(shape))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nn.Bilinear(3, 0, 2), "Bilinear needs positive sizes, got 3, 0 and 2"),
        (lambda: nn.PixelShuffle(0), "upscale_factor is a whole number from 1, got 0"),
        (lambda: nn.PixelUnshuffle(-1), "downscale_factor is a whole number from 1, got -1"),
    ],
    ids=["bilinear", "shuffle", "unshuffle"],
)
def test_wrong_settings_are_refused(make, message):
    with pytest.raises(SettingError, match=message):
        make()
