"""LU, QR and determinants: what comes out multiplies back, and has the form that it says."""

import math
import re

import numpy as np
import pytest

from ruda.errors import DTypeError, ShapeError
from ruda.tensor import DType, Tensor


def tensor(values):
    return Tensor(np.asarray(values))


SHAPES = [(1, 1), (4, 4), (3, 5), (5, 3), (2, 3, 4, 4), (0, 0), (3, 0), (0, 2, 3), (120, 120)]
SHAPES += [(130, 49), (49, 130), (2, 97, 97)]


@pytest.mark.parametrize("kind", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_lu_multiplies_back(shape, kind):
    random = np.random.default_rng(7)
    values = random.normal(size=shape) + (1j * random.normal(size=shape) if kind[0] == "c" else 0)
    values = values.astype(kind)
    p, lower, upper = (one.numpy() for one in tensor(values).lu())
    small = min(shape[-2:])
    assert lower.shape == (*shape[:-1], small)
    assert upper.shape == (*shape[:-2], small, shape[-1])
    accuracy = np.finfo(kind).eps * 40 * max(small, 1)
    np.testing.assert_allclose(p @ lower @ upper, values, atol=accuracy)
    assert p.dtype == lower.dtype == upper.dtype == values.dtype
    assert np.array_equal(p.sum(-1).real, np.ones(p.shape[:-1]))
    assert np.array_equal(lower, np.tril(lower))
    assert np.array_equal(upper, np.triu(upper))
    assert (np.abs(lower) <= 1 + 1e-6).all()  # the largest of a column is its pivot
    diagonal = np.diagonal(lower, axis1=-2, axis2=-1)
    assert np.array_equal(diagonal, np.ones_like(diagonal))


def test_lu_by_hand():
    p, lower, upper = tensor([[1.0, 2.0], [4.0, 8.0]]).lu()
    assert p.tolist() == [[0, 1], [1, 0]]
    assert lower.tolist() == [[1, 0], [0.25, 1]]
    assert upper.tolist() == [[4, 8], [0, 0]]
    compact, pivots = tensor([[1.0, 2.0], [4.0, 8.0]]).lu_decomposition()
    assert compact.tolist() == [[4, 8], [0.25, 0]]
    assert pivots.tolist() == [1, 1]
    assert pivots.dtype is DType.I64


def test_pivots_change_rows_in_turn():
    values = np.random.default_rng(1).normal(size=(60, 60))
    compact, pivots = (one.numpy() for one in tensor(values).lu_decomposition())
    rows = values.copy()
    for at, other in enumerate(pivots):
        rows[[at, other]] = rows[[other, at]]
    lower = np.tril(compact, -1) + np.eye(60)
    np.testing.assert_allclose(lower @ np.triu(compact), rows, atol=1e-12)


def test_lu_leaves_its_input_alone_and_carries_nan():
    values = np.array([[0.0, 1.0], [0.0, 2.0]])
    assert tensor(values).lu()[2].tolist() == [[0, 1], [0, 2]]
    assert values.tolist() == [[0, 1], [0, 2]]
    assert math.isnan(tensor([[math.nan, 1.0], [2.0, 3.0]]).lu()[2].numpy()[0, 0])


def test_qr_and_det():
    values = np.random.default_rng(2).normal(size=(3, 5, 4))
    q, r = (one.numpy() for one in tensor(values).qr())
    np.testing.assert_allclose(q @ r, values, atol=1e-12)
    np.testing.assert_allclose(
        q.swapaxes(-1, -2) @ q, np.broadcast_to(np.eye(4), (3, 4, 4)), atol=1e-12
    )
    assert np.array_equal(r, np.triu(r))
    assert tensor([[2.0, 1.0], [4.0, 5.0]]).det().item() == pytest.approx(6)


REFUSED = [
    (lambda: Tensor.ones((2, 2), dtype=DType.BF16).lu(), DTypeError, "lu: bf16 is too coarse"),
    (lambda: Tensor.from_data([[1]]).lu(), DTypeError, "lu: needs a float dtype, got i32"),
    (lambda: tensor([1.0]).lu_decomposition(), ShapeError, "lu_decomposition: shape [1] has no"),
    (lambda: tensor([[1.0, 2.0]]).det(), ShapeError, "det: needs square matrices"),
    (lambda: tensor([1.0]).qr(), ShapeError, "qr: shape [1] has no matrices"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_refused(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()
