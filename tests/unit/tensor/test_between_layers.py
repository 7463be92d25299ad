"""Sampling of planes, windows as columns, and the CTC loss, against loops over single elements."""

import itertools
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda.errors import DTypeError, IndexRangeError, SettingError, ShapeError
from ruda.tensor import DType, Tensor

RANDOM = np.random.default_rng(17)
PLANES = RANDOM.normal(size=(2, 3, 4, 5))
GRID = RANDOM.uniform(-1.6, 1.6, size=(2, 6, 7, 2))
GRID[0, 0, :4] = [[-1, -1], [1, 1], [0, 0], [-1, 1]]


def tensor(values, dtype=None):
    return Tensor.from_data(np.asarray(values), dtype=dtype)


def mirrored(at, size, align):
    """A place reflected back and forth, one turn at a time."""
    low, high = (0.0, size - 1.0) if align else (-0.5, size - 0.5)
    if low == high:
        return 0.0
    while not low <= at <= high:
        at = 2 * low - at if at < low else 2 * high - at
    return min(max(at, 0.0), size - 1.0)


def brought(at, size, edge, align):
    if edge == "border":
        return min(max(at, 0.0), size - 1.0)
    return mirrored(at, size, align) if edge == "reflection" else at


def cubic(distance):
    a, d = -0.75, abs(distance)
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a


def taps(place, size, mode, edge, align):
    at = (place + 1) / 2 * (size - 1) if align else ((place + 1) * size - 1) / 2
    if mode == "bicubic":
        low = math.floor(at)
        found = [(low + k, cubic(at - low - k)) for k in range(-1, 3)]
        return [(round(brought(one, size, edge, align)), weight) for one, weight in found]
    at = brought(at, size, edge, align)
    if mode == "nearest":
        return [(round(at), 1.0)]
    return [(math.floor(at), 1 - at % 1), (math.floor(at) + 1, at % 1)]


