"""Laws of layers: they agree with plain references, whatever the blocks they work in."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ruda import nn
from ruda.nn import conv
from ruda.tensor import DType, Tensor

sizes = st.integers(1, 3)


def normal(*shape, seed):
    return np.random.Generator(np.random.PCG64(seed)).normal(size=shape).astype(np.float32)


def windows(x, kernel, stride, dilation):
    """(batch, channel, rows, columns, kernel rows, kernel columns), by NumPy's own view."""
    reach = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True))
    seen = np.lib.stride_tricks.sliding_window_view(x, reach, axis=(2, 3))
    return seen[:, :, :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]]


@st.composite
def convolutions(draw):
    groups, per_group, filters = draw(sizes), draw(sizes), draw(sizes)
    pair = st.tuples(sizes, sizes)
    kernel, stride, dilation = draw(pair), draw(pair), draw(pair)
    pads = draw(st.tuples(*[st.integers(0, 2)] * 4))
    shape = (draw(sizes), groups * per_group, draw(st.integers(1, 9)), draw(st.integers(1, 9)))
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    assume(shape[2] + pads[0] + pads[2] >= reach[0])
    assume(shape[3] + pads[1] + pads[3] >= reach[1])
    layer = nn.Conv2d(
        shape[1],
        groups * filters,
        kernel,
        stride=stride,
        dilation=dilation,
        groups=groups,
        padding=pads,
        bias=draw(st.booleans()),
        seed=draw(st.integers(0, 9)),
    )
    return layer, normal(*shape, seed=draw(st.integers(0, 9))), groups, stride, dilation, pads


@given(convolutions(), st.sampled_from([1, 300, 1 << 22]))
def test_convolution(case, column_bytes):
    layer, x, groups, stride, dilation, pads = case
    top, left, bottom, right = pads
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (top, bottom), (left, right)))
    weight = layer.weight.value().numpy().astype(np.float64)
    seen = windows(padded, weight.shape[2:], stride, dilation)
    parts = [
        np.einsum("ncrsij,ocij->nors", part, filters)
        for part, filters in zip(
            np.split(seen, groups, axis=1), np.split(weight, groups), strict=True
        )
    ]
    expected = np.concatenate(parts, axis=1)
    if layer.bias is not None:
        expected += layer.bias.value().numpy()[:, None, None]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conv, "COLUMN_BYTES", column_bytes)
        found = layer(Tensor(x))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=1e-5)


@given(st.tuples(sizes, sizes), st.tuples(sizes, sizes), st.tuples(sizes, sizes), st.integers(0, 9))
def test_max_pool(kernel, stride, dilation, seed):
    x = normal(2, 2, 8, 9, seed=seed)
    layer = nn.MaxPool2d(kernel, stride=stride, dilation=dilation)
    expected = windows(x, kernel, stride, dilation).max(axis=(4, 5))
    np.testing.assert_array_equal(layer(Tensor(x)).numpy(), expected)


@given(st.lists(sizes, max_size=3), sizes, sizes, st.integers(0, 9))
def test_linear(batch, d_input, d_output, seed):
    layer, x = nn.Linear(d_input, d_output, seed=seed), normal(*batch, d_input, seed=seed)
    weight, bias = layer.weight.value().numpy(), layer.bias.value().numpy()
    np.testing.assert_allclose(layer(Tensor(x)).numpy(), x @ weight + bias, rtol=1e-5, atol=1e-6)


@given(sizes, st.lists(sizes, max_size=3), st.integers(0, 9))
def test_batch_norm(features, rest, seed):
    layer, x = nn.BatchNorm(features), normal(2, features, *rest, seed=seed)
    gamma, beta, mean = (normal(features, seed=seed + i) for i in range(3))
    variance = np.abs(normal(features, seed=seed + 3))
    params = (layer.gamma, layer.beta, layer.running_mean, layer.running_var)
    for param, value in zip(params, (gamma, beta, mean, variance), strict=True):
        param.assign(value.copy(), DType.F32)
    along = (features, *(1,) * len(rest))
    g, b, m, v = (p.astype(np.float64).reshape(along) for p in (gamma, beta, mean, variance))
    expected = (x - m) / np.sqrt(v + layer.epsilon) * g + b
    np.testing.assert_allclose(layer(Tensor(x)).numpy(), expected, rtol=1e-4, atol=1e-4)


@given(st.integers(1, 20), st.integers(1, 20), st.integers(1, 3))
def test_predict_does_not_depend_on_blocks(rows, batch_size, threads):
    model, x = nn.Linear(3, 2, seed=1), Tensor(normal(rows, 3, seed=rows))
    found = nn.predict(model, x, batch_size=batch_size, threads=threads)
    np.testing.assert_allclose(found.numpy(), model(x).numpy(), rtol=1e-5, atol=1e-6)
