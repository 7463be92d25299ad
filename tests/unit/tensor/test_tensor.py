"""Tensor: making, reading, computing, and what is refused with which sentence."""

import numpy as np
import pytest

from ruda.errors import DTypeError, ShapeError
from ruda.tensor import Distribution, DType, HostDevice, Tensor, TensorData


def tensor(values, dtype=None):
    return Tensor.from_data(values, dtype=dtype)


MAKING = [
    pytest.param([[1.0, 2.0]], None, (1, 2), DType.F32, id="floats"),
    pytest.param([1, 2, 3], None, (3,), DType.I32, id="integers"),
    pytest.param([[True], [False]], None, (2, 1), DType.BOOL, id="booleans"),
    pytest.param(1.5, None, (), DType.F32, id="scalar"),
    pytest.param([], None, (0,), DType.F32, id="empty"),
    pytest.param([1, 2], DType.BF16, (2,), DType.BF16, id="asked for"),
    pytest.param(np.zeros((2, 3), np.float64), None, (2, 3), DType.F64, id="array keeps its own"),
    pytest.param(np.ones(2, ">i4"), None, (2,), DType.I32, id="foreign byte order"),
    pytest.param(TensorData.ones((2,), DType.FLEX32), None, (2,), DType.F32, id="flex32"),
    pytest.param([0, 7], DType.BOOL_U32, (2,), DType.BOOL, id="wide bool"),
]


@pytest.mark.parametrize(("values", "dtype", "shape", "expected"), MAKING)
def test_from_data(values, dtype, shape, expected):
    made = Tensor.from_data(values, HostDevice(), dtype)
    assert (made.shape, made.dims(), made.dtype) == (shape, shape, expected)
    assert made.device == HostDevice()
    assert made.rank == len(shape)


NOT_MADE = [
    pytest.param([[1], [1, 2]], None, ShapeError, "nested values do not form", id="ragged"),
    pytest.param(["a"], None, DTypeError, "nested values are numbers", id="text"),
    pytest.param([1 << 40], None, DTypeError, "1 of 1 values of i64 do not fit i32", id="wide int"),
    pytest.param([1e39], None, DTypeError, "1 of 1 values of f64 do not fit f32", id="wide float"),
    pytest.param([1.5], DType.I32, DTypeError, "1 of 1 values of f64 are not whole", id="fraction"),
    pytest.param([-1], DType.U8, DTypeError, "values of i64 do not fit u8", id="negative"),
    pytest.param([1.0], DType.QFLOAT, DTypeError, "cannot cast f64 to qfloat", id="quantized"),
    pytest.param(np.array(["a"]), None, DTypeError, "has no Ruda dtype", id="text array"),
]


@pytest.mark.parametrize(("values", "dtype", "error", "message"), NOT_MADE)
def test_from_data_refuses(values, dtype, error, message):
    with pytest.raises(error, match=message):
        Tensor.from_data(values, dtype=dtype)


def test_nested_values_are_rounded_once():
    assert tensor([0.1], DType.F64).item() == 0.1
    assert tensor([1 << 40], DType.I64).item() == 1 << 40
    assert tensor([1e300], DType.F64).item() == 1e300


def test_raw_bits_have_no_tensor():
    raw = TensorData(np.zeros(3, np.uint8), DType.QFLOAT)
    with pytest.raises(DTypeError, match="qfloat has no tensor"):
        Tensor.from_data(raw)


def test_values_cannot_be_changed_through_what_is_handed_out():
    source = np.ones(2, np.float32)
    made = tensor(source)
    source[0] = 5
    for seen in (made.numpy(), made.to_data().array, np.asarray(made)):
        with pytest.raises(ValueError, match="read-only"):
            seen[0] = 7
    assert made.tolist() == [1.0, 1.0]