def one_by_one(planes, grid, mode, edge, align):
    batch, channels, rows, columns = planes.shape
    made = np.zeros((batch, channels, *grid.shape[1:3]))
    for n, i, j in np.ndindex(grid.shape[:3]):
        x, y = grid[n, i, j]
        for (row, down), (column, right) in itertools.product(
            taps(y, rows, mode, edge, align), taps(x, columns, mode, edge, align)
        ):
            if 0 <= row < rows and 0 <= column < columns:
                made[n, :, i, j] += planes[n, :, row, column] * down * right
    return made


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("edge", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("size", [(4, 5), (1, 3)])
def test_grid_sample(mode, edge, align, size):
    planes = PLANES[:, :, : size[0], : size[1]]
    found = tensor(planes).grid_sample(tensor(GRID), mode=mode, edge=edge, align_corners=align)
    wanted = one_by_one(planes, GRID, mode, edge, align)
    np.testing.assert_allclose(found.numpy(), wanted, atol=1e-11)


def test_grid_sample_of_halves_and_far_points():
    planes = tensor(PLANES, DType.BF16)
    found = planes.grid_sample(tensor(GRID, DType.BF16))
    assert found.dtype is DType.BF16
    assert planes.grid_sample(tensor(GRID, DType.F16)).dtype is DType.F32
    far = np.array([[[[1e30, 0], [-np.inf, 0], [np.nan, -1]]]], np.float32)
    ones = Tensor.ones((1, 1, 3, 3))
    assert ones.grid_sample(Tensor(far), align_corners=True).tolist() == [[[[0, 0, 1]]]]
    assert ones.grid_sample(Tensor(far), edge="border").tolist() == [[[[1, 1, 1]]]]
    assert ones.grid_sample(Tensor(far), edge="reflection").is_finite().all().item()


def test_what_has_no_weight_is_not_seen():
    planes = tensor([[[[1.0, np.nan], [np.inf, 2.0]]]])
    corners = tensor([[[[-1.0, -1.0], [1.0, 1.0]]]])
    assert planes.grid_sample(corners, align_corners=True).tolist() == [[[[1, 2]]]]


@given(
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(1, 3), st.integers(1, 2)),
    st.tuples(st.integers(0, 2), st.integers(0, 2)),
    st.tuples(st.integers(1, 2), st.integers(1, 2)),
)
def test_windows_as_columns_and_back(kernel, stride, padding, dilation):
    options = {"stride": stride, "padding": padding, "dilation": dilation}
    padded = np.pad(PLANES, [(0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2])
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    if padded.shape[2] < reach[0] or padded.shape[3] < reach[1]:
        return
    starts = [range(0, padded.shape[2 + i] - reach[i] + 1, stride[i]) for i in (0, 1)]
    windows = [
        padded[:, :, y : y + reach[0] : dilation[0], x : x + reach[1] : dilation[1]].reshape(2, -1)
        for y, x in itertools.product(*starts)
    ]
    wanted = np.stack(windows, axis=-1)
    found = tensor(PLANES).unfold4d(kernel, **options)
    assert np.array_equal(found.numpy(), wanted)
    # Every pixel comes back as often as windows see it.
    seen = (
        tensor(np.ones_like(PLANES)).unfold4d(kernel, **options).fold4d((4, 5), kernel, **options)
    )
    back = found.fold4d((4, 5), kernel, **options)
    np.testing.assert_allclose(back.numpy(), PLANES * seen.numpy(), atol=1e-12)


def test_columns_of_every_dtype():
    for dtype in (DType.I8, DType.BF16, DType.BOOL, DType.C64):
        made = tensor(np.ones((1, 1, 2, 2)), dtype).unfold4d(2)
        assert made.dtype is dtype
        assert made.tolist() == [[[1]] * 4]
    many = Tensor.ones((1, 9, 9), dtype=DType.BF16) * 100.5
    assert many.fold4d(3, 3, padding=1).dtype is DType.BF16


def all_paths(log_probs, target, blank):
    """-log of the sum over every path that, without repeats and blanks, is the target."""
    steps, classes = log_probs.shape
    total = 0.0
    for path in itertools.product(range(classes), repeat=steps):
        merged = [one for one, _ in itertools.groupby(path)]
        if [one for one in merged if one != blank] == list(target):
            total += math.exp(sum(log_probs[step, one] for step, one in enumerate(path)))
    return -math.log(total) if total else math.inf


@pytest.mark.parametrize("blank", [0, 2])
@pytest.mark.parametrize("steps", [0, 1, 3, 5])
@pytest.mark.parametrize("labels", [(), (1,), (1, 1), (1, 3, 1)])
def test_ctc_loss_is_the_sum_over_all_paths(labels, steps, blank):
    log_probs = tensor(RANDOM.normal(size=(5, 1, 4))).log_softmax(-1)
    targets = tensor([[*labels, *(9,) * (4 - len(labels))]])  # what lies behind is not looked at
    found = log_probs.ctc_loss(targets, tensor([steps]), tensor([len(labels)]), blank=blank)
    wanted = all_paths(log_probs.numpy()[:steps, 0], labels, blank)
    assert found.item() == pytest.approx(wanted, abs=1e-12)


def test_ctc_loss_of_a_batch_is_that_of_each():
    log_probs = tensor(RANDOM.normal(size=(9, 4, 6)), DType.F32).log_softmax(-1)
    targets = tensor(RANDOM.integers(1, 6, (4, 3)).astype(np.int32))
    steps, sizes = tensor([9, 5, 7, 2]), tensor([3, 0, 2, 3])
    found = log_probs.ctc_loss(targets, steps, sizes)
    assert found.dtype is DType.F32
    for at in range(4):
        one = slice(at, at + 1)
        alone = log_probs[:, one].ctc_loss(targets[one], steps[one], sizes[one])
        assert alone.item() == found[at].item()
    assert found[3].item() == math.inf  # two steps for three labels


ONES = Tensor.ones((1, 1, 2, 2))
LOGS = Tensor.zeros((3, 2, 4))
TWO, LABELS = tensor([2, 2]), tensor([[1, 2], [3, 1]])
REFUSED = [
    (lambda: ONES.grid_sample(Tensor.ones((1, 2, 2, 3))), ShapeError, "grid_sample: shapes [1, 1"),
    (lambda: ONES.grid_sample(Tensor.ones((2, 2, 2, 2))), ShapeError, "grid_sample: shapes"),
    (lambda: ONES.grid_sample(tensor([[[[1, 1]]]])), DTypeError, "grid_sample: needs a float"),
    (lambda: ONES.grid_sample(Tensor.ones((1, 2, 2, 2)), mode="x"), SettingError, "got 'x'"),
    (
        lambda: Tensor.ones((1, 1, 0, 2)).grid_sample(Tensor.ones((1, 2, 2, 2))),
        ShapeError,
        "have no pixels",
    ),
    (lambda: ONES.unfold4d(3), ShapeError, "unfold4d: windows that span 3 × 3 do not fit planes"),
    (lambda: ONES.unfold4d(0), SettingError, "unfold4d: kernel is one or two whole numbers from 1"),
    (lambda: ONES.unfold4d((1, 1, 1)), SettingError, "unfold4d: kernel is one or two whole"),
    (lambda: ONES.unfold4d(1.5), DTypeError, "unfold4d: kernel is a whole number, got 1.5"),
    (lambda: ONES[0].unfold4d(1), ShapeError, "unfold4d: shape [1, 2, 2] is not (n, channel"),
    (lambda: Tensor.ones((1, 4, 2)).fold4d(2, 2), ShapeError, "is not (n, channel · 4, 1)"),
    (lambda: LOGS.ctc_loss(LABELS, TWO, tensor([2])), ShapeError, "target sizes of shape [1]"),
    (lambda: LOGS.ctc_loss(LABELS, tensor([4, 1]), TWO), IndexRangeError, "sizes are from 0 to 3"),
    (lambda: LOGS.ctc_loss(tensor([[0, 1], [1, 1]]), TWO, TWO), IndexRangeError, "the blank, 0"),
    (lambda: LOGS.ctc_loss(tensor([[4, 1], [1, 1]]), TWO, TWO), IndexRangeError, "index 4 is"),
    (lambda: LOGS.ctc_loss(tensor([[-1, 1], [1, 1]]), TWO, TWO), IndexRangeError, "from 0 other"),
    (lambda: LOGS.ctc_loss(LABELS, TWO, TWO, blank=4), IndexRangeError, "blank 4 is none of 4"),
    (lambda: LOGS.ctc_loss(LOGS, TWO, TWO), ShapeError, "expected (time, batch, class)"),
    (lambda: LOGS.cast(DType.I32).ctc_loss(LABELS, TWO, TWO), DTypeError, "ctc_loss: needs a"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED, ids=[m for *_, m in REFUSED])
def test_refused(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()
