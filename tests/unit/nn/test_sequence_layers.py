"""Recurrent layers, attention, transformer layers and the convolutions of other ranks."""

import numpy as np
import pytest

from ruda import nn
from ruda.errors import ModelError, SettingError, ShapeError
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


def values_of(layer):
    return {entry.key: entry.param.value().numpy().astype(np.float64) for entry in layer.walk()}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gate(values, name, x, h):
    part = f"{name}.input_transform"
    given = x @ values[f"{part}.weight"] + values[f"{part}.bias"]
    part = f"{name}.hidden_transform"
    return given, h @ values[f"{part}.weight"] + values[f"{part}.bias"]


class TestRecurrent:
    def test_lstm_against_its_formula(self):
        layer, x = filled(nn.Lstm(3, 4)), normal(2, 5, 3)
        values = values_of(layer)
        h = c = np.zeros((2, 4))
        expected = []
        for at in range(5):
            total = {name: sum(gate(values, name, x[:, at], h)) for name in layer.gates}
            c = sigmoid(total["forget_gate"]) * c
            c = c + sigmoid(total["input_gate"]) * np.tanh(total["cell_gate"])
            h = sigmoid(total["output_gate"]) * np.tanh(c)
            expected.append(h)
        out, state = layer.forward_with_state(Tensor.from_data(x))
        np.testing.assert_allclose(out.numpy(), np.stack(expected, 1), atol=1e-5)
        np.testing.assert_allclose(state.hidden.numpy(), h, atol=1e-5)
        np.testing.assert_allclose(state.cell.numpy(), c, atol=1e-5)

    @pytest.mark.parametrize("reset_after", [True, False])
    def test_gru_against_its_formula(self, reset_after):
        layer, x = filled(nn.Gru(3, 4, reset_after=reset_after)), normal(2, 5, 3)
        values = values_of(layer)
        h, expected = np.zeros((2, 4)), []
        for at in range(5):
            update = sigmoid(sum(gate(values, "update_gate", x[:, at], h)))
            reset = sigmoid(sum(gate(values, "reset_gate", x[:, at], h)))
            given, inner = gate(values, "new_gate", x[:, at], h if reset_after else reset * h)
            new = np.tanh(given + (reset * inner if reset_after else inner))
            h = (1 - update) * new + update * h
            expected.append(h)
        np.testing.assert_allclose(run(layer, x), np.stack(expected, 1), atol=1e-5)

    @pytest.mark.parametrize(
        ("activation", "act"),
        [("tanh", np.tanh), ("relu", lambda x: np.maximum(x, 0))],
        ids=["tanh", "relu"],
    )
    def test_rnn_against_its_formula(self, activation, act):
        layer, x = filled(nn.RnnConfig(3, 4, activation=activation).init(DEVICE)), normal(2, 3, 3)
        values, h, expected = values_of(layer), np.zeros((2, 4)), []
        for at in range(3):
            h = act(sum(gate(values, "gate", x[:, at], h)))
            expected.append(h)
        np.testing.assert_allclose(run(layer, x), np.stack(expected, 1), rtol=1e-5, atol=1e-5)

    @pytest.mark.parametrize("make", [nn.Rnn, nn.Lstm, nn.Gru])
    def test_reverse_is_the_other_way_along_the_sequence(self, make):
        x = normal(2, 6, 3)
        there, back = filled(make(3, 4)), filled(make(3, 4, reverse=True))
        np.testing.assert_array_equal(run(back, x), run(there, x[:, ::-1])[:, ::-1])

    @pytest.mark.parametrize(
        ("both", "one"), [(nn.BiRnn, nn.Rnn), (nn.BiLstm, nn.Lstm), (nn.BiGru, nn.Gru)]
    )
    def test_both_ways_side_by_side(self, both, one):
        layer, x = both(3, 4, seed=2), normal(2, 6, 3)
        keys = {entry.key.partition(".")[0] for entry in layer.walk()}
        assert keys == {"forward", "reverse"}
        out = run(layer, x)
        np.testing.assert_array_equal(out[..., :4], run(layer.forward_, x))
        np.testing.assert_array_equal(out[..., 4:], run(layer.reverse, x))
        assert isinstance(layer.forward_, one)

    def test_a_sequence_in_two_parts_is_the_sequence(self):
        layer, x = nn.Lstm(3, 4, batch_first=False), normal(6, 2, 3)
        first, state = layer.forward_with_state(Tensor.from_data(x[:2]))
        second, _ = layer.forward_with_state(Tensor.from_data(x[2:]), state)
        both = np.concatenate([first.numpy(), second.numpy()])
        np.testing.assert_allclose(both, run(layer, x), atol=1e-6)

    def test_keys_and_kinds_of_a_gate(self):
        spec = nn.ModuleSpec.of(nn.BiLstm(3, 4))
        entry = spec.entries[0]
        assert entry.key == "forward.input_gate.input_transform.weight"
        kinds = ("BiLstm", "Lstm", "GateController", "Linear")
        assert entry.containers == tuple(f"Struct:{kind}" for kind in kinds)
        assert len(spec.entries) == 2 * 4 * 2 * 2

    def test_without_biases(self):
        layer = nn.LstmConfig(3, 4, bias=False).init(DEVICE)
        assert len(list(layer.walk())) == 8
        assert run(layer, normal(1, 2, 3)).shape == (1, 2, 4)

    def test_wrong_shapes_and_settings(self):
        with pytest.raises(ShapeError, match=r"Lstm: .*\[batch, time, 3\], got \[2, 3\]"):
            run(nn.Lstm(3, 4), np.zeros((2, 3), np.float32))
        with pytest.raises(SettingError, match="Gru needs positive sizes, got 0 and 4"):
            nn.Gru(0, 4)
        with pytest.raises(SettingError, match="activation is 'tanh' or 'relu', got 'gelu'"):
            nn.Rnn(3, 4, activation="gelu")
        state = nn.RecurrentState(Tensor.from_data(np.zeros((1, 4), np.float32)))
        with pytest.raises(ShapeError, match=r"\[2, 4\] as state, got \[1, 4\]"):
            nn.Gru(3, 4).forward_with_state(Tensor.from_data(normal(2, 5, 3)), state)


