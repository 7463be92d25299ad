"""Layers of sequences, norms and pools against plain loops; figures that PyTorch gives."""

import numpy as np
import pytest

from ruda import nn
from ruda.errors import DTypeError, SettingError, ShapeError
from ruda.tensor import DType, HostDevice, Tensor

DEVICE = HostDevice()


def normal(*shape, seed=0):
    return np.random.Generator(np.random.PCG64(seed)).normal(size=shape).astype(np.float32)


def run(layer, values):
    return layer(Tensor.from_data(values)).numpy()


def filled(layer, seed=1):
    for at, entry in enumerate(layer.walk()):
        entry.param.assign(normal(*entry.param.shape, seed=seed + at), DType.F32)
    return layer


def scaled(x, gamma, beta, axis):
    along = [1] * x.ndim
    along[axis] = -1
    return x * gamma.reshape(along) + beta.reshape(along)


def standard(x, axes):
    x = x.astype(np.float64)
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)


class TestNorms:
    def test_layer_norm_is_over_the_last_axis(self):
        layer, x = filled(nn.LayerNorm(5)), normal(3, 4, 5)
        expected = scaled(
            standard(x, -1), layer.gamma.value().numpy(), layer.beta.value().numpy(), -1
        )
        np.testing.assert_allclose(run(layer, x), expected, atol=1e-6)

    @pytest.mark.parametrize("shape", [(2, 6, 5), (2, 6, 3, 4), (2, 6, 2, 3, 2)])
    @pytest.mark.parametrize("groups", [1, 2, 3, 6])
    def test_group_norm_is_over_the_channels_of_a_group(self, shape, groups):
        layer, x = filled(nn.GroupNorm(groups, 6)), normal(*shape)
        grouped = standard(x.reshape(2, groups, -1), -1).reshape(shape)
        expected = scaled(grouped, layer.gamma.value().numpy(), layer.beta.value().numpy(), 1)
        np.testing.assert_allclose(run(layer, x), expected, atol=1e-5)

    def test_instance_norm_is_group_norm_with_a_group_for_each_channel(self):
        x = normal(2, 6, 4, 3)
        ours, groups = filled(nn.InstanceNorm(6)), filled(nn.GroupNorm(6, 6))
        np.testing.assert_array_equal(run(ours, x), run(groups, x))

    def test_rms_norm_takes_no_mean_away(self):
        layer, x = filled(nn.RmsNorm(5)), normal(3, 5)
        wide = x.astype(np.float64)
        expected = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-5)
        np.testing.assert_allclose(run(layer, x), expected * layer.gamma.value().numpy(), atol=1e-6)

    def test_without_gamma_and_beta_there_is_nothing_to_store(self):
        layers = (nn.GroupNorm(2, 4, affine=False), nn.InstanceNorm(4, affine=False))
        assert [layer.num_params() for layer in layers] == [0, 0]
        np.testing.assert_allclose(
            run(layers[1], normal(1, 4, 9)), standard(normal(1, 4, 9), -1), atol=1e-6
        )
        assert [entry.key for entry in nn.LayerNorm(4, bias=False).walk()] == ["gamma"]

    def test_large_values_keep_their_variance(self):
        """The variance is that of the differences, not a difference of squares."""
        x = np.array([[10000.0, 10001.0, 10002.0]], np.float32)
        np.testing.assert_allclose(run(nn.LayerNorm(3), x), [[-1.22474, 0.0, 1.22474]], atol=1e-4)

    @pytest.mark.parametrize(
        ("make", "shape", "message"),
        [
            (lambda: nn.LayerNorm(5), (2, 4), r"LayerNorm: .*shape \[…, 5\], got \[2, 4\]"),
            (lambda: nn.RmsNorm(5), (), r"RmsNorm: .*\[…, 5\], got \[\]"),
            (lambda: nn.GroupNorm(2, 4), (2, 6), r"GroupNorm: .*\[batch, 4, …\], got \[2, 6\]"),
            (lambda: nn.InstanceNorm(4), (4,), r"InstanceNorm: .*\[batch, 4, …\], got \[4\]"),
        ],
        ids=["layer", "rms", "group", "instance"],
    )
    def test_wrong_shapes_name_the_layer(self, make, shape, message):
        with pytest.raises(ShapeError, match=message):
            run(make(), np.zeros(shape, np.float32))

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: nn.LayerNorm(0), "LayerNorm needs at least one feature, got 0"),
            (lambda: nn.RmsNorm(4, epsilon=-1.0), "epsilon is not negative, got -1.0"),
            (lambda: nn.GroupNorm(4, 6), "6 channels do not divide by 4 groups"),
            (lambda: nn.GroupNorm(0, 6), "6 channels do not divide by 0 groups"),
            (lambda: nn.PRelu(0), "PRelu needs at least one parameter, got 0"),
            (lambda: nn.Embedding(0, 3), "Embedding needs positive sizes, got 0 and 3"),
            (lambda: nn.Conv1d(3, 4, 2, groups=2), "channels 3 and 4 do not divide by 2"),
            (lambda: nn.Conv1d(3, 4, 2, padding=(1, 2, 3)), "one or two whole numbers from 0"),
            (lambda: nn.AvgPool2d(2, padding=2), "padding .* is more than half of a window"),
        ],
        ids=[
            "features",
            "epsilon",
            "groups",
            "no-groups",
            "prelu",
            "embedding",
            "conv",
            "pads",
            "pool",
        ],
    )
    def test_wrong_settings_are_refused(self, make, message):
        with pytest.raises(SettingError, match=message):
            make()


