"""Products of matrices and norms: the digits of long sums, and numbers whose squares are none."""

import numpy as np
import pytest

import ruda.tensor.operations.products as products
import ruda.tensor.xp as xp
from ruda.tensor import DType, Tensor

MANY = 2_000_000
TOTAL = MANY * float(np.float32(0.1))


def rows(count, kind):
    """(count, MANY) tenths in a memory order that has a name."""
    if kind == "expanded":
        return np.broadcast_to(np.float32(0.1), (count, MANY))
    if kind == "one row":
        return np.broadcast_to(np.full(MANY, 0.1, np.float32), (count, MANY))
    if kind == "strided":
        return np.full((count, 2 * MANY), 0.1, np.float32)[:, ::2]
    if kind == "backwards":
        return np.full((count, MANY), 0.1, np.float32)[:, ::-1]
    order = "F" if kind == "columns" else "C"
    return np.full((count, MANY), 0.1, np.float32, order=order)


KINDS = ["packed", "columns", "expanded", "one row", "strided", "backwards"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("left", "right"), [(1, 1), (1, 2), (2, 1), (2, 2)])
def test_long_products_keep_their_digits(kind, left, right):
    ones = Tensor(np.broadcast_to(np.float32(1), (MANY, right)))
    found = Tensor(rows(left, kind)).matmul(ones).numpy()
    np.testing.assert_allclose(found, np.full((left, right), TOTAL), rtol=1e-5)


LONG = [
    pytest.param(lambda a, b: Tensor(a).dot(Tensor(b)), id="dot"),
    pytest.param(lambda a, b: Tensor(a).matmul(Tensor(b)), id="matmul"),
    pytest.param(lambda a, b: xp.vecdot(Tensor(a), Tensor(b)), id="vecdot"),
    pytest.param(lambda a, b: xp.tensordot(Tensor(a), Tensor(b), axes=1), id="tensordot"),
    pytest.param(lambda a, b: Tensor(a[None]).matvec(Tensor(b))[0], id="matvec"),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("multiply", LONG)
def test_long_products_of_vectors_keep_their_digits(multiply, kind):
    values = rows(1, kind)[0]
    ones = np.ones(2 * MANY, np.float32)[::2]
    assert multiply(values, ones).item() == pytest.approx(TOTAL, rel=1e-5)


@pytest.mark.parametrize("order", ["C", "F"])
def test_covariances_of_what_never_changes_are_zero(order):
    values = np.full((2, MANY), 0.1, np.float32, order=order)
    np.testing.assert_allclose(Tensor(values).cov().numpy(), np.zeros((2, 2)), atol=1e-12)


@pytest.mark.parametrize("order", [1, -1, np.inf, -np.inf, "fro"])
@pytest.mark.parametrize("memory", ["C", "F"])
def test_norms_of_long_matrices_keep_their_digits(order, memory):
    values = np.full((MANY, 2), 0.1, np.float32, order=memory)
    turned = values if order in (1, -1) else values.T
    found = xp.linalg.matrix_norm(Tensor(turned), ord=order).item()
    wanted = np.linalg.matrix_norm(turned.astype(np.float64), ord=order)
    assert found == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("order", [1, -1, np.inf, -np.inf, "fro"])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("shape", [(3, 4), (2, 1, 3, 4), (0, 3, 4)])
def test_norms_of_matrices_are_those_of_numpy(order, keepdims, shape):
    values = np.random.default_rng(3).standard_normal(shape) * 1j + 2
    found = xp.linalg.matrix_norm(Tensor(values), ord=order, keepdims=keepdims).numpy()
    wanted = np.linalg.matrix_norm(values, ord=order, keepdims=keepdims)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert found.shape == wanted.shape


def window(values, width):
    return np.lib.stride_tricks.sliding_window_view(values, width)


SHAPES = [
    pytest.param((4, 5), (5, 3), id="matrices"),
    pytest.param((5,), (5,), id="vectors"),
    pytest.param((5,), (2, 5, 3), id="vector and batch"),
    pytest.param((2, 4, 5), (5,), id="batch and vector"),
    pytest.param((3, 1, 4, 5), (2, 5, 3), id="batches that broadcast"),
    pytest.param((4, 0), (0, 3), id="nothing to add"),
    pytest.param((0, 5), (5, 3), id="no rows"),
    pytest.param((1, 2100), (2100, 3), id="a long row"),
    pytest.param((2, 3, 2100), (2, 2100, 1), id="long columns"),
]
ORDERS = [
    pytest.param(lambda a: a, id="packed"),
    pytest.param(lambda a: np.asfortranarray(a), id="columns"),
    pytest.param(lambda a: np.repeat(a, 2, -1)[..., ::2], id="strided"),
    pytest.param(lambda a: np.flip(np.flip(a, -1).copy(), -1), id="backwards"),
    pytest.param(lambda a: np.broadcast_to(a[..., :1], a.shape), id="expanded"),
]


@pytest.mark.parametrize(("left", "right"), SHAPES)
@pytest.mark.parametrize("first", ORDERS)
@pytest.mark.parametrize("second", ORDERS)
@pytest.mark.parametrize("room", [1, 1 << 22])
def test_every_order_of_memory_and_every_room_gives_one_product(
    left, right, first, second, room, monkeypatch
):
    monkeypatch.setattr(products, "_COPIED_AT_ONCE", room)
    rng = np.random.default_rng(5)
    a, b = first(rng.standard_normal(left)), second(rng.standard_normal(right))
    found = Tensor(a).matmul(Tensor(b)).numpy()
    wanted = np.matmul(a.copy(), b.copy())
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
    assert found.shape == wanted.shape


def test_windows_are_multiplied_without_laying_all_of_them_out(monkeypatch):
    monkeypatch.setattr(products, "_COPIED_AT_ONCE", 1000)
    sizes = []
    plain = products._laid_out
    monkeypatch.setattr(products, "_laid_out", lambda one: sizes.append(one.size) or plain(one))
    values = np.arange(3000.0)
    found = Tensor(window(values, 64)).matmul(Tensor(np.ones(64))).numpy()
    np.testing.assert_array_equal(found, window(values, 64).sum(axis=1))
    assert max(sizes) <= 1000


AXES = [
    pytest.param((2, 3, 4), (4, 3, 2), 1, id="one"),
    pytest.param((2, 3, 4), (3, 4, 2), 2, id="two"),
    pytest.param((2, 3), (4,), 0, id="none"),
    pytest.param((2, 3, 4), (4, 2, 5), ([2, 0], [0, 1]), id="lists"),
    pytest.param((), (), 0, id="scalars"),
    pytest.param((2, 0), (0, 3), 1, id="nothing to add"),
]


@pytest.mark.parametrize(("left", "right", "axes"), AXES)
@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.complex128])
def test_tensordot_is_that_of_numpy(left, right, axes, dtype):
    rng = np.random.default_rng(7)
    a, b = (np.asarray(rng.integers(-99, 99, shape)).astype(dtype) for shape in (left, right))
    found = xp.tensordot(Tensor(a), Tensor(b), axes=axes).numpy()
    wanted = np.tensordot(a, b, axes=axes)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)


