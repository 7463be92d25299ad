"""View or copy: what the documents of a method say is what its memory does; nothing is changed."""

import copy
import pickle
import re

import numpy as np
import pytest

import ruda.tensor.xp as xp
from ruda.errors import DTypeError, ShapeError
from ruda.tensor import DType, Tensor

M = Tensor.arange(0, 12, dtype=DType.F32).reshape(3, 1, 4)
S = M.squeeze()
PICK = Tensor.from_data([1, 0])
MASK = S > 5.0
ZERO = Tensor.zeros((3, 4), dtype=DType.I32)

VIEWS = {
    "T": lambda: S.T,
    "mT": lambda: M.mT,
    "transpose": lambda: M.transpose(),
    "swap_dims": lambda: M.swap_dims(0, 2),
    "permute": lambda: M.permute(2, 0, 1),
    "movedim": lambda: M.movedim(0, -1),
    "reshape": lambda: M.reshape(-1),
    "flatten": lambda: M.flatten(),
    "unsqueeze": lambda: M.unsqueeze(1),
    "squeeze": lambda: M.squeeze(),
    "expand": lambda: M.expand(3, 5, 4),
    "flip": lambda: M.flip(),
    "narrow": lambda: M.narrow(0, 1, 2),
    "split": lambda: M.split(2)[1],
    "chunk": lambda: M.chunk(2)[1],
    "iter_dim": lambda: list(M.iter_dim())[1],
    "unbind": lambda: M.unbind()[1],
    "unfold": lambda: M.unfold(2, 2),
    "diag": lambda: S.diag(),
    "slice_dim": lambda: M.slice_dim(2, 3, None, -1),
    "to_data": lambda: M.to_data(),
    "cast": lambda: M.cast(DType.F32),
}
COPIES = {
    "repeat": lambda: M.repeat(1, 1, 1),
    "repeat_dim": lambda: M.repeat_dim(0, 1),
    "roll": lambda: M.roll(1, 0),
    "pad": lambda: M.pad([]),
    "triu": lambda: S.triu(-9),
    "tril": lambda: S.tril(9),
    "select": lambda: M.select(0, PICK),
    "take": lambda: M.take(PICK, 0),
    "gather": lambda: S.gather(0, ZERO),
    "gather_nd": lambda: S.gather_nd(PICK),
    "mask_select": lambda: S.mask_select(MASK),
    "mask_where": lambda: S.mask_where(MASK, 0.0),
    "mask_fill": lambda: S.mask_fill(MASK, 0.0),
    "slice_assign": lambda: S.slice_assign(0, 1.0),
    "slice_fill": lambda: S.slice_fill(0, 1.0),
    "select_assign": lambda: S.select_assign(0, PICK, S[:2]),
    "scatter": lambda: S.scatter(0, ZERO, S),
    "scatter_nd": lambda: S.scatter_nd(PICK, Tensor.from_data(1.0)),
    "cat": lambda: Tensor.cat([M]),
    "stack": lambda: Tensor.stack([M]),
}


def memory(found):
    return found.numpy() if isinstance(found, Tensor) else found.array


def documented(name):
    words = getattr(Tensor, name).__doc__.lower()
    return set(re.findall(r"\bviews?\b", words)), set(re.findall(r"\bcopy\b", words))


@pytest.mark.parametrize("name", VIEWS)
def test_views_share_memory_and_say_so(name):
    assert np.shares_memory(memory(VIEWS[name]()), M.numpy())
    assert documented(name)[0]


@pytest.mark.parametrize("name", COPIES)
def test_copies_share_none_and_say_so(name):
    assert not np.shares_memory(memory(COPIES[name]()), M.numpy())
    assert documented(name)[1]
    assert not documented(name)[0]


def test_every_method_of_shape_and_index_is_in_a_table():
    rooms = [vars(base) for base in Tensor.__mro__ if base.__name__ in ("Shaping", "Indexing")]
    public = {name for room in rooms for name in room if not name.startswith("_")}
    assert public - set(VIEWS) - set(COPIES) == {"one_hot", "one_hot_fill", "nonzero", "argwhere"}


def test_a_reshape_of_what_is_not_in_row_major_order_is_a_copy():
    assert not np.shares_memory(S.T.reshape(-1).numpy(), S.numpy())


WRITES = {
    "numpy": lambda t: t.numpy(),
    "asarray": lambda t: np.asarray(t),
    "to_data": lambda t: t.to_data().array,
    "a view": lambda t: t.T.numpy(),
    "expanded": lambda t: t.expand(2, 3, 4).numpy(),
    "dlpack": lambda t: np.from_dlpack(t),
    "dlpack without a copy": lambda t: np.from_dlpack(t, copy=False),
}


@pytest.mark.parametrize("hand_out", WRITES.values(), ids=WRITES)
def test_what_is_handed_out_is_read_only(hand_out):
    with pytest.raises(ValueError, match="read-only"):
        hand_out(S)[...] = 9


