"""Calls of the extensions and of products, of indices and assignments, and of what is an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from array_api.sides import Call, Named
from array_api.values import (
    COMPLEX,
    EVERY,
    FLOATS,
    INEXACT,
    INTEGERS,
    NUMERIC,
    array,
    filled,
    number,
    pair,
    shape,
    tame,
)

Rng = np.random.Generator
Calls = Iterator[Call]
Array = np.ndarray[Any, Any]


def products(rng: Rng) -> Calls:
    for dtype in NUMERIC:
        first, second = pair(rng, NUMERIC)
        n, k, m = (int(one) for one in rng.integers(0, 5, 3))
        batch = filled(rng, 0, 2)
        left, right = tame(rng, first, (*batch, n, k)), tame(rng, second, (*batch[1:], k, m))
        for name in ("matmul", "linalg.matmul", "x @ y"):
            yield Call(name, (left, right))
        yield Call("matmul", (left, tame(rng, second, (k,))))
        yield Call("matmul", (tame(rng, first, (k,)), right))
        yield Call("x @= y", (tame(rng, dtype, (n, k)), tame(rng, dtype, (k, k))))
        yield Call("tensordot", (left, tame(rng, second, (k, 2))), {"axes": 1})
        yield Call("tensordot", (left, left), {"axes": ((-1, 0), (-1, 0))})
        yield Call("tensordot", (left, right), {"axes": 0})
        yield Call("linalg.tensordot", (left, left), {"axes": ([-2], [-2])})
        for name in ("vecdot", "linalg.vecdot"):
            yield Call(name, (left, tame(rng, second, (k,))))
            yield Call(name, (left, tame(rng, second, (n, k))), {"axis": -2})
        yield Call("linalg.outer", (tame(rng, first, (n,)), tame(rng, second, (m,))))
        threes = tame(rng, first, (2, 3)), tame(rng, second, (2, 3))
        yield Call("linalg.cross", threes)
        yield Call("linalg.cross", tuple(one.T.copy() for one in threes), {"axis": -2})
        matrix = tame(rng, dtype, (*batch, n, m))
        offset = {"offset": int(rng.integers(-4, 5))}
        yield Call("linalg.diagonal", (matrix,), offset)
        yield Call("linalg.trace", (matrix,), offset)
        yield Call("linalg.trace", (matrix,), {"dtype": Named(_wide(dtype))})
        yield Call("linalg.matrix_transpose", (matrix,))
        vectors = tame(rng, dtype, filled(rng, 1))
        if dtype in INEXACT:
            axis = [None, 0, -1, tuple(range(vectors.ndim))][int(rng.integers(4))]
            order = float(rng.choice([0, 1, 2, 3, -1, 0.5, np.inf, -np.inf]))
            options = {"axis": axis, "keepdims": bool(rng.integers(2)), "ord": order}
            yield Call("linalg.vector_norm", (vectors,), options)


def _wide(dtype: str) -> str:
    return "complex128" if dtype in COMPLEX else "float64" if dtype in FLOATS else dtype


def decompositions(rng: Rng) -> Calls:
    for dtype in INEXACT:
        batch, n = filled(rng, 0, 2), int(rng.integers(1, 5))
        a = tame(rng, dtype, (*batch, n, n)) + 6 * np.eye(n, dtype=dtype)
        own = a @ np.conj(np.swapaxes(a, -1, -2)) + np.eye(n, dtype=dtype)
        own = ((own + np.conj(np.swapaxes(own, -1, -2))) / 2).astype(dtype)
        tall = tame(rng, dtype, (*batch, n, int(rng.integers(1, 5))))
        for name in ("det", "inv", "slogdet"):
            yield Call(f"linalg.{name}", (a,))
        yield Call("linalg.cholesky", (own,), {"upper": bool(rng.integers(2))})
        for name in ("eigh", "eigvalsh"):
            yield Call(f"linalg.{name}", (own,))
        yield Call("linalg.matrix_power", (a, int(rng.integers(-3, 5))))
        for key in ("matrix_rank", "pinv", "svdvals"):
            yield Call(f"linalg.{key}", (tall,))
        limits = rng.uniform(0, 0.5, batch).astype(tall.real.dtype)
        for key in ("matrix_rank", "pinv"):
            yield Call(f"linalg.{key}", (tall,), {"rtol": 0.25 if rng.integers(2) else limits})
        yield Call("linalg.qr", (tall,), {"mode": str(rng.choice(["reduced", "complete"]))})
        yield Call("linalg.svd", (tall,), {"full_matrices": bool(rng.integers(2))})
        orders = ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf]
        order = orders[int(rng.integers(len(orders)))]
        options = {"ord": order, "keepdims": bool(rng.integers(2))}
        yield Call("linalg.matrix_norm", (tall,), options)
        yield Call("linalg.solve", (a, tame(rng, dtype, (n,))))
        yield Call("linalg.solve", (a, tame(rng, dtype, (*batch, n, 2))))


def transforms(rng: Rng) -> Calls:
    norm = str(rng.choice(["backward", "ortho", "forward"]))
    for name, dtypes in {
        "fft": COMPLEX, "ifft": COMPLEX, "rfft": FLOATS, "irfft": COMPLEX, "hfft": COMPLEX,
        "ihfft": FLOATS,
    }.items():  # fmt: skip
        for dtype in dtypes:
            x = tame(rng, dtype, tuple(1 + n for n in filled(rng, 1)))
            options: dict[str, Any] = {"axis": int(rng.integers(-x.ndim, x.ndim)), "norm": norm}
            if rng.random() < 0.5:
                options["n"] = int(rng.integers(1, 8))
            yield Call(f"fft.{name}", (x,), options)
    for name, dtypes in {
        "fftn": COMPLEX,
        "ifftn": COMPLEX,
        "rfftn": FLOATS,
        "irfftn": COMPLEX,
    }.items():
        for dtype in dtypes:
            x = tame(rng, dtype, tuple(1 + n for n in filled(rng, 1)))
            options = {"norm": norm}
            if rng.random() < 0.6:
                axes = tuple(int(one) for one in rng.permutation(x.ndim))
                options["axes"] = axes[: int(rng.integers(1, x.ndim + 1))]
                if rng.random() < 0.5:
                    sizes = [-1 if rng.random() < 0.2 else int(rng.integers(2, 7)) for _ in axes]
                    options["s"] = tuple(sizes[: len(options["axes"])])
            yield Call(f"fft.{name}", (x,), options)
    for dtype in FLOATS:
        options = {"d": float(rng.uniform(0.1, 3)), "dtype": Named(dtype)}
        for name in ("fftfreq", "rfftfreq"):
            yield Call(f"fft.{name}", (int(rng.integers(1, 10)),), options)
    for name in ("fftshift", "ifftshift"):
        for dtype in INEXACT:
            x = tame(rng, dtype, shape(rng, 1))
            yield Call(f"fft.{name}", (x,))
            yield Call(f"fft.{name}", (x,), {"axes": int(rng.integers(-x.ndim, x.ndim))})


def _slice(rng: Rng, size: int) -> slice:
    """As the standard allows: ends within the axis where the step goes that way."""
    step = int(rng.choice([1, 1, 2, 3, -1, -2]))
    ends = sorted(int(one) for one in rng.integers(0, size + 1, 2))
    if step > 0:
        start, stop = ends
        return slice(
            start if rng.random() < 0.8 else None, stop if rng.random() < 0.8 else None, step
        )
    if not size:
        return slice(None, None, step)
    start = min(ends[1], size - 1)
    return slice(start if rng.random() < 0.7 else None, None, step)


def _basic(rng: Rng, size: tuple[int, ...]) -> Any:
    """Integers, slices, an ellipsis and new axes, one part for each axis."""
    parts: list[Any] = []
    for one in size:
        whole = one and rng.random() < 0.35
        parts.append(int(rng.integers(-one, one)) if whole else _slice(rng, one))
    if rng.random() < 0.4:
        first = int(rng.integers(0, len(parts) + 1))
        last = int(rng.integers(first, len(parts) + 1))
        parts[first:last] = [...]
    if rng.random() < 0.4:
        parts.insert(int(rng.integers(0, len(parts) + 1)), None)
    return parts[0] if len(parts) == 1 and rng.random() < 0.7 else tuple(parts)


def indexing(rng: Rng) -> Calls:
    for dtype in EVERY:
        for _ in range(3):
            x = array(rng, dtype, shape(rng))
            key = _basic(rng, x.shape)
            yield Call("x[key]", (x, key))
            part = np.shape(x[key])
            if None in (key if isinstance(key, tuple) else (key,)):
                continue  # the reference assigns to no new axes
            yield Call("x[key] = y", (x, key, number(rng, dtype)))
            yield Call("x[key] = y", (x, key, array(rng, dtype, part)))
            yield Call("x[key] = y", (x, key, array(rng, dtype, part[1:])))
        mask = array(rng, "bool", x.shape)
        yield Call("x[key]", (x, mask))
        yield Call("x[key] = y", (x, mask, number(rng, dtype)))
        yield Call("x[key]", (x, ...))
        yield Call("x[key]", (x, (None, ..., None)))
        point = array(rng, dtype, ())
        yield Call("x[key]", (point, ()))
        yield Call("x[key] = y", (point, (), number(rng, dtype)))
        yield Call("x[key] = y", (point, ..., array(rng, dtype, ())))
        yield Call("x[key]", (point, np.asarray(bool(rng.integers(2)))))
        full = array(rng, dtype, tuple(2 + n for n in filled(rng, 1)))
        places = tuple(rng.integers(-n, n, 4).astype(np.int64) for n in full.shape)
        yield Call("x[key]", (full, places))
        mixed = list(places)
        mixed[int(rng.integers(full.ndim))] = int(rng.integers(0, 2))
        yield Call("x[key]", (full, tuple(mixed)))


def _wrong_folds(rng: Rng) -> Calls:
    x, y = tame(rng, "float64", (2, 3)), tame(rng, "float64", (4,))
    beyond = int(rng.choice([2, 3, 99, -3, -4, -99]))
    for name in ("add", "divide", "equal", "hypot", "maximum", "pow", "x + y", "x *= y", "x < y"):
        yield Call(name, (x, y))
    for name in ("sum", "prod", "max", "min", "mean", "std", "var", "any", "all", "argmax"):
        yield Call(name, (x,), {"axis": beyond})
    for name in ("argmin", "sort", "argsort", "cumulative_sum", "cumulative_prod", "count_nonzero"):
        yield Call(name, (x,), {"axis": beyond})
    for name in ("flip", "unstack", "diff", "fft.fftshift", "linalg.vector_norm"):
        yield Call(name, (x,), {"axes" if "fft" in name else "axis": beyond})
    for name in ("max", "min", "argmax", "argmin"):
        yield Call(name, (x[:0],))
    for name in ("sum", "max", "flip", "any"):
        yield Call(name, (x,), {"axis": (0, -2)})
    yield Call("cumulative_sum", (x,))


def _wrong_places(rng: Rng) -> Calls:
    x, y = tame(rng, "float64", (2, 3)), tame(rng, "float64", (4,))
    beyond = int(rng.choice([2, 3, 99, -3, -4, -99]))
    yield Call("concat", ([x, x],), {"axis": beyond})
    yield Call("concat", ([x, y],))
    yield Call("stack", ([x, x[:1]],))
    yield Call("stack", ([x, x],), {"axis": beyond + (1 if beyond > 0 else -1)})
    yield Call("expand_dims", (x,), {"axis": beyond + (1 if beyond > 0 else -1)})
    yield Call("squeeze", (x, 0))
    yield Call("squeeze", (x[:1], beyond))
    yield Call("permute_dims", (x, (0, 0)))
    yield Call("permute_dims", (x, (0,)))
    yield Call("moveaxis", (x, beyond, 0))
    yield Call("reshape", (x, (5,)))
    yield Call("reshape", (x, (-1, -1)))
    yield Call("reshape", (np.asfortranarray(x), (6,)), {"copy": False})
    yield Call("roll", (x, 1), {"axis": beyond})
    yield Call("repeat", (x, 2), {"axis": beyond})
    yield Call("take", (x, np.asarray([0])), {"axis": beyond})
    yield Call("take", (x, np.asarray([3, 5])), {"axis": 0})
    yield Call("take_along_axis", (x, np.asarray([[7]])), {"axis": 1})
    yield Call("broadcast_to", (x, (3, 2)))
    yield Call("broadcast_arrays", (x, y))
    yield Call("where", (x > 0, y, y))
    yield Call("nonzero", (np.asarray(1.0),))


def _wrong_objects(rng: Rng) -> Calls:
    x, y = tame(rng, "float64", (2, 3)), tame(rng, "float64", (4,))
    yield Call("x[key]", (x, (2,)))
    yield Call("x[key]", (x, (0, -4)))
    yield Call("x[key]", (x, (0, 0, 0)))
    yield Call("x[key]", (x, np.asarray([True, False, True])))
    yield Call("x[key] = y", (x, 0, y))
    yield Call("x[key] = y", (x, (5,), 1.0))
    for name in ("bool(x)", "int(x)", "float(x)", "complex(x)", "operator.index(x)"):
        yield Call(name, (x,))
    yield Call("operator.index(x)", (np.asarray(1.0),))
    yield Call("float(x)", (np.asarray(1j),))
    yield Call("int(x)", (np.asarray(np.nan),))
    yield Call("int(x)", (np.asarray(np.inf),))
    yield Call("x.T", (tame(rng, "float64", (2, 2, 2)),))
    yield Call("x.mT", (y,))


def _wrong_extensions(rng: Rng) -> Calls:
    x, y = tame(rng, "float64", (2, 3)), tame(rng, "float64", (4,))
    beyond = int(rng.choice([2, 3, 99, -3, -4, -99]))
    yield Call("matmul", (x, y))
    yield Call("matmul", (x, np.asarray(1.0)))
    yield Call("x @ y", (x, 2.0))
    yield Call("tensordot", (x, y), {"axes": 1})
    yield Call("vecdot", (x, y))
    yield Call("linalg.cross", (x[:, :2], x[:, :2]))
    yield Call("linalg.outer", (x, y))
    yield Call("linalg.qr", (y,))
    for name in ("det", "inv", "cholesky", "eigh", "eigvalsh", "slogdet"):
        yield Call(f"linalg.{name}", (x,))
    for name in ("inv", "cholesky"):
        yield Call(f"linalg.{name}", (np.zeros((2, 2)),))
    yield Call("linalg.solve", (x, y))
    yield Call("linalg.solve", (np.zeros((2, 2)), y[:2]))
    yield Call("fft.fft", (x + 0j,), {"axis": beyond})
    yield Call("fft.fft", (x + 0j,), {"norm": "none"})
    yield Call("fft.fftn", (x + 0j,), {"axes": (beyond,)})
    yield Call("arange", (0, 1, 0))
    yield Call("asarray", ([[1, 2], [3]],))
    yield Call("asarray", (1,), {"device": "nowhere"})
    yield Call("asarray", ([1.0],), {"copy": False})
    yield Call("asarray", (x,), {"dtype": Named("float32"), "copy": False})
    yield Call("zeros", ((-1,),))
    yield Call("isdtype", (Named("int8"), "whole"))
    yield Call("astype", (x + 0j, Named("float64")))
    yield Call("result_type")
    yield Call("meshgrid", (y,), {"indexing": "yx"})
    yield Call("searchsorted", (y, y), {"side": "middle"})
    for first, second in (("uint64", "int64"), ("uint64", "int8")):
        yield Call("result_type", (Named(first), Named(second)))
        yield Call("add", (tame(rng, first, (2,)), tame(rng, second, (2,))))
    for dtype in INTEGERS:
        info = np.iinfo(dtype)
        yield Call("asarray", (info.max + 1,), {"dtype": Named(dtype)})
        yield Call("x[key] = y", (tame(rng, dtype, (2,)), 0, 2.5))


def wrong(rng: Rng) -> Calls:
    """What the standard or plain sense makes an error: no side may return something."""
    for family in (_wrong_folds, _wrong_places, _wrong_objects, _wrong_extensions):
        yield from family(rng)


FAMILIES: list[Callable[[Rng], Calls]] = [
    products, decompositions, transforms, indexing,
]  # fmt: skip
