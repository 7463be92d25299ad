"""Layers against plain loops, and the settings and shapes they refuse."""

import math

import numpy as np
import pytest

from ruda import nn
from ruda.errors import DTypeError, ModelError, SettingError, ShapeError
from ruda.nn import conv
from ruda.tensor import DType, HostDevice, Tensor

DEVICE = HostDevice()


def normal(*shape, seed=0):
    return np.random.Generator(np.random.PCG64(seed)).normal(size=shape).astype(np.float32)


def plain_conv(x, weight, bias, stride, dilation, groups, pads):
    top, left, bottom, right = pads
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (top, bottom), (left, right)))
    out_channels, per_group, kh, kw = weight.shape
    rows = (x.shape[2] - dilation[0] * (kh - 1) - 1) // stride[0] + 1
    columns = (x.shape[3] - dilation[1] * (kw - 1) - 1) // stride[1] + 1
    out = np.zeros((x.shape[0], out_channels, rows, columns))
    for o in range(out_channels):
        first = o // (out_channels // groups) * per_group
        for r in range(rows):
            for c in range(columns):
                t, s = r * stride[0], c * stride[1]
                seen = x[
                    :,
                    first : first + per_group,
                    t : t + dilation[0] * (kh - 1) + 1 : dilation[0],
                    s : s + dilation[1] * (kw - 1) + 1 : dilation[1],
                ]
                out[:, o, r, c] = (seen * weight[o]).sum(axis=(1, 2, 3))
    return out if bias is None else out + bias[:, None, None]


CONVOLUTIONS = [
    pytest.param({}, (0, 0, 0, 0), id="plain"),
    pytest.param({"stride": (2, 1)}, (0, 0, 0, 0), id="stride"),
    pytest.param({"dilation": (1, 2)}, (0, 0, 0, 0), id="dilation"),
    pytest.param({"groups": 2}, (0, 0, 0, 0), id="groups"),
    pytest.param({"groups": 4, "bias": False}, (0, 0, 0, 0), id="depthwise"),
    pytest.param({"padding": 1}, (1, 1, 1, 1), id="padding"),
    pytest.param({"padding": (1, 2)}, (1, 2, 1, 2), id="padding by axis"),
    pytest.param({"padding": (0, 1, 2, 3)}, (0, 1, 2, 3), id="padding by side"),
    pytest.param({"padding": "same"}, (1, 0, 1, 1), id="same"),
    pytest.param({"padding": "same", "stride": 2}, (0, 0, 1, 0), id="same with stride"),
]


@pytest.mark.parametrize("column_bytes", [1 << 20, 900, 1])
@pytest.mark.parametrize(("options", "pads"), CONVOLUTIONS)
def test_convolution(options, pads, column_bytes, monkeypatch):
    monkeypatch.setattr(conv, "COLUMN_BYTES", column_bytes)
    layer = nn.Conv2d(4, 8, (3, 2), seed=1, **options)
    x = normal(3, 4, 8, 6)
    bias = None if layer.bias is None else layer.bias.value().numpy()
    expected = plain_conv(
        x,
        layer.weight.value().numpy(),
        bias,
        np.broadcast_to(options.get("stride", 1), 2),
        np.broadcast_to(options.get("dilation", 1), 2),
        options.get("groups", 1),
        pads,
    )
    found = layer(Tensor(x))
    assert found.dtype is DType.F32
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("groups", [1, 2])
def test_convolution_by_two_over_long_rows(groups):
    layer = nn.Conv2d(4, 6, (3, 2), stride=2, padding=1, groups=groups)
    layer.weight.assign(normal(6, 4 // groups, 3, 2), DType.F32)
    x = normal(2, 4, 9, 67)
    wide = layer(Tensor.from_data(x.astype(np.float64))).numpy()
    np.testing.assert_allclose(layer(Tensor.from_data(x)).numpy(), wide, atol=1e-5)


def test_point_convolution_of_views():
    layer = nn.Conv2dConfig((2, 3), 1).init(DEVICE, seed=2)
    x = normal(5, 4, 2, 3).transpose(3, 2, 0, 1)  # strides of every kind
    expected = plain_conv(
        x, layer.weight.value().numpy(), layer.bias.value().numpy(), (1, 1), (1, 1), 1, (0,) * 4
    )
    np.testing.assert_allclose(layer(Tensor(x)).numpy(), expected, rtol=1e-5, atol=1e-5)


POOLS = [
    pytest.param({}, id="stride is the kernel"),
    pytest.param({"stride": 1}, id="overlapping"),
    pytest.param({"stride": (1, 2), "dilation": (2, 1)}, id="dilation"),
    pytest.param({"padding": 1}, id="padding"),
]


@pytest.mark.parametrize("options", POOLS)
def test_max_pool(options):
    x = normal(2, 3, 7, 8)
    x[0, 0, 3, 3] = np.nan
    layer = nn.MaxPool2dConfig((2, 3), **options).init()
    stride = np.broadcast_to(options.get("stride", (2, 3)), 2)
    dilation = np.broadcast_to(options.get("dilation", 1), 2)
    pad = options.get("padding", 0)
    padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)), constant_values=-np.inf)
    rows = (padded.shape[2] - dilation[0] - 1) // stride[0] + 1
    columns = (padded.shape[3] - 2 * dilation[1] - 1) // stride[1] + 1
    expected = np.empty((2, 3, rows, columns), np.float32)
    for r in range(rows):
        for c in range(columns):
            t, s = r * stride[0], c * stride[1]
            seen = padded[:, :, t : t + dilation[0] + 1 : dilation[0]]
            expected[:, :, r, c] = seen[..., s : s + 2 * dilation[1] + 1 : dilation[1]].max((2, 3))
    np.testing.assert_array_equal(layer(Tensor(x)).numpy(), expected)


