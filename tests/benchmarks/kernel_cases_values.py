"""Cases of casts, statistics, copies and the shuffle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from kernel_case import Case, Work, numbers, tensor, torch, torch_copy, torch_peer
from numpy.typing import NDArray

from ruda import _kernels


def narrow_f16(n: int) -> Case:
    values, out, theirs = numbers(n), np.empty(n, np.float16), np.empty(n, np.float16)
    return Case(
        "f32 → f16",
        6 * n,
        lambda: _kernels.narrow_f16(values, out),
        {
            "numpy": lambda: np.copyto(theirs, values, casting="unsafe"),
            **torch_peer(torch_copy, theirs, values),
        },
        lambda: np.testing.assert_array_equal(out, theirs),
    )


def bit_trick(values: NDArray[np.float32], out: NDArray[np.uint16]) -> None:
    """bfloat16 as NumPy users write it: rounded to nearest even, without care for NaN."""
    bits = values.view(np.uint32)
    out[...] = (bits + (np.uint32(0x7FFF) + ((bits >> 16) & 1))) >> 16


def narrow_bf16(n: int) -> Case:
    values = numbers(n)
    out, theirs = np.empty(n, ml_dtypes.bfloat16), np.empty(n, ml_dtypes.bfloat16)
    return Case(
        "f32 → bf16",
        6 * n,
        lambda: _kernels.narrow_bf16(values, out),
        {
            "numpy": lambda: bit_trick(values, theirs.view(np.uint16)),
            "ml_dtypes": lambda: np.copyto(theirs, values, casting="unsafe"),
            **torch_peer(torch_copy, theirs, values),
        },
        lambda: np.testing.assert_array_equal(out.view(np.uint16), theirs.view(np.uint16)),
    )


def widen_f16(n: int) -> Case:
    halves, out, theirs = numbers(n).astype(np.float16), np.empty(n, "f4"), np.empty(n, "f4")
    return Case(
        "f16 → f32",
        6 * n,
        lambda: _kernels.widen_f16(halves, out),
        {
            "numpy": lambda: np.copyto(theirs, halves),
            **torch_peer(torch_copy, theirs, halves),
        },
        lambda: np.testing.assert_array_equal(out, theirs),
    )


def widen_bf16(n: int) -> Case:
    halves = numbers(n).astype(ml_dtypes.bfloat16)
    out, theirs = np.empty(n, "f4"), np.empty(n, "f4")
    words, wide = halves.view(np.uint16), theirs.view(np.uint32)
    return Case(
        "bf16 → f32",
        6 * n,
        lambda: _kernels.widen_bf16(halves, out),
        {
            "numpy": lambda: np.left_shift(words, 16, out=wide, dtype=np.uint32),
            "ml_dtypes": lambda: np.copyto(theirs, halves),
            **torch_peer(torch_copy, theirs, halves),
        },
        lambda: np.testing.assert_array_equal(out, theirs),
    )


def narrow_float8(n: int, kind: Any, narrow: Callable[..., object], name: str) -> Case:
    values = numbers(n)
    out, theirs = np.empty(n, kind), np.empty(n, kind)
    return Case(
        f"f32 → {name}",
        5 * n,
        lambda: narrow(values, out),
        {
            # NumPy has no such float; its conversion is the loop that ml_dtypes registers.
            "numpy": lambda: np.copyto(theirs, values, casting="unsafe"),
            **torch_float8(name, values),
        },
        lambda: np.testing.assert_array_equal(out.view(np.uint8), theirs.view(np.uint8)),
    )


def widen_float8(n: int, kind: Any, widen: Callable[..., object], name: str) -> Case:
    codes = numbers(n).astype(kind)
    out, theirs = np.empty(n, "f4"), np.empty(n, "f4")
    table = np.arange(256, dtype=np.uint8).view(kind).astype(np.float32)
    return Case(
        f"{name} → f32",
        5 * n,
        lambda: widen(codes, out),
        {
            "numpy": lambda: np.take(table, codes.view(np.uint8), out=theirs),
            "ml_dtypes": lambda: np.copyto(theirs, codes),
            **torch_wider(name, codes),
        },
        lambda: np.testing.assert_array_equal(out, theirs),
    )


def torch_float8(name: str, values: NDArray[Any]) -> dict[str, Work]:
    """torch's conversion of the values, where it is installed; it makes a new tensor."""
    if torch is None:
        return {}
    kind = torch.float8_e4m3fn if "4m3" in name else torch.float8_e5m2
    given = tensor(values)
    return {"torch": lambda: given.to(kind)}


def torch_wider(name: str, codes: NDArray[Any]) -> dict[str, Work]:
    if torch is None:
        return {}
    kind = torch.float8_e4m3fn if "4m3" in name else torch.float8_e5m2
    given = tensor(codes.view(np.uint8)).view(kind)
    return {"torch": lambda: given.to(torch.float32)}


def numpy_moments(values: NDArray[Any]) -> tuple[Any, ...]:
    return (
        values.min(),
        values.max(),
        values.sum(dtype=np.float64),
        np.square(values, dtype=np.float64).sum(),
        np.count_nonzero(values),
        np.isnan(values).sum(),
        np.isposinf(values).sum(),
        np.isneginf(values).sum(),
    )


def torch_moments(values: Any) -> tuple[Any, ...]:
    return (
        *values.aminmax(),
        values.sum(dtype=torch.float64),
        values.to(torch.float64).square().sum(),
        values.count_nonzero(),
        values.isnan().sum(),
        values.isposinf().sum(),
        values.isneginf().sum(),
    )


def moments(n: int, dtype: str = "f4") -> Case:
    values = numbers(n).astype(dtype)
    return Case(
        f"moments of f{values.itemsize * 8}",
        values.nbytes,
        lambda: _kernels.moments(values),
        {
            "numpy": lambda: numpy_moments(values),
            **torch_peer(torch_moments, values),
        },
    )


def histogram(n: int) -> Case:
    values = numbers(n)
    return Case(
        "histogram, 64 bins",
        values.nbytes,
        lambda: _kernels.histogram(values, -0.25, 0.25, 64),
        {
            "numpy": lambda: np.histogram(values, 64, (-0.25, 0.25)),
            **torch_peer(lambda v: torch.histc(v, 64, -0.25, 0.25), values),
        },
    )


def transpose(n: int) -> Case:
    side = int(n**0.5)
    values, out = numbers(n).reshape(side, side), np.empty((side, side), np.float32)
    theirs = np.empty_like(out)
    return Case(
        "transposed copy, f32",
        2 * values.nbytes,
        lambda: _kernels.transpose(values, out),
        {
            "numpy": lambda: np.copyto(theirs, values.T),
            **torch_peer(lambda t, v: t.copy_(v.t()), theirs, values),
        },
        lambda: np.testing.assert_array_equal(out, theirs),
    )


def shuffle(n: int) -> Case:
    dice = np.random.default_rng(0)
    return Case(
        "shuffled order",
        8 * n,
        lambda: _kernels.shuffle_order(n, 7),
        {"numpy": lambda: dice.permutation(n), **torch_peer(lambda: torch.randperm(n))},
    )
