"""Padding, masks, windows, places, lerp and drawing, against NumPy and hand-made values."""

import re

import ml_dtypes
import numpy as np
import pytest

from ruda.errors import DTypeError, OperationError, SettingError, ShapeError
from ruda.tensor import DType, Tensor

GRID = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def tensor(values, dtype=None):
    return Tensor.from_data(np.asarray(values), dtype=dtype)


PADS = [
    ("last axis first", [(1, 2), (0, 1)], [(0, 0), (0, 1), (1, 2)]),
    ("no pair", [], [(0, 0)] * 3),
    ("every axis", [(2, 0), (1, 1), (1, 0)], [(1, 0), (1, 1), (2, 0)]),
]


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge"])
@pytest.mark.parametrize(("pairs", "widths"), [p[1:] for p in PADS], ids=[p[0] for p in PADS])
def test_pad_takes_burns_order_of_axes(pairs, widths, mode):
    assert np.array_equal(tensor(GRID).pad(pairs, mode).numpy(), np.pad(GRID, widths, mode=mode))


def test_pad_by_hand():
    row = tensor([1, 2, 3], DType.BF16)
    assert row.pad([(2, 1)], value=-1.5).tolist() == [-1.5, -1.5, 1, 2, 3, -1.5]
    assert row.pad([(2, 1)], "reflect").tolist() == [3, 2, 1, 2, 3, 2]
    assert row.pad([(2, 1)], "edge").tolist() == [1, 1, 1, 2, 3, 3]
    assert row.pad([(2, 1)], "edge").dtype is DType.BF16
    assert tensor([True]).pad([(1, 0)], value=False).tolist() == [False, True]
    assert tensor(np.zeros((0,), np.float32)).pad([(1, 1)], value=7).tolist() == [7, 7]


@pytest.mark.parametrize("offset", [-1, 0, 2])
@pytest.mark.parametrize("shape", [(3, 3), (2, 2, 4), (0, 3)])
def test_masks_are_true_where_something_is_hidden(shape, offset):
    rows, columns = np.arange(shape[-2])[:, None], np.arange(shape[-1])[None, :]
    for made, kept in [
        (Tensor.triu_mask(shape, offset), columns - rows >= offset),
        (Tensor.tril_mask(shape, offset), columns - rows <= offset),
        (Tensor.diag_mask(shape, offset), columns - rows == offset),
    ]:
        assert made.dtype is DType.BOOL
        assert np.array_equal(made.numpy(), np.broadcast_to(~kept, shape))


def test_cartesian_grid():
    grid = Tensor.cartesian_grid((2, 3))
    assert grid.dtype is DType.I32
    assert grid.tolist() == [[[0, 0], [0, 1], [0, 2]], [[1, 0], [1, 1], [1, 2]]]
    assert Tensor.cartesian_grid((0, 3)).shape == (0, 3, 2)


WINDOWS = [("hann_window", np.hanning), ("hamming_window", np.hamming)]
WINDOWS += [("blackman_window", np.blackman)]


@pytest.mark.parametrize(("name", "twin"), WINDOWS, ids=[name for name, _ in WINDOWS])
@pytest.mark.parametrize("size", [1, 2, 7, 16])
def test_windows(name, twin, size):
    make = getattr(Tensor, name)
    symmetric = make(size, periodic=False, dtype=DType.F64).numpy()
    np.testing.assert_allclose(symmetric, twin(size), atol=1e-15)
    periodic = make(size, dtype=DType.F64).numpy()
    # A periodic window is the symmetric one of one element more, without its last.
    np.testing.assert_allclose(periodic, twin(size + 1)[:-1] if size > 1 else [1.0], atol=1e-15)
    assert make(size).dtype is DType.F32
    assert make(0).shape == (0,)


