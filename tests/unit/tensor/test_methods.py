"""Tensor methods under RUDA's names, against NumPy, Python's math and hand-made values."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda.errors import DTypeError, IndexRangeError, SettingError, ShapeError
from ruda.tensor import DType, Tensor

INF, NAN = math.inf, math.nan
GRID = np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 11
X = np.array([-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0], np.float32)
EDGES = np.array([-INF, -200.0, 200.0, INF, NAN], np.float32)


def tensor(values, dtype=None):
    return Tensor.from_data(np.asarray(values), dtype=dtype)


SAME = [
    ("permute", (2, 0, 1), lambda a: a.transpose(2, 0, 1)),
    ("movedim", (0, -1), lambda a: np.moveaxis(a, 0, -1)),
    ("transpose", (), lambda a: a.swapaxes(-1, -2)),
    ("expand", (5, -1, -1, -1), lambda a: np.broadcast_to(a, (5, 2, 3, 4))),
    ("repeat", (2, 1, 1, 2), lambda a: np.tile(a, (2, 1, 1, 2))),
    ("repeat_dim", (1, 2), lambda a: np.tile(a, (1, 2, 1))),
    ("flip", ((0, 2),), lambda a: np.flip(a, (0, 2))),
    ("roll", (1, 1), lambda a: np.roll(a, 1, 1)),
    ("narrow", (2, 1, 2), lambda a: a[:, :, 1:3]),
    ("slice_dim", (1, None, None, -1), lambda a: a[:, ::-1]),
    ("unfold", (2, 2, 2), lambda a: np.stack([a[:, :, 0:2], a[:, :, 2:4]], 2)),
    ("triu", (1,), lambda a: np.triu(a, 1)),
    ("tril", (), np.tril),
    ("unsqueeze", (1,), lambda a: a[:, None]),
    ("flatten", (1, 2), lambda a: a.reshape(2, 12)),
    ("sum", ((0, 2),), lambda a: a.sum((0, 2))),
    ("prod", (0,), lambda a: a.prod(0)),
    ("var", (1,), lambda a: a.var(1, ddof=1)),
    ("std", (1,), lambda a: a.std(1, ddof=1)),
    ("max_abs", (2,), lambda a: np.abs(a).max(2)),
    ("argmin", (0,), lambda a: a.argmin(0)),
    ("cumsum", (1,), lambda a: a.cumsum(1)),
    ("cumprod", (2,), lambda a: a.cumprod(2)),
    ("cummax", (1,), lambda a: np.maximum.accumulate(a, 1)),
    ("cummin", (1,), lambda a: np.minimum.accumulate(a, 1)),
    ("count_nonzero", (0,), lambda a: np.count_nonzero(a, 0)),
    ("any", ((0, 1),), lambda a: (a != 0).any((0, 1))),
    ("all", (2,), lambda a: (a != 0).all(2)),
    ("sort", (1,), lambda a: np.sort(a, 1)),
    ("clamp", (-2, 3.5), lambda a: np.clip(a, -2, 3.5)),
    ("round", (), np.rint),
    ("vector_norm", (1.0, (0, 2)), lambda a: np.abs(a).sum((0, 2))),
    ("vector_norm", (0.0, 1), lambda a: (a != 0).sum(1).astype("f4")),
    ("vector_norm", (INF,), lambda a: np.abs(a).max()),
    ("diag", (1,), lambda a: np.diagonal(a, 1, -2, -1)),
    ("trace", (), lambda a: np.trace(a, axis1=-2, axis2=-1)),
]


@pytest.mark.parametrize(
    ("name", "arguments", "oracle"), [pytest.param(*c, id=f"{c[0]}{c[1]}") for c in SAME]
)
def test_methods_agree_with_numpy(name, arguments, oracle):
    found = getattr(tensor(GRID), name)(*arguments).numpy()
    wanted = np.asarray(oracle(GRID))
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def softplus(x):
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


OF_EACH = [
    ("relu6", (), lambda x: min(max(x, 0), 6)),
    ("hard_tanh", (-0.75, 0.5), lambda x: min(max(x, -0.75), 0.5)),
    ("leaky_relu", (0.1,), lambda x: x if x > 0 else 0.1 * x),
    ("sigmoid", (), sigmoid),
    ("silu", (), lambda x: x * sigmoid(x)),
    ("gelu", (), lambda x: x * 0.5 * math.erfc(-x / math.sqrt(2))),
    (
        "gelu_approximate",
        (),
        lambda x: 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    ),
    ("elu", (0.5,), lambda x: x if x > 0 else 0.5 * math.expm1(x)),
    ("celu", (2.0,), lambda x: x if x > 0 else 2 * math.expm1(x / 2)),
    (
        "selu",
        (),
        lambda x: 1.0507009873554805 * (x if x > 0 else 1.6732632423543772 * math.expm1(x)),
    ),
    ("softplus", (2.0,), lambda x: softplus(2 * x) / 2),
    ("mish", (), lambda x: x * math.tanh(softplus(x))),
    ("log_sigmoid", (), lambda x: -softplus(-x)),
    ("hard_sigmoid", (), lambda x: min(max(x / 6 + 0.5, 0), 1)),
    ("hard_swish", (), lambda x: x * min(max(x + 3, 0), 6) / 6),
    ("tanh_shrink", (), lambda x: x - math.tanh(x)),
    ("soft_sign", (), lambda x: x / (1 + abs(x))),
    ("hard_shrink", (0.5,), lambda x: 0 if -0.5 <= x <= 0.5 else x),
    ("soft_shrink", (0.5,), lambda x: 0 if -0.5 <= x <= 0.5 else x - math.copysign(0.5, x)),
    ("shrink", (0.5, 0.25), lambda x: 0 if -0.5 <= x <= 0.5 else x - math.copysign(0.25, x)),
    ("threshold", (0.5, 9.0), lambda x: x if x > 0.5 else 9.0),
    ("erf", (), math.erf),
    ("erfc", (), math.erfc),
    ("deg2rad", (), math.radians),
]


@pytest.mark.parametrize(
    ("name", "arguments", "formula"), [pytest.param(*c, id=c[0]) for c in OF_EACH]
)
def test_activations_are_their_formulas(name, arguments, formula):
    found = getattr(tensor(X), name)(*arguments)
    assert found.dtype is DType.F32
    np.testing.assert_allclose(found.numpy(), [formula(float(x)) for x in X], rtol=3e-6, atol=1e-7)


LIMITS = [
    ("silu", [0, 0, 200, INF, NAN]),
    ("gelu", [0, 0, 200, INF, NAN]),
    ("gelu_approximate", [0, 0, 200, INF, NAN]),
    ("mish", [0, 0, 200, INF, NAN]),
    ("hard_swish", [0, 0, 200, INF, NAN]),
    ("sigmoid", [0, 0, 1, 1, NAN]),
    ("log_sigmoid", [-INF, -200, 0, 0, NAN]),
    ("softplus", [0, 0, 200, INF, NAN]),
    ("elu", [-1, -1, 200, INF, NAN]),
    ("celu", [-1, -1, 200, INF, NAN]),
    ("soft_sign", [-1, -200 / 201, 200 / 201, 1, NAN]),
    ("hard_shrink", [-INF, -200, 200, INF, NAN]),
    ("relu6", [0, 0, 6, 6, NAN]),
]


@pytest.mark.parametrize(("name", "expected"), [pytest.param(*c, id=c[0]) for c in LIMITS])
def test_activations_reach_their_limits(name, expected):
    np.testing.assert_allclose(getattr(tensor(EDGES), name)().numpy(), expected, atol=1e-30)


@given(st.floats(-30, 30), st.sampled_from(["erf", "erfc"]))
def test_error_functions_in_double(x, name):
    found = getattr(Tensor.from_data([x], dtype=DType.F64), name)().item()
    assert found == pytest.approx(getattr(math, name)(x), rel=4e-15, abs=1e-320)


def test_softmax_family():
    rows = tensor([[1.0, 2.0, 3.0], [-INF, -INF, -INF], [1000.0, 1000.0, -1000.0]])
    np.testing.assert_allclose(rows.logsumexp().numpy(), [3.4076059, -INF, 1000.6931], rtol=1e-6)
    np.testing.assert_allclose(rows.quiet_softmax().numpy()[1], [0, 0, 0])
    np.testing.assert_allclose(rows.quiet_softmax().numpy()[2], [0.5, 0.5, 0], atol=1e-7)
    np.testing.assert_allclose(rows.softmin().numpy(), (-rows).softmax().numpy())
    np.testing.assert_allclose(tensor([1.0, -INF, 0.0, 9.0]).glu().numpy(), [0.5, -INF])


def test_slopes_of_prelu_lie_on_axis_1():
    x = -Tensor.ones((1, 2, 2))
    assert x.prelu(tensor([2.0, 3.0])).tolist() == [[[-2, -2], [-3, -3]]]
    assert x.prelu(tensor(0.5)).tolist() == [[[-0.5, -0.5], [-0.5, -0.5]]]
    with pytest.raises(ShapeError, match="prelu: 3 slopes for 2 channels"):
        x.prelu(tensor([1.0, 2.0, 3.0]))


def test_choosing():
    x = tensor([[3.0, 1.0, NAN, 2.0], [0.0, -1.0, 5.0, 5.0]])
    values, places = x.topk(2)
    np.testing.assert_array_equal(values.numpy(), [[NAN, 3], [5, 5]])
    assert places.tolist() == [[2, 0], [2, 3]]
    assert x.argtopk(1).tolist() == [[2], [2]]
    assert x.median(1).tolist() == [2, 0]
    assert tensor([4, 1, 3, 2]).median().item() == 2
    ordered, places = tensor([1, 2, 1, 2]).sort_with_indices(descending=True)
    assert (ordered.tolist(), places.tolist()) == ([2, 2, 1, 1], [1, 3, 0, 2])
    best, places = tensor(GRID).max_with_indices(2)
    assert (best.tolist(), places.tolist()) == (GRID.max(2).tolist(), GRID.argmax(2).tolist())
    least, _ = tensor(GRID).min_with_indices(1, keepdims=True)
    assert least.shape == (2, 1, 4)
    spread, middle = tensor(GRID).var_mean((1, 2))
    np.testing.assert_allclose(spread.numpy(), GRID.var((1, 2), ddof=1), rtol=1e-6)
    np.testing.assert_allclose(middle.numpy(), GRID.mean((1, 2)), rtol=1e-6)
    np.testing.assert_allclose(tensor(GRID[0]).cov().numpy(), np.cov(GRID[0]), rtol=1e-6)


def test_reading_by_index():
    x = tensor(GRID)
    places = tensor([2, 0, -1])
    assert x.select(1, places).tolist() == GRID[:, [2, 0, -1]].tolist()
    assert x.take(tensor([[1, 0]]), 2).tolist() == GRID[:, :, [[1, 0]]].tolist()
    index = tensor([[[0, 1, 2, 0]]])
    assert x.gather(1, index).tolist() == [[[-11, -6, -1, -8]]]
    assert x.mask_select(x > 9).tolist() == [10, 11, 12]
    assert (x > 11).argwhere().tolist() == [[1, 2, 3]]
    assert [one.tolist() for one in (x > 11).nonzero()] == [[1], [2], [3]]
    assert [part.shape for part in x.chunk(3, 2)] == [(2, 3, 2), (2, 3, 2)]
    assert [part.shape for part in x.split([1, 3], 2)] == [(2, 3, 1), (2, 3, 3)]
    assert [part.tolist() for part in x.unbind(0)] == GRID.tolist()


def test_replacing_makes_new_tensors():
    x = Tensor.zeros((2, 3))
    ones = Tensor.ones((2, 2))
    assert x.slice_assign((slice(None), slice(0, 2)), ones).tolist() == [[1, 1, 0], [1, 1, 0]]
    assert x.slice_fill((0, ...), 7).tolist() == [[7, 7, 7], [0, 0, 0]]
    assert x.mask_fill(x == 0, 2.5).tolist() == [[2.5] * 3] * 2
    assert x.select_assign(1, tensor([0, 0]), ones).tolist() == [[2, 0, 0], [2, 0, 0]]
    places = tensor([[0, 2], [1, 1]])
    assert x.scatter(1, places, ones).tolist() == [[1, 0, 1], [0, 2, 0]]
    assert x.scatter(1, places, ones, update="assign").tolist() == [[1, 0, 1], [0, 1, 0]]
    assert (x + 3).scatter(1, places, ones * 2, update="mul").tolist() == [[6, 3, 6], [3, 12, 3]]
    assert x.scatter(1, places, -ones, update="min").tolist() == [[-1, 0, -1], [0, -1, 0]]
    assert x.scatter(1, places, ones, update="max").tolist() == [[1, 0, 1], [0, 1, 0]]
    assert x.tolist() == [[0, 0, 0], [0, 0, 0]]


def test_vectors():
    a, b = tensor([1.0, 2.0, 3.0]), tensor([0.0, 1.0, -1.0])
    assert a.dot(b).item() == -1
    assert a.outer(b).shape == (3, 3)
    assert a.cross(b).tolist() == [-5, 1, 1]
    assert a.cosine_similarity(b).item() == pytest.approx(-1 / math.sqrt(28), rel=1e-6)
    assert Tensor.zeros((3,)).vector_normalize().tolist() == [0, 0, 0]
    assert a.is_close(a + 1e-7).all().item() is True
    assert not tensor([NAN]).all_close(tensor([NAN]))
    assert tensor([INF]).all_close(tensor([INF]))
    assert not tensor([INF]).all_close(tensor([1.0]))
    assert tensor([1.0, NAN]).contains_nan()
    assert tensor([2.0]).atan2(2).item() == pytest.approx(math.pi / 4)
    assert tensor([-7]).fmod(3).tolist() == [-1]
    assert (tensor([-7]) % 3).tolist() == [2]
    assert (2 ** tensor([3])).tolist() == [8]
    assert (7 // tensor([2])).tolist() == [3]
    assert (tensor([6]) & 3 | 8).tolist() == [10]
    assert (~tensor([True]) ^ True).tolist() == [True]
    assert (tensor([1]) << 3 >> 1).tolist() == [4]


REFUSED = [
    (lambda: tensor(GRID).T, ShapeError, r"T: shape \[2, 3, 4\] is not a matrix"),
    (lambda: tensor(GRID).permute(0, 1), ShapeError, "the order .* names 2"),
    (
        lambda: tensor(GRID).squeeze(0),
        ShapeError,
        r"squeeze: axis 0 of shape \[2, 3, 4\] has size 2",
    ),
    (lambda: tensor(GRID).expand(2, 3, 5), ShapeError, "does not expand to"),
    (lambda: tensor(GRID).split(0), ShapeError, "split: parts of 0 elements are none"),
    (lambda: tensor(GRID).split([1], 2), ShapeError, "do not add up to 4"),
    (
        lambda: tensor(GRID).narrow(0, 1, 2),
        ShapeError,
        "narrow: elements 1 to 3 are outside axis 0",
    ),
    (lambda: tensor(GRID).unfold(0, 3, 1), ShapeError, "unfold: windows of 3 every 1 do not fit"),
    (lambda: tensor(GRID).topk(5), ShapeError, "topk: axis 2"),
    (lambda: tensor(GRID).glu(1), ShapeError, "glu: axis 1 .* has no two halves"),
    (lambda: Tensor.zeros((0,)).median(), ShapeError, "median: shape .* has no elements on axis 0"),
    (
        lambda: tensor(GRID).select(0, tensor([2])),
        IndexRangeError,
        "index 2 is outside an axis of size 2",
    ),
    (
        lambda: tensor(GRID).select(0, tensor([0.0])),
        DTypeError,
        "take: needs an integer dtype, got f64",
    ),
    (
        lambda: tensor([1.0]).scatter(0, tensor([0]), tensor([1.0]), update="sub"),
        SettingError,
        "scatter: update is assign, add, mul, min, max, got 'sub'",
    ),
    (
        lambda: tensor([1], DType.I8).scatter(0, tensor([0]), tensor([1])),
        DTypeError,
        "scatter: i64 cannot go into i8",
    ),
    (lambda: tensor([1]).sigmoid(), DTypeError, "sigmoid: needs a float dtype, got i64"),
    (lambda: tensor([1.0]).celu(0), SettingError, "celu: alpha is 0"),
    (lambda: tensor([1.0]).hard_tanh(1, 0), SettingError, "the low end 1 is above"),
    (lambda: tensor([1.0]).bool_and(True), DTypeError, "logical_and: needs a bool tensor, got f64"),
    (lambda: tensor([1.0]).cross(tensor([1.0])), ShapeError, "has not size 3"),
    (lambda: list(tensor(1)), ShapeError, "iter: a scalar has no first axis"),
]


PLACES = [
    pytest.param([[0, 0], [1, 2]], id="coordinates of two axes"),
    pytest.param([[[1, -1, 3]], [[0, 0, 0]]], id="all axes, from the back too"),
    pytest.param([[1], [0], [1]], id="whole slices"),
    pytest.param([1, 2], id="one place"),
    pytest.param(np.zeros((0, 2), np.int64), id="none"),
]


@pytest.mark.parametrize("places", PLACES)
def test_places_of_several_axes(places):
    indices = np.asarray(places)
    wanted = GRID[tuple(np.moveaxis(indices, -1, 0))]
    x = tensor(GRID)
    np.testing.assert_array_equal(x.gather_nd(tensor(indices)).numpy(), wanted)
    added = GRID.copy()
    np.add.at(added, tuple(np.moveaxis(indices, -1, 0)), wanted)
    found = x.scatter_nd(tensor(indices), tensor(np.array(wanted)))
    np.testing.assert_array_equal(found.numpy(), added)
    np.testing.assert_array_equal(x.numpy(), GRID)


def test_scatter_nd_updates_and_doubled_places():
    x, ones = Tensor.zeros((2, 2)), Tensor.ones((3,))
    places = tensor([[0, 1], [0, 1], [1, 0]])
    assert x.scatter_nd(places, ones).tolist() == [[0, 2], [1, 0]]
    assert x.scatter_nd(places, ones, update="assign").tolist() == [[0, 1], [1, 0]]
    assert (x + 2).scatter_nd(places, ones * 3, update="mul").tolist() == [[2, 18], [6, 2]]


def test_one_hot():
    made = tensor([[2, 0]], DType.U8).one_hot(3)
    assert made.tolist() == [[[0, 0, 1], [1, 0, 0]]]
    assert made.dtype is DType.U8
    assert tensor(1).one_hot(2).tolist() == [0, 1]


PLACES_REFUSED = [
    (lambda x: x.gather_nd(tensor([[2, 0]])), IndexRangeError, "gather_nd: index 2 is outside"),
    (lambda x: x.gather_nd(tensor([[0] * 4])), ShapeError, "counts 1 to 3 coordinates"),
    (lambda x: x.gather_nd(tensor([0.0])), DTypeError, "gather_nd: needs an integer dtype"),
    (lambda x: x.gather_nd(tensor(0)), ShapeError, r"gather_nd: indices of shape \[\] name no"),
    (
        lambda x: x.scatter_nd(tensor([[0, 0]]), tensor([[1.0]], DType.F32)),
        ShapeError,
        r"scatter_nd: values of shape \[1, 1\] for places of shape \[1, 4\]",
    ),
    (
        lambda x: x.scatter_nd(tensor([0, 0, 0]), tensor(1.0, DType.F32), update="sub"),
        SettingError,
        "scatter_nd: update is assign, add, mul, min, max, got 'sub'",
    ),
    (lambda _: tensor([3]).one_hot(3), IndexRangeError, "one_hot: index 3 is outside"),
    (lambda _: tensor([-1]).one_hot(3), IndexRangeError, "one_hot: class -1 is negative"),
]


@pytest.mark.parametrize(("compute", "error", "message"), PLACES_REFUSED)
def test_places_refused(compute, error, message):
    with pytest.raises(error, match=message):
        compute(tensor(GRID))


@pytest.mark.parametrize(("compute", "error", "message"), REFUSED)
def test_refused(compute, error, message):
    with pytest.raises(error, match=message):
        compute()