class TestAttention:
    def test_against_plain_loops_with_masks(self):
        layer = filled(nn.MultiHeadAttentionConfig(6, 2).init(DEVICE))
        values = values_of(layer)
        q, k = normal(2, 3, 6), normal(2, 4, 6, seed=5)
        pad = np.array([[False] * 4, [False, False, True, True]])
        late = np.triu(np.ones((3, 4), bool), 2)
        queries = q @ values["query.weight"] + values["query.bias"]
        keys = k @ values["key.weight"] + values["key.bias"]
        taken = k @ values["value.weight"] + values["value.bias"]
        joined = np.zeros((2, 3, 6))
        for head in (slice(0, 3), slice(3, 6)):
            scores = queries[..., head] @ keys[..., head].transpose(0, 2, 1) / np.sqrt(3)
            scores = np.where(pad[:, None] | late, -1e4, scores)
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            weights /= weights.sum(-1, keepdims=True)
            joined[..., head] = weights @ taken[..., head]
        expected = joined @ values["output.weight"] + values["output.bias"]
        tensors = [Tensor.from_data(v) for v in (q, k, k)]
        found = layer.attend(*tensors, mask_pad=pad, mask_attn=late)
        np.testing.assert_allclose(found.numpy(), expected, atol=1e-4)

    def test_quiet_softmax_may_look_at_nothing(self):
        scores = np.array([[-100.0, -100.0], [3.0, 1.0]])
        found = nn.attention.softmax(scores, quiet=True)
        raw = np.exp(scores)
        np.testing.assert_allclose(found, raw / (1 + raw.sum(-1, keepdims=True)), atol=1e-12)

    def test_heads_divide_the_width(self):
        with pytest.raises(SettingError, match="a width of 6 does not divide by 4 heads"):
            nn.MultiHeadAttention(6, 4)

    def test_training_is_refused_where_dropout_would_run(self):
        layer = nn.MultiHeadAttention(6, 2)
        layer.train()
        with pytest.raises(ModelError, match="dropout does not run"):
            run(layer, normal(1, 2, 6))