def test_lerp():
    start, end = tensor([0.1, 1e30, 5.0]).cast(DType.F32), tensor([0.7, -1.0, 5.0]).cast(DType.F32)
    assert np.array_equal(start.lerp(end, 0.0).numpy(), start.numpy())
    assert np.array_equal(start.lerp(end, 1.0).numpy(), end.numpy())
    weight = tensor(np.array([[0.25], [0.75]], np.float32))
    found = tensor(np.array([0, 4], np.float32)).lerp(tensor(np.array([8, 8], np.float32)), weight)
    assert found.tolist() == [[2, 5], [6, 7]]
    half = tensor([1.0], DType.BF16).lerp(tensor([2.0], DType.BF16), 0.3)
    assert half.dtype is DType.BF16
    assert half.item() == float(ml_dtypes.bfloat16(1.3))


def test_matvec():
    random = np.random.default_rng(3)
    matrices, vectors = random.normal(size=(5, 1, 2, 3)), random.normal(size=(4, 3))
    found = tensor(matrices).matvec(tensor(vectors))
    np.testing.assert_allclose(found.numpy(), np.einsum("bcnk,dk->bdn", matrices, vectors))


def test_categorical_draws_by_weight_from_the_generator_given():
    weights = tensor(np.array([[0, 1, 0, 3], [1e-300, 0, 0, 0]], np.float64))
    drawn = weights.categorical(20_000, np.random.default_rng(5))
    assert drawn.dtype is DType.I64
    assert drawn.shape == (2, 20_000)
    counts = np.bincount(drawn.numpy()[0], minlength=4)
    assert counts[0] == counts[2] == 0
    assert abs(counts[3] / 20_000 - 0.75) < 0.02  # six standard deviations
    assert not drawn.numpy()[1].any()
    again = weights.categorical(20_000, np.random.default_rng(5))
    other = weights.categorical(20_000, np.random.default_rng(6))
    assert np.array_equal(drawn.numpy(), again.numpy())
    assert not np.array_equal(drawn.numpy(), other.numpy())


def _draw(weights, count=1):
    return tensor(weights).categorical(count, np.random.default_rng(0))


REFUSED = [
    (lambda: tensor(GRID).pad([(0, 0)] * 4), ShapeError, "at most 3 pairs"),
    (lambda: tensor(GRID).pad([(-1, 0)]), ShapeError, "narrow makes an axis shorter"),
    (lambda: tensor(GRID).pad([(4, 0)], "reflect"), ShapeError, "(4, 0) elements from axis 2"),
    (lambda: tensor(GRID[:0]).pad([(0, 0), (0, 0), (1, 0)], "edge"), ShapeError, "from axis 0"),
    (lambda: tensor(GRID).pad([(1, 0)], "wrap"), SettingError, "got 'wrap'"),
    (lambda: tensor([1]).pad([(1, 0)], value=0.5), DTypeError, "0.5"),
    (lambda: Tensor.tril_mask((3,)), ShapeError, "shape [3] has no matrices"),
    (lambda: Tensor.cartesian_grid((2, -1)), ShapeError, "[2, -1] has a negative size"),
    (lambda: Tensor.hann_window(-1), SettingError, "hann_window"),
    (lambda: Tensor.hann_window(3, dtype=DType.I32), DTypeError, "hann_window"),
    (lambda: tensor([1, 2]).lerp(tensor([1, 2]), 0.5), DTypeError, "lerp"),
    (
        lambda: tensor([1.0, 2.0]).lerp(tensor([1.0, 2.0]), tensor([0.1, 0.2, 0.3])),
        ShapeError,
        "[2] and [3]",
    ),
    (lambda: tensor(GRID).matvec(tensor(GRID[0, 0, :3])), ShapeError, "[2, 3, 4] and [3]"),
    (lambda: _draw([1, 2]), DTypeError, "categorical"),
    (lambda: _draw(np.zeros((2, 0))), ShapeError, "no classes"),
    (lambda: _draw([0.5], -1), SettingError, "got -1"),
    (lambda: _draw([0.5, -0.1]), OperationError, "take softmax of logits first"),
    (lambda: _draw([0.5, np.nan]), OperationError, "finite"),
    (lambda: _draw([[1.0, 0.0], [0.0, 0.0]]), OperationError, "above 0"),
]


@pytest.mark.parametrize(("compute", "error", "message"), REFUSED)
def test_refused(compute, error, message):
    with pytest.raises(error, match=re.escape(message)):
        compute()