def test_copies_may_be_written():
    copy = np.array(tensor([1.0]), copy=True)
    copy[0] = 2
    assert np.array(tensor([1.0]), dtype=np.float64).dtype == np.float64
    with pytest.raises(DTypeError, match="f32 cannot become float64 without a copy"):
        np.asarray(tensor([1.0]), dtype=np.float64, copy=False)


def test_constructors():
    assert Tensor.zeros((2,), dtype=DType.I8).tolist() == [0, 0]
    assert Tensor.ones((1,)).dtype is DType.F32
    assert Tensor.full((2,), 2.5, dtype=DType.BF16).tolist() == [2.5, 2.5]
    drawn = Tensor.random((3,), Distribution.uniform(1, 2), seed=4)
    assert drawn.tolist() == Tensor.random((3,), Distribution.uniform(1, 2), seed=4).tolist()
    with pytest.raises(DTypeError, match="do not fit u8"):
        Tensor.full((2,), -1, dtype=DType.U8)


MADE = [
    pytest.param(lambda dtype: Tensor.zeros((2,), dtype), id="zeros"),
    pytest.param(lambda dtype: Tensor.ones((2,), dtype), id="ones"),
    pytest.param(lambda dtype: Tensor.full((2,), 1.5, dtype), id="full"),
    pytest.param(lambda dtype: Tensor.from_data([1.5], dtype), id="from_data"),
    pytest.param(
        lambda dtype: Tensor.random((2,), Distribution.default(), dtype, seed=1), id="random"
    ),
]


@pytest.mark.parametrize("make", MADE)
def test_a_dtype_in_the_place_of_the_device_is_not_left_out(make):
    with pytest.raises(DTypeError, match=r"the only device is Cpu, got .*by name: dtype="):
        make(DType.F64)


def test_numpy_leaves_mixed_expressions_alone():
    with pytest.raises(DTypeError, match=r"add: ndarray is not a tensor .* Tensor.from_data"):
        np.ones(2) + tensor([1.0])


def test_truth_and_length():
    assert bool(tensor([2.0]))
    assert not tensor(0)
    assert len(tensor([[1], [2]])) == 2
    with pytest.raises(ShapeError, match=r"bool: shape \[2\] has 2 truth values, not one; any"):
        bool(tensor([1, 2]))
    with pytest.raises(ShapeError, match="len: a scalar"):
        len(tensor(1))


def test_repr_shows_values_shape_and_dtype():
    assert repr(tensor([1.0, 2.0])) == "Tensor([1., 2.], shape=[2], dtype=f32)"


