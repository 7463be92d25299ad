"""Rotary encoding, the attention that uses it, and the activations of such models."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda import nn
from ruda.errors import DTypeError, SettingError, ShapeError
from ruda.tensor import Tensor


def normal(*shape, seed=0):
    return np.random.Generator(np.random.PCG64(seed)).normal(size=shape).astype(np.float32)


def run(layer, values):
    return layer(Tensor(values)).numpy()


def test_pairs_turn_by_their_place():
    x = normal(2, 5, 6)
    found = run(nn.RotaryEncoding(6, theta=100.0), x)
    for time in range(5):
        for pair in range(3):
            angle = time * 100.0 ** (-2 * pair / 6)
            a, b = x[:, time, 2 * pair], x[:, time, 2 * pair + 1]
            cos, sin = math.cos(angle), math.sin(angle)
            np.testing.assert_allclose(found[:, time, 2 * pair], a * cos - b * sin, atol=1e-6)
            np.testing.assert_allclose(found[:, time, 2 * pair + 1], a * sin + b * cos, atol=1e-6)
    np.testing.assert_array_equal(found[:, 0], x[:, 0])


@given(st.integers(0, 50), st.integers(1, 4))
def test_only_the_distance_counts(start, half):
    """q at i and k at j give the same score wherever the text begins."""
    layer = nn.RotaryEncoding(2 * half)
    q, k = normal(4, 2 * half).astype(np.float64), normal(4, 2 * half, seed=1).astype(np.float64)
    here = layer.rotated(q) @ layer.rotated(k).T
    there = layer.rotated(q, start=start) @ layer.rotated(k, start=start).T
    np.testing.assert_allclose(here, there, atol=1e-9)


def test_lengths_stay():
    x = normal(3, 7, 8)
    found = run(nn.RotaryEncoding(8), x)
    np.testing.assert_allclose(np.square(found).sum(-1), np.square(x).sum(-1), rtol=1e-5)


def plain_attention(layer, x, heads, shared, width):
    """Loops over heads and positions, with the formulas of the papers."""
    turn = nn.RotaryEncoding(width).rotated
    q, k, v = (run(part, x) for part in (layer.wq, layer.wk, layer.wv))
    batch, time = x.shape[:2]
    joined = np.zeros((batch, time, heads * width), np.float32)
    for item in range(batch):
        for head in range(heads):
            mine = slice(head * width, (head + 1) * width)
            at = head // (heads // shared)
            theirs = slice(at * width, (at + 1) * width)
            queries, keys, seen = q[item, :, mine], k[item, :, theirs], v[item, :, theirs]
            if layer.q_norm is not None:
                queries, keys = run(layer.q_norm, queries), run(layer.k_norm, keys)
            queries, keys = turn(queries), turn(keys)
            for here in range(time):
                scores = keys[: here + 1] @ queries[here] / math.sqrt(width)
                shares = np.exp(scores - scores.max())
                joined[item, here, mine] = shares / shares.sum() @ seen[: here + 1]
    return run(layer.wo, joined)


SETTINGS = [
    pytest.param({"n_heads": 4, "n_kv_heads": 2}, id="shared keys"),
    pytest.param({"n_heads": 2, "n_kv_heads": 2, "bias": True}, id="biases"),
    pytest.param({"n_heads": 3, "n_kv_heads": 1, "head_dim": 2, "qk_norm": True}, id="norms"),
]


@pytest.mark.parametrize("settings", SETTINGS)
def test_attention_looks_back(settings):
    layer = nn.RotaryAttention(8, seed=3, **settings)
    width = settings.get("head_dim", 8 // settings["n_heads"])
    x = normal(2, 5, 8)
    expected = plain_attention(layer, x, settings["n_heads"], settings["n_kv_heads"], width)
    np.testing.assert_allclose(run(layer, x), expected, atol=1e-5)
    np.testing.assert_allclose(run(layer, x[:, :3]), run(layer, x)[:, :3], atol=1e-5)


def test_the_kind_says_the_heads():
    layer = nn.RotaryAttention(8, 4, 2)
    assert nn.heads_of(layer.struct_name) == (4, 2)
    assert nn.heads_of("MultiHeadAttention") is None
    assert nn.heads_of("RotaryAttention(4)") is None
    assert nn.heads_of("RotaryAttention(0,4)") is None
    assert nn.heads_of(f"RotaryAttention({'9' * 5000},1)") is None


WRONG = [
    pytest.param(lambda: nn.RotaryEncoding(3), "an even width, got 3", id="odd"),
    pytest.param(lambda: nn.RotaryAttention(8, 3, 2), "3 heads do not divide by 2", id="shared"),
    pytest.param(lambda: nn.RotaryAttention(8, 3, 3), "does not divide by 3 heads", id="width"),
]


@pytest.mark.parametrize(("make", "message"), WRONG)
def test_wrong_settings_are_refused(make, message):
    with pytest.raises(SettingError, match=message):
        make()


def test_wrong_shapes_name_the_layer():
    with pytest.raises(ShapeError, match=r"expected an input of shape \[…, time, 4\]"):
        run(nn.RotaryEncoding(4), normal(2, 3, 6))
    with pytest.raises(ShapeError, match=r"RotaryAttention\(4,2\): expected .*\[batch, time, 8\]"):
        run(nn.RotaryAttention(8, 4, 2), normal(3, 8))


POINTS = np.array([-3.0, -0.5, 0.0, 1.0, 7.5])
# Figures of PyTorch 2.14 in f64 at these points.
SILU = [-0.14227761953270035, -0.1887703343990727, 0.0, 0.7310585786300049, 7.4958541602230735]
GELU = [-0.0036373920817729943, -0.15428599017485606, 0.0, 0.8411919906082768, 7.5]
ACTIVATIONS = [
    pytest.param(nn.Relu6(), [0.0, 0.0, 0.0, 1.0, 6.0], [0.0, 6.0], id="relu6"),
    pytest.param(nn.Silu(), SILU, [0.0, np.inf], id="silu"),
    pytest.param(nn.Gelu(approximate=True), GELU, [0.0, np.inf], id="gelu_tanh"),
]


@pytest.mark.parametrize(("layer", "expected", "ends"), ACTIVATIONS)
def test_activations(layer, expected, ends):
    np.testing.assert_allclose(run(layer, POINTS), expected, rtol=1e-14)
    np.testing.assert_allclose(run(layer, POINTS.astype(np.float32)), expected, atol=1e-6)
    # At -Inf the limit, where the formula of PyTorch gives NaN; NaN stays NaN.
    far = run(layer, np.array([-np.inf, np.inf, np.nan]))
    np.testing.assert_array_equal(far, [*ends, np.nan])
    with pytest.raises(DTypeError, match="expected a float tensor, got i64"):
        run(layer, np.array([1, 2]))


def test_a_feed_forward_may_use_the_approximation():
    layer = nn.PositionWiseFeedForward(2, 3, activation="gelu_tanh")
    x = normal(4, 2)
    inner = run(nn.Gelu(approximate=True), run(layer.linear_inner, x))
    np.testing.assert_array_equal(run(layer, x), run(layer.linear_outer, inner))
