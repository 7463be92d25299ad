"""Tensors of 33 to 64 axes: NumPy sorts, broadcasts and updates by index only up to 32 of them."""

import numpy as np
import pytest

import ruda.tensor.xp as xp
from ruda.errors import IndexRangeError, ShapeError
from ruda.tensor import DType, Tensor, TensorData

FEW = (2, 1, 3)
"""The shape of what many axes hold; the others have size 1 and stand between."""


def many(values, axes):
    """Values of the shape ``FEW`` with so many axes, the first and the last two kept in place."""
    return values.reshape(2, *(1,) * (axes - 2), 3)


X = Tensor.from_data([[[3.0, 1.0, 2.0]], [[1.0, float("nan"), 0.5]]])
PLACES = Tensor.from_data([[[0, 2, -1]], [[1, 1, 0]]])
MASK = X > 1.0

SAME = {
    "sort": lambda x, i, m: x.sort(-1),
    "sort descending": lambda x, i, m: x.sort(0, descending=True),
    "argsort": lambda x, i, m: x.argsort(-1),
    "argsort descending": lambda x, i, m: x.argsort(-1, descending=True),
    "sort bf16": lambda x, i, m: x.cast(DType.BF16).sort(-1).cast(DType.F32),
    "topk": lambda x, i, m: x.cast(DType.F64).topk(3)[1],
    "cummax": lambda x, i, m: x.cummax(-1),
    "cumsum": lambda x, i, m: x.cumsum(0),
    "gather": lambda x, i, m: x.gather(-1, i),
    "gather bool": lambda x, i, m: (x > 0).gather(-1, i),
    "gather a view": lambda x, i, m: x.flip(0).gather(-1, i),
    "scatter add": lambda x, i, m: x.scatter(-1, i, x),
    "scatter assign": lambda x, i, m: x.scatter(-1, i, x, update="assign"),
    "scatter mul": lambda x, i, m: x.scatter(-1, i, x, update="mul"),
    "scatter max": lambda x, i, m: x.scatter(-1, i, x, update="max"),
    "scatter i8": lambda x, i, m: i.cast(DType.I8).scatter(-1, i, i.cast(DType.I8)),
    "mask_where": lambda x, i, m: x.mask_where(m, 0.0),
    "where": lambda x, i, m: xp.where(m, x, x * 2),
    "lerp": lambda x, i, m: x.lerp(x * 2, x),
    "softmax": lambda x, i, m: x.softmax(-1),
    "compare": lambda x, i, m: i == x,
}


def same_bits(a, b):
    np.testing.assert_array_equal(np.ravel(a.numpy()), np.ravel(b.numpy()))


@pytest.mark.parametrize("axes", [32, 33, 64])
@pytest.mark.parametrize("compute", SAME.values(), ids=SAME)
def test_the_number_of_axes_changes_no_value(compute, axes):
    wide = [many(one, axes) for one in (X, PLACES, MASK)]
    found = compute(*wide)
    assert found.ndim == axes
    same_bits(found, compute(X, PLACES, MASK))


@pytest.mark.parametrize("axes", [33, 63])
def test_vectors_out_of_many_axes(axes):
    wide, where = many(X, axes), many(MASK, axes)
    same_bits(wide.mask_select(where), X.mask_select(MASK))
    same_bits(wide[where], X[MASK])
    same_bits(wide.median(-1), X.median(-1))
    same_bits(wide.cosine_similarity(wide, -1), X.cosine_similarity(X, -1))
    corners = Tensor.from_data([[1, *(0,) * (axes - 2), 2]])
    assert wide.gather_nd(corners).tolist() == [0.5]
    assert wide.scatter_nd(corners, Tensor.from_data([1.0])).sum(0).flatten().tolist()[2] == 3.5


OVER = {
    "unsqueeze": lambda x: x.unsqueeze(0),
    "stack": lambda x: Tensor.stack([x, x]),
    "unfold": lambda x: x.unfold(0, 1),
    "one_hot": lambda x: x.cast(DType.I32).one_hot(9),
    "vecdot": lambda x: x.dot(x),
    "take": lambda x: x.take(Tensor.from_data([[0]]), 0),
}


@pytest.mark.parametrize(("name", "compute"), OVER.items(), ids=OVER)
def test_the_65th_axis_is_refused_in_a_sentence(name, compute):
    with pytest.raises(ShapeError, match=f"{name}: 65 axes; an array has at most 64"):
        compute(Tensor.ones((1,) * 64))
    with pytest.raises(IndexRangeError, match="would have 65"):
        Tensor.ones((1,) * 64)[None]


@pytest.mark.parametrize("shape", [(7,) * 8, (3,) * 24, (1,) * 64, (2,) * 40])
def test_a_text_stays_short_whatever_the_axes(shape):
    """Six values along each of eight axes would be millions."""
    whole = Tensor.from_data(1.5).expand(shape)
    data = TensorData(whole.numpy(), whole.dtype)
    for text in (repr(whole), repr(data)):
        assert len(text) < 6000
        assert "1.5" in text
        assert str(list(shape)) in text


def test_a_text_of_many_axes_shows_both_ends():
    values = Tensor.arange(0, 2**9).reshape([2] * 9)
    assert repr(values).startswith("Tensor([  0,   1,   2, ..., 509, 510, 511], shape=[2, 2,")
