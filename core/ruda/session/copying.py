"""A tensor as text to be pasted: a NumPy literal of its values, and Python that reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ruda.session.language import tr

MOST_COPIED = 10_000
"""Values up to which a literal is made."""


def numpy_literal(values: np.ndarray[Any, Any], shape: tuple[int, ...]) -> str:
    """``np.array([…], dtype=np.float32).reshape(…)`` of exactly these values.

    Types that NumPy does not have (bf16, the 8-bit floats) are written as f32, which holds all of
    their values. Raises ValueError for more than ``MOST_COPIED``.
    """
    if values.size > MOST_COPIED:
        raise ValueError(
            tr("More than {count} values are too many to copy.", count=f"{MOST_COPIED:,}")
        )
    plain = values.dtype.kind in "iubf" and values.dtype.isbuiltin == 1
    array = values if plain else values.astype(np.float32)
    name = "bool" if array.dtype == np.bool_ else array.dtype.name
    inner = ", ".join(_number(value) for value in array.reshape(-1).tolist())
    text = f"np.array([{inner}], dtype=np.{name})"
    return text if array.ndim == 1 and len(shape) == 1 else f"{text}.reshape({shape!r})"


def _number(value: Any) -> str:
    if isinstance(value, float) and not np.isfinite(value):
        return "np.nan" if np.isnan(value) else "np.inf" if value > 0 else "-np.inf"
    return repr(value)


def reading_code(path: Path, key: str, *, top_level_key: str | None = None) -> str:
    """Python that reads a tensor of a file as an array."""
    part = "" if top_level_key is None else f", top_level_key={top_level_key!r}"
    return (
        "from ruda.store import open_store\n\n"
        f"with open_store({str(path)!r}{part}) as index:\n"
        f"    values = index[{key!r}].read()\n"
    )