class TestTransformer:
    @pytest.mark.parametrize("norm_first", [False, True])
    def test_order_of_norms_in_the_encoder(self, norm_first):
        layer = filled(nn.TransformerEncoderLayer(nn.TransformerSettings(6, 8, 2, 0.1, norm_first)))
        x = normal(2, 3, 6)
        if norm_first:
            middle = x + run(layer.mha, run(layer.norm_2, x))
            expected = middle + run(layer.pwff, run(layer.norm_1, middle))
        else:
            middle = run(layer.norm_1, x + run(layer.mha, x))
            expected = run(layer.norm_2, middle + run(layer.pwff, middle))
        np.testing.assert_allclose(run(layer, x), expected, rtol=1e-5, atol=1e-5)

    @pytest.mark.parametrize("norm_first", [False, True])
    def test_order_of_norms_in_the_decoder(self, norm_first):
        layer = filled(nn.TransformerDecoderLayer(nn.TransformerSettings(6, 8, 2, 0.1, norm_first)))
        x, memory = normal(2, 3, 6), Tensor.from_data(normal(2, 4, 6, seed=9))

        def cross(given):
            return layer.cross_attn.attend(Tensor.from_data(given), memory, memory).numpy()

        if norm_first:
            first = x + run(layer.self_attn, run(layer.norm_3, x))
            second = first + cross(run(layer.norm_1, first))
            expected = second + run(layer.pwff, run(layer.norm_2, second))
        else:
            first = run(layer.norm_1, x + run(layer.self_attn, x))
            second = run(layer.norm_2, first + cross(first))
            expected = run(layer.norm_3, second + run(layer.pwff, second))
        found = layer.forward_with_memory(Tensor.from_data(x), memory).numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)

    def test_kinds_tell_norms_first_apart(self):
        stacks = [
            nn.TransformerEncoderConfig(6, 8, 2, 2, norm_first=first).init(DEVICE)
            for first in (False, True)
        ]
        kinds = [next(stack.walk()).containers[2] for stack in stacks]
        assert kinds == [
            "Struct:TransformerEncoderLayer",
            "Struct:TransformerEncoderLayer(norm_first)",
        ]
        names = {entry.key.split(".")[2] for entry in stacks[0].walk()}
        assert names == {"mha", "pwff", "norm_1", "norm_2"}

    def test_a_stack_is_its_layers_one_after_the_other(self):
        stack = nn.TransformerEncoderConfig(6, 8, 2, 2, activation="relu").init(DEVICE, seed=3)
        x = normal(1, 3, 6)
        np.testing.assert_array_equal(run(stack, x), run(stack.layers[1], run(stack.layers[0], x)))
        decoder = nn.TransformerDecoderConfig(6, 8, 2, 2).init(DEVICE, seed=3)
        given = Tensor.from_data(x)
        middle = decoder.layers[0].forward_with_memory(given, given)
        expected = decoder.layers[1].forward_with_memory(middle, given).numpy()
        np.testing.assert_array_equal(decoder.forward_with_memory(given, given).numpy(), expected)

    def test_without_biases_only_weights_and_gammas_are_left(self):
        settings = {"bias": False, "final_norm": True}
        encoder = nn.TransformerEncoderConfig(6, 8, 2, 1, **settings).init(DEVICE)
        decoder = nn.TransformerDecoderConfig(6, 8, 2, 1, **settings).init(DEVICE)
        both = nn.TransformerConfig(6, 8, 2, 1, 1, bias=False).init(DEVICE)
        kept = [entry.key for stack in (encoder, decoder) for entry in stack.walk()]
        assert {key.rpartition(".")[2] for key in kept} == {"weight", "gamma"}
        assert len(kept) == 6 + 2 + 1 + 10 + 3 + 1
        assert [entry.key.partition(".")[2] for entry in both.walk()] == kept

    def test_a_final_norm_comes_after_the_last_layer(self):
        settings = nn.TransformerSettings(6, 8, 2, norm_first=True)
        x, memory = Tensor.from_data(normal(1, 3, 6)), Tensor.from_data(normal(1, 4, 6, seed=9))
        stack = filled(nn.TransformerEncoder(settings, 1, final_norm=True))
        expected = stack.norm(stack.layers[0](x)).numpy()
        np.testing.assert_array_equal(stack(x).numpy(), expected)
        np.testing.assert_array_equal(stack.forward_masked(x).numpy(), expected)
        decoder = filled(nn.TransformerDecoder(settings, 1, final_norm=True))
        expected = decoder.norm(decoder.layers[0].forward_with_memory(x, memory)).numpy()
        np.testing.assert_array_equal(decoder.forward_with_memory(x, memory).numpy(), expected)

    def test_a_transformer_is_an_encoder_and_a_decoder_of_its_result(self):
        whole = filled(nn.TransformerConfig(6, 8, 2, 2, 1).init(DEVICE))
        x, source = Tensor.from_data(normal(1, 3, 6)), Tensor.from_data(normal(1, 4, 6, seed=9))
        expected = whole.decoder.forward_with_memory(x, whole.encoder(source)).numpy()
        np.testing.assert_array_equal(whole.forward_with_source(x, source).numpy(), expected)

    def test_hidden_places_of_the_source_change_nothing(self):
        whole = nn.TransformerConfig(6, 8, 2, 2, 1).init(DEVICE, seed=3)
        x, source = Tensor.from_data(normal(1, 3, 6)), normal(1, 4, 6, seed=9)
        hidden = np.array([[False, False, False, True]])
        found = whole.forward_with_source(
            x, Tensor.from_data(source), source_mask_pad=hidden, memory_mask_pad=hidden
        )
        seen = whole.forward_with_source(x, Tensor.from_data(source), memory_mask_pad=hidden)
        expected = whole.forward_with_source(x, Tensor.from_data(source[:, :3]))
        np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=1e-6)
        assert np.abs(seen.numpy() - expected.numpy()).max() > 1e-4

    def test_wrong_settings_are_refused(self):
        with pytest.raises(SettingError, match="a stack needs at least one layer, got 0"):
            nn.TransformerEncoderConfig(6, 8, 2, 0).init(DEVICE)
        with pytest.raises(
            SettingError, match="activation is 'gelu', 'gelu_tanh' or 'relu', got 'silu'"
        ):
            nn.PositionWiseFeedForward(4, 8, activation="silu")


