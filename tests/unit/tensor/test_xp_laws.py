"""Laws that the functions of the array API keep among themselves, for every dtype and shape."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import ruda.tensor.xp as xp
from ruda.tensor import Tensor

INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
FLOATS, COMPLEX = ["float32", "float64"], ["complex64", "complex128"]
REAL, EVERY = [*INTEGERS, *FLOATS], ["bool", *INTEGERS, *FLOATS, *COMPLEX]
SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
AXES = hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4)


def arrays(dtypes, shapes=SHAPES):
    """Arrays with NaN, infinities and both zeros among the values, and many equal ones."""

    def made(dtype):
        numbers = hnp.from_dtype(np.dtype(dtype))
        few = st.sampled_from([0, 1, 2]).map(np.dtype(dtype).type)
        return hnp.arrays(dtype, shapes, elements=numbers | few)

    return st.sampled_from(dtypes).flatmap(made)


def same(a, b):
    return np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind in "fc")


@given(arrays(EVERY))
def test_unique_values_tell_everything_about_an_array(x):
    found = xp.unique_all(xp.asarray(x))
    values, indices, inverse, counts = (part.numpy() for part in found)
    absent = int(np.count_nonzero(x != x))
    assert same(values[inverse], x)
    assert inverse.shape == x.shape
    assert same(x.reshape(-1)[indices], values)
    assert counts.sum() == x.size
    assert np.count_nonzero(values != values) == absent
    assert len(set(values[values == values].tolist())) == values.size - absent
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        assert count == (1 if value != value else np.count_nonzero(x == value))
    for name in ("values", "counts", "inverse"):
        part = getattr(xp, f"unique_{name}")(xp.asarray(x))
        for key in getattr(part, "_fields", ()):
            assert getattr(part, key).dtype is getattr(found, key).dtype
            assert getattr(part, key).shape == getattr(found, key).shape
    assert {one.dtype for one in found[1:]} == {xp.int64}


@given(arrays(REAL, AXES), st.booleans(), st.data())
def test_sorting_is_stable_both_ways(x, descending, data):
    x = np.nan_to_num(x)
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    tensor = xp.asarray(x)
    places = xp.argsort(tensor, axis=axis, descending=descending).numpy()
    ordered = xp.sort(tensor, axis=axis, descending=descending).numpy()
    assert same(np.take_along_axis(x, places, axis), ordered)
    rows, at = np.moveaxis(ordered, axis, -1), np.moveaxis(places, axis, -1)
    left, right = rows[..., :-1], rows[..., 1:]
    assert np.all(left >= right if descending else left <= right)
    assert np.all((left != right) | (at[..., :-1] < at[..., 1:]))


@given(arrays(REAL, hnp.array_shapes(min_dims=1, max_dims=1, min_side=0, max_side=8)), st.data())
def test_searchsorted_parts_what_is_smaller_from_what_is_not(x, data):
    x = np.nan_to_num(x)
    wanted = data.draw(hnp.arrays(x.dtype, (3, 2))) if x.size == 0 else x[None, ::-1]
    wanted = np.nan_to_num(wanted)
    sorter = np.argsort(x, kind="stable")
    for side in ("left", "right"):
        found = xp.searchsorted(xp.asarray(np.sort(x)), xp.asarray(wanted), side=side)
        again = xp.searchsorted(
            xp.asarray(x), xp.asarray(wanted), side=side, sorter=xp.asarray(sorter)
        )
        assert found.tolist() == again.tolist()
        for value, place in zip(wanted.reshape(-1), found.numpy().reshape(-1), strict=True):
            first = np.sort(x) < value if side == "left" else np.sort(x) <= value
            assert place == np.count_nonzero(first)


@given(arrays(EVERY, AXES), st.data())
def test_what_moves_elements_can_move_them_back(x, data):
    tensor = xp.asarray(x)
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    order = tuple(data.draw(st.permutations(range(x.ndim))))
    shift = data.draw(st.integers(-9, 9))
    back = tuple(int(one) for one in np.argsort(order))
    assert same(xp.stack(xp.unstack(tensor, axis=axis), axis=axis).numpy(), x)
    assert same(xp.permute_dims(xp.permute_dims(tensor, order), back).numpy(), x)
    assert same(xp.roll(xp.roll(tensor, shift, axis=axis), -shift, axis=axis).numpy(), x)
    assert same(xp.flip(xp.flip(tensor, axis=axis), axis=axis).numpy(), x)
    assert same(xp.squeeze(xp.expand_dims(tensor, axis=axis), axis=axis).numpy(), x)
    assert same(xp.moveaxis(xp.moveaxis(tensor, axis, 0), 0, axis).numpy(), x)
    assert same(xp.reshape(xp.reshape(tensor, (-1,)), x.shape).numpy(), x)
    assert same(xp.take(tensor, xp.arange(x.shape[axis]), axis=axis).numpy(), x)
    whole = xp.concat([tensor, tensor], axis=axis)
    assert same(xp.repeat(xp.reshape(tensor, (-1,)), 2).numpy(), np.repeat(x, 2))
    size = x.shape[axis]
    first = xp.take(whole, xp.arange(size) + size, axis=axis)
    assert same(first.numpy(), x)


@given(arrays([*INTEGERS, "float64"], AXES), st.integers(1, 3), st.data())
def test_differences_undo_cumulative_sums(x, times, data):
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    x = np.round(np.clip(np.nan_to_num(x), -99, 99)) if x.dtype.kind == "f" else x
    sums = xp.asarray(x)
    for _ in range(times):
        sums = xp.cumulative_sum(sums, axis=axis, include_initial=True)
    assert sums.shape[axis] == x.shape[axis] + times
    assert same(xp.diff(sums, axis=axis, n=times).numpy(), x.astype(sums.numpy().dtype))


@given(arrays(EVERY), st.data())
def test_masks_of_any_shape(x, data):
    mask = data.draw(hnp.arrays(bool, st.sampled_from([x.shape, ()]) | SHAPES))
    tensor, key = xp.asarray(x), xp.asarray(mask)
    own = x.shape[: mask.ndim]
    if mask.ndim > x.ndim or any(
        one not in (two, 0) for one, two in zip(mask.shape, own, strict=False)
    ):
        with pytest.raises(IndexError):
            tensor[key]
        return
    found = tensor[key]
    assert found.dtype is tensor.dtype
    assert found.shape == (int(np.count_nonzero(mask)), *x.shape[mask.ndim :])
    if mask.shape != own:
        return  # an axis of size 0 picks nothing, whatever the size
    changed = xp.asarray(tensor, copy=True)
    changed[key] = xp.asarray(x.dtype.type(1))
    wanted = np.where(mask.reshape(mask.shape + (1,) * (x.ndim - mask.ndim)), x.dtype.type(1), x)
    assert same(changed.numpy(), wanted)
    assert same(tensor.numpy(), x)


@pytest.mark.parametrize("dtype", EVERY)
@pytest.mark.parametrize("value", [0, 1])
def test_scalars_become_pythons_own(dtype, value):
    x = xp.asarray(value, dtype=getattr(xp, dtype))
    kinds = {bool: bool(value), complex: complex(value)}
    kinds |= {int: value, float: float(value)} if dtype not in COMPLEX else {}
    for kind, wanted in kinds.items():
        assert type(kind(x)) is kind
        assert kind(x) == wanted
    if dtype in INTEGERS:
        assert type(x.__index__()) is int


@pytest.mark.parametrize("dtypes", [INTEGERS, FLOATS, COMPLEX], ids=["whole", "float", "complex"])
def test_within_a_kind_casts_are_allowed_where_the_range_is_kept(dtypes):
    for first in dtypes:
        for second in dtypes:
            a, b = getattr(xp, first), getattr(xp, second)
            if dtypes is INTEGERS:
                own, other = xp.iinfo(a), xp.iinfo(b)
            else:
                own, other = xp.finfo(a), xp.finfo(b)
            fits = other.min <= own.min and own.max <= other.max
            assert xp.can_cast(a, b) is fits
            assert xp.can_cast(xp.ones((), dtype=a), b) is fits


@given(st.lists(st.sampled_from([*INTEGERS[:7], *FLOATS]), min_size=2, max_size=5))
def test_promotion_does_not_ask_for_the_order(names):
    if len({name in FLOATS for name in names}) > 1:
        return
    dtypes = [getattr(xp, name) for name in names]
    wanted = xp.result_type(*dtypes)
    assert xp.result_type(*reversed(dtypes)) is wanted
    assert xp.result_type(*(xp.ones((2,), dtype=one) for one in dtypes)) is wanted
    assert all(xp.can_cast(one, wanted) for one in dtypes)


def matrices(dtype, *shape, seed=0):
    rng = np.random.default_rng(seed)
    made = rng.normal(size=shape).astype(dtype)
    if made.dtype.kind == "c":
        made.imag = rng.normal(size=shape)
    return made


def near(a, b, dtype):
    a, b = (one.numpy() if isinstance(one, Tensor) else one for one in (a, b))
    assert a.shape == b.shape
    assert a.dtype == np.dtype(dtype)
    scale = 1e-4 if a.dtype.itemsize // (2 if a.dtype.kind == "c" else 1) == 4 else 1e-12
    np.testing.assert_allclose(a, b, rtol=0, atol=scale * max(1, float(np.max(np.abs(b)))))


@pytest.mark.parametrize("batch", [(), (2,), (3, 1)])
@pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEX])
def test_factors_multiply_to_the_matrix(dtype, batch):
    a = matrices(dtype, *batch, 4, 3)
    square = xp.asarray(matrices(dtype, *batch, 3, 3, seed=1))
    x, real = xp.asarray(a), a.real.dtype
    adjoint = xp.conj(xp.matrix_transpose(square))
    positive = square @ adjoint + xp.eye(3, dtype=square.dtype)
    for mode, columns in (("reduced", 3), ("complete", 4)):
        q, r = xp.linalg.qr(x, mode=mode)
        assert (q.shape[-1], r.shape[-2:]) == (columns, (columns, 3))
        near(q @ r, a, dtype)
        assert not np.any(np.tril(r.numpy(), -1))
    u, s, vh = xp.linalg.svd(x, full_matrices=False)
    assert s.numpy().dtype == real
    near(u * xp.astype(s, x.dtype)[..., None, :] @ vh, a, dtype)
    assert [part.shape[-2:] for part in xp.linalg.svd(x)[::2]] == [(4, 4), (3, 3)]
    values, vectors = xp.linalg.eigh(positive)
    assert values.numpy().dtype == real
    turned = vectors * xp.astype(values, x.dtype)[..., None, :]
    near(turned @ xp.conj(xp.matrix_transpose(vectors)), positive, dtype)
    for upper in (False, True):
        factor = xp.linalg.cholesky(positive, upper=upper)
        mirror = xp.conj(xp.matrix_transpose(factor))
        near(mirror @ factor if upper else factor @ mirror, positive, dtype)
    sign, size = xp.linalg.slogdet(square)
    near(sign * xp.astype(xp.exp(size), x.dtype), xp.linalg.det(square), dtype)
    near(xp.linalg.pinv(x) @ x, np.broadcast_to(np.eye(3), (*batch, 3, 3)), dtype)
    near(xp.linalg.matrix_power(square, 0), np.broadcast_to(np.eye(3), (*batch, 3, 3)), dtype)
    near(xp.linalg.matrix_power(square, -1), xp.linalg.inv(square), dtype)
    near(square @ xp.linalg.solve(square, square), square, dtype)
    vector = xp.asarray(matrices(dtype, 3, seed=2))
    assert xp.linalg.solve(square, vector).shape == (*batch, 3)
    near(xp.linalg.vector_norm(x), np.asarray(np.linalg.norm(a.reshape(-1))), real)
    assert xp.linalg.matrix_norm(x, keepdims=True).shape == (*batch, 1, 1)


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("double", [False, True])
def test_transforms_have_inverses(double, norm):
    dtype, real = ("complex128", "float64") if double else ("complex64", "float32")
    fft = xp.fft
    for size in (1, 2, 5, 8):
        x, y = matrices(dtype, 3, size), matrices(real, 3, size)
        z, r = xp.asarray(x), xp.asarray(y)
        near(fft.ifft(fft.fft(z, norm=norm), norm=norm), x, dtype)
        near(fft.ifftn(fft.fftn(z, norm=norm), norm=norm), x, dtype)
        assert fft.rfft(r).shape == (3, size // 2 + 1)
        near(fft.irfft(fft.rfft(r, norm=norm), n=size, norm=norm), y, real)
        near(fft.hfft(fft.ihfft(r, norm=norm), n=size, norm=norm), y, real)
        near(fft.irfftn(fft.rfftn(r, norm=norm), s=(3, size), axes=(0, 1), norm=norm), y, real)
        near(fft.ifftshift(fft.fftshift(z)), x, dtype)
        spaced = fft.fftfreq(size, d=0.5, dtype=getattr(xp, real)).numpy()
        assert np.all(np.diff(np.fft.fftshift(spaced)) > 0)
        half = fft.rfftfreq(size, d=0.5, dtype=getattr(xp, real)).numpy()
        assert same(half, np.abs(spaced[: size // 2 + 1]))


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(0, 9),
    st.booleans(),
)
def test_linspace_stays_between_its_ends(start, stop, count, endpoint):
    """Also where their distance is more than the largest float."""
    found = xp.linspace(start, stop, count, dtype=xp.float64, endpoint=endpoint).numpy()
    assert found.shape == (count,)
    assert np.all(np.isfinite(found))
    turned = complex(stop, start), complex(start, stop)
    both = xp.linspace(*turned, count, dtype=xp.complex128, endpoint=endpoint).numpy()
    assert same(both.imag, found)
    low, high = sorted((start, stop))
    slack = 4 * math.ulp(max(abs(low), abs(high)))
    assert np.all((found >= low - slack) & (found <= high + slack))
    if count:
        assert found[0] == start
    if endpoint and count > 1:
        assert found[-1] == stop
