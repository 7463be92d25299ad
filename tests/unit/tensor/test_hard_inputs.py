"""Inputs that NumPy answers with garbage, a hang, a scalar or an error of its own."""

import re
import subprocess
import sys

import numpy as np
import pytest

import ruda.tensor.xp as xp
from ruda.errors import DTypeError, IndexRangeError, OperationError, SettingError, ShapeError
from ruda.tensor import DType, Tensor

INF, NAN = float("inf"), float("nan")
F = Tensor.from_data([1.0, 2.0, 3.0])
M = Tensor.from_data([[1.0, 2.0], [3.0, 4.0]])
B = Tensor.from_data([True, False])


@pytest.mark.parametrize(
    "make",
    [
        lambda: xp.flip(xp.asarray(1.5)),
        lambda: xp.take(F, xp.asarray(2)),
        lambda: F.cast(DType.BF16).take(xp.asarray(0)),
        lambda: B.take(xp.asarray(1)),
        lambda: next(iter(F)),
        lambda: F.sum() + 1.0,
        lambda: F.max_with_indices(0)[1],
        lambda: M.trace(),
    ],
)
def test_a_result_without_axes_is_an_array_still(make):
    made = make()
    assert type(made._array) is np.ndarray
    assert made.numpy().shape == ()  # which needs an array to be made read-only


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_no_samples_are_filled_up_with_zeros_not_with_what_lay_in_memory(name):
    waste = np.full(512, 7.5)  # leaves its values in memory that is handed out again
    del waste
    found = getattr(xp.fft, name)(xp.zeros((2, 0)), n=8)
    assert found.shape[0] == 2
    assert not xp.any(found).item()


def test_no_samples_on_one_of_several_axes():
    for name in ("fftn", "ifftn", "rfftn", "irfftn"):
        assert not xp.any(getattr(xp.fft, name)(xp.zeros((0, 0)), s=(4, 4))).item()
    with pytest.raises(ShapeError, match="irfftn"):
        xp.fft.irfftn(xp.zeros((2, 0)))


INFINITE = xp.asarray([[1.0, INF], [2.0, 3.0]])
ITERATED = ["svd", "svdvals", "pinv", "matrix_rank", "eigh", "eigvalsh"]


@pytest.mark.parametrize("name", ITERATED)
@pytest.mark.parametrize("value", [INF, NAN])
def test_iterations_over_what_is_not_finite_are_refused(name, value):
    """Some builds of LAPACK never come back from an infinity."""
    given = xp.asarray([[[1.0, 2.0], [2.0, value]], [[NAN, 1.0], [1.0, 1.0]]])
    with pytest.raises(OperationError, match=rf"{name}: 2 of 8 values are NaN or infinite; matri"):
        getattr(xp.linalg, name)(given)


@pytest.mark.parametrize("order", ["nuc", 2, -2])
def test_norms_by_singular_values_need_finite_ones(order):
    with pytest.raises(OperationError, match="matrix_norm: 1 of 4 values are NaN or infinite"):
        xp.linalg.matrix_norm(INFINITE, ord=order)
    assert xp.linalg.matrix_norm(INFINITE).item() == INF


def test_differences_end_when_nothing_is_left():
    """In a process of its own: it went on for so many times."""
    code = "import ruda.tensor.xp as xp; print(xp.diff(xp.arange(3), n=10**30).shape)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.strip() == "(0,)", done.stderr


SIGNALLING = Tensor(np.array([0x7FA0, 0x3F80, 0xFF81], np.uint16).view(DType.BF16.numpy))


@pytest.mark.parametrize("name", ["max", "min", "max_abs", "softmax", "cosine_similarity"])
def test_signalling_nans_raise_no_warning(name):
    arguments = (SIGNALLING,) if name == "cosine_similarity" else ()
    assert getattr(SIGNALLING, name)(*arguments).is_nan().any().item()  # warnings are errors here
    assert SIGNALLING.cummax(0).is_nan().all().item()
    assert SIGNALLING.cummin(0).is_nan().all().item()


def test_sums_that_overflow_in_places_raise_no_warning():
    big = Tensor.from_data(np.array([[INF, 3e38]], np.float32).T)
    places = Tensor.from_data([0, 0])
    found = (
        big.flatten()
        .cast(DType.F16)
        .select_assign(0, places, Tensor.full((2,), -INF, dtype=DType.F16))
    )
    assert found.is_nan().tolist() == [True, False]


@pytest.mark.parametrize(
    "dtype", [DType.F8_E4M3FN, DType.F8_E5M2, DType.BF16, DType.C64, DType.BOOL]
)
def test_windows_of_every_dtype(dtype):
    values = Tensor.from_data([1, 0, 1, 1], dtype=dtype)
    found = values.unfold(0, 2, 2)
    assert found.dtype is dtype
    assert found.tolist() == [[1, 0], [1, 1]]
    assert np.shares_memory(found.numpy(), values.numpy())


