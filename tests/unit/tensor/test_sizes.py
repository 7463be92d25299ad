"""Shapes, counts, axes and dtypes as callers give them: NumPy never sees one that cannot be."""

import re

import numpy as np
import pytest

import ruda.tensor.xp as xp
from ruda.errors import DTypeError, IndexRangeError, SettingError, ShapeError
from ruda.tensor import DType, Tensor, TensorData

F = Tensor.from_data([1.0, 2.0, 3.0])
M = Tensor.from_data([[1.0, 2.0], [3.0, 4.0]])
FAR = 2**40
FULL = "takes more bytes than have an address"

TOO_LARGE = [
    (lambda: Tensor.zeros((FAR, FAR)), f"full: shape [{FAR}, {FAR}] of f32 {FULL}"),
    (lambda: Tensor.zeros((0, FAR, FAR)), FULL),
    (lambda: Tensor.zeros((10**5000,)), "full: shape [an integer of 16610 bits]"),
    (lambda: Tensor.zeros((1,) * 65), "full: 65 axes; an array has at most 64"),
    (lambda: xp.full((FAR, FAR), 1), FULL),
    (lambda: xp.eye(FAR, FAR), f"eye: shape [{FAR}, {FAR}] of f32 {FULL}"),
    (lambda: xp.linspace(0, 1, 2**62), f"linspace: shape [{2**62}]"),
    (lambda: Tensor.hann_window(2**62), f"hann_window: shape [{2**62}]"),
    (lambda: Tensor.tril_mask((FAR, FAR)), f"tril_mask: shape [{FAR}, {FAR}] of bool"),
    (lambda: Tensor.cartesian_grid((FAR, FAR)), "cartesian_grid: shape"),
    (lambda: F.expand(FAR, FAR, 3), f"expand: shape [{FAR}, {FAR}, 3] of float32 {FULL}"),
    (lambda: F.repeat(2**62), f"tile: shape [{3 * 2**62}]"),
    (lambda: xp.repeat(F, 2**62), f"repeat: shape [{3 * 2**62}]"),
    (lambda: xp.repeat(F, xp.asarray([2**62] * 3)), f"repeat: shape [{3 * 2**62}]"),
    (lambda: F.pad([(2**62, 2**62)]), f"pad: shape [{2**63 + 3}]"),
    (lambda: Tensor.from_data([1]).one_hot(2**62), f"one_hot: shape [1, {2**62}]"),
    (
        lambda: Tensor.zeros((1, 1)).expand(FAR, 1) + Tensor.zeros((1, 1)).expand(1, FAR),
        f"add: shape [{FAR}, {FAR}]",
    ),
]


@pytest.mark.parametrize(("make", "message"), TOO_LARGE, ids=[m[:40] for _, m in TOO_LARGE])
def test_shapes_beyond_every_memory_are_refused(make, message):
    with pytest.raises(ShapeError, match=re.escape(message)):
        make()


def test_views_of_many_elements_take_no_memory():
    wide = F.expand(2**31, 3)
    assert wide.shape == (2**31, 3)
    assert wide[2**31 - 1].tolist() == [1, 2, 3]
    assert wide.narrow(0, 2**31 - 2, 2).sum().item() == 12


NOT_WHOLE = [
    (lambda n: Tensor.zeros((n,)), "full: a size is a whole number"),
    (lambda n: M.reshape(n, 2), "reshape: a size is a whole number"),
    (lambda n: M.reshape((n, 2)), "reshape: a size is a whole number"),
    (lambda n: F.expand(n, 3), "expand: a size is a whole number"),
    (lambda n: F.repeat(n), "tile: a count is a whole number"),
    (lambda n: F.roll(n), "roll: a shift is a whole number"),
    (lambda n: F.narrow(0, n, 1), "narrow: a start is a whole number"),
    (lambda n: F.split(n), "split: a size is a whole number"),
    (lambda n: F.split([n, 1]), "split: a size is a whole number"),
    (lambda n: F.chunk(n), "chunk: a count is a whole number"),
    (lambda n: F.unfold(0, n), "unfold: a size is a whole number"),
    (lambda n: F.pad([(n, 1)]), "pad: a width is a whole number"),
    (lambda n: F.topk(n), "topk: a count is a whole number"),
    (lambda n: Tensor.from_data([1]).one_hot(n), "one_hot: a number of classes is a whole"),
    (lambda n: M.triu(n), "triu: a diagonal is a whole number"),
    (lambda n: M.diag(n), "diagonal: an offset is a whole number"),
    (lambda n: Tensor.hann_window(n), "hann_window: a size is a whole number"),
    (lambda n: F.categorical(n, np.random.default_rng(0)), "categorical: a count is a whole"),
    (lambda n: F[:n], "index: an end or a step of a slice is a whole number"),
    (lambda n: F.sum(n), "sum: an axis is one integer"),
]


@pytest.mark.parametrize("number", [1.9, None])
@pytest.mark.parametrize(("call", "message"), NOT_WHOLE, ids=[m for _, m in NOT_WHOLE])
def test_what_is_no_whole_number_is_never_cut_to_one(call, message, number):
    if number is None and message.startswith(("index", "sum")):
        return  # stands for all there
    with pytest.raises(DTypeError, match=message):
        call(number)


