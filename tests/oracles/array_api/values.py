"""Arrays to call the functions with: every dtype, edges among plain values, shapes with zeros."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
FLOATS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
INEXACT = FLOATS + COMPLEX
REAL = INTEGERS + FLOATS
NUMERIC = INTEGERS + INEXACT
WHOLE = ("bool", *INTEGERS)
EVERY = ("bool", *NUMERIC)

EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, np.inf, -np.inf, np.nan]
EDGES += [1e-45, -1e-40, 3.4e38, -3e38, 1e-300, 1e300, 88.8, -104.0, 2.0**24 + 1, np.pi / 2]


def shape(rng: np.random.Generator, least: int = 0, most: int = 3) -> tuple[int, ...]:
    """A shape of up to ``most`` axes; one in six sizes is 0 and one in six is 1."""
    rank = int(rng.integers(least, most + 1))
    return tuple(int(rng.choice([0, 1, 2, 3, 4, 5])) for _ in range(rank))


def filled(rng: np.random.Generator, least: int = 0, most: int = 3) -> tuple[int, ...]:
    """A shape without an axis of size 0."""
    return tuple(max(1, size) for size in shape(rng, least, most))


def partner(rng: np.random.Generator, wanted: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that broadcasts with this one: shorter, longer, or with axes of size 1."""
    made = tuple(1 if rng.random() < 0.25 else size for size in wanted)
    cut = int(rng.integers(0, len(made) + 1)) if rng.random() < 0.4 else 0
    return made[cut:] if rng.random() < 0.8 else (2, *made)


def array(rng: np.random.Generator, dtype: str, size: tuple[int, ...]) -> Array:
    """Values of a dtype: edges and extremes, or plain ones, in C order or as a view."""
    made = _values(rng, dtype, size)
    if made.ndim > 1 and rng.random() < 0.2:
        return np.asfortranarray(made)
    if made.ndim and rng.random() < 0.1:
        return np.flip(np.flip(made).copy())
    return made


def tame(rng: np.random.Generator, dtype: str, size: tuple[int, ...]) -> Array:
    """Values between -4 and 4 (from 0 without a sign), whose sums neither overflow nor vanish."""
    if dtype == "bool":
        return np.asarray(rng.random(size) < 0.5)
    if dtype in INTEGERS:
        return np.asarray(rng.integers(0 if dtype in UNSIGNED else -4, 5, size)).astype(dtype)
    made = np.asarray(rng.uniform(-4, 4, size)).astype(dtype)
    if dtype in COMPLEX:
        made.imag = rng.uniform(-4, 4, size)
    return made


def _values(rng: np.random.Generator, dtype: str, size: tuple[int, ...]) -> Array:
    if dtype == "bool" or rng.random() < 0.35:
        return tame(rng, dtype, size)
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        ends = [info.min, info.min + 1, info.max - 1, info.max, 0, 1, 2, 3]
        return rng.choice(np.asarray(ends, dtype), size).astype(dtype)
    made = np.empty(size, dtype)
    with np.errstate(all="ignore"):
        made.real = _reals(rng, size)
        if made.dtype.kind == "c":
            made.imag = _reals(rng, size)
    return made


def _reals(rng: np.random.Generator, size: tuple[int, ...]) -> Array:
    if rng.random() < 0.5:
        return np.asarray(rng.choice(EDGES, size))
    return np.asarray(rng.normal(size=size) * 2.0 ** rng.integers(-30, 31, size))


def number(rng: np.random.Generator, dtype: str) -> Any:
    """A Python number that goes with an array of this dtype."""
    if dtype == "bool":
        return bool(rng.integers(2))
    if dtype in INTEGERS:
        return int(rng.integers(0 if dtype in UNSIGNED else -3, 6))
    if dtype in COMPLEX and rng.random() < 0.5:
        return complex(rng.choice(EDGES[:10]), rng.choice(EDGES[:10]))
    return float(rng.choice(EDGES[:10])) if rng.random() < 0.7 else int(rng.integers(-3, 6))


def pair(rng: np.random.Generator, dtypes: tuple[str, ...]) -> tuple[str, str]:
    """Two dtypes of one kind, which promote; None of u64 with a signed integer."""
    first = str(rng.choice(dtypes))
    kinds = [kind for kind in (WHOLE[:1], INTEGERS, INEXACT) if first in kind]
    second = str(rng.choice([one for one in kinds[0] if one in dtypes]))
    lost = {first, second}
    return (first, first) if "uint64" in lost and lost & set(SIGNED) else (first, second)