LARGE = [3e30, -4e30]
SMALL = [3e-30, -4e-30]
NORMS = [
    pytest.param(LARGE, 2.0, 5e30, id="large"),
    pytest.param(SMALL, 2.0, 5e-30, id="small"),
    pytest.param([3e-43, -4e-43], 2.0, 5e-43, id="subnormal"),
    pytest.param([1e30, 3.0, 4.0], 2.0, 1e30, id="large and small"),
    pytest.param(LARGE, 3.0, 91 ** (1 / 3) * 1e30, id="large cubes"),
    pytest.param(SMALL, 3.0, 91 ** (1 / 3) * 1e-30, id="small cubes"),
    pytest.param([0.5] * 2, 500.0, 2 ** (1 / 500) / 2, id="a large order"),
    pytest.param(LARGE, -2.0, 2.4e30, id="large inverses"),
    pytest.param(SMALL, -2.0, 2.4e-30, id="small inverses"),
    pytest.param([0.0, 1.0], -2.0, 0.0, id="an inverse of 0"),
    pytest.param([0.0, 0.0], 2.0, 0.0, id="zeros"),
    pytest.param([np.inf, 1.0], 2.0, np.inf, id="infinite"),
    pytest.param([np.nan, 1e30], 2.0, np.nan, id="NaN"),
    pytest.param([3e38, 3e38], 2.0, np.inf, id="more than f32 has"),
    pytest.param([], 2.0, 0.0, id="nothing"),
]


@pytest.mark.parametrize(("values", "order", "wanted"), NORMS)
def test_a_norm_that_f32_has_is_found(values, order, wanted):
    given = Tensor(np.array(values, np.float32))
    assert given.vector_norm(order).item() == pytest.approx(
        wanted, rel=1e-5, nan_ok=True, abs=2e-45
    )
    both = Tensor(np.array([values, [1.0] * len(values)], np.float32)).vector_norm(order, 1)
    assert both.numpy()[0] == pytest.approx(wanted, rel=1e-5, nan_ok=True, abs=2e-45)
    assert both.numpy()[1] == pytest.approx(len(values) ** (1 / order), rel=1e-5)


@pytest.mark.parametrize("dtype", [DType.F32, DType.BF16, DType.F64])
@pytest.mark.parametrize("size", [1.0, 1e30, 1e38])
def test_vectors_have_a_direction_whatever_their_size(dtype, size):
    many = Tensor(np.full((1, 16), size)).cast(dtype)
    np.testing.assert_allclose(many.vector_normalize().to_data().cast(DType.F64).array, 0.25)
    assert many.cosine_similarity(many).cast(DType.F64).item() == pytest.approx(1, rel=1e-6)
    assert many.cosine_similarity(-many).cast(DType.F64).item() == pytest.approx(-1, rel=1e-6)


def test_matrices_whose_squares_are_beyond_f32_have_a_norm():
    given = xp.asarray([[3e30, 0.0], [0.0, 4e30]], dtype=xp.float32)
    assert xp.linalg.matrix_norm(given).item() == pytest.approx(5e30, rel=1e-6)
