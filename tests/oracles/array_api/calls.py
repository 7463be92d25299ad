"""Calls of every function of the standard, drawn at random: arguments that it allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from array_api.sides import BINARY, Call, Named
from array_api.values import (
    COMPLEX,
    EVERY,
    FLOATS,
    INEXACT,
    INTEGERS,
    NUMERIC,
    REAL,
    SIGNED,
    UNSIGNED,
    WHOLE,
    array,
    filled,
    number,
    pair,
    partner,
    shape,
    tame,
)

Rng = np.random.Generator
Calls = Iterator[Call]

UNARY = {
    **dict.fromkeys(
        ["acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1", "log"],
        INEXACT,
    ),
    **dict.fromkeys(
        ["log10", "log1p", "log2", "reciprocal", "sin", "sinh", "sqrt", "tan", "tanh"], INEXACT
    ),
    **dict.fromkeys(
        ["abs", "conj", "isfinite", "isinf", "isnan", "negative", "positive", "real"], NUMERIC
    ),
    **dict.fromkeys(["round", "sign", "square", "-x", "+x", "abs(x)"], NUMERIC),
    **dict.fromkeys(["ceil", "floor", "trunc"], REAL),
    **dict.fromkeys(["bitwise_invert", "~x"], WHOLE),
    **dict.fromkeys(["x.shape", "x.size", "x.ndim", "x.dtype", "x.to_device"], EVERY),
    **dict.fromkeys(["unique_all", "unique_counts", "unique_inverse", "unique_values"], EVERY),
    **dict.fromkeys(["numpy.from_dlpack", "x.__dlpack_device__", "empty_like"], EVERY),
    "imag": COMPLEX,
    "logical_not": ("bool",),
    "signbit": FLOATS,
}
TWO = {
    **dict.fromkeys(["add", "divide", "multiply", "pow", "subtract"], NUMERIC),
    **dict.fromkeys(["atan2", "copysign", "hypot", "logaddexp", "nextafter"], FLOATS),
    **dict.fromkeys(["bitwise_and", "bitwise_or", "bitwise_xor"], WHOLE),
    **dict.fromkeys(["bitwise_left_shift", "bitwise_right_shift"], INTEGERS),
    **dict.fromkeys(["equal", "not_equal"], EVERY),
    **dict.fromkeys(["greater", "greater_equal", "less", "less_equal", "maximum", "minimum"], REAL),
    **dict.fromkeys(["floor_divide", "remainder"], REAL),
    **dict.fromkeys(["logical_and", "logical_or", "logical_xor"], ("bool",)),
    "divide": INEXACT,
}
OPERATORS = {
    **dict.fromkeys(["+", "-", "*", "**"], NUMERIC),
    **dict.fromkeys(["&", "|", "^"], WHOLE),
    **dict.fromkeys(["<<", ">>"], INTEGERS),
    **dict.fromkeys(["==", "!="], EVERY),
    **dict.fromkeys(["<", "<=", ">", ">=", "//", "%"], REAL),
    "/": INEXACT,
}


def unary(rng: Rng) -> Calls:
    for name, dtypes in UNARY.items():
        for dtype in dtypes:
            yield Call(name, (array(rng, dtype, shape(rng)),))


def _operands(rng: Rng, name: str, dtypes: tuple[str, ...]) -> tuple[Any, Any]:
    first, second = pair(rng, dtypes)
    size = shape(rng)
    left = array(rng, first, size)
    right = array(rng, second, partner(rng, size))
    if first in INTEGERS and name in LIMITED:
        low, high = LIMITED[name]
        right = rng.integers(low, high, right.shape).astype(second)
    return left, right


LIMITED = {
    **dict.fromkeys(["pow", "**", "bitwise_left_shift", "bitwise_right_shift"], (0, 70)),
    **dict.fromkeys(["<<", ">>"], (0, 70)),
    **dict.fromkeys(["floor_divide", "//", "remainder", "%"], (1, 5)),
}
"""Divisors, powers and shifts of integers that have a result."""


def binary(rng: Rng) -> Calls:
    for table, form in ((TWO, "{}"), (OPERATORS, "x {} y")):
        for name, dtypes in table.items():
            for _ in range(len(dtypes)):
                left, right = _operands(rng, name, dtypes)
                yield Call(form.format(name), (left, right))
                weak = number(rng, left.dtype.name)
                if left.dtype.name in INTEGERS and name in LIMITED:
                    weak = int(rng.integers(1, 5))
                yield Call(form.format(name), (left, weak))
                if left.dtype.name not in INTEGERS or name not in LIMITED:
                    yield Call(form.format(name), (weak, left))


def in_place(rng: Rng) -> Calls:
    """Operators whose right side neither widens the dtype nor the shape."""
    for name in BINARY:
        if name == "@":
            continue
        dtypes = OPERATORS[name]
        for dtype in dtypes:
            left = array(rng, dtype, shape(rng))
            size = tuple(1 if rng.random() < 0.3 else n for n in left.shape)
            right = array(rng, dtype, size)
            weak = number(rng, dtype)
            if dtype in INTEGERS and name in LIMITED:
                right = rng.integers(1, 5, size).astype(dtype)
                weak = 2
            yield Call(f"x {name}= y", (left, right))
            yield Call(f"x {name}= y", (left, weak))


def _axis(rng: Rng, x: np.ndarray[Any, Any], *, several: bool = True) -> Any:
    if not x.ndim or rng.random() < 0.3:
        return None
    if several and rng.random() < 0.4:
        places = rng.permutation(x.ndim)[: int(rng.integers(0, x.ndim + 1))]
        return tuple(int(one) - (x.ndim if rng.random() < 0.5 else 0) for one in places)
    return int(rng.integers(-x.ndim, x.ndim))


def _one_axis(rng: Rng, x: np.ndarray[Any, Any]) -> int:
    return int(rng.integers(-x.ndim, x.ndim))


REDUCED = {
    **dict.fromkeys(["max", "min"], REAL),
    **dict.fromkeys(["any", "all", "count_nonzero"], EVERY),
    **dict.fromkeys(["sum", "prod"], NUMERIC),
    "mean": INEXACT,
    **dict.fromkeys(["std", "var"], FLOATS),
}


def reducing(rng: Rng) -> Calls:
    for name, dtypes in REDUCED.items():
        for dtype in dtypes:
            plain = name in ("sum", "prod", "mean", "std", "var") and dtype not in INTEGERS
            size = filled(rng) if name in ("max", "min", "mean", "std", "var") else shape(rng)
            x = (tame if plain else array)(rng, dtype, size)
            options: dict[str, Any] = {"axis": _axis(rng, x), "keepdims": bool(rng.integers(2))}
            if name in ("sum", "prod") and rng.random() < 0.4:
                same = INTEGERS if dtype in INTEGERS else FLOATS if dtype in FLOATS else COMPLEX
                options["dtype"] = Named(str(rng.choice(same)))
            if name in ("std", "var"):
                options["correction"] = float(rng.choice([0, 0, 1, 0.5]))
            yield Call(name, (x,), options)
        for dtype in dtypes:  # one edge in a row of plain values
            if dtype in FLOATS and name not in ("any", "all", "count_nonzero"):
                x = tame(rng, dtype, (3, 4))
                x[0, 0] = rng.choice([np.nan, np.inf, -np.inf, -0.0])
                yield Call(name, (x,), {"axis": _axis(rng, x)})
    for name in ("argmax", "argmin"):
        for dtype in REAL:
            x = array(rng, dtype, filled(rng))
            options = {"axis": _axis(rng, x, several=False), "keepdims": bool(rng.integers(2))}
            yield Call(name, (x,), options)
    for name in ("cumulative_sum", "cumulative_prod"):
        for dtype in NUMERIC:
            x = (tame if dtype in INEXACT else array)(rng, dtype, shape(rng, 1))
            options = {"include_initial": bool(rng.integers(2))}
            if x.ndim > 1 or rng.random() < 0.5:
                options["axis"] = _one_axis(rng, x)
            if rng.random() < 0.3 and dtype in INTEGERS:
                options["dtype"] = Named(str(rng.choice(INTEGERS)))
            yield Call(name, (x,), options)


def ordering(rng: Rng) -> Calls:
    for dtype in REAL:
        for name in ("sort", "argsort"):
            x = array(rng, dtype, shape(rng, 1))
            options = {"axis": _one_axis(rng, x), "descending": bool(rng.integers(2))}
            if dtype in FLOATS:
                x = np.nan_to_num(x)
            yield Call(name, (x,), options)
        row = np.sort(tame(rng, dtype, (int(rng.integers(0, 7)),)))
        options = {"side": str(rng.choice(["left", "right"]))}
        wanted = tame(rng, dtype, shape(rng))
        yield Call("searchsorted", (row, wanted), options)
        mixed = rng.permutation(row)
        sorter = np.argsort(mixed).astype(np.int64)
        yield Call("searchsorted", (mixed, wanted), {**options, "sorter": sorter})
    for dtype in EVERY:
        x = array(rng, dtype, shape(rng, 1))
        yield Call("nonzero", (x,))
        if dtype != "bool":
            options = {"axis": _one_axis(rng, x), "n": int(rng.integers(0, 4))}
            for key in ("prepend", "append"):
                if rng.random() < 0.4:
                    options[key] = array(rng, dtype, x.shape)
            yield Call("diff", (x,), options)


def manipulating(rng: Rng) -> Calls:
    for dtype in EVERY:
        yield from _of_one(rng, dtype)
        yield from _of_several(rng, dtype)


def _of_one(rng: Rng, dtype: str) -> Calls:
    x = array(rng, dtype, shape(rng, 1))
    axis = _one_axis(rng, x)
    yield Call("expand_dims", (x,), {"axis": int(rng.integers(-x.ndim - 1, x.ndim + 1))})
    yield Call("flip", (x,), {"axis": _axis(rng, x)})
    yield Call("moveaxis", (x, axis, _one_axis(rng, x)))
    order = [int(one) for one in rng.permutation(x.ndim)]
    yield Call("moveaxis", (x, tuple(range(x.ndim)), tuple(order)))
    yield Call("permute_dims", (x, tuple(order)))
    yield Call("repeat", (x, int(rng.integers(0, 4))), {"axis": _axis(rng, x, several=False)})
    counts = rng.integers(0, 3, x.shape[axis])
    yield Call("repeat", (x, counts), {"axis": axis})
    copy = [None, True][int(rng.integers(2))]
    yield Call("reshape", (x, (-1,) if x.size else (x.size,)), {"copy": copy})
    yield Call("reshape", (x, x.shape[::-1]))
    yield Call("roll", (x, int(rng.integers(-7, 8))), {"axis": _axis(rng, x, several=False)})
    shifts = tuple(int(one) for one in rng.integers(-3, 4, x.ndim))
    yield Call("roll", (x, shifts), {"axis": tuple(order)})
    thin = x.reshape(1, *x.shape, 1)
    yield Call("squeeze", (thin, (0, -1)))
    yield Call("squeeze", (thin, 0))
    yield Call("tile", (x, tuple(int(one) for one in rng.integers(0, 3, rng.integers(1, 5)))))
    yield Call("unstack", (x,), {"axis": axis})
    size = x.shape[axis]
    if size:
        places = rng.integers(-size, size, 5).astype(str(rng.choice(["int32", "int64"])))
        yield Call("take", (x, places), {"axis": axis})
        inside = rng.integers(-size, size, x.shape).astype(np.int64)
        yield Call("take_along_axis", (x, inside), {"axis": axis})
    whole = array(rng, dtype, shape(rng, 2))
    for name in ("tril", "triu"):
        yield Call(name, (whole,), {"k": int(rng.integers(-4, 5))})
    yield Call("matrix_transpose", (whole,))
    yield Call("x.mT", (whole,))
    yield Call("from_dlpack", (x,), {"copy": [None, True][int(rng.integers(2))]})
    if x.size:
        yield Call("reshape", (np.ascontiguousarray(x), (x.size,)), {"copy": False})
    yield Call("x.T", (array(rng, dtype, shape(rng, 2, 2)),))
    yield Call("broadcast_to", (x, (2, *x.shape)))
    yield Call("zeros_like", (x,))
    yield Call("ones_like", (x,), {"dtype": Named(str(rng.choice(EVERY)))})
    yield Call("full_like", (x, number(rng, dtype)))
    yield Call("asarray", (x,), {"copy": bool(rng.integers(2)) or None})


def _of_several(rng: Rng, dtype: str) -> Calls:
    size = shape(rng, 1)
    axis = int(rng.integers(-len(size), len(size)))
    other = pair(rng, EVERY)
    longer = list(size)
    longer[axis] = 2
    yield Call(
        "concat", ([array(rng, dtype, size), array(rng, dtype, tuple(longer))],), {"axis": axis}
    )
    yield Call(
        "concat", ([array(rng, other[0], size), array(rng, other[1], size)],), {"axis": None}
    )
    yield Call("stack", ([array(rng, other[0], size), array(rng, other[1], size)],), {"axis": axis})
    vectors = [array(rng, dtype, (int(rng.integers(0, 4)),)) for _ in range(rng.integers(1, 4))]
    yield Call("meshgrid", tuple(vectors), {"indexing": str(rng.choice(["xy", "ij"]))})
    x = array(rng, other[0], size)
    y = array(rng, other[1], partner(rng, size))
    yield Call("broadcast_arrays", (x, y))
    mask = array(rng, "bool", partner(rng, size)[-len(size) :] if size else ())
    yield Call("where", (mask, x, array(rng, other[1], size)))
    yield Call("where", (mask, x, number(rng, other[0])))
    yield Call("where", (mask, number(rng, other[0]), x))
    if dtype in REAL:
        own = array(rng, dtype, size)
        low, high = np.sort(tame(rng, dtype, (2, *size)), axis=0)
        yield Call("clip", (own, low, high))
        yield Call("clip", (own,), {"min": low} if rng.integers(2) else {"max": high})
        few = int(rng.integers(0, 3))
        yield Call("clip", (own, few, few + int(rng.integers(0, 3))))
    reals = [one for one in EVERY if one != "bool"]
    wanted = str(rng.choice(COMPLEX if dtype in COMPLEX else reals))
    small = tame(rng, dtype, size)
    small = np.abs(small) if wanted in UNSIGNED else small
    yield Call("astype", (small, Named(wanted)), {"copy": bool(rng.integers(2))})
    if dtype not in COMPLEX:
        yield Call("astype", (array(rng, dtype, size), Named("bool")))


def creating(rng: Rng) -> Calls:
    for dtype in EVERY:
        size = shape(rng)
        named = {"dtype": Named(dtype)}
        for name in ("zeros", "ones", "empty"):
            yield Call(name, (size,), named)
        yield Call("full", (size, number(rng, dtype)), named)
        rows, columns = int(rng.integers(0, 5)), int(rng.integers(0, 5))
        yield Call("eye", (rows, columns), {**named, "k": int(rng.integers(-5, 6))})
        yield Call("eye", (rows,), named)
        yield Call("asarray", ([[1, 0], [0, 1]],), named)
        yield Call("asarray", (number(rng, dtype),), named)
    for dtype in REAL:
        start, step = int(rng.integers(0, 5)), int(rng.choice([1, 2, 3]))
        yield Call(
            "arange", (start, start + int(rng.integers(0, 12)), step), {"dtype": Named(dtype)}
        )
    for _ in range(6):
        ends = (int(rng.integers(-20, 20)), int(rng.integers(-20, 20)))
        yield Call("arange", (*ends, int(rng.choice([-3, -2, -1, 1, 2, 7]))))
        yield Call("arange", (float(ends[0]), float(ends[1]), 0.75), {"dtype": Named("float64")})
    for dtype in INEXACT:
        ends = tuple(float(one) for one in rng.normal(size=2) * 10.0 ** rng.integers(-5, 6))
        options = {"dtype": Named(dtype), "endpoint": bool(rng.integers(2))}
        yield Call("linspace", (*ends, int(rng.integers(0, 9))), options)
    for dtype in SIGNED + UNSIGNED:
        yield Call("iinfo", (Named(dtype),))
    for dtype in INEXACT:
        yield Call("finfo", (Named(dtype),))
        yield Call("finfo", (array(rng, dtype, ()),))


def asking(rng: Rng) -> Calls:
    for first in EVERY:
        for second in EVERY:
            kinds = [
                one for one in (("bool",), INTEGERS, INEXACT) if first in one and second in one
            ]
            if kinds and not ("uint64" in (first, second) and {first, second} & set(SIGNED)):
                yield Call("result_type", (Named(first), Named(second)))
                yield Call("result_type", (array(rng, first, (2,)), Named(second)))
                yield Call("can_cast", (Named(first), Named(second)))
        for kind in ("bool", "signed integer", "unsigned integer", "integral", "real floating",
                     "complex floating", "numeric", ("integral", "bool")):  # fmt: skip
            yield Call("isdtype", (Named(first), kind))
        yield Call("result_type", (array(rng, first, ()), number(rng, first)))
        one = tame(rng, first, ())
        yield Call("bool(x)", (one,))
        if first not in COMPLEX:
            yield Call("int(x)", (one,))
            yield Call("float(x)", (array(rng, first, ()),))
        yield Call("complex(x)", (array(rng, first, ()),))
        if first in INTEGERS:
            yield Call("operator.index(x)", (array(rng, first, ()),))
    for name in ("dtypes", "capabilities"):
        yield Call(f"__array_namespace_info__.{name}")
    for kind in ("integral", "numeric", ("bool", "real floating")):
        yield Call("__array_namespace_info__.dtypes", (), {"kind": kind})
    for name in ("e", "pi", "inf", "newaxis", "nan"):
        yield Call("constant", (), {"name": name})


FAMILIES: list[Callable[[Rng], Calls]] = [
    unary, binary, in_place, reducing, ordering, manipulating, creating, asking,
]  # fmt: skip