COMPUTED = [
    pytest.param(lambda: tensor([1, 2]) + 1, [2, 3], DType.I32, id="add"),
    pytest.param(lambda: 1 - tensor([1.0, 2.0]), [0, -1], DType.F32, id="reflected subtract"),
    pytest.param(lambda: 2 / tensor([4.0]), [0.5], DType.F32, id="reflected divide"),
    pytest.param(lambda: 1.5 + tensor([1]), [2.5], DType.F32, id="reflected add"),
    pytest.param(lambda: tensor([2.0]) / tensor([4], DType.F16), [0.5], DType.F32, id="divide"),
    pytest.param(lambda: -tensor([1, -2]), [-1, 2], DType.I32, id="negative"),
    pytest.param(lambda: -tensor([1], DType.U8), [255], DType.U8, id="unsigned wraps around"),
    pytest.param(lambda: tensor([1.0]) / 0, [np.inf], DType.F32, id="divide by zero"),
    pytest.param(lambda: tensor([127], DType.I8) + 1, [-128], DType.I8, id="integers wrap"),
    pytest.param(
        lambda: tensor([[1.0, 2.0]]) @ tensor([[3.0], [4.0]]), [[11.0]], DType.F32, id="matmul"
    ),
    pytest.param(lambda: tensor([1, 2]) @ tensor([3, 4]), 11, DType.I32, id="vectors"),
    pytest.param(lambda: tensor([1.0, np.nan]).equal(1.0), [True, False], DType.BOOL, id="equal"),
    pytest.param(lambda: tensor([-1.0, 2.0]).relu(), [0, 2], DType.F32, id="relu"),
    pytest.param(lambda: tensor([0.0, 0.0]).softmax(), [0.5, 0.5], DType.F32, id="softmax"),
    pytest.param(
        lambda: tensor([1e4, 0.0]).log_softmax(), [0.0, -1e4], DType.F32, id="log_softmax"
    ),
    pytest.param(lambda: tensor([[1, 2], [3, 4]]).sum(0), [4, 6], DType.I64, id="sum of integers"),
    pytest.param(lambda: tensor([1], DType.U8).sum(), 1, DType.U64, id="sum of unsigned"),
    pytest.param(lambda: tensor([1, 2]).mean(), 1.5, DType.F32, id="mean of integers"),
    pytest.param(lambda: tensor([[1.0, 5.0]]).max(1, keepdims=True), [[5.0]], DType.F32, id="max"),
    pytest.param(lambda: tensor([3, 1]).min(), 1, DType.I32, id="min"),
    pytest.param(lambda: tensor([1.0, 5.0, 5.0]).argmax(), 1, DType.I64, id="first of equals"),
    pytest.param(lambda: tensor([1, 2, 3, 4]).reshape(2, -1), [[1, 2], [3, 4]], DType.I32, id="-1"),
    pytest.param(lambda: tensor([[1], [2]]).reshape((2,)), [1, 2], DType.I32, id="reshape tuple"),
    pytest.param(lambda: tensor([[[1], [2]]]).flatten(1), [[1, 2]], DType.I32, id="flatten"),
    pytest.param(lambda: tensor(3).flatten(), [3], DType.I32, id="flatten a scalar"),
    pytest.param(lambda: tensor([[1, 2]]).transpose(), [[1], [2]], DType.I32, id="transpose"),
    pytest.param(lambda: tensor([1]).unsqueeze(), [[1]], DType.I32, id="unsqueeze"),
    pytest.param(lambda: tensor([1, 2, 3])[1:], [2, 3], DType.I32, id="slice"),
    pytest.param(lambda: tensor([[1, 2]])[0, -1], 2, DType.I32, id="element"),
    pytest.param(lambda: tensor([1, 2])[..., None], [[1], [2]], DType.I32, id="new axis"),
    pytest.param(
        lambda: Tensor.cat([tensor([1]), tensor([2.0])]), [1.0, 2.0], DType.F32, id="cat promotes"
    ),
    pytest.param(
        lambda: Tensor.stack([tensor([1]), tensor([2])], 1), [[1, 2]], DType.I32, id="stack"
    ),
    pytest.param(lambda: tensor([300.0]).cast(DType.U8), [255], DType.U8, id="cast clips"),
]


@pytest.mark.parametrize(("compute", "expected", "dtype"), COMPUTED)
def test_operations(compute, expected, dtype):
    result = compute()
    assert result.dtype is dtype
    np.testing.assert_array_equal(result.numpy(), np.asarray(expected))


HALVES = [pytest.param(DType.F16, id="f16"), pytest.param(DType.BF16, id="bf16")]


@pytest.mark.parametrize("dtype", HALVES)
def test_halves_accumulate_in_f32(dtype):
    ones = Tensor.ones((4096,), dtype=dtype)
    assert ones.sum().item() == 4096  # stops at 256 when added up in bf16, at 2048 in f16
    assert (ones * 1.0).mean().item() == 1
    assert (ones.reshape(1, -1) @ ones.reshape(-1, 1)).item() == 4096
    assert ones.sum().dtype is dtype


