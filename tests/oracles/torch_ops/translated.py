"""torch's arguments translated: axes of scalars, dtypes before sums, options with other names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import ruda.tensor.xp as xp
from ruda import nn
from ruda.tensor import DType, Tensor

Twin = Callable[..., Any]


class First(NamedTuple):
    """Ruda gives only the first of torch's results (torch adds positions)."""

    result: Any


class UnlikeError(Exception):
    """Ruda has the operation, but not with these settings."""


def require(condition: bool, reason: str) -> None:
    """Raise UnlikeError unless the condition holds."""
    if not condition:
        raise UnlikeError(reason)


def axes(x: Tensor, dim: Any) -> Any:
    """torch's ``dim``: on a scalar 0 and -1 mean no axis at all; an empty list means all."""
    if isinstance(dim, Sequence) and not isinstance(dim, str):
        dim = tuple(dim)
        if not dim:
            return None
    return () if x.ndim == 0 and dim is not None else dim


def lifted(x: Tensor, compute: Callable[[Tensor], Any]) -> Any:
    """A scalar taken as a vector of one and back, as torch does where an axis is named."""
    if x.ndim:
        return compute(x)
    found = compute(xp.reshape(x, (1,)))
    parts = found if isinstance(found, tuple) else (found,)
    back = tuple(xp.reshape(part, ()) for part in parts)
    return back if isinstance(found, tuple) else back[0]


def cast_first(x: Tensor, dtype: DType | None) -> Tensor:
    """The input in the dtype asked for, as torch does before it reduces."""
    return x if dtype is None else x.cast(dtype)