@pytest.mark.parametrize("hand_out", [np.array, lambda t: np.from_dlpack(t, copy=True)])
def test_copies_that_are_handed_out_are_the_callers(hand_out):
    before = S.tolist()
    hand_out(S)[...] = 9
    assert S.tolist() == before


def test_what_a_tensor_was_made_of_may_change_afterwards():
    source, nested = np.ones((2, 2)), [[1.0, 1.0], [1.0, 1.0]]
    made = [Tensor.from_data(source), Tensor.from_data(source.T[::-1]), Tensor.from_data(nested)]
    source[...] = 5
    nested[0][0] = 5.0
    assert all(one.tolist() == [[1, 1], [1, 1]] for one in made)


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
@pytest.mark.parametrize("dtype", [DType.F32, DType.BF16, DType.F8_E5M2, DType.BOOL, DType.U64])
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_copied_and_pickled(how, dtype, shape):
    given = Tensor.ones(shape, dtype=dtype)
    found = how(given)
    assert (found.dtype, found.shape) == (dtype, shape)
    assert found.tolist() == given.tolist()
    data = how(given.to_data())
    assert data.dtype is dtype
    assert data.to_bytes() == given.to_data().to_bytes()


def test_assignment_changes_this_one_tensor_only():
    given = Tensor.zeros((3,))
    view, twin = given[:2], copy.copy(given)
    given[0] = 7.0
    assert (given.tolist(), view.tolist(), twin.tolist()) == ([7, 0, 0], [0, 0], [0, 0, 0])


def test_numbers_in_a_format():
    assert f"{Tensor.from_data(1.25):.3f} {Tensor.from_data([255]):#x}" == "1.250 0xff"
    assert f"{Tensor.from_data(1.5)}" == "Tensor(1.5, shape=[], dtype=f32)"
    with pytest.raises(ShapeError, match=r"item: shape \[2\] has 2 elements, not one; tolist\(\)"):
        f"{Tensor.from_data([1.0, 2.0]):.2f}"


NUMPY_DTYPES = [
    ([1.5, -2.5], "i4", [1, -2]),
    ([1.5, -2.5], ">f8", [1.5, -2.5]),
    ([1.5, 0.0], "?", [True, False]),
    ([1.5, 0.0], "O", [1.5, 0.0]),
    ([1.5, float("nan")], "f2", [1.5, float("nan")]),
]


@pytest.mark.parametrize("own", [DType.F32, DType.BF16])
@pytest.mark.parametrize(("values", "dtype", "expected"), NUMPY_DTYPES)
def test_arrays_of_another_dtype(own, values, dtype, expected):
    found = np.asarray(Tensor.from_data(values, dtype=own), dtype=dtype)
    assert found.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(found, np.array(expected, dtype))


LOST = [
    (Tensor.from_data([1.0, float("nan"), 1e20]), "i4", "2 of 3 values of f32 do not fit i32"),
    (Tensor.from_data([float("inf")], dtype=DType.BF16), "i8", "1 of 1 values of bf16 do not fit"),
    (Tensor.from_data([70000, 1]), "i2", "1 of 2 values of i32 do not fit i16"),
    (Tensor.from_data([-1]), "u1", "1 of 1 values of i32 do not fit u8; choose a wider dtype"),
    (xp.asarray([1j]), "f4", "cannot cast c64 to f32: the imaginary part would be lost"),
]


@pytest.mark.parametrize(("given", "dtype", "message"), LOST, ids=[m for *_, m in LOST])
def test_arrays_lose_no_value_in_silence(given, dtype, message):
    with pytest.raises(DTypeError, match=re.escape(message)):
        np.asarray(given, dtype=dtype)


def test_an_array_of_another_dtype_is_a_copy():
    with pytest.raises(DTypeError, match="f32 cannot become f8 without a copy"):
        S.__array__("f8", copy=False)


class Elsewhere:
    """An array of another library: it gives NumPy's own where it is asked."""

    def __init__(self, found):
        self.found = found

    def __array__(self, dtype=None, copy=None):
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.uint8, DType.BF16.numpy])
def test_arrays_of_other_libraries_keep_their_dtype(dtype):
    source = np.array([1, 2], dtype)
    found = Tensor.from_data(Elsewhere(source))
    assert found.dtype is DType.from_numpy(source.dtype)
    source[...] = 9
    assert found.tolist() == [1, 2]


def test_tensors_keep_their_dtype_when_a_tensor_is_made_of_them():
    assert Tensor.from_data(Tensor.from_data([0.1], dtype=DType.F64)).tolist() == [0.1]
    with pytest.raises(DTypeError, match="Elsewhere gives no array: on a GPU"):
        Tensor.from_data(Elsewhere(RuntimeError("on a GPU")))


def test_flipped_axes_cross_as_a_copy():
    """PyTorch ends the process over a step below 0."""
    back = S.flip(0)
    crossed = np.from_dlpack(back)
    np.testing.assert_array_equal(crossed, back.numpy())
    assert min(crossed.strides) > 0
    with pytest.raises(BufferError, match="flipped axes are handed out as a copy only"):
        back.__dlpack__(copy=False, max_version=(1, 0))