class TestPRelu:
    def test_one_slope_or_one_for_each_channel(self):
        x = np.array([[[-2.0, 3.0], [-4.0, np.nan]]], np.float32)
        np.testing.assert_array_equal(run(nn.PRelu(), x), [[[-0.5, 3.0], [-1.0, np.nan]]])
        layer = nn.PReluConfig(2).init(DEVICE)
        layer.alpha.assign(np.array([0.5, 2.0], np.float32), DType.F32)
        np.testing.assert_array_equal(run(layer, x), [[[-1.0, 3.0], [-8.0, np.nan]]])

    def test_channels_are_axis_1(self):
        with pytest.raises(ShapeError, match=r"\[batch, 2, …\], got \[2, 3\]"):
            run(nn.PRelu(2), np.zeros((2, 3), np.float32))


class TestEmbedding:
    def test_rows_by_number(self):
        layer = nn.Embedding(5, 3, seed=4)
        rows = np.array([[0, 4], [2, 2]])
        np.testing.assert_array_equal(run(layer, rows), layer.weight.value().numpy()[rows])

    def test_half_tables_give_f32(self):
        layer = nn.Embedding(2, 3)
        layer.weight.assign(np.ones((2, 3), np.float16), DType.F16)
        assert layer(Tensor.from_data(np.array([1]))).dtype is DType.F32

    @pytest.mark.parametrize("number", [-1, 5])
    def test_a_number_of_no_row_is_refused(self, number):
        with pytest.raises(ShapeError, match=f"there is no row {number}; the table has 5 rows"):
            run(nn.Embedding(5, 3), np.array([0, number]))

    def test_floats_are_no_numbers_of_rows(self):
        with pytest.raises(DTypeError, match="Embedding: expected whole numbers, got f32"):
            run(nn.Embedding(5, 3), np.zeros(2, np.float32))


def plain_conv1d(x, weight, bias, stride, dilation, groups, pads):
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), pads))
    out_channels, per_group, size = weight.shape
    length = (x.shape[2] - dilation * (size - 1) - 1) // stride + 1
    out = np.zeros((x.shape[0], out_channels, length))
    for channel in range(out_channels):
        first = channel // (out_channels // groups) * per_group
        for at in range(length):
            start = at * stride
            seen = x[
                :, first : first + per_group, start : start + dilation * (size - 1) + 1 : dilation
            ]
            out[:, channel, at] = (seen * weight[channel]).sum(axis=(1, 2))
    return out + bias[:, None]


class TestConv1d:
    @pytest.mark.parametrize(
        ("kernel", "stride", "dilation", "groups", "padding", "pads"),
        [
            (1, 1, 1, 1, "valid", (0, 0)),
            (3, 1, 1, 2, 1, (1, 1)),
            (4, 2, 2, 1, (3, 1), (3, 1)),
            (3, 1, 2, 1, "same", (2, 2)),
            (4, 1, 1, 1, "same", (1, 2)),
        ],
        ids=["one", "groups", "dilated", "same", "same-even"],
    )
    def test_against_plain_loops(self, kernel, stride, dilation, groups, padding, pads):
        config = nn.Conv1dConfig(4, 6, kernel, stride, dilation, groups, padding)
        layer, x = config.init(DEVICE, seed=3), normal(2, 4, 17)
        weight, bias = layer.weight.value().numpy(), layer.bias.value().numpy()
        expected = plain_conv1d(x, weight, bias, stride, dilation, groups, pads)
        np.testing.assert_allclose(run(layer, x), expected, atol=1e-5)

    def test_draws_are_those_of_the_range_of_its_fan(self):
        weight = nn.Conv1d(8, 16, 5, seed=1).weight.value().numpy()
        limit = 1 / np.sqrt(8 * 5)
        assert 0.95 * limit < np.abs(weight).max() <= limit

    @pytest.mark.parametrize("shape", [(2, 3, 9), (2, 4), (1, 4, 2)])
    def test_wrong_shapes_name_the_layer(self, shape):
        with pytest.raises(ShapeError, match=r"Conv1d: expected an input of shape \[batch, 4, len"):
            run(nn.Conv1d(4, 2, 3), np.zeros(shape, np.float32))