def test_what_is_left_of_nothing():
    empty = Tensor.zeros((0, 3))
    assert empty.topk(0, 1)[0].shape == (0, 0)
    assert empty.argtopk(2, 1).shape == (0, 2)
    assert xp.repeat(xp.zeros((2, 0)), 10**30, axis=1).shape == (2, 0)
    assert Tensor.from_data(1.5).pad([], "edge").item() == 1.5
    found = xp.searchsorted(F, F, sorter=xp.asarray([0, 1, -1]))
    assert found.tolist() == [0, 1, 2]


REFUSED = [
    (lambda: F.dot(F, axis=(0,)), DTypeError, "vecdot: an axis is one integer, got (0,)"),
    (lambda: F.cross(F, axis=None), DTypeError, "cross: an axis is one integer, got None"),
    (lambda: F.dot(M, axis=0), ShapeError, "count the axis from the back"),
    (lambda: F.hard_tanh(2j, 1), DTypeError, "hard_tanh: low is a real number within f64, got 2j"),
    (lambda: F.elu(10**400), DTypeError, "elu: alpha is a real number within f64, got an integer"),
    (lambda: F.threshold(0, F), DTypeError, "threshold: value is a real number"),
    (lambda: F.vector_norm("fro"), DTypeError, "vector_norm: an order is a real number"),
    (lambda: F.vector_normalize(2, 0, eps="x"), DTypeError, "vector_normalize: eps is a real"),
    (lambda: F.var(correction=None), DTypeError, "var: a correction is a real number"),
    (lambda: F.is_close(F, rtol=1j), DTypeError, "is_close: rtol is a real number"),
    (lambda: B.softmin(0), DTypeError, "softmin: needs a float dtype, got bool"),
    (lambda: F.prelu(Tensor.zeros((0,))), ShapeError, "prelu: 0 slopes for 1 channels"),
    (lambda: F.select_assign(0, Tensor.from_data([0]), 1.0), DTypeError, "select_assign: float"),
    (lambda: M.slice_assign(M > 1, M), ShapeError, "index: shape [2, 2]"),
    (lambda: Tensor.full((2,), [1, 2]), ShapeError, "full: the value is one number, got shape [2]"),
    (lambda: xp.tile(F, 2), DTypeError, "tile: expected several whole numbers, got 2"),
    (lambda: xp.permute_dims(M, None), DTypeError, "permute: expected several whole numbers"),
    (lambda: xp.tensordot(M, M, axes=()), DTypeError, "tensordot: axes are a count or two lists"),
    (lambda: xp.tensordot(M, M, axes=(0, 0)), DTypeError, "tensordot: expected several whole"),
    (lambda: xp.fft.fftn(M, s=2), DTypeError, "fftn: expected several whole numbers, got 2"),
    (lambda: xp.fft.fft(F, n=2**62), ShapeError, f"fft: shape [{2**62}] of c128 takes more bytes"),
    (
        lambda: xp.fft.fftfreq(10**30),
        ShapeError,
        "fftfreq: shape [1000000000000000000000000000000]",
    ),
    (lambda: xp.linalg.matrix_power(M, 1.5), DTypeError, "matrix_power: a power is a whole number"),
    (lambda: xp.diff(F, n=-(10**400)), SettingError, "diff: an integer of 1329 bits times is"),
    (lambda: xp.searchsorted(F, F, sorter=xp.asarray([0, 1, 3])), IndexRangeError, "index 3 is"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED, ids=[m for *_, m in REFUSED])
def test_refused(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()


class Unwilling:
    """Speaks DLPack, and hands out nothing."""

    def __init__(self, error):
        self.error = error

    def __dlpack__(self, **_asked):
        if self.error is None:
            return 5
        raise self.error

    def __dlpack_device__(self):
        return (1, 0)


NOT_CROSSING = [
    (np.ones(2, DType.BF16.numpy), DTypeError, "from_dlpack: bfloat16 cannot cross; Tensor.from"),
    (np.ones(2, ">f4"), DTypeError, "from_dlpack: >f4 in foreign byte order cannot cross"),
    (np.array([None]), DTypeError, "NumPy dtype object has no Ruda dtype"),
    (np.zeros(2, "i4,f4"), DTypeError, "has no Ruda dtype"),
    (np.zeros(2, "M8[s]"), DTypeError, "datetime64[s] has no Ruda dtype"),
    (Tensor.ones((2,), dtype=DType.BF16), DTypeError, "DLPack: NumPy cannot hand out bf16"),
    (Unwilling(ValueError("gone")), BufferError, "Unwilling does not hand out its memory: gone"),
    (Unwilling(BufferError("on a GPU")), BufferError, "does not hand out its memory: on a GPU"),
    (Unwilling(None), BufferError, "from_dlpack: Unwilling does not hand out its memory"),
]


@pytest.mark.parametrize(
    ("other", "error", "message"), NOT_CROSSING, ids=[m for *_, m in NOT_CROSSING]
)
def test_what_does_not_cross_by_dlpack(other, error, message):
    with pytest.raises(error, match=re.escape(message)):
        xp.from_dlpack(other)


def test_read_only_memory_crosses():
    source = np.arange(3.0)
    source.flags.writeable = False
    shared = xp.from_dlpack(source)
    assert np.shares_memory(shared.numpy(), source)
    assert xp.from_dlpack(source[::-1]).tolist() == [2, 1, 0]
    assert np.from_dlpack(shared).tolist() == [0, 1, 2]
