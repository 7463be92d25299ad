"""Deformable convolution against a loop over single products."""

import itertools
import math
import re

import numpy as np
import pytest

from ruda.errors import DTypeError, SettingError, ShapeError
from ruda.tensor import DType, Tensor


def tensor(values, dtype=None):
    return Tensor.from_data(np.asarray(values), dtype=dtype)


def seen(plane, y, x):
    """The plane between pixels; 0 outside."""
    total = 0.0
    for row, down in ((math.floor(y), 1 - y % 1), (math.floor(y) + 1, y % 1)):
        for column, right in ((math.floor(x), 1 - x % 1), (math.floor(x) + 1, x % 1)):
            if 0 <= row < plane.shape[0] and 0 <= column < plane.shape[1]:
                total += plane[row, column] * down * right
    return total


def one_by_one(values, offsets, weight, mask, bias, stride, padding, dilation, groups, parts):
    out, inner, rows, columns = weight.shape
    made = np.zeros((len(values), out, *offsets.shape[2:]))
    for n, o, y, x in np.ndindex(made.shape):
        total = bias[o]
        for i, (r, c) in itertools.product(range(inner), np.ndindex(rows, columns)):
            channel = o // (out // groups) * inner + i
            point = channel // (values.shape[1] // parts) * rows * columns + r * columns + c
            at_y = y * stride[0] - padding[0] + r * dilation[0] + offsets[n, 2 * point, y, x]
            at_x = x * stride[1] - padding[1] + c * dilation[1] + offsets[n, 2 * point + 1, y, x]
            share = mask[n, point, y, x] * weight[o, i, r, c]
            total += share * seen(values[n, channel], at_y, at_x)
        made[n, o, y, x] = total
    return made


CASES = [
    ((1, 1), (0, 0), (1, 1), 1, 1),
    ((2, 1), (1, 2), (1, 1), 2, 1),
    ((1, 2), (1, 0), (2, 1), 1, 2),
    ((1, 1), (1, 1), (1, 1), 2, 4),
]


@pytest.mark.parametrize(("stride", "padding", "dilation", "groups", "parts"), CASES)
def test_deform_conv2d(stride, padding, dilation, groups, parts):
    random = np.random.default_rng(5)
    values = random.normal(size=(2, 4, 6, 5))
    weight = random.normal(size=(6, 4 // groups, 3, 2))
    size = [
        (n + 2 * p - (k - 1) * d - 1) // s + 1
        for n, p, k, d, s in zip((6, 5), padding, (3, 2), dilation, stride, strict=True)
    ]
    offsets = random.normal(size=(2, 2 * parts * 6, *size)) * 2
    mask, bias = random.random((2, parts * 6, *size)), random.normal(size=6)
    found = tensor(values).deform_conv2d(
        tensor(offsets), tensor(weight), mask=tensor(mask), bias=tensor(bias), stride=stride,
        padding=padding, dilation=dilation, weight_groups=groups, offset_groups=parts,
    )  # fmt: skip
    wanted = one_by_one(
        values, offsets, weight, mask, bias, stride, padding, dilation, groups, parts
    )
    np.testing.assert_allclose(found.numpy(), wanted, atol=1e-11)


def test_without_offsets_it_is_a_convolution():
    values = tensor(np.random.default_rng(1).normal(size=(2, 3, 5, 5)), DType.F32)
    weight = tensor(np.random.default_rng(2).normal(size=(4, 3, 3, 3)), DType.F32)
    found = values.deform_conv2d(Tensor.zeros((2, 18, 3, 3)), weight)
    columns = values.unfold4d(3)
    wanted = weight.reshape(1, 4, 27).matmul(columns).reshape(2, 4, 3, 3)
    assert found.all_close(wanted, rtol=1e-5, atol=1e-5)
    half = values.cast(DType.BF16).deform_conv2d(
        Tensor.zeros((2, 18, 3, 3)).cast(DType.BF16), weight.cast(DType.BF16)
    )
    assert half.dtype is DType.BF16


def test_offsets_beyond_everything_see_nothing():
    values, weight = Tensor.ones((1, 1, 3, 3)), Tensor.ones((1, 1, 1, 1))
    offsets = Tensor.full((1, 2, 3, 3), float("inf"))
    assert not values.deform_conv2d(offsets, weight).any().item()
    assert values.deform_conv2d(offsets * 0 * 0, weight).is_nan().all().item()


V, W, Z = Tensor.ones((1, 2, 4, 4)), Tensor.ones((2, 2, 3, 3)), Tensor.zeros((1, 18, 2, 2))
REFUSED = [
    (lambda: V.deform_conv2d(Z[:, :9], W), ShapeError, "offsets of shape [1, 9, 2, 2]; expected"),
    (lambda: V.deform_conv2d(Z, W, mask=Z), ShapeError, "a mask of shape [1, 18, 2, 2]; expected"),
    (lambda: V.deform_conv2d(Z, W, bias=Z), ShapeError, "a bias of shape [1, 18, 2, 2] for 2"),
    (lambda: V.deform_conv2d(Z, W[:, :1]), ShapeError, "do not fit 1 weight groups"),
    (lambda: V.deform_conv2d(Z, W, weight_groups=0), SettingError, "groups are 1 or more, got 0"),
    (lambda: V.deform_conv2d(Z, W, stride=0), SettingError, "stride is one or two whole numbers"),
    (lambda: V.deform_conv2d(Z, W, dilation=3), ShapeError, "windows that span 7 do not fit"),
    (lambda: V[0].deform_conv2d(Z, W), ShapeError, "expected (n, channel, h, w)"),
    (lambda: V.deform_conv2d(Z.cast(DType.I32), W), DTypeError, "deform_conv2d: needs a float"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED, ids=[m for *_, m in REFUSED])
def test_refused(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()