def reduce(name: str) -> Twin:
    def run(x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        return getattr(cast_first(x, dtype), name)(axes(x, dim), keepdims=keepdim)

    return run


def position(name: str) -> Twin:
    def run(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
        if x.ndim == 0:
            return xp.asarray(0)
        return getattr(x, name)(dim, keepdims=keepdim)

    return run


def extreme(name: str) -> Twin:
    def run(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
        if isinstance(dim, Tensor):
            return getattr(x, f"{name}_pair")(dim)
        if dim is None:
            return getattr(x, name)()
        if x.ndim == 0:
            return x, xp.asarray(0)
        return getattr(x, f"{name}_with_indices")(dim, keepdims=keepdim)

    return run


def spread(name: str) -> Twin:
    def run(
        x: Any,
        dim: Any = None,
        keepdim: Any = False,
        *,
        unbiased: Any = None,
        correction: Any = None,
    ) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        one = 1.0 if unbiased in (None, True) else 0.0
        more = one if correction is None else float(correction)
        return getattr(x, name)(axes(x, dim), correction=more, keepdims=keepdim)

    return run


def running(name: str) -> Twin:
    def run(x: Any, dim: int, *, dtype: Any = None) -> Any:
        return lifted(cast_first(x, dtype), lambda y: getattr(y, name)(dim))

    return run


def method(name: str) -> Twin:
    return lambda x, *args, **options: getattr(x, name)(*args, **options)


def function(name: str) -> Twin:
    return lambda *args: getattr(xp, name)(*args)


def sort(x: Any, dim: int = -1, descending: bool = False, *, stable: Any = None) -> Any:
    return lifted(x, lambda y: y.sort_with_indices(dim, descending=descending))


def argsort(x: Any, dim: int = -1, descending: bool = False, *, stable: Any = None) -> Any:
    return lifted(x, lambda y: y.argsort(dim, descending=descending))


def topk(x: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    require(largest, "the smallest")
    values, places = lifted(x, lambda y: y.topk(k, dim))
    there = lifted(x, lambda y: y.gather(dim, places if x.ndim else places.reshape(k)))
    require_places(values, there)
    return First(values)  # of equal values torch takes any


def require_places(values: Tensor, there: Tensor) -> None:
    """Places are those of the values. Raises AssertionError."""
    np.testing.assert_array_equal(values.numpy(), there.numpy())


def median(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    if dim is None:
        return x.median()
    found = lifted(x, lambda y: y.median_with_indices(dim)) if x.ndim else (x, xp.asarray(0))
    return tuple(part.unsqueeze(dim) for part in found) if keepdim and x.ndim else found


def cat(parts: Any, dim: int = 0) -> Any:
    parts = list(parts)
    require(len({part.ndim for part in parts}) == 1, "empty vectors among others")
    return xp.concat(parts, axis=dim)


def div(x: Any, y: Any, *, rounding_mode: Any = None) -> Any:
    if rounding_mode == "floor":
        return x // y
    if rounding_mode == "trunc":
        return widely(lambda a, b: (a / b).trunc(), x, y)
    return x / y


def widely(compute: Callable[..., Tensor], *given: Any) -> Tensor:
    """Several steps in f32 where tensors are halves, which torch rounds once as well."""
    halves = {one.dtype for one in given if isinstance(one, Tensor)} & {DType.F16, DType.BF16}
    if not halves:
        return compute(*given)
    wide = [one.cast(DType.F32) if isinstance(one, Tensor) else one for one in given]
    found = compute(*wide)
    return found.cast(halves.pop()) if len(halves) == 1 else found


def add(x: Any, y: Any, *, alpha: Any = 1) -> Any:
    return x + y if alpha == 1 else widely(lambda a, b: a + b * alpha, x, y)


def sub(x: Any, y: Any, *, alpha: Any = 1) -> Any:
    return x - y if alpha == 1 else widely(lambda a, b: a - b * alpha, x, y)


def clamp(x: Any, min: Any = None, max: Any = None) -> Any:
    return x.clamp(min, max)


def softmax(name: str) -> Twin:
    def run(x: Any, dim: int, *, dtype: Any = None) -> Any:
        return lifted(cast_first(x, dtype), lambda y: getattr(y, name)(dim))

    return run


def sizes_(x: Any, *sizes: Any) -> tuple[int, ...]:
    flat: list[int] = []
    for size in sizes:
        flat.extend([size] if isinstance(size, int) else size)
    return tuple(flat)


def split(x: Any, size: Any, dim: int = 0) -> Any:
    return tuple(x.split(size if isinstance(size, int) else list(size), dim))


def scatter(x: Any, dim: int, index: Any, src: Any, *, reduce: Any = None) -> Any:
    update = {None: "assign", "add": "add", "multiply": "mul", "sum": "add", "prod": "mul",
              "amin": "min", "amax": "max"}.get(reduce)  # fmt: skip
    require(update is not None, f"reduce {reduce}")
    require(x.ndim > 0 and index.ndim == x.ndim, "a scalar")
    if not isinstance(src, Tensor):
        src = xp.full(index.shape, src, dtype=x.dtype)
    inside = tuple(slice(0, size) for size in index.shape)
    return x.scatter(dim, index, src[inside], update=update)


def scatter_reduce(
    x: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True
) -> Any:
    require(include_self, "without the values that are there")
    return scatter(x, dim, index, src, reduce=reduce)


def norm(
    x: Any, ord: float = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    return cast_first(x, dtype).vector_norm(float(ord), axes(x, dim), keepdims=keepdim)


def fft(name: str) -> Twin:
    def run(x: Any, n: Any = None, dim: int = -1, norm: Any = None) -> Any:
        return getattr(xp.fft, name)(x, n=n, axis=dim, norm=norm or "backward")

    return run


def fftn(name: str, last: int | None = None) -> Twin:
    def run(x: Any, s: Any = None, dim: Any = None, norm: Any = None) -> Any:
        if dim is None and last is not None:
            dim = tuple(range(-last, 0))
        dim = (dim,) if isinstance(dim, int) else dim
        s = (s,) if isinstance(s, int) else s
        if s is not None and -1 in s:
            places = dim if dim is not None else tuple(range(-len(s), 0))
            s = tuple(x.shape[d] if size == -1 else size for size, d in zip(s, places, strict=True))
        return getattr(xp.fft, name)(x, s=s, axes=dim, norm=norm or "backward")

    return run


def shift(name: str) -> Twin:
    return lambda x, dim=None: getattr(xp.fft, name)(x, axes=dim)


def where(condition: Any, *rest: Any) -> Any:
    return xp.where(rest[0], condition, rest[1])  # torch's samples begin with the values


def pick(x: Any, key: Any) -> Any:
    require(not isinstance(key, list), "lists as parts")
    parts = key if isinstance(key, tuple) else (key,)
    require(not any(isinstance(p, bool | list | tuple) for p in parts), "lists as parts")
    return x[key]


def cov(x: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    require(fweights is None and aweights is None, "weights")
    return x.cov(correction)


def round(x: Any, *, decimals: int = 0) -> Any:
    require(decimals == 0, "decimals")
    return x.round()


def repeat_interleave(x: Any, repeats: Any, dim: Any = None, *, output_size: Any = None) -> Any:
    if isinstance(repeats, Tensor) and repeats.ndim == 0:
        repeats = int(repeats)
    return (
        lifted(x, lambda y: xp.repeat(y, repeats, axis=dim))
        if x.ndim
        else xp.repeat(xp.reshape(x, (1,)), repeats, axis=dim)
    )


def searchsorted(
    ordered: Any, values: Any, *, right: Any = None, side: Any = None, sorter: Any = None,
    out_int32: bool = False,
) -> Any:  # fmt: skip
    require(ordered.ndim == 1, "many ordered rows at once")
    found = xp.searchsorted(
        ordered, values, side="right" if right or side == "right" else "left", sorter=sorter
    )
    return found.cast(DType.I32) if out_int32 else found


def unique(x: Any, *, sorted: bool = True, return_inverse: bool = False,
            return_counts: bool = False, dim: Any = None) -> Any:  # fmt: skip
    require(dim is None, "along an axis")
    found = xp.unique_all(x)
    parts = [found.values]
    parts += [found.inverse_indices] if return_inverse else []
    parts += [found.counts] if return_counts else []
    return tuple(parts) if len(parts) > 1 else parts[0]


def arange(*bounds: Any, end: Any = None, dtype: Any = None, device: Any = None, **_: Any) -> Any:
    bounds = bounds if end is None else (bounds[0], end, *bounds[1:])
    start, stop, step = ([0, *bounds] if len(bounds) == 1 else list(bounds)) + [1] * (
        3 - max(2, len(bounds))
    )
    return xp.arange(start, stop, step, dtype=dtype)


def linspace(
    start: Any, end: Any, steps: int, *, dtype: Any = None, device: Any = None, **_: Any
) -> Any:
    ends = [one.item() if isinstance(one, Tensor) else one for one in (start, end)]
    require(not (dtype and dtype.is_integer), "integers, which torch truncates")
    return xp.linspace(ends[0], ends[1], steps, dtype=dtype)


def eye(n: int, m: Any = None, *, dtype: Any = None, device: Any = None, **_: Any) -> Any:
    return xp.eye(n, m, dtype=dtype)


def like(name: str) -> Twin:
    def run(x: Any, *args: Any, dtype: Any = None, **_: Any) -> Any:
        return getattr(xp, name)(x, *args, dtype=dtype)

    return run


def made(name: str) -> Twin:
    def run(size: Any, *more: Any, dtype: Any = None, **_: Any) -> Any:
        args = [one.item() if isinstance(one, Tensor) else one for one in more]
        return getattr(xp, name)(tuple(size), *args, dtype=dtype)

    return run


def solve(a: Any, b: Any, *, left: bool = True) -> Any:
    require(left, "from the right")
    vector = b.ndim == 1 or (a.ndim - 1 == b.ndim and b.shape == a.shape[:-1])
    if vector and b.ndim > 1:
        return xp.linalg.solve(a, b.unsqueeze(-1)).squeeze(-1)
    return xp.linalg.solve(a, b)


def matrix_norm(x: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False,
                 *, dtype: Any = None) -> Any:  # fmt: skip
    x = cast_first(x, dtype)
    moved = xp.moveaxis(x, tuple(dim), (-2, -1))
    found = xp.linalg.matrix_norm(moved, ord=ord)
    if keepdim:
        for place in sorted(d % x.ndim for d in dim):
            found = found.unsqueeze(place)
    return found


def tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    if not isinstance(dims, int):
        dims = tuple(tuple(d) for d in dims)
        sizes = [[x.shape[d] for d in side] for x, side in zip((a, b), dims, strict=True)]
        require(sizes[0] == sizes[1], "axes of size 1 that stretch")
    return xp.tensordot(a, b, axes=dims)


def moved(x: Any, source: Any, target: Any) -> Any:
    pair = [tuple(p) if isinstance(p, Sequence) else p for p in (source, target)]
    return lifted(x, lambda y: y.movedim(*pair))


def roll(x: Any, shifts: Any, dims: Any = None) -> Any:
    require(x.ndim > 0, "a scalar along an axis")
    dims = None if dims in ((), []) else dims
    shifts = tuple(shifts) if isinstance(shifts, Sequence) else shifts
    if dims is None and isinstance(shifts, tuple):
        shifts = shifts[0]
    return x.roll(shifts, tuple(dims) if isinstance(dims, Sequence) else dims)


def diff(x: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    return xp.diff(x, n=n, axis=dim, prepend=prepend, append=append)


def isclose(x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    require(not equal_nan, "NaN as equal")
    return x.is_close(y, rtol=rtol, atol=atol)


def allclose(*args: Any, **options: Any) -> Any:
    return bool(np.all(isclose(*args, **options).numpy()))


def count_nonzero(x: Any, dim: Any = None) -> Any:
    return x.count_nonzero(axes(x, dim))


def squeeze(x: Any, dim: Any = None) -> Any:
    if x.ndim == 0:
        return x
    places = range(x.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    ones = tuple(p % x.ndim for p in places if x.shape[p] == 1)
    return x.squeeze(ones) if ones else x


def logsumexp(x: Any, dim: Any, keepdim: bool = False) -> Any:
    dim = dim[0] if isinstance(dim, Sequence) and len(dim) == 1 else dim
    require(isinstance(dim, int), "several axes")
    return lifted(x, lambda y: y.logsumexp(dim, keepdims=keepdim))


def dim_(x: Any, dim: Any) -> Any:
    return 0 if x.ndim == 0 else dim


def unlike(reason: str) -> Any:
    raise UnlikeError(reason)


def mean_of(x: Any, dim: Any = None, keepdim: Any = False, **_: Any) -> Any:
    if isinstance(dim, bool):
        dim = None
    return x.mean(axes(x, dim), keepdims=keepdim)


def interpolate(x: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
                align_corners: Any = None, recompute_scale_factor: Any = None) -> Any:  # fmt: skip
    modes = {"nearest": "nearest", "nearest-exact": "nearest_exact",
             "linear": "linear", "bilinear": "linear", "bicubic": "cubic"}  # fmt: skip
    require(mode in modes, f"mode {mode}")
    require(x.rank in (3, 4), "other than one or two axes")
    require(not recompute_scale_factor, "recompute_scale_factor")
    if x.rank == 3:
        size = size[0] if isinstance(size, tuple | list) else size
        scale_factor = scale_factor[0] if isinstance(scale_factor, tuple | list) else scale_factor
    layer = nn.Interpolate1d if x.rank == 3 else nn.Interpolate2d
    size = tuple(size) if isinstance(size, list) else size
    scale = tuple(scale_factor) if isinstance(scale_factor, list) else scale_factor
    return layer(
        output_size=size, scale_factor=scale, mode=modes[mode], align_corners=bool(align_corners)
    )(x)


def upsample(mode: str, *, align_corners: bool) -> Twin:
    def run(x: Any, size: Any = None, scale_factor: Any = None) -> Any:
        return interpolate(x, size, scale_factor, mode, align_corners)

    return run