def test_whole_numbers_of_numpy_are_whole_numbers():
    one = np.int64(1)
    assert F.sum(one - 1).item() == F.sum((np.int8(0),)).item() == 6
    assert F[one].item() == 2
    assert F.reshape(one, np.uint8(3)).shape == (1, 3)
    assert F.roll(one, one - 1).tolist() == [3, 1, 2]


def test_a_string_is_no_shape():
    with pytest.raises(DTypeError, match="reshape: a size is a whole number, got '3'"):
        F.reshape("3")


def test_diagonals_and_shifts_reach_as_far_as_the_values():
    for far in (10**30, -(10**30)):
        assert M.diag(far).shape == (0,)
        assert F.roll(far).tolist() == np.roll([1, 2, 3], far % 3).tolist()
        assert xp.eye(2, k=far).tolist() == [[0, 0], [0, 0]]
    assert M.triu(10**30).tolist() == [[0, 0], [0, 0]]
    assert M.tril(10**30).tolist() == M.tolist()
    assert not Tensor.triu_mask((2, 2), -(10**30)).any().item()


@pytest.mark.parametrize("place", [2**64 - 1, 2**63, 2**63 + 2])
def test_unsigned_places_never_count_from_the_end(place):
    places = xp.asarray([place], dtype=xp.uint64)
    with pytest.raises(IndexRangeError, match=f"index: {place} is outside every axis"):
        F[places]
    with pytest.raises(IndexRangeError, match=f"index: {place} is outside every axis"):
        F.slice_assign(places, 0.0)
    assert F[xp.asarray([2], dtype=xp.uint64)].tolist() == [3]


def test_places_beyond_words_and_steps_of_zero_are_refused():
    with pytest.raises(IndexRangeError, match="index: an integer of 333 bits is outside every"):
        F[10**100]
    with pytest.raises(IndexRangeError, match=r"index: shape \[3\]: slice step cannot be zero"):
        F.slice_dim(0, None, None, 0)
    assert F[-(10**30) : 10**30].tolist() == [1, 2, 3]
    with pytest.raises(SettingError, match="one_hot: -1 classes are fewer than none"):
        Tensor.zeros((0,), dtype=DType.I32).one_hot(-1)


MASKED = np.ma.masked_array([1.0, 2.0], mask=[False, True])


@pytest.mark.parametrize("take", [Tensor, Tensor.from_data, TensorData.of, xp.asarray])
def test_values_under_a_mask_are_not_taken_for_real_ones(take):
    with pytest.raises(DTypeError, match="a masked array has no tensor while items are masked"):
        take(MASKED)
    assert take(np.ma.masked_array([1.0, 2.0])).shape == (2,)


class Doubled(np.ndarray):
    """A subclass with an opinion of its own, as ``np.matrix`` is one."""

    def __getitem__(self, index):
        return super().__getitem__(index) * 2


@pytest.mark.parametrize("take", [Tensor, Tensor.from_data, xp.asarray])
def test_of_a_subclass_only_the_array_is_taken(take):
    assert take(np.arange(3.0).view(Doubled))[1].item() == 1.0
    data = TensorData(np.arange(3.0).view(Doubled), DType.F64)
    assert type(data.array) is np.ndarray
    assert type(Tensor(np.float32(2))._array) is np.ndarray


NO_TENSOR = [
    (lambda: Tensor([1.0]), "a tensor wraps a NumPy array, got list; Tensor.from_data takes"),
    (lambda: Tensor(np.array(["a"], np.dtypes.StringDType())), "StringDType() has no Ruda dtype"),
    (lambda: Tensor.from_data(np.array(["2020"], "M8[D]")), "datetime64[D] has no Ruda dtype"),
    (lambda: Tensor.from_data([object()]), "nested values are numbers or booleans"),
]


@pytest.mark.parametrize(("make", "message"), NO_TENSOR)
def test_what_has_no_tensor(make, message):
    with pytest.raises(DTypeError, match=re.escape(message)):
        make()


NO_DTYPE = [
    (lambda d: F.cast(d), "cast"),
    (lambda d: Tensor.zeros((1,), dtype=d), "full"),
    (lambda d: Tensor.from_data([1], dtype=d), "TensorData"),
    (lambda d: TensorData(np.zeros(1, np.float32), d), "TensorData"),
    (lambda d: Tensor.hann_window(3, dtype=d), "hann_window"),
    (lambda d: xp.sum(F, dtype=d), "sum"),
    (lambda d: xp.cumulative_sum(F, dtype=d), "cumulative_sum"),
    (lambda d: xp.eye(2, dtype=d), "eye"),
    (lambda d: xp.zeros(2, dtype=d), "full"),
]


@pytest.mark.parametrize("given", ["f32", np.float32])
@pytest.mark.parametrize(("call", "name"), NO_DTYPE, ids=[str(i) for i in range(len(NO_DTYPE))])
def test_names_and_types_of_numpy_are_no_dtype(call, name, given):
    with pytest.raises(DTypeError, match=rf"{name}: .* is no dtype; expected a DType, which"):
        call(given)