REFUSED = [
    pytest.param(
        lambda: tensor([[1, 2]]) + tensor([1, 2, 3]),
        ShapeError,
        r"add: shapes \[1, 2\] and \[3\] do not broadcast: 2 and 3 on axis -1",
        id="broadcast",
    ),
    pytest.param(
        lambda: tensor([[1, 2]]) @ tensor([[1, 2]]),
        ShapeError,
        r"matmul: shapes \[1, 2\] and \[1, 2\] do not fit: the last axis of the first is 2",
        id="inner sizes",
    ),
    pytest.param(lambda: tensor(1) @ tensor(1), ShapeError, "matmul: a scalar", id="scalars"),
    pytest.param(
        lambda: Tensor.ones((2, 1, 1)) @ Tensor.ones((3, 1, 1)),
        ShapeError,
        r"matmul: shapes \[2\] and \[3\] do not broadcast",
        id="batch axes",
    ),
    pytest.param(lambda: tensor([1]) @ 2, DTypeError, "matmul: int is not a tensor", id="scalar"),
    pytest.param(lambda: tensor([1]) / 2, DTypeError, "divide: needs a float dtype", id="divide"),
    pytest.param(lambda: tensor([True]) + True, DTypeError, "add: bool tensors", id="bool"),
    pytest.param(
        lambda: tensor([True]) @ tensor([True]), DTypeError, "matmul: bool", id="bool matmul"
    ),
    pytest.param(
        lambda: -tensor([True]), DTypeError, "negative: bool tensors have no", id="negative bool"
    ),
    pytest.param(lambda: tensor([1]).relu(), DTypeError, "relu: needs a float", id="relu"),
    pytest.param(
        lambda: tensor([1], DType.F8_E5M2).sum(),
        DTypeError,
        "sum: f8_e5m2 is for storage",
        id="fp8",
    ),
    pytest.param(
        lambda: tensor([1, 2, 3]).reshape(2, -1),
        ShapeError,
        r"reshape: 3 elements of shape \[3\] do not fill \[2, -1\]",
        id="reshape",
    ),
    pytest.param(
        lambda: Tensor.zeros((0,)).reshape(0, -1), ShapeError, "do not fill", id="free and empty"
    ),
    pytest.param(lambda: tensor([1]).reshape(-1, -1), ShapeError, "do not fill", id="two free"),
    pytest.param(lambda: tensor([1]).sum(1), ShapeError, r"sum: axis 1 is outside", id="axis"),
    pytest.param(lambda: tensor([[1]]).flatten(1, 0), ShapeError, "axis 1 comes", id="order"),
    pytest.param(
        lambda: Tensor.zeros((0, 2)).max(), ShapeError, r"max: shape \[0, 2\] has no", id="max of 0"
    ),
    pytest.param(lambda: tensor([1])[3], ShapeError, r"index: shape \[1\]: index 3", id="index"),
    pytest.param(lambda: tensor([1])[[0]], DTypeError, "index: list is not", id="list index"),
    pytest.param(lambda: tensor([1])[True], DTypeError, "index: bool is not", id="bool index"),
    pytest.param(lambda: Tensor.cat([]), ShapeError, "cat: needs at least one", id="cat nothing"),
    pytest.param(lambda: Tensor.stack([]), ShapeError, "stack: needs at least", id="stack nothing"),
    pytest.param(
        lambda: Tensor.cat([tensor([[1]]), tensor([[1, 2]])]),
        ShapeError,
        r"cat: tensor 1 has shape \[1, 2\], which differs from \[1, 1\] outside axis 0",
        id="cat",
    ),
    pytest.param(
        lambda: Tensor.stack([tensor([1]), tensor([1, 2])]),
        ShapeError,
        r"stack: tensor 1 has shape \[2\], the first one \[1\]",
        id="stack",
    ),
]


@pytest.mark.parametrize(("compute", "error", "message"), REFUSED)
def test_refusals(compute, error, message):
    with pytest.raises(error, match=message):
        compute()


@pytest.mark.parametrize("dtype", [DType.F32, DType.F16, DType.I32])
def test_the_mean_of_nothing_is_nan(dtype):
    assert np.isnan(Tensor.zeros((0,), dtype=dtype).mean().item())
    assert np.isnan(Tensor.zeros((2, 0), dtype=dtype).mean(1).numpy()).all()
