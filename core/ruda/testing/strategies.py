"""Hypothesis strategies for what a file of tensors can hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ruda.tensor import DType, Kind


def array_dtypes(allowed: Sequence[DType] = tuple(DType)) -> st.SearchStrategy[DType]:
    """Dtypes that a NumPy (or ml_dtypes) array can have and that the array names again."""
    real = [d for d in allowed if not d.is_raw and DType.from_numpy(d.numpy) is d]
    return st.sampled_from(real)


def shapes(*, max_rank: int = 4, max_size: int = 5) -> st.SearchStrategy[tuple[int, ...]]:
    """Shapes with scalars and empty axes among them."""
    return st.lists(st.integers(0, max_size), max_size=max_rank).map(tuple)


def keys() -> st.SearchStrategy[str]:
    """Keys as people write them, and as they do not: empty, dotted, any letters but surrogates."""
    part = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
    usual = st.sampled_from(("weight", "bias", "layers", "0", "17", "running_mean"))
    return st.lists(st.one_of(usual, part), min_size=1, max_size=4).map(".".join)


@st.composite
def arrays(
    draw: st.DrawFn, allowed: Sequence[DType] = tuple(DType)
) -> np.ndarray[Any, np.dtype[Any]]:
    """Arrays of any bits, NaN payloads and subnormal numbers among them; bools are 0 or 1."""
    dtype = draw(array_dtypes(allowed))
    shape = draw(shapes())
    count = int(np.prod(shape, dtype=np.int64))
    raw = draw(st.binary(min_size=count * dtype.itemsize, max_size=count * dtype.itemsize))
    if dtype.kind is Kind.BOOL:
        raw = bytes(byte & 1 for byte in raw)
    return np.frombuffer(raw, np.uint8).view(dtype.numpy).reshape(shape)


def named_arrays(
    allowed: Sequence[DType] = tuple(DType), *, max_size: int = 5
) -> st.SearchStrategy[dict[str, np.ndarray[Any, np.dtype[Any]]]]:
    """Arrays by key, as a file holds them."""
    return st.dictionaries(keys(), arrays(allowed), max_size=max_size)
