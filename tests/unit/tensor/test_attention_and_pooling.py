"""Attention and largest values with their places, by hand and against plain loops."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda.errors import DTypeError, SettingError, ShapeError
from ruda.tensor import DType, Tensor

RANDOM = np.random.default_rng(7)


def normal(*shape, dtype=np.float64):
    return RANDOM.normal(size=shape).astype(dtype)


def plain_attention(q, k, v, *, hidden=None, bias=None, scale=None, cap=None):
    """One head by loops over queries and keys."""
    made = np.zeros((len(q), v.shape[1]))
    for i, query in enumerate(q):
        scores = []
        for j, key in enumerate(k):
            score = float(query @ key) * (1 / math.sqrt(q.shape[1]) if scale is None else scale)
            score = score if cap is None else cap * math.tanh(score / cap)
            score = -math.inf if hidden is not None and hidden[i, j] else score
            scores.append(score + (0 if bias is None else bias[i, j]))
        top = max(scores)
        if top == -math.inf:
            continue
        powers = [math.exp(score - top) for score in scores]
        made[i] = sum(p * row for p, row in zip(powers, v, strict=True)) / sum(powers)
    return made


Q, K, V = normal(2, 3, 4, 5), normal(2, 3, 6, 5), normal(2, 3, 6, 7)
HIDDEN = RANDOM.random((4, 6)) < 0.4
BIAS = normal(4, 6)


@pytest.mark.parametrize(
    ("settings", "same"),
    [
        ({}, {}),
        ({"scale": 0.3}, {"scale": 0.3}),
        ({"softcap": 0.5}, {"cap": 0.5}),
        ({"mask": Tensor(HIDDEN)}, {"hidden": HIDDEN}),
        ({"bias": Tensor(BIAS)}, {"bias": BIAS}),
        (
            {"mask": Tensor(HIDDEN), "bias": Tensor(BIAS), "softcap": 2.0, "scale": -1},
            {"hidden": HIDDEN, "bias": BIAS, "cap": 2.0, "scale": -1.0},
        ),
    ],
)
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-12), (np.float32, 2e-5)])
def test_attention_is_that_of_plain_loops(settings, same, dtype, rtol):
    given = [Tensor(part.astype(dtype)) for part in (Q, K, V)]
    settings = {n: Tensor(BIAS.astype(dtype)) if n == "bias" else s for n, s in settings.items()}
    found = given[0].attention(*given[1:], **settings)
    assert found.numpy().dtype == dtype
    for place in np.ndindex(2, 3):
        expected = plain_attention(Q[place], K[place], V[place], **same)
        np.testing.assert_allclose(found.numpy()[place], expected, rtol=rtol, atol=rtol)


def test_a_causal_query_sees_keys_up_to_its_own_and_the_last_sees_all():
    values = Tensor(np.arange(1.0, 4.0)[:, None])
    keys = Tensor(np.zeros((3, 1)))
    three = Tensor(np.zeros((3, 1))).attention(keys, values, is_causal=True)
    assert three.tolist() == [[1.0], [1.5], [2.0]]
    last = Tensor(np.zeros((1, 1))).attention(keys, values, is_causal=True)
    assert last.tolist() == [[2.0]]
    more = Tensor(np.zeros((4, 1))).attention(keys, values, is_causal=True)
    assert more.tolist() == [[0.0], [1.0], [1.5], [2.0]]
    mask = Tensor(np.array([[True, False, False]]))
    both = Tensor(np.zeros((3, 1))).attention(keys, values, is_causal=True, mask=mask)
    assert both.tolist() == [[0.0], [2.0], [2.5]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_who_sees_nothing_gets_0_and_nan_is_not_nothing(dtype):
    q, k, v = (Tensor(np.ones((2, 2), dtype)) for _ in range(3))
    hidden = Tensor(np.array([[True, True], [False, True]]))
    assert q.attention(k, v, mask=hidden).tolist() == [[0, 0], [1, 1]]
    broken = Tensor(np.full((2, 2), np.nan, dtype))
    assert np.isnan(broken.attention(k, v).numpy()).all()
    nothing = Tensor(np.ones((0, 2), dtype))
    assert q.attention(nothing, nothing).tolist() == [[0, 0], [0, 0]]


def test_axes_in_front_broadcast_and_halves_are_computed_in_f32():
    one = Tensor(normal(6, 5)), Tensor(normal(6, 7))
    found = Tensor(Q).attention(*one)
    whole = [np.broadcast_to(part.numpy(), (2, 3, *part.shape)) for part in one]
    again = Tensor(Q).attention(Tensor(whole[0]), Tensor(whole[1]))
    np.testing.assert_allclose(found.numpy(), again.numpy(), rtol=1e-12)
    halves = [Tensor(part).cast(DType.BF16) for part in (Q, K, V)]
    wide = [half.cast(DType.F32) for half in halves]
    made = halves[0].attention(halves[1], halves[2])
    assert made.dtype is DType.BF16
    assert made.tolist() == wide[0].attention(wide[1], wide[2]).cast(DType.BF16).tolist()


def plain_pool(plane, kernel, stride, padding, dilation, over_end):
    """Largest values and places of one plane by loops."""
    counts = []
    for size, n, step, pad, gap in zip(plane.shape, kernel, stride, padding, dilation, strict=True):
        room = size + 2 * pad - (gap * (n - 1) + 1)
        count = room // step + 1
        counts.append(count + (over_end and room % step > 0 and count * step < size + pad))
    best, place = np.zeros(counts), np.zeros(counts, np.int64)
    for out in np.ndindex(*counts):
        seen = []
        for point in np.ndindex(*kernel):
            at = [o * s - p + i * g for o, s, p, i, g in zip(
                out, stride, padding, point, dilation, strict=True)]  # fmt: skip
            if all(0 <= a < n for a, n in zip(at, plane.shape, strict=True)):
                seen.append((plane[tuple(at)], at[0] * plane.shape[1] + at[1]))
        best[out], place[out] = max(seen, key=lambda pair: pair[0])  # the first of equals
    return best, place


@st.composite
def windows(draw):
    def two(low, high):
        return draw(st.integers(low, high)), draw(st.integers(low, high))

    kernel, stride, dilation = two(1, 3), two(1, 3), two(1, 2)
    spans = [g * (n - 1) + 1 for n, g in zip(kernel, dilation, strict=True)]
    size = tuple(draw(st.integers(span, span + 4)) for span in spans)
    padding = tuple(draw(st.integers(0, min(n // 2, span - 1))) for n, span in zip(
        kernel, spans, strict=True))  # fmt: skip
    values = draw(
        st.lists(st.integers(-3, 3), min_size=size[0] * size[1], max_size=size[0] * size[1])
    )
    plane = np.array(values, np.float32).reshape(size)
    return plane, kernel, stride, padding, dilation, draw(st.booleans())


@given(windows())
def test_largest_values_and_places_are_those_of_plain_loops(case):
    plane, kernel, stride, padding, dilation, over_end = case
    settings = {"stride": stride, "padding": padding, "dilation": dilation, "ceil_mode": over_end}
    best, place = Tensor(plane[None, None]).max_pool2d_with_indices(kernel, **settings)
    expected = plain_pool(*case)
    assert np.array_equal(best.numpy()[0, 0], expected[0])
    assert np.array_equal(place.numpy()[0, 0], expected[1])
    row = {name: one[1] if isinstance(one, tuple) else one for name, one in settings.items()}
    best, place = Tensor(plane[:1]).unsqueeze(0).max_pool1d_with_indices(kernel[1], **row)
    line = plain_pool(
        plane[:1], (1, kernel[1]), (1, stride[1]), (0, padding[1]), (1, dilation[1]), over_end
    )
    assert np.array_equal(best.numpy()[0, 0], line[0][0])
    assert np.array_equal(place.numpy()[0, 0], line[1][0])


def test_pooling_of_halves_nan_and_the_least_values():
    plane = Tensor.from_data([[[[1.0, np.nan], [np.nan, 2.0]]]], dtype=DType.F16)
    best, place = plane.max_pool2d_with_indices(2)
    assert (best.dtype, place.dtype) == (DType.F16, DType.I64)
    assert (np.isnan(best.item()), place.item()) == (True, 1)
    least = Tensor(np.full((1, 1, 3), -np.inf))
    best, place = least.max_pool1d_with_indices(3, padding=1, stride=1)
    assert best.tolist() == [[[-math.inf] * 3]]
    assert place.tolist() == [[[0, 0, 1]]]
    assert Tensor(np.zeros((0, 2, 4))).max_pool1d_with_indices(2)[1].shape == (0, 2, 2)


ONE = Tensor(np.ones((2, 3)))
PLANES = Tensor(np.ones((1, 1, 4, 4)))
WRONG = [
    (lambda: ONE.attention(Tensor(np.ones((2, 4))), ONE), ShapeError, "(…, key time, d)"),
    (lambda: ONE.attention(ONE, Tensor(np.ones((5, 3)))), ShapeError, "[2, 3], [2, 3] and [5, 3]"),
    (lambda: Tensor(np.ones(3)).attention(ONE, ONE), ShapeError, "expected (…, time, d)"),
    (lambda: ONE.attention(ONE, ONE, mask=ONE), DTypeError, "True where it hides, got f64"),
    (
        lambda: ONE.attention(ONE, ONE, mask=Tensor(np.zeros((5, 2, 2), bool))),
        ShapeError,
        "a mask of shape [5, 2, 2] does not fit scores of [2, 2]",
    ),
    (
        lambda: ONE.attention(ONE, ONE, bias=Tensor(np.ones((3, 2)))),
        ShapeError,
        "[3, 2] and [2, 2]",
    ),
    (lambda: ONE.attention(ONE, ONE, softcap=0), SettingError, "softcap is above 0"),
    (lambda: ONE.attention(ONE, ONE, softcap=math.nan), SettingError, "softcap is above 0"),
    (lambda: ONE.attention(ONE, ONE, scale="1"), DTypeError, "scale is a real number"),
    (lambda: ONE.attention(ONE, ONE, is_causal=1), DTypeError, "is_causal is True or False"),
    (lambda: ONE.attention(ONE, np.ones((2, 3))), DTypeError, "ndarray is not a tensor"),
    (lambda: ONE.cast(DType.I32).attention(ONE, ONE), DTypeError, "got i32"),
    (
        lambda: Tensor(np.ones((2, 0))).attention(Tensor(np.ones((2, 0))), ONE),
        ShapeError,
        "no elements to compare",
    ),
    (lambda: ONE.max_pool2d_with_indices(2), ShapeError, "[2, 3] is not (n, channel, h, w)"),
    (lambda: ONE.max_pool1d_with_indices(2), ShapeError, "[2, 3] is not (n, channel, length)"),
    (lambda: PLANES.max_pool2d_with_indices(5), ShapeError, "spans 5 does not fit 4 elements"),
    (lambda: PLANES.max_pool2d_with_indices(2, padding=2), SettingError, "nothing but padding"),
    (lambda: PLANES.max_pool2d_with_indices(0), SettingError, "kernel is one or two"),
    (lambda: PLANES.max_pool2d_with_indices(2, ceil_mode=1), DTypeError, "True or False"),
    (
        lambda: PLANES.reshape(1, 4, 4).max_pool1d_with_indices(2, stride=0),
        SettingError,
        "stride is a whole number from 1, got 0",
    ),
    (
        lambda: Tensor(np.ones((1, 1, 1))).max_pool1d_with_indices(2, padding=1, dilation=2),
        ShapeError,
        "lets a window see nothing",
    ),
    (lambda: PLANES.cast(DType.I8).max_pool2d_with_indices(2), DTypeError, "got i8"),
]


@pytest.mark.parametrize(("compute", "error", "message"), WRONG)
def test_refused(compute, error, message):
    with pytest.raises(error, match=re.escape(message)):
        compute()