@pytest.mark.parametrize("shape", [(5, 3), (2, 3, 4), (2, 3, 4, 2)], ids=str)
def test_batch_norm(shape):
    layer = nn.BatchNormConfig(3, epsilon=1e-3).init(DEVICE)
    values = [normal(3, seed=i) for i in range(3)] + [np.abs(normal(3, seed=4))]
    params = (layer.gamma, layer.beta, layer.running_mean, layer.running_var)
    for param, value in zip(params, values, strict=True):
        param.assign(value, DType.F32)
    gamma, beta, mean, variance = (v.reshape(3, *(1,) * (len(shape) - 2)) for v in values)
    x = normal(*shape)
    expected = (x - mean) / np.sqrt(variance + 1e-3) * gamma + beta
    np.testing.assert_allclose(layer(Tensor(x)).numpy(), expected, rtol=1e-5, atol=1e-5)
    assert [param.trainable for param in params] == [True, True, False, False]


def test_linear_over_any_rank():
    layer = nn.Linear(3, 2, seed=1)
    weight, bias = layer.weight.value().numpy(), layer.bias.value().numpy()
    for shape in [(3,), (4, 3), (2, 4, 3), (0, 3)]:
        x = normal(*shape)
        np.testing.assert_allclose(layer(Tensor(x)).numpy(), x @ weight + bias, rtol=1e-5)


HALVES = [pytest.param(DType.F16, id="f16"), pytest.param(DType.BF16, id="bf16")]


@pytest.mark.parametrize("dtype", HALVES)
def test_halves_compute_in_f32_and_stay_halves(dtype):
    layer = nn.Linear(512, 1, seed=1)
    for entry in layer.walk():
        entry.param.assign(entry.param.value().cast(dtype).numpy().copy(), dtype)
    x = Tensor(normal(4, 512)).cast(dtype)
    weight, bias = (entry.param.value().numpy().astype(np.float64) for entry in layer.walk())
    found = layer(x)
    np.testing.assert_allclose(
        found.numpy(), x.numpy().astype(np.float64) @ weight + bias, rtol=1e-4, atol=1e-5
    )
    assert (found.dtype, layer.weight.dtype) == (DType.F32, dtype)


def test_doubles_compute_in_f64():
    layer = nn.Linear(2, 1, seed=1)
    x = Tensor.from_data([[0.1, 0.2]], dtype=DType.F64)
    assert layer(x).dtype is DType.F64
    assert nn.Relu()(x).dtype is DType.F64
    for entry in layer.walk():
        entry.param.assign(entry.param.value().cast(DType.F64).numpy().copy(), DType.F64)
    assert layer(x.cast(DType.F32)).dtype is DType.F64


def test_activations():
    x = Tensor.from_data([-np.inf, -40.0, -6.0, -1.0, -0.0, 0.5, 3.0, np.inf, np.nan])
    expected = [
        v * 0.5 * math.erfc(-v / math.sqrt(2)) if math.isfinite(v) else (v if v > 0 else 0.0)
        for v in x.tolist()[:-1]
    ]
    found = nn.Gelu()(x).numpy()
    np.testing.assert_allclose(found[:-1], expected, rtol=1e-6)
    assert np.isnan(found[-1])
    relu = nn.Relu()(x).numpy()
    np.testing.assert_array_equal(relu, [0, 0, 0, 0, 0, 0.5, 3, np.inf, np.nan])


def test_dropout_is_the_identity():
    layer, x = nn.DropoutConfig(0.5).init(), Tensor.ones((2,))
    assert layer(x) is x
    layer.train()
    with pytest.raises(ModelError, match=r"Dropout: nothing is dropped here; call model.eval"):
        layer(x)


def test_default_initialisation_follows_fan_in():
    layer = nn.Conv2d(4, 8, 3, seed=1)
    assert np.abs(layer.weight.value().numpy()).max() <= 1 / 6
    assert np.abs(layer.bias.value().numpy()).max() <= 1 / 6
    again, other = nn.Conv2d(4, 8, 3, seed=1), nn.Conv2d(4, 8, 3, seed=2)
    np.testing.assert_array_equal(layer.weight.value().numpy(), again.weight.value().numpy())
    assert (layer.weight.value().numpy() != other.weight.value().numpy()).any()
    assert (layer.weight.value().numpy()[0, 0, 0] != layer.bias.value().numpy()[:3]).all()