class TestConvolutions:
    @pytest.mark.parametrize("axes", [1, 2, 3])
    @pytest.mark.parametrize("groups", [1, 2])
    def test_transposed_is_the_gradient_of_the_convolution(self, axes, groups):
        """<conv(x), y> = <x, transposed(y)> with the same weight, for every x and y."""
        make = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}[axes]
        turned = {1: nn.ConvTranspose1d, 2: nn.ConvTranspose2d, 3: nn.ConvTranspose3d}[axes]
        settings = {"stride": 2, "dilation": 2, "groups": groups, "padding": 1, "bias": False}
        forth = filled(make(4, 6, 2, **settings))
        back = turned(6, 4, 2, **settings)
        back.weight.assign(forth.weight.value().numpy().copy(), DType.F32)
        x = normal(2, 4, *(7, 9, 5)[:axes])
        seen = run(forth, x)
        y = normal(*seen.shape, seed=4)
        spread = run(back, y)
        assert spread.shape == x.shape
        np.testing.assert_allclose((seen * y).sum(), (x * spread).sum(), rtol=1e-3)

    def test_padding_out_adds_at_the_end(self):
        plain = nn.ConvTranspose1dConfig((1, 1), 1, stride=3).init(DEVICE)
        wide = nn.ConvTranspose1dConfig((1, 1), 1, stride=3, padding_out=2).init(DEVICE)
        x = normal(1, 1, 4)
        found, more = run(plain, x), run(wide, x)
        assert (found.shape[2], more.shape[2]) == (10, 12)
        np.testing.assert_array_equal(more[..., :10], found)
        np.testing.assert_array_equal(more[0, 0, 10:], wide.bias.value().numpy().repeat(2))

    @pytest.mark.parametrize("padding", ["valid", "same", 1, (1, 0, 2)])
    def test_conv3d_of_kernels_one_deep_is_conv2d_of_every_slice(self, padding):
        layer = nn.Conv3dConfig((2, 3), (1, 3, 2), padding=padding).init(DEVICE, seed=1)
        sides = {"valid": 0, "same": "same", 1: 1, (1, 0, 2): (0, 2)}[padding]
        flat = nn.Conv2d(2, 3, (3, 2), padding=sides)
        flat.weight.assign(layer.weight.value().numpy()[:, :, 0].copy(), DType.F32)
        flat.bias.assign(layer.bias.value().numpy().copy(), DType.F32)
        x = normal(1, 2, 4, 6, 5)
        found = run(layer, x)
        first = 1 if padding in (1, (1, 0, 2)) else 0
        for at in range(4):
            np.testing.assert_allclose(found[:, :, first + at], run(flat, x[:, :, at]), atol=1e-5)

    @pytest.mark.parametrize(
        ("make", "shape", "message"),
        [
            (lambda: nn.Conv3d(2, 3, 3), (1, 2, 2, 5, 5), "room for a window of 3 × 3 × 3"),
            (lambda: nn.Conv3d(2, 3, 3), (1, 2, 5, 5), "depth, height, width"),
            (lambda: nn.ConvTranspose2d(2, 3, 3), (1, 3, 5, 5), r"\[batch, 2, size, size\]"),
            (lambda: nn.ConvTranspose1d(2, 3, 1, padding=2), (1, 2, 4), "leaves something after"),
        ],
        ids=["room", "rank", "channels", "padding"],
    )
    def test_wrong_shapes_name_the_layer(self, make, shape, message):
        with pytest.raises(ShapeError, match=message):
            run(make(), np.zeros(shape, np.float32))

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: nn.Conv3d(2, 3, (1, 2)), "kernel_size is one or three whole numbers from 1"),
            (lambda: nn.ConvTranspose2d(2, 3, 0), "kernel_size is 1 or 2 whole numbers from 1"),
            (lambda: nn.ConvTranspose2d(2, 3, 1, padding=-1), "padding is 1 or 2 whole numbers"),
        ],
        ids=["triple", "kernel", "padding"],
    )
    def test_wrong_settings_are_refused(self, make, message):
        with pytest.raises(SettingError, match=message):
            make()