class TestAveragePools:
    def test_padding_counts_unless_told(self):
        ones = np.ones((1, 1, 2, 2), np.float32)
        np.testing.assert_allclose(
            run(nn.AvgPool2d(2, stride=2, padding=1), ones), np.full((1, 1, 2, 2), 0.25)
        )
        layer = nn.AvgPool2dConfig(2, 2, 1, count_include_pad=False).init()
        np.testing.assert_allclose(run(layer, ones), np.ones((1, 1, 2, 2)))

    def test_a_window_over_the_end_counts_what_is_there(self):
        x = np.arange(25, dtype=np.float32).reshape(1, 1, 5, 5)
        expected = [[[[3, 5, 6.5], [13, 15, 16.5], [20.5, 22.5, 24]]]]
        np.testing.assert_allclose(run(nn.AvgPool2d(2, ceil_mode=True), x), expected)
        np.testing.assert_allclose(run(nn.AvgPool2d(2), x), np.array(expected)[..., :2, :2])

    def test_a_window_that_starts_in_the_padding_at_the_end_is_left_out(self):
        x = np.ones((1, 1, 2, 2), np.float32)
        assert run(nn.AvgPool2d(2, stride=3, padding=1, ceil_mode=True), x).shape == (1, 1, 1, 1)

    @pytest.mark.parametrize("count_include_pad", [True, False])
    @pytest.mark.parametrize("ceil_mode", [True, False])
    @pytest.mark.parametrize("padding", ["valid", "same", 1], ids=str)
    @pytest.mark.parametrize("window", [(2, 2), (3, 1), ((3, 5), (2, 4))], ids=str)
    def test_means_in_f32_are_those_in_f64(self, window, padding, ceil_mode, count_include_pad):
        if padding == 1 and window[1] == (2, 4):
            padding = (1, 2)
        layer = nn.AvgPool2d(
            window[0],
            stride=window[1],
            padding=padding,
            ceil_mode=ceil_mode,
            count_include_pad=count_include_pad,
        )
        x = np.random.default_rng(4).standard_normal((2, 3, 11, 13)).astype(np.float32)
        found, expected = run(layer, x), run(layer, x.astype(np.float64))
        allowed = 15 * 2.0**-23 * run(layer, np.abs(x).astype(np.float64))
        assert found.dtype == np.float32
        assert (np.abs(found - expected) <= allowed).all()

    def test_adaptive_cells_overlap_where_sizes_do_not_divide(self):
        x = np.arange(5, dtype=np.float32).reshape(1, 1, 1, 5)
        found = run(nn.AdaptiveAvgPool2dConfig((1, 3)).init(), x)
        np.testing.assert_allclose(found, [[[[0.5, 2.0, 3.5]]]])

    def test_no_room_for_a_window(self):
        with pytest.raises(ShapeError, match=r"AvgPool2d: .*room for a window of 3 × 3"):
            run(nn.AvgPool2d(3), np.zeros((1, 1, 2, 5), np.float32))
        with pytest.raises(ShapeError, match="AdaptiveAvgPool2d: "):
            run(nn.AdaptiveAvgPool2d(3), np.zeros((1, 2, 5), np.float32))


@pytest.mark.parametrize(
    ("config", "keys"),
    [
        (nn.LayerNormConfig(4), {"gamma": (4,), "beta": (4,)}),
        (nn.GroupNormConfig(2, 4), {"gamma": (4,), "beta": (4,)}),
        (nn.InstanceNormConfig(4), {"gamma": (4,), "beta": (4,)}),
        (nn.RmsNormConfig(4), {"gamma": (4,)}),
        (nn.PReluConfig(), {"alpha": (1,)}),
        (nn.EmbeddingConfig(5, 4), {"weight": (5, 4)}),
        (nn.Conv1dConfig(4, 6, 3, groups=2), {"weight": (6, 2, 3), "bias": (6,)}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_names_and_shapes_of_parameters(config, keys):
    layer = config.init(DEVICE)
    assert {entry.key: entry.param.shape for entry in layer.walk()} == keys
    assert {entry.containers for entry in layer.walk()} == {
        (f"Struct:{type(config).__name__.removesuffix('Config')}",)
    }