SETTINGS = [
    pytest.param(lambda: nn.Linear(0, 1), "Linear needs positive sizes, got 0 and 1", id="linear"),
    pytest.param(lambda: nn.Conv2d(1, 0, 3), "Conv2d needs positive channels", id="channels"),
    pytest.param(lambda: nn.Conv2d(3, 4, 3, groups=2), "3 and 4 do not divide by 2", id="groups"),
    pytest.param(lambda: nn.Conv2d(1, 1, 0), "kernel_size is one or two", id="kernel"),
    pytest.param(lambda: nn.Conv2d(1, 1, 3, stride=(1, 0)), "stride is one or two", id="stride"),
    pytest.param(lambda: nn.Conv2d(1, 1, 3, padding=-1), "padding is 'valid'", id="negative"),
    pytest.param(lambda: nn.Conv2d(1, 1, 3, padding="full"), "got 'full'", id="padding word"),
    pytest.param(lambda: nn.Conv2d(1, 1, 3, padding=(1, 2, 3)), "got .1, 2, 3", id="three sides"),
    pytest.param(lambda: nn.MaxPool2d(2, padding=2), "nothing but padding", id="pool padding"),
    pytest.param(lambda: nn.BatchNorm(0), "at least one feature, got 0", id="features"),
    pytest.param(lambda: nn.BatchNorm(1, epsilon=-1), "epsilon is not negative", id="epsilon"),
    pytest.param(lambda: nn.Dropout(1.5), "a probability is 0 to 1, got 1.5", id="probability"),
]


@pytest.mark.parametrize(("make", "message"), SETTINGS)
def test_settings_are_checked_at_once(make, message):
    with pytest.raises(SettingError, match=message):
        make()


SHAPES = [
    pytest.param(nn.Conv2d(3, 1, 3), (1, 1, 8, 8), r"\[batch, 3, height, width\], got", id="conv"),
    pytest.param(nn.Conv2d(1, 1, 3), (1, 8, 8), r"got \[1, 8, 8\]", id="conv rank"),
    pytest.param(nn.Conv2d(1, 1, 5), (1, 1, 4, 8), "room for a window of 5 × 5", id="conv size"),
    pytest.param(nn.MaxPool2d(3), (1, 1, 2, 8), "room for a window of 3 × 3", id="pool size"),
    pytest.param(nn.MaxPool2d(3), (3, 3), r"got \[3, 3\]", id="pool rank"),
    pytest.param(nn.BatchNorm(3), (3,), r"\[batch, 3, …\], got \[3\]", id="norm rank"),
    pytest.param(nn.BatchNorm(3), (1, 4), r"\[batch, 3, …\], got \[1, 4\]", id="norm features"),
    pytest.param(nn.Linear(3, 1), (), r"\[…, 3\], got \[\]", id="linear scalar"),
]


@pytest.mark.parametrize(("layer", "shape", "message"), SHAPES)
def test_wrong_shapes(layer, shape, message):
    with pytest.raises(ShapeError, match=message):
        layer(Tensor.zeros(shape))


@pytest.mark.parametrize("layer", [nn.Relu(), nn.Gelu(), nn.BatchNorm(2), nn.MaxPool2d(1)])
def test_integers_are_refused(layer):
    with pytest.raises(DTypeError, match="expected a float tensor, got u8; cast it to f32 first"):
        layer(Tensor.zeros((1, 2, 1, 1), dtype=DType.U8))


def test_integer_parameters_are_refused():
    layer = nn.Linear(1, 1)
    layer.weight.assign(np.ones((1, 1), np.int8), DType.I8)
    with pytest.raises(DTypeError, match="Linear: expected float parameters, got i8"):
        layer(Tensor.ones((1, 1)))


def test_empty_batch():
    assert nn.Conv2d(1, 2, 3)(Tensor.zeros((0, 1, 5, 5))).shape == (0, 2, 3, 3)
    assert nn.MaxPool2d(2)(Tensor.zeros((0, 1, 4, 4))).shape == (0, 1, 2, 2)


SPREADING = [
    pytest.param(nn.Linear(4, 2, seed=1), (3, 4), id="linear"),
    pytest.param(nn.Conv2d(1, 2, 2, seed=1), (3, 1, 4, 4), id="conv"),
    pytest.param(nn.BatchNorm(4), (3, 4), id="norm"),
    pytest.param(nn.Gelu(), (3, 4), id="gelu"),
    pytest.param(nn.Relu(), (3, 4), id="relu"),
]


@pytest.mark.parametrize("value", [np.nan, np.inf, 3e38], ids=["nan", "inf", "huge"])
@pytest.mark.parametrize(("layer", "shape"), SPREADING)
def test_bad_values_stay_in_their_row_without_warnings(layer, shape, value):
    x = normal(*shape)
    clean = layer(Tensor(x)).numpy()
    x[1] = value
    dirty = layer(Tensor(x)).numpy()
    np.testing.assert_array_equal(dirty[[0, 2]], clean[[0, 2]])
    assert (dirty[1] != clean[1]).any()
